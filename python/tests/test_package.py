"""The package as a whole: what it exports, loads and promises."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import evmachine
from evmachine import _native

SOURCES = "".join(path.read_text() for path in Path(evmachine.__file__).parent.glob("*.py"))


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_everything_native_is_used():
    for name in _native.__all__:
        assert re.search(rf"\b_native\.{name}\b|import {name} ", SOURCES), name
    for kind in (_native.Model, _native.Pool, _native.Store):
        for name in (name for name in vars(kind) if not name.startswith("_")):
            assert re.search(rf"\.{name}\b", SOURCES), f"{kind.__name__}.{name}"


def test_every_public_name_is_there_and_documented():
    assert dir(evmachine) == sorted(evmachine.__all__)
    for name in evmachine.__all__:
        value = getattr(evmachine, name)
        if inspect.isclass(value):
            assert value.__doc__ and "\n" in value.__doc__, name
            for method, function in inspect.getmembers(value, inspect.isfunction):
                own = not method.startswith("_") and function.__module__.startswith("evmachine")
                assert not own or function.__doc__, f"{name}.{method}"
    with pytest.raises(AttributeError, match="no attribute 'Extreme'"):
        evmachine.__getattr__("Extreme")


def test_every_parameter_is_documented():
    public = [getattr(evmachine, name) for name in evmachine.__all__]
    for kind in (kind for kind in public if inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
        for name in kind().get_params():
            assert re.search(rf"^    {name} : ", kind.__doc__, flags=re.MULTILINE), f"{kind.__name__}: {name}"


def test_what_is_heavy_is_loaded_when_it_is_needed():
    code = "import sys, evmachine; print([m for m in ('sklearn', 'scipy', 'matplotlib', 'pandas') if m in sys.modules])"
    assert run(code).strip() == "[]"
    code = "import sys; from evmachine import ExtremeValueMachine; print('matplotlib' in sys.modules)"
    assert run(code).strip() == "False"


def test_the_version_is_that_of_the_wheel():
    from importlib.metadata import version

    assert evmachine.__version__ == version("evmachine")


def test_machines_show_themselves_in_notebooks(few):
    machine = evmachine.ExtremeValueMachine(preset="plain", pooling=0.25).fit(*few)
    assert repr(machine) == "ExtremeValueMachine(pooling=0.25, preset='plain')"
    assert "ExtremeValueMachine" in machine._repr_html_() and "pooling" in machine._repr_html_()


def test_answers_are_arrays_of_numpy(few):
    machine = evmachine.ExtremeValueMachine(preset="plain").fit(*few)
    for method in ("predict", "predict_proba", "class_scores", "score_samples", "novelty"):
        assert type(getattr(machine, method)(few[0])) is np.ndarray
