"""Models on disk and on the wire: one format, whatever the road."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evmachine import _labels, _native, _parameters
from evmachine._open_set import Fitted, OpenSetClassifier

if TYPE_CHECKING:
    from typing_extensions import Self

PathLike = str | os.PathLike[str]


class ModelFiles(OpenSetClassifier):
    """Saving and loading, for an estimator whose model is ``_model``."""

    _model: _native.Model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _fitted(self) -> Fitted:
        check_is_fitted(self)
        # In one step, as changes are made in one.
        state = self.__dict__.copy()
        return Fitted(state["_model"], state["classes_"], state["unknown_label_"])

    def _fitted_model(self, attribute: str) -> _native.Model:
        if not hasattr(self, "_model"):
            raise AttributeError(f"{attribute} is there after fit")
        return self._model

    def save(self, path: PathLike) -> None:
        """Write the model as safetensors: safe to load from a stranger, and what the program ``evmachine`` reads.

        Parameters
        ----------
        path : path-like
            Written to a temporary name beside it and renamed.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path))

    @classmethod
    def load(cls, path: PathLike, *, label_type: type | None = None, unknown_label: Any = "auto") -> Self:
        """Read a model file.

        Parameters
        ----------
        path : path-like
        label_type : {str, int, float, bool} or None, default=None
            What labels are. ``None`` is what they were when the model was saved; in a model of the program, which has
            text alone, integers if every class name is one, and strings otherwise.
        unknown_label : default="auto"
            What ``predict`` says of unknowns, as in the constructor.

        Returns
        -------
        ExtremeValueMachine
            With the parameters that the model was trained with.
        """
        model = _native.Model.load(os.fspath(path))
        fill = None if model.fill_values is None else model.fill_values.tolist()
        machine = cls(**_parameters.from_json(model.params), fill=fill, unknown_label=unknown_label)
        classes = np.unique(_labels.from_names(model.class_names, label_type, model.label_type))
        if label_type is not None:
            model = model.with_label_type(_labels.type_name(classes))
        machine.unknown_label_ = _labels.unknown_label(classes, unknown_label)
        machine._model, machine.classes_ = model, classes
        machine.n_features_in_ = model.dimensions
        if model.feature_names:
            machine.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return machine

    def to_onnx(self, path: PathLike | None = None, *, unknown_label: str | None = None) -> bytes:
        """The decision as an ONNX graph.

        Its input is ``features``. Its outputs are ``label``, class names as strings; ``supports``, as from
        ``class_supports``; ``probability``, as from ``psi``; and ``scores``, as from ``class_scores``. Columns are in
        the order of ``classes_``, which the graph has as a JSON list under ``classes`` in its metadata.

        Parameters
        ----------
        path : path-like or None, default=None
            A file to write it to, by a temporary name beside it.
        unknown_label : str or None, default=None
            What unknowns are called; ``unknown_label_`` as text unless given.

        Returns
        -------
        bytes
        """
        fitted = self._fitted()
        label = _labels.text(fitted.unknown) if unknown_label is None else unknown_label
        content = fitted.model.to_onnx(label, np.argsort(fitted.positions()).tolist())
        if path is not None:
            _write_whole(Path(path), content)
        return content

    def __getstate__(self) -> dict[str, Any]:
        """The model goes as the bytes of its file, so that loading runs no code but the reader of that format."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_model" in state:
            state["_model"] = _native.Model.from_bytes(state["_model"])
        super().__setstate__(state)


def _write_whole(path: Path, content: bytes) -> None:
    """Whoever reads ``path`` sees the old file or the new one, whole."""
    handle, name = tempfile.mkstemp(prefix=".evmachine-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
