"""Peers and evmachine in one run, alternating, medians, as ratios.

    python3 benches/peers/run.py setup                  # a virtual environment in target/peers, with peers and evmachine
    target/peers/bin/python benches/peers/run.py letter
    target/peers/bin/python benches/peers/run.py clinc FILE.npz
    target/peers/bin/python benches/peers/run.py probe FILE.npz
    target/peers/bin/python benches/peers/run.py single
    target/peers/bin/python benches/peers/run.py update
    target/peers/bin/python benches/peers/run.py growth docs/images/growth.png
    target/peers/bin/python benches/peers/run.py sizes
    target/peers/bin/python benches/peers/run.py imagenet

After `target/peers/bin/pip install torch`, letter and clinc time torch too.

Each prints a Markdown table: seconds, the ratio, and the share that the distances alone, at the speed of numpy's matrix
product on this machine in this run, would take of our time. `--turns N` sets how often both sides take a turn.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / "target/peers"


def setup() -> None:
    """libmr and EVM are built from source by tools of their time."""
    subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    pip = [str(ENVIRONMENT / "bin/pip"), "install", "--quiet"]
    old = {**os.environ, "SKLEARN_ALLOW_DEPRECATED_SKLEARN_PACKAGE_INSTALL": "True"}
    subprocess.run([*pip, "-r", str(ROOT / "benches/peers/requirements.txt")], check=True)
    subprocess.run([*pip, "--no-build-isolation", "libmr==0.1.9", "EVM==0.1.2"], check=True, env=old)
    subprocess.run([*pip, str(ROOT / "python")], check=True)


def settle() -> None:
    """The threads of a matrix product wait awake for more; until they sleep, they take time from whoever comes next."""
    time.sleep(0.2)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median(turns: int, *calls: Callable[[], object]) -> list[float]:
    """The median of each, taking turns."""

    def turn(call: Callable[[], object]) -> float:
        settle()
        return seconds(call)

    times = [[turn(call) for call in calls] for _ in range(turns)]
    return [statistics.median(column) for column in zip(*times)]


def peak() -> float:
    """Flops per second of numpy's matrix product."""
    import numpy as np

    a = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    return 2 * 2048**3 / min(seconds(lambda: a @ a) for _ in range(7))


def table(rows: list[list[str]], header: list[str]) -> None:
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nnumpy's matrix product here: {peak() / 1e9:.0f} GFLOP/s; peak memory of this process {used:.0f} MB")


def versus(name: str, turns: int, peer: Callable[[], object], own: Callable[[], object], flops: float) -> list[str]:
    theirs, ours = median(turns, peer, own)
    share = f"{flops / peak() / ours:.0%}" if flops else ""
    return [name, f"{theirs:.3f}", f"{ours:.4f}", f"{theirs / ours:.0f}", share]


HEADER = ["", "peer, s", "evmachine, s", "ratio", "distances at the product's speed, of our time"]


def letter(turns: int) -> None:
    import numpy as np
    from evmachine import ExtremeValueMachine
    from peers import NumpyLibmr, PackageEvm, Torch

    data = np.loadtxt(ROOT / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
    X, y = data[:, 1:].astype(np.float32), data[:, 0]
    train, queries = (X[:15_000], y[:15_000]), X[15_000:]
    own = ExtremeValueMachine(preset="plain", tail_size=75, rejection_threshold=0.05).fit(*train)
    peer = NumpyLibmr("euclidean", 75, 0.5).fit(*train)
    flops = 2 * 15_000**2 * 16
    rows = [
        versus(
            f"fit and reduce 15,000 x 16, {peer.name}",
            turns,
            lambda: NumpyLibmr("euclidean", 75, 0.5).fit(*train),
            lambda: ExtremeValueMachine(preset="plain", tail_size=75, rejection_threshold=0.05).fit(*train),
            flops,
        ),
        versus(
            f"predict 5,000, {peer.name}", turns, lambda: peer.score(queries), lambda: own.predict(queries), 0
        ),
    ]
    if importlib.util.find_spec("torch"):
        torch = Torch("euclidean", 75, 0.5).fit(*train)
        rows += [
            versus(
                f"fit and reduce 15,000 x 16, {torch.name}",
                min(turns, 3),
                lambda: Torch("euclidean", 75, 0.5).fit(*train),
                lambda: ExtremeValueMachine(preset="plain", tail_size=75, rejection_threshold=0.05).fit(*train),
                flops,
            ),
            versus(
                f"predict 5,000, {torch.name}", turns, lambda: torch.score(queries), lambda: own.predict(queries), 0
            ),
        ]
    few = (X[:1_040], y[:1_040])
    rows.append(
        versus(
            f"fit and reduce 1,040 x 16, {PackageEvm.name}",
            min(turns, 3),
            lambda: PackageEvm("euclidean", 75, 0.5).fit(*few),
            lambda: ExtremeValueMachine(preset="plain", tail_size=75, rejection_threshold=0.05).fit(*few),
            0,
        )
    )
    table(rows, HEADER)


def clinc(turns: int, path: str) -> None:
    import numpy as np
    from evmachine import ExtremeValueMachine
    from peers import NumpyLibmr, Torch

    with np.load(path) as file:
        X, y = file["X_train"].astype(np.float32), file["y_train"]
    rows = []
    peers = [(NumpyLibmr, turns, (1_000, 7_000))]
    if importlib.util.find_spec("torch"):
        peers.append((Torch, 1, (1_000,)))
    for peer, count, tails in peers:
        for tail in tails:
            own = {"metric": "cosine", "tail_size": tail, "cover_threshold": 1.0, "tail_memory": "none", "rejection_threshold": 0.05}
            rows.append(
                versus(
                    f"fit 15,000 x 384, tail {tail}, {peer('cosine', tail, None).name}",
                    count,
                    lambda: peer("cosine", tail, None).fit(X, y),
                    lambda: ExtremeValueMachine(preset="plain", **own).fit(X, y),
                    2 * 15_000**2 * 384 / 2,
                )
            )
    table(rows, HEADER)
    print("Each distance is computed once, so the product is counted by half.")


def probe(turns: int, path: str) -> None:
    """The robust preset with and without its witnesses, beside scikit-learn's logistic regression on the same rows."""
    import numpy as np
    from evmachine import ExtremeValueMachine
    from sklearn.linear_model import LogisticRegression

    with np.load(path) as file:
        X, y, queries = file["X_train"].astype(np.float32), file["y_train"], file["X_test"].astype(np.float32)
    mean, deviation = X.mean(0), X.std(0)
    deviation[deviation == 0] = 1
    held = np.arange(len(X)) % 5 == 0

    def linear(cost: float, rows: np.ndarray) -> LogisticRegression:
        return LogisticRegression(C=cost, max_iter=400).fit((X[rows] - mean) / deviation, y[rows])

    def chosen() -> LogisticRegression:
        score = lambda cost: linear(cost, ~held).score((X[held] - mean) / deviation, y[held])
        return linear(max((0.001, 0.01, 0.1, 1.0), key=score), np.full(len(X), True))

    alone = {"logit_weight": 0.0, "probe_weight": 0.0, "forest_weight": 0.0}
    machines = {
        "robust": lambda: ExtremeValueMachine.robust(metric="cosine").fit(X, y),
        "robust, features alone": lambda: ExtremeValueMachine.robust(metric="cosine", **alone).fit(X, y),
        "robust, features alone, fixed delta": lambda: ExtremeValueMachine.robust(
            metric="cosine", rejection_threshold=0.05, **alone
        ).fit(X, y),
    }
    rows = [
        ["scikit-learn, C given", f"{seconds(lambda: linear(0.01, np.full(len(X), True))):.2f}", ""],
        ["scikit-learn, C of four on held-out rows", f"{seconds(chosen):.2f}", ""],
    ]
    for name, fit in machines.items():
        machine = fit()
        spent, asked = median(turns, fit, lambda: machine.predict(queries))
        rows.append([name, f"{spent:.2f}", f"{1e3 * asked:.0f}"])
    table(rows, ["", "fit, s", "predict 4,500, ms"])


def single(turns: int) -> None:
    """75,000 extreme vectors of 384 dimensions, beside faiss's exact search for the nearest."""
    import faiss
    import numpy as np
    from evmachine import ExtremeValueMachine

    random = np.random.default_rng(0)
    centres = random.normal(size=(150, 384))
    X = (centres[np.arange(75_000) % 150] + random.normal(size=(75_000, 384))).astype(np.float32)
    queries = (centres[random.integers(150, size=4_096)] + random.normal(size=(4_096, 384))).astype(np.float32)
    own = ExtremeValueMachine(preset="plain", tail_size=20, cover_threshold=1.0, tail_memory="none", rejection_threshold=0.05).fit(X, np.arange(75_000) % 150)
    index = faiss.IndexFlatL2(384)
    index.add(X)
    rows = []
    for batch in (1, 32, 1_024):
        count = max(200 // batch, 3)
        for name, call in (
            ("evmachine", own.predict),
            ("faiss exact 1-NN", lambda part: index.search(part, 1)),
        ):
            times = []
            settle()
            for turn in range(count):
                part = queries[turn * batch % 3_072 :][:batch]
                times.append(seconds(lambda: call(part)))
            p50, p99 = np.percentile(times, [50, 99])
            rows.append([str(batch), name, f"{1e3 * p50:.2f}", f"{1e3 * p99:.2f}", f"{batch / p50:.0f}"])
    table(rows, ["queries at once", "", "p50, ms", "p99, ms", "queries/s"])


def clumps(rows: int, d: int, classes: int, seed: int = 0):
    import numpy as np

    random = np.random.default_rng(seed)
    centres = random.normal(size=(classes, d)).astype(np.float32)
    y = np.arange(rows) % classes
    return centres[y] + random.standard_normal((rows, d), dtype=np.float32), y


def update(turns: int) -> None:
    """One class of 500 into a model of 200 classes of 500."""
    from evmachine import ExtremeValueMachine

    X, y = clumps(100_000, 64, 200)
    new, _ = clumps(500, 64, 1, seed=1)
    rows = []
    for threshold in (0.5, 1.0):
        params = {"tail_size": 100, "cover_threshold": threshold, "rejection_threshold": 0.05}
        start = time.perf_counter()
        machine = ExtremeValueMachine(preset="plain", **params).fit(X, y)
        fit = time.perf_counter() - start
        times = []
        for _ in range(turns):
            fresh = copy.deepcopy(machine)
            times.append(seconds(lambda: fresh.partial_fit(new, [999] * 500)))
        once = statistics.median(times)
        kept = len(machine.extreme_vector_indices_)
        rows.append([str(threshold), str(kept), f"{fit:.2f}", f"{once:.3f}", f"{fit / once:.0f}"])
    table(rows, ["cover threshold", "extreme vectors", "fit 100,000 x 64, s", "update with 500, s", "ratio"])


def growth(turns: int, picture: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    from evmachine import ExtremeValueMachine

    def fit(rows: int, d: int) -> float:
        X, y = clumps(rows, d, 50)
        call = lambda: ExtremeValueMachine(preset="plain", tail_size=75, tail_memory="none").fit(X, y)  # noqa: E731
        return median(turns, call)[0]

    speed = peak()
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    rows = []
    for ax, name, sizes, shape in (
        (axes[0], "rows, 64 dimensions", [5_000, 10_000, 20_000, 40_000, 80_000], lambda n: (n, 64)),
        (axes[1], "dimensions, 20,000 rows", [16, 64, 256, 1_024], lambda d: (20_000, d)),
    ):
        times = [fit(*shape(size)) for size in sizes]
        # Two operations a dimension, each distance once.
        limits = [count**2 * d / speed for count, d in map(shape, sizes)]
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        rows += [
            [name, f"{size:,}", f"{once:.3f}", f"{limit / once:.0%}", ""]
            for size, once, limit in zip(sizes, times, limits)
        ]
        rows[-1][-1] = f"{slope:.2f}"
        ax.loglog(sizes, times, marker="o", color="#2f6f9f", label="fit and reduce")
        ax.loglog(sizes, limits, linestyle="--", color="#999999", label="its distances, as numpy's product")
        ax.set_xlabel(name)
        ax.set_title(f"exponent {slope:.2f}")
        ax.grid(True, which="both", linewidth=0.3)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
    axes[0].set_ylabel("seconds")
    axes[0].legend(frameon=False)
    figure.savefig(ROOT / picture, dpi=150)
    table(rows, ["", "", "s", "distances at the product's speed", "exponent"])


def sizes(turns: int) -> None:
    """The sizes people come with: fit and predict beside the product of all pairs, each pair once for a fit.

    Drawn features, cosine, `robust` in feature space alone with a fixed delta; tails of 200, of 1,000, and the automatic ones.
    """
    import numpy as np
    from evmachine import ExtremeValueMachine

    rows = []
    alone = {"metric": "cosine", "logit_weight": 0.0, "probe_weight": 0.0, "forest_weight": 0.0, "rejection_threshold": 0.05}
    for count, d, classes, tails in (
        (20_000, 64, 100, (200, 1_000)),
        (20_000, 512, 100, (200, 1_000)),
        (60_000, 512, 300, (200, 1_000, "auto")),
    ):
        X, y = clumps(count, d, classes)
        part = X[: count // 4]
        product = 2 * median(min(turns, 3), lambda: part @ X.T)[0]
        for tail in tails:
            times = []
            for _ in range(turns if count < 60_000 else 1):
                settle()
                machine = ExtremeValueMachine.robust(tail_size=tail, **alone)
                times.append(seconds(lambda: machine.fit(X, y)))
            fit = statistics.median(times)
            rows.append([f"fit {count:,} x {d}, tail {tail}", f"{fit:.2f}", f"{product:.2f}", f"{100 * product / fit:.0f} %"])
        settle()
        vectors = len(machine.extreme_vector_indices_)
        predict, whole = seconds(lambda: machine.predict(X)), 2 * product * vectors / count
        rows.append([f"predict {count:,} against {vectors:,}", f"{predict:.2f}", f"{whole:.2f}", f"{100 * whole / predict:.0f} %"])
    table(rows, ["", "s", "product, s", "share"])


def draw(path: str) -> None:
    """Features of the size of the paper's first ImageNet batch."""
    import numpy as np

    np.save(path, clumps(64_817, 4_096, 50)[0])


def imagenet(_: int) -> None:
    """The paper's first ImageNet batch in size: 64,817 x 4,096, 50 classes, tail 33,998.

    Drawn by another process, so that the peak of this one is that of reading and fitting.
    """
    import tempfile

    import numpy as np
    from evmachine import ExtremeValueMachine

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/features.npy"
        subprocess.run([sys.executable, __file__, "draw", path], check=True)
        X = np.load(path)
    y = np.arange(len(X)) % 50
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    product = 2 * len(X) ** 2 * X.shape[1] / peak()
    machine = ExtremeValueMachine(preset="plain", metric="cosine", tail_size=33_998, tail_memory="none")
    took = seconds(lambda: machine.fit(X, y))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table(
        [[f"{took:.0f}", f"{product:.0f}", f"{product / took:.0%}", f"{before:.0f}", f"{used:.0f}"]],
        ["fit and reduce, s", "the product by numpy, s", "share", "process with the data, MB", "peak, MB"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("what", choices=["setup", "letter", "clinc", "single", "update", "probe", "growth", "sizes", "imagenet", "draw"])
    parser.add_argument("argument", nargs="?", help="clinc, probe: the NPZ file; growth: the picture; draw: the file to write")
    arguments = parser.parse_args()
    calls: dict[str, Callable[..., None]] = {
        "letter": letter,
        "clinc": clinc,
        "single": single,
        "update": update,
        "probe": probe,
        "growth": growth,
        "sizes": sizes,
        "imagenet": imagenet,
        "draw": draw,
    }
    if arguments.what == "setup":
        setup()
    elif arguments.what in ("clinc", "probe", "growth", "draw"):
        if arguments.argument is None:
            parser.error(f"{arguments.what} needs a file")
        turns = [] if arguments.what == "draw" else [arguments.turns]
        calls[arguments.what](*turns, arguments.argument)
    else:
        calls[arguments.what](arguments.turns)


if __name__ == "__main__":
    main()
