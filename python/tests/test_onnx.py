"""The exported graph, run by onnxruntime: the same labels, and scores within 1e-5."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from evmachine import ExtremeValueMachine, FallbackWarning

TOLERANCE = 1e-5


def run(content, X):
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["label", "probability", "scores", "supports"], {"features": X.astype(np.float32)})


def named(content, machine):
    """What the graph says of itself: columns are in the order of classes_."""
    metadata = {entry.key: entry.value for entry in onnx.load_from_string(content).metadata_props}
    assert metadata["unknown_label"] == str(machine.unknown_label_)
    assert json.loads(metadata["classes"]) == [str(label) for label in machine.classes_]


def agree(machine, X, tolerance=TOLERANCE):
    """The machine's labels as strings, after they were compared."""
    content = machine.to_onnx()
    labels, probability, scores, supports = run(content, X)
    expected = machine.predict(X).astype(str)
    np.testing.assert_array_equal(labels.astype(str), expected)
    named(content, machine)
    assert np.abs(scores - machine.class_scores(X)).max() < tolerance
    assert np.abs(probability - machine.psi(X)).max() < tolerance
    supports_agree(machine, X, supports, expected, 20 * tolerance)
    return expected


def supports_agree(machine, X, supports, said, tolerance):
    """The sign of the largest is the decision, its column the class; the others are the library's."""
    known = supports.max(axis=1) >= 0
    np.testing.assert_array_equal(known, said != str(machine.unknown_label_))
    named = supports[known, np.searchsorted(machine.classes_.astype(str), said[known])]
    np.testing.assert_array_equal(named, supports[known].max(axis=1))
    # At an extreme vector, out of reach, or at an infinite threshold, only the last bits of a distance are left.
    best = machine.score_samples(X)
    near = (best < 100) & (best > -1e5)
    if near.any():
        expected = machine.class_supports(X[near])
        there = expected > -1e5
        np.testing.assert_array_equal(there, supports[near] > -1e5)
        np.testing.assert_allclose(supports[near][there], expected[there], rtol=tolerance, atol=tolerance)


def test_p_values_are_those_of_the_machine(few, strangers):
    for machine in (ExtremeValueMachine(preset="plain").fit(*few), ExtremeValueMachine.robust().fit(*few)):
        X = np.concatenate([few[0][:50], strangers[0]]).astype(np.float32)
        session = onnxruntime.InferenceSession(machine.to_onnx(), providers=["CPUExecutionProvider"])
        found = session.run(["p_value"], {"features": X})[0]
        expected = machine.p_values(X)
        # A score that lies at that of a calibrating row may fall on its other side: one row of 600.
        assert np.abs(found - expected).max() < 2.5 / 600
        assert np.median(np.abs(found - expected)) < 1e-12
    paper = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few)
    assert "p_value" not in {value.name for value in onnx.load_from_string(paper.to_onnx()).graph.output}


@pytest.mark.parametrize("n_fused", [1, 4])
@pytest.mark.parametrize("tail_model", ["weibull", "libmr", "gumbel"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_every_metric_and_tail_model(few, strangers, metric, tail_model, n_fused):
    # As embeddings are: around the origin.
    (X, y), queries = few, strangers[0] - 7.0
    X = X - 7.0
    params = {"metric": metric, "tail_model": tail_model, "n_fused": n_fused, "tail_size": 40}
    machine = ExtremeValueMachine(preset="plain", **params, rejection_threshold=0.05)
    machine.fit(X, y)
    # Classes of one and of two points: fewer than are averaged.
    machine.partial_fit(queries[:3], ["one", "two", "two"])
    sizes = np.unique(machine.extreme_vector_classes_, return_counts=True)[1]
    assert sizes.min() == 1
    said = agree(machine, np.vstack([queries, X]))
    assert len(set(said)) == 9, "all classes and unknown occur"


@pytest.mark.parametrize("n_fused", [1, 3])
def test_contrast(few, strangers, n_fused):
    X = np.vstack([strangers[0], few[0]])
    raised = ExtremeValueMachine(preset="plain", contrast=0.25, n_fused=n_fused, rejection_threshold=0.5).fit(*few)
    plain = ExtremeValueMachine(preset="plain", n_fused=n_fused, rejection_threshold=0.5).fit(*few)
    assert (agree(raised, X) != agree(plain, X)).any()


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_whitening(few, strangers, metric, share):
    X = np.vstack([strangers[0], few[0]])
    white = ExtremeValueMachine(preset="plain", metric=metric, whitening=share, n_fused=2).fit(*few)
    plain = ExtremeValueMachine(preset="plain", metric=metric, n_fused=2).fit(*few)
    assert (agree(white, X, tolerance=5e-5) != agree(plain, X, tolerance=5e-5)).any()


def far_out(X):
    """The rows, and some of them so far away that the model does not reach there."""
    return np.vstack([X, X[:50] * 1e6, X[:50] * 1e9])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize(
    "weights",
    [
        {},
        {"logit_weight": 1.0, "probe_weight": 1.0},
        {"forest_weight": 2.0},
        {"forest_weight": 1.0, "probe_weight": 1.0},
    ],
)
def test_witnesses(few, strangers, metric, weights):
    X = far_out(np.vstack([strangers[0], few[0]]))
    robust = ExtremeValueMachine.robust(metric=metric, **weights).fit(*few)
    alone = ExtremeValueMachine.robust(metric=metric, logit_weight=0.0, probe_weight=0.0, forest_weight=0.0).fit(*few)
    assert (agree(robust, X, tolerance=5e-5) != agree(alone, X, tolerance=5e-5)).any()


@pytest.mark.parametrize("preset", [ExtremeValueMachine, ExtremeValueMachine.robust])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_standardize(few, strangers, metric, preset):
    scale = np.geomspace(0.1, 100.0, few[0].shape[1], dtype=np.float32)
    X = far_out(np.vstack([strangers[0], few[0]]) * scale)
    machine = preset(metric=metric, standardize=True).fit(few[0] * scale, few[1])
    agree(machine, X, tolerance=5e-5)


@pytest.mark.parametrize("params", [{}, {"contrast": 0.25}, {"n_fused": 3}])
def test_background(few, strangers, params):
    X = far_out(np.vstack([strangers[0], few[0]]))
    raised = ExtremeValueMachine(preset="plain", background=0.5, **params).fit(*few)
    plain = ExtremeValueMachine(preset="plain", **params).fit(*few)
    assert (agree(raised, X) != agree(plain, X)).any()


def test_directions_close_together(few, strangers):
    """Just above 1/64 the library's own cosine distances are rounded to some 5e-6 of themselves."""
    agree(ExtremeValueMachine(preset="plain", metric="cosine").fit(*few), strangers[0], tolerance=5e-5)


@pytest.mark.parametrize("tail_model", ["weibull", "libmr", "gumbel"])
@pytest.mark.parametrize("params", [{"pooling": 0.6}, {"pooling": 1.0}, {"smoothing": 0.8, "cover_threshold": 1.0}])
def test_pooling_and_smoothing(few, strangers, tail_model, params):
    # At thresholds far below this, two classes may be alike to the last bits of a distance.
    params = {"tail_model": tail_model, "n_fused": 2, "rejection_threshold": 0.05, **params}
    agree(ExtremeValueMachine(preset="plain", **params).fit(*few), strangers[0])


@pytest.mark.parametrize("tail_model", ["weibull", "libmr", "gumbel"])
@pytest.mark.parametrize("n_fused", [1, 3])
def test_far_out_where_psi_has_underflowed(few, tail_model, n_fused):
    X, y = few
    machine = ExtremeValueMachine(preset="plain", tail_model=tail_model, n_fused=n_fused, rejection_threshold=0.0).fit(
        X, y
    )
    for factor in (3, 30, 1000):
        far = X[:100] + factor * (X[:100] - X.mean(axis=0))
        agree(machine, far)
    assert (machine.psi(far) < 1e-100).all()


@pytest.mark.filterwarnings("ignore::evmachine.DataWarning")
def test_the_same_vector_under_two_labels(few):
    X, y = few
    X = np.vstack([X, X[:30], X[:30]])
    y = np.concatenate([y, np.full(60, "twin")])
    for tail_model in ("weibull", "libmr", "gumbel"):
        machine = ExtremeValueMachine(preset="plain", tail_model=tail_model, tail_size=2, cover_threshold=1.0).fit(X, y)
        assert {"all margins zero", "converged"} <= set(machine.fit_status_)
        content = machine.to_onnx()
        scores = run(content, X)[2]
        assert np.abs(scores - machine.class_scores(X)).max() < TOLERANCE


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_features_far_from_the_origin(few, strangers, offset):
    agree(ExtremeValueMachine(preset="plain").fit(few[0] + offset, few[1]), strangers[0] + offset)


@pytest.mark.parametrize("delta", [0.0, 1e-12, 0.5, 0.999, 1.0])
def test_every_delta(few, strangers, delta):
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=delta).fit(*few)
    said = agree(machine, strangers[0])
    assert (said == "unknown").any() == (delta > 0)


def test_numbers_as_labels_files_and_names(few, strangers, tmp_path):
    X, y = few
    machine = ExtremeValueMachine(preset="plain").fit(X, [ord(label) for label in y])
    assert "-1" in agree(machine, strangers[0])
    content = machine.to_onnx(tmp_path / "m.onnx", unknown_label="nobody")
    assert (tmp_path / "m.onnx").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
    assert "nobody" in run(content, strangers[0])[0]
    with pytest.raises(ValueError, match='the label of unknowns "65" is a class'):
        machine.to_onnx(unknown_label="65")


def test_what_the_machine_refuses_is_unknown(few):
    machine = ExtremeValueMachine(preset="plain", metric="cosine").fit(*few)
    X = few[0][:3].copy()
    X[1], X[2, 0] = 0.0, np.nan
    labels, probability, _, supports = run(machine.to_onnx(), X)
    assert labels.tolist() == [few[1][0], "unknown", "unknown"]
    assert np.isnan(probability[1:]).all() and np.isnan(supports[1:]).all()


def test_no_rows_at_all(few):
    machine = ExtremeValueMachine(preset="plain").fit(*few)
    labels, _, scores, supports = run(machine.to_onnx(), few[0][:0])
    assert labels.shape == (0,) and scores.shape == supports.shape == (0, 6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("preset", [ExtremeValueMachine, ExtremeValueMachine.robust])
def test_ignored_samples(few, strangers, metric, preset):
    machine = preset(metric=metric).fit(*few, ignored=strangers[0][:100])
    plain = preset(metric=metric).fit(*few)
    X = far_out(np.vstack([strangers[0], few[0]]))
    said = agree(machine, X, tolerance=5e-5)
    assert (said[:100] == "unknown").all() and (agree(plain, X, tolerance=5e-5) != said).any()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("preset", [ExtremeValueMachine, ExtremeValueMachine.robust])
def test_rows_that_are_not_of_a_class(few, strangers, metric, preset):
    machine = preset(metric=metric).fit(*few)
    own = few[0][few[1] == "A"][:30]
    machine.not_class(own, "A")
    machine.not_class(own[:5], "B")
    X = far_out(np.vstack([own, strangers[0], few[0]]))
    said = agree(machine, X, tolerance=5e-5)
    assert "A" not in said[:30] and "B" not in said[:5]


@pytest.mark.parametrize("fill", ["mean", "median", "zero"])
@pytest.mark.parametrize("params", [{}, {"standardize": True}, {"metric": "cosine"}])
def test_missing_values(few, strangers, fill, params):
    holes = np.vstack([strangers[0], few[0]])
    holes[np.random.default_rng(3).random(holes.shape) < 0.1] = np.nan
    machine = ExtremeValueMachine(preset="plain", fill=fill, **params).fit(holes[300:], few[1])
    assert len(set(agree(machine, holes, tolerance=5e-5))) == 7


@pytest.mark.parametrize("preset", [ExtremeValueMachine, ExtremeValueMachine.robust])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_one_class(few, strangers, metric, preset):
    own = few[0][few[1] == "A"]
    with pytest.warns(FallbackWarning, match="there is one class"):
        machine = preset(metric=metric).fit(own, ["A"] * len(own))
    X = far_out(np.vstack([strangers[0], few[0]]))
    assert set(agree(machine, X, tolerance=5e-5)) == {"A", "unknown"}


def test_corrected_models(few, strangers):
    machine = ExtremeValueMachine(preset="plain", cover_threshold=1.0).fit(*few)
    machine.merge_classes("B", into="A")
    machine.relabel("new", rows=range(1, 30))
    machine.set_aside(rows=range(100, 110))
    assert "new" in agree(machine, np.vstack([strangers[0], few[0]]))


def test_every_class_has_its_threshold(few, strangers):
    machine = ExtremeValueMachine(preset="plain", max_false_unknown=0.3, per_class=True).fit(*few)
    assert len(set(machine._model.thresholds)) == 6
    agree(machine, strangers[0])


def test_a_threshold_that_was_moved(few, strangers):
    machine = ExtremeValueMachine(preset="plain").fit(*few)
    plain = run(machine.to_onnx(), strangers[0])[3]
    moved = run(machine.set_rejection(support=1.5).to_onnx(), strangers[0])[3]
    np.testing.assert_allclose(moved, plain - 1.5, rtol=0, atol=1e-9)
    agree(machine, strangers[0])


def test_columns_follow_the_classes_however_they_were_learned(few, strangers):
    X, y = few
    late = np.isin(y, ["D", "E", "F"])
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X[late], y[late])
    machine.partial_fit(X[~late], y[~late])
    assert machine._model.class_names[0] in "DEF" and machine.classes_.tolist() == list("ABCDEF")
    agree(machine, strangers[0])
