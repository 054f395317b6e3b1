"""A pool of unknowns that lasts: samples, answers and model versions in one folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _enrolment, _labels, _native
from evmachine._enrolment import Enrolment
from evmachine._pool import Suggestion, _numbers
from evmachine._stored_versions import PathLike, StoredVersions, label_type

if TYPE_CHECKING:
    from evmachine._estimator import ExtremeValueMachine


@dataclass(frozen=True)
class Neighbor:
    """A known class near a group.

    Attributes
    ----------
    label
        The class.
    support : float or None
        How far the class lies above the threshold for the exemplar; ``None`` if an earlier version of the library
        looked for it.
    psi : float
        Psi of the class for the exemplar, the paper's probability.
    distance : float
        Distance of the exemplar to the extreme vector of the class that supports it most.
    """

    label: Any
    support: float | None
    psi: float
    distance: float


@dataclass(frozen=True)
class Group(Suggestion):
    """Samples that one answer may serve, and why they are a group. Stays as it is until it is answered.

    Attributes
    ----------
    sample : int
        The exemplar, around which the others lie.
    group : list of int
        Its samples that wait, the nearest to the exemplar first.
    psi : float
        Psi of the nearest known class.
    number : int
        Its number.
    radius : float
        None of its samples is farther from the exemplar.
    neighbors : list of Neighbor
        The known classes that come nearest, best first.
    """

    number: int
    radius: float
    neighbors: list[Neighbor]


class StoredPool(StoredVersions):
    """A pool on disk, which ``UnknownPool(path=...)`` makes or opens; the program ``evmachine pool`` reads the same.

    What a call has returned is on the disk. Several processes may use one pool at once. Pickling it keeps its path.

    Parameters
    ----------
    estimator : ExtremeValueMachine or None, default=None
        The fitted model of a new pool. Where the pool is there already, it becomes the live version.
    path : path-like
        The folder; made if it is not there.
    enrolment : Enrolment or None, default=None
        What samples must be before they found or extend a class, kept with the pool; the rule that it has unless given.

    Attributes
    ----------
    left_out_ : list of dict
        The rows that the last :meth:`add` did not take in because of their quality: "row", "reason" and its numbers.

    Examples
    --------
    >>> import tempfile
    >>> from evmachine import ExtremeValueMachine, UnknownPool
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> evm = ExtremeValueMachine.paper().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> folder = tempfile.mkdtemp()
    >>> pool = UnknownPool(evm, path=folder)
    >>> pool.add([[0.1], [20.0], [20.05], [40.0]])
    [1, 2, 3]
    >>> group = pool.suggest(1)[0]
    >>> group.group
    [1, 2]
    >>> pool.label(group, "far")
    >>> pool.update().predict([[20.02]]).tolist()
    ['far']
    >>> UnknownPool(path=folder).rollback().predict([[20.02]]).tolist()
    ['unknown']
    """

    def __init__(
        self,
        estimator: ExtremeValueMachine | None = None,
        *,
        path: PathLike | None = None,
        enrolment: Enrolment | None = None,
    ) -> None:
        if path is None:
            raise ValueError("a pool on disk needs a path")
        self.path = Path(path)
        if (self.path / "pool.sqlite").is_file():
            self._store = _native.Store.open(self.path)
        elif estimator is None:
            raise ValueError(f"{self.path} holds no pool yet; give an estimator to make one with")
        else:
            self._store = _native.Store.create(self.path, estimator._fitted_model("a pool"))
        if enrolment is not None:
            self.enrolment = enrolment
        self.left_out_ = []
        self._follow(estimator)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "estimator": self.estimator}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._store = _native.Store.open(self.path)
        self.left_out_ = []
        self._follow(state["estimator"])

    def __len__(self) -> int:
        status = self.status()
        return int(status["waiting"] + status["to_learn"])

    def __repr__(self) -> str:
        return f"<StoredPool {str(self.path)!r}: {len(self)} samples, {self.status()['to_learn']} labelled>"

    def _counts(self) -> list[tuple[Any, int]]:
        status = self.status()
        return [*status["labelled"].items(), ("(none yet)", status["waiting"])]

    def add(
        self,
        X: npt.ArrayLike,
        *,
        only_unknown: bool = True,
        ids: Sequence[str | None] | None = None,
        texts: Sequence[str | None] | None = None,
        links: Sequence[str | None] | None = None,
        pictures: Sequence[tuple[str, bytes] | None] | None = None,
        qualities: Sequence[float | None] | None = None,
        occasions: Sequence[str | None] | None = None,
        times: Sequence[float | None] | None = None,
    ) -> list[int]:
        """Add the rows that the live version calls unknown.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        only_unknown : bool, default=True
            ``False`` adds all rows.
        ids : sequence of str, default=None
            What you call the rows. Adding a row again under its id changes nothing.
        texts, links : sequence of str, default=None
            What to show of the rows, and where the originals are.
        pictures : sequence of (media type, bytes), default=None
            Small pictures to show, such as ``("image/png", content)``, of at most 256 KiB.
        qualities : sequence of float, default=None
            The quality of each row: more is better. ``enrolment`` asks for it.
        occasions : sequence of str, default=None
            The occasion of each row, such as a session or a day.
        times : sequence of float, default=None
            The time of each row, in seconds from any start; the time at which it comes unless given.

        Returns
        -------
        list of int
            The numbers of the samples, those that were there already included.
        """
        rows = self.estimator._check_queries(X)
        columns = [ids, texts, links, pictures]
        for name, column in zip(("ids", "texts", "links", "pictures"), columns, strict=True):
            if column is not None and len(column) != len(rows):
                raise ValueError(f"{len(column)} {name} for {len(rows)} rows")
        captured = _enrolment.captured(len(rows), qualities, occasions, times)
        filled = [[None] * len(rows) if column is None else column for column in columns]
        details: list[Any] = list(zip(*filled, captured, strict=True))
        found = self._store.add(np.ascontiguousarray(rows), details, only_unknown, self._means())
        reasons = [(row, reason) for row, (_, reason) in enumerate(found) if reason is not None]
        self.left_out_ = [{"row": row, **json.loads(reason)} for row, reason in reasons]
        return [number for number, _ in found if number is not None]

    def suggest(  # type: ignore[override]
        self, n: int = 10, *, strategy: str = "groups", random_state: int = 0, only_new: bool = False
    ) -> list[Group]:
        """Hand the next groups out. Those that were handed out and not answered come first, as they were.

        Parameters
        ----------
        n : int, default=10
            How many at most.
        strategy : {"groups"}, default="groups"
            A pool on disk hands out its largest groups of unknowns.
        random_state : int, default=0
            Not used.
        only_new : bool, default=False
            Only groups that nobody has got yet, for a second person.

        Returns
        -------
        list of Group
        """
        if strategy != "groups":
            raise ValueError(f"strategy = {strategy!r}: a pool on disk hands out groups")
        if n < 0:
            raise ValueError(f"n = {n}: must not be negative")
        model = self.estimator._model
        labels = _labels.from_names(model.class_names, label_type(self.estimator), model.label_type)
        label = dict(zip(model.class_names, labels.tolist(), strict=True))
        groups = []
        for found in json.loads(self._store.next_groups(n, only_new, self._means())):
            near = [
                Neighbor(label.get(one["class"], one["class"]), one["support"], one["psi"], one["distance"])
                for one in found["neighbors"]
            ]
            members = [member["sample"] for member in found["members"]]
            psi = near[0].psi if near else 0.0
            groups.append(Group(found["exemplar"], members, psi, found["number"], found["radius"], near))
        return groups

    def _answer(
        self,
        kind: str,
        samples: int | Iterable[int] | Group,
        strike: Iterable[int],
        person: str | None,
        label: str = "",
    ) -> int:
        if isinstance(samples, Group):
            target, numbers = samples.number, _numbers(strike)
        else:
            target, numbers = None, _numbers(samples)
        return self._store.answer(kind, label, numbers, target, person, self._means())[1]

    def label(
        self,
        samples: int | Iterable[int] | Group,
        label: Any,
        *,
        strike: Iterable[int] = (),
        person: str | None = None,
        new_class: bool = False,
        proposed: bool = False,
    ) -> None:
        """Give samples a class. A later answer replaces an earlier one, until it was learned.

        Parameters
        ----------
        samples : int, iterable of int or Group
            Their numbers, or a whole group.
        label
            Of the type that the classes of the model have.
        strike : iterable of int, default=()
            Members that do not belong to the group; they go on to wait in other groups.
        person : str or None, default=None
            Who says so.
        new_class : bool, default=False
            Found the class, although its name is close to that of another. Without it such a label is rejected, because
            it may be a typing error.
        proposed : bool, default=False
            Whether the system says so by itself, and no person: ``enrolment`` may hold such samples back until a person
            labels them.
        """
        name = str(self._of_one_type(label))
        self._store.check_label(name, bool(new_class))
        self._answer("propose" if proposed else "label", samples, strike, person, name)

    def ignore(
        self, samples: int | Iterable[int] | Group, *, strike: Iterable[int] = (), person: str | None = None
    ) -> None:
        """Say that samples are strangers and are to stay strangers.

        Parameters
        ----------
        samples : int, iterable of int or Group
        strike : iterable of int, default=()
            Members that do not belong to the group.
        person : str or None, default=None
            Who says so.
        """
        self._answer("ignore", samples, strike, person)

    def discard(
        self, samples: int | Iterable[int] | Group, *, strike: Iterable[int] = (), person: str | None = None
    ) -> None:
        """Say that samples are of no use.

        Parameters
        ----------
        samples : int, iterable of int or Group
        strike : iterable of int, default=()
            Members that do not belong to the group.
        person : str or None, default=None
            Who says so.
        """
        self._answer("discard", samples, strike, person)

    def unlabel(self, samples: int | Iterable[int]) -> None:
        """Have samples wait again.

        Parameters
        ----------
        samples : int or iterable of int
            Their numbers.
        """
        self._answer("reopen", samples, (), None)

    def remove(self, samples: int | Iterable[int]) -> int:
        """As :meth:`discard`.

        Parameters
        ----------
        samples : int or iterable of int
            Their numbers.

        Returns
        -------
        int
            How many they were.
        """
        return self._answer("discard", samples, (), None)

    def samples(self) -> tuple[list[int], npt.NDArray[np.float32], list[Any]]:
        """Everything that waits, or is labelled and not learned yet.

        Returns
        -------
        numbers : list of int
        X : ndarray of shape (n_samples, n_features)
        labels : list
            ``None`` where there is none yet.
        """
        numbers, X, names = self._store.samples()
        kind = label_type(self.estimator)
        return numbers, X, [None if name is None else kind(name) for name in names]

    def sample(self, number: int) -> dict[str, Any]:
        """What is known of a sample: its state, decision, group, text and link.

        Parameters
        ----------
        number : int

        Returns
        -------
        dict
        """
        found: dict[str, Any] = json.loads(self._store.sample(number))
        return {**found, "picture": self._store.picture(number)}

    def backup(self, folder: PathLike) -> None:
        """Copy the pool, as it is at one moment, while others use it.

        Parameters
        ----------
        folder : path-like
            Must be empty, or not there yet.
        """
        self._store.backup(os.fspath(folder))

    @classmethod
    def restore(cls, backup: PathLike, path: PathLike) -> StoredPool:
        """Make a pool of a backup.

        Parameters
        ----------
        backup : path-like
        path : path-like
            The folder of the pool; must be empty, or not there yet.

        Returns
        -------
        StoredPool
        """
        _native.Store.restore(os.fspath(backup), os.fspath(path))
        return cls(path=path)
