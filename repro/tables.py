#!/usr/bin/env python3
"""Data sets as open-set tasks: `python repro/tables.py [SET ...] [--data FOLDER] [--draws 5] [--trials 60] [--keep FOLDER]`.

A SET is `letter` (in the box), `digits` (from scikit-learn) or the name of FOLDER/NAME.npz, which has either the arrays X, y and train
(whether a row trains), or X_train, y_train, X_test, y_test and X_unknown. Optional arrays of one value: `metric` (euclidean), `known`, how many
classes are known (half), and `seed` of the first draw (100). Draw i knows the classes
`numpy.random.default_rng(seed + i).permutation(classes)[:known]`; a set that has X_train is one draw.

Runs the example `tuned` on each draw. Prints means over the draws: accuracy on known rows / AUROC / OSCR +- its standard deviation / FPR at
95 % of known rows, and then OSCR of the best rival, `robust` and `tuned` next to each other. --keep FOLDER writes what each draw printed, and
reads it from there if it was written before, so that an interrupted run continues. Needs numpy, for digits scikit-learn.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EXAMPLE = ["cargo", "run", "--release", "--quiet", "-p", "evmachine-cli", "--example", "tuned", "--"]
LETTERS = Path(__file__).resolve().parent.parent / "data" / "letter"
OWN = ("paper", "robust", "tuned", "tuned, every point", "tuned, two in a hundred")


@dataclass
class Table:
    X: np.ndarray
    y: np.ndarray
    train: np.ndarray
    known: int
    seed: int = 100
    metric: str = "euclidean"


def read(name: str, folder: Path) -> Table | Path:
    """Rows, or the path of one draw."""
    if name == "letter":
        lines = [line.strip().split(",") for line in (LETTERS / "letter-recognition.data").open()]
        X = np.array([line[1:] for line in lines], np.float32)
        return Table(X, np.array([line[0] for line in lines]), np.arange(len(lines)) < 15_000, 15, 0)
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        train = np.random.default_rng(0).permutation(len(y)) < 0.7 * len(y)
        return Table(X.astype(np.float32), y.astype(str), train, 5)
    path = folder / f"{name}.npz"
    with np.load(path) as file:
        if "X_train" in file:
            return path
        y = file["y"].astype(str)
        given = {key: file[key].item() for key in ("known", "seed", "metric") if key in file}
        return Table(file["X"].astype(np.float32), y, file["train"], **{"known": len(np.unique(y)) // 2, **given})


def write_draw(path: Path, table: Table, draw: int) -> None:
    classes = np.random.default_rng(table.seed + draw).permutation(np.unique(table.y))[: table.known]
    known = np.isin(table.y, classes)
    X, y, train = table.X, table.y, table.train
    np.savez(
        path,
        X_train=X[train & known],
        y_train=y[train & known],
        X_test=X[~train & known],
        y_test=y[~train & known],
        X_unknown=X[~train & ~known],
    )


def run(table: Table | Path, draw: int, trials: int) -> tuple[str, str]:
    """What the example printed, figures and the rest."""
    with tempfile.TemporaryDirectory() as folder:
        path, metric = table, "euclidean"
        if isinstance(table, Path):
            with np.load(table) as file:
                metric = file["metric"].item() if "metric" in file else metric
        else:
            path, metric = Path(folder) / "draw.npz", table.metric
            write_draw(path, table, draw)
        command = [*EXAMPLE, "split", str(path), metric, "--trials", str(trials)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout, done.stderr


def figures(printed: str) -> dict[str, list[float]]:
    """By system: accuracy, AUROC, OSCR, FPR95."""
    found = {}
    for line in printed.splitlines():
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
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    summary = []
    for name in arguments.sets:
        table = read(name, arguments.data)
        systems: dict[str, list[list[float]]] = {}
        for draw in range(1 if isinstance(table, Path) else arguments.draws):
            kept = arguments.keep / f"{name}-{draw}-{arguments.trials}.json" if arguments.keep else None
            if kept and kept.exists():
                printed = json.loads(kept.read_text())
            else:
                printed = dict(zip(("figures", "rest"), run(table, draw, arguments.trials)))
                if kept:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(printed))
            for system, found in figures(printed["figures"]).items():
                systems.setdefault(system, []).append(found)
        print(f"\n## {name}\n\n| | accuracy | AUROC | OSCR | FPR95 |\n|---|---|---|---|---|")
        oscr = {}
        for system, found in systems.items():
            accuracy, auroc, oscr[system], fpr = (statistics.mean(column) for column in zip(*found))
            spread = statistics.pstdev([row[2] for row in found])
            print(f"| {system} | {accuracy:.3f} | {auroc:.3f} | {oscr[system]:.3f} +- {spread:.3f} | {fpr:.3f} |", flush=True)
        best = max((system for system in oscr if system not in OWN), key=oscr.__getitem__)
        own = " | ".join(f"{oscr[system]:.3f}" if system in oscr else "" for system in OWN[:3])
        summary.append(f"| {name} | {best} {oscr[best]:.3f} | {own} |")
    print("\n| OSCR | best rival | paper | robust | tuned |\n|---|---|---|---|---|", *summary, sep="\n")


if __name__ == "__main__":
    main()
