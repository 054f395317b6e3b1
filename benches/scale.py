"""What training from a disk costs beside training in memory, and what an interruption costs.

    python benches/scale.py PROGRAM 1000000x64 --classes 1000 --tail 200 --memory 512 [--preset robust] [--kill]

Draws clusters into shards of NPY in a temporary folder, trains on them with PROGRAM (the program `evmachine`) in memory and with --memory,
and compares seconds, peaks of memory as the system counts them, and the bytes of the models. With --kill a third run is killed in the
middle and gone on with. Needs numpy and Linux.
"""

import argparse
import hashlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import numpy as np


def draw(folder: pathlib.Path, rows: int, dimensions: int, classes: int, shards: int) -> None:
    """Shards of rows around one center a class, and their labels."""
    random = np.random.default_rng(1)
    centers = random.normal(size=(classes, dimensions)).astype(np.float32)
    for shard, count in enumerate(np.diff(np.linspace(0, rows, shards + 1).astype(int))):
        labels = random.integers(classes, size=count)
        values = centers[labels] + random.normal(size=(count, dimensions)).astype(np.float32)
        np.save(folder / f"x-{shard:03}.npy", values)
        np.save(folder / f"y-{shard:03}.npy", labels)


def train(
    program: str, folder: pathlib.Path, output: str, settings: list[str], more: list[str]
) -> subprocess.Popen[bytes]:
    """A training run in that folder."""
    command = [program, "train", "x-*.npy", "--labels-file", "y-*.npy", "--metric", "cosine", *settings]
    command += ["-o", output, *more]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)


def watched(run: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Seconds until it ends, and the largest resident size in megabytes."""
    clock = time.perf_counter()
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode != 0:
        message = f"the program ended with {run.returncode}"
        raise SystemExit(message)
    return time.perf_counter() - clock, usage.ru_maxrss / 1024


def main() -> None:
    """All runs of one size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("shape")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--tail", type=int, default=200)
    parser.add_argument("--memory", type=int, default=512)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--without-memory", action="store_true", help="only from the disk")
    arguments = parser.parse_args()
    rows, dimensions = map(int, arguments.shape.split("x"))
    program = str(pathlib.Path(arguments.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        draw(folder, rows, dimensions, arguments.classes, arguments.shards)
        size = rows * dimensions * 4 / 2**20
        print(
            f"{rows} x {dimensions}, {arguments.classes} classes, tail {arguments.tail}, {arguments.preset}: {size:.0f} MB of features"
        )
        settings = ["--preset", arguments.preset, "--tail-size", str(arguments.tail)]
        limit = ["--memory", str(arguments.memory)]
        plans = [("from the disk", "disk.safetensors", limit)]
        if not arguments.without_memory:
            plans.insert(0, ("in memory", "memory.safetensors", []))
        hashes = {}
        for what, output, more in plans:
            seconds, peak = watched(train(program, folder, output, settings, more))
            model = (folder / output).read_bytes()
            hashes[what] = hashlib.sha256(model).hexdigest()
            print(f"{what}: {seconds:.1f} s, peak {peak:.0f} MB, model {len(model) / 2**20:.0f} MB", flush=True)
        if arguments.kill:
            run = train(program, folder, "again.safetensors", settings, limit)
            time.sleep(seconds / 2)
            run.send_signal(signal.SIGKILL)
            run.wait()
            half = seconds / 2
            more = [*limit, "--resume"]
            seconds, peak = watched(train(program, folder, "again.safetensors", settings, more))
            hashes["gone on with"] = hashlib.sha256((folder / "again.safetensors").read_bytes()).hexdigest()
            print(f"killed after {half:.1f} s, then --resume: {seconds:.1f} s, peak {peak:.0f} MB")
        print("the same bytes" if len(set(hashes.values())) == 1 else f"MODELS DIFFER: {hashes}")
        left = sorted(path.name for path in folder.iterdir() if not path.name.endswith((".npy", ".safetensors")))
        print(f"left behind: {left or 'nothing'}")


if __name__ == "__main__":
    main()
