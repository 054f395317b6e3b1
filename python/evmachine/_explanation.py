"""Why a query was decided as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evmachine._rows import Row, origin


@dataclass(frozen=True)
class Speaker(Row):
    """An extreme vector that spoke, and the training row that it came from.

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
    """

    features: float
    logits: float
    probe: float


@dataclass(frozen=True)
class ClassEvidence:
    """What one class has to say.

    Attributes
    ----------
    label
        The class.
    psi : float
        Its psi, the paper's P(class | query).
    testimony : Testimony or None
        Which witness said what; ``None`` where the features are the only one (``shares_`` is ``None``).
    speakers : list of Speaker
        The extreme vectors whose psi were averaged, largest first.
    """

    label: Any
    psi: float
    testimony: Testimony | None
    speakers: list[Speaker]


@dataclass(frozen=True)
class Explanation:
    """The reasons for one decision.

    Attributes
    ----------
    label
        What ``predict`` says.
    best
        The class of highest support, accepted or not; far out not always the nearest one.
    support : float
        How far it lies above the threshold: known from 0 on.
    psi : float
        Its psi, the paper's probability.
    distance_to_boundary : float
        How far the query must move at least to change between known and unknown, where one psi decides
        (``n_fused=1``, no ``contrast``, no witness beside the features).
    classes : list of ClassEvidence
        The best classes, best first.
    ignored : IgnoredNearby or None
        The nearest ignored sample, where the model has any.
    """

    label: Any
    best: Any
    support: float
    psi: float
    distance_to_boundary: float
    classes: list[ClassEvidence]
    ignored: IgnoredNearby | None


@dataclass(frozen=True)
class Doubt:
    """What a decision rests on.

    Attributes
    ----------
    label
        What ``predict`` says.
    support : float
        How far the best class lies above the threshold: known from 0 on.
    psi : float
        Its psi, the paper's probability.
    carrier : Speaker
        The training row of the best class that speaks loudest.
    label_without
        What ``predict`` would say if that row were silent. The margins that it gave to others are still theirs;
        ``set_aside`` takes them back too.
    best_without
        The class that would have the highest support then, accepted or not.
    support_without, psi_without : float
        Its support and its psi.
    """

    label: Any
    support: float
    psi: float
    carrier: Speaker
    label_without: Any
    best_without: Any
    support_without: float
    psi_without: float


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


def _speaker(row: Sequence[Any]) -> Speaker:
    fields, *rest = row
    return Speaker(*origin(fields, *rest))


def _nearby(row: Sequence[Any] | None) -> IgnoredNearby | None:
    if row is None:
        return None
    fields, *rest = row
    return IgnoredNearby(*origin(fields, *rest))


def from_rows(rows: Sequence[Any], labels: Sequence[Any], unknown: Any) -> list[Explanation]:
    """Names for what the library returned; ``labels`` are in the library's order of classes."""
    return [
        Explanation(
            label=labels[best] if accepted else unknown,
            best=labels[best],
            support=support,
            psi=psi,
            distance_to_boundary=boundary,
            classes=[
                ClassEvidence(
                    labels[number],
                    class_psi,
                    None if testimony is None else Testimony(*testimony),
                    [_speaker(speaker) for speaker in speakers],
                )
                for number, class_psi, testimony, speakers in evidence
            ],
            ignored=_nearby(ignored),
        )
        for (best, accepted, support, psi), boundary, evidence, ignored in rows
    ]


def doubts(rows: Sequence[Any], labels: Sequence[Any], unknown: Any) -> list[Doubt]:
    """Names for what the library returned, likewise."""
    return [
        Doubt(
            label=labels[best] if accepted else unknown,
            support=support,
            psi=psi,
            carrier=_speaker(carrier),
            label_without=labels[other] if still else unknown,
            best_without=labels[other],
            support_without=support_without,
            psi_without=psi_without,
        )
        for (best, accepted, support, psi), carrier, (other, still, support_without, psi_without) in rows
    ]
