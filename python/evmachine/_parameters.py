"""Parameters between Python and the library, which has the rules."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from evmachine import _native

#: The parameters of the estimator that are the library's, in its order, with the values of the default preset.
DEFAULTS: dict[str, Any] = {}

#: What the library's search is here; a recall of its own belongs to one that is not exact.
SEARCH = ("search", "recall")

#: What the library's rejection_threshold is here, the one that rules first.
REJECTION = ("rejection_threshold", "max_false_known", "max_false_unknown", "per_class")


def number(name: str, value: Any) -> Any:
    """Plain Python numbers of numpy's; a float that is not finite, which JSON cannot say, is rejected by name."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if not math.isfinite(value):
            within(name, float(value), name)
        return float(value)
    return value


def within(own: str, value: Any, name: str, variant: str = "") -> Any:
    """``value`` of the parameter ``own``, if it is in the library's range for ``variant`` of ``name``."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        checked = float(value) if is_number else math.nan
    except OverflowError:
        checked = math.inf
    rule = _native.broken_rule(name, variant, checked)
    if rule is not None:
        raise ValueError(f"{own} = {value!r}: {rule}")
    return value


#: What an int and a float stand for, and what else may stand there: two types for two meanings.
_SIZES = {"tail_size": ("count", "fraction"), "max_extreme_vectors": ("per_class", "ratio")}

#: What the library says that each parameter takes.
_TAKES: dict[str, str] = {entry["name"]: entry["takes"] for entry in json.loads(_native.parameters())}


def _size(name: str, value: Any) -> Any:
    whole, share = _SIZES[name]
    value = number(name, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return {whole: within(name, value, name, whole)}
    if isinstance(value, float):
        return {share: value}
    if isinstance(value, Mapping):
        return {key: number(name, entry) for key, entry in value.items()}
    return value


def rejection(values: Mapping[str, Any]) -> Any:
    """The rule for what is unknown as the library has it: a probability, or a support or a share by name."""
    for name in REJECTION[:-1]:
        value = number(name, values.get(name))
        if value is None:
            continue
        if name == "rejection_threshold":
            return {key: number(name, entry) for key, entry in value.items()} if isinstance(value, Mapping) else value
        share = "false_unknown_per_class" if values.get("per_class", False) else "false_unknown"
        if name == "max_false_known":
            share = "false_known"
        return {share: within(name, value, "rejection_threshold", share)}
    raise ValueError("one of rejection_threshold, max_false_unknown and max_false_known must be a number")


def _search(values: Mapping[str, Any]) -> Any:
    """The search as the library has it."""
    search, recall = values.get("search", "exact"), number("recall", values.get("recall", _RECALL))
    within("recall", recall, "search", "recall")
    return {"approximate": recall} if search == "approximate" else search


def to_json(values: Mapping[str, Any]) -> str:
    """The parameters as the library reads them; raises ``ValueError`` naming the one that is wrong."""
    out = {
        name: (_size if name in _SIZES else number)(name, value)
        for name, value in values.items()
        if name not in REJECTION and name not in SEARCH
    }
    if any(name in values for name in SEARCH):
        search = _search(values)
        # What is exact is not written.
        if search != "exact":
            out["search"] = search
    if "strangers" in out:
        out["strangers"] = _pair("strangers", out["strangers"])
    if any(name in values for name in REJECTION):
        out["rejection_threshold"] = rejection(values)
    try:
        return json.dumps(out)
    except TypeError:
        wrong = next(name for name, value in out.items() if not _is_json(value))
        raise ValueError(f"{wrong} = {out[wrong]!r}: must be {_TAKES[wrong]}") from None


def _pair(name: str, value: Any) -> Any:
    is_sequence = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
    return [number(name, entry) for entry in value] if is_sequence else number(name, value)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def from_json(text: str) -> dict[str, Any]:
    """Parameters of the library as the estimator takes them."""
    values: dict[str, Any] = json.loads(text)
    for name, (whole, share) in _SIZES.items():
        value = values[name]
        if isinstance(value, dict):
            ((key, size),) = value.items()
            if key in (whole, share):
                values[name] = size
    values["strangers"] = tuple(values["strangers"])
    # The library does not name what is exact.
    search = values.pop("search", "exact")
    values["search"], values["recall"] = (
        ("approximate", search["approximate"]) if isinstance(search, dict) else (search, _RECALL)
    )
    return {
        own: entry
        for name, value in values.items()
        for own, entry in (_split(value) if name == "rejection_threshold" else {name: value}).items()
    }


def _split(rule: Any) -> dict[str, Any]:
    """The library's rule for what is unknown as parameters of the estimator."""
    parts: dict[str, Any] = {
        "rejection_threshold": None,
        "max_false_unknown": SHARE,
        "max_false_known": None,
        "per_class": False,
    }
    if not isinstance(rule, dict):
        return {**parts, "rejection_threshold": rule}
    ((name, share),) = rule.items()
    if name == "support":
        return {**parts, "rejection_threshold": rule}
    if name == "false_known":
        return {**parts, "max_false_known": share}
    return {**parts, "max_false_unknown": share, "per_class": name == "false_unknown_per_class"}


def of_preset(preset: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a preset, with those that are given in place of its own; ``None`` is not given.

    What does not go with them is left out of the preset: that is the library's rule, and for what is unknown one rule
    takes the place of another.
    """
    given = {name: value for name, value in given.items() if value is not None or name == "metric"}
    own = {name: value for name, value in given.items() if name in (*REJECTION, *SEARCH)}
    rest = {name: value for name, value in given.items() if name not in own}
    base = from_json(_native.preset(str(preset), to_json(rest)))
    rules = REJECTION[:-1]
    if any(name in own for name in rules):
        base.update(dict.fromkeys(rules))
    return {**base, **own}


def resolved(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator, those of its preset in place of ``None``."""
    return of_preset(estimator.preset, {name: getattr(estimator, name) for name in DEFAULTS})


def written_out(preset: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What a constructor takes to be a preset with some parameters otherwise."""
    given = {name: value for name, value in overrides.items() if name in DEFAULTS}
    others = {name: value for name, value in overrides.items() if name not in DEFAULTS}
    return {"preset": preset, **of_preset(preset, given), **others}


#: The recall of a search that is not exact, unless given.
_RECALL: float = _native.recall()
#: What stands where another rule holds: the library's own share.
SHARE: float = json.loads(_native.preset("robust", "{}"))["rejection_threshold"]["false_unknown"]
DEFAULTS.update(of_preset("robust", {}))


def means(estimator: Any) -> tuple[int, str]:
    """What an estimator works with: threads, and the name of a device."""
    return threads(estimator.n_jobs), str(estimator.device)


def threads(n_jobs: int | None) -> int:
    """Number of threads; 0 stands for all cores."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r}: must be a positive or negative int, or None for all cores")
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return int(n_jobs)
