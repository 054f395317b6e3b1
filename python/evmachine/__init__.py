"""The Extreme Value Machine: a classifier that knows what it does not know.

>>> import numpy as np
>>> from evmachine import ExtremeValueMachine
>>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
>>> y = ["low", "low", "low", "high", "high", "high"]
>>> evm = ExtremeValueMachine().fit(X, y)
>>> evm.predict([[0.15], [5.05], [100.0]]).tolist()
['low', 'high', 'unknown']

Names are loaded when they are first used: what needs matplotlib or scikit-learn is not imported before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evmachine._native import VERSION as __version__

if TYPE_CHECKING:
    from evmachine import metrics, plot
    from evmachine._client import Client
    from evmachine._cv import ExtremeValueMachineCV
    from evmachine._drift import DriftAlarm, DriftCause, DriftMonitor, DriftReport, DriftWatch
    from evmachine._edits import EditReport
    from evmachine._enrolment import Enrolment, HeldBack
    from evmachine._estimator import ExtremeValueMachine
    from evmachine._explanation import (
        Answer,
        ClassEvidence,
        DeniedNearby,
        Difference,
        Doubt,
        Explanation,
        IgnoredNearby,
        Speaker,
        Testimony,
    )
    from evmachine._http import ServerError
    from evmachine._pool import Suggestion, UnknownPool
    from evmachine._psi import PsiModel
    from evmachine._rows import HeldRow, Row
    from evmachine._served import Learned, ServedAnswer
    from evmachine._stored_pool import Group, Neighbor, StoredPool
    from evmachine._suspects import Suspect, suspects
    from evmachine._tracks import TrackAnswer
    from evmachine._warnings import DataWarning, EnrolmentWarning, FallbackWarning, PrecisionWarning, RetuneWarning

__all__ = [
    "Answer",
    "ClassEvidence",
    "Client",
    "DataWarning",
    "DeniedNearby",
    "Difference",
    "Doubt",
    "DriftAlarm",
    "DriftCause",
    "DriftMonitor",
    "DriftReport",
    "DriftWatch",
    "EditReport",
    "Enrolment",
    "EnrolmentWarning",
    "Explanation",
    "ExtremeValueMachine",
    "ExtremeValueMachineCV",
    "FallbackWarning",
    "Group",
    "HeldBack",
    "HeldRow",
    "IgnoredNearby",
    "Learned",
    "Neighbor",
    "PrecisionWarning",
    "PsiModel",
    "RetuneWarning",
    "Row",
    "ServedAnswer",
    "ServerError",
    "Speaker",
    "StoredPool",
    "Suggestion",
    "Suspect",
    "Testimony",
    "TrackAnswer",
    "UnknownPool",
    "__version__",
    "metrics",
    "plot",
    "suspects",
]

_HOMES = {
    "Answer": "_explanation",
    "ClassEvidence": "_explanation",
    "Client": "_client",
    "DataWarning": "_warnings",
    "DeniedNearby": "_explanation",
    "Difference": "_explanation",
    "Doubt": "_explanation",
    "DriftAlarm": "_drift",
    "DriftCause": "_drift",
    "DriftMonitor": "_drift",
    "DriftReport": "_drift",
    "DriftWatch": "_drift",
    "EditReport": "_edits",
    "Enrolment": "_enrolment",
    "EnrolmentWarning": "_warnings",
    "Explanation": "_explanation",
    "ExtremeValueMachine": "_estimator",
    "ExtremeValueMachineCV": "_cv",
    "FallbackWarning": "_warnings",
    "Group": "_stored_pool",
    "HeldBack": "_enrolment",
    "HeldRow": "_rows",
    "IgnoredNearby": "_explanation",
    "Learned": "_served",
    "Neighbor": "_stored_pool",
    "PrecisionWarning": "_warnings",
    "PsiModel": "_psi",
    "RetuneWarning": "_warnings",
    "Row": "_rows",
    "ServedAnswer": "_served",
    "ServerError": "_http",
    "Speaker": "_explanation",
    "StoredPool": "_stored_pool",
    "Suggestion": "_pool",
    "Suspect": "_suspects",
    "Testimony": "_explanation",
    "TrackAnswer": "_tracks",
    "UnknownPool": "_pool",
    "suspects": "_suspects",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"evmachine.{_HOMES[name]}"), name)
    if name in ("metrics", "plot"):
        return importlib.import_module(f"evmachine.{name}")
    raise AttributeError(f"module 'evmachine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
