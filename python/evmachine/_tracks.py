"""One answer for rows that belong together."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _inputs, _labels, _native
from evmachine._parameters import means
from evmachine._progress import Progress

if TYPE_CHECKING:
    from evmachine._open_set import Fitted

Features = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TrackAnswer:
    """What the model says of a track.

    Attributes
    ----------
    track
        The track, as ``groups`` has it.
    label
        Its class, or the label of what is unknown.
    known : bool
        Whether it is known.
    best
        The class of highest mean support, known or not.
    support : float
        How far that mean lies above the threshold for rows. The rule decides, and not its sign.
    p_value : float or None
        The share of known tracks that score no higher, or a bound on it; ``None`` without calibration.
    rows : int
        Rows of the track.
    sure_at : int or None
        The row of the track at which it was sure, from 1; ``None`` if it was decided at its end.
    disagree : list of int
        Rows of the track that by themselves are answered otherwise, from 1.
    """

    track: Any
    label: Any
    known: bool
    best: Any
    support: float
    p_value: float | None
    rows: int
    sure_at: int | None
    disagree: list[int]


def _places(groups: npt.ArrayLike, rows: int, name: str) -> list[str]:
    """For each row the place of its group, in the order in which they first come, as text."""
    values = np.asarray(groups)
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"{name} has shape {values.shape}; there must be one for each of the {rows} rows")
    places: dict[Any, int] = {}
    return [str(places.setdefault(value, len(places))) for value in values.tolist()]


class AnswersTracks:
    """One answer for rows that belong together."""

    verbose: int | bool

    if TYPE_CHECKING:

        def _fitted(self) -> Fitted: ...
        def _check_queries(self, X: Any) -> Features: ...
        def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Features, npt.NDArray[Any]]: ...

    def predict_tracks(
        self,
        X: npt.ArrayLike,
        groups: npt.ArrayLike,
        *,
        calibration: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> list[TrackAnswer]:
        """One answer for each track: frames of one face, windows of one speaker, photos of one animal.

        The supports of a class are averaged over the rows of a track. Rows of a track depend on each other, so the
        rule is set on tracks (``calibration``), or is one that keeps the model's share of known ones rejected
        (``max_false_unknown``) whatever the dependence: unknown is a track of which half of the rows have a p-value of
        at most half that share. The latter accepts more strangers.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            In the order in which they came.
        groups : array-like of shape (n_queries,)
            The track of each query.
        calibration : tuple of (X, y, groups) or None, default=None
            Labelled rows that the model has not learned, with the track of each. A track has one class; those of
            classes that the model does not know are passed over.

        Returns
        -------
        list of TrackAnswer
            In the order in which tracks first come.
        """
        checked, fitted = self._check_queries(X), self._fitted()
        known = None
        if calibration is not None:
            rows, y, of = calibration
            rows, y = self._check_training(rows, y, reset=False)
            known = _inputs.filled(rows, fitted.model.fill_values), y, of
        with Progress(self.verbose) as progress:
            return _answers(fitted, checked, groups, known, means(self), progress.callback)


def _answers(
    fitted: Fitted,
    X: Features,
    groups: npt.ArrayLike,
    calibration: tuple[Features, npt.NDArray[Any], npt.ArrayLike] | None,
    used: tuple[int, str],
    progress: Any,
) -> list[TrackAnswer]:
    tracks = _places(groups, len(X), "groups")
    named = dict(zip(tracks, np.asarray(groups).tolist(), strict=True))
    known = None
    if calibration is not None:
        rows, y, of = calibration
        classes, codes = _labels.encode(y)
        known = rows, codes, _labels.names_for(fitted.model, classes), _places(of, len(rows), "calibration groups")
    text = _native.decide_tracks(fitted.model, X, tracks, known, used, progress)
    labels = fitted.names().labels
    return [
        TrackAnswer(
            track=named[found["track"]],
            label=labels[found["class"]] if found["known"] else fitted.unknown,
            known=found["known"],
            best=labels[found["best"]],
            support=math.inf if found["support"] == sys.float_info.max else found["support"],
            p_value=found["p_value"],
            rows=found["rows"],
            sure_at=found["sure_at"],
            disagree=found["disagree"],
        )
        for found in json.loads(text)
    ]
