"""Groups of unknowns by HDBSCAN and k-means of scikit-learn, on the pools of `learning_curve.rs`.

    python benches/grouping.py letter
    python benches/grouping.py NAME FEATURES.npy LABELS.txt cosine

Prints, for each method and setting, the number of groups (what HDBSCAN calls noise is a group of one each), purity, and how many samples
the 100 largest hold.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans

ROOT = Path(__file__).parents[1]
POOL = 3_000


def read(arguments: list[str]) -> tuple[np.ndarray, np.ndarray, bool]:
    if arguments[0] == "letter":
        rows = np.loadtxt(ROOT / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
        return rows[:, 1:].astype(np.float32), rows[:, 0], False
    X = np.load(arguments[1])
    y = np.array(Path(arguments[2]).read_text().split("\n")[: len(X)])
    cosine = arguments[3:] == ["cosine"]
    return (X / np.linalg.norm(X, axis=1, keepdims=True) if cosine else X), y, cosine


def pool(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every second class is unknown, every third row the test; of the rest so many, evenly spread."""
    known = np.isin(y, np.unique(y)[::2])
    strange = np.flatnonzero(~known & (np.arange(len(y)) % 3 != 2))
    count = min(len(strange), POOL)
    rows = strange[np.arange(count) * len(strange) // count]
    return X[rows], y[rows]


def report(name: str, found: np.ndarray, y: np.ndarray) -> None:
    noise = found < 0
    found = np.where(noise, found.max() + 1 + np.cumsum(noise), found)
    _, codes = np.unique(y, return_inverse=True)
    groups = [codes[found == group] for group in np.unique(found)]
    pure = sum(np.bincount(group).max() for group in groups) / len(y)
    largest = sum(sorted(map(len, groups), reverse=True)[:100])
    print(f"{name}: {len(groups)} groups of {len(y)} unknowns, purity {pure:.3f}, the 100 largest hold {largest}")


def main() -> None:
    X, y, _ = read(sys.argv[1:])
    X, y = pool(X, y)
    for size in (2, 3, 5, 10):
        report(f"HDBSCAN, {size} at least", HDBSCAN(min_cluster_size=size, copy=True).fit_predict(X), y)
    for count in map(int, (len(np.unique(y)), 300, 1_000, 2_000)):
        report(f"k-means, {count}", KMeans(count, n_init=1, random_state=0).fit_predict(X), y)


if __name__ == "__main__":
    main()
