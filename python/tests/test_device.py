"""Where the work is done, and tensors that lie elsewhere. Where there is a device, it is held against the processor."""

import ctypes
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from evmachine import ExtremeValueMachine, ExtremeValueMachineCV, _inputs, _native


def test_a_device_that_was_named_works_or_is_an_error(few, strangers):
    X, y = few
    expected = ExtremeValueMachine(preset="plain").fit(X, y)
    name, missing = _native.device_name("auto")
    machine = ExtremeValueMachine(preset="plain", device="cuda")
    if missing is None:
        machine.fit(X, y)
        assert machine.report_["device"] == name
        np.testing.assert_array_equal(machine.predict(strangers[0]), expected.predict(strangers[0]))
        np.testing.assert_allclose(machine.predict_proba(X), expected.predict_proba(X), atol=1e-4)
    else:
        with pytest.raises(RuntimeError, match='device = "cuda": .*(not found; install|there is no cuda:0)'):
            machine.fit(X, y)
        with pytest.raises(RuntimeError, match='device = "cuda:7"'):
            expected.set_params(device="cuda:7").predict(X)
        assert name == "cpu"
    with pytest.raises(RuntimeError, match='device = "cuda:99"'):
        ExtremeValueMachine(preset="plain", device="cuda:99").fit(X, y)


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "", None, 0])
def test_other_names_are_refused(few, name):
    with pytest.raises(ValueError, match='must be "cpu", "cuda", "cuda:N" for the device of that number, or "auto"'):
        ExtremeValueMachine(preset="plain", device=name).fit(*few)


def test_auto_takes_what_there_is_and_says_so(few, capsys):
    X, y = few
    expected = ExtremeValueMachine(preset="plain").fit(X, y)
    assert expected.report_["device"] == "cpu"
    machine = ExtremeValueMachine(preset="plain", device="auto", verbose=1).fit(X, y)
    said = capsys.readouterr().err
    name, missing = _native.device_name("auto")
    assert said.strip() == (f"on {name}" if missing is None else f"on the processor: {missing}")
    assert machine.report_["device"] == name
    # So little is never worth sending.
    assert machine._model == expected._model
    np.testing.assert_array_equal(machine.class_scores(X), expected.class_scores(X))


def test_it_is_a_parameter_and_no_part_of_a_model(few, tmp_path):
    X, y = few
    machine = ExtremeValueMachine(preset="plain", device="auto")
    assert clone(machine).get_params()["device"] == "auto"
    machine.fit(X, y)
    assert pickle.loads(pickle.dumps(machine)).device == "auto"
    machine.save(tmp_path / "auto")
    ExtremeValueMachine(preset="plain").fit(X, y).save(tmp_path / "cpu")
    assert (tmp_path / "auto").read_bytes() == (tmp_path / "cpu").read_bytes()
    assert ExtremeValueMachine.load(tmp_path / "auto").device == "cpu"
    search = ExtremeValueMachineCV(device="auto", n_trials=2, cv=2).fit(X, y)
    assert search.estimator_.device == "auto"


def through_capsule(array):
    class Bare:
        def __dlpack__(self, **_):
            return array.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    return _inputs._read(Bare())


def test_tensors_of_any_layout_are_read():
    whole = np.arange(7 * 6, dtype=np.float32).reshape(7, 6)
    layouts = [
        whole,
        whole.T,
        whole[2:5, 1:4],
        whole[::3, ::2],
        whole[::-1],
        whole[::-2, ::-1],
        whole[:0],
        whole[0],
        np.lib.stride_tricks.as_strided(whole[0], (3, 6), (0, 4)),
        *(whole.astype(kind) for kind in ("f2", "f8", "i1", "i8", "u4", "?")),
    ]
    for layout in layouts:
        found = through_capsule(layout)
        assert found.dtype == layout.dtype
        np.testing.assert_array_equal(found, layout)


class _Tensor(ctypes.Structure):
    """``DLManagedTensor`` of DLPack."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Raw:
    """A matrix of 16-bit numbers behind DLPack, of a kind that numpy has not."""

    def __init__(self, values, code, device=1):
        self.values, self.shape = values, (ctypes.c_int64 * 2)(*values.shape)
        self.tensor = _Tensor(values.ctypes.data - 2, (device, 0), 2, code, 16, 1, self.shape, None, 2, None, None)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (self.tensor.device[0], 0)


def test_a_bfloat16_is_the_upper_half_of_a_float32(few):
    X, y = few
    values = np.array([[1.5, -2.0, 3.0e38, 1e-40], [0.0, -0.0, np.inf, 7.0]], dtype=np.float32)
    halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(_inputs.numbers(Raw(halves, 4)), (halves.astype(np.uint32) << 16).view(np.float32))
    # Whole numbers to 15 lose nothing.
    small = (X.view(np.uint32) >> 16).astype(np.uint16)
    assert (
        ExtremeValueMachine(preset="plain").fit(Raw(small, 4), y)._model
        == ExtremeValueMachine(preset="plain").fit(X, y)._model
    )
    with pytest.raises(ValueError, match="a Raw of something else than numbers"):
        _inputs.numbers(Raw(halves, 5))
    with pytest.raises(ValueError, match="a Raw that cannot be read .*kind 8 of DLPack"):
        _inputs.numbers(Raw(halves, 4, device=8))


class Foreign:
    """An array of a library of its own, on a device of its own."""

    device = "there"

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __dlpack__(self, **_):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def __array_namespace__(self):
        return Foreign

    @staticmethod
    def asarray(values, device):
        return ("on", device, values)


def test_answers_are_where_the_queries_are_if_scikit_learn_is_to_dispatch(few):
    X, y = few
    codes = np.array([ord(label) for label in y])
    machine, named = ExtremeValueMachine(preset="plain").fit(X, codes), ExtremeValueMachine(preset="plain").fit(X, y)
    queries = Foreign(X)
    assert isinstance(machine.predict_proba(queries), np.ndarray)
    with sklearn.config_context(array_api_dispatch=True):
        for name in ("predict", "predict_proba", "predict_class_proba", "predict_known_proba", "p_values"):
            on, device, found = getattr(machine, name)(queries)
            assert (on, device) == ("on", "there")
            np.testing.assert_array_equal(found, getattr(machine, name)(X))
        for name in ("class_scores", "score_samples", "novelty"):
            np.testing.assert_array_equal(getattr(machine, name)(queries)[2], getattr(machine, name)(X))
        # There are arrays of text in numpy alone.
        assert named.predict(queries).tolist() == named.predict(X).tolist()
        assert ExtremeValueMachine(preset="plain").fit(X, codes).score(X, codes) == machine.score(X, codes)
