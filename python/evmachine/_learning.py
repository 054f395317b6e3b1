"""What the estimator learns and forgets."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from evmachine import _inputs, _labels, _native, _parameters, _rows
from evmachine._edits import ALONE
from evmachine._files import ModelFiles
from evmachine._open_set import Features, OpenSetClassifier
from evmachine._progress import Progress
from evmachine._rejection import doubts
from evmachine._warnings import DataWarning, FallbackWarning, RetuneWarning

if TYPE_CHECKING:
    from typing_extensions import Self

    from evmachine.steps import Driver

#: What the library is concerned about, as a category, and what can be done about it here.
_CONCERNS: dict[str, tuple[type[UserWarning], str]] = {
    "alone": (FallbackWarning, ALONE),
    "tails_clipped": (FallbackWarning, ' (tail_size="auto" takes no more than half of them)'),
    "class_of_its_own": (DataWarning, "; is y what identifies rows?"),
    "flat_tails": (DataWarning, " Or are their differences too small for a float32?"),
}


def _fallbacks(known: _native.Model | None, model: _native.Model) -> Iterator[str]:
    """What a fit, or an update of ``known``, did in place of what its parameters ask for."""
    params = _parameters.from_json(model.params)
    before = params["tail_memory"] if known is None else known.tail_memory
    if before == "full" and model.tail_memory != "full":
        yield (
            f"whole tails would take more than tail_memory_limit = {params['tail_memory_limit']} bytes, so the model "
            "remembers the largest distance of each alone, and updates will not be exact; raise tail_memory_limit, or "
            'set tail_memory to "max" if that is meant'
        )
    if known is None and model.calibration is None and params["rejection_threshold"] is None:
        yield (
            "no class has two rows, so none could be held out for a threshold; psi below 0.05 is unknown, as with "
            "rejection_threshold=0.05"
        )
    # A user who keeps the default has no share in mind.
    default = all(params[name] == _parameters.DEFAULTS[name] for name in (*_parameters.REJECTION, "confidence"))
    if known is None and not default:
        yield from doubts(model)


class Learning(ModelFiles):
    """Fits, and the updates that add rows to a model or take a class out of it."""

    fill: str | npt.ArrayLike | None
    unknown_label: Any
    report_: dict[str, Any]

    def _library_params(self) -> str:
        return _parameters.to_json(_parameters.resolved(self))

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        ids: Any = None,
        ignored: npt.ArrayLike | None = None,
        batch: str | None = None,
        time: _rows.Time = None,
        encoder: str | None = None,
    ) -> Self:
        """Learn the classes of ``y``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            numpy, pandas, polars, Arrow or a tensor; a frame may have a single column of lists instead. A C-contiguous
            float32 array is not copied, everything else is converted to float32.
        y : array-like of shape (n_rows,)
            Text, numbers or booleans. Margins of a single class are guessed from within it, with a warning, unless
            there are ``ignored`` samples. What ``predict`` calls unknowns is no class: leave rows of unknown classes
            out, or give them to :meth:`fit_unknowns`.
        ids : sequence of str or int, default=None
            An id for each row, which :meth:`explain`, :meth:`doubt` and :meth:`rows` give back, as text, and by which
            corrections find rows. Several rows may have one, ``None`` is none.
        ignored : array-like of shape (n_ignored, n_features) or None, default=None
            Samples that are no class, as :meth:`ignore` takes them later.
        batch : str or None, default=None
            What the rows are called together, such as the name of their file.
        time : datetime, float or None, default=None
            When they were learned; a float is seconds since 1970, a datetime without a time zone is local.
        encoder : str or None, default=None
            What the rows were made by, ``"name"`` or ``"name@version"``. The model keeps it, with what its vectors have
            in common: rows of another one are refused by name, and warned of by what they look like.

        Returns
        -------
        self

        Warns
        -----
        PrecisionWarning
            Where columns lose their differences in float32.
        FallbackWarning
            Where less was done than asked for.
        DataWarning
            Where the data look wrong.
        """
        return self._fit(X, y, ids=ids, ignored=ignored, batch=batch, time=time, encoder=encoder)

    def _fit(
        self,
        X: Any,
        y: Any,
        *,
        ids: Any,
        ignored: Any,
        batch: str | None,
        time: _rows.Time,
        encoder: str | None = None,
        columns: list[str] | None = None,
        driver: Driver | None = None,
        stacklevel: int = 3,
    ) -> Self:
        """As ``fit``; with names of columns that X does not have itself, and tails found by workers."""
        with self._changing():
            _native.check(self._library_params())
            X, y = self._check_training(X, y, reset=True, stacklevel=stacklevel)
            if columns is not None:
                self.feature_names_in_ = np.array(columns, dtype=object)
            names = _rows.names(len(X), ids, batch, time)
            fill = _inputs.fill_numbers(self.fill, X)
            strangers = None if ignored is None else _inputs.filled(self._check_columns(ignored), fill)
            X = _inputs.filled(X, fill)
            return self._learn(
                X,
                y,
                None,
                names=names,
                ignored=strangers,
                fill=fill,
                driver=driver,
                encoder=encoder,
                stacklevel=stacklevel + 1,
            )

    def partial_fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        *,
        ids: Any = None,
        batch: str | None = None,
        time: _rows.Time = None,
        encoder: str | None = None,
    ) -> Self:
        """Learn more rows, of known classes or new ones, at the cost of their distances alone.

        The threshold is set anew. Threads may call this at once: one waits for the other, and both are learned from.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Of the kind that the classes have: text, numbers or booleans.
        classes : array-like or None, default=None
            Classes that ``y`` may hold. Not needed: ``classes_`` grows as classes come.
        ids, batch, time
            What the rows are called, as for :meth:`fit`.
        encoder : str or None, default=None
            What the rows were made by; refused if the model has another one.

        Returns
        -------
        self

        Warns
        -----
        RetuneWarning
            Where the model has changed so much that its parameters should be chosen again.
        PrecisionWarning, FallbackWarning, DataWarning
            As :meth:`fit`.
        """
        with self._changing():
            known = getattr(self, "_model", None)
            if known is None:
                _native.check(self._library_params())
            X, y = self._check_training(X, y, reset=known is None)
            if classes is not None:
                strange = np.setdiff1d(y, column_or_1d(np.asarray(classes)))
                if len(strange):
                    raise ValueError(f"y has classes that are not in `classes`: {strange.tolist()}")
            names = _rows.names(len(X), ids, batch, time)
            fill = _inputs.fill_numbers(self.fill, X) if known is None else known.fill_values
            X = _inputs.filled(X, fill)
            if known is not None:
                self._check_encoder(X, encoder, stacklevel=3)
            return self._learn(X, y, known, names=names, fill=fill, encoder=encoder)

    def _learn(
        self,
        X: Features,
        y: npt.NDArray[Any],
        known: _native.Model | None,
        *,
        names: _rows.Names = _rows.UNNAMED,
        ignored: Features | None = None,
        fill: Features | None = None,
        driver: Driver | None = None,
        encoder: str | None = None,
        stacklevel: int = 3,
    ) -> Self:
        """Learns checked rows: from nothing, or, where there is a model, in addition to what it is by now."""
        with self._changing():
            if known is not None:
                known = self._model
            found, codes = _labels.encode(y)
            classes = found
            if known is not None:
                classes, found = _labels.join(self.classes_, found)
            self._refuse_unknowns(y, known is not None)
            unknown = _labels.unknown_label(classes, self.unknown_label)
            _labels.names(classes)
            kind, means = _labels.type_name(classes), _parameters.means(self)
            device, missing = _native.device_name(means[1])
            if self.verbose and means[1] != "cpu":
                print("on the processor: " + missing if missing else f"on {device}", file=sys.stderr)
            with Progress(self.verbose) as progress:
                # Labels go by number, so that no list of strings is made of them.
                if known is None:
                    columns = [str(name) for name in getattr(self, "feature_names_in_", [])]
                    model, text = _native.Model.fit(
                        self._library_params(),
                        X,
                        codes,
                        _labels.names(found),
                        ignored,
                        None if fill is None else fill.tolist(),
                        columns,
                        kind,
                        names,
                        means,
                        progress.callback,
                        driver,
                    )
                else:
                    own = _labels.names_for(known, found)
                    model, text = known.update(X, codes, own, kind, names, means, progress.callback)
            if known is None and encoder is not None:
                model = model.with_encoder(encoder, X, codes, _labels.names(found))
            report: dict[str, Any] = json.loads(text)
            report["device"] = device
            concerns = report.pop("concerns")
            # In one step, so that a thread that predicts meanwhile has the old model with its classes or the new one.
            self.__dict__.update(classes_=classes, unknown_label_=unknown, report_=report, _model=model)
        for fallback in _fallbacks(known, model):
            warnings.warn(fallback, FallbackWarning, stacklevel=stacklevel)
        for concern in concerns:
            category, advice = _CONCERNS[concern["concern"]]
            warnings.warn(concern["words"] + advice, category, stacklevel=stacklevel)
        if report["tune_again"] is not None:
            warnings.warn(
                f"{report['tune_again']}; choose its parameters anew, with ExtremeValueMachineCV, or fit it again",
                RetuneWarning,
                stacklevel=stacklevel,
            )
        return self

    def _refuse_unknowns(self, y: npt.NDArray[Any], is_update: bool) -> None:
        """Rows that somebody has called unknown would be learned as a class."""
        if not (isinstance(self.unknown_label, str) and self.unknown_label == "auto"):
            label = self.unknown_label
        elif is_update:
            label = self.unknown_label_
        else:
            label = _labels.UNKNOWN
        row = _labels.first_row(y, label)
        if row is not None:
            raise ValueError(
                f"row {row} of y is labelled {label!r}, which is what predict says of unknowns: leave rows of unknown "
                "classes out, or give them to fit_unknowns; where "
                f"unknown_label = {label!r} is a class, set it to another label"
            )

    def _adopt_columns(self, other: OpenSetClassifier) -> None:
        """Takes over what another estimator found out about the columns of the training data."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def forget(self, label: Any) -> Self:
        """Remove a class, and the margins to it from the tails of the others.

        Parameters
        ----------
        label
            The class. The last one stays.

        Returns
        -------
        self
        """
        with self._changing():
            fitted = self._fitted()
            name, gone = fitted.class_name(label), fitted.classes == label
            with Progress(self.verbose) as progress:
                model = fitted.model.forget(name, _parameters.means(self), progress.callback)
            self.__dict__.update(_model=model, classes_=fitted.classes[~gone])
        return self
