"""Data for all tests."""

from __future__ import annotations

import os
from pathlib import Path

# Before scikit-learn is imported: with it, no check of an estimator is skipped.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def letters() -> tuple[np.ndarray, np.ndarray]:
    """UCI Letter: 20,000 rows of 16 features, labels A to Z."""
    rows = np.loadtxt(ROOT / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
    return rows[:, 1:].astype(np.float32), rows[:, 0]


@pytest.fixture(scope="session")
def few(letters) -> tuple[np.ndarray, np.ndarray]:
    """600 letters A to F."""
    X, y = letters
    rows = np.flatnonzero(np.isin(y, list("ABCDEF")))[:600]
    return np.ascontiguousarray(X[rows]), y[rows]


@pytest.fixture(scope="session")
def strangers(letters) -> tuple[np.ndarray, np.ndarray]:
    """300 letters of which most are none of A to F."""
    X, y = letters
    return np.ascontiguousarray(X[-300:]), y[-300:]


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Files that the tests of the program share."""
    return ROOT / "crates/evmachine-cli/tests/fixtures"
