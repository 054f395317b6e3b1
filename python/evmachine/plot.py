"""Pictures with matplotlib, which is needed for these alone: ``pip install evmachine[plot]``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _native, metrics
from evmachine._open_set import OpenSetClassifier
from evmachine._parameters import means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["openness_curve", "oscr_curve", "parameter_histograms", "psi_contours"]

#: Okabe and Ito's colours, as in the pictures of the program.
_COLOURS = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#882255", "#b8ac10", "#332288", "#999999", "#664422", "#44aa44",
]  # fmt: skip
_INK = "#1a1a1a"


def _axes(given: Any, columns: int = 1, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The axes that the caller gave, or those of a figure of its own."""
    if given is not None:
        return given
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'evmachine[plot]'") from None
    return pyplot.subplots(1, columns, figsize=size, layout="constrained")[1]


def _rule(estimator: OpenSetClassifier) -> str:
    """What is unknown, in words."""
    rule = json.loads(estimator._native_model().params)["rejection_threshold"]
    if not isinstance(rule, dict):
        return f"delta = {rule:.3g}"
    ((name, share),) = rule.items()
    if name == "support":
        return f"support = {share:.3g}"
    who = {"false_known": "unknown accepted", "false_unknown": "known rejected"}
    return f"{100 * share:.3g} % of {who.get(name, 'each class rejected')}"


def _tidy(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e3e3e3", linewidth=0.8)
    ax.set_axisbelow(True)


def psi_contours(
    estimator: OpenSetClassifier,
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    resolution: int = 200,
) -> Axes:
    """Contours of the largest psi of a model of two features, with points on top.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted on two features.
    X : array-like of shape (n_points, 2) or None, default=None
        Points to draw; the extreme vectors unless given.
    y : array-like of shape (n_points,) or None, default=None
        Their labels; what the model says of them unless given. Unknown ones are crosses.
    ax : matplotlib Axes or None, default=None
    resolution : int, default=200
        Cells along each side.

    Returns
    -------
    matplotlib Axes
    """
    model = estimator._native_model()
    if model.dimensions != 2:
        raise ValueError(f"psi contours need 2 features; the model has {model.dimensions}")
    ax = _axes(ax)
    vectors = model.feature_vectors
    points = vectors if X is None else np.asarray(X, dtype=np.float32)
    everything = np.vstack([vectors, points])
    low, high = everything.min(axis=0), everything.max(axis=0)
    pad = 0.15 * np.maximum(high - low, 1e-6)
    sides = [np.linspace(low[i] - pad[i], high[i] + pad[i], resolution, dtype=np.float32) for i in (0, 1)]
    cells = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
    decided = _native.decide(model, np.ascontiguousarray(cells), means(estimator))
    _, accepted, psi, support, _ = (part.reshape(resolution, -1) for part in decided)
    levels = np.linspace(0.0, 1.0, 11)
    filled = ax.contourf(*sides, psi, levels=levels, cmap="Blues", vmax=1.8)
    ax.figure.colorbar(filled, ax=ax, label="largest psi", ticks=levels[::2])
    if accepted.any() and not accepted.all():
        # Far from the threshold a support may be infinite, and the line does not depend on how far.
        near = np.clip(support, -1.0, 1.0)
        ax.contour(*sides, near, levels=[0.0], colors=_INK, linestyles="--", linewidths=1.0)
        ax.plot([], [], color=_INK, linestyle="--", linewidth=1.0, label=_rule(estimator))
    if y is not None:
        labels = np.asarray(y)
    elif X is not None:
        labels = estimator.predict(X)
    else:
        labels = estimator.classes_[estimator._class_positions(model)[model.vector_classes]]
    for position, label in enumerate(estimator.classes_.tolist()):
        own = labels == label
        colour = _COLOURS[position % len(_COLOURS)]
        across, up = points[own].T
        ax.scatter(across, up, s=18, color=colour, edgecolors="white", linewidths=0.5, label=str(label))
    strange = ~np.isin(labels, estimator.classes_)
    if strange.any():
        across, up = points[strange].T
        ax.scatter(across, up, s=36, color=_INK, marker="x", label=str(estimator.unknown_label_))
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=6)
    names = getattr(estimator, "feature_names_in_", ["first feature", "second feature"])
    ax.set_xlabel(str(names[0]))
    ax.set_ylabel(str(names[1]))
    return ax


def parameter_histograms(estimator: OpenSetClassifier, *, axes: Any = None) -> Any:
    """Histograms of the fitted shapes and scales, before pooling.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted.
    axes : two matplotlib Axes or None, default=None

    Returns
    -------
    ndarray of two matplotlib Axes
    """
    axes = _axes(axes, 2, (8.0, 3.6))
    model = estimator._native_model()
    for ax, values, name in zip(axes, (model.shapes, model.scales), ("shape (kappa)", "scale (lambda)"), strict=True):
        positive = values[values > 0]
        if positive.max() > 20 * positive.min():
            ax.hist(positive, bins=np.geomspace(positive.min(), positive.max() * (1 + 1e-9), 40), color=_COLOURS[0])
            ax.set_xscale("log")
        else:
            ax.hist(positive, bins=40, color=_COLOURS[0])
        ax.set_xlabel(name)
        ax.set_ylabel("extreme vectors")
        _tidy(ax)
    return axes


def oscr_curve(estimator: OpenSetClassifier, X: npt.ArrayLike, y: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """The OSCR curve: what share of known queries is right at what share of accepted unknowns.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted.
    X : array-like of shape (n_queries, n_features)
    y : array-like of shape (n_queries,)
        True labels, of known and unknown classes.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    unknown, known = metrics.oscr_curve(estimator, X, y)
    area = float(np.sum(np.diff(unknown) * (known[1:] + known[:-1]) / 2))
    ax.plot(unknown, known, color=_COLOURS[0], label=f"OSCR = {area:.3f}")
    report = metrics.open_set_report(estimator, X, y)
    now = (1.0 - report["unknown_accuracy"], report["known_accuracy"])
    ax.plot(*now, "o", color=_COLOURS[1], label=f"at {_rule(estimator)}")
    ax.set_xlabel("unknown queries accepted")
    ax.set_ylabel("known queries accepted and right")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.legend(frameon=False, loc="lower right")
    _tidy(ax)
    return ax


def openness_curve(
    estimator: OpenSetClassifier,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    ax: Axes | None = None,
    random_state: int = 0,
) -> Axes:
    """F1 and accuracy as unknown classes join one by one.

    Parameters
    ----------
    estimator : ExtremeValueMachine or ExtremeValueMachineCV
        Fitted.
    X : array-like of shape (n_queries, n_features)
    y : array-like of shape (n_queries,)
        True labels, of known and unknown classes.
    ax : matplotlib Axes or None, default=None
    random_state : int, default=0
        Seed of the order in which unknown classes join.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    curve = metrics.openness_curve(estimator, X, y, random_state=random_state)
    ax.plot(curve.openness, curve.f1, marker="o", markersize=4, color=_COLOURS[0], label="F1 over known classes")
    ax.plot(curve.openness, curve.accuracy, marker="s", markersize=4, color=_COLOURS[1], label="accuracy")
    ax.set_xlabel("openness")
    ax.set_ylabel("rate")
    ax.set_ylim(0.0, 1.02)
    ax.legend(frameon=False, loc="lower left")
    _tidy(ax)
    return ax
