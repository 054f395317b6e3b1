"""What comes in: numpy, pandas, polars, any layout, and nothing copied that need not be."""

import subprocess
import sys
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from evmachine import ExtremeValueMachine, _estimator, _native


def test_every_layout_gives_the_same_model(few):
    X, y = few
    expected = ExtremeValueMachine().fit(X, y)
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
        machine = ExtremeValueMachine().fit(layout, y)
        assert machine._model == expected._model, name
        np.testing.assert_array_equal(machine.predict(layout), expected.predict(X), err_msg=name)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_names_of_columns_are_kept_and_checked(few, frame, tmp_path):
    X, y = few
    names = [f"feature {i}" for i in range(16)]
    data = frame(X, columns=names)
    machine = ExtremeValueMachine().fit(data, y)
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
        machine = ExtremeValueMachine().fit(X, labels)
        np.testing.assert_array_equal(machine.predict(X), y)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_is_refused_by_name(few, kind):
    X, y = few
    with pytest.raises(TypeError, match="[Ss]parse data was passed.*dense data is required"):
        ExtremeValueMachine().fit(kind(X), y)
    with pytest.raises(TypeError, match="[Ss]parse"):
        ExtremeValueMachine().fit(X, y).predict(kind(X))


def test_bad_values_are_named(few):
    X, y = few
    for value, shown in ((np.nan, "NaN"), (np.inf, "inf"), (1e300, "inf")):
        bad = X.astype(np.float64)
        bad[17, 3] = value
        with pytest.raises(ValueError, match=f"row 17, column 3: {shown}"):
            ExtremeValueMachine().fit(bad, y)
        with pytest.raises(ValueError, match=f"row 17, column 3: {shown}"):
            ExtremeValueMachine().fit(X, y).predict(bad)
    zero = X.copy()
    zero[5] = 0
    with pytest.raises(ValueError, match="row 5 is all zeros"):
        ExtremeValueMachine(metric="cosine").fit(zero, y)
    with pytest.raises(ValueError, match="15 features, but .* 16"):
        ExtremeValueMachine().fit(X, y).predict(X[:, :15])


def test_a_contiguous_float32_array_reaches_the_library_itself(few, monkeypatch):
    X, y = few
    seen = []

    class Model:
        @staticmethod
        def fit(params, features, *rest):
            seen.append(features)
            return _native.Model.fit(params, features, *rest)

    spy = types.SimpleNamespace(check=_native.check, Model=Model)
    monkeypatch.setattr(_estimator, "_native", spy)
    ExtremeValueMachine().fit(X, y)
    assert np.shares_memory(seen[0], X) and seen[0].ctypes.data == X.ctypes.data
    ExtremeValueMachine().fit(X.astype(np.float64), y)
    assert not np.shares_memory(seen[1], X)


GROWTH = """
import numpy as np
from evmachine import ExtremeValueMachine

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024

X = np.zeros((400, 256), dtype=np.float32)
X[:, 0] = np.arange(400)
machine = ExtremeValueMachine(n_jobs=2).fit(X, np.arange(400) // 200)
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
