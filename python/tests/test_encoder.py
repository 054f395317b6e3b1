"""The encoder of a model: its name, and what its vectors look like."""

import warnings

import numpy as np
import pytest

from evmachine import DataWarning, ExtremeValueMachine


def test_another_encoder_is_refused_by_name_and_warned_of_by_its_look(few, strangers, tmp_path):
    X, y = few
    machine = ExtremeValueMachine(preset="plain").fit(X, y, encoder="letter@1")
    machine.save(tmp_path / "model")
    loaded = ExtremeValueMachine.load(tmp_path / "model")
    assert loaded.encoder_ == "letter@1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.predict(X, encoder="letter")
        loaded.predict(strangers[0])
    for call in (loaded.predict, lambda rows, encoder: loaded.partial_fit(rows, y, encoder=encoder)):
        with pytest.raises(ValueError, match="letter@2.*letter@1"):
            call(X, encoder="letter@2")
    with pytest.warns(DataWarning, match="do not look like those of the encoder letter@1"):
        loaded.predict(50 * X)
    assert ExtremeValueMachine(preset="plain").fit(X, y).encoder_ is None
    with pytest.raises(ValueError, match="does not say which one"):
        ExtremeValueMachine(preset="plain").fit(X, y).predict(X, encoder="letter")
    assert np.array_equal(ExtremeValueMachine(preset="plain").fit(X, y).predict(X), machine.predict(X))
