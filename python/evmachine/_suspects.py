"""Training rows whose labels are in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from sklearn.base import clone

from evmachine import _inputs, _labels, _native, _parameters, _rows
from evmachine._estimator import ExtremeValueMachine
from evmachine._progress import Progress


@dataclass(frozen=True)
class Suspect:
    """A training row whose label is in doubt.

    Attributes
    ----------
    index : int
        The row of ``X``, from 0.
    number : int
        The same from 1, as corrections take it for a model of all these rows.
    id : str or None
        What ``ids`` had for it.
    label
        What ``y`` says.
    probability : float
        P of that class, if the row is of any, in the eyes of a model that has not learned from it.
    claimed_by
        The class that claims it instead; ``None`` where the row is a stranger to every class.
    claim : float or None
        P of that class.
    lead : float
        By how much support the claim leads; rows are ordered by it.
    margin : float
        Scale of its Psi-model by the median of its class: how much room other classes leave it.
    fit_status : str
        How that Psi-model was fitted.
    cover : tuple of int or None
        Its place in the cover of its class, from 1, how many rows that has, and how many this one was the first to
        cover; ``None`` where other rows cover it.
    why : str
        What speaks against the label, in words.
    """

    index: int
    number: int
    id: str | None
    label: Any
    probability: float
    claimed_by: Any
    claim: float | None
    lead: float
    margin: float
    fit_status: str
    cover: tuple[int, int, int] | None
    why: str


def suspects(
    X: npt.ArrayLike, y: npt.ArrayLike, *, estimator: ExtremeValueMachine | None = None, ids: Any = None
) -> list[Suspect]:
    """List the rows of ``X`` that are likely mislabelled or outliers, the most doubtful first.

    Every row is judged by a model that has not learned from it. A row is listed where another class supports it better
    than its own, or where its own supports it less than the best class supports all but one in twenty rows; clean data
    has such rows too, so it is the order that counts. The only row of a class is never listed.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        As for :meth:`ExtremeValueMachine.fit`.
    y : array-like of shape (n_rows,)
    estimator : ExtremeValueMachine or None, default=None
        Whose parameters to judge by; it is not changed. ``ExtremeValueMachine.robust()`` unless given, which finds
        most; ``ExtremeValueMachine.robust(metric="cosine")`` for embeddings.
    ids : sequence of str or int, default=None
        An id for each row, which suspects give back.

    Returns
    -------
    list of Suspect

    Examples
    --------
    >>> import numpy as np
    >>> from evmachine import suspects
    >>> X = np.concatenate([np.linspace(0, 2, 20), np.linspace(9, 11, 20)])[:, None]
    >>> y = ["low"] * 20 + ["high"] * 20
    >>> y[7] = "high"
    >>> first = suspects(X, y)[0]
    >>> first.index, first.label, first.claimed_by
    (7, 'high', 'low')
    """
    machine = ExtremeValueMachine.robust() if estimator is None else clone(estimator)
    _native.check(machine._library_params())
    X, y = machine._check_training(X, y, reset=True)
    machine._refuse_unknowns(y, False)
    _, _, found_ids = _rows.names(len(X), ids, None, None)
    X = _inputs.filled(X, _inputs.fill_numbers(machine.fill, X))
    classes, codes = _labels.encode(y)
    with Progress(machine.verbose) as progress:
        rows = _native.suspects(
            X,
            codes,
            _labels.names(classes),
            machine._library_params(),
            _parameters.means(machine),
            progress.callback,
        )
    labels = classes.tolist()
    return [
        Suspect(
            index=index,
            number=index + 1,
            id=(found_ids[index] or None) if found_ids else None,
            label=labels[label],
            probability=probability,
            claimed_by=None if claim is None else labels[claim[0]],
            claim=None if claim is None else claim[1],
            lead=lead,
            margin=margin,
            fit_status=status,
            cover=cover,
            why=why,
        )
        for index, label, probability, claim, lead, margin, status, cover, why in rows
    ]
