"""The behaviour of the estimator beyond what scikit-learn asks."""

import copy
import inspect
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from evmachine import (
    DataWarning,
    ExtremeValueMachine,
    ExtremeValueMachineCV,
    FallbackWarning,
    PrecisionWarning,
    RetuneWarning,
    _native,
    _parameters,
)


def test_defaults_are_those_of_the_library():
    signature = inspect.signature(ExtremeValueMachine.__init__).parameters
    own = {name: parameter.default for name, parameter in signature.items() if name in _parameters.DEFAULTS}
    assert own == {**dict.fromkeys(_parameters.DEFAULTS), "metric": "euclidean"}, "None is the value of the preset"
    for metric in ("euclidean", "cosine", "manhattan"):
        robust = _parameters.of_preset("robust", {"metric": metric})
        assert _parameters.resolved(ExtremeValueMachine(metric=metric)) == robust
        assert _parameters.resolved(ExtremeValueMachine.robust(metric=metric)) == robust
        for preset in ("plain", "paper"):
            machine = ExtremeValueMachine(preset=preset, metric=metric)
            assert _parameters.resolved(machine) == _parameters.of_preset(preset, {"metric": metric})
    assert list(_parameters.DEFAULTS) == [name for name in signature if name in _parameters.DEFAULTS]
    robust = ExtremeValueMachine.robust().get_params()
    assert {name: robust[name] for name in _parameters.DEFAULTS} == _parameters.DEFAULTS
    assert ExtremeValueMachine.paper().rejection_threshold == 0.05
    asked = _parameters.resolved(ExtremeValueMachine(preset="paper", max_false_unknown=0.02))
    assert (asked["rejection_threshold"], asked["max_false_unknown"]) == (None, 0.02), "one rule at a time"
    with pytest.raises(ValueError, match='preset "robuts" is not one of robust, plain, paper'):
        ExtremeValueMachine(preset="robuts").fit([[0.0], [1.0]], [0, 1])
    assert ExtremeValueMachine.robust(pooling=0.1, metric="cosine").get_params()["pooling"] == 0.1
    assert ExtremeValueMachine.robust(metric="manhattan").whitening == 0.0, "it has no meaning there"
    with pytest.raises(ValueError, match='metric = "manhatten": must be euclidean, cosine or manhattan'):
        ExtremeValueMachine.robust(metric="manhatten")


def test_the_signature_is_the_list_of_the_library():
    listed = json.loads(_native.parameters())
    # What the library has one parameter for and the estimator several.
    several = {"rejection_threshold": _parameters.REJECTION, "search": _parameters.SEARCH}
    names = [own for entry in listed for own in several.get(entry["name"], (entry["name"],))]
    assert set(names) == set(_parameters.DEFAULTS)
    for name in names:
        assert f"    {name} : " in ExtremeValueMachine.__doc__, f"{name} is not in the docstring"
    robust = ExtremeValueMachine.robust()
    for entry in listed:
        name = entry["name"]
        if name not in several and not isinstance(entry["default"], dict) and name != "strangers":
            assert getattr(robust, name) == entry["default"], name


@pytest.mark.parametrize("name", ["parameters.toml", "parameters-2.toml"])
def test_parameters_of_a_file_come_back(fixtures, name):
    text = (fixtures / name).read_text()
    written = _native.params_of_toml(text)
    machine = ExtremeValueMachine(preset="plain", **_parameters.from_json(written))
    own = {name: getattr(machine, name) for name in _parameters.DEFAULTS}
    assert json.loads(_native.params_of_toml(text)) == json.loads(written)
    assert _parameters.from_json(written) == own
    sent = json.loads(_parameters.to_json(own))
    assert {name: value for name, value in json.loads(written).items() if sent[name] != value} == {}


def test_letters_are_told_apart_and_strangers_rejected(few, strangers):
    machine = ExtremeValueMachine(preset="plain", tail_size=30, rejection_threshold=0.05).fit(*few)
    X, y = strangers
    known = np.isin(y, machine.classes_)
    said = machine.predict(X)
    assert np.mean(said[known] == y[known]) > 0.8
    assert np.mean(said[~known] == "unknown") > 0.7
    assert machine.score(*few) > 0.99


def test_proba_scores_samples_and_novelty_agree(few, strangers):
    machine = ExtremeValueMachine(preset="plain", n_fused=2, rejection_threshold=0.05).fit(*few)
    X, _ = strangers
    scores, proba, labels = machine.class_scores(X), machine.predict_class_proba(X), machine.predict(X)
    assert scores.shape == proba.shape == (300, 6)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(machine.psi(X), scores.max(axis=1), rtol=1e-12)
    seen = scores.max(axis=1) > 1e-300
    assert seen.sum() > 200
    np.testing.assert_allclose(proba[seen], scores[seen] / scores[seen].sum(axis=1, keepdims=True), atol=1e-9)
    unknown = scores.max(axis=1) < 0.05
    assert 0 < unknown.sum() < 300
    np.testing.assert_array_equal(labels == "unknown", unknown)
    np.testing.assert_array_equal(machine.novelty(X), np.where(unknown, -1, 1))
    np.testing.assert_array_equal(labels[~unknown], machine.classes_[proba.argmax(axis=1)][~unknown])


def test_delta_is_compared_with_the_score_of_the_sample(few, strangers):
    machine = ExtremeValueMachine.robust(rejection_threshold=0.6).fit(*few)
    assert machine.contrast > 0
    X = strangers[0]
    scores = machine.psi(X)
    np.testing.assert_array_equal(machine.predict(X) == "unknown", scores < 0.6)
    assert (scores >= machine.class_scores(X).max(axis=1) - 1e-12).all()
    assert (scores > machine.class_scores(X).max(axis=1) + 0.01).any(), "leads count"


def within_class_covariance(X, y):
    centred = np.vstack([X[y == label] - X[y == label].mean(axis=0) for label in np.unique(y)])
    return centred.T @ centred / len(X)


def test_whitening_measures_as_mahalanobis_does(few, strangers):
    X, y = few[0].astype(np.float64), few[1]
    covariance = within_class_covariance(X, y)
    variance = np.trace(covariance) / 16
    shrunk = 0.6 * covariance + 0.4 * variance * np.eye(16)
    by_hand = np.linalg.cholesky(variance * np.linalg.inv(shrunk))
    white = ExtremeValueMachine(preset="plain", whitening=0.6).fit(*few)
    same = ExtremeValueMachine(preset="plain").fit(X @ by_hand, y)
    np.testing.assert_allclose(white.class_scores(strangers[0]), same.class_scores(strangers[0] @ by_hand), atol=1e-3)
    assert (
        np.abs(white.class_scores(few[0]) - ExtremeValueMachine(preset="plain").fit(*few).class_scores(few[0])).max()
        > 0.1
    )


@pytest.mark.filterwarnings("ignore::evmachine.RetuneWarning")
def test_whitening_stays_with_the_model(few, strangers):
    X, y = few
    first = np.isin(y, ["A", "B", "C", "D"])
    machine = ExtremeValueMachine(preset="plain", whitening=0.5).fit(X[first], y[first])
    machine.partial_fit(X[~first], y[~first])
    assert clone(machine).whitening == 0.5
    for other in (pickle.loads(pickle.dumps(machine)), copy.deepcopy(machine)):
        assert other._model == machine._model
        np.testing.assert_array_equal(other.class_scores(strangers[0]), machine.class_scores(strangers[0]))
    at_once = ExtremeValueMachine(preset="plain", whitening=0.5).fit(X, y)
    assert at_once._model != machine._model, "the matrix is that of the first batch"
    vectors = machine._model.feature_vectors
    np.testing.assert_allclose(
        vectors, X[np.argsort(~first, kind="stable")][machine.extreme_vector_indices_], atol=1e-4
    )
    assert np.abs(machine.extreme_vectors_ - vectors).max() > 1.0
    with pytest.raises(ValueError, match="whitening = 0.5: applies to the metrics euclidean and cosine alone"):
        ExtremeValueMachine(preset="plain", whitening=0.5, metric="manhattan").fit(X, y)


def test_predicting_changes_nothing(few, strangers):
    machine = ExtremeValueMachine(preset="plain").fit(*few)
    before, X = machine._model.to_bytes(), strangers[0].copy()
    for call in (machine.predict, machine.predict_proba, machine.class_scores, machine.novelty, machine.explain):
        call(X)
    assert machine._model.to_bytes() == before
    np.testing.assert_array_equal(X, strangers[0])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_a_batch_equals_its_rows_one_by_one(few, strangers, metric):
    machine = ExtremeValueMachine(preset="plain", metric=metric, n_fused=3, pooling=0.5).fit(*few)
    X = strangers[0][:40]
    for call in (machine.predict, machine.predict_proba, machine.class_scores):
        np.testing.assert_array_equal(call(X), np.concatenate([call(row[None]) for row in X]))


@pytest.mark.parametrize("tail_model", ["weibull", "libmr", "gumbel"])
def test_updates_equal_one_fit_with_threshold_one(few, tail_model):
    X, y = few
    params = {"tail_size": 25, "cover_threshold": 1.0, "pooling": 0.3, "tail_model": tail_model}
    # Which rows are held out depends on the batches.
    params["rejection_threshold"] = 0.05
    whole = ExtremeValueMachine(preset="plain", **params).fit(X, y)
    parts = ExtremeValueMachine(preset="plain", **params)
    for start in (0, 200, 333):
        end = {0: 200, 200: 333, 333: 600}[start]
        parts.partial_fit(X[start:end], y[start:end])
    assert parts._model == whole._model
    assert parts._model.to_bytes() == whole._model.to_bytes()


def test_results_do_not_depend_on_n_jobs(few, strangers):
    models, answers = set(), []
    for n_jobs in (1, 2, 3, None, -1, -2):
        machine = ExtremeValueMachine.robust(n_jobs=n_jobs).fit(*few)
        models.add(machine._model.to_bytes())
        answers.append(machine.predict_proba(strangers[0]).tobytes())
    assert len(models) == len(set(answers)) == 1


def test_new_classes_come_at_any_time_and_can_be_forgotten(few):
    X, y = few
    first = np.isin(y, ["B", "D", "E", "F"])
    machine = ExtremeValueMachine(preset="plain", max_false_unknown=0.0).partial_fit(
        X[first], y[first], classes=list("BDEF")
    )
    assert machine.classes_.tolist() == ["B", "D", "E", "F"]
    machine.partial_fit(X[~first], y[~first])
    assert machine.classes_.tolist() == list("ABCDEF")
    assert machine.report_["new_classes"] == sorted(machine.report_["new_classes"], key=y[~first].tolist().index)
    assert machine.score(X, y) > 0.98
    # Columns follow classes_, though the classes came in another order.
    known = machine.novelty(X) > 0
    nearest = machine.classes_[machine.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(nearest[known], machine.predict(X)[known])
    machine.forget("D")
    assert machine.classes_.tolist() == list("ABCEF")
    assert "D" not in machine.predict(X)
    assert machine.predict_proba(X).shape == (600, 5)
    with pytest.raises(ValueError, match="no class 'Q'"):
        machine.forget("Q")
    with pytest.raises(ValueError, match=r"not in `classes`: \['A'\]"):
        machine.partial_fit(X[y == "A"], y[y == "A"], classes=["B", "C"])


def test_a_failed_update_leaves_the_machine_as_it_was(few):
    X, y = few
    machine = ExtremeValueMachine(preset="plain").fit(X, y)
    before = machine._model.to_bytes()
    bad = X[:4].copy()
    bad[2, 5] = np.nan
    with pytest.raises(ValueError, match="row 2, column 5: NaN"):
        machine.partial_fit(bad, ["new"] * 4)
    with pytest.raises(ValueError, match="use one type"):
        machine.partial_fit(X[:4], [1, 2, 3, 4])
    assert machine._model.to_bytes() == before and "new" not in machine.classes_


def test_a_failed_fit_leaves_the_machine_as_it_was(few, strangers):
    X, y = few
    machine = ExtremeValueMachine(preset="plain").fit(pd.DataFrame(X).add_prefix("f"), y)
    queries = pd.DataFrame(strangers[0]).add_prefix("f")
    expected = machine.predict(queries)
    for call in (
        lambda: machine.fit(X[:, :5], ["unknown"] * 600),
        lambda: machine.fit(X[:, :5], ["one", ""] * 300),
        lambda: machine.set_rejection(rejection_threshold=7.0),
        lambda: machine.fit(np.ones((600, 3)), y),
    ):
        with pytest.raises((ValueError, DataWarning)):
            call()
        np.testing.assert_array_equal(machine.predict(queries), expected)
        assert machine.n_features_in_ == 16 and machine.rejection_threshold is None
    fresh = ExtremeValueMachine(preset="plain")
    with pytest.raises(ValueError, match="row 0 of y is labelled"):
        fresh.fit(X, ["unknown"] * 300 + ["a"] * 300)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_reducing_meets_every_kind_of_limit(few):
    X, y = few

    def size(**limit):
        return len(ExtremeValueMachine(preset="plain", cover_threshold=1.0).fit(X, y).reduce(**limit).extreme_vectors_)

    assert size(max_extreme_vectors=5) == 30
    assert size(max_extreme_vectors={"total": 40}) == 40
    assert size(max_extreme_vectors=0.1) == 60
    assert size(max_extreme_vectors=0.1, reduction="weighted_max_k") == 60
    assert 6 <= size(cover_threshold=0.5) < 600
    assert len(ExtremeValueMachine(preset="plain", max_extreme_vectors=4).fit(X, y).extreme_vectors_) == 24
    with pytest.raises(ValueError, match="either cover_threshold or max_extreme_vectors"):
        ExtremeValueMachine(preset="plain").fit(X, y).reduce()


def test_attributes(few):
    X, y = few
    machine = ExtremeValueMachine(preset="plain", cover_threshold=0.9).fit(X, y)
    indices = machine.extreme_vector_indices_
    np.testing.assert_array_equal(machine.extreme_vectors_, X[indices])
    np.testing.assert_array_equal(machine.extreme_vector_classes_, y[indices])
    assert machine.extreme_vectors_.dtype == np.float32
    assert (machine.weibull_shape_ > 0).all() and (machine.weibull_scale_ > 0).all()
    assert set(machine.fit_status_) == {"converged"} and len(machine.fit_status_) == len(indices)
    assert machine.vector_ratio_ == len(indices) / 600
    assert machine.report_["extreme_vectors"] == len(indices) and machine.report_["rows"] == 600
    assert not hasattr(ExtremeValueMachine(preset="plain"), "extreme_vectors_")
    with pytest.raises(NotFittedError):
        ExtremeValueMachine(preset="plain").predict(X)


def test_explanations_name_the_training_rows(few, strangers):
    X, y = few
    machine = ExtremeValueMachine(preset="plain", cover_threshold=1.0, n_fused=2).fit(X, y)
    why = machine.explain(X[:3], n_classes=2)
    for row, explanation in enumerate(why):
        assert explanation.label == explanation.best == y[row]
        best = explanation.classes[0]
        assert best.label == y[row] and len(explanation.classes) == 2 and len(best.extreme_vectors) == 2
        speaker = best.extreme_vectors[0]
        distance = np.linalg.norm(X[row].astype(float) - X[speaker.index])
        assert abs(speaker.distance - distance) < 1e-5
        assert best.psi == pytest.approx(np.mean([each.psi for each in best.extreme_vectors]))
    with pytest.raises(ValueError, match="n_classes = 0"):
        machine.explain(X, n_classes=0)
    unknown = strangers[0][machine.novelty(strangers[0]) < 0][:1]
    (reason,) = machine.explain(unknown)
    assert reason.label == "unknown" and reason.best in machine.classes_
    assert reason.distance_to_boundary > 0


def test_delta_can_be_set_after_training(few, strangers):
    machine = ExtremeValueMachine(preset="plain").fit(*few)

    def said(delta):
        return machine.set_rejection(rejection_threshold=delta).predict(strangers[0])

    assert (said(0.0) != "unknown").all()
    rejected = [(said(delta) == "unknown").sum() for delta in (0.01, 0.5, 0.9)]
    assert rejected == sorted(rejected) and rejected[0] < rejected[2]
    assert machine.get_params()["rejection_threshold"] == 0.9
    assert json.loads(machine._model.params)["rejection_threshold"] == 0.9
    with pytest.raises(ValueError, match="rejection_threshold = 2: must be between 0 and 1"):
        machine.set_rejection(rejection_threshold=2.0)


def test_far_out_the_nearest_class_is_still_named(few):
    """psi underflows there; classes are compared by what does not."""
    X, y = few
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.0, pooling=1.0).fit(X, y)
    far = X[:50] + 1000 * (X[:50] - X.mean(axis=0))
    assert (machine.psi(far) == 0).all()
    np.testing.assert_array_equal(machine.predict_class_proba(far).sum(axis=1), 1.0)
    for proba in (machine.predict_class_proba(far), machine.predict_proba(far)):
        np.testing.assert_array_equal(machine.classes_[proba.argmax(axis=1)], machine.predict(far))
    assert len(set(machine.predict(far))) > 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"metric": "chebyshev"}, 'metric = "chebyshev": must be euclidean, cosine or manhattan'),
        ({"tail_size": 0}, "tail_size = 0: must be at least 1"),
        ({"tail_size": 1.5}, "tail_size = 1.5: must be above 0 and at most 1"),
        ({"tail_size": "many"}, 'tail_size = "many": must be an int, a float or "auto"'),
        ({"tail_size": True}, "tail_size = True"),
        ({"tail_size": [1]}, "tail_size"),
        ({"tail_model": "weibul"}, 'tail_model = "weibul": must be weibull, libmr or gumbel'),
        ({"pooling": 1.5}, "pooling = 1.5: must be between 0 and 1"),
        ({"pooling": float("nan")}, "pooling = nan: must be between 0 and 1"),
        ({"pooling": "much"}, 'pooling = "much": must be a number'),
        ({"pooling": object()}, "pooling"),
        ({"n_fused": -1}, "n_fused = -1: must be an int that is not negative"),
        ({"n_fused": 1.5}, "n_fused = 1.5: must be an int"),
        ({"metric": None}, "metric = None: must be euclidean, cosine or manhattan"),
        ({"reduction": 3}, "reduction = 3: must be set_cover or weighted_max_k"),
        ({"max_extreme_vectors": 0}, "max_extreme_vectors = 0"),
        ({"max_extreme_vectors": {"all": 3}}, 'max_extreme_vectors = {"all": 3}: must be an int, a float'),
        ({"max_extreme_vectors": "few"}, 'max_extreme_vectors = "few": must be an int, a float'),
        ({"reduction": "weighted_max_k"}, "max_extreme_vectors = none: must be set"),
        ({"background": -1.0}, "background = -1: must be between 0 and 10"),
        ({"background": 1.0, "tail_model": "gumbel"}, "background = 1: applies to the tail model Weibull alone"),
        ({"logit_weight": "much"}, 'logit_weight = "much": must be "auto" or a number'),
        ({"probe_weight": 21.0}, 'probe_weight = 21: must be "auto" or between 0 and 20'),
        ({"standardize": 2}, "standardize = 2: must be True or False"),
        ({"rejection_threshold": 2.0}, "rejection_threshold = 2: must be between 0 and 1"),
        ({"rejection_threshold": "low"}, 'rejection_threshold = "low": must be a probability'),
        ({"max_false_unknown": 1.5}, "max_false_unknown = 1.5: must be between 0 and 1"),
        ({"max_false_unknown": "few"}, "max_false_unknown = 'few': must be between 0 and 1"),
        ({"max_false_known": -0.5}, "max_false_known = -0.5: must be between 0 and 1"),
        ({"confidence": 1.0}, "confidence = 1: must be at least 0 and below 1"),
        ({"confidence": "high"}, 'confidence = "high": must be a number'),
        (
            {"rejection_threshold": {"score": 1.0}},
            "rejection_threshold = .*: must be a probability, support with a number",
        ),
        ({"strangers": 0.5}, "strangers = 0.5: must be two numbers"),
        ({"strangers": (2.0, 2.0)}, "strangers = .*must be two numbers, the first from 0.01 to 1"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"n_jobs": 1.5}, "n_jobs = 1.5"),
        ({"unknown_label": "A"}, "unknown_label = 'A' is a class"),
    ],
)
def test_bad_parameters_are_named(few, params, message):
    with pytest.raises(ValueError, match=message) as raised:
        ExtremeValueMachine(preset="plain", **params).fit(*few)
    for foreign in ("invalid type", "expected ", "variant", "usize", "f64", "null", "map"):
        assert foreign not in str(raised.value), "words of another language"


def test_numbers_of_numpy_are_numbers(few):
    plain = ExtremeValueMachine(preset="plain", tail_size=30, pooling=0.5, n_fused=2, max_extreme_vectors=0.5).fit(*few)
    numpy = ExtremeValueMachine(
        preset="plain",
        tail_size=np.int32(30),
        pooling=np.float64(0.5),
        n_fused=np.uint8(2),
        max_extreme_vectors=np.float64(0.5),
    ).fit(*few)
    assert plain._model == numpy._model


def test_what_gives_way_to_something_less_is_said(few):
    X, y = few
    first = y != "F"
    narrow = ExtremeValueMachine(preset="plain", tail_memory_limit=64)
    with pytest.warns(FallbackWarning, match="tail_memory_limit = 64 bytes.*updates will not be exact"):
        narrow.fit(X[first], y[first])
    assert narrow.report_["tail_memory"] == narrow._model.tail_memory == "max"
    # It is said once, and not to those who ask for no more.
    narrow.partial_fit(X[~first], y[~first])
    meant = ExtremeValueMachine(preset="plain", tail_memory="max", tail_memory_limit=64).fit(X, y)
    assert meant.report_["tail_memory"] == "max"
    assert ExtremeValueMachine(preset="plain").fit(X, y).report_["tail_memory"] == "full"

    single = [0, 20]
    with pytest.warns(FallbackWarning, match="no class has two rows"):
        alone = ExtremeValueMachine(preset="plain").fit(X[single], ["a", "b"])
    assert alone.calibration_ is None and alone.promise_["basis"] == "nothing"
    np.testing.assert_array_equal(alone.novelty(X) > 0, alone.psi(X) >= 0.05)
    ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X[single], ["a", "b"])
    # A count is asked for, and what is there is used; "auto" asks for nothing.
    with pytest.warns(FallbackWarning, match="tail size exceeds the number of negatives of 6 classes") as caught:
        ExtremeValueMachine(preset="plain", tail_size=5000).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]


def test_data_that_look_wrong_are_said_to(few):
    X, y = few
    with pytest.warns(DataWarning, match="600 of 600 rows are equally far from all their nearest negatives"):
        ExtremeValueMachine(preset="plain").fit(np.ones_like(X), y)
    with pytest.warns(DataWarning, match="more than half of the rows have a class of their own; is y"):
        ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X[:50], np.arange(50))
    for category in (DataWarning, FallbackWarning, PrecisionWarning, RetuneWarning):
        assert issubclass(category, UserWarning)


@pytest.mark.parametrize(("offset", "scale"), [(1.7e9, 1.0), (0.0, 1e-300)])
def test_differences_that_float32_loses_are_said_to_be_lost(few, offset, scale):
    X, y = few[0].astype(np.float64) * scale + offset, few[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, y)
    first = caught[0]
    assert first.category is PrecisionWarning and first.filename == __file__
    assert "column 0, 1, 2, 3, 4 and 11 more differ by less than a float32 can tell" in str(first.message)
    assert DataWarning in {each.category for each in caught}
    assert machine.score(X, y) < 0.5
    names = [f"feature {i}" for i in range(16)]
    one = few[0].astype(np.float64)
    one[:, 3] = X[:, 3]
    with pytest.warns(PrecisionWarning, match="the values of column 'feature 3' differ"):
        machine.fit(pd.DataFrame(one, columns=names), y)
    with pytest.warns(PrecisionWarning):
        ExtremeValueMachineCV(n_trials=1, max_rows=200).fit(one, y)


def test_nothing_is_said_of_differences_that_stay(few):
    X, y = few[0].astype(np.float64), few[1]
    noise = np.random.default_rng(0).normal(size=X.shape)
    for kept in (
        X + 1000.0,
        X * 1e-12,
        X / 3.0,
        np.hstack([X, np.full((600, 1), 0.1)]),
        X + 1e-3 * noise,
        X.astype(int),
    ):
        ExtremeValueMachine(preset="plain").fit(kept, y)
    # Rounding of doubles is no data.
    ExtremeValueMachine(preset="plain").fit(np.hstack([X, 0.1 + 1e-17 * noise]), y)


def test_the_report_is_plain_data(few):
    report = ExtremeValueMachine(preset="plain").fit(*few).report_
    assert json.loads(json.dumps(report)) == report
    assert report["fits"]["converged"] > 0 and report["times"]["tails"] > 0.0
    assert report["tail_sizes"][0] <= report["tail_sizes"][1]


def test_codes_of_no_class_are_refused():
    scores, accepted = np.array([0.5, 0.5]), np.array([True, True])
    for truth, best in ([2, 0], [0, 1]), ([-1, 0], [0, 2]):
        with pytest.raises(ValueError, match="2 is not one of 2 classes"):
            _native.evaluate(np.array(truth), np.array(best), scores, accepted, 2)


def test_a_risk_in_the_cover_leaves_outliers_out():
    rows = np.concatenate([np.arange(20) * 0.1, 9 + np.arange(20) * 0.1])[:, None]
    labels = np.repeat(["low", "high"], 20)
    labels[7] = "high"
    plain = ExtremeValueMachine(preset="plain", tail_size=10).fit(rows, labels)
    assert 7 in plain.extreme_vector_indices_
    risky = ExtremeValueMachine(preset="plain", tail_size=10, cover_risk=1.0).fit(rows, labels)
    assert 7 not in risky.extreme_vector_indices_
    whole = ExtremeValueMachine(preset="plain", tail_size=10, cover_threshold=1.0).fit(rows, labels)
    assert 7 not in whole.reduce(cover_threshold=0.5, cover_risk=1.0).extreme_vector_indices_
    risky.reduce(max_extreme_vectors=1)
    assert len(risky.extreme_vector_indices_) == 2
    with pytest.raises(ValueError, match="cover_risk goes with cover_threshold"):
        plain.reduce(max_extreme_vectors=1, cover_risk=1.0)
    with pytest.raises(ValueError, match="goes with a cover threshold"):
        ExtremeValueMachine(preset="plain", cover_risk=1.0, max_extreme_vectors=5).fit(rows, labels)


def test_a_search_need_not_be_exact():
    rng = np.random.default_rng(3)
    rows = np.repeat(np.arange(6.0), 40)[:, None] + 0.1 * rng.random((240, 2))
    labels = np.repeat(list("abcdef"), 40)
    machine = ExtremeValueMachine(preset="plain", tail_size=10, search="approximate", recall=0.95).fit(rows, labels)
    assert json.loads(machine._model.params)["search"] == {"approximate": 0.95}
    exact = ExtremeValueMachine(preset="plain", tail_size=10).fit(rows, labels)
    assert "search" not in json.loads(exact._model.params)
    # There are few rows.
    np.testing.assert_array_equal(machine.extreme_vector_indices_, exact.extreme_vector_indices_)
    again = ExtremeValueMachine(preset="plain", **_parameters.from_json(machine._model.params))
    assert (again.search, again.recall) == ("approximate", 0.95)
    for wrong, message in [
        ({"search": "near"}, 'search = "near": must be exact, or approximate with a recall'),
        ({"search": "approximate", "recall": 1}, "recall = 1: must be above 0 and below 1"),
        ({"recall": 0.0}, "recall = 0.0: must be above 0 and below 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            ExtremeValueMachine(preset="plain", **wrong).fit(rows, labels)
