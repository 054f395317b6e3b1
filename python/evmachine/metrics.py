"""Figures for classifiers that may say "unknown".

Queries whose true label is not among the classes of the model are unknown ones, whatever that label is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evmachine import _native
from evmachine._open_set import OpenSetClassifier

__all__ = ["OpennessCurve", "open_set_report", "openness_curve", "oscr_curve"]


def _answers(estimator: OpenSetClassifier, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Any, ...]:
    """Truth as positions in ``classes_`` or -1, best class, support, whether accepted, number of classes."""
    best, accepted, _, _, support, fitted = estimator._decide_with(X)
    positions = {label: position for position, label in enumerate(fitted.classes.tolist())}
    truth = np.array([positions.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.int64)
    if len(truth) != len(best):
        raise ValueError(f"{len(best)} rows of X but {len(truth)} labels")
    return truth, best, support, accepted, len(positions)


def open_set_report(estimator: OpenSetClassifier, X: npt.ArrayLike, y: npt.ArrayLike) -> dict[str, Any]:
    """The figures that open-set papers report.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted.
    X : array-like of shape (n_queries, n_features)
    y : array-like of shape (n_queries,)
        True labels, of known and unknown classes.

    Returns
    -------
    dict
        ``known`` and ``unknown`` count the queries; ``accuracy``, ``closed_accuracy``, ``known_accuracy``,
        ``false_unknown``, ``unknown_accuracy``, ``normalized_accuracy``, ``harmonic_normalized_accuracy``,
        ``f1_micro``, ``f1_macro``, ``auroc``, ``oscr`` and ``fpr95`` (unknowns accepted where 95 % of the knowns are;
        lower is better) are rates, ``None`` over nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evmachine import ExtremeValueMachine
    >>> from evmachine.metrics import open_set_report
    >>> X, y = load_iris(return_X_y=True)
    >>> known = y > 0
    >>> evm = ExtremeValueMachine().fit(X[known], y[known])
    >>> report = open_set_report(evm, X, y)
    >>> report["known"], report["unknown"], report["unknown_accuracy"]
    (100, 50, 1.0)
    """
    truth, best, support, accepted, classes = _answers(estimator, X, y)
    figures: dict[str, Any] = json.loads(_native.evaluate(truth, best, support, accepted, classes))
    return figures


def oscr_curve(
    estimator: OpenSetClassifier, X: npt.ArrayLike, y: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The OSCR curve, over all thresholds.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted.
    X : array-like of shape (n_queries, n_features)
    y : array-like of shape (n_queries,)
        True labels, of known and unknown classes.

    Returns
    -------
    false_positive_rate : ndarray
        Share of unknown queries accepted, rising.
    correct_classification_rate : ndarray
        Share of known queries accepted and classified right.
    """
    truth, best, support, accepted, classes = _answers(estimator, X, y)
    return _native.oscr_curve(truth, best, support, accepted, classes)


@dataclass(frozen=True)
class OpennessCurve:
    """Figures as more and more unknown classes come.

    Attributes
    ----------
    unknown_classes : ndarray of int
        How many unknown classes took part.
    openness : ndarray of float
        ``1 - sqrt(2 C_train / (C_train + C_test))``, with all classes that occur counted in C_test.
    f1 : ndarray of float
        Micro F1 over the known classes.
    accuracy : ndarray of float
        Rate of right answers: the right class for known queries, rejection for unknown ones.
    """

    unknown_classes: npt.NDArray[np.int64]
    openness: npt.NDArray[np.float64]
    f1: npt.NDArray[np.float64]
    accuracy: npt.NDArray[np.float64]


def openness_curve(
    estimator: OpenSetClassifier, X: npt.ArrayLike, y: npt.ArrayLike, *, random_state: int = 0
) -> OpennessCurve:
    """F1 and accuracy as the unknown classes of ``y`` join one by one.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted.
    X : array-like of shape (n_queries, n_features)
    y : array-like of shape (n_queries,)
        True labels, of known and unknown classes.
    random_state : int, default=0
        Seed of the order in which unknown classes join.

    Returns
    -------
    OpennessCurve
    """
    labels = np.asarray(y)
    truth, best, support, accepted, classes = _answers(estimator, X, labels)
    strangers = np.random.default_rng(random_state).permutation(np.unique(labels[truth < 0]))
    rows: list[dict[str, Any]] = []
    for count in range(len(strangers) + 1):
        taken = (truth >= 0) | np.isin(labels, strangers[:count])
        columns = (truth[taken], best[taken], support[taken], accepted[taken])
        rows.append(json.loads(_native.evaluate(*columns, classes)))
    counts = np.arange(len(strangers) + 1)
    return OpennessCurve(
        unknown_classes=counts,
        openness=1.0 - np.sqrt(2.0 * classes / (2.0 * classes + counts)),
        f1=np.array([row["f1_micro"] for row in rows]),
        accuracy=np.array([row["accuracy"] for row in rows]),
    )
