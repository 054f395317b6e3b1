"""What an engine costs: a fit by one process, on Ray and on Dask, with as many threads as workers.

    python python/benches/cluster.py [rows] [engine ...]

200,000 rows of 64 dimensions in 1,000 classes unless told otherwise, tails of 200 and the parameters of the paper.
Every model must have the bytes of the first. In one fit of each engine a worker is killed (SIGKILL) in the middle of a
meeting. Seconds are those of `fit`; engines are started before. They are taken by the clock, and on processors: those
of this process and of all its children, which other work on the machine disturbs less. "busy" is the share of the time
in which something had to wait for a processor, whoever it was (/proc/pressure/cpu): with one process on one thread it
is near 0 on a machine of one's own, and where it is not, the clock says nothing. Memory is the largest that this
process, and all of its children together, have held at a time; what they share counts once (PSS).
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import psutil

from evmachine import ExtremeValueMachine

DIMENSIONS, CLASSES = 64, 1_000
PARAMETERS: dict[str, Any] = {"preset": "plain", "tail_size": 200, "rejection_threshold": 0.05}


def clusters(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap at their borders."""
    random = np.random.default_rng(1)
    labels = np.arange(rows) % CLASSES
    centres = random.normal(size=(CLASSES, DIMENSIONS)).astype(np.float32)
    noise = random.normal(size=(rows, DIMENSIONS)).astype(np.float32)
    return centres[labels] + np.float32(0.5) * noise, labels


class Memory(threading.Thread):
    """Looks at the memory of this process and of its children, and remembers the most."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.own = self.all = 0

    def run(self) -> None:
        this = psutil.Process()
        while not self.ended.wait(1.0):
            own, others = _bytes(this), sum(_bytes(child) for child in this.children(recursive=True))
            self.own, self.all = max(self.own, own), max(self.all, own + others)


def _bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def warm_up(fit: Callable[..., Any]) -> None:
    """Has every worker load the package."""
    X = np.random.default_rng(2).normal(size=(400, 8)).astype(np.float32)
    fit(X, np.arange(400) % 2, rejection_threshold=0.05, block_rows=40)


def processor() -> float:
    """Seconds that this process and its children, those that have ended too, have run on a processor."""
    this = psutil.Process()
    seconds = 0.0
    for process in [this, *this.children(recursive=True)]:
        try:
            seconds += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return seconds


def waited() -> float:
    """Seconds in which something on this machine had to wait for a processor."""
    with open("/proc/pressure/cpu") as file:
        return 1e-6 * float(file.readline().rpartition("total=")[2])


@contextmanager
def on_ray(workers: int) -> Iterator[tuple[Callable[..., Any], Callable[[], list[int]]]]:
    import ray

    import evmachine.ray

    ray.init(num_cpus=workers, include_dashboard=False, object_store_memory=4 << 30, log_to_driver=False)
    warm_up(evmachine.ray.fit)

    def meeting() -> list[int]:
        found = []
        for process in psutil.Process().children(recursive=True):
            try:
                if process.cmdline()[:1] == ["ray::meet"]:
                    found.append(process.pid)
            except psutil.Error:
                continue
        return found

    yield evmachine.ray.fit, meeting
    ray.shutdown()


@contextmanager
def on_dask(workers: int) -> Iterator[tuple[Callable[..., Any], Callable[[], list[int]]]]:
    import distributed

    import evmachine.dask

    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=50
    )
    client = distributed.Client(cluster)
    warm_up(evmachine.dask.fit)
    yield evmachine.dask.fit, lambda: list(client.run(os.getpid).values())
    client.close()
    cluster.close()


ENGINES = {"ray": on_ray, "dask": on_dask}


class Turn(NamedTuple):
    """One fit."""

    clock: float
    processor: float
    busy: float
    digest: str
    memory: Memory


def timed(fit: Callable[[], ExtremeValueMachine]) -> Turn:
    memory = Memory()
    memory.start()
    start = time.perf_counter(), processor(), waited()
    machine = fit()
    clock, used, busy = time.perf_counter() - start[0], processor() - start[1], waited() - start[2]
    memory.ended.set()
    memory.join()
    digest = hashlib.sha256(machine._native_model().to_bytes()).hexdigest()
    return Turn(clock, used, busy / clock, digest, memory)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    engines = sys.argv[2:] or list(ENGINES)
    X, y = clusters(rows)
    print(f"{rows:,} x {DIMENSIONS}, {CLASSES:,} classes, {os.cpu_count()} cores")
    print(f"{'':28}{'clock':>9}{'':>9}{'processor':>11}{'':>9}{'busy':>6}{'driver':>10}{'together':>10}  model")
    alone: dict[int, Turn] = {}
    expected = ""

    def line(what: str, threads: int, turn: Turn) -> None:
        base = alone[threads]
        clock, used = (100 * (own / other - 1) for own, other in zip(turn[:2], base[:2], strict=True))
        held = "".join(f"{each / 1e9:>7.2f} GB" for each in (turn.memory.own, turn.memory.all))
        same = "the same" if turn.digest == expected else "ANOTHER"
        print(
            f"{what:28}{turn.clock:>7.1f} s{clock:>+7.1f} %{turn.processor:>9.1f} s{used:>+7.1f} %"
            f"{turn.busy:>6.0%}{held}  {same} ({turn.digest[:12]})",
            flush=True,
        )
        if turn.digest != expected:
            sys.exit(f"{what} gave other bytes")

    for threads in (1, 2, 4):
        turn = timed(lambda n=threads: ExtremeValueMachine(**PARAMETERS, n_jobs=n).fit(X, y))
        alone[threads], expected = turn, expected or turn.digest
        line(f"one process, {threads} threads", threads, turn)
    for engine in engines:
        for workers in (1, 2, 4):
            with ENGINES[engine](workers) as (fit, meeting):
                found = timed(lambda n=workers, fit=fit: fit(X, y, **PARAMETERS, n_jobs=n))
                line(f"{engine}, {workers} workers", workers, found)
        with ENGINES[engine](2) as (fit, meeting):
            killed: list[int] = []

            def kill(meeting: Callable[[], list[int]] = meeting, killed: list[int] = killed) -> None:
                time.sleep(0.4 * alone[2].clock)
                while not killed:
                    for pid in meeting()[:1]:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

            thread = threading.Thread(target=kill, daemon=True)
            thread.start()
            found = timed(lambda fit=fit: fit(X, y, **PARAMETERS, n_jobs=2))
            if not killed:
                sys.exit("the fit was over before a worker could be killed")
            line(f"{engine}, 2 workers, 1 killed", 2, found)


if __name__ == "__main__":
    main()
