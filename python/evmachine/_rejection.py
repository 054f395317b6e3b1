"""What a fitted model calls unknown."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from evmachine import _inputs, _labels, _native, _parameters
from evmachine._files import ModelFiles
from evmachine._progress import Progress
from evmachine._warnings import FallbackWarning

if TYPE_CHECKING:
    from typing_extensions import Self


def doubts(model: _native.Model) -> Iterator[str]:
    """Why the threshold may not keep what was asked for."""
    rule = json.loads(model.params)["rejection_threshold"]
    # That nothing known is rejected can always be kept.
    means_it = rule in ({"false_unknown": 0.0}, {"false_unknown_per_class": 0.0})
    if model.calibration is not None and not means_it and model.promise_doubt is not None:
        yield model.promise_doubt


class Rejection(ModelFiles):
    """The rule for what is unknown, and the rows that its threshold is set on."""

    rejection_threshold: float | Mapping[str, float] | None
    max_false_unknown: float | None
    max_false_known: float | None
    per_class: bool | None
    confidence: float | None
    strangers: tuple[float, float] | None

    def set_rejection(
        self,
        *,
        rejection_threshold: float | Mapping[str, float] | None = None,
        max_false_unknown: float | None = None,
        max_false_known: float | None = None,
        per_class: bool = False,
        support: float | None = None,
        confidence: float | None = None,
    ) -> Self:
        """Change what the fitted model calls unknown, and those to come. Nothing else depends on it.

        Parameters
        ----------
        rejection_threshold : float, dict or None, default=None
            Below this psi a query is unknown; a dict as in the constructor.
        max_false_unknown : float or None, default=None
            Or at most this share of known queries is called unknown.
        max_false_known : float or None, default=None
            Or at most this share of unknown queries is accepted.
        per_class : bool, default=False
            Whether ``max_false_unknown`` is kept in each class by itself.
        support : float or None, default=None
            Or queries below this ``score_samples`` are unknown: the threshold moves by so much, and ``score_samples``
            counts from it then. ``threshold_``, which is 0, leaves the rule as it is. The model needs one threshold for
            all classes. A threshold that was moved is a number, which updates do not set again.
        confidence : float or None, default=None
            How surely the share is kept, as in the constructor; as before unless given. It may be given alone.

        Returns
        -------
        self

        Warns
        -----
        FallbackWarning
            If there are too few rows for the share, or it is an estimate.

        Notes
        -----
        The shares need held-out rows: those of a fit that had any, or those of :meth:`calibrate`.
        """
        rule = {
            "rejection_threshold": rejection_threshold,
            "max_false_unknown": max_false_unknown,
            "max_false_known": max_false_known,
        }
        given = sum(value is not None for value in (*rule.values(), support))
        if given > 1 or (given == 0 and confidence is None):
            raise ValueError(
                "give one of rejection_threshold, max_false_unknown, max_false_known and support, or confidence alone"
            )
        with self._changing():
            model = self._native_model()
            changes: dict[str, Any] = {}
            if support is not None:
                model = model.with_threshold_moved(support)
                kept = _parameters.from_json(model.params)
                rule["rejection_threshold"], max_false_known = kept["rejection_threshold"], kept["max_false_known"]
            elif given:
                changes["rejection_threshold"] = _parameters.rejection({**rule, "per_class": per_class})
            if confidence is not None:
                changes["confidence"] = _parameters.number("confidence", confidence)
            self._model = model = model.with_rejection(json.dumps(changes))
            if given:
                self.rejection_threshold, self.max_false_known = rule["rejection_threshold"], max_false_known
            if max_false_unknown is not None:
                self.max_false_unknown, self.per_class = max_false_unknown, per_class
            if confidence is not None:
                self.confidence = confidence
        for doubt in doubts(model):
            warnings.warn(doubt, FallbackWarning, stacklevel=2)
        return self

    def calibrate(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Set threshold and probabilities on labelled rows that the model was not trained on.

        They take the place of rows that the model held out itself. If ``rejection_threshold`` is given, it stays, and
        only the probabilities change.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Their classes. Rows of classes that the model does not know are passed over.

        Returns
        -------
        self

        Warns
        -----
        FallbackWarning
            If these are too few rows for the share that was asked for, or it is an estimate.
        """
        with self._changing():
            fitted = self._fitted()
            X, y = self._check_training(X, y, reset=False)
            X = _inputs.filled(X, fitted.model.fill_values)
            found, codes = _labels.encode(y)
            names = _labels.names_for(fitted.model, _labels.join(fitted.classes, found)[1])
            with Progress(self.verbose) as progress:
                model = fitted.model.calibrate(X, codes, names, _parameters.means(self), progress.callback)
            self._model = model
        for doubt in doubts(model):
            warnings.warn(doubt, FallbackWarning, stacklevel=2)
        return self

    def fit_unknowns(self, X: npt.ArrayLike) -> Self:
        """Learn from rows that are known to be unknown how such rows score, after ``fit``.

        ``max_false_known`` is set on these rows: it takes 99 of them to accept at most 1 %, and 999 for 0.1 %. The
        model keeps them, 20,000 at most, so that it can set the threshold again when it has learned more. ``strangers``
        is set, for the fitted model and those to come, and ``predict_known_proba`` rests on it. The rows are not
        learned as a class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of no known class, of the kind that will be met.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If ``max_false_known`` is asked for and these are too few for it; it says how many it takes.
        """
        rows = self._check_queries(X)
        with self._changing():
            with Progress(self.verbose) as progress:
                self._model = self._model.calibrate_unknowns(rows, _parameters.means(self), progress.callback)
            self.strangers = _parameters.from_json(self._model.params)["strangers"]
        return self

    @property
    def calibration_(self) -> dict[str, Any] | None:
        found = self._fitted_model("calibration_").calibration
        return None if found is None else dict(zip(("rows", "accuracy", "classes"), found, strict=True))
