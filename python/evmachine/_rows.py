"""Training rows as people name them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from numbers import Integral, Real
from typing import Any

from evmachine import _native

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

#: Name of a batch, seconds since 1970, ids.
Names = tuple[str | None, int | None, list[str] | None]

#: When rows were learned: seconds are since 1970.
Time = datetime | float | None

#: Rows of which nothing is said.
UNNAMED: Names = (None, None, None)


@dataclass(frozen=True)
class Row:
    """Where a row came from.

    Attributes
    ----------
    index : int
        Counted from 0 over all rows ever given to the model.
    number : int
        Its number in its batch, from 1; where nothing was said of the batch, that over all rows, ``index + 1``.
    id : str or None
        What ``ids`` had for it.
    batch : int or None
        The batch, from 1, among those of which ``ids``, ``batch`` or ``time`` said something.
    batch_name : str or None
        What ``batch`` called it.
    time : datetime or None
        What ``time`` said, in UTC.
    """

    index: int
    number: int
    id: str | None
    batch: int | None
    batch_name: str | None
    time: datetime | None


@dataclass(frozen=True)
class HeldRow(Row):
    """A row that a model holds.

    Attributes
    ----------
    index, number, id, batch, batch_name, time
        As for :class:`Row`.
    label
        Its class; ``None`` for an ignored sample. A row that is set aside comes back to it; of one that is "not of it",
        the class that it is not.
    part : {"extreme vector", "held out", "ignored", "not of it", "set aside"}
        What it is in the model. A row that is held out was never learned: the threshold is set on it.
    """

    label: Any
    part: str


def origin(fields: Sequence[Any], *more: Any) -> tuple[Any, ...]:
    """The fields of a :class:`Row`, and more of them."""
    *others, seconds = fields
    return (*others, None if seconds is None else _moment(seconds), *more)


def _moment(seconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        # A file may say what no calendar has.
        return None


def names(count: int, ids: Any, batch: Any, time: Any) -> Names:
    """What the caller says of ``count`` rows.

    Raises
    ------
    ValueError
        Naming what cannot be kept.
    """
    if batch is not None and not isinstance(batch, str):
        raise ValueError(f"batch = {batch!r}: must be a name or None")
    return batch, _seconds(time), None if ids is None else _ids(count, ids)


def _ids(count: int, ids: Any) -> list[str]:
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise ValueError(f"ids = {ids!r}: must be a sequence with an id for each row")
    found = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(found) != count:
        raise ValueError(f"{len(found)} ids for {count} rows; give one for each row, or none")
    return [text(value, f"the id of row {row}") for row, value in enumerate(found)]


def text(value: Any, what: str) -> str:
    """An id as the model keeps it; ``None`` is none."""
    if value is None or isinstance(value, str):
        return str(value or "")
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    raise ValueError(f"{what} is {value!r}, a {type(value).__name__}; ids are text or integers")


def _seconds(time: Any) -> int | None:
    if time is None:
        return None
    found = time.timestamp() if isinstance(time, datetime) else time
    if isinstance(found, bool) or not isinstance(found, Real) or not math.isfinite(found):
        raise ValueError(f"time = {time!r}: must be a datetime, seconds since 1970 or None")
    seconds = math.floor(float(found))
    if _moment(seconds) is None:
        raise ValueError(f"time = {time!r}: no such year; seconds since 1970 are meant")
    return seconds


def find(model: _native.Model, rows: Any, ids: Any, batch: Any, *, aside: bool = False) -> list[int]:
    """The indices of rows that the caller means.

    Raises
    ------
    ValueError
        Naming a row that is not there, or is there several times.
    """
    numbers, indices = [], []
    for row in _several(rows):
        if isinstance(row, Row):
            indices.append(row.index)
        elif isinstance(row, Integral) and not isinstance(row, bool) and int(row) > 0:
            numbers.append(int(row))
        else:
            raise ValueError(f"rows has {row!r}; it takes numbers of rows, from 1, and rows that explain and rows give")
    wanted = [text(value, "one of ids") for value in _several(ids)]
    if batch is not None and not isinstance(batch, str):
        if isinstance(batch, bool) or not isinstance(batch, Integral) or int(batch) < 1:
            raise ValueError(f"batch = {batch!r}: must be a name, a number from 1, or None")
        batch = int(batch)
    # An empty list of rows is not a whole batch.
    if not (numbers or indices or wanted) and (batch is None or rows is not None or ids is not None):
        raise ValueError("no rows are given; say which with rows=, ids= or batch=")
    return _native.find_rows(model, numbers, indices, wanted, batch, aside)


def _several(values: Any) -> list[Any]:
    """One or several, as a list."""
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    return list(values.tolist() if hasattr(values, "tolist") else values)
