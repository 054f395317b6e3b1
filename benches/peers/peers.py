"""What a user would run instead: libmr under numpy, and the package EVM."""

from __future__ import annotations

import libmr
import numpy as np


def distances(a: np.ndarray, b: np.ndarray, metric: str) -> np.ndarray:
    if metric == "cosine":
        return 1 - unit(a) @ unit(b).T
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * a @ b.T
    return np.sqrt(np.maximum(squares, 0))


def unit(a: np.ndarray) -> np.ndarray:
    return a / np.linalg.norm(a, axis=1, keepdims=True)


class NumpyLibmr:
    """One matrix product a class, one `fit_low` a point, one `w_score_vector` an extreme vector."""

    name = "numpy + libmr 0.1.9"

    def __init__(self, metric: str, tail: int, threshold: float | None) -> None:
        self.metric, self.tail, self.threshold = metric, tail, threshold

    def fit(self, X: np.ndarray, y: np.ndarray) -> NumpyLibmr:
        self.classes: list[tuple[np.ndarray, list[libmr.MR]]] = []
        for label in np.unique(y):
            own = y == label
            between = 0.5 * distances(X[own], X[~own], self.metric)
            count = min(self.tail, between.shape[1])
            tails = np.partition(between, count - 1, axis=1)[:, :count].astype(np.float64)
            models = []
            for tail in tails:
                model = libmr.MR()
                model.fit_low(tail, count)
                models.append(model)
            kept = self.cover(X[own], models) if self.threshold is not None else list(range(len(models)))
            self.classes.append((X[own][kept], [models[i] for i in kept]))
        return self

    def cover(self, points: np.ndarray, models: list[libmr.MR]) -> list[int]:
        within = distances(points, points, self.metric).astype(np.float64)
        psi = np.array([model.w_score_vector(row) for model, row in zip(models, within)])
        sets = psi >= self.threshold
        np.fill_diagonal(sets, True)
        missing = np.ones(len(points), bool)
        kept = []
        while missing.any():
            best = int((sets & missing).sum(1).argmax())
            kept.append(best)
            missing &= ~sets[best]
        return kept

    def score(self, queries: np.ndarray) -> np.ndarray:
        columns = []
        for points, models in self.classes:
            between = distances(points, queries, self.metric).astype(np.float64)
            columns.append(np.max([model.w_score_vector(row) for model, row in zip(models, between)], axis=0))
        return np.stack(columns, 1)


class PackageEvm:
    """PyPI's EVM 0.1.2, which calls a Python function for every distance."""

    name = "EVM 0.1.2"

    def __init__(self, metric: str, tail: int, threshold: float | None) -> None:
        import EVM
        import scipy.spatial.distance

        function = getattr(scipy.spatial.distance, metric)
        self.machine = EVM.MultipleEVM(tail, threshold, distance_function=function)

    def fit(self, X: np.ndarray, y: np.ndarray) -> PackageEvm:
        X = X.astype(np.float64)
        self.machine.train([X[y == label] for label in np.unique(y)])
        return self

    def score(self, queries: np.ndarray) -> np.ndarray:
        found, _ = self.machine.max_probabilities(queries.astype(np.float64))
        return np.asarray(found)
