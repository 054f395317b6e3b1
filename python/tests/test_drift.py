"""Drift of a stream of queries, and what the program says of the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evmachine import DriftMonitor, ExtremeValueMachine


def rows(rng: np.random.Generator, count: int, by: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(count) % 3
    return rng.normal(size=(count, 5)) + 7 * np.eye(5)[y] + by, y * 10


@pytest.fixture(scope="module")
def evm() -> ExtremeValueMachine:
    return ExtremeValueMachine(preset="plain").fit(*rows(np.random.default_rng(0), 3000))


def test_a_move_is_found_dated_and_named(evm: ExtremeValueMachine) -> None:
    rng = np.random.default_rng(1)
    monitor = DriftMonitor(evm).observe(rows(rng, 1000)[0])
    quiet = monitor.report()
    assert (quiet.rows, quiet.basis, quiet.alarm, quiet.cause) == (1000, "held_out", None, None)
    assert quiet.reference_rows > 200 and quiet.rate == 0.01 and quiet.classes_watched == 3
    assert {watch.label for watch in quiet.watches if watch.watch == "support"} == {None, 0, 10, 20}
    moved = monitor.observe(rows(rng, 500, by=1.0)[0]).report()
    assert moved.alarm is not None and 1000 < moved.alarm.row <= 1300
    assert moved.cause is not None and moved.cause.kind == "moved"
    assert moved.cause.shift is not None and moved.cause.shift["size"] == pytest.approx(5**0.5, abs=0.4)
    assert "all vectors moved by" in moved.text


def test_one_class_is_named_by_its_label(evm: ExtremeValueMachine) -> None:
    rng = np.random.default_rng(2)
    X, y = rows(rng, 900)
    X[y == 20] -= 2.5
    cause = DriftMonitor(evm).observe(X).report().cause
    assert cause is not None and (cause.kind, cause.label) == ("class_ages", 20)


def test_a_state_goes_on(evm: ExtremeValueMachine) -> None:
    rng = np.random.default_rng(3)
    monitor = DriftMonitor(evm, rate=0.05, seed=7).observe(rows(rng, 300)[0])
    resumed = DriftMonitor.resume(evm, monitor.state())
    more = rows(rng, 300)[0]
    assert monitor.observe(more).report() == resumed.observe(more).report()
    assert json.loads(monitor.state()) == json.loads(resumed.state())
    with pytest.raises(ValueError, match="no state of a drift monitor"):
        DriftMonitor.resume(evm, "{}")
    other = ExtremeValueMachine(preset="plain").fit(*rows(rng, 60))
    with pytest.raises(ValueError, match="not one of this model"):
        DriftMonitor.resume(other, monitor.state())


def test_what_is_compared_with() -> None:
    rng = np.random.default_rng(4)
    small = ExtremeValueMachine(preset="plain").fit(*rows(rng, 60))
    assert DriftMonitor(small).report().basis == "stream"
    given = DriftMonitor(small, reference=rows(rng, 200)[0]).report()
    assert (given.basis, given.reference_rows) == ("given", 200)
    with pytest.raises(ValueError, match="the rate of false alarms is 2"):
        DriftMonitor(small, rate=2.0)
    monitor = DriftMonitor(small)
    with pytest.raises(ValueError, match="5 features"):
        monitor.observe(np.zeros((2, 4)))
    assert monitor.report().rows == 0
