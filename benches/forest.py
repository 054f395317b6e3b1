"""What a forest costs beside scikit-learn's, in one run.

    cargo build --release -p evmachine-forest --example forest
    python benches/forest.py target/release/examples/forest 4000x36 [--classes 6] [--trees 300] [--threads 2] [--repeats 5]

Draws rows of overlapping clumps, grows extra trees, a random forest and boosted trees with both in turn, and prints the median
seconds of growing and of asking as many queries, and the accuracy on them. Needs numpy and scikit-learn.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier


def draw(rows: int, columns: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three clumps a class, and their classes."""
    random = np.random.default_rng(1)
    clumps = random.normal(size=(classes, 3, columns))
    labels = random.integers(classes, size=rows)
    centers = clumps[labels, random.integers(3, size=rows)]
    return (centers + random.normal(size=(rows, columns))).astype(np.float32), labels.astype(np.uint32)


def ours(program: str, folder: pathlib.Path, kind: str, trees: int, columns: int, threads: int) -> tuple[float, float, np.ndarray]:
    """Seconds of growing and of asking, and the probabilities."""
    files = [str(folder / name) for name in ("train", "labels", "queries", "output")]
    command = [program, kind, str(trees), "0", str(columns), *files]
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    grown, asked = map(float, run.stdout.split())
    return grown, asked, np.fromfile(files[3], np.float64)


def theirs(model: object, train: np.ndarray, labels: np.ndarray, queries: np.ndarray) -> tuple[float, float, np.ndarray]:
    """The same of scikit-learn."""
    clock = time.perf_counter()
    model.fit(train, labels)
    grown = time.perf_counter() - clock
    clock = time.perf_counter()
    found = model.predict_proba(queries)
    return grown, time.perf_counter() - clock, found


def main() -> None:
    """All kinds of one size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("shape")
    parser.add_argument("--classes", type=int, default=6)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", default=["extra", "random", "boosted"])
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    rows, columns = map(int, arguments.shape.split("x"))
    values, classes = draw(2 * rows, columns, arguments.classes)
    train, labels, queries, truth = values[:rows], classes[:rows], values[rows:], classes[rows:]
    makers = {
        "extra": lambda: ExtraTreesClassifier(arguments.trees, n_jobs=arguments.threads, random_state=0),
        "random": lambda: RandomForestClassifier(arguments.trees, n_jobs=arguments.threads, random_state=0),
        "boosted": lambda: HistGradientBoostingClassifier(max_iter=100, random_state=0),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, array in (("train", train), ("labels", labels), ("queries", queries)):
            array.tofile(folder / file)
        print(f"{arguments.shape}, {arguments.classes} classes, {arguments.threads} threads: seconds to grow / to ask / accuracy")
        for kind in arguments.kinds:
            trees = 100 if kind == "boosted" else arguments.trees
            found: dict[str, list[tuple[float, float, np.ndarray]]] = {"evmachine": [], "scikit-learn": []}
            for _ in range(arguments.repeats):
                found["evmachine"].append(ours(arguments.program, folder, kind, trees, columns, arguments.threads))
                found["scikit-learn"].append(theirs(makers[kind](), train, labels, queries))
            for who, runs in found.items():
                grown, asked = (statistics.median(run[part] for run in runs) for part in (0, 1))
                best = runs[0][2].reshape(rows, -1).argmax(1)
                print(f"{kind:8} {who:13} {grown:8.3f} {asked:8.3f}  {np.mean(best == truth):.4f}", flush=True)


main()
