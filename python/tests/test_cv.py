"""The tuner, and both estimators inside scikit-learn's own tools."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evmachine import ExtremeValueMachine, ExtremeValueMachineCV, FallbackWarning, _native, _parameters
from evmachine.metrics import open_set_report

SPACE = {
    "whitening": [0.0, 0.5],
    "smoothing": [(0.0, 10), (0.5, 5)],
    "tail_size": [0.02, 0.1],
    "pooling": [0.0, 0.5],
    "n_fused": [1],
}


@pytest.fixture(scope="module")
def search(few):
    space = {**SPACE, "tail_model": ["weibull"], "distance_multiplier": [0.5]}
    return ExtremeValueMachineCV(space=space, search="grid").fit(*few)


def test_the_search_is_that_of_the_library(search, few):
    results = search.cv_results_
    assert len(results["params"]) == len(results["mean_test_score"]) == 16
    assert {tuple(sorted(params)) for params in results["params"]} == {tuple(sorted(_parameters.DEFAULTS))}
    found, preset, lead = results["mean_test_score"].max(), search.references_["robust"], search.lead_
    assert lead is not None and lead["mean"] == pytest.approx(found - preset)
    best = found if lead["mean"] >= lead["counts_from"] else preset
    assert search.best_score_ >= best - results["standard_error"].max()
    assert {"paper", "robust", "1-NN", "nearest class mean", "logistic regression, energy"} <= set(search.references_)
    assert 0.5 < search.at_delta_["f1_micro"] <= 1.0
    assert all(line["vector_ratio"] < 1.0 for line in search.sizes_)
    machine = ExtremeValueMachine(preset="plain", **search.best_params_).fit(*few)
    assert machine._model == search.estimator_._model
    rule = json.loads(search._native_model().params)["rejection_threshold"]
    assert rule == {"false_unknown": search.best_params_["max_false_unknown"]}
    assert search.best_params_["rejection_threshold"] is None
    strangers = search.best_params_["strangers"]
    assert strangers != _parameters.DEFAULTS["strangers"] and search.estimator_.strangers == strangers


def test_it_answers_as_its_machine_does(search, strangers):
    X, y = strangers
    for method in ("predict", "predict_proba", "class_scores", "score_samples", "novelty"):
        np.testing.assert_array_equal(getattr(search, method)(X), getattr(search.estimator_, method)(X))
    assert search.explain(X[:2]) == search.estimator_.explain(X[:2])
    report = open_set_report(search, X, y)
    assert report["auroc"] > 0.92 and report["unknown_accuracy"] > 0.4 and report["known_accuracy"] > 0.85


def test_the_same_seed_finds_the_same_on_any_number_of_threads(few):
    found = [
        ExtremeValueMachineCV(n_trials=6, max_rows=300, random_state=4, n_jobs=n_jobs).fit(*few) for n_jobs in (1, 2)
    ]
    assert found[0].best_params_ == found[1].best_params_
    other = ExtremeValueMachineCV(n_trials=6, max_rows=300, random_state=5).fit(*few)
    assert other.cv_results_["params"] != found[0].cv_results_["params"]


def test_limits_are_kept_to(few):
    limited = ExtremeValueMachineCV(n_trials=3, max_rows=300, max_extreme_vectors=0.1).fit(*few)
    assert len(limited.estimator_.extreme_vectors_) == 60 and limited.sizes_ == []
    lenient = ExtremeValueMachineCV(n_trials=3, max_rows=300, max_false_unknown=0.02).fit(*few)
    assert lenient.at_delta_["known_accuracy"] > 0.9 and lenient.best_params_["max_false_unknown"] == 0.02
    with pytest.warns(FallbackWarning, match="10 % of unknown accepted is an estimate from classes left out") as caught:
        strict = ExtremeValueMachineCV(n_trials=3, max_rows=300, max_false_known=0.1).fit(*few)
    assert caught[0].filename == __file__
    assert strict.best_params_["max_false_known"] == 0.1 and strict.at_delta_["unknown_accuracy"] > 0.8
    small = ExtremeValueMachineCV(n_trials=3, max_rows=300, max_size=0.2).fit(*few)
    assert small.estimator_.vector_ratio_ <= 0.25
    whole = ExtremeValueMachineCV(n_trials=3, max_rows=300, shrink=False).fit(*few)
    assert whole.sizes_ == [] and whole.estimator_.vector_ratio_ == 1.0


def test_the_space_has_metrics_columns_and_weights(few):
    X, y = few
    measures = {"metric": ["cosine"], "standardize": [False]}
    space = {**SPACE, **measures, "background": [0.0], "weights": [(0.0, 0.0, 0.0)], "contrast": [0.0]}
    found = ExtremeValueMachineCV(space=space, n_trials=2, max_rows=200).fit(X, y)
    for params in found.cv_results_["params"]:
        assert (params["metric"], params["standardize"]) == ("cosine", False)
        assert (params["logit_weight"], params["probe_weight"], params["background"]) == (0.0, 0.0, 0.0)
    space["weights"] = [("auto", 3.0, 0.0)]
    heard = ExtremeValueMachineCV(space=space, n_trials=2, max_rows=200).fit(X, y)
    assert all(params["probe_weight"] == 3.0 for params in heard.cv_results_["params"])
    assert all(params["logit_weight"] == "auto" for params in heard.cv_results_["params"])
    # A row of zeros has no direction.
    zero = np.vstack([X, np.zeros((1, 16), dtype=np.float32)])
    assert ExtremeValueMachineCV(n_trials=1, max_rows=200).fit(zero, [*y, "A"]).best_params_["metric"] == "euclidean"
    for metric in ("manhattan", "euclidean"):
        assert ExtremeValueMachineCV(n_trials=1, max_rows=200, metric=metric).fit(X, y).best_params_["metric"] == metric


def test_delta_by_the_papers_formula(few):
    deltas = [
        ExtremeValueMachineCV(n_trials=2, max_rows=300, unknown_classes=count).fit(*few).best_params_
        for count in (1, 20)
    ]
    assert deltas[0]["rejection_threshold"] < deltas[1]["rejection_threshold"]


def test_two_classes_are_trained_with_the_default_parameters(few):
    X, y = few
    rows = np.isin(y, ["A", "B"])
    with pytest.warns(UserWarning, match="two classes are too few"):
        search = ExtremeValueMachineCV(metric="manhattan").fit(X[rows], y[rows])
    assert search.best_params_ == _parameters.of_preset("robust", {"metric": "manhattan"})
    assert np.isnan(search.best_score_) and search.cv_results_["params"] == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"space": "wide"}, 'space = "wide": must be "full", "paper" or a dict'),
        ({"space": None}, "space = None: must be"),
        ({"space": {"tail": [1]}}, 'space has "tail"; it takes whitening, smoothing'),
        ({"space": {"pooling": 0.5}}, 'space\\["pooling"\\]'),
        ({"space": {"pooling": []}}, "the space to search is empty"),
        ({"space": {"pooling": [3.0]}}, "pooling = 3: must be between 0 and 1"),
        ({"search": "random"}, "search = .*must be grid or bayesian"),
        ({"objective": "recall"}, "objective = .*must be oscr"),
        ({"objective": "accuracy"}, "needs max_false_unknown"),
        ({"max_false_unknown": float("nan")}, "max_false_unknown = nan"),
        ({"max_false_unknown": 1.5}, "max_false_unknown = 1.5"),
        ({"max_false_unknown": 0.1, "unknown_classes": 3}, "rejection is set by one of max_false_unknown"),
        ({"max_false_unknown": 0.1, "max_false_known": 0.1}, "rejection is set by one of max_false_unknown"),
        ({"max_false_known": -0.1}, "max_false_known = -0.1: must be at least 0"),
        ({"max_size": 2.0}, "max_size = 2: must be above 0 and at most 1"),
        ({"max_size": "small"}, 'max_size = "small": must be above 0'),
        ({"space": {"metric": ["chebyshev"]}}, "metric"),
        ({"space": {"metric": ["cosine", "chebyshev"]}}, 'space\\["metric"\\] has "chebyshev"'),
        ({"space": {"weights": [1.0]}}, 'space\\["weights"\\]'),
        ({"space": {"weights": [("much", 1.0)]}}, 'must be "auto" or a number'),
        ({"unknown_classes": -3}, "unknown_classes = -3"),
        ({"cv": 1}, "at least 2 are needed"),
        ({"cv": 5}, "5 folds"),
        ({"n_trials": -1}, "n_trials = -1"),
        ({"random_state": None}, "random_state = None: must be an integer"),
        ({"metric": "chebyshev"}, "metric"),
        ({"n_jobs": 0}, "n_jobs = 0"),
    ],
)
def test_bad_options_are_named(few, params, message):
    X, y = few
    rows = np.isin(y, ["A", "B", "C"])
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachineCV(**params).fit(X[rows], y[rows])


def test_known_unknowns_are_met_in_every_fold(few, strangers):
    unknowns = strangers[0][~np.isin(strangers[1], list("ABCDEF"))]
    options = {"n_trials": 2, "max_rows": 200}
    plain = ExtremeValueMachineCV(**options).fit(*few)
    search = ExtremeValueMachineCV(**options).fit(*few, unknowns=unknowns)
    assert search.at_delta_["unknown"] > plain.at_delta_["unknown"]
    assert search.best_params_["strangers"] != plain.best_params_["strangers"]
    framed = ExtremeValueMachineCV(**options).fit(*few, unknowns=pd.DataFrame({"v": list(unknowns)})["v"])
    assert framed.best_params_ == search.best_params_
    with pytest.raises(ValueError, match="15 features, but .* 16"):
        ExtremeValueMachineCV(**options).fit(*few, unknowns=unknowns[:, :15])
    bad = unknowns.copy()
    bad[3, 5] = np.nan
    with pytest.raises(ValueError, match="row 3, column 5: NaN"):
        ExtremeValueMachineCV(**options).fit(*few, unknowns=bad)


def test_what_wrappers_of_scikit_learn_make_of_unknowns(few):
    """They choose the class of largest probability: none of them rejects, and the rows say so by being even."""
    X, y = few
    far = X[:5] + 1000
    machine = ExtremeValueMachine(preset="plain", n_jobs=1)
    assert machine.fit(X, y).predict(far).tolist() == ["unknown"] * 5
    soft = VotingClassifier([("a", machine), ("b", clone(machine))], voting="soft").fit(X, y)
    bagged = BaggingClassifier(machine, n_estimators=3, random_state=0).fit(X, y)
    for wrapper in (soft, bagged):
        assert set(wrapper.predict(far)) <= set("ABCDEF")
        assert wrapper.predict_proba(far).max() < 0.4
        assert wrapper.predict_proba(X).max(axis=1).mean() > 0.6
        assert np.mean(wrapper.predict(X) == y) > 0.9
    calibrated = CalibratedClassifierCV(machine, cv=3).fit(X, y)
    assert set(calibrated.predict(far)) <= set("ABCDEF") and np.mean(calibrated.predict(X) == y) > 0.9
    hard = VotingClassifier([("a", machine), ("b", clone(machine))], voting="hard").fit(X, y)
    with pytest.raises(ValueError, match="negative"):
        hard.predict(far)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_over_a_pipeline(few, n_jobs):
    pipeline = make_pipeline(StandardScaler(), PCA(8, svd_solver="full"), ExtremeValueMachine(preset="plain", n_jobs=1))
    grid = {"extremevaluemachine__distance_multiplier": [0.5, 0.7], "extremevaluemachine__tail_size": [20, 0.1]}
    found = GridSearchCV(pipeline, grid, cv=3, n_jobs=n_jobs, error_score="raise").fit(*few)
    assert found.best_score_ > 0.6
    assert found.predict(few[0][:5]).shape == (5,)


def test_the_tuner_in_a_pipeline_and_in_a_grid(few):
    search = ExtremeValueMachineCV(n_trials=2, max_rows=200)
    assert cross_val_score(make_pipeline(StandardScaler(), search), *few, cv=2, error_score="raise").min() > 0.6
    found = GridSearchCV(search, {"metric": ["euclidean", "cosine"]}, cv=2, error_score="raise").fit(*few)
    assert found.best_params_["metric"] in ("euclidean", "cosine")


def test_options_left_out_are_the_librarys_own(few):
    """Sixty trials over the full space, two metrics: what `evmachine tune` does without flags."""
    defaults = ExtremeValueMachineCV().get_params()
    assert (defaults["n_trials"], defaults["max_rows"], defaults["random_state"]) == (60, 8000, 1)
    assert (defaults["metric"], defaults["cv"], defaults["max_size"]) == ("auto", None, None)
    assert _native.tune.__text_signature__ is not None
