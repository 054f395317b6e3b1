"""Labels of Python and class names of the library.

Text is a name as it stands; whole numbers are decimals, whatever their type, other numbers the shortest digits that
read as the same number; booleans are "true" and "false". Names of one key are one class: "1" and "1.0", "True" and
"true".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from evmachine import _native

#: What strings that are unknown are called unless the user says otherwise.
UNKNOWN = "unknown"

Labels = npt.NDArray[Any]


def key(name: str) -> str:
    """What two names of one class have in common."""
    return _native.label_key(name)


def text(label: Any) -> str:
    """The class name of a label."""
    if isinstance(label, (bool, np.bool_)):
        return "true" if label else "false"
    if isinstance(label, np.float32):
        return _native.label_of_single(float(label))
    if isinstance(label, np.float16) and not label.is_integer():
        # The digits that tell halves apart: as a double it would have more.
        return _native.label_of_double(float(str(label)))
    return _native.label_of_double(float(label)) if isinstance(label, (float, np.floating)) else str(label)


def names(classes: Labels) -> list[str]:
    """Class names of labels, no two of which may be one class.

    Raises
    ------
    ValueError
        Naming two labels that are.
    """
    # Singles one by one: as doubles they would have digits that nobody wrote.
    labels = list(classes) if classes.dtype == np.float32 else classes.tolist()
    found = [text(label) for label in labels]
    seen: dict[str, Any] = {}
    for label, name in zip(labels, found, strict=True):
        other = seen.setdefault(key(name), label)
        if other is not label:
            raise ValueError(
                f"the labels {other!r} and {label!r} are one class, {key(name)!r}, in model files; write them alike"
            )
    return found


def names_for(model: _native.Model, labels: Labels) -> list[str]:
    """Class names of labels, in the spelling of the model where it has them."""
    known = {key(name): name for name in model.class_names}
    return [known.get(key(name), name) for name in names(labels)]


def positions(model: _native.Model, classes: Labels) -> npt.NDArray[np.int64]:
    """For each class of the model, in its order, the position in ``classes``."""
    places = {key(name): position for position, name in enumerate(names(classes))}
    return np.array([places[key(name)] for name in model.class_names], dtype=np.int64)


def kind(labels: Labels) -> str:
    """What all of the labels are."""
    return {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}.get(labels.dtype.kind, "text")


def _kind_of(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    return "numbers" if isinstance(value, (Real, np.number)) else None


def column(y: Any) -> Any:
    """Labels of one kind, before numpy makes text of numbers that stand beside text: 1 and "1" are not one label.

    Raises
    ------
    ValueError
        Naming the first row without a label, or two labels of different kinds.
    """
    listed = isinstance(y, (list, tuple))
    if hasattr(getattr(y, "dtype", None), "na_value") or getattr(getattr(y, "dtype", None), "kind", "") == "T":
        # Types of pandas that know missing values, which would become numbers, and text of any length.
        y = np.asarray(y, dtype=object)
    if not listed and not (getattr(y, "dtype", None) == np.dtype(object) and getattr(y, "ndim", 1) == 1):
        if getattr(getattr(y, "dtype", None), "kind", "") == "S":
            raise ValueError("y holds bytes; labels are text, numbers or booleans: decode them, y.astype(str)")
        return y
    rows = y if listed else np.asarray(y, dtype=object).tolist()
    types = {type(value) for value in rows}
    if not types or types == {str}:
        return y
    if types == {int}:
        return _array_of(rows)
    if any(issubclass(each, (list, tuple, np.ndarray)) for each in types):
        # Labels in two dimensions are scikit-learn's to explain.
        return y
    first: dict[str, tuple[int, Any]] = {}
    for row, value in enumerate(rows):
        found = _kind_of(value)
        if found is None or value != value:
            if value is None or found is not None or type(value).__name__ in ("NAType", "NaTType"):
                raise ValueError(f"row {row} of y has no label: {value!r} (NaN, None or NA); leave the row out")
            raise ValueError(
                f"row {row} of y is {value!r}, a {type(value).__name__}; labels are text, numbers or booleans"
            )
        first.setdefault(found, (row, value))
    if len(first) > 1:
        (one, a), (other, b) = sorted(first.values(), key=lambda entry: entry[0])[:2]
        raise ValueError(
            f"y mixes {' and '.join(first)}: row {one} is {a!r}, row {other} is {b!r}; use labels of one type"
        )
    if not listed and "text" in first:
        return y
    if "booleans" in first:
        return np.array(rows, dtype=bool)
    return _array_of(rows) if all(isinstance(value, (Integral, np.integer)) for value in rows) else np.array(rows)


def _array_of(rows: Sequence[Any]) -> Labels:
    """Integers as an array that holds each of them exactly."""
    return np.array(rows, dtype=_integers([min(rows), max(rows)], [np.asarray(rows[:1]).dtype]).dtype)


def first_row(y: Labels, label: Any) -> int | None:
    """The first row with this label; 1 and True are two."""
    if _kind_of(label) != kind(y):
        return None
    rows = np.flatnonzero(y == label)
    return int(rows[0]) if len(rows) else None


def encode(y: Labels) -> tuple[Labels, npt.NDArray[np.int64]]:
    """The classes, sorted, and for each row the position of its own. Looking words up is faster than sorting them."""
    if y.dtype.kind not in "UO":
        return np.unique(y, return_inverse=True)
    rows = y.tolist()
    classes = np.unique(np.array(list(dict.fromkeys(rows)), dtype=y.dtype))
    codes = {label: code for code, label in enumerate(classes.tolist())}
    return classes, np.fromiter(map(codes.__getitem__, rows), dtype=np.int64, count=len(rows))


def _integers(values: Iterable[int], types: Sequence[np.dtype[Any]]) -> Labels:
    """Sorted, of the first type that holds them all."""
    values = sorted(values)
    for dtype in (*types, np.dtype(np.int64), np.dtype(np.uint64)):
        if dtype.kind in "iu" and np.iinfo(dtype).min <= values[0] and values[-1] <= np.iinfo(dtype).max:
            return np.array(values, dtype=dtype)
    raise ValueError(f"the labels {values[0]} and {values[-1]} fit into no 64-bit integer together; use strings")


def join(known: Labels, new: Labels, what: str = "y") -> tuple[Labels, Labels]:
    """All classes, and the new ones as the type that the known ones have: 3 and 3.0 are one class.

    Raises
    ------
    ValueError
        If they are of different kinds, or numbers that the type of the known ones cannot hold.
    """
    wrong = (
        f"{what} is of type {new.dtype}, such as {new.tolist()[0]!r}, the classes known so far of type {known.dtype}, "
        f"such as {known.tolist()[0]!r}; use one type"
    )
    if kind(known) != kind(new):
        raise ValueError(wrong)
    if known.dtype.kind in "iu":
        values = [int(value) for value in new.tolist()]
        if values != new.tolist():
            raise ValueError(wrong)
        classes = _integers({*known.tolist(), *values}, [known.dtype, new.dtype])
        return classes, np.array(values, dtype=classes.dtype)
    if known.dtype.kind == "f":
        cast = new.astype(known.dtype)
        if cast.tolist() != new.tolist():
            raise ValueError(wrong)
        new = cast
    return np.unique(np.concatenate([known, new])), new


def single(known: Labels, label: Any) -> tuple[Labels, Labels]:
    """As :func:`join`, for one label as it was given."""
    if isinstance(label, np.generic):
        label = label.item()
    if _kind_of(label) is None or label != label:
        raise ValueError(f"{label!r} is no label; labels are text, numbers or booleans")
    return join(known, np.asarray(column([label])), "the label")


def of_names(class_names: Sequence[str], classes: Labels) -> list[Any]:
    """The labels of class names, of the type that ``classes`` have, which need not have all of them."""
    known = {key(name): label for name, label in zip(names(classes), classes.tolist(), strict=True)}
    others = dict.fromkeys(name for name in class_names if key(name) not in known)
    for name in others:
        known[key(name)] = from_names([name], None, type_name(classes)).tolist()[0]
    return [known[key(name)] for name in class_names]


def of_model(model: _native.Model, classes: Labels) -> Labels:
    """The classes of the model, sorted, of the type that ``classes`` have."""
    found = of_names(model.class_names, classes)
    if classes.dtype.kind in "iu":
        return _integers(found, [classes.dtype])
    return np.unique(np.array(found, dtype=None if classes.dtype.kind == "U" else classes.dtype))


def unknown_label(classes: Labels, asked: Any) -> Any:
    """The label of unknowns: for "auto" a string among strings; -1, or one below the smallest, among numbers, or the
    largest 64-bit integer that is no class where none of these can stand beside them.

    Raises
    ------
    ValueError
        If a class has that label.
    """
    if not (isinstance(asked, str) and asked == "auto"):
        label = asked
    elif classes.dtype.kind in "iuf":
        label = _free_number(classes)
    else:
        label = UNKNOWN
    if any(_kind_of(own) == _kind_of(label) and own == label for own in classes.tolist()):
        raise ValueError(f"unknown_label = {label!r} is a class; set unknown_label to another label")
    return label


def _free_number(classes: Labels) -> Any:
    smallest, largest = classes.min().item(), classes.max().item()
    label = type(smallest)(-1) if smallest >= 0 else smallest - 1
    if classes.dtype.kind == "f":
        return label
    limits = np.iinfo(np.uint64 if largest > np.iinfo(np.int64).max else np.int64)
    if limits.min <= label:
        return label
    taken = set(classes.tolist())
    return next(number for number in range(limits.max, limits.min, -1) if number not in taken)


def answers(classes: Labels, unknown: Any) -> Labels:
    """The classes and, last, the label of unknowns, in an array that holds both."""
    last = np.asarray([unknown])
    kinds = classes.dtype.kind + last.dtype.kind
    if kinds == "UU" or ("f" in kinds and all(each in "iuf" for each in kinds)):
        return np.concatenate([classes, last])
    out = np.empty(len(classes) + 1, dtype=object)
    out[:] = [*classes.tolist(), unknown]
    if all(each in "iu" for each in kinds):
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= out.min() and out.max() <= np.iinfo(dtype).max:
                return out.astype(dtype)
    return out


def type_name(classes: Labels) -> str:
    """What a model file says of the type of its labels."""
    return "str" if classes.dtype.kind == "U" else classes.dtype.name


def from_names(class_names: Sequence[str], label_type: type | None, stored: str | None) -> Labels:
    """Labels of class names from a file.

    Without a type to ask for, of the type that the file says, as far as its names still allow it; where it says none,
    integers if every name is one, and strings otherwise.
    """
    keys = [key(name) for name in class_names]
    for position, found in enumerate(keys):
        if found in keys[:position]:
            other = class_names[keys.index(found)]
            raise ValueError(
                f"the file has the classes {other!r} and {class_names[position]!r}, which are one class; remove one of "
                "them, with `evmachine forget`"
            )
    if label_type is None:
        wanted = stored if stored in _STORED else "int64" if all(map(_is_whole, keys)) else "str"
        try:
            return _labels_of(class_names, keys, np.dtype(wanted))
        except (ValueError, OverflowError):
            return np.array(class_names)
    if label_type not in (str, int, float, bool):
        raise ValueError(f"label_type = {label_type!r}: must be str, int, float, bool or None")
    try:
        return _labels_of(class_names, keys, np.dtype(label_type))
    except (ValueError, OverflowError):
        raise ValueError(f"the classes are not all of type {label_type.__name__}; load with label_type=str") from None


def _is_whole(found: str) -> bool:
    """Whether a key is that of an integer."""
    try:
        return str(int(found)) == found
    except ValueError:
        return False


#: Types that a file may name.
_STORED = frozenset(
    ["str", "object", "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
    + [f"float{bits}" for bits in (16, 32, 64)]
)


def _labels_of(class_names: Sequence[str], keys: Sequence[str], dtype: np.dtype[Any]) -> Labels:
    if dtype.kind == "b":
        if not {*keys} <= {"true", "false"}:
            raise ValueError
        return np.array([name == "true" for name in keys])
    if dtype.kind in "iu":
        values = [int(name) for name in keys]
        if [str(value) for value in values] != [*keys]:
            raise ValueError
        held = _integers(values, [dtype]).dtype
        return np.array(values, dtype=held)
    if dtype.kind == "f":
        numbers = np.array([float(name) for name in keys], dtype=dtype)
        if [key(text(number)) for number in numbers] != [*keys]:
            raise ValueError
        return numbers
    return np.array(class_names, dtype=object if dtype.kind == "O" else None)
