"""What Python costs: fit and predict on the same arrays, from Rust and from Python, in turns.

    cargo build --release -p evmachine --example overhead
    python python/benches/overhead.py target/release/examples/overhead [rows]

Rust and Python take turns, and each call is timed by its own side, without reading files: by the clock, of which the
best turn is compared, and by the time that the threads of the process were on a processor, of which the median is, and
which other work on the machine disturbs less. Then come the time to import the package and the size of the compiled
module.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from evmachine import ExtremeValueMachine, _native

TURNS = 25


def processor() -> float:
    """Seconds that the threads of this process have run on a processor."""
    return 1e-9 * sum(float(file.read_text().split()[0]) for file in Path("/proc/self/task").glob("*/schedstat"))


def importing(code: str) -> float:
    """Seconds that the import takes inside a fresh interpreter, best of seven."""
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    runs = [
        subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True).stdout
        for _ in range(7)
    ]
    return min(float(run) for run in runs)


def main() -> None:
    program = sys.argv[1]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 15_000
    root = Path(__file__).parents[2]
    table = np.loadtxt(root / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
    X, y = table[:, 1:].astype(np.float32), table[:, 0]
    train, queries = X[:rows], np.ascontiguousarray(X[rows:])
    times: dict[str, list[tuple[float, float]]] = {}

    def note(what: str, seconds: tuple[float, float]) -> None:
        times.setdefault(what, []).append(seconds)

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.f32").write_bytes(train.tobytes())
        (Path(folder) / "queries.f32").write_bytes(queries.tobytes())
        (Path(folder) / "labels.txt").write_text("\n".join(y[:rows]))
        rust = subprocess.Popen([program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert rust.stdin is not None and rust.stdout is not None
        for _ in range(TURNS):
            rust.stdin.write("go\n")
            rust.stdin.flush()
            found = json.loads(rust.stdout.readline())
            note("rust fit", found["fit"])
            note("rust predict", found["predict"])
            machine = ExtremeValueMachine(preset="plain", tail_size=75, rejection_threshold=0.05)
            start = time.perf_counter(), processor()
            machine.fit(train, y[:rows])
            note("python fit", (time.perf_counter() - start[0], processor() - start[1]))
            start = time.perf_counter(), processor()
            answers = machine.predict(queries)
            note("python predict", (time.perf_counter() - start[0], processor() - start[1]))
        rust.stdin.close()
        rust.wait()
    assert found["unknown"] == int((answers == "unknown").sum()), "both decide alike"
    for call in ("fit", "predict"):
        for which, summary, name in ((0, min, "by the clock"), (1, statistics.median, "on processors")):
            theirs, ours = (summary(turn[which] for turn in times[f"{side} {call}"]) for side in ("rust", "python"))
            more = 100 * (ours / theirs - 1)
            print(f"{call:8} {name:14} Rust {1e3 * theirs:7.1f} ms   Python {1e3 * ours:7.1f} ms   {more:+.1f} %")
    print(f"import evmachine                          {importing('import evmachine'):.3f} s")
    print(f"import numpy                              {importing('import numpy'):.3f} s")
    print(f"import sklearn.base                       {importing('import sklearn.base'):.3f} s")
    estimator = "from evmachine import ExtremeValueMachine"
    print(f"{estimator} {importing(estimator):.3f} s")
    print(f"compiled module {Path(_native.__file__).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
