"""Support, the number to act on; batches; and what a threshold promises."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from evmachine import ExtremeValueMachine, ExtremeValueMachineCV, FallbackWarning

PRESETS = [
    {},
    {"n_fused": 3},
    {"contrast": 0.2, "background": 0.5},
    {"metric": "cosine", "tail_model": "gumbel"},
    {"tail_model": "libmr", "rejection_threshold": 0.2},
    {"max_false_unknown": 0.2, "per_class": True},
    {"rejection_threshold": 0.5},
    {"logit_weight": 1.0, "probe_weight": 1.0},
    {"forest_weight": 1.0},
]


def blobs(rows, seed, classes=4, first=0):
    """Rows of classes in eight dimensions; from class 6 on they are strangers to the first four."""
    random = np.random.default_rng(seed)
    centres = 5.0 * np.random.default_rng(99).normal(size=(12, 8))
    y = first + random.integers(classes, size=rows)
    return (centres[y] + random.normal(size=(rows, 8))).astype(np.float32), y


@pytest.fixture(scope="module")
def machine():
    return ExtremeValueMachine(preset="plain", tail_size=100).fit(*blobs(6000, 1))


@pytest.mark.parametrize("params", PRESETS, ids=str)
def test_the_sign_of_the_largest_support_is_the_decision(few, strangers, params):
    machine = ExtremeValueMachine(preset="plain", **params).fit(*few)
    # At an extreme vector supports are infinite.
    X = strangers[0]
    supports, said = machine.class_supports(X), machine.predict(X)
    assert supports.shape == (len(X), 6) and len(X) > 280
    known = said != machine.unknown_label_
    assert 0 < known.sum() < len(X)
    np.testing.assert_array_equal(supports.max(axis=1) >= 0, known)
    np.testing.assert_array_equal(machine.classes_[supports.argmax(axis=1)][known], said[known])
    np.testing.assert_array_equal(machine.score_samples(X), supports.max(axis=1))
    assert machine.threshold_ == 0.0
    np.testing.assert_array_equal(machine.score_samples(X) >= machine.threshold_, known)


def test_supports_go_on_where_psi_has_ended(few):
    machine = ExtremeValueMachine(preset="plain").fit(*few)
    far = few[0][:1] + np.array([[50.0], [100.0], [200.0]], dtype=np.float32)
    assert (machine.psi(far) == 0).all()
    supports = machine.score_samples(far)
    assert supports[0] > supports[1] > supports[2] and supports[0] < 0


def test_columns_follow_the_classes_however_they_were_learned(few, strangers):
    X, y = few
    late = np.isin(y, ["D", "E", "F"])
    machine = (
        ExtremeValueMachine(preset="plain", rejection_threshold=0.05)
        .fit(X[late], y[late])
        .partial_fit(X[~late], y[~late])
    )
    assert machine._model.class_names[0] in "DEF"
    supports = machine.class_supports(strangers[0])
    known = supports.max(axis=1) >= 0
    said = machine.predict(strangers[0])
    np.testing.assert_array_equal(machine.classes_[supports.argmax(axis=1)][known], said[known])
    # Of a Weibull curve the support is -ln(-ln psi), and the threshold is that of 0.05.
    psi = machine.class_scores(strangers[0])
    told = (psi > 1e-250) & (psi < 1 - 1e-6) & np.isfinite(supports)
    assert told.sum() > 400
    by_hand = np.log(-np.log(0.05)) - np.log(-np.log(psi[told]))
    np.testing.assert_allclose(supports[told], by_hand, rtol=1e-6, atol=1e-6)


def test_an_unfitted_machine_has_no_threshold():
    for kind in (ExtremeValueMachine, ExtremeValueMachineCV):
        assert not hasattr(kind(), "threshold_") and not hasattr(kind(), "promise_")
        with pytest.raises(NotFittedError):
            kind().class_supports([[0.0]])


def test_a_support_moves_the_threshold(machine):
    X = np.vstack([blobs(500, 2)[0], blobs(500, 3, first=6)[0]])
    before, said = machine.score_samples(X), machine.predict(X)
    kept = copy.copy(machine).set_rejection(support=machine.threshold_)
    np.testing.assert_array_equal(kept.predict(X), said)
    np.testing.assert_array_equal(kept.score_samples(X), before)
    for support in (-3.0, 2.5):
        moved = copy.copy(machine).set_rejection(support=support)
        np.testing.assert_array_equal(moved.novelty(X) > 0, before >= support)
        np.testing.assert_allclose(moved.score_samples(X), before - support, atol=1e-9)
        assert moved.rejection_threshold == {"support": machine._model.thresholds[0] + support}
        # What comes back from a file, a pickle or a clone has the same rule.
        for other in (pickle.loads(pickle.dumps(moved)), clone(moved).fit(*blobs(6000, 1))):
            assert other.get_params() == moved.get_params()
            assert other._model.thresholds[0] == moved._model.thresholds[0]
        assert moved.promise_["basis"] == "nothing" and moved.promise_["text"].startswith("a score below ")
        again = moved.set_rejection(support=-support)
        np.testing.assert_array_equal(again.predict(X), said)
    per_class = copy.copy(machine).set_rejection(max_false_unknown=0.2, per_class=True)
    with pytest.raises(ValueError, match="each class has a threshold of its own"):
        per_class.set_rejection(support=1.0)
    with pytest.raises(ValueError, match="the threshold is -inf; choose a rule with a finite one"):
        copy.copy(machine).set_rejection(rejection_threshold=0.0).set_rejection(support=1.0)
    with pytest.raises(ValueError, match="support = NaN: must be a finite number"):
        copy.copy(machine).set_rejection(support=float("nan"))


def test_files_keep_a_threshold_that_is_a_support(machine, tmp_path):
    moved = copy.copy(machine).set_rejection(support=1.0)
    moved.save(tmp_path / "m.safetensors")
    other = ExtremeValueMachine.load(tmp_path / "m.safetensors")
    assert other.rejection_threshold == moved.rejection_threshold
    X = blobs(300, 2)[0]
    np.testing.assert_array_equal(other.score_samples(X), moved.score_samples(X))


def test_confidence_rejects_less(machine):
    X = blobs(20_000, 4)[0]
    sure = copy.copy(machine).set_rejection(max_false_unknown=0.05, confidence=0.95)
    assert sure.confidence == 0.95 and sure.promise_["confidence"] == 0.95
    shares = [float(np.mean(each.novelty(X) < 0)) for each in (machine, sure)]
    assert shares[1] < 0.05 and shares[0] - shares[1] > 0.005
    assert "in 95 of 100 trainings" in sure.promise_["text"]
    assert sure.promise_["range"][1] < machine.promise_["range"][1]
    # A fit that is asked for it at once is the same model, and confidence can be taken back alone.
    fitted = ExtremeValueMachine(preset="plain", tail_size=100, confidence=0.95).fit(*blobs(6000, 1))
    assert fitted._model == sure._model and fitted._library_params() == sure._library_params()
    assert sure.set_rejection(confidence=0.0)._model == machine._model
    with pytest.raises(ValueError, match="confidence = 1.5: must be at least 0 and below 1"):
        sure.set_rejection(confidence=1.5)
    with pytest.warns(FallbackWarning, match="5 % with a confidence of 95 % cannot be promised: it takes 177 rows"):
        ExtremeValueMachine(preset="plain", confidence=0.95).fit(*blobs(100, 5))


def test_the_promise_says_what_it_rests_on(machine):
    promise = machine.promise_
    assert promise["rule"] == {"false_unknown": 0.05} and promise["basis"] == "held_out"
    assert promise["rows"] == machine.report_["held_out"] == machine.calibration_["rows"] > 400
    low, high = promise["range"]
    assert 0.03 < low < 0.05 < high < 0.08 and promise["rows_needed"] is None and promise["spread"] is None
    assert promise["text"].startswith(f"5 % of known rejected, set on {promise['rows']} rows held out of training")
    assert f"between {100 * low:.1f} and {100 * high:.1f} %" in promise["text"]
    few = ExtremeValueMachine(preset="plain").fit(*blobs(200, 5))
    assert few.promise_["basis"] == "folds" and few.promise_["rows"] == 200
    with pytest.warns(
        FallbackWarning, match="no strangers were given: .* is an estimate from classes left out in turn"
    ):
        guessed = ExtremeValueMachine(preset="plain", max_false_known=0.1).fit(*blobs(200, 5))
    assert guessed.promise_["spread"] is not None and guessed.promise_["range"] is None
    with pytest.warns(FallbackWarning, match="classes have fewer than 99 held-out rows that are answered with it"):
        ExtremeValueMachine(preset="plain", max_false_unknown=0.01, per_class=True).fit(*blobs(200, 5))
    with pytest.warns(FallbackWarning, match="5 % cannot be promised: it takes 19 rows .*, and there are 10"):
        few.calibrate(*blobs(10, 6))


def test_strangers_set_the_threshold_or_are_too_few(machine):
    strangers, others = blobs(2000, 7, first=6)[0], blobs(20_000, 8, first=6)[0]
    machine = copy.copy(machine).fit_unknowns(strangers)
    machine.set_rejection(max_false_known=0.01)
    assert np.sum(machine.novelty(strangers) > 0) == 19, "of 2,001, the one to come counted, 20 may be accepted"
    assert np.mean(machine.novelty(others) > 0) < 0.017
    assert machine.promise_["basis"] == "strangers" and machine.promise_["rows"] == 2000
    with pytest.raises(ValueError, match="1 % of strangers takes 99 of them .*, and 98 were given"):
        machine.fit_unknowns(strangers[:98])
    assert machine.promise_["rows"] == 2000, "the model is as it was"
    machine.set_rejection(max_false_unknown=0.05).fit_unknowns(strangers[:98])
    with pytest.raises(ValueError, match="0.1 % of strangers takes 999 of them"):
        machine.set_rejection(max_false_known=0.001)
    assert machine.max_false_known is None


def test_of_a_batch_few_of_those_called_unknown_are_known(machine):
    shares, found = [], []
    for seed in range(40):
        known, unknown = blobs(900, 100 + seed)[0], blobs(100, 200 + seed, first=6)[0]
        said = machine.predict(np.vstack([known, unknown]), fdr=0.1) == machine.unknown_label_
        shares.append(said[:900].sum() / max(1, said.sum()))
        found.append(said[900:].mean())
    assert 0.02 < np.mean(shares) < 0.13, "a tenth at most on average, with the spread of 40 batches"
    assert np.mean(found) > 0.5
    # The threshold calls one in twenty known rows unknown, which is far more of those called so.
    said = machine.predict(np.vstack([known, unknown])) == machine.unknown_label_
    assert said[:900].sum() / said.sum() > 0.2
    # By hand, as Benjamini and Hochberg have it.
    X = np.vstack([known, unknown])
    p_values = machine.p_values(X)
    below = np.sort(p_values) <= 0.1 * np.arange(1, 1001) / 1000 + 1e-12
    largest = np.sort(p_values)[np.flatnonzero(below)[-1]]
    expected = p_values <= largest
    answers = machine.predict(X, fdr=0.1)
    np.testing.assert_array_equal(answers == machine.unknown_label_, expected)
    best = machine.classes_[machine.class_supports(X).argmax(axis=1)]
    np.testing.assert_array_equal(answers[~expected], best[~expected])


def test_where_nothing_can_be_found_it_is_said(machine):
    unknown = blobs(3, 9, first=6)[0]
    few = ExtremeValueMachine(preset="plain").fit(*blobs(100, 5))
    with pytest.warns(
        FallbackWarning, match="100 calibrating rows are too few to call any of 3 rows unknown"
    ) as caught:
        said = few.predict(unknown, fdr=0.001)
    assert caught[0].filename == __file__ and (said != few.unknown_label_).all()
    for rate in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="the false discovery rate is .*; it must be above 0 and below 1"):
            machine.predict(unknown, fdr=rate)
    fixed = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*blobs(100, 5))
    for ask in (lambda: fixed.predict(unknown, fdr=0.1), lambda: fixed.share_unknown(unknown)):
        with pytest.raises(ValueError, match="the model has no calibration"):
            ask()


@pytest.mark.parametrize("unknown", [0, 200, 1000])
def test_the_share_of_unknowns_is_estimated(machine, unknown):
    known = blobs(2000 - unknown, 10)[0]
    X = np.vstack([known, blobs(unknown, 11, first=6)[0]]) if unknown else known
    share, error = machine.share_unknown(X)
    assert isinstance(share, float) and 0.0 < error < 0.08
    assert abs(share - unknown / 2000) < 3.5 * error


def test_the_tuner_has_the_same_numbers(few, strangers):
    search = ExtremeValueMachineCV(n_trials=2, max_rows=300, max_false_unknown=0.1, confidence=0.9).fit(*few)
    assert search.best_params_["confidence"] == search.estimator_.confidence == 0.9
    X = strangers[0]
    np.testing.assert_array_equal(search.class_supports(X), search.estimator_.class_supports(X))
    np.testing.assert_array_equal(search.score_samples(X) >= search.threshold_, search.novelty(X) > 0)
    assert search.promise_ == search.estimator_.promise_ and search.promise_["confidence"] == 0.9
    assert search.share_unknown(X) == search.estimator_.share_unknown(X)
    np.testing.assert_array_equal(search.predict(X, fdr=0.2), search.estimator_.predict(X, fdr=0.2))


@pytest.mark.filterwarnings("ignore:two classes are too few")
def test_the_tuner_keeps_the_share_that_is_asked_for_with_two_classes():
    search = ExtremeValueMachineCV(max_false_unknown=0.2, confidence=0.5).fit(*blobs(300, 5, classes=2))
    assert search.promise_["rule"] == {"false_unknown": 0.2} and search.promise_["confidence"] == 0.5


def test_rows_held_out_are_among_the_rows_and_can_be_corrected(machine):
    X, y = blobs(6000, 1)
    held = [row for row in machine.rows() if row.part == "held out"]
    assert len(held) == machine.promise_["rows"]
    assert all(row.label == y[row.index] for row in held)
    own = {row.index for row in machine.rows(0) if row.part == "held out"}
    assert own == {row.index for row in held if row.label == 0} != set()
    other = copy.copy(machine)
    assert other.unlearn(rows=[row.number for row in held[100:200]]).rows == 100
    assert not {row.index for row in held[100:200]} & {row.index for row in other.rows()}
    assert other.promise_["rows"] == machine.promise_["rows"] - 100
    other.set_aside(rows=held[1])
    (aside,) = [row for row in other.rows() if row.part == "set aside"]
    assert aside.index == held[1].index
    other.restore(rows=held[1])
    assert held[1].index in {row.index for row in other.rows() if row.part == "held out"}
