"""Whether queries still come as the calibrating rows did, and if not, why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from evmachine import _native
from evmachine._parameters import means
from evmachine._progress import Progress

if TYPE_CHECKING:
    from evmachine._open_set import Fitted, OpenSetClassifier


@dataclass(frozen=True)
class DriftAlarm:
    """When an alarm was raised, and by what.

    Attributes
    ----------
    row : int
        The row of the stream at which it was raised, from 1.
    since : int
        The row at which the change most likely began, from 1.
    watch : str
        The watch that raised it.
    label
        Its class, if it watches one; otherwise ``None``.
    """

    row: int
    since: int
    watch: str
    label: Any


@dataclass(frozen=True)
class DriftWatch:
    """One number that is watched.

    Attributes
    ----------
    watch : str
        ``support`` (of all rows, or of a class), ``norm``, ``distance`` from the mean, ``evenness`` over the columns,
        or ``direction N``.
    label
        The class, if it watches one; otherwise ``None``.
    evidence : float
        The largest value of its martingale so far: 1 is where it began.
    needed : float
        From which on it raises an alarm.
    """

    watch: str
    label: Any
    evidence: float
    needed: float


@dataclass(frozen=True)
class DriftCause:
    """What came, as far as the last rows tell: an estimate, which the rate of false alarms does not cover.

    Attributes
    ----------
    kind : str
        ``new_class``, ``moved``, ``class_ages`` or ``encoder``.
    text : str
        The same in a sentence.
    rows : int
        Rows since the change that it was told by.
    label
        The class that ages, or the known class nearest to a new group; otherwise ``None``.
    shift : dict or None
        ``size``, ``spreads`` (the same in units of the spread of rows around the mean of their class) and ``columns``:
        how far vectors moved, if all of them or those of a class did.
    group : dict or None
        ``rows`` (of the stream, from 1), ``share``, ``middle`` and ``spreads`` of the new group, if there is one.
    norm_ratio : float
        Mean norm of these rows, by that before.
    dimension_ratio : float
        Dimensions that these rows effectively fill, by that before.
    """

    kind: str
    text: str
    rows: int
    label: Any
    shift: dict[str, Any] | None
    group: dict[str, Any] | None
    norm_ratio: float
    dimension_ratio: float


@dataclass(frozen=True)
class DriftReport:
    """How drift stands.

    Attributes
    ----------
    rows : int
        Rows of the stream so far.
    reference_rows : int
        Rows that it was compared with from the beginning.
    basis : str
        Where these come from: ``held_out`` of training, ``given``, or ``stream`` if there are none.
    rate : float
        The chance, at most, that a stream without drift ever raises an alarm.
    alarm : DriftAlarm or None
        The first alarm.
    cause : DriftCause or None
        What came; ``None`` without alarm, or if the last rows do not tell.
    watches : list of DriftWatch
        What each watch has found, the most telling first; of watches over classes the ten that tell most.
    classes_watched : int
        Classes that have a watch of their own.
    text : str
        The report in a sentence.
    """

    rows: int
    reference_rows: int
    basis: str
    rate: float
    alarm: DriftAlarm | None
    cause: DriftCause | None
    watches: list[DriftWatch]
    classes_watched: int
    text: str


def _report(text: str, fitted: Fitted) -> DriftReport:
    found = json.loads(text)
    labels = fitted.names().labels

    def named(part: dict[str, Any]) -> dict[str, Any]:
        name = part.pop("class")
        return {**part, "label": None if name is None else labels[name]}

    alarm, cause = found["alarm"], found["cause"]
    return DriftReport(
        **{
            **found,
            "alarm": None if alarm is None else DriftAlarm(**named(alarm)),
            "cause": None if cause is None else DriftCause(**named(cause)),
            "watches": [DriftWatch(**named(watch)) for watch in found["watches"]],
        }
    )


class DriftMonitor:
    """Watches a stream of queries, and says when they do not come as the calibrating rows did any more.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted. A monitor is for one model: begin with a new one when the estimator has learned more.
    rate : float, default=0.01
        The chance, at most, that a stream without drift ever raises an alarm, however long it is.
    reference : array-like of shape (n_rows, n_features) or None, default=None
        Rows from quiet times that the model has not learned, to compare with. Unless they are given, the rows that
        the model held out of training are taken, which it does if it learned more than 2,000; if there are none, only
        changes within the stream are found.
    seed : int, default=0
        Breaks ties.

    Examples
    --------
    >>> import numpy as np
    >>> from evmachine import DriftMonitor, ExtremeValueMachine
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(600) % 2
    >>> X = rng.normal(size=(600, 4)) + 6 * y[:, None]
    >>> evm = ExtremeValueMachine().fit(X[:200], y[:200])
    >>> monitor = DriftMonitor(evm, reference=X[200:])
    >>> monitor.observe(rng.normal(size=(300, 4)) + 1.5 + 6 * (np.arange(300) % 2)[:, None]).report().cause.kind
    'moved'
    """

    def __init__(
        self, estimator: OpenSetClassifier, *, rate: float = 0.01, reference: npt.ArrayLike | None = None, seed: int = 0
    ) -> None:
        check_is_fitted(estimator)
        self.estimator = estimator
        rows = None if reference is None else estimator._check_queries(reference)
        self._drift = _native.Drift(estimator._fitted().model, rows, rate, seed, means(estimator))

    def observe(self, X: npt.ArrayLike) -> DriftMonitor:
        """Take rows of the stream in, in their order.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        DriftMonitor
            Itself.
        """
        checked, fitted = self.estimator._check_queries(X), self.estimator._fitted()
        with Progress(self.estimator.verbose) as progress:
            self._drift.observe(fitted.model, checked, means(self.estimator), progress.callback)
        return self

    def report(self) -> DriftReport:
        """How it stands, and if there was an alarm, its cause as far as the last rows tell.

        Returns
        -------
        DriftReport
        """
        fitted = self.estimator._fitted()
        return _report(self._drift.report(fitted.model, means(self.estimator)), fitted)

    def state(self) -> str:
        """The state as JSON, from which :meth:`resume` goes on, and ``evmachine drift --state`` too."""
        return self._drift.state()

    @classmethod
    def resume(cls, estimator: OpenSetClassifier, state: str) -> DriftMonitor:
        """Go on from a state.

        Parameters
        ----------
        estimator : ExtremeValueMachine or ExtremeValueMachineCV
            The one that the state is of.
        state : str

        Returns
        -------
        DriftMonitor
        """
        check_is_fitted(estimator)
        monitor = cls.__new__(cls)
        monitor.estimator, monitor._drift = estimator, _native.Drift.resume(state)
        monitor.report()
        return monitor
