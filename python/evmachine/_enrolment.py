"""Enrolment that does not poison itself: which labelled samples may found or extend a class."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evmachine._warnings import EnrolmentWarning

Captured = tuple[float | None, str | None, float | None]


@dataclass(frozen=True)
class Enrolment:
    """What samples must be before they found or extend a class. The default asks for nothing.

    Parameters
    ----------
    least_quality : float or None, default=None
        Samples of less quality, or of none that is known, are neither taken in nor learned.
    least_samples : int, default=0
        Samples of a name, of those that nothing else holds back, before it may become a class.
    least_occasions : int, default=0
        Separate occasions that they come from, before it may become a class.
    occasion_gap : float or None, default=None
        Tell occasions apart by time and not by name: samples are of one occasion if no gap between them is longer than
        this number of seconds. Needs ``least_occasions`` of 2 or more.
    most_moved : float or None, default=None
        How far an update may move a class that is there, in widths of classes: the share of new rows among its rows,
        times the distance from its centre (the mean of its extreme vectors) to their mean, by the median distance
        between two rows of a known class. Beyond that, the samples farthest from the centre are held back.
    quarantine : bool, default=False
        Hold samples back that the system named by itself (``label(..., proposed=True)``), until a person labels them.

    Examples
    --------
    >>> import numpy as np
    >>> from evmachine import Enrolment, ExtremeValueMachine, UnknownPool
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> evm = ExtremeValueMachine.paper().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> pool = UnknownPool(evm, enrolment=Enrolment(least_quality=0.6, least_samples=2))
    >>> pool.add([[20.0], [20.1], [40.0]], qualities=[0.9, 0.3, 0.8])
    [0, 1]
    >>> pool.left_out_
    [{'row': 1, 'reason': 'low_quality', 'quality': 0.3, 'least': 0.6}]
    >>> pool.label(0, "far")
    >>> [(held.sample, held.reason) for held in pool.held_back()]
    [(0, 'few_samples')]
    """

    least_quality: float | None = None
    least_samples: int = 0
    least_occasions: int = 0
    occasion_gap: float | None = None
    most_moved: float | None = None
    quarantine: bool = False


@dataclass(frozen=True)
class HeldBack:
    """A labelled sample that is not learned yet.

    Attributes
    ----------
    sample : int
        Its number in the pool.
    label
        What it was named.
    reason : str
        One of "low_quality", "no_quality", "near_zero", "quarantined", "few_samples", "few_occasions", "moved".
    numbers : dict
        What was found, and what the rule asks for: "quality", "norm", "samples" or "occasions" with "least", or "moved"
        with "most".
    """

    sample: int
    label: Any
    reason: str
    numbers: dict[str, float] = field(default_factory=dict)


def as_json(enrolment: Enrolment | None) -> str:
    """The rule as the native half takes it."""
    return json.dumps(asdict(enrolment or Enrolment()))


def of_json(text: str) -> Enrolment:
    """The rule that a pool on disk has."""
    return Enrolment(**json.loads(text))


def held(sample: int, label: Any, reason: dict[str, Any]) -> HeldBack:
    """A sample with the reason that the native half gave."""
    numbers = {name: value for name, value in reason.items() if name not in ("reason", "sample", "class")}
    return HeldBack(sample, label, reason["reason"], numbers)


def captured(
    rows: int,
    qualities: Sequence[float | None] | None,
    occasions: Sequence[str | None] | None,
    times: Sequence[float | None] | None,
) -> list[Captured]:
    """Quality, occasion and time of each row."""
    columns: list[Sequence[Any]] = []
    for name, column in (("qualities", qualities), ("occasions", occasions), ("times", times)):
        if column is not None and len(column) != rows:
            raise ValueError(f"{len(column)} {name} for {rows} rows")
        columns.append([None] * rows if column is None else column)
    number = [[None if value is None else float(value) for value in columns[place]] for place in (0, 2)]
    named = [None if value is None else str(value) for value in columns[1]]
    return list(zip(number[0], named, number[1], strict=True))


def warn(found: Sequence[HeldBack]) -> None:
    """Say what an update did not learn."""
    if found:
        counts = Counter(one.reason for one in found)
        said = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
        many = "1 sample is" if len(found) == 1 else f"{len(found)} samples are"
        warnings.warn(f"{many} held back: {said}; held_back() lists them", EnrolmentWarning, stacklevel=3)
