"""What every open-set estimator answers, given a trained model."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evmachine import _explanation, _inputs, _labels, _native, _rows
from evmachine._lock import OneAtATime
from evmachine._parameters import means
from evmachine._progress import Progress
from evmachine._tracks import AnswersTracks
from evmachine._warnings import DataWarning, FallbackWarning

if TYPE_CHECKING:
    from evmachine._native import Model

Features = npt.NDArray[np.float32]


#: What training data need not be converted from before their precision is looked at.
_NUMBERS = [np.float64, np.float32, np.float16, *(np.dtype(code) for code in "bBhHiIlLqQ")]


class Fitted(NamedTuple):
    """A model, and the labels that go with it: what one answer is made of, whatever is learned meanwhile."""

    model: Model
    classes: npt.NDArray[Any]
    unknown: Any

    def positions(self) -> npt.NDArray[np.int64]:
        """For each class of the model, in its order, the position in ``classes``."""
        return _labels.positions(self.model, self.classes)

    def names(self) -> _explanation.Names:
        """The label of each class, by the model's name for it."""
        labels = self.classes[self.positions()].tolist()
        return _explanation.Names(dict(zip(self.model.class_names, labels, strict=True)), self.unknown)

    def class_name(self, label: Any) -> str:
        """The name that the model has for a class."""
        labels = self.classes.tolist()
        if label not in labels:
            raise ValueError(f"there is no class {label!r}; the classes are {labels}")
        at = labels.index(label)
        (name,) = _labels.names_for(self.model, self.classes[at : at + 1])
        return name

    def by_class(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Columns in the order of ``classes``."""
        order = np.argsort(self.positions())
        return rows if np.array_equal(order, np.arange(len(order))) else rows[:, order]


class OpenSetClassifier(AnswersTracks, OneAtATime, ClassifierMixin, BaseEstimator):
    """Predictions of a model with classes that are known and a label for what is not."""

    classes_: npt.NDArray[Any]
    unknown_label_: Any
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    n_jobs: int | None
    device: str
    verbose: int | bool

    def _fitted(self) -> Fitted:
        raise NotImplementedError

    def _native_model(self) -> Model:
        return self._fitted().model

    def _check_queries(self, X: Any) -> Features:
        """float32, C-contiguous, the columns of the training data; an array that is so already is not copied."""
        check_is_fitted(self)
        checked = _inputs.filled(self._check_columns(X), self._native_model().fill_values)
        self._check_encoder(checked, None, stacklevel=5)
        return checked

    def _check_encoder(self, X: Features, encoder: str | None, stacklevel: int) -> None:
        """Refuses another encoder, and warns of rows that do not look like those of the model's."""
        model = self._native_model()
        if encoder is not None:
            model.check_encoder(encoder)
        doubt = model.encoder_doubt(X)
        if doubt is not None:
            warnings.warn(
                f"these rows do not look like those of the encoder {model.encoder}: {doubt}",
                DataWarning,
                stacklevel=stacklevel,
            )

    @property
    def encoder_(self) -> str | None:
        """What the training rows were made by, where ``fit`` was told."""
        return self._native_model().encoder

    def _check_columns(self, X: Any) -> Features:
        """As queries, of an estimator that need not be fitted yet, and with what is missing as it is."""
        # What does not fit a float32 becomes infinite, and the library names its row and column.
        with np.errstate(over="ignore"):
            checked: Features = validate_data(
                self, _inputs.matrix(X), reset=False, dtype=np.float32, order="C", ensure_all_finite=False
            )
        return checked

    def _check_training(self, X: Any, y: Any, reset: bool, stacklevel: int = 2) -> tuple[Features, npt.NDArray[Any]]:
        from sklearn.utils.multiclass import check_classification_targets

        y = _labels.column(_inputs.numbers(y))
        X, y = validate_data(self, _inputs.matrix(X), y, reset=reset, dtype=_NUMBERS, ensure_all_finite=False)
        y = _labels.column(y)
        # Words and integers are classes whatever they say, and looking through them takes longer than many a fit.
        if y.dtype.kind not in "Uiub":
            check_classification_targets(y)
        return _inputs.narrow(X, getattr(self, "feature_names_in_", None), stacklevel=stacklevel + 1), y

    def _class_positions(self, model: Model) -> npt.NDArray[np.int64]:
        """For each class of the model, in its order, the position in ``classes_``."""
        return _labels.positions(model, self.classes_)

    def _decide(self, X: Any) -> tuple[npt.NDArray[Any], ...]:
        """Best class by position in ``classes_``, whether accepted, psi, support above the threshold."""
        return self._decide_with(X)[:4]

    def _decide_with(self, X: Any) -> tuple[Any, ...]:
        """As ``_decide``, and the support as it was compared with the threshold, and what it was decided with."""
        checked, fitted = self._check_queries(X), self._fitted()
        with Progress(self.verbose) as progress:
            best, *others = _native.decide(fitted.model, checked, means(self), progress.callback)
        return fitted.positions()[best], *others, fitted

    def predict(self, X: npt.ArrayLike, *, fdr: float | None = None, encoder: str | None = None) -> npt.NDArray[Any]:
        """The class of each query, or ``unknown_label_``.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        fdr : float or None, default=None
            The false discovery rate, above 0 and below 1. If it is given, the threshold is not used: the queries are
            judged together, by their ``p_values``, so that of those called unknown at most this share is known, on
            average over batches (Benjamini and Hochberg). All others get their best class.
        encoder : str or None, default=None
            What the rows were made by, ``"name"`` or ``"name@version"``; refused if the model has another one.

        Returns
        -------
        ndarray of shape (n_queries,)

        Warns
        -----
        FallbackWarning
            If the calibrating rows are too few to call any of these queries unknown at this rate.
        DataWarning
            If the rows do not look like those of the model's encoder.
        """
        if encoder is not None:
            check_is_fitted(self)
            self._native_model().check_encoder(encoder)
        if fdr is None:
            best, accepted, *_, fitted = self._decide_with(X)
        else:
            checked, fitted = self._check_queries(X), self._fitted()
            with Progress(self.verbose) as progress:
                found, unknown, doubt = _native.discover(fitted.model, checked, fdr, means(self), progress.callback)
            best, accepted = fitted.positions()[found], ~unknown
            if doubt is not None:
                warnings.warn(doubt, FallbackWarning, stacklevel=2)
        answers = _labels.answers(fitted.classes, fitted.unknown)
        return _inputs.like(X, answers[np.where(accepted, best, len(fitted.classes))])

    def share_unknown(self, X: npt.ArrayLike) -> tuple[float, float]:
        """The share of unknown queries in a batch, by Storey's estimate from ``p_values``, and its standard error.

        Unknown queries that look known count as known, so the share is rather too low than too high.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        share : float
        error : float
        """
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            found = _native.share_unknown(model, checked, means(self), progress.callback)
        if found is None:
            raise ValueError("there are no queries to estimate a share from")
        return found

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P of each class; rows sum to 1, and what may be unknown is spread evenly over all classes.

        With k classes, ``P(known) * P(class | known) + (1 - P(known)) / k``: near 1 / k throughout where nothing
        supports the query, and largest at the class of highest support always. P(known) is that of
        ``predict_known_proba``, or ``psi`` if no rows were held out (``calibration_`` is ``None``). The
        parts are to be had by themselves: P(class | known) from ``predict_class_proba``, the psi of each class from
        ``class_scores``.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._distribution(X, if_known=False)

    def predict_class_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P of each class, if it is a known one: rows sum to 1, however far the query is from all data.

        From held-out rows, where there were any (``calibration_``); otherwise ``class_scores``, scaled. Whether a query
        is known, ``predict_known_proba`` says.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._distribution(X, if_known=True)

    def _distribution(self, X: npt.ArrayLike, if_known: bool) -> npt.NDArray[np.float64]:
        checked, fitted = self._check_queries(X), self._fitted()
        with Progress(self.verbose) as progress:
            rows = _native.distribution(fitted.model, checked, if_known, means(self), progress.callback)
        return _inputs.like(X, fitted.by_class(rows))

    def predict_known_proba(self, X: npt.ArrayLike, prior: float = 0.5) -> npt.NDArray[np.float64]:
        """P of each query being of a known class.

        By Bayes, from ``p_values``: those of known queries are uniform, those of unknown ones as ``strangers`` has
        them, which :meth:`ExtremeValueMachine.fit_unknowns` measures.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        prior : float, default=0.5
            The share of known queries to be expected, above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            found = _native.probability_known(model, checked, prior, means(self), progress.callback)
        return _inputs.like(X, found)

    def p_values(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The share of known queries that score no higher: uniform for known queries, small for unknown ones.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            found = _native.p_values(model, checked, means(self), progress.callback)
        return _inputs.like(X, found)

    def class_scores(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Psi of each class, the paper's probability, Eq. 3: rows do not sum to 1, and all are small for an unknown.

        Far from all data it is 0, far from other classes 1: decide by ``class_supports``. If there are witnesses beside
        the features (``shares_``), psi at the support that all of them give.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """
        checked, fitted = self._check_queries(X), self._fitted()
        with Progress(self.verbose) as progress:
            rows = _native.scores(fitted.model, checked, means(self), progress.callback)
        return _inputs.like(X, fitted.by_class(rows))

    def psi(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Psi of the best class of each query, the paper's probability. Decide by ``score_samples``, which has no end.

        If there is a ``contrast``, the lead over the second class raises it above ``class_scores``, and if there is a
        ``background``, the median class moves it.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return _inputs.like(X, self._decide(X)[2])

    def class_supports(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """How far each class lies above the threshold: the numbers to act on.

        0 is at the threshold, with ``per_class`` at that of the best class. The largest of a row is ``score_samples``:
        its class is the best one, and its sign is what ``predict`` says, known from 0 on. Supports have no end; at an
        extreme vector they are infinite.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """
        checked, fitted = self._check_queries(X), self._fitted()
        with Progress(self.verbose) as progress:
            rows = _native.class_supports(fitted.model, checked, means(self), progress.callback)
        return _inputs.like(X, fitted.by_class(rows))

    def score_samples(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """How far the best class of each query lies above the threshold: the number to act on.

        ``score_samples(X) >= threshold_`` is what ``predict`` does. The largest of each row of ``class_supports``.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
            Below 0 for unknown queries.
        """
        return _inputs.like(X, self._decide(X)[3])

    @property
    def threshold_(self) -> float:
        check_is_fitted(self)
        return 0.0

    @property
    def class_thresholds_(self) -> npt.NDArray[np.float64]:
        fitted = self._fitted()
        return fitted.by_class(fitted.model.thresholds.reshape(1, -1)).reshape(-1)

    @property
    def promise_(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._native_model().promise)
        ranges = {name: None if found[name] is None else tuple(found[name]) for name in ("range", "spread")}
        return {**found, **ranges}

    def novelty(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """+1 for a query of a known class, -1 for an unknown one, as scikit-learn's novelty detectors say it.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return _inputs.like(X, np.where(self._decide(X)[1], 1, -1))

    def explain(self, X: npt.ArrayLike, n_classes: int = 3) -> list[_explanation.Explanation]:
        """Which training rows spoke for which class, and how far the query is from changing sides.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        n_classes : int, default=3
            How many classes to show, best first.

        Returns
        -------
        list of Explanation
        """
        if n_classes < 1:
            raise ValueError(f"n_classes = {n_classes}: must be at least 1")
        checked, fitted = self._check_queries(X), self._fitted()
        with Progress(self.verbose) as progress:
            found = _native.explain(fitted.model, checked, n_classes, means(self), progress.callback)
        return fitted.names().explanations(found)

    def doubt(self, X: npt.ArrayLike) -> list[_explanation.Doubt]:
        """Which training row carries each decision, and what it would be without that row.

        Where a decision is wrong, the row may be: :meth:`ExtremeValueMachine.set_aside` takes it out and
        :meth:`ExtremeValueMachine.relabel` gives it another class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        list of Doubt
        """
        checked, fitted = self._check_queries(X), self._fitted()
        with Progress(self.verbose) as progress:
            found = _native.doubt(fitted.model, checked, means(self), progress.callback)
        return fitted.names().doubts(found)

    def compare(self, other: OpenSetClassifier, X: npt.ArrayLike) -> list[_explanation.Difference]:
        """The queries that another estimator decides differently, such as a copy from before a correction.

        Parameters
        ----------
        other : ExtremeValueMachine or ExtremeValueMachineCV
            Fitted. What it says is ``after``, what this one says is ``before``.
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        list of Difference
            Unknown is unknown, whatever the two call it.
        """
        sides = []
        for estimator in (self, other):
            best, accepted, *_, fitted = estimator._decide_with(X)
            labels = fitted.classes.tolist()
            sides.append(
                [
                    (label, _labels.key(_labels.text(label))) if known else (fitted.unknown, None)
                    for label, known in zip((labels[position] for position in best), accepted, strict=True)
                ]
            )
        return [
            _explanation.Difference(query, before, after)
            for query, ((before, one), (after, two)) in enumerate(zip(*sides, strict=True))
            if one != two
        ]

    def rows(self, class_: Any = None) -> list[_rows.HeldRow]:
        """The rows that the model holds: what can be corrected.

        Parameters
        ----------
        class_ : default=None
            A class; all rows unless given, those that are ignored among them.

        Returns
        -------
        list of HeldRow
            Extreme vectors class by class, then rows held out, then ignored samples, then what is set aside.
        """
        fitted = self._fitted()
        name = None if class_ is None else fitted.class_name(class_)
        found = _native.held_rows(fitted.model, name)
        names = list(dict.fromkeys(own for _, own, _ in found if own is not None))
        labels: dict[str | None, Any] = dict(zip(names, _labels.of_names(names, fitted.classes), strict=True))
        return [_rows.HeldRow(*_rows.origin(fields, labels.get(own), part)) for fields, own, part in found]
