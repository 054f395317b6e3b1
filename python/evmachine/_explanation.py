"""Why a query was decided as it was."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evmachine._rows import Row, origin


@dataclass(frozen=True)
class Answer:
    """What the model says of a query.

    Attributes
    ----------
    label
        What ``predict`` says: the class, or the label of what is unknown.
    known : bool
        Whether it is known.
    best
        The class of highest support, known or not; far out not always the nearest one.
    support : float
        How far it lies above the threshold: known from 0 on.
    p_value : float or None
        The share of known queries that score no higher; ``None`` without calibration.
    p_known : float or None
        P(known), if known and unknown queries come equally often; ``None`` without calibration.
    psi : float
        Psi of the best class, the paper's probability.
    """

    label: Any
    known: bool
    best: Any
    support: float
    p_value: float | None
    p_known: float | None
    psi: float


@dataclass(frozen=True)
class Speaker(Row):
    """An extreme vector that counted, and the training row that it came from.

    Attributes
    ----------
    index, number, id, batch, batch_name, time
        As for :class:`Row`.
    extreme_vector : int
        Its row in ``extreme_vectors_``.
    distance : float
        Its distance to the query.
    psi : float
        Its psi at that distance.
    radius : float
        The distance at which its psi falls below the rejection threshold.
    """

    extreme_vector: int
    distance: float
    psi: float
    radius: float


@dataclass(frozen=True)
class IgnoredNearby(Row):
    """The ignored sample that is nearest to a query.

    Attributes
    ----------
    index, number, id, batch, batch_name, time
        As for :class:`Row`.
    distance : float
        Its distance to the query.
    decides : bool
        Whether no extreme vector is nearer, which makes the query unknown.
    """

    distance: float
    decides: bool


@dataclass(frozen=True)
class DeniedNearby(Row):
    """The row that is not of a class (``not_class``) and nearest to a query.

    Attributes
    ----------
    index, number, id, batch, batch_name, time
        As for :class:`Row`.
    label
        The class that it is not of.
    distance : float
        Its distance to the query.
    decides : bool
        Whether no extreme vector is nearer, so that the query is not answered with the class.
    """

    label: Any
    distance: float
    decides: bool


@dataclass(frozen=True)
class Testimony:
    """What each witness says of a class, in the unit of support; the class has the sum of it.

    Attributes
    ----------
    features : float
        The support in feature space.
    logits : float
        The machine over the logits of the linear probe.
    probe : float
        The linear probe itself.
    forest : float
        The forest.
    """

    features: float
    logits: float
    probe: float
    forest: float


@dataclass(frozen=True)
class ClassEvidence:
    """What one class has to say.

    Attributes
    ----------
    label
        The class.
    support : float
        How far it lies above the threshold.
    psi : float
        Its psi, the paper's P(class | query).
    witnesses : Testimony or None
        Which witness said what; ``None`` if the features are the only one (``shares_`` is ``None``).
    extreme_vectors : list of Speaker
        The extreme vectors whose psi were averaged, largest first.
    """

    label: Any
    support: float
    psi: float
    witnesses: Testimony | None
    extreme_vectors: list[Speaker]


@dataclass(frozen=True)
class Explanation(Answer):
    """The reasons for one answer.

    Attributes
    ----------
    label, known, best, support, p_value, p_known, psi
        As for :class:`Answer`.
    distance_to_boundary : float
        How far the query must move at least to change between known and unknown, if one psi decides
        (``n_fused=1``, no ``contrast``, no witness beside the features).
    classes : list of ClassEvidence
        The best classes, best first.
    ignored : IgnoredNearby or None
        The nearest ignored sample, if the model has any.
    denied : list of DeniedNearby
        For each class that the query cannot be because it was said so (``not_class``), the row that it was said of; if
        there is none, the nearest of such rows, if the model has any.
    """

    distance_to_boundary: float
    classes: list[ClassEvidence]
    ignored: IgnoredNearby | None
    denied: list[DeniedNearby]


@dataclass(frozen=True)
class Doubt(Answer):
    """What an answer rests on.

    Attributes
    ----------
    label, known, best, support, p_value, p_known, psi
        As for :class:`Answer`.
    because : Speaker
        The training row of the best class that speaks loudest.
    without : Answer
        The answer if that row were silent. The margins that it gave to others are still theirs; ``set_aside`` takes
        them back too.
    """

    because: Speaker
    without: Answer


@dataclass(frozen=True)
class Difference:
    """A query that two estimators decide differently.

    Attributes
    ----------
    query : int
        Its row in ``X``, from 0.
    before, after
        What ``predict`` of the first and of the second says.
    """

    query: int
    before: Any
    after: Any


def _number(value: float | None) -> float:
    """JSON has no infinity."""
    return math.inf if value is None else value


@dataclass(frozen=True)
class Names:
    """What the library's names of classes are here.

    Attributes
    ----------
    labels : mapping
        The label of each class, by its name in the library.
    unknown
        What is said of queries of no class.
    """

    labels: Mapping[str, Any]
    unknown: Any

    def _answer(self, found: Mapping[str, Any]) -> dict[str, Any]:
        support = found["support"]
        return {
            "label": self.labels[found["class"]] if found["known"] else self.unknown,
            "known": found["known"],
            "best": self.labels[found["best"]],
            "support": math.inf if support == sys.float_info.max else support,
            "p_value": found["p_value"],
            "p_known": found["p_known"],
            "psi": found["psi"],
        }

    def _evidence(self, found: Mapping[str, Any]) -> ClassEvidence:
        witnesses = found.get("witnesses")
        return ClassEvidence(
            self.labels[found["class"]],
            found["support"],
            found["psi"],
            None if witnesses is None else Testimony(**{name: _number(part) for name, part in witnesses.items()}),
            [_speaker(speaker) for speaker in found["extreme_vectors"]],
        )

    def _denied(self, found: Mapping[str, Any]) -> DeniedNearby:
        more = (self.labels[found["class"]], found["distance"], found["decides"])
        return DeniedNearby(*origin(list(found["row"].values()), *more))

    def explanations(self, text: str) -> list[Explanation]:
        """What the library's reasons are here."""
        return [
            Explanation(
                **self._answer(found),
                distance_to_boundary=_number(found["distance_to_boundary"]),
                classes=[self._evidence(evidence) for evidence in found["classes"]],
                ignored=_nearby(found.get("ignored")),
                denied=[self._denied(near) for near in found.get("denied", ())],
            )
            for found in json.loads(text)
        ]

    def doubts(self, text: str) -> list[Doubt]:
        """What the library's doubts are here."""
        return [
            Doubt(
                **self._answer(found),
                because=_speaker(found["because"]),
                without=Answer(**self._answer(found["without"])),
            )
            for found in json.loads(text)
        ]


def _speaker(found: Mapping[str, Any]) -> Speaker:
    more = (found["extreme_vector"], found["distance"], found["psi"], _number(found["radius"]))
    return Speaker(*origin(list(found["row"].values()), *more))


def _nearby(found: Mapping[str, Any] | None) -> IgnoredNearby | None:
    if found is None:
        return None
    return IgnoredNearby(*origin(list(found["row"].values()), found["distance"], found["decides"]))
