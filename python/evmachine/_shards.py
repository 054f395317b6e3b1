"""Training data in parts: files, tables of Arrow and arrays, each read and checked by a worker.

A part that cannot be used is named with the row, counted from 1, and so is one whose columns are not those of the
first.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evmachine import _inputs, _labels, _native
from evmachine._warnings import PrecisionWarning

#: How file names of tables end.
_TABLES = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


class Shard(NamedTuple):
    """A part that can be used.

    Attributes
    ----------
    source : str
        What people call it.
    values : ndarray of shape (n_rows, n_columns), float32
    labels : ndarray of shape (n_rows,)
    names : list of str or None
        Of the columns, where they have any.
    concerns : list of str
        What was warned of.
    """

    source: str
    values: npt.NDArray[np.float32]
    labels: npt.NDArray[Any]
    names: list[str] | None
    concerns: list[str]


class Refused(NamedTuple):
    """Why a part cannot be used. It is a value, so that it reaches whoever asked as it was written."""

    words: str


class Rule(NamedTuple):
    """How parts are read.

    Attributes
    ----------
    label : str or None
        The column of labels in tables.
    features : list of str or None
        The columns of features in tables; all others unless given.
    cosine : bool
        Whether rows need a direction.
    filled : bool
        Whether values may be missing.
    """

    label: str | None
    features: list[str] | None
    cosine: bool
    filled: bool


def read_file(path: str, labels: str | None, rule: Rule) -> Shard | Refused:
    """A file, with its labels in another or in a column."""
    try:
        ending = Path(path).suffix.lower()
        if ending == ".npy":
            if labels is None:
                return Refused(f"{path}: an NPY file has no labels; give a file of labels for each, labels=[...]")
            return _checked(path, _loaded(path), _loaded(labels), rule)
        if ending not in _TABLES:
            known = ", ".join([".npy", *_TABLES])
            return Refused(f"{path}: its name ends in none of {known}; convert it to one of these")
        if labels is not None:
            return _checked(path, _features(_table(path, _TABLES[ending]), rule), _loaded(labels), rule)
        return read_table(path, _table(path, _TABLES[ending]), rule)
    except (OSError, ValueError) as error:
        words = str(error)
        return Refused(words if path in words or (labels or path) in words else f"{path}: {words}")


def read_table(source: str, table: Any, rule: Rule) -> Shard | Refused:
    """A table of Arrow with a column of labels."""
    try:
        labels = table.column(_label_column(table.column_names, rule))
        # Numbers keep their type; whatever may be missing comes as it is.
        whole = labels.null_count == 0 and str(labels.type).startswith(("int", "uint", "float", "double", "bool"))
        return _checked(source, _features(table, rule), labels.to_numpy() if whole else labels.to_pylist(), rule)
    except ValueError as error:
        return Refused(f"{source}: {error}")


def read_columns(source: str, columns: Mapping[str, Any], rule: Rule) -> Shard | Refused:
    """Columns as arrays, one of them of labels."""
    try:
        labels = columns[_label_column(columns, rule)]
        values, names = columns_of(columns, rule.features, rule.label)
        return _checked(source, values, labels, rule, names)
    except ValueError as error:
        return Refused(f"{source}: {error}")


def columns_of(
    columns: Mapping[str, Any], features: Sequence[str] | None, label: str | None
) -> tuple[npt.NDArray[Any], list[str]]:
    """The features among columns as a matrix, and the names of its columns; one may hold vectors."""
    wanted = _feature_columns(columns, features, (label,))
    if len(wanted) == 1:
        found = np.asarray(_inputs.matrix(columns[wanted[0]]))
        if found.ndim == 2:
            return found, [f"{wanted[0]}_{position}" for position in range(found.shape[1])]
    for name in wanted:
        if columns[name].ndim != 1 or columns[name].dtype.kind not in "biuf":
            raise _no_numbers(name, columns[name].dtype)
    return np.column_stack([columns[name] for name in wanted]), wanted


def read_arrays(source: str, values: Any, labels: Any, rule: Rule) -> Shard | Refused:
    """A matrix and as many labels."""
    try:
        return _checked(source, values, labels, rule)
    except ValueError as error:
        return Refused(f"{source}: {error}")


def _loaded(path: str) -> Any:
    """An array, or the lines of a text."""
    if Path(path).suffix.lower() != ".npy":
        return Path(path).read_text(encoding="utf-8").splitlines()
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _table(path: str, kind: str) -> Any:
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise ValueError("reading Parquet and Arrow files needs pyarrow: pip install pyarrow") from None
    try:
        # A file is a shard: what its folders are called is no column.
        return parquet.read_table(path, partitioning=None) if kind == "parquet" else feather.read_table(path)
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path}: {error}") from None


def _features(table: Any, rule: Rule) -> Any:
    """The columns of features, with nulls as NaN."""
    # The index of a data frame of pandas comes as columns.
    indexes = (table.schema.pandas_metadata or {}).get("index_columns", [])
    found = _inputs.matrix(table.select(_feature_columns(table.column_names, rule.features, (rule.label, *indexes))))
    if not hasattr(found, "column_names"):
        return found
    for name, kind in zip(found.column_names, found.schema.types, strict=True):
        if not str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool")):
            raise _no_numbers(name, kind)
    return found


def _label_column(columns: Iterable[str], rule: Rule) -> str:
    """The column of labels, which must be one of ``columns``."""
    if rule.label is None:
        raise ValueError(f"which column holds the labels? Say label='...' of {', '.join(columns)}")
    if rule.label not in columns:
        raise ValueError(f"there is no column {rule.label!r} of labels; it has {', '.join(columns)}")
    return rule.label


def _feature_columns(columns: Iterable[str], features: Sequence[str] | None, others: Sequence[str | None]) -> list[str]:
    """The columns of features, in order: those that were asked for, or all but ``others``."""
    if features is None:
        return [name for name in columns if name not in others]
    missing = next((name for name in features if name not in columns), None)
    if missing is not None:
        raise ValueError(f"there is no column {missing!r}; it has {', '.join(columns)}")
    return list(features)


def _no_numbers(name: str, kind: Any) -> ValueError:
    return ValueError(f"column {name!r} holds {kind}, not numbers; leave it out with features=[...]")


def _checked(source: str, values: Any, labels: Any, rule: Rule, names: list[str] | None = None) -> Shard | Refused:
    if hasattr(values, "column_names"):
        names = list(values.column_names)
        columns = [column.to_numpy() for column in values.columns]
        values = np.column_stack(columns) if columns else np.empty((values.num_rows, 0))
    values = np.asarray(_inputs.matrix(values))
    if values.ndim != 2 or values.shape[1] == 0 or values.dtype.kind not in "biuf":
        shape = " x ".join(map(str, values.shape))
        return Refused(f"{source}: features are a matrix of numbers, and this is {shape} of {values.dtype}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrecisionWarning)
        small = _inputs.narrow(values, names, stacklevel=1)
    refused = _bad_row(small, names, rule)
    if refused is not None:
        return Refused(f"{source}, {refused}")
    row = _without_label(labels)
    if row is not None:
        return Refused(f"{source}, row {row + 1}: the label is missing; leave the row out")
    y = np.asarray(_labels.column(_inputs.numbers(labels)))
    if y.dtype.kind == "O":
        y = np.array(y.tolist())
    if y.shape != (len(small),):
        return Refused(f"{source}: there are {len(small)} rows and {y.shape[0] if y.ndim else 'no'} labels")
    return Shard(source, small, y, names, [str(each.message) for each in caught])


def _without_label(labels: Any) -> int | None:
    """The first row that has none."""
    if getattr(getattr(labels, "dtype", None), "kind", "O") not in "OfU":
        return None
    texts = {label for label in labels if isinstance(label, str)}
    missing = {text for text in texts if _native.label_is_missing(text)}
    for row, label in enumerate(labels):
        if label in missing if isinstance(label, str) else label is None or label != label:
            return row
    return None


def _bad_row(values: npt.NDArray[np.float32], names: Sequence[str] | None, rule: Rule) -> str | None:
    """The first row that a model does not take, and why."""
    # What an engine has received may lie at odd addresses.
    values = np.require(values, requirements=["C_CONTIGUOUS", "ALIGNED"])
    found = _native.bad_row(values, rule.cosine, rule.filled)
    if found is None:
        return None
    row, column, words = found
    if column is None:
        return f"row {row + 1} {words}"
    return f"row {row + 1}, column {names[column] if names else column + 1}: {words}"


def joined(shards: Sequence[Shard | Refused]) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any], list[str] | None]:
    """All rows and labels in order, and the names of the columns.

    Raises
    ------
    ValueError
        For the first part that cannot be used, or is of another kind than the first.
    """
    if not shards:
        raise ValueError("there are no files and no rows to learn from")
    found: list[Shard] = []
    for shard in shards:
        if isinstance(shard, Refused):
            raise ValueError(shard.words)
        first = found[0] if found else shard
        columns, expected = shard.values.shape[1], first.values.shape[1]
        if columns != expected:
            raise ValueError(f"{shard.source} has {columns} columns, {first.source} has {expected}; all need the same")
        if shard.names != first.names:
            raise ValueError(_other_names(shard, first))
        if _labels.kind(shard.labels) != _labels.kind(first.labels):
            raise ValueError(
                f"the labels of {shard.source} are {_labels.kind(shard.labels)}, those of {first.source} "
                f"{_labels.kind(first.labels)}; use labels of one type"
            )
        found.append(shard)
    for shard in found:
        for words in shard.concerns:
            warnings.warn(f"{shard.source}: {words}", PrecisionWarning, stacklevel=4)
    if len(found) == 1:
        return found[0].values, found[0].labels, found[0].names
    values = np.concatenate([shard.values for shard in found])
    return values, np.concatenate([shard.labels for shard in found]), found[0].names


def _other_names(shard: Shard, first: Shard) -> str:
    if shard.names is None or first.names is None:
        named, other = (shard, first) if first.names is None else (first, shard)
        return f"the columns of {named.source} have names, those of {other.source} have none; use files of one kind"
    at = next(place for place, both in enumerate(zip(shard.names, first.names, strict=True)) if both[0] != both[1])
    return (
        f"{shard.source} has the column {shard.names[at]!r} where {first.source} has {first.names[at]!r}; all need the "
        "same columns in one order"
    )


def paths(data: Any) -> list[str] | None:
    """The names of files, if these are some."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and data and all(isinstance(each, (str, os.PathLike)) for each in data):
        return [os.fspath(each) for each in data]
    return None
