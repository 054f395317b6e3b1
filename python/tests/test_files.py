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

from evmachine import ExtremeValueMachine, ExtremeValueMachineCV


@pytest.fixture
def machine(few):
    return ExtremeValueMachine(tail_size=30, n_fused=2, rejection_threshold=0.1).fit(*few)


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
    assert pickle.loads(pickle.dumps(ExtremeValueMachine(pooling=0.5))).pooling == 0.5
    assert not hasattr(clone(machine), "classes_")


def test_save_and_load(machine, strangers, tmp_path):
    path = tmp_path / "m.safetensors"
    machine.save(path)
    other = ExtremeValueMachine.load(path)
    assert other._model == machine._model
    assert other.get_params() == machine.get_params()
    np.testing.assert_array_equal(other.predict(strangers[0]), machine.predict(strangers[0]))
    assert other.n_features_in_ == 16 and not hasattr(other, "feature_names_in_")


def test_integers_come_back_as_integers_and_digits_as_asked(few, tmp_path):
    X, y = few
    path = tmp_path / "m.safetensors"
    numbers = ExtremeValueMachine().fit(X, [ord(label) for label in y])
    numbers.save(path)
    other = ExtremeValueMachine.load(path)
    assert other.classes_.dtype.kind == "i" and other.classes_.tolist() == numbers.classes_.tolist()
    assert ExtremeValueMachine.load(path, label_type=str).classes_.tolist() == [str(c) for c in numbers.classes_]
    assert ExtremeValueMachine.load(path, label_type=float).classes_.dtype.kind == "f"
    digits = ExtremeValueMachine().fit(X, [str(ord(label)) for label in y])
    with pytest.warns(UserWarning, match="load with label_type=str"):
        digits.save(path)
    assert ExtremeValueMachine.load(path, label_type=str).classes_.tolist() == digits.classes_.tolist()
    letters = ExtremeValueMachine().fit(X, y)
    letters.save(path)
    with pytest.raises(ValueError, match="label_type=str"):
        ExtremeValueMachine.load(path, label_type=int)


def test_a_class_called_unknown_can_be_loaded(few, tmp_path):
    X, y = few
    path = tmp_path / "m.safetensors"
    ExtremeValueMachine(unknown_label="?").fit(X, np.where(y == "A", "unknown", y)).save(path)
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
