"""The pool of unknowns: which of them to show to a person, and what their labels teach."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _enrolment, _labels, _native, _parameters
from evmachine._enrolment import Captured, Enrolment, HeldBack

if TYPE_CHECKING:
    from evmachine._estimator import ExtremeValueMachine


@dataclass(frozen=True)
class Suggestion:
    """A sample to label, and what its label would explain.

    Attributes
    ----------
    sample : int
        Its number in the pool.
    group : list of int
        Itself, and the samples of its group that no earlier suggestion has: one label may serve them all.
    psi : float
        Psi of its best class, the paper's probability.
    """

    sample: int
    group: list[int]
    psi: float


class UnknownPool:
    """Samples that a model did not know, waiting for labels.

    Parameters
    ----------
    estimator : ExtremeValueMachine or None, default=None
        The fitted model; :meth:`update` teaches it. A pool on disk has a model of its own.
    path : path-like or None, default=None
        A folder to keep the pool in: then it is a :class:`StoredPool`. Without one it is in memory, and can be pickled.
    enrolment : Enrolment or None, default=None
        What samples must be before they found or extend a class; nothing is asked for unless given.

    Attributes
    ----------
    left_out_ : list of dict
        The rows that the last :meth:`add` did not take in because of their quality: "row", "reason" and its numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from evmachine import ExtremeValueMachine, UnknownPool
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> evm = ExtremeValueMachine.paper().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> pool = UnknownPool(evm)
    >>> pool.add([[0.1], [20.0], [20.2], [40.0]])
    [0, 1, 2]
    >>> first = pool.suggest(1)[0]
    >>> first.group
    [0, 1]
    >>> pool.label(first.group, "far")
    >>> pool.update().predict([[20.1]]).tolist()
    ['far']
    >>> len(pool)
    1
    """

    estimator: ExtremeValueMachine
    left_out_: list[dict[str, Any]]

    def __new__(
        cls,
        estimator: ExtremeValueMachine | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        enrolment: Enrolment | None = None,
    ) -> UnknownPool:
        if path is not None and cls is UnknownPool:
            from evmachine._stored_pool import StoredPool

            return object.__new__(StoredPool)
        return object.__new__(cls)

    def __init__(
        self,
        estimator: ExtremeValueMachine | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        enrolment: Enrolment | None = None,
    ) -> None:
        if estimator is None:
            raise ValueError("a pool needs an estimator, or the path of a pool that is there")
        self.estimator = estimator
        self._pool = _native.Pool(estimator._fitted_model("a pool").dimensions)
        self._labels: dict[int, Any] = {}
        self._captured: dict[int, Captured] = {}
        self._proposed: set[int] = set()
        self.left_out_ = []
        self.enrolment = enrolment

    @property
    def enrolment(self) -> Enrolment | None:
        """What samples must be before they found or extend a class; can be set."""
        return self._enrolment

    @enrolment.setter
    def enrolment(self, rule: Enrolment | None) -> None:
        _native.doubt_quality(_enrolment.as_json(rule), [])
        self._enrolment = rule

    def __getstate__(self) -> dict[str, Any]:
        numbers, X, _ = self._pool.samples()
        return {**self.__dict__, "_pool": (X, numbers, self._pool.next)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _pool=_native.Pool.resume(*state["_pool"]))

    def __len__(self) -> int:
        return len(self._pool)

    def __repr__(self) -> str:
        return f"<UnknownPool: {len(self)} samples, {len(self._labels)} labelled>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(str(label))}</td><td>{count}</td></tr>" for label, count in self._counts()
        )
        return f"<table><tr><th>label</th><th>samples</th></tr>{rows}</table>"

    def _counts(self) -> list[tuple[Any, int]]:
        labels = list(self._labels.values())
        counts = [(label, labels.count(label)) for label in dict.fromkeys(labels)]
        return [*counts, ("(none yet)", len(self) - len(labels))]

    def add(
        self,
        X: npt.ArrayLike,
        *,
        only_unknown: bool = True,
        qualities: Sequence[float | None] | None = None,
        occasions: Sequence[str | None] | None = None,
        times: Sequence[float | None] | None = None,
    ) -> list[int]:
        """Add the rows that the model calls unknown.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        only_unknown : bool, default=True
            ``False`` adds all rows.
        qualities : sequence of float, default=None
            The quality of each row: more is better. ``enrolment`` asks for it.
        occasions : sequence of str, default=None
            The occasion of each row, such as a session or a day.
        times : sequence of float, default=None
            The time of each row, in seconds from any start.

        Returns
        -------
        list of int
            The numbers of the samples that were added.
        """
        rows = self.estimator._check_queries(X)
        captured = _enrolment.captured(len(rows), qualities, occasions, times)
        taken = np.arange(len(rows))
        if only_unknown:
            _, accepted, *_ = _native.decide(self.estimator._model, rows, _parameters.means(self.estimator))
            taken = taken[~accepted]
        doubts = json.loads(_native.doubt_quality(_enrolment.as_json(self.enrolment), captured))
        self.left_out_ = [{"row": row, **doubts[row]} for row in taken.tolist() if doubts[row] is not None]
        taken = np.array([row for row in taken.tolist() if doubts[row] is None], dtype=int)
        numbers = self._pool.add(np.ascontiguousarray(rows[taken]))
        self._captured.update(zip(numbers, (captured[row] for row in taken), strict=True))
        return numbers

    def suggest(self, n: int = 10, *, strategy: str = "coverage", random_state: int = 0) -> list[Suggestion]:
        """Choose samples without a label, best first. What an earlier one explains is not suggested again.

        Parameters
        ----------
        n : int, default=10
            How many at most.
        strategy : {"groups", "coverage", "lowest_psi", "closest_to_threshold", "random"}, default="coverage"
            The largest groups that lie closer together than to what is known, the samples that explain most of the
            pool, those that the model supports least, those closest to the rejection threshold, or any.
        random_state : int, default=0
            Seed of "random".

        Returns
        -------
        list of Suggestion
        """
        if n < 0 or random_state < 0:
            raise ValueError(f"n = {n}, random_state = {random_state}: must not be negative")
        means = _parameters.means(self.estimator)
        rows = self._pool.suggest(self.estimator._model, strategy, random_state, n, means)
        return [Suggestion(*row) for row in rows]

    def label(
        self, samples: int | Iterable[int], label: Any, *, new_class: bool = False, proposed: bool = False
    ) -> None:
        """Give samples a class. A later label replaces an earlier one.

        Parameters
        ----------
        samples : int or iterable of int
            Their numbers.
        label
            Of the type that the classes of the model have.
        new_class : bool, default=False
            Found the class, although its name is close to that of another. Without it such a label is rejected, because
            it may be a typing error.
        proposed : bool, default=False
            Whether the system says so by itself, and no person: ``enrolment`` may hold such samples back until a person
            labels them.
        """
        numbers, label = _numbers(samples), self._of_one_type(label)
        name = _labels.text(label)
        if not new_class:
            given = [_labels.text(other) for other in dict.fromkeys(self._labels.values())]
            _native.check_label(self.estimator._model, name, given)
        self._pool.label(numbers, name)
        self._labels.update(dict.fromkeys(numbers, label))
        self._proposed = self._proposed.union(numbers) if proposed else self._proposed.difference(numbers)

    def _of_one_type(self, label: Any) -> Any:
        if isinstance(label, np.generic):
            label = label.item()
        kinds = [isinstance(own, str) for own in (label, self.estimator.classes_.tolist()[0])]
        if kinds[0] != kinds[1]:
            raise ValueError(f"label {label!r} is not of the type of the classes, {self.estimator.classes_.dtype}")
        return label

    def unlabel(self, samples: int | Iterable[int]) -> None:
        """Take the label of samples away.

        Parameters
        ----------
        samples : int or iterable of int
            Their numbers.
        """
        numbers = _numbers(samples)
        self._pool.unlabel(numbers)
        for number in numbers:
            self._labels.pop(number, None)
        self._proposed.difference_update(numbers)

    def remove(self, samples: int | Iterable[int]) -> int:
        """Remove samples that nobody wants to learn.

        Parameters
        ----------
        samples : int or iterable of int
            Their numbers.

        Returns
        -------
        int
            How many of them there were.
        """
        numbers = _numbers(samples)
        for number in numbers:
            self._labels.pop(number, None)
            self._captured.pop(number, None)
        self._proposed.difference_update(numbers)
        return self._pool.remove(numbers)

    def samples(self) -> tuple[list[int], npt.NDArray[np.float32], list[Any]]:
        """Everything in the pool.

        Returns
        -------
        numbers : list of int
        X : ndarray of shape (n_samples, n_features)
        labels : list
            ``None`` where there is none yet.
        """
        numbers, X, _ = self._pool.samples()
        return numbers, X, [self._labels.get(number) for number in numbers]

    def held_back(self) -> list[HeldBack]:
        """List the labelled samples that ``enrolment`` holds back from an update now, and why.

        Returns
        -------
        list of HeldBack
        """
        numbers, X, labels = self.samples()
        chosen = [position for position, label in enumerate(labels) if label is not None]
        if self.enrolment is None or not chosen:
            return []
        model = self.estimator._fitted_model("a pool")
        rows = np.ascontiguousarray(X[chosen])
        names = [_labels.text(labels[position]) for position in chosen]
        own = [numbers[position] for position in chosen]
        described = [(self._captured.get(number, (None, None, None)), number in self._proposed) for number in own]
        means = _parameters.means(self.estimator)
        found = _native.examine(model, _enrolment.as_json(self.enrolment), rows, names, described, means)
        reasons = zip(own, chosen, json.loads(found), strict=True)
        return [_enrolment.held(number, labels[at], reason) for number, at, reason in reasons if reason is not None]

    def update(self) -> ExtremeValueMachine:
        """Teach the labelled samples to the model; they leave the pool.

        What ``enrolment`` holds back stays, with a warning.

        Returns
        -------
        ExtremeValueMachine
            The estimator of the pool, updated. If learning fails, model and pool are as they were.
        """
        held = self.held_back()
        waits = {one.sample for one in held}
        numbers, X, labels = self.samples()
        labels = [None if number in waits else label for number, label in zip(numbers, labels, strict=True)]
        chosen = [position for position, label in enumerate(labels) if label is not None]
        _enrolment.warn(held)
        if chosen:
            self.estimator._learn(X[chosen], np.array([labels[i] for i in chosen]), self.estimator._model)
            self.remove([numbers[i] for i in chosen])
        return self.estimator


def _numbers(samples: int | Iterable[int]) -> list[int]:
    numbers = [int(samples)] if isinstance(samples, (int, np.integer)) else [int(number) for number in samples]
    for number in numbers:
        if number < 0:
            raise ValueError(f"the pool has no sample {number}")
    return numbers
