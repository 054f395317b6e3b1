#!/usr/bin/env python3
"""Tables of measurements as open-set tasks: `python repro/tables.py [SET ...] [--data FOLDER] [--draws 5] [--trials 60]`.

A SET is `digits` (from scikit-learn) or the name of FOLDER/NAME.npz with the arrays X, y and train (whether a row trains). In each draw half of
the classes are known, `numpy.random.default_rng(100 + draw).permutation(classes)[: classes // 2]`. Runs the example `tuned` on each and
prints means over the draws: accuracy on known rows / AUROC / OSCR +- its standard deviation / FPR at 95 % of known rows. Needs numpy, for
digits scikit-learn.
"""

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

EXAMPLE = ["cargo", "run", "--release", "--quiet", "-p", "evmachine-cli", "--example", "tuned", "--"]


def rows(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, their classes, and which of them train."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y.astype(str), np.random.default_rng(0).permutation(len(y)) < 0.7 * len(y)
    with np.load(folder / f"{name}.npz") as file:
        return file["X"].astype(np.float32), file["y"].astype(str), file["train"]


def write_draw(path: Path, name: str, folder: Path, draw: int) -> None:
    X, y, train = rows(name, folder)
    classes = np.unique(y)
    known = np.isin(y, np.random.default_rng(100 + draw).permutation(classes)[: len(classes) // 2])
    np.savez(
        path,
        X_train=X[train & known],
        y_train=y[train & known],
        X_test=X[~train & known],
        y_test=y[~train & known],
        X_unknown=X[~train & ~known],
    )


def figures(path: Path, trials: int) -> dict[str, list[float]]:
    """By system: accuracy, AUROC, OSCR, FPR95."""
    command = [*EXAMPLE, "split", str(path), "euclidean", "--trials", str(trials)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[2].replace(".", "", 1).isdigit():
            found[cells[0]] = [float(cell) for cell in cells[2:]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["digits"])
    parser.add_argument("--data", type=Path, default=Path("."))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--trials", type=int, default=60)
    arguments = parser.parse_args()
    for name in arguments.sets:
        systems: dict[str, list[list[float]]] = {}
        for draw in range(arguments.draws):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "draw.npz"
                write_draw(path, name, arguments.data, draw)
                for system, found in figures(path, arguments.trials).items():
                    systems.setdefault(system, []).append(found)
        print(f"\n## {name}\n\n| | accuracy | AUROC | OSCR | FPR95 |\n|---|---|---|---|---|")
        for system, found in systems.items():
            accuracy, auroc, oscr, fpr = (statistics.mean(column) for column in zip(*found))
            spread = statistics.pstdev([row[2] for row in found])
            print(f"| {system} | {accuracy:.3f} | {auroc:.3f} | {oscr:.3f} +- {spread:.3f} | {fpr:.3f} |", flush=True)


if __name__ == "__main__":
    main()
