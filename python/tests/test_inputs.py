"""What comes in: numpy, pandas, polars, any layout, and nothing copied that need not be."""

import subprocess
import sys
import types

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from evmachine import ExtremeValueMachine, _learning, _native


def test_every_layout_gives_the_same_model(few):
    X, y = few
    expected = ExtremeValueMachine(preset="plain").fit(X, y)
    frozen = X.copy()
    frozen.flags.writeable = False
    wide = np.zeros((600, 32), dtype=np.float32)
    wide[:, ::2] = X
    layouts = {
        "float64": X.astype(np.float64),
        "float16": X.astype(np.float16),
        "int": X.astype(int),
        "fortran": np.asfortranarray(X),
        "read-only": frozen,
        "strided": wide[:, ::2],
        "reversed": X[::-1][::-1],
        "list": X.tolist(),
        "big-endian": X.astype(">f4"),
        "pandas": pd.DataFrame(X),
    }
    for name, layout in layouts.items():
        machine = ExtremeValueMachine(preset="plain").fit(layout, y)
        assert machine._model == expected._model, name
        np.testing.assert_array_equal(machine.predict(layout), expected.predict(X), err_msg=name)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_names_of_columns_are_kept_and_checked(few, frame, tmp_path):
    X, y = few
    names = [f"feature {i}" for i in range(16)]
    data = frame(X, columns=names)
    machine = ExtremeValueMachine(preset="plain").fit(data, y)
    assert machine.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(machine.predict(data), y)
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(frame(X, columns=names[::-1]))
    machine.save(tmp_path / "m.safetensors")
    assert ExtremeValueMachine.load(tmp_path / "m.safetensors").feature_names_in_.tolist() == names
    with pytest.warns(UserWarning, match="valid feature names"):
        machine.predict(X)


def test_labels_may_be_series(few):
    X, y = few
    for labels in (pd.Series(y), pd.Series(y, dtype="category"), pl.Series(y)):
        machine = ExtremeValueMachine(preset="plain").fit(X, labels)
        np.testing.assert_array_equal(machine.predict(X), y)


def as_arrow(X):
    return pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])


COLUMNS = {
    "pandas, arrays": lambda X: pd.DataFrame({"embedding": list(X)}),
    "pandas, lists": lambda X: pd.DataFrame({"embedding": X.tolist()}),
    "pandas, Arrow lists": lambda X: pd.DataFrame(
        {"embedding": pd.Series(pa.array(X.tolist()), dtype=pd.ArrowDtype(pa.list_(pa.float64())))}
    ),
    "pandas, Arrow vectors": lambda X: pd.DataFrame(
        {"embedding": pd.Series(as_arrow(X), dtype=pd.ArrowDtype(as_arrow(X).type))}
    ),
    "polars, lists": lambda X: pl.DataFrame({"embedding": X.tolist()}),
    "polars, vectors": lambda X: pl.DataFrame({"embedding": X}),
    "Arrow, lists": lambda X: pa.table({"embedding": pa.array(X.tolist())}),
    "Arrow, vectors": lambda X: pa.table({"embedding": as_arrow(X)}),
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS.keys())
def test_a_column_of_lists_is_a_matrix(few, make, tmp_path):
    X, y = few
    expected = ExtremeValueMachine(preset="plain").fit(X, y)
    frame = make(X)
    machine = ExtremeValueMachine(preset="plain").fit(frame, y)
    np.testing.assert_array_equal(machine.extreme_vectors_, expected.extreme_vectors_)
    np.testing.assert_array_equal(machine.predict(frame), expected.predict(X))
    # As the program names them.
    assert machine.feature_names_in_.tolist() == [f"embedding_{i}" for i in range(16)]
    machine.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        ExtremeValueMachine.load(tmp_path / "m.safetensors").predict(frame), expected.predict(X)
    )
    # A series has no names of columns, as an array has none.
    single = ExtremeValueMachine(preset="plain").fit(frame["embedding"], y)
    assert single._model == expected._model
    np.testing.assert_array_equal(single.predict(frame["embedding"]), expected.predict(X))


def test_arrays_of_arrays_and_tables_come_in(few):
    X, y = few
    expected = ExtremeValueMachine(preset="plain").fit(X, y)
    rows = np.empty(len(X), dtype=object)
    rows[:] = list(X)
    assert ExtremeValueMachine(preset="plain").fit(rows, y)._model == expected._model
    table = pa.table({f"f{i}": X[:, i] for i in range(16)})
    machine = ExtremeValueMachine(preset="plain").fit(table, y)
    np.testing.assert_array_equal(machine.predict(table), expected.predict(X))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[0.0, 1.0], [0.0], [1.0, 2.0]], "row 1 of column 'v' has 1 numbers, row 0 has 2"),
        ([[0.0, 1.0], None, [1.0, 2.0]], "row 1 of column 'v' has no list, but None"),
        ([[0.0, 1.0], ["a", "b"], [1.0, 2.0]], "row 1 of column 'v' holds something else than numbers"),
        ([[], [], []], "column 'v' holds no numbers"),
        ([[0.0, 1.0], [0.0, np.nan], [1.0, 2.0]], "row 1, column 1: NaN"),
    ],
)
def test_bad_lists_are_named(cells, message):
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachine(preset="plain").fit(pd.DataFrame({"v": cells}), ["a", "b", "b"])
    beside = pd.DataFrame({"id": [1, 2, 3], "v": [[0.0, 1.0]] * 3})
    with pytest.raises(ValueError, match=r"column 'v' holds lists, and column 'id' stands beside it.*X\[\['v'\]\]"):
        ExtremeValueMachine(preset="plain").fit(beside, ["a", "b", "b"])


class Tensor:
    """As a tensor of torch behaves: no array while it wants gradients, lies on a device, or is a bfloat16."""

    def __init__(self, values, dtype="torch.float32", grad=False, device="cpu"):
        self.values, self.dtype, self.grad, self.device = values, dtype, grad, device

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __len__(self):
        return len(self.values)

    @property
    def shape(self):
        return self.values.shape

    def detach(self):
        return Tensor(self.values, self.dtype, False, self.device)

    def cpu(self):
        return Tensor(self.values, self.dtype, self.grad, "cpu")

    def float(self):
        return Tensor(self.values.astype(np.float32), "torch.float32", self.grad, self.device)

    def numpy(self):
        if self.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


class Capsule:
    """Nothing but DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **_):
        if isinstance(self.values, str):
            raise BufferError(self.values)
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_tensors_come_in(few):
    X, y = few
    codes = np.array([ord(label) for label in y])
    expected = ExtremeValueMachine(preset="plain").fit(X, codes)
    brain = X.astype(ml_dtypes.bfloat16)
    tensors = {
        "plain": Tensor(X),
        "gradients": Tensor(X, grad=True),
        "device": Tensor(X, device="cuda"),
        "bfloat16": Tensor(brain, "torch.bfloat16", grad=True),
        "numpy bfloat16": brain,
        "DLPack": Capsule(X),
    }
    for name, tensor in tensors.items():
        machine = ExtremeValueMachine(preset="plain").fit(tensor, Tensor(codes, "torch.int64"))
        assert machine._model == expected._model, name
        np.testing.assert_array_equal(machine.predict(tensor), expected.predict(X), err_msg=name)
    with pytest.raises(ValueError, match="a Capsule that cannot be read .on a device.; copy it to a numpy array"):
        expected.predict(Capsule("on a device"))


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_is_refused_by_name(few, kind):
    X, y = few
    with pytest.raises(TypeError, match="[Ss]parse data was passed.*dense data is required"):
        ExtremeValueMachine(preset="plain").fit(kind(X), y)
    with pytest.raises(TypeError, match="[Ss]parse"):
        ExtremeValueMachine(preset="plain").fit(X, y).predict(kind(X))


def test_bad_values_are_named(few):
    X, y = few
    for value, shown in ((np.nan, "NaN"), (np.inf, "inf"), (1e300, "inf")):
        bad = X.astype(np.float64)
        bad[17, 3] = value
        with pytest.raises(ValueError, match=f"row 17, column 3: {shown}"):
            ExtremeValueMachine(preset="plain").fit(bad, y)
        with pytest.raises(ValueError, match=f"row 17, column 3: {shown}"):
            ExtremeValueMachine(preset="plain").fit(X, y).predict(bad)
    zero = X.copy()
    zero[5] = 0
    with pytest.raises(ValueError, match="row 5 is all zeros"):
        ExtremeValueMachine(preset="plain", metric="cosine").fit(zero, y)
    with pytest.raises(ValueError, match="15 features, but .* 16"):
        ExtremeValueMachine(preset="plain").fit(X, y).predict(X[:, :15])


def test_a_contiguous_float32_array_reaches_the_library_itself(few, monkeypatch):
    X, y = few
    seen = []

    class Model:
        @staticmethod
        def fit(params, features, *rest):
            seen.append(features)
            return _native.Model.fit(params, features, *rest)

    spy = types.SimpleNamespace(check=_native.check, device_name=_native.device_name, Model=Model)
    monkeypatch.setattr(_learning, "_native", spy)
    ExtremeValueMachine(preset="plain").fit(X, y)
    assert np.shares_memory(seen[0], X) and seen[0].ctypes.data == X.ctypes.data
    ExtremeValueMachine(preset="plain").fit(X.astype(np.float64), y)
    assert not np.shares_memory(seen[1], X)


GROWTH = """
import numpy as np
from evmachine import ExtremeValueMachine

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024

X = np.zeros((400, 256), dtype=np.float32)
X[:, 0] = np.arange(400)
machine = ExtremeValueMachine(preset="plain", n_jobs=2).fit(X, np.arange(400) // 200)
queries = np.ones((300_000, 256), dtype={dtype})
machine.predict(queries[:1000])
# Forgets the peak so far.
open("/proc/self/clear_refs", "w").write("5")
before = peak()
machine.predict(queries)
print((peak() - before) / (queries.size * 4))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_predicting_takes_no_copy_of_float32_and_one_of_float64():
    def growth(dtype):
        command = [sys.executable, "-c", GROWTH.format(dtype=dtype)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert growth("np.float32") < 0.25
    # What the measurement looks like where there is a copy.
    assert growth("np.float64") > 0.9
