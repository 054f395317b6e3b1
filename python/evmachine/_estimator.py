"""The estimator."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, column_or_1d

from evmachine import _inputs, _labels, _native, _parameters, _rows
from evmachine._edits import ALONE, Corrections
from evmachine._files import PathLike
from evmachine._open_set import Features, Fitted, OpenSetClassifier
from evmachine._progress import Progress
from evmachine._warnings import DataWarning, FallbackWarning, RetuneWarning

if TYPE_CHECKING:
    from typing_extensions import Self

    from evmachine.steps import Driver


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
        yield from _doubts(model)


def _doubts(model: _native.Model) -> Iterator[str]:
    """Why the threshold may not keep what was asked for."""
    rule = json.loads(model.params)["rejection_threshold"]
    # That nothing known is rejected can always be kept.
    means_it = rule in ({"false_unknown": 0.0}, {"false_unknown_per_class": 0.0})
    if model.calibration is not None and not means_it and model.promise_doubt is not None:
        yield model.promise_doubt


def _moved(model: _native.Model, support: float) -> float:
    """The threshold of all classes, moved so far."""
    thresholds = np.unique(model.thresholds)
    if len(thresholds) > 1:
        raise ValueError(
            f"support = {support}: each class has a threshold of its own; choose a rule without per_class first"
        )
    moved = float(thresholds[0] + _parameters.number("support", support))
    if not np.isfinite(moved):
        raise ValueError(f"support = {support}: the threshold is {moved}; choose a rule with a finite one first")
    return moved


#: What the library is concerned about, as a category, and what can be done about it here.
_CONCERNS: dict[str, tuple[type[UserWarning], str]] = {
    "alone": (FallbackWarning, ALONE),
    "tails_clipped": (FallbackWarning, ' (tail_size="auto" takes no more than half of them)'),
    "class_of_its_own": (DataWarning, "; is y what identifies rows?"),
    "flat_tails": (DataWarning, " Or are their differences too small for a float32?"),
}


class ExtremeValueMachine(Corrections):
    """The Extreme Value Machine.

    Every training point gets a Weibull model of its margin to the other classes, a greedy cover keeps the few points
    that explain their class, and a query that no class supports is unknown. Defaults are the paper's, but for the
    threshold: it is set on rows that the model did not learn, so that one in twenty known queries is called unknown.
    ``rejection_threshold=0.05`` is the paper to the letter; :meth:`robust` is what the guides recommend for embeddings.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "manhattan"}, default="euclidean"
        The distance between vectors.
    tail_size : "auto", int or float, default="auto"
        How many of the smallest margins are fitted, the paper's tau: a count, or as a float the fraction of the
        class's negatives. "auto" is 0.17 points per dimension and class, at least 20, at most half of the negatives.
    tail_model : {"weibull", "libmr", "gumbel"}, default="weibull"
        Which curve is fitted: Eq. 1 of the paper, what libmr's ``fit_low`` computes, or the unit-free limit of it.
    fixed_shape : float or None, default=None
        A shape (kappa) to use instead of the fitted one, for ``tail_model="weibull"``.
    distance_multiplier : float, default=0.5
        A margin is this fraction of a distance to another class.
    standardize : bool, default=False
        Whether columns are brought to mean 0 and deviation 1, over the first ``fit`` or ``partial_fit``, before
        anything else is done with them.
    whitening : float, default=0.0
        The share of the within-class covariance in the matrix that features are whitened with, the rest being its mean
        variance in all directions; for ``metric="euclidean"`` and ``"cosine"``. 1 makes classes equally wide in every
        direction. The matrix is that of the first ``fit`` or ``partial_fit``, and later ones keep to it.
    smoothing : float, default=0.0
        The fraction of the way that each training point moves to the mean of its nearest points of the class.
    smoothing_neighbors : int, default=10
        How many nearest points that mean is taken over, the point itself included.
    pooling : float, default=0.0
        The fraction of the way that each fit moves towards the mean of all fits.
    cover_threshold : float, default=0.5
        A point is covered by another whose psi at it reaches this, the paper's varsigma. 1 keeps every point.
    cover_risk : float, default=0.0
        How many points of its class an extreme vector must cover first for each point of another class that it claims.
        What is not worth its risk is left out: the higher, the fewer extreme vectors, strangers accepted and outliers
        kept. Not with ``max_extreme_vectors``.
    max_extreme_vectors : None, int, float or dict, default=None
        A limit that replaces ``cover_threshold``: an int for each class, a float as a fraction of all points learned
        from, ``{"total": n}`` over all classes.
    reduction : {"set_cover", "weighted_max_k"}, default="set_cover"
        How extreme vectors are chosen; the second is that of Koch et al. (2022) and needs a limit.
    n_fused : int, default=1
        How many of a class's largest psi are averaged, the paper's k.
    contrast : float, default=0.0
        How much the lead of the best class over the second counts when a query is accepted or rejected; for
        ``tail_model="weibull"``. It raises ``score_samples``, and leaves ``class_scores`` and ``predict_proba`` alone.
    background : float, default=0.0
        How much the support of the median class counts when a query is accepted or rejected, likewise. Meant for
        thresholds from held-out rows.
    logit_weight : float or "auto", default=0.0
        How much the support of a second machine counts, whose features are the logits of a linear probe: so many times
        as much as that in feature space, or with "auto" as held-out rows bear it out. 0 leaves it out.
    probe_weight : float or "auto", default=0.0
        How much the logits of the linear probe themselves count, likewise.
    rejection_threshold : float, dict or None, default=None
        Below this psi a query is unknown, the paper's delta; or ``{"support": s}``, below this support, as
        :meth:`set_rejection` sets it. It rules if it is given.
    max_false_unknown : float or None, default=0.05
        At most this share of known queries is called unknown, if they are like the training rows. The threshold is set
        on rows that are never learned, a tenth of more than 2,000, or on what models without them say of fewer rows. It
        rules if neither ``rejection_threshold`` nor ``max_false_known`` is given.
    max_false_known : float or None, default=None
        At most this share of unknown queries is accepted, if they are like the rows given to :meth:`fit_unknowns`.
        Without such rows it is an estimate: ``fit`` leaves classes out in turn, which takes up to five more fits of up
        to 10,000 rows. It rules if it is given and ``rejection_threshold`` is not.
    per_class : bool, default=False
        Whether ``max_false_unknown`` is kept in each class by itself: of the known queries whose best class it is.
        Classes with too few held-out rows have the threshold of all rows.
    confidence : float, default=0.0
        How surely ``max_false_unknown`` or ``max_false_known`` is kept, at least 0 and below 1. 0 keeps it on average
        over trainings, 0.95 in 95 of 100 trainings, with a more cautious threshold.
    strangers : tuple of two floats, default=(0.45, 6.0)
        How the p-values of unknown queries are distributed, Beta(a, b). Typical of embeddings unless measured, by
        :meth:`fit_unknowns` or :class:`ExtremeValueMachineCV`. ``predict_known_proba`` rests on it.
    refit : {"new", "affected", "all"}, default="affected"
        Which Psi-models already there ``partial_fit`` fits again.
    reduce_when : {"always", "over_budget"}, default="always"
        When ``partial_fit`` chooses extreme vectors anew.
    tail_memory : {"full", "max", "none"}, default="full"
        What extreme vectors remember of their tails; "full" makes updates exact.
    tail_memory_limit : int, default=1073741824
        Bytes that full tails may take in a model. Beyond them "full" gives way to "max", with a
        :class:`FallbackWarning`: later updates are not exact then.
    search : {"exact", "approximate"}, default="exact"
        Whether every row is measured against all others, in training and in decisions. "approximate" measures those
        in the cells nearest to it, as many as ``recall`` takes, from 65,536 rows and 32,768 extreme vectors on.
    recall : float, default=0.99
        What an approximate search finds at least, of tails and of decisions, measured on a sample. Where it would take
        too many pairs, ``fit`` raises a ``ValueError``.
    fill : {"mean", "median", "zero"}, array-like of shape (n_features,) or None, default=None
        What stands in for missing values (NaN) of a column: what the first ``fit`` or ``partial_fit`` finds in it, or
        given numbers. It is part of the model, and fills queries too. ``None`` refuses missing values.
    unknown_label : default="auto"
        What ``predict`` says of unknowns, and no row of ``y`` may say. "auto" is "unknown" among text and booleans, and
        among numbers -1, or one below the smallest class where there are negative ones; beside unsigned integers that
        leave no room for -1, the largest that is no class.
    n_jobs : int or None, default=None
        Number of threads; ``None`` and -1 are all cores. The result does not depend on it.
    device : str, default="cpu"
        What measures distances, fits tails, chooses extreme vectors and finds supports: "cpu", "cuda" or "cuda:N" for
        an NVIDIA device, which is an error where it cannot be used, or "auto", which takes a device where there is one
        and the work is worth sending; ``report_["device"]`` and ``verbose`` say what it took. Not part of the model.
    verbose : int or bool, default=0
        Whether to draw a progress bar, in a terminal or a notebook, and to say on which device a fit is done.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    unknown_label_
        What unknowns are called.
    extreme_vectors_ : ndarray of shape (n_extreme_vectors, n_features), float32
        Whitened where whitening is on, of unit length for cosine, moved where smoothing is on.
    extreme_vector_classes_ : ndarray of shape (n_extreme_vectors,)
        Their labels.
    extreme_vector_indices_ : ndarray of shape (n_extreme_vectors,)
        The training rows they came from, counted over all data ever learned from.
    weibull_shape_, weibull_scale_ : ndarray of shape (n_extreme_vectors,)
        The fits, before pooling.
    fit_status_ : ndarray of shape (n_extreme_vectors,)
        How each fit went, in words.
    vector_ratio_ : float
        Extreme vectors by rows learned from.
    threshold_ : float
        ``score_samples(X) >= threshold_`` is what ``predict`` does; 0 for every model, kept so that code written for
        scikit-learn's outlier detectors reads the same.
    promise_ : dict
        What the threshold promises: the ``rule`` that was asked for, its ``confidence``, the ``basis`` it was set on,
        how many ``rows`` that had (``effective_rows`` of equal weight tell as much), the ``range`` in which the true
        share lies with 95 %, ``rows_needed`` if there are too few, ``classes_without`` a threshold of their own, the
        ``spread`` of an estimate over classes; and ``text``, all of it in a sentence.
    fill_values_ : ndarray of shape (n_features,) or None
        What fills missing values; ``None`` where they are refused.
    shares_ : dict or None
        How much of a decision are the ``features``, the machine over ``logits`` and the linear ``probe``, which add up
        to 1. ``None`` where the features decide alone.
    calibration_ : dict or None
        What threshold and probabilities rest on: held-out ``rows``, the share of them that was named right
        (``accuracy``) and the number of ``classes``, when the model was fitted. ``None`` where nothing was held out.
    report_ : dict
        What the last ``fit`` or ``partial_fit`` did. ``tune_again`` says why the parameters should be chosen anew, if
        they should, ``tail_memory`` what extreme vectors remember of their tails now, ``times`` the seconds that each
        stage took, ``device`` what it was done on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    Notes
    -----
    Threads may share it: changes wait for each other, and answers are those of the model before or after.

    Wrappers of scikit-learn that choose the class of largest probability never say "unknown": ``BaggingClassifier``,
    ``CalibratedClassifierCV`` and ``VotingClassifier`` with ``voting="soft"``. The first and the last have even
    probabilities where nothing supports a query. ``voting="hard"`` raises an error where a machine says "unknown".

    References
    ----------
    Rudd, Jain, Scheirer, Boult: The Extreme Value Machine. TPAMI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from evmachine import ExtremeValueMachine
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> evm = ExtremeValueMachine(rejection_threshold=0.05).fit(X, [0, 0, 0, 1, 1, 1])
    >>> evm.predict([[0.15], [5.05], [100.0]])
    array([ 0,  1, -1])
    >>> evm.score_samples([[0.15], [100.0]]) >= evm.threshold_
    array([ True, False])
    >>> evm.partial_fit([[9.0], [9.1]], [2, 2]).predict([[9.05]])
    array([2])
    """

    report_: dict[str, Any]

    def __init__(
        self,
        *,
        metric: str = "euclidean",
        tail_size: str | int | float = "auto",
        tail_model: str = "weibull",
        fixed_shape: float | None = None,
        distance_multiplier: float = 0.5,
        standardize: bool = False,
        whitening: float = 0.0,
        smoothing: float = 0.0,
        smoothing_neighbors: int = 10,
        pooling: float = 0.0,
        cover_threshold: float = 0.5,
        cover_risk: float = 0.0,
        max_extreme_vectors: int | float | Mapping[str, int | float] | None = None,
        reduction: str = "set_cover",
        n_fused: int = 1,
        contrast: float = 0.0,
        background: float = 0.0,
        logit_weight: float | str = 0.0,
        probe_weight: float | str = 0.0,
        rejection_threshold: float | Mapping[str, float] | None = None,
        max_false_unknown: float | None = 0.05,
        max_false_known: float | None = None,
        per_class: bool = False,
        confidence: float = 0.0,
        strangers: tuple[float, float] = (0.45, 6.0),
        refit: str = "affected",
        reduce_when: str = "always",
        tail_memory: str = "full",
        tail_memory_limit: int = 1 << 30,
        search: str = "exact",
        recall: float = 0.99,
        fill: str | npt.ArrayLike | None = None,
        unknown_label: Any = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None:
        self.metric = metric
        self.tail_size = tail_size
        self.tail_model = tail_model
        self.fixed_shape = fixed_shape
        self.distance_multiplier = distance_multiplier
        self.standardize = standardize
        self.whitening = whitening
        self.smoothing = smoothing
        self.smoothing_neighbors = smoothing_neighbors
        self.pooling = pooling
        self.cover_threshold = cover_threshold
        self.cover_risk = cover_risk
        self.max_extreme_vectors = max_extreme_vectors
        self.reduction = reduction
        self.n_fused = n_fused
        self.contrast = contrast
        self.background = background
        self.logit_weight = logit_weight
        self.probe_weight = probe_weight
        self.rejection_threshold = rejection_threshold
        self.max_false_unknown = max_false_unknown
        self.max_false_known = max_false_known
        self.per_class = per_class
        self.confidence = confidence
        self.strangers = strangers
        self.refit = refit
        self.reduce_when = reduce_when
        self.tail_memory = tail_memory
        self.tail_memory_limit = tail_memory_limit
        self.search = search
        self.recall = recall
        self.fill = fill
        self.unknown_label = unknown_label
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @classmethod
    def robust(cls, **overrides: Any) -> Self:
        """The recommended start for embeddings.

        Smoothing, pooling, wider margins, some whitening, a linear probe and a machine over its logits, and every point
        is kept.

        Parameters
        ----------
        **overrides
            Parameters that should be otherwise.

        Returns
        -------
        ExtremeValueMachine

        Examples
        --------
        >>> from evmachine import ExtremeValueMachine
        >>> ExtremeValueMachine.robust(metric="cosine").smoothing
        0.8
        """
        return cls(**{**_parameters.robust(overrides.get("metric", "euclidean")), **overrides})

    @classmethod
    def from_params_file(cls, path: PathLike, **overrides: Any) -> Self:
        """The parameters of a file that ``evmachine tune -o`` has written.

        Parameters
        ----------
        path : path-like
            In TOML, by the names of the library. What it does not name is as in the paper.
        **overrides
            Parameters that should be otherwise, and those of Python alone, such as ``n_jobs``.

        Returns
        -------
        ExtremeValueMachine
            Not fitted yet.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
            values = _parameters.from_json(_native.params_of_toml(text))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None
        return cls(**{**values, **overrides})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.fill is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _fitted(self) -> Fitted:
        check_is_fitted(self)
        # In one step, as changes are made in one.
        state = self.__dict__.copy()
        return Fitted(state["_model"], state["classes_"], state["unknown_label_"])

    def _library_params(self) -> str:
        return _parameters.to_json({name: getattr(self, name) for name in _parameters.DEFAULTS})

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        ids: Any = None,
        ignored: npt.ArrayLike | None = None,
        batch: str | None = None,
        time: _rows.Time = None,
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
        return self._fit(X, y, ids=ids, ignored=ignored, batch=batch, time=time)

    def _fit(
        self,
        X: Any,
        y: Any,
        *,
        ids: Any,
        ignored: Any,
        batch: str | None,
        time: _rows.Time,
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
                X, y, None, names=names, ignored=strangers, fill=fill, driver=driver, stacklevel=stacklevel + 1
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
            return self._learn(_inputs.filled(X, fill), y, known, names=names, fill=fill)

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

    def reduce(
        self,
        *,
        cover_threshold: float | None = None,
        cover_risk: float | None = None,
        max_extreme_vectors: int | float | Mapping[str, int | float] | None = None,
        reduction: str | None = None,
    ) -> Self:
        """Make the model smaller; later updates keep to the limit.

        Parameters
        ----------
        cover_threshold : float or None, default=None
            Keep what covers the rest at this probability.
        cover_risk : float or None, default=None
            With it, as in the constructor; as before unless given.
        max_extreme_vectors : int, float, dict or None, default=None
            Or keep so many; as in the constructor.
        reduction : {"set_cover", "weighted_max_k"} or None, default=None
            How they are chosen; as before unless given.

        Returns
        -------
        self
        """
        if (cover_threshold is None) == (max_extreme_vectors is None):
            raise ValueError("give either cover_threshold or max_extreme_vectors")
        if cover_risk is not None and cover_threshold is None:
            raise ValueError("cover_risk goes with cover_threshold, not with max_extreme_vectors")
        with self._changing():
            model = self._native_model()
            params = _parameters.from_json(model.params)
            params["max_extreme_vectors"] = max_extreme_vectors
            if cover_threshold is None:
                params["cover_risk"] = 0.0
            elif cover_risk is not None:
                params["cover_risk"] = cover_risk
            if cover_threshold is not None:
                params["cover_threshold"] = cover_threshold
            if reduction is not None:
                params["reduction"] = reduction
            with Progress(self.verbose) as progress:
                self._model = model.reduce(_parameters.to_json(params), _parameters.means(self), progress.callback)
        return self

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
            counts from it then. ``threshold_``, which is 0, leaves all decisions as they are. The model needs one
            threshold for all classes. The threshold is a number from now on, which updates do not set again.
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
            if support is not None:
                rule["rejection_threshold"] = {"support": _moved(model, support)}
            changes: dict[str, Any] = {}
            if given:
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
        for doubt in _doubts(model):
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
        for doubt in _doubts(model):
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
    def extreme_vectors_(self) -> Features:
        return self._fitted_model("extreme_vectors_").vectors

    @property
    def extreme_vector_classes_(self) -> npt.NDArray[Any]:
        model = self._fitted_model("extreme_vector_classes_")
        return self.classes_[self._class_positions(model)[model.vector_classes]]

    @property
    def extreme_vector_indices_(self) -> npt.NDArray[np.int64]:
        return self._fitted_model("extreme_vector_indices_").sources

    @property
    def weibull_shape_(self) -> npt.NDArray[np.float64]:
        return self._fitted_model("weibull_shape_").shapes

    @property
    def weibull_scale_(self) -> npt.NDArray[np.float64]:
        return self._fitted_model("weibull_scale_").scales

    @property
    def fit_status_(self) -> npt.NDArray[Any]:
        return np.array(self._fitted_model("fit_status_").statuses)

    @property
    def vector_ratio_(self) -> float:
        return self._fitted_model("vector_ratio_").vector_ratio

    @property
    def fill_values_(self) -> Features | None:
        return self._fitted_model("fill_values_").fill_values

    @property
    def shares_(self) -> dict[str, float] | None:
        return self._fitted_model("shares_").shares

    @property
    def calibration_(self) -> dict[str, Any] | None:
        found = self._fitted_model("calibration_").calibration
        return None if found is None else dict(zip(("rows", "accuracy", "classes"), found, strict=True))

    def _fitted_model(self, attribute: str) -> _native.Model:
        if not hasattr(self, "_model"):
            raise AttributeError(f"{attribute} is there after fit")
        return self._model
