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


class Torch:
    """The method of Vastlab's vast, which asks for CUDA, on torch's processor: all rows of a class at once, distances by
    differences, `topk`, Newton's steps in doubles, a greedy cover."""

    def __init__(self, metric: str, tail: int, threshold: float | None) -> None:
        import torch

        self.torch, self.metric, self.tail, self.threshold = torch, metric, tail, threshold
        self.name = f"torch {torch.__version__.split('+')[0]}"

    def distances(self, a, b):
        if self.metric == "cosine":
            unit = self.torch.nn.functional.normalize
            return 1 - unit(a) @ unit(b).T
        return self.torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")

    def fit(self, X: np.ndarray, y: np.ndarray) -> Torch:
        self.classes = []
        for label in np.unique(y):
            own, others = (self.torch.from_numpy(X[rows]) for rows in (y == label, y != label))
            margins = 0.5 * self.distances(own, others)
            tails = margins.topk(min(self.tail, margins.shape[1]), dim=1, largest=False).values.double()
            shifts = tails.amax(1) + 1
            shapes, scales = self.weibulls(shifts[:, None] - tails)
            kept = self.cover(own, shifts, shapes, scales)
            self.classes.append((own[kept], shifts[kept], shapes[kept], scales[kept]))
        return self

    def weibulls(self, values):
        """Shapes and scales of many rows, each step for all of them."""
        logarithms = values.log()
        means = logarithms.mean(1)
        shapes = self.torch.ones_like(means)
        for _ in range(100):
            powers = values ** shapes[:, None]
            sums = powers.sum(1)
            first = (powers * logarithms).sum(1) / sums
            second = (powers * logarithms * logarithms).sum(1) / sums
            steps = (first - means - 1 / shapes) / (second - first**2 + 1 / shapes**2)
            shapes = shapes - steps
            if steps.abs().max() < 1e-6:
                break
        return shapes, (values ** shapes[:, None]).mean(1) ** (1 / shapes)

    def psi(self, distances, shifts, shapes, scales):
        """One row for each query, one column for each extreme vector."""
        depths = (shifts - distances.double()).clamp(min=0)
        return -self.torch.expm1(-((depths / scales) ** shapes))

    def cover(self, own, shifts, shapes, scales) -> list[int]:
        if self.threshold is None:
            return list(range(len(own)))
        sets = (self.psi(self.distances(own, own), shifts, shapes, scales) >= self.threshold).T
        sets.fill_diagonal_(True)
        missing = self.torch.ones(len(own), dtype=bool)
        kept = []
        while missing.any():
            best = int(sets[:, missing].sum(1).argmax())
            kept.append(best)
            missing &= ~sets[best]
        return kept

    def score(self, queries: np.ndarray) -> np.ndarray:
        queries = self.torch.from_numpy(queries)
        columns = [self.psi(self.distances(queries, own), *curves).amax(1) for own, *curves in self.classes]
        return self.torch.stack(columns, 1).numpy()


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
