"""Missing values: numbers of the first fit stand in for them, everywhere."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from evmachine import ExtremeValueMachine, PrecisionWarning, UnknownPool


@pytest.fixture(scope="module")
def holes(few):
    """The letters with one value in ten missing."""
    X = few[0].copy()
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.filterwarnings("ignore::evmachine.RetuneWarning")
@pytest.mark.parametrize(
    ("fill", "learn"),
    [
        ("mean", lambda X: np.nanmean(X.astype(float), axis=0)),
        ("median", lambda X: np.nanmedian(X, axis=0)),
        ("zero", lambda X: np.zeros(X.shape[1])),
        (range(16), lambda X: np.arange(16.0)),
    ],
    ids=["mean", "median", "zero", "numbers"],
)
def test_filled_by_rule_is_filled_by_hand(few, strangers, holes, fill, learn):
    numbers = learn(holes).astype(np.float32)
    by_hand = np.where(np.isnan(holes), numbers, holes)
    machine = ExtremeValueMachine(preset="plain", fill=fill).fit(holes, few[1])
    plain = ExtremeValueMachine(preset="plain").fit(by_hand, few[1])
    np.testing.assert_array_equal(machine.fill_values_, numbers)
    assert plain.fill_values_ is None
    np.testing.assert_array_equal(machine.extreme_vectors_, plain.extreme_vectors_)
    queries = strangers[0].copy()
    queries[::3, 2] = np.nan
    whole = np.where(np.isnan(queries), numbers, queries)
    for method in ("predict", "predict_proba", "class_scores", "p_values", "novelty", "predict_known_proba"):
        np.testing.assert_array_equal(getattr(machine, method)(queries), getattr(plain, method)(whole))
    assert machine.explain(queries[:3]) == plain.explain(whole[:3])
    assert machine.doubt(queries[:3]) == plain.doubt(whole[:3])
    # What comes later is filled by the same numbers.
    for each, rows in ((machine, queries), (plain, whole)):
        each.partial_fit(rows[:40], ["new"] * 40).calibrate(rows[40:80], ["A"] * 40).fit_unknowns(rows[80:])
        each.ignore(rows[80:90])
    np.testing.assert_array_equal(machine.fill_values_, numbers)
    np.testing.assert_array_equal(machine.score_samples(queries), plain.score_samples(whole))
    first, second = UnknownPool(machine), UnknownPool(plain)
    assert first.add(queries) == second.add(whole)
    np.testing.assert_array_equal(first.samples()[1], second.samples()[1])


def test_ignored_samples_are_filled_too(few, holes):
    machine = ExtremeValueMachine(preset="plain", fill="mean", rejection_threshold=0.05)
    machine.fit(holes[60:], few[1][60:], ignored=holes[:60])
    assert (machine.predict(holes[:60]) == "unknown").all()
    with pytest.raises(ValueError, match="samples to be ignored: row 0, column 1: NaN"):
        ExtremeValueMachine(preset="plain").fit([[0.0, 1], [2, 3]], [0, 1], ignored=[[1.0, np.nan]])


@pytest.mark.filterwarnings("ignore::evmachine.RetuneWarning")
def test_numbers_survive_files_and_pickles(few, strangers, holes, tmp_path):
    machine = ExtremeValueMachine(preset="plain", fill="median").fit(holes, few[1])
    machine.save(tmp_path / "m.safetensors")
    loaded = ExtremeValueMachine.load(tmp_path / "m.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(machine))):
        np.testing.assert_array_equal(other.fill_values_, machine.fill_values_)
        np.testing.assert_array_equal(other.predict(holes), machine.predict(holes))
        assert other.partial_fit(holes[:20], ["new"] * 20)._model.fill_values is not None
    # The numbers are what a file knows of the rule.
    assert loaded.fill == machine.fill_values_.tolist()
    np.testing.assert_array_equal(clone(loaded).fit(holes, few[1]).fill_values_, machine.fill_values_)


def test_without_a_rule_missing_values_are_refused(few, holes):
    row, column = np.argwhere(np.isnan(holes))[0]
    for machine in (ExtremeValueMachine(preset="plain"), ExtremeValueMachine(preset="plain").fit(*few)):
        call = machine.predict if hasattr(machine, "classes_") else lambda X, own=machine: own.fit(X, few[1])
        with pytest.raises(ValueError, match=f"row {row}, column {column}: NaN"):
            call(holes)
    assert not get_tags(ExtremeValueMachine(preset="plain")).input_tags.allow_nan
    assert get_tags(ExtremeValueMachine(preset="plain", fill="zero")).input_tags.allow_nan


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        ("average", 'fill = "average": must be one of mean, median, zero'),
        ([1.0], "must be one of mean, median, zero, 2 numbers"),
        ([1.0, np.nan], "2 numbers"),
        (3, "2 numbers"),
        ({"a": 1}, "2 numbers"),
    ],
)
def test_bad_rules_are_explained(fill, message):
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachine(preset="plain", fill=fill).fit([[0.0, 1.0], [2.0, np.nan]], [0, 1])


def test_infinities_are_not_missing():
    X = [[0.0, np.nan], [1.0, 2.0], [3.0, np.inf], [4.0, 1.0]]
    with pytest.raises(ValueError, match="row 2, column 1: inf"):
        ExtremeValueMachine(preset="plain", fill="mean").fit(X, [0, 0, 1, 1])


@pytest.mark.filterwarnings("ignore::evmachine.DataWarning")
def test_missing_values_hide_no_loss_of_precision():
    seconds = 1.7e9 + np.arange(8.0)
    frame = pd.DataFrame({"time": seconds, "other": [0.0, 1, 2, 3, np.nan, 5, 6, 7]})
    frame.loc[3, "time"] = np.nan
    with pytest.warns(PrecisionWarning, match="column 'time' differ"):
        ExtremeValueMachine(preset="plain", fill="mean", rejection_threshold=0.05).fit(frame, [0, 1] * 4)
