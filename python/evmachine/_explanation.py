"""Why a query was decided as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Speaker:
    """An extreme vector that spoke.

    Attributes
    ----------
    extreme_vector : int
        Its row in ``extreme_vectors_``.
    index : int
        The training row it came from, counted over all data ever learned from.
    distance : float
        Its distance to the query.
    psi : float
        Its psi at that distance.
    radius : float
        The distance at which its psi falls below the rejection threshold.
    """

    extreme_vector: int
    index: int
    distance: float
    psi: float
    radius: float


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
    probability : float
        P(class | query).
    testimony : Testimony or None
        Which witness said what; ``None`` where the features are the only one (``shares_`` is ``None``).
    speakers : list of Speaker
        The extreme vectors whose psi were averaged, largest first.
    """

    label: Any
    probability: float
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
    probability : float
        Its probability.
    distance_to_boundary : float
        How far the query must move at least to change between known and unknown, where one psi decides
        (``n_fused=1``, no ``contrast``, no witness beside the features).
    classes : list of ClassEvidence
        The best classes, best first.
    """

    label: Any
    best: Any
    probability: float
    distance_to_boundary: float
    classes: list[ClassEvidence]


def from_rows(rows: Sequence[Any], labels: Sequence[Any], unknown: Any) -> list[Explanation]:
    """Names for what the library returned; ``labels`` are in the library's order of classes."""
    return [
        Explanation(
            label=labels[best] if accepted else unknown,
            best=labels[best],
            probability=probability,
            distance_to_boundary=boundary,
            classes=[
                ClassEvidence(
                    labels[number],
                    class_probability,
                    None if testimony is None else Testimony(*testimony),
                    [Speaker(*speaker) for speaker in speakers],
                )
                for number, class_probability, testimony, speakers in evidence
            ],
        )
        for best, accepted, probability, boundary, evidence in rows
    ]
