"""The estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from evmachine import _native, _parameters
from evmachine._edits import Corrections
from evmachine._extreme_vectors import ExtremeVectors
from evmachine._files import PathLike
from evmachine._learning import Learning
from evmachine._open_set import Features
from evmachine._rejection import Rejection

if TYPE_CHECKING:
    from typing_extensions import Self


class ExtremeValueMachine(Learning, Rejection, ExtremeVectors, Corrections):
    """The Extreme Value Machine.

    Every training point gets a Weibull model of its margin to the other classes, a greedy cover keeps the few points
    that explain their class, and a query that no class supports is unknown. The default preset, "robust", adds what
    measures best without tuning: smoothing, pooling, a linear probe and a forest if they help, and a threshold that is
    set on rows that the model did not learn, so that one in twenty known queries is called unknown.
    ``ExtremeValueMachine.paper()`` is the machine of the paper.

    A parameter that is ``None`` has the value of the preset for the metric; below, "robust / plain" if the two differ.
    The preset "plain" is the paper with a threshold from held-out rows.

    Parameters
    ----------
    preset : {"robust", "plain", "paper"}, default="robust"
        Where parameters start from. "paper" has the paper's ``rejection_threshold`` of 0.05 and learns every row.
    metric : {"euclidean", "cosine", "manhattan"}, default="euclidean"
        The distance between vectors.
    tail_size : "auto", int or float, 200 / "auto"
        How many of the smallest margins are fitted, the paper's tau: a count, or as a float the fraction of the
        class's negatives. "auto" is 0.17 points per dimension and class, at least 20, at most half of the negatives.
    tail_model : {"weibull", "libmr", "gumbel"}, "weibull"
        Which curve is fitted: Eq. 1 of the paper, what libmr's ``fit_low`` computes, or the unit-free limit of it.
    fixed_shape : float or None, None
        A shape (kappa) to use instead of the fitted one, for ``tail_model="weibull"``.
    distance_multiplier : float, 0.7 / 0.5
        A margin is this fraction of a distance to another class.
    standardize : bool, False
        Whether columns are brought to mean 0 and deviation 1, over the first ``fit`` or ``partial_fit``, before
        anything else is done with them.
    whitening : float, 0.1 / 0.0
        The share of the within-class covariance in the matrix that features are whitened with, the rest being its mean
        variance in all directions; for ``metric="euclidean"`` and ``"cosine"``. 1 makes classes equally wide in every
        direction. The matrix is that of the first ``fit`` or ``partial_fit``, and later ones keep to it.
    smoothing : float, 0.5, for cosine 0.8 / 0.0
        The fraction of the way that each training point moves to the mean of its nearest points of the class.
    smoothing_neighbors : int, 4, for cosine 10 / 10
        How many nearest points that mean is taken over, the point itself included.
    pooling : float, 1.0 / 0.0
        The fraction of the way that each fit moves towards the mean of all fits. With 1 all points share one curve, and
        the tails of about 2,000 of them are measured.
    cover_threshold : float, 1.0 / 0.5
        A point is covered by another whose psi at it reaches this, the paper's varsigma. 1 keeps every point.
    cover_risk : float, 0.0
        How many points of its class an extreme vector must cover first for each point of another class that it claims.
        What is not worth its risk is left out: the higher, the fewer extreme vectors, strangers accepted and outliers
        kept. Not with ``max_extreme_vectors``.
    cover_loss : float, 0.003 / 0.0
        The first fit to more than 2,000 rows of three classes or more keeps the fewest points that cost less than this
        of OSCR, with classes left out in turn, and sets the threshold of the cover accordingly. 0 keeps every point,
        so that each can be edited later. A ``cover_threshold`` or ``max_extreme_vectors`` that is given rules instead.
    max_extreme_vectors : None, int, float or dict, None
        A limit that replaces ``cover_threshold``: an int for each class, a float as a fraction of all points learned
        from, ``{"total": n}`` over all classes.
    reduction : {"set_cover", "weighted_max_k"}, "set_cover"
        How extreme vectors are chosen; the second is that of Koch et al. (2022) and needs a limit.
    n_fused : int, 1
        How many of a class's largest psi are averaged, the paper's k.
    contrast : float, 0.1 / 0.0
        How much the lead of the best class over the second counts when a query is accepted or rejected; for
        ``tail_model="weibull"``. It raises ``score_samples``, and leaves ``class_scores`` and ``predict_proba`` alone.
    background : float, 0.0
        How much the support of the median class counts when a query is accepted or rejected, likewise. Meant for
        thresholds from held-out rows.
    logit_weight : float or "auto", "auto" / 0.0
        How much the support of a second machine counts, whose features are the logits of a linear probe: so many times
        as much as that in feature space, or with "auto" as much as helps if classes are left out in turn. 0 leaves it
        out.
    probe_weight : float or "auto", "auto" / 0.0
        How much the logits of the linear probe themselves count, likewise.
    forest_weight : float or "auto", "auto" / 0.0
        How much a forest of randomised trees counts, likewise. It serves tables of measurements.
    rejection_threshold : float, dict or None, None
        Below this psi a query is unknown, the paper's delta; or ``{"support": s}``, below this support, as
        :meth:`set_rejection` sets it. It rules if it is given.
    max_false_unknown : float or None, 0.05
        At most this share of known queries is called unknown, if they are like the training rows. The threshold is set
        on rows that are never learned, a tenth of more than 2,000, or on what models without them say of fewer rows. It
        rules if neither ``rejection_threshold`` nor ``max_false_known`` is given.
    max_false_known : float or None, None
        At most this share of unknown queries is accepted, if they are like the rows given to :meth:`fit_unknowns`.
        Without such rows it is an estimate: ``fit`` leaves classes out in turn, which takes up to five more fits of up
        to 10,000 rows. It rules if it is given and ``rejection_threshold`` is not.
    per_class : bool, False
        Whether ``max_false_unknown`` is kept in each class by itself: of the known queries whose best class it is.
        Classes with too few held-out rows have the threshold of all rows.
    confidence : float, 0.0
        How surely ``max_false_unknown`` or ``max_false_known`` is kept, at least 0 and below 1. 0 keeps it on average
        over trainings, 0.95 in 95 of 100 trainings, with a more cautious threshold.
    strangers : tuple of two floats, (0.45, 6.0)
        How the p-values of unknown queries are distributed, Beta(a, b). Typical of embeddings unless measured, by
        :meth:`fit_unknowns` or :class:`ExtremeValueMachineCV`. ``predict_known_proba`` rests on it.
    refit : {"new", "affected", "all"}, "affected"
        Which Psi-models already there ``partial_fit`` fits again.
    reduce_when : {"always", "over_budget"}, "always"
        When ``partial_fit`` chooses extreme vectors anew.
    tail_memory : {"full", "max", "none"}, "full"
        What extreme vectors remember of their tails; "full" makes updates exact.
    tail_memory_limit : int, 1073741824
        Bytes that full tails may take in a model. Beyond them "full" gives way to "max", with a
        :class:`FallbackWarning`: later updates are not exact then.
    search : {"exact", "approximate"}, "exact"
        Whether every row is measured against all others, in training and in decisions. "approximate" measures those
        in the cells nearest to it, as many as ``recall`` takes, from 65,536 rows and 32,768 extreme vectors on.
    recall : float, 0.99
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
    class_thresholds_ : ndarray of shape (n_classes,)
        By class, the score from which on it is answered, where its support is 0.
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
    >>> evm = ExtremeValueMachine.paper().fit(X, [0, 0, 0, 1, 1, 1])
    >>> evm.predict([[0.15], [5.05], [100.0]])
    array([ 0,  1, -1])
    >>> evm.score_samples([[0.15], [100.0]]) >= evm.threshold_
    array([ True, False])
    >>> evm.partial_fit([[9.0], [9.1]], [2, 2]).predict([[9.05]])
    array([2])
    """

    def __init__(
        self,
        *,
        preset: str = "robust",
        metric: str = "euclidean",
        tail_size: str | int | float | None = None,
        tail_model: str | None = None,
        fixed_shape: float | None = None,
        distance_multiplier: float | None = None,
        standardize: bool | None = None,
        whitening: float | None = None,
        smoothing: float | None = None,
        smoothing_neighbors: int | None = None,
        pooling: float | None = None,
        cover_threshold: float | None = None,
        cover_risk: float | None = None,
        cover_loss: float | None = None,
        max_extreme_vectors: int | float | Mapping[str, int | float] | None = None,
        reduction: str | None = None,
        n_fused: int | None = None,
        contrast: float | None = None,
        background: float | None = None,
        logit_weight: float | str | None = None,
        probe_weight: float | str | None = None,
        forest_weight: float | str | None = None,
        rejection_threshold: float | Mapping[str, float] | None = None,
        max_false_unknown: float | None = None,
        max_false_known: float | None = None,
        per_class: bool | None = None,
        confidence: float | None = None,
        strangers: tuple[float, float] | None = None,
        refit: str | None = None,
        reduce_when: str | None = None,
        tail_memory: str | None = None,
        tail_memory_limit: int | None = None,
        search: str | None = None,
        recall: float | None = None,
        fill: str | npt.ArrayLike | None = None,
        unknown_label: Any = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None:
        self.preset = preset
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
        self.cover_loss = cover_loss
        self.max_extreme_vectors = max_extreme_vectors
        self.reduction = reduction
        self.n_fused = n_fused
        self.contrast = contrast
        self.background = background
        self.logit_weight = logit_weight
        self.probe_weight = probe_weight
        self.forest_weight = forest_weight
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
        """The recommended machine, which is the default, with its parameters written out for the metric.

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
        return cls(**_parameters.written_out("robust", overrides))

    @classmethod
    def paper(cls, **overrides: Any) -> Self:
        """The machine of the paper, with its parameters written out.

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
        >>> ExtremeValueMachine.paper().rejection_threshold
        0.05
        """
        return cls(**_parameters.written_out("paper", overrides))

    @classmethod
    def from_params_file(cls, path: PathLike, **overrides: Any) -> Self:
        """The parameters of a file that ``evmachine tune -o`` has written.

        Parameters
        ----------
        path : path-like
            In TOML, by the names of the library. What it does not name is as in the default preset.
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

    @property
    def fill_values_(self) -> Features | None:
        return self._fitted_model("fill_values_").fill_values

    @property
    def shares_(self) -> dict[str, float] | None:
        return self._fitted_model("shares_").shares
