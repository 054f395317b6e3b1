"""Rows whose labels are in doubt."""

import numpy as np
import pytest

from evmachine import ExtremeValueMachine, Suspect, suspects

RANDOM = np.random.default_rng(5)
X = np.concatenate([RANDOM.normal(0, 1, (60, 4)), RANDOM.normal(6, 1, (60, 4))]).astype(np.float32)
Y = np.repeat([0, 1], 60)


def flipped(*rows):
    y = Y.copy()
    y[list(rows)] = 1 - y[list(rows)]
    return y


def test_flipped_labels_lead_and_say_who_claims_them():
    found = suspects(X, flipped(3, 31, 100), ids=[f"r{row}" for row in range(120)])
    assert {suspect.index for suspect in found[:3]} == {3, 31, 100}
    first = next(suspect for suspect in found if suspect.index == 31)
    assert isinstance(first, Suspect) and (first.number, first.id) == (32, "r31")
    assert (first.label, first.claimed_by) == (1, 0) and first.claim > first.probability
    assert first.why.startswith('"0" claims it') and first.cover[2] == 1
    assert [suspect.lead for suspect in found] == sorted((suspect.lead for suspect in found), reverse=True)


def test_labels_are_those_that_were_given_whatever_comes_first():
    names = np.array(["low", "high"])
    first = suspects(X, names[flipped(31)])[0]
    assert (first.index, first.label, first.claimed_by) == (31, "high", "low")


def test_a_stranger_is_claimed_by_nobody():
    far = X.copy()
    far[17] = [90, -90, 90, -90]
    first = suspects(far, Y)[0]
    assert (first.index, first.claimed_by, first.claim, first.id) == (17, None, None, None)
    assert first.why.startswith("it is a stranger to every class")


def test_the_estimator_says_how_and_stays_as_it_is():
    machine = ExtremeValueMachine.robust(metric="cosine", fill="mean")
    holes = X + 1
    holes[5, 2] = np.nan
    found = suspects(holes, np.where(flipped(31), "right", "left"), estimator=machine)
    assert found[0].index == 31 and found[0].label == "right" and found[0].claimed_by == "left"
    assert not hasattr(machine, "classes_") and not hasattr(machine, "n_features_in_")


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="119 ids for 120 rows"):
        suspects(X, Y, ids=range(119))
    with pytest.raises(ValueError, match="'unknown'"):
        suspects(X, np.where(Y == 0, "unknown", "right"))
    with pytest.raises(ValueError, match="pooling = 2"):
        suspects(X, Y, estimator=ExtremeValueMachine(preset="plain", pooling=2.0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        suspects(X, Y[:-1])
