"""What an engine costs: a fit by one process, on Ray and on Dask, with as many threads as workers.

    python python/benches/cluster.py [rows] [engine ...]

200,000 rows of 64 dimensions in 1,000 classes unless told otherwise, tails of 200 and the parameters of the paper.
Every model must have the bytes of the first. In one fit of each engine a worker is killed (SIGKILL) in the middle of a
meeting. Seconds are those of `fit`; engines are started before. Memory is the largest that this process, and all of its
children together, have held at a time; what they share counts once (PSS).
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
from typing import Any

import numpy as np
import psutil

from evmachine import ExtremeValueMachine

DIMENSIONS, CLASSES = 64, 1_000
PARAMETERS: dict[str, Any] = {"tail_size": 200, "rejection_threshold": 0.05}


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


def timed(fit: Callable[[], ExtremeValueMachine]) -> tuple[float, str, Memory]:
    memory = Memory()
    memory.start()
    start = time.perf_counter()
    machine = fit()
    seconds = time.perf_counter() - start
    memory.ended.set()
    memory.join()
    return seconds, hashlib.sha256(machine._native_model().to_bytes()).hexdigest(), memory


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    engines = sys.argv[2:] or list(ENGINES)
    X, y = clusters(rows)
    print(f"{rows:,} x {DIMENSIONS}, {CLASSES:,} classes, {os.cpu_count()} cores")
    print(f"{'':28}{'seconds':>9}{'against':>9}{'driver':>10}{'together':>10}  model")
    alone: dict[int, float] = {}
    expected = ""

    def line(what: str, threads: int, seconds: float, digest: str, memory: Memory) -> None:
        against = f"{100 * (seconds / alone[threads] - 1):+.1f} %"
        held = "".join(f"{bytes / 1e9:>7.2f} GB" for bytes in (memory.own, memory.all))
        same = "the same" if digest == expected else "ANOTHER"
        print(f"{what:28}{seconds:>9.1f}{against:>9}{held}  {same} ({digest[:12]})", flush=True)
        if digest != expected:
            sys.exit(f"{what} gave other bytes")

    for threads in (1, 2, 4):
        seconds, digest, memory = timed(lambda n=threads: ExtremeValueMachine(**PARAMETERS, n_jobs=n).fit(X, y))
        alone[threads], expected = seconds, expected or digest
        line(f"one process, {threads} threads", threads, seconds, digest, memory)
    for engine in engines:
        for workers in (1, 2, 4):
            with ENGINES[engine](workers) as (fit, meeting):
                found = timed(lambda n=workers, fit=fit: fit(X, y, **PARAMETERS, n_jobs=n))
                line(f"{engine}, {workers} workers", workers, *found)
        with ENGINES[engine](2) as (fit, meeting):
            killed: list[int] = []

            def kill(meeting: Callable[[], list[int]] = meeting, killed: list[int] = killed) -> None:
                time.sleep(0.4 * alone[2])
                while not killed:
                    for pid in meeting()[:1]:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

            thread = threading.Thread(target=kill, daemon=True)
            thread.start()
            found = timed(lambda fit=fit: fit(X, y, **PARAMETERS, n_jobs=2))
            if not killed:
                sys.exit("the fit was over before a worker could be killed")
            line(f"{engine}, 2 workers, 1 killed", 2, *found)


if __name__ == "__main__":
    main()
