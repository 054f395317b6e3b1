"""Models on disk and on the wire."""

import copy
import io
import pickle
import pickletools

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from conftest import ROOT
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from evmachine import ExtremeValueMachine, ExtremeValueMachineCV


@pytest.fixture
def machine(few):
    return ExtremeValueMachine(preset="plain", tail_size=30, n_fused=2, rejection_threshold=0.1).fit(*few)


def through_joblib(machine):
    file = io.BytesIO()
    joblib.dump(machine, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(machine):
    content = skops.io.dumps(machine)
    unknown = skops.io.get_untrusted_types(data=content)
    assert unknown == ["evmachine._estimator.ExtremeValueMachine"], "nothing but the estimator asks for trust"
    return skops.io.loads(content, trusted=unknown)


@pytest.mark.parametrize(
    "through",
    [lambda m: pickle.loads(pickle.dumps(m)), through_joblib, through_skops, copy.copy, copy.deepcopy],
    ids=["pickle", "joblib", "skops", "copy", "deepcopy"],
)
def test_a_machine_survives(machine, few, strangers, through):
    other = through(machine)
    assert other._model == machine._model and other.get_params() == machine.get_params()
    np.testing.assert_array_equal(other.predict(strangers[0]), machine.predict(strangers[0]))
    # It goes on learning, and the original does not notice.
    before = machine._model.to_bytes()
    other.partial_fit(strangers[0][:20], ["new"] * 20)
    assert machine._model.to_bytes() == before and "new" not in machine.classes_


def test_pickles_hold_the_bytes_of_the_model_file_and_no_foreign_code(machine, tmp_path):
    machine.save(tmp_path / "m.safetensors")
    content = pickle.dumps(machine)
    assert (tmp_path / "m.safetensors").read_bytes() in content
    # What a pickle may call is what it names.
    called = {arg for op, arg, _ in pickletools.genops(content) if op.name == "SHORT_BINUNICODE" and "_native" in arg}
    assert called == set()


def test_the_tuner_survives_too(few):
    search = ExtremeValueMachineCV(n_trials=2, max_rows=200).fit(*few)
    other = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(other.predict(few[0]), search.predict(few[0]))


def test_unfitted_machines_and_clones(machine):
    assert pickle.loads(pickle.dumps(ExtremeValueMachine(preset="plain", pooling=0.5))).pooling == 0.5
    assert not hasattr(clone(machine), "classes_")


def test_save_and_load(machine, strangers, tmp_path):
    path = tmp_path / "m.safetensors"
    machine.save(path)
    other = ExtremeValueMachine.load(path)
    assert other._model == machine._model
    assert other._library_params() == machine._library_params()
    np.testing.assert_array_equal(other.predict(strangers[0]), machine.predict(strangers[0]))
    assert other.n_features_in_ == 16 and not hasattr(other, "feature_names_in_")


def test_integers_come_back_as_integers_and_digits_as_asked(few, tmp_path):
    X, y = few
    path = tmp_path / "m.safetensors"
    numbers = ExtremeValueMachine(preset="plain").fit(X, [ord(label) for label in y])
    numbers.save(path)
    other = ExtremeValueMachine.load(path)
    assert other.classes_.dtype.kind == "i" and other.classes_.tolist() == numbers.classes_.tolist()
    assert ExtremeValueMachine.load(path, label_type=str).classes_.tolist() == [str(c) for c in numbers.classes_]
    assert ExtremeValueMachine.load(path, label_type=float).classes_.dtype.kind == "f"
    digits = ExtremeValueMachine(preset="plain").fit(X, [str(ord(label)) for label in y])
    digits.save(path)
    assert ExtremeValueMachine.load(path).classes_.tolist() == digits.classes_.tolist()
    asked = ExtremeValueMachine.load(path, label_type=int)
    assert asked.classes_.tolist() == numbers.classes_.tolist()
    asked.save(path)
    assert ExtremeValueMachine.load(path).classes_.tolist() == numbers.classes_.tolist()
    letters = ExtremeValueMachine(preset="plain").fit(X, y)
    letters.save(path)
    for wrong in (int, float, bool):
        with pytest.raises(ValueError, match="label_type=str"):
            ExtremeValueMachine.load(path, label_type=wrong)
    with pytest.raises(ValueError, match="label_type = <class 'list'>: must be str, int, float, bool or None"):
        ExtremeValueMachine.load(path, label_type=list)


def test_the_tuner_is_saved_and_loaded(few, strangers, tmp_path):
    path = tmp_path / "m.safetensors"
    search = ExtremeValueMachineCV(n_trials=2, max_rows=200).fit(pd.DataFrame(few[0]).add_prefix("f"), few[1])
    search.save(path)
    queries = pd.DataFrame(strangers[0]).add_prefix("f")
    assert ExtremeValueMachine.load(path)._model == search.estimator_._model
    other = ExtremeValueMachineCV.load(path)
    assert other.best_params_ == search.best_params_ and other.feature_names_in_.tolist() == [
        f"f{i}" for i in range(16)
    ]
    for method in ("predict", "predict_proba", "predict_known_proba", "novelty"):
        np.testing.assert_array_equal(getattr(other, method)(queries), getattr(search, method)(queries))
    assert other.to_onnx() == search.to_onnx(tmp_path / "m.onnx") == (tmp_path / "m.onnx").read_bytes()
    assert not hasattr(other, "cv_results_")
    with pytest.raises(NotFittedError):
        ExtremeValueMachineCV().save(path)


def test_parameters_of_the_program_are_read(few, tmp_path):
    path = tmp_path / "params.toml"
    path.write_text(
        'metric = "cosine"\nn_fused = 2\nwhitening = 0.25\nstrangers = [0.5, 4.0]\nlogit_weight = "auto"\n'
        'tail_memory = "max"\n\n[tail_size]\nfraction = 0.02\n\n[max_extreme_vectors]\nratio = 0.5\n\n'
        "[rejection_threshold]\nfalse_unknown_per_class = 0.1\n"
    )
    machine = ExtremeValueMachine.from_params_file(path, n_jobs=1, n_fused=3)
    expected = ExtremeValueMachine(
        metric="cosine",
        n_fused=3,
        whitening=0.25,
        strangers=(0.5, 4.0),
        logit_weight="auto",
        tail_memory="max",
        tail_size=0.02,
        max_extreme_vectors=0.5,
        max_false_unknown=0.1,
        per_class=True,
        n_jobs=1,
    )
    assert machine._library_params() == expected._library_params()
    assert machine.fit(*few)._model == expected.fit(*few)._model
    path.write_text("[tail_size]\ncount = 30\n\n[max_extreme_vectors]\ntotal = 40\n")
    machine = ExtremeValueMachine.from_params_file(str(path))
    assert machine.tail_size == 30 and machine.max_extreme_vectors == {"total": 40} and machine.fixed_shape is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pooling = 'much'", 'params.toml: pooling = "much": must be a number'),
        ("tail = 3", 'params.toml: there is no parameter "tail"'),
        ("pooling = ", "params.toml: TOML parse error at line 1, column"),
        ("metric = 3", "params.toml: metric = 3: must be euclidean, cosine or manhattan"),
        ("pooling = 3.5", "pooling = 3.5: must be between 0 and 1"),
    ],
)
def test_bad_files_of_parameters_are_explained(few, text, message, tmp_path):
    path = tmp_path / "params.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachine.from_params_file(path).fit(*few)
    with pytest.raises(FileNotFoundError):
        ExtremeValueMachine.from_params_file(tmp_path / "nowhere")


def test_a_class_called_unknown_can_be_loaded(few, tmp_path):
    X, y = few
    path = tmp_path / "m.safetensors"
    ExtremeValueMachine(preset="plain", unknown_label="?").fit(X, np.where(y == "A", "unknown", y)).save(path)
    with pytest.raises(ValueError, match="unknown_label = 'unknown' is a class"):
        ExtremeValueMachine.load(path)
    assert ExtremeValueMachine.load(path, unknown_label="?").predict(X + 99)[0] == "?"


def test_models_of_the_program_load():
    files = sorted((ROOT / "crates/evmachine/tests/golden").glob("*.safetensors"))
    assert files
    for file in files:
        machine = ExtremeValueMachine.load(file)
        assert len(machine.classes_) >= 2
        # Where the vectors lie among the features; some models know the names of the columns.
        vectors = machine._native_model().feature_vectors
        if hasattr(machine, "feature_names_in_"):
            vectors = pd.DataFrame(vectors, columns=machine.feature_names_in_)
        assert (machine.predict(vectors) == machine.extreme_vector_classes_).mean() > 0.9


def test_bad_files_are_refused(machine, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ExtremeValueMachine.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        machine.save(tmp_path / "nowhere" / "m.safetensors")
    path = tmp_path / "m.safetensors"
    machine.save(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="checksum"):
        ExtremeValueMachine.load(path)
    path.write_bytes(content[:100])
    with pytest.raises(ValueError, match="not a complete safetensors file"):
        ExtremeValueMachine.load(path)
    assert list(tmp_path.iterdir()) == [path], "nothing half-written is left"
