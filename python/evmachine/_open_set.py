"""What every open-set estimator answers, given a trained model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evmachine import _explanation, _labels
from evmachine._parameters import threads
from evmachine._progress import Progress

if TYPE_CHECKING:
    from evmachine._native import Model

Features = npt.NDArray[np.float32]


class OpenSetClassifier(ClassifierMixin, BaseEstimator):
    """Predictions of a model with classes that are known and a label for what is not."""

    classes_: npt.NDArray[Any]
    unknown_label_: Any
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    n_jobs: int | None
    verbose: int | bool

    def _native_model(self) -> Model:
        raise NotImplementedError

    def _check_queries(self, X: Any) -> Features:
        """float32, C-contiguous, the columns of the training data; an array that is so already is not copied."""
        check_is_fitted(self)
        # What does not fit a float32 becomes infinite, and the library names its row and column.
        with np.errstate(over="ignore"):
            checked: Features = validate_data(
                self, X, reset=False, dtype=np.float32, order="C", ensure_all_finite=False
            )
        return checked

    def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Features, npt.NDArray[Any]]:
        from sklearn.utils.multiclass import check_classification_targets

        with np.errstate(over="ignore"):
            X, y = validate_data(self, X, y, reset=reset, dtype=np.float32, order="C", ensure_all_finite=False)
        # Words and integers are classes whatever they say, and looking through them takes longer than many a fit.
        if y.dtype.kind not in "USiub":
            check_classification_targets(y)
        return X, y

    def _class_positions(self, model: Model) -> npt.NDArray[np.int64]:
        """For each class of the model, in its order, the position in ``classes_``."""
        positions = {name: position for position, name in enumerate(_labels.names(self.classes_))}
        return np.array([positions[name] for name in model.class_names], dtype=np.int64)

    def _decide(self, X: Any) -> tuple[npt.NDArray[Any], ...]:
        """Best class by position in ``classes_``, whether accepted, probability, support."""
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            best, accepted, probability, support = model.decide(checked, threads(self.n_jobs), progress.callback)
        return self._class_positions(model)[best], accepted, probability, support

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of each query, or ``unknown_label_``.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        best, accepted, _, _ = self._decide(X)
        answers = _labels.answers(self.classes_, self.unknown_label_)
        return answers[np.where(accepted, best, len(self.classes_))]

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P of each class, if it is a known one: rows sum to 1.

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
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            rows = model.distribution(checked, threads(self.n_jobs), progress.callback)
        return self._by_class(model, rows)

    def predict_known_proba(self, X: npt.ArrayLike, prior: float = 0.5) -> npt.NDArray[np.float64]:
        """P of each query being of a known class.

        By Bayes, from ``p_values``: those of known queries are uniform, those of unknown ones as ``strangers`` has
        them, which :meth:`ExtremeValueMachine.fit_unknowns` measures.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        prior : float, default=0.5
            The share of known queries to be expected.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        if not 0.0 < prior < 1.0:
            raise ValueError(f"prior = {prior}: must be above 0 and below 1")
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            return model.probability_known(checked, prior, threads(self.n_jobs), progress.callback)

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
            return model.p_values(checked, threads(self.n_jobs), progress.callback)

    def class_scores(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P of each class as the paper has it, Eq. 3: rows do not sum to 1, and all are small for an unknown.

        Where there are witnesses beside the features (``shares_``), P at the support that all of them give.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            rows = model.scores(checked, threads(self.n_jobs), progress.callback)
        return self._by_class(model, rows)

    def _by_class(self, model: Model, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        order = np.argsort(self._class_positions(model))
        return rows if np.array_equal(order, np.arange(len(order))) else rows[:, order]

    def score_samples(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P of the best class of each query, which ``threshold_`` is compared with: low for unknowns.

        Where there is a ``contrast``, the lead over the second class raises it above ``class_scores``, and where there
        is a ``background``, the median class moves it.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return self._decide(X)[2]

    def novelty(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """+1 for a query of a known class, -1 for an unknown one, as scikit-learn's novelty detectors say it.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return np.where(self._decide(X)[1], 1, -1)

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
        checked, model = self._check_queries(X), self._native_model()
        with Progress(self.verbose) as progress:
            rows = model.explain(checked, n_classes, threads(self.n_jobs), progress.callback)
        labels = self.classes_[self._class_positions(model)].tolist()
        return _explanation.from_rows(rows, labels, self.unknown_label_)
