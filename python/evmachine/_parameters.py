"""Parameters between Python and the library, which has the rules."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from evmachine import _native

#: The parameters that the library knows, in its order, with its defaults.
PAPER: dict[str, Any] = {}


def number(name: str, value: Any) -> Any:
    """Plain Python numbers of numpy's; a float that is no number is refused by name."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise ValueError(f"{name} = {value}: must be a finite number")
        return float(value)
    return value


#: What an int and a float stand for, and what else may stand there: two types for two meanings.
_SIZES = {
    "tail_size": ("count", "fraction", 'an int, a float or "auto"'),
    "max_extreme_vectors": ("per_class", "ratio", 'an int, a float, {"total": n} or None'),
}


def _size(name: str, value: Any) -> Any:
    whole, share, words = _SIZES[name]
    value = number(name, value)
    if isinstance(value, bool) or (isinstance(value, str) and value != "auto"):
        raise ValueError(f"{name} = {value!r}: must be {words}")
    if isinstance(value, int):
        if value < 1:
            raise ValueError(f"{name} = {value}: must be at least 1")
        return {whole: value}
    if isinstance(value, float):
        return {share: value}
    if isinstance(value, Mapping):
        return {key: number(name, entry) for key, entry in value.items()}
    return value


def to_json(values: Mapping[str, Any]) -> str:
    """The parameters as the library reads them; raises ``ValueError`` naming the one that is wrong."""
    out = {name: (_size if name in _SIZES else number)(name, value) for name, value in values.items()}
    try:
        return json.dumps(out)
    except TypeError:
        wrong = next(name for name, value in out.items() if not _is_json(value))
        raise ValueError(f"{wrong} = {out[wrong]!r}: must be a number or a name") from None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def from_json(text: str) -> dict[str, Any]:
    """Parameters of the library as the estimator takes them."""
    values: dict[str, Any] = json.loads(text)
    for name, (whole, share, _) in _SIZES.items():
        value = values[name]
        if isinstance(value, dict):
            ((key, size),) = value.items()
            if key in (whole, share):
                values[name] = size
    return values


def robust(metric: str) -> dict[str, Any]:
    """What differs from the paper in the robust preset for a metric."""
    values = from_json(_native.defaults(True, metric))
    return {name: value for name, value in values.items() if value != PAPER[name]}


PAPER.update(from_json(_native.defaults(False, "euclidean")))


def threads(n_jobs: int | None) -> int:
    """Number of threads; 0 stands for all cores."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r}: must be a positive or negative int, or None for all cores")
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return int(n_jobs)
