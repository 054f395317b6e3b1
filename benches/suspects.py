"""Flipped labels found again: `evmachine.suspects` beside k-nearest neighbours and cleanlab.

    pip install ./python scikit-learn cleanlab
    python benches/suspects.py letter
    python benches/suspects.py clinc CLINC.npz     # X_train, y_train, as float embeddings

Labels of 1, 2, 5 and 10 % of the rows are changed to another class, drawn evenly. Each way ranks all rows; printed are its average
precision and the share of flipped rows among as many as were flipped. Neighbours: the share of the k nearest rows with another label,
for the best of five k, which is chosen on the answer. cleanlab: its default score, from scikit-learn's logistic regression on
standardised columns, out of five folds. Rows that `suspects` does not list come last.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evmachine import ExtremeValueMachine, suspects

ROOT = Path(__file__).parents[1]
NEIGHBORS = (5, 10, 20, 50, 100)


def read(arguments: list[str]) -> tuple[np.ndarray, np.ndarray, str]:
    if arguments[:1] == ["clinc"]:
        arrays = np.load(arguments[1])
        return arrays["X_train"].astype(np.float32), arrays["y_train"].astype(int), "cosine"
    rows = np.loadtxt(ROOT / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
    return rows[:, 1:].astype(np.float32), np.unique(rows[:, 0], return_inverse=True)[1], "euclidean"


def flip(y: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    rows = random.choice(len(y), round(share * len(y)), replace=False)
    classes = y.max() + 1
    flipped = y.copy()
    flipped[rows] = (y[rows] + random.integers(1, classes, len(rows))) % classes
    return flipped, np.isin(np.arange(len(y)), rows)


def figures(doubt: np.ndarray, wrong: np.ndarray) -> str:
    first = np.argsort(-doubt, kind="stable")[: wrong.sum()]
    return f"{average_precision_score(wrong, doubt):.3f} / {wrong[first].mean():.3f}"


def by_suspects(X: np.ndarray, y: np.ndarray, metric: str) -> np.ndarray:
    doubt = np.full(len(y), -1.0)
    for suspect in suspects(X, y, estimator=ExtremeValueMachine.robust(metric=metric)):
        doubt[suspect.index] = suspect.lead
    return doubt


def by_cleanlab(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    return -get_label_quality_scores(y, cross_val_predict(linear, X, y, cv=5, method="predict_proba"))


def main() -> None:
    X, y, metric = read(sys.argv[1:])
    nearest = NearestNeighbors(n_neighbors=max(NEIGHBORS), metric=metric).fit(X).kneighbors(return_distance=False)
    print("| flipped | `suspects` | k nearest, best k | cleanlab | seconds |\n|---|---|---|---|---|")
    for share in (0.01, 0.02, 0.05, 0.1):
        labels, wrong = flip(y, share)
        start = time.perf_counter()
        own = figures(by_suspects(X, labels, metric), wrong)
        seconds = time.perf_counter() - start
        other = labels[nearest] != labels[:, None]
        neighbors = max((figures(other[:, :k].mean(axis=1), wrong), k) for k in NEIGHBORS)
        linear = figures(by_cleanlab(X, labels), wrong)
        print(f"| {share:.0%} | {own} | {neighbors[0]} ({neighbors[1]}) | {linear} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
