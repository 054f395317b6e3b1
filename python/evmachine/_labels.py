"""Labels of Python and class names of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: What strings that are unknown are called unless the user says otherwise.
UNKNOWN = "unknown"


def names(classes: npt.NDArray[Any]) -> list[str]:
    """Class names of labels: strings as they are, everything else as Python writes it."""
    return [str(label) for label in classes.tolist()]


def encode(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The classes, sorted, and for each row the position of its own. Looking words up is faster than sorting them."""
    if y.dtype.kind not in "UO":
        return np.unique(y, return_inverse=True)
    rows = y.tolist()
    classes = np.unique(np.array(list(dict.fromkeys(rows)), dtype=y.dtype))
    codes = {label: code for code, label in enumerate(classes.tolist())}
    return classes, np.fromiter(map(codes.__getitem__, rows), dtype=np.int64, count=len(rows))


def unknown_label(classes: npt.NDArray[Any], asked: Any) -> Any:
    """The label of unknowns: for "auto" a string among strings, -1 or one below the smallest among numbers.

    Raises
    ------
    ValueError
        If a class has that label.
    """
    if not (isinstance(asked, str) and asked == "auto"):
        label = asked
    elif classes.dtype.kind in "iuf":
        smallest = classes.min().item()
        label = type(smallest)(-1) if smallest >= 0 else smallest - 1
    else:
        label = UNKNOWN
    if any(type(own) is type(label) and own == label for own in classes.tolist()):
        raise ValueError(f"unknown_label = {label!r} is a class; set unknown_label to another label")
    return label


def answers(classes: npt.NDArray[Any], unknown: Any) -> npt.NDArray[Any]:
    """The classes and, last, the label of unknowns, in an array that holds both."""
    last = np.asarray([unknown])
    kinds = classes.dtype.kind + last.dtype.kind
    if kinds == "UU" or all(kind in "iuf" for kind in kinds):
        if classes.dtype.kind == "u":
            classes = classes.astype(np.int64)
        return np.concatenate([classes, last])
    out = np.empty(len(classes) + 1, dtype=object)
    out[:-1] = classes
    out[-1] = unknown
    return out


def from_names(class_names: Sequence[str], label_type: type | None) -> npt.NDArray[Any]:
    """Labels of class names from a file. Without a type, integers where every name is one."""
    if label_type is None:
        label_type = int if all(_is_integer(name) for name in class_names) else str
    if label_type not in (str, int, float):
        raise ValueError(f"label_type = {label_type!r}: must be str, int, float or None")
    try:
        return np.array([label_type(name) for name in class_names])
    except ValueError:
        raise ValueError(f"the classes are not all of type {label_type.__name__}; load with label_type=str") from None


def _is_integer(name: str) -> bool:
    try:
        return str(int(name)) == name
    except ValueError:
        return False
