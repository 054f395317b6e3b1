"""One answer for rows that belong together."""

from __future__ import annotations

import numpy as np
import pytest

from evmachine import ExtremeValueMachine


def tracks(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five rows a track, which share a disturbance."""
    groups = np.repeat(np.arange(count) + 100, 5)
    y = groups % 3 * 10
    X = rng.normal(size=(5 * count, 5)) + 7 * np.eye(5)[groups % 3] + np.repeat(rng.normal(size=(count, 5)), 5, axis=0)
    return X, y, groups


@pytest.fixture(scope="module")
def evm() -> ExtremeValueMachine:
    X, y, _ = tracks(np.random.default_rng(0), 400)
    return ExtremeValueMachine(preset="plain").fit(X, y)


def test_a_track_gets_one_answer(evm: ExtremeValueMachine) -> None:
    rng = np.random.default_rng(1)
    X, _, groups = tracks(rng, 90)
    X[-5:] = 50.0 + rng.normal(size=(5, 5))
    for calibration in (None, tracks(rng, 120)):
        answers = evm.predict_tracks(X, groups, calibration=calibration)
        assert [answer.track for answer in answers] == list(range(100, 190))
        assert all(answer.rows == 5 for answer in answers)
        right = [answer.label == answer.track % 3 * 10 for answer in answers[:-1]]
        assert np.mean(right) >= 0.8
        last = answers[-1]
        assert (last.label, last.known, last.disagree) == (evm.unknown_label_, False, [])
        assert last.p_value is not None and last.p_value <= 0.05
    alone = evm.predict(X[:5])
    first = evm.predict_tracks(X[:5], groups[:5])[0]
    assert first.disagree == [row + 1 for row in range(5) if alone[row] != first.label]


def test_groups_that_do_not_fit_are_refused(evm: ExtremeValueMachine) -> None:
    X, y, groups = tracks(np.random.default_rng(2), 40)
    with pytest.raises(ValueError, match=r"groups has shape \(199,\); there must be one for each of the 200 rows"):
        evm.predict_tracks(X, groups[1:])
    with pytest.raises(ValueError, match="takes 19 calibrating tracks"):
        evm.predict_tracks(X, groups, calibration=(X[:10], y[:10], groups[:10]))
    with pytest.raises(ValueError, match="a track is of one class"):
        evm.predict_tracks(X, groups, calibration=(X, y[::-1], groups * 0))
