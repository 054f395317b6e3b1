"""Features as they come: matrices, frames, columns of lists, tensors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import sklearn

from evmachine import _native
from evmachine._warnings import PrecisionWarning

_Number = TypeVar("_Number", bound=np.generic)

#: Memory of NVIDIA devices, as DLPack numbers it: their own, and that which they share with the processor.
_CUDA = (2, 13)
#: Kinds of numbers, as DLPack numbers them, in the letters of numpy. A bfloat16 is the upper half of a float32.
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_BFLOAT = (4, 16)


def numbers(values: Any) -> Any:
    """Tensors as arrays: off the device, without gradients, in a type that numpy has. Everything else as it is."""
    if isinstance(values, np.ndarray):
        return _plain(values)
    if hasattr(values, "detach"):
        values = values.detach()
    if _is_on_device(values):
        return _read(values)
    if hasattr(values, "detach") and hasattr(values, "numpy"):
        if hasattr(values, "cpu"):
            values = values.cpu()
        if "bfloat16" in str(values.dtype):
            values = values.float()
        return values.numpy()
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError):
            return _read(values)
    # Where scikit-learn is to dispatch by arrays, it would leave those of other libraries as they are.
    return _plain(np.asarray(values) if hasattr(values, "__array_namespace__") else values)


def _plain(values: Any) -> Any:
    """Types that other packages give to numpy, bfloat16 among them, say nothing of what they are."""
    found = getattr(values, "dtype", None)
    if isinstance(found, np.dtype) and found.kind == "V" and found.names is None:
        return np.asarray(values).astype(np.float32)
    return values


def _is_on_device(values: Any) -> bool:
    try:
        return hasattr(values, "__dlpack__") and values.__dlpack_device__()[0] in _CUDA
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        # An array that several devices share has no place; it knows itself how to become one of numpy's.
        return False


def _read(values: Any) -> npt.NDArray[Any]:
    """A copy of a tensor in memory, made once and as soon as whoever computes it has finished."""
    try:
        kind, number = values.__dlpack_device__()
        stream = {"stream": _native.reading_stream(number)} if kind in _CUDA else {}
        data, shape, strides, offset, code, bits = _native.read_tensor(values.__dlpack__(**stream))
    except (AttributeError, BufferError, TypeError, ValueError) as error:
        name = type(values).__name__
        raise ValueError(f"a {name} that cannot be read ({error}); copy it to a numpy array first") from None
    if (code, bits) == _BFLOAT:
        halves = np.ndarray(shape, np.uint16, data, offset, strides)
        return (halves.astype(np.uint32, order="C") << np.uint32(16)).view(np.float32)
    if code not in _KINDS:
        raise ValueError(f"a {type(values).__name__} of something else than numbers")
    return np.ndarray(shape, np.dtype(f"{_KINDS[code]}{bits // 8}"), data, offset, strides)


def like(X: Any, found: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """What was found for ``X``, as an array of its library on its device, where scikit-learn is to dispatch by arrays.

    Text stays in numpy, which alone has arrays of it.
    """
    if not sklearn.get_config().get("array_api_dispatch") or found.dtype.kind not in "biuf":
        return found
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack_device__"):
        return found
    own = getattr(X, "__array_namespace__", None)
    library = own() if own is not None else sys.modules[type(X).__module__.partition(".")[0]]
    there: npt.NDArray[_Number]
    try:
        there = library.asarray(found, device=X.device)
    except TypeError:
        with X.device:
            there = library.asarray(found)
    return there


def matrix(X: Any) -> Any:
    """What scikit-learn can check: a column of lists becomes as many columns, named as the program names them."""
    X = numbers(X)
    columns = _columns(X)
    if columns is not None:
        listed = next((name for name, found in columns if _may_be_lists(found) and _holds_lists(X[name])), None)
        if listed is None:
            return X
        if len(columns) > 1:
            other = next(name for name, _ in columns if name != listed)
            raise ValueError(
                f"column {listed!r} holds lists, and column {other!r} stands beside it; give the lists alone, "
                f"X[[{listed!r}]]"
            )
        values = _stacked(X[listed], f"column {listed!r}")
        return _frame_like(X, values, [f"{listed}_{position}" for position in range(values.shape[1])])
    if getattr(X, "ndim", 1) == 1 and not isinstance(X, (list, tuple, str)) and _holds_lists(X):
        return _stacked(X, "X")
    return X


def _columns(X: Any) -> list[tuple[Any, Any]] | None:
    """Names and types of the columns of a frame of pandas or polars, or a table of Arrow."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return list(zip(X.column_names, X.schema.types, strict=True))
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return list(zip(X.columns, X.dtypes, strict=True))
    return None


def _is_list_type(found: Any) -> bool:
    return str(found).lower().startswith(("list", "large_list", "fixed_size_list", "array"))


def _may_be_lists(found: Any) -> bool:
    return _is_list_type(found) or str(found).lower() == "object"


def _holds_lists(column: Any) -> bool:
    if _is_list_type(getattr(column, "dtype", getattr(column, "type", None))):
        return True
    if str(getattr(column, "dtype", "")).lower() != "object":
        return False
    cells = (cell for cell in column if cell is not None)
    return isinstance(next(cells, None), (list, tuple, np.ndarray))


def _stacked(column: Any, name: str) -> npt.NDArray[Any]:
    """Lists of one length as a matrix; an error names the first row that is otherwise."""
    cells = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if cells.ndim == 2:
        return cells
    width = None
    for row, cell in enumerate(cells):
        if not hasattr(cell, "__len__"):
            raise ValueError(f"row {row} of {name} has no list, but {cell!r}; leave the row out or fill it in")
        if width is None:
            width = len(cell)
        elif len(cell) != width:
            raise ValueError(f"row {row} of {name} has {len(cell)} numbers, row 0 has {width}")
    if not width:
        raise ValueError(f"{name} holds no numbers")
    for row, cell in enumerate(cells):
        if np.asarray(cell).dtype.kind not in "biuf":
            raise ValueError(f"row {row} of {name} holds something else than numbers")
    return np.stack([np.asarray(cell) for cell in cells])


def _frame_like(X: Any, values: npt.NDArray[Any], names: Sequence[str]) -> Any:
    """The same kind of frame, so that the names of columns are kept and checked as those of any other."""
    if hasattr(X, "iloc"):
        return type(X)(values, columns=names)
    if hasattr(X, "from_arrays"):
        return type(X).from_arrays([np.ascontiguousarray(column) for column in values.T], names=list(names))
    return type(X)(values, schema=list(names))


#: With fewer steps of float32 than this between its smallest and its largest value, a column has lost its differences.
_STEPS = 256
#: Differences of this size, beside the values themselves, are rounding of doubles and no data.
_NOISE = 1e-13
#: Values that are compared at once.
_BLOCK = 1 << 20


def narrow(X: npt.NDArray[Any], names: Sequence[Any] | None, stacklevel: int) -> npt.NDArray[np.float32]:
    """As float32, with a warning where columns lose their differences in it."""
    # What does not fit a float32 becomes infinite, and the library names its row and column.
    with np.errstate(over="ignore", under="ignore"):
        small = np.ascontiguousarray(X, dtype=np.float32)
        if X.dtype.kind == "f" and X.dtype.itemsize <= 4:
            return small
        lost = _lost(X, small)
    if len(lost):
        shown = ", ".join(repr(names[column]) if names is not None else str(column) for column in lost[:5].tolist())
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        warnings.warn(
            f"the values of column {shown}{more} differ by less than a float32 can tell; subtract what they have in "
            "common, or multiply tiny ones, for example with sklearn.preprocessing.StandardScaler",
            PrecisionWarning,
            stacklevel=stacklevel + 1,
        )
    return small


def _lost(X: npt.NDArray[Any], small: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Columns whose rounding to float32 is a considerable part of their range."""
    if not X.size:
        return np.zeros(0, dtype=np.int64)
    error = np.zeros(X.shape[1])
    step = max(1, _BLOCK // X.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        # Whatever is missing is passed over.
        low, high = (each.reduce(X, axis=0).astype(np.float64) for each in (np.fmin, np.fmax))
        width = high - low
        largest = np.maximum(np.abs(low), np.abs(high))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            rounding = np.abs(X[rows].astype(np.float64) - small[rows])
            error = np.fmax(error, np.fmax.reduce(rounding, axis=0))
        return np.flatnonzero((width > _NOISE * largest) & (2 * _STEPS * error > width) & np.isfinite(error))


def fill_numbers(fill: Any, X: npt.NDArray[np.float32]) -> npt.NDArray[np.float32] | None:
    """What fills each column of ``X``, by a rule or as given; ``None`` where nothing is filled."""
    if fill is None:
        return None
    if isinstance(fill, str):
        return _native.learn_fill(fill, X)
    try:
        found = np.asarray(fill, dtype=np.float32)
    except (TypeError, ValueError):
        found = np.empty((0, 0), dtype=np.float32)
    if found.shape != X.shape[1:] or not np.isfinite(found).all():
        raise ValueError(
            f"fill = {fill!r}: must be one of mean, median, zero, {X.shape[1]} numbers, one for each column, or None"
        )
    return found


def filled(X: npt.NDArray[np.float32], fill: npt.NDArray[np.float32] | None) -> npt.NDArray[np.float32]:
    """The rows with what is missing filled; the same array where nothing is."""
    return X if fill is None else _native.filled(X, fill)
