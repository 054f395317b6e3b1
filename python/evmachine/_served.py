"""What a server takes and gives, as Python has it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evmachine import _inputs
from evmachine._explanation import Answer
from evmachine._stored_pool import Group, Neighbor


@dataclass(frozen=True)
class ServedAnswer(Answer):
    """What the server decided for a row.

    Attributes
    ----------
    label, known, best, support, p_value, p_known, psi
        As for :class:`Answer`; the label of what is unknown is ``None``.
    decision : int
        The number of the decision, for :meth:`Client.explain` and :meth:`Client.set_aside`.
    sample : int or None
        The number of the sample, if it was taken into the pool.
    held_back : dict or None
        Why the rule of the pool did not take it in, if it did not: "reason" and its numbers.
    """

    decision: int
    sample: int | None
    held_back: dict[str, Any] | None = None


@dataclass(frozen=True)
class Learned:
    """What an update made of the answers.

    Attributes
    ----------
    version : str
        The version that is live now.
    event : int or None
        The event that says so; :meth:`Client.undo` takes it back.
    before_waiting : int
        How many samples waited before.
    known_now : int
        How many of them the new version knows.
    changed_decisions : int
        How many of the last decisions it would make otherwise.
    """

    version: str
    event: int | None
    before_waiting: int
    known_now: int
    changed_decisions: int


def rows_of(X: Any) -> npt.NDArray[np.float32]:
    """Features as the server takes them. NaN is a missing value, which the model may fill.

    Raises
    ------
    ValueError
        Naming the first value that no float32 holds.
    """
    found = np.asarray(_inputs.matrix(X))
    if found.ndim != 2 or found.dtype.kind not in "biuf":
        raise ValueError(f"X must be numbers in two dimensions, not {found.dtype} of shape {found.shape}")
    rows = _inputs.narrow(found, None, stacklevel=3)
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0].tolist()
        raise ValueError(
            f"row {row}, column {column} of X is {found[row, column]}, which is no float32; leave the row out"
        )
    return rows


def listed(rows: npt.NDArray[np.float32]) -> list[list[float | None]]:
    """Rows as JSON has them, which knows no NaN."""
    return [[None if value != value else value for value in row] for row in rows.tolist()]


def picture_of(media_type: str, content: bytes) -> dict[str, str]:
    return {"media_type": media_type, "base64": base64.b64encode(content).decode()}


def answer_of(found: dict[str, Any]) -> ServedAnswer:
    return ServedAnswer(
        label=found["class"],
        known=found["known"],
        best=found["best"],
        support=found["support"],
        p_value=found["p_value"],
        p_known=found["p_known"],
        psi=found["psi"],
        decision=found["decision"],
        sample=found["sample"],
        held_back=found.get("held_back"),
    )


def group_of(found: dict[str, Any]) -> Group:
    near = [Neighbor(one["class"], one["support"], one["psi"], one["distance"]) for one in found["neighbors"]]
    members = list(found["samples"])
    psi = near[0].psi if near else 0.0
    return Group(found["exemplar"], members, psi, found["number"], found["radius"], near)


def number_of(group: int | Group) -> int:
    return group.number if isinstance(group, Group) else int(group)


def learned_of(found: dict[str, Any]) -> Learned:
    return Learned(
        found["version"], found["event"], found["before_waiting"], found["known_now"], found["changed_decisions"]
    )
