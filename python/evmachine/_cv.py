"""The tuner as an estimator."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from evmachine import _labels, _native, _parameters
from evmachine._estimator import ExtremeValueMachine
from evmachine._files import PathLike
from evmachine._open_set import Features, Fitted, OpenSetClassifier
from evmachine._progress import Progress
from evmachine._warnings import FallbackWarning

if TYPE_CHECKING:
    from typing_extensions import Self


#: What goes to the library under its own name.
_OPTIONS = (
    "search",
    "n_trials",
    "objective",
    "max_false_unknown",
    "max_false_known",
    "unknown_classes",
    "cv",
    "max_rows",
    "max_size",
    "random_state",
)


class ExtremeValueMachineCV(OpenSetClassifier):
    """An Extreme Value Machine that chooses its parameters by cross-class validation.

    Classes are left out in turn and act as unknowns; rows of the others are held out. A trial is taken only if its lead
    over the presets counts (``lead_``): with few classes, it rarely does. Then the smallest model that surely costs
    less than 0.003 of the objective is chosen, and trained on everything.

    Parameters
    ----------
    metric : {"auto", "euclidean", "cosine", "manhattan"}, default="auto"
        The distance between vectors. "auto" chooses between Euclidean and cosine, where no row is all zeros and the
        space is not "paper".
    max_extreme_vectors : None, int, float or dict, default=None
        A limit on the size of the model, as for :class:`ExtremeValueMachine`.
    space : {"full", "paper"} or dict, default="full"
        What is searched. A dict has lists for some of ``whitening``, ``smoothing`` (pairs of fraction and neighbours),
        ``tail_model``, ``tail_size`` (fractions), ``distance_multiplier``, ``pooling``, ``n_fused``,
        ``cover_threshold``, ``contrast``, ``background``, ``weights`` (triples of ``logit_weight``, ``probe_weight``
        and ``forest_weight``), ``metric`` and ``standardize``; the rest is as in "full".
    search : {"bayesian", "grid"}, default="bayesian"
        Tree-structured Parzen estimators, or every combination.
    n_trials : int, default=60
        Trials of the Bayesian search.
    objective : {"oscr", "f1", "normalized_accuracy", "accuracy"}, default="oscr"
        What trials are judged by; "accuracy" is that of known rows where ``max_false_unknown`` of them are rejected.
    max_false_unknown : float or None, default=None
        Have at most this fraction of known queries called unknown. If no rule is given, 0.05, as in
        :class:`ExtremeValueMachine`; with ``objective="f1"``, the share at which F1 is best on the folds.
    max_false_known : float or None, default=None
        Have at most this fraction of unknown queries accepted, instead.
    confidence : float, default=0.0
        How surely the share of known or unknown queries is kept, as for :class:`ExtremeValueMachine`.
    unknown_classes : int or None, default=None
        Set ``rejection_threshold`` by the paper's formula, instead, for whoever knows how many unknown classes will be
        met, so many beside those of the data.
    cv : int or None, default=None
        Number of folds; one in so many classes is unknown in each. ``None`` is 3, and up to 5 where there are fewer
        than 12 classes.
    max_rows : int, default=8000
        Most rows to train on in a fold; a quarter as many are tested, known and unknown each.
    shrink : bool, default=True
        Whether to make the model smaller if that surely costs less than 0.003 of the objective.
    max_size : float or None, default=None
        Most extreme vectors by training rows, whatever that costs.
    unknown_label : default="auto"
        What ``predict`` says of unknowns, as for :class:`ExtremeValueMachine`.
    random_state : int, default=1
        Seed of folds and search.
    n_jobs : int or None, default=None
        Number of threads; ``None`` and -1 are all cores. The result does not depend on it.
    device : str, default="cpu"
        What trains the chosen parameters and answers queries, as for :class:`ExtremeValueMachine`. The search, whose
        folds are small, stays on the processor.
    verbose : int or bool, default=0
        Whether to draw a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    estimator_ : ExtremeValueMachine
        The chosen parameters, trained on everything. Has ``partial_fit``, ``save``, ``to_onnx`` and the rest.
    best_params_ : dict
        What it was trained with.
    best_score_ : float
        Mean of the objective over the folds.
    cv_results_ : dict
        Columns ``params``, ``mean_test_score``, ``standard_error`` and ``vector_ratio``, one entry for each trial.
    sizes_ : list of dict
        The best parameters at smaller sizes, in the same columns.
    references_ : dict
        The objective of what a practitioner would reach for instead, on the same folds: "paper", "robust", "1-NN",
        "nearest class mean", "logistic regression, energy" and so on.
    lead_ : dict or None
        What the best trial is ahead of the better preset: ``mean``, its standard ``error`` over the folds, and
        ``counts_from``, the least mean with which the trial is taken instead of the preset. None with a budget.
    at_delta_ : dict
        The figures of :func:`evmachine.metrics.open_set_report` on the folds, at the chosen rejection.
    classes_, unknown_label_, n_features_in_, feature_names_in_
        As for :class:`ExtremeValueMachine`.

    Notes
    -----
    With fewer than three classes none can be left out: the defaults are used, with the share of known or unknown
    queries that was asked for, and with a warning. Then, and only then, ``cv_results_`` is empty and ``best_score_`` is
    not a number.

    Ctrl-C ends the search after the trial that is running.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evmachine import ExtremeValueMachineCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = ExtremeValueMachineCV(n_trials=5, max_false_unknown=0.05).fit(X, y)
    >>> len(search.cv_results_["params"])
    5
    >>> bool(search.best_score_ > 0.8)
    True
    >>> search.predict([[50.0, 50.0, 50.0, 50.0]])
    array([-1])
    """

    estimator_: ExtremeValueMachine

    def __init__(
        self,
        *,
        metric: str = "auto",
        max_extreme_vectors: int | float | Mapping[str, int | float] | None = None,
        space: str | Mapping[str, Sequence[Any]] = "full",
        search: str = "bayesian",
        n_trials: int = 60,
        objective: str = "oscr",
        max_false_unknown: float | None = None,
        max_false_known: float | None = None,
        confidence: float = 0.0,
        unknown_classes: int | None = None,
        cv: int | None = None,
        max_rows: int = 8000,
        shrink: bool = True,
        max_size: float | None = None,
        unknown_label: Any = "auto",
        random_state: int = 1,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None:
        self.metric = metric
        self.max_extreme_vectors = max_extreme_vectors
        self.space = space
        self.search = search
        self.n_trials = n_trials
        self.objective = objective
        self.max_false_unknown = max_false_unknown
        self.max_false_known = max_false_known
        self.confidence = confidence
        self.unknown_classes = unknown_classes
        self.cv = cv
        self.max_rows = max_rows
        self.shrink = shrink
        self.max_size = max_size
        self.unknown_label = unknown_label
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def _fitted(self) -> Fitted:
        check_is_fitted(self)
        return self.estimator_._fitted()

    def save(self, path: PathLike) -> None:
        """Write the trained model, as :meth:`ExtremeValueMachine.save` does. What the search found is in pickles alone.

        Parameters
        ----------
        path : path-like
            Written to a temporary name beside it and renamed.
        """
        check_is_fitted(self)
        self.estimator_.save(path)

    @classmethod
    def load(cls, path: PathLike, *, label_type: type | None = None, unknown_label: Any = "auto") -> Self:
        """Read a model file, of this or of :class:`ExtremeValueMachine`.

        Parameters
        ----------
        path : path-like
        label_type, unknown_label
            As for :meth:`ExtremeValueMachine.load`.

        Returns
        -------
        ExtremeValueMachineCV
            With ``estimator_`` and ``best_params_``; without a record of the search, and with default options.
        """
        machine = ExtremeValueMachine.load(path, label_type=label_type, unknown_label=unknown_label)
        search = cls(unknown_label=unknown_label)
        search._adopt(machine)
        return search

    def to_onnx(self, path: PathLike | None = None, *, unknown_label: str | None = None) -> bytes:
        """The decision as an ONNX graph.

        Parameters
        ----------
        path, unknown_label
            As for :meth:`ExtremeValueMachine.to_onnx`.

        Returns
        -------
        bytes
        """
        check_is_fitted(self)
        return self.estimator_.to_onnx(path, unknown_label=unknown_label)

    def _adopt(self, machine: ExtremeValueMachine) -> None:
        """Answers as the machine does from now on."""
        best = _parameters.resolved(machine)
        names = ("classes_", "unknown_label_", "n_features_in_", "feature_names_in_")
        found = {name: getattr(machine, name) for name in names if hasattr(machine, name)}
        self.__dict__.update(found, estimator_=machine, best_params_=best)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, unknowns: npt.ArrayLike | None = None) -> Self:
        """Search, then train on everything.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            At least three classes, so that one can be left out.
        unknowns : array-like of shape (n_unknowns, n_features) or None, default=None
            Rows that are known to be of no class of ``y``: every fold meets them beside the classes that it leaves out.

        Returns
        -------
        self
        """
        with self._changing():
            return self._search_and_train(X, y, unknowns)

    def _search_and_train(self, X: Any, y: Any, unknowns: Any) -> Self:
        X, y = self._check_training(X, y, reset=True, stacklevel=3)
        strangers = None
        if unknowns is not None:
            strangers = self._check_columns(unknowns)
        metric, space = self._measures(X)
        base = {"metric": metric, "max_extreme_vectors": self.max_extreme_vectors, "confidence": self.confidence}
        classes, codes = _labels.encode(y)
        if len(classes) < 3:
            few = "two classes are" if len(classes) == 2 else "one class is"
            message = f"{few} too few to leave any out; the parameters are the defaults"
            warnings.warn(message, FallbackWarning, stacklevel=3)
        names = _labels.names(classes)
        found = self._search(X, codes, names, strangers, base, space) if len(classes) > 2 else {}
        asked = {name: getattr(self, name) for name in ("max_false_unknown", "max_false_known")}
        asked = {name: share for name, share in asked.items() if share is not None}
        params = _parameters.from_json(json.dumps(found["params"])) if found else {**base, **asked}
        machine = ExtremeValueMachine(
            **params,
            unknown_label=self.unknown_label,
            n_jobs=self.n_jobs,
            device=self.device,
            verbose=self.verbose,
        )
        # Names are checked here, on the data frame; the machine gets the array.
        machine._adopt_columns(self)
        machine._learn(X, y, None, stacklevel=4)
        self._adopt(machine)
        self._record(found)
        return self

    def _measures(self, X: npt.NDArray[np.float32]) -> tuple[str, Any]:
        """The metric to start from, and the space, which has those that "auto" stands for."""
        space = dict(self.space) if isinstance(self.space, Mapping) else self.space
        if self.metric != "auto" or space == "paper":
            return "euclidean" if self.metric == "auto" else self.metric, space
        if space == "full":
            space = {}
        if isinstance(space, dict) and "metric" not in space and X.any(axis=1).all():
            space["metric"] = ["euclidean", "cosine"]
        named = space.get("metric") if isinstance(space, dict) else None
        return named[0] if isinstance(named, (list, tuple)) and named else "euclidean", space

    def _search(
        self,
        X: npt.NDArray[np.float32],
        codes: npt.NDArray[np.int64],
        names: list[str],
        strangers: Features | None,
        base: dict[str, Any],
        space: Any,
    ) -> dict[str, Any]:
        options = {name: _parameters.number(name, getattr(self, name)) for name in _OPTIONS}
        options["shrink"] = bool(self.shrink)
        options["space"] = space
        text = json.dumps(options, default=_plain)
        with Progress(self.verbose) as progress:
            found: dict[str, Any] = json.loads(
                _native.tune(
                    X,
                    codes,
                    names,
                    strangers,
                    _parameters.to_json(base),
                    text,
                    _parameters.means(self),
                    progress.callback,
                )
            )
        return found

    def _record(self, found: dict[str, Any]) -> None:
        """What the search found; nothing where there was none."""
        self.best_score_ = found["chosen"]["mean"] if found else float("nan")
        self.cv_results_ = _columns(found.get("trials", []))
        self.sizes_ = [_line(trial) for trial in found.get("sizes", [])]
        self.references_ = {name: found[name]["mean"] for name in ("paper", "robust") if name in found}
        self.references_.update({rival["name"]: rival["mean"] for rival in found.get("rivals", [])})
        self.lead_ = found.get("lead")
        self.at_delta_ = found.get("at_delta", {})


def _plain(value: Any) -> Any:
    """Numbers and lists of numpy's and of tuples."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise ValueError(f"{value!r} is not a number, a name or a list of them")


def _line(trial: dict[str, Any]) -> dict[str, Any]:
    return {
        "params": _parameters.from_json(json.dumps(trial["params"])),
        "mean_test_score": trial["mean"],
        "standard_error": trial["error"],
        "vector_ratio": trial["vector_ratio"],
    }


def _columns(trials: list[dict[str, Any]]) -> dict[str, Any]:
    lines = [_line(trial) for trial in trials]
    return {
        "params": [line["params"] for line in lines],
        **{
            name: np.array([line[name] for line in lines], dtype=np.float64)
            for name in ("mean_test_score", "standard_error", "vector_ratio")
        },
    }
