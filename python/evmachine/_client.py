"""A client of ``evmachine serve``."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evmachine import _inputs, _labels
from evmachine._pool import _numbers
from evmachine._served import ServedAnswer, answer_of, group_of, listed, number_of, picture_of, rows_of
from evmachine._served_review import ServedReview
from evmachine._stored_pool import Group

#: Rows in one call of the server.
_ROWS = 1_000
#: Groups in one call of the server.
_GROUPS = 200


class Client(ServedReview):
    """A server that says what is unknown, keeps it, and learns what a person calls it.

    Threads may share a client. Labels are text, as the server has them; numbers are written as model files have them.
    What the server refuses is a :class:`ServerError`, no answer a :class:`ConnectionError`.

    Parameters
    ----------
    url : str, default="http://127.0.0.1:8080"
        Where ``evmachine serve`` listens.
    key : str or None, default=None
        A key of the server, where it wants one.
    person : str or None, default=None
        Who answers, where the server asks for no key; with a key it is always the name of the key.
    timeout : float, default=60.0
        Seconds to wait for an answer.

    Examples
    --------
    >>> from evmachine import Client
    >>> client = Client("http://127.0.0.1:8080")
    >>> answers = client.predict(X, ids=names)  # doctest: +SKIP
    >>> group = client.suggest(1)[0]  # doctest: +SKIP
    >>> client.label(group, "Q", new_class=True)  # doctest: +SKIP
    1
    >>> client.update().known_now  # doctest: +SKIP
    27
    """

    def predict(
        self,
        X: npt.ArrayLike,
        *,
        ids: Sequence[str | None] | None = None,
        texts: Sequence[str | None] | None = None,
        links: Sequence[str | None] | None = None,
        pictures: Sequence[tuple[str, bytes] | None] | None = None,
        qualities: Sequence[float | None] | None = None,
        occasions: Sequence[str | None] | None = None,
        times: Sequence[float | None] | None = None,
        keep: str = "unknown",
    ) -> list[ServedAnswer]:
        """Decide for each row. What is unknown waits on the server for a person.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        ids : sequence of str, default=None
            What you call the rows. A row that comes again under its id is kept once.
        texts, links : sequence of str, default=None
            What to show of the rows, and where the originals are.
        pictures : sequence of (media type, bytes), default=None
            Small pictures to show, such as ``("image/png", content)``, of at most 256 KiB.
        qualities, occasions, times : sequence, default=None
            How good each row is, of which occasion, and when it was captured, in seconds; :meth:`set_enrolment` asks.
        keep : {"unknown", "all", "none"}, default="unknown"
            Which rows are taken into the pool.

        Returns
        -------
        list of ServedAnswer
        """
        rows = rows_of(X)
        shown = None if pictures is None else [None if one is None else picture_of(*one) for one in pictures]
        columns: dict[str, Sequence[Any] | None] = {"ids": ids, "texts": texts, "links": links, "pictures": shown}
        columns |= {"qualities": qualities, "occasions": occasions, "times": times}
        details = {name: list(column) for name, column in columns.items() if column is not None}
        for name, column in details.items():
            if len(column) != len(rows):
                raise ValueError(f"{len(column)} {name} for {len(rows)} rows")
        answers: list[ServedAnswer] = []
        for first in range(0, len(rows), _ROWS):
            part = slice(first, first + _ROWS)
            if details:
                own = {name: column[part] for name, column in details.items()}
                found = self._ask("/v1/predict", features=listed(rows[part]), keep=keep, **own)
            else:
                content = io.BytesIO()
                np.save(content, rows[part])
                found = self._connections.posted("/v1/predict", {"keep": keep}, content.getvalue(), "application/x-npy")
            answers.extend(answer_of(one) for one in found["decisions"])
        return answers

    def explain(
        self, x: npt.ArrayLike | None = None, *, decision: int | None = None, sample: int | None = None
    ) -> dict[str, Any]:
        """Say why: the training row that carried it, the score without it, and who would have won.

        Parameters
        ----------
        x : array-like of shape (n_features,), default=None
        decision, sample : int, default=None
            A decision or a sample, instead of features.

        Returns
        -------
        dict
        """
        given = {"decision": decision, "sample": sample}
        what: dict[str, Any] = {name: int(number) for name, number in given.items() if number is not None}
        if x is not None:
            what["features"] = listed(rows_of(np.asarray(_inputs.numbers(x))[None, :]))[0]
        if len(what) != 1:
            raise ValueError("give one of x, decision and sample")
        return self._ask("/v1/explain", **what)

    def decisions(self, count: int = 100) -> list[dict[str, Any]]:
        """List the last decisions, the newest first.

        Parameters
        ----------
        count : int, default=100

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = self._get("/v1/decisions", count=count)["decisions"]
        return found

    def drift(self) -> dict[str, Any]:
        """Whether rows still come as the calibrating rows of the live version did, since when not, and why.

        Returns
        -------
        dict
            As :class:`DriftReport`, classes by name; ``text`` is the same in a sentence.
        """
        found: dict[str, Any] = self._get("/v1/drift")
        return found

    def set_aside(self, *, decision: int | None = None, source: int | None = None) -> dict[str, Any]:
        """Set the training row aside that carried a decision, in a new version that is live at once.

        Parameters
        ----------
        decision : int, default=None
        source : int, default=None
            The row itself, as :meth:`explain` has it, instead of a decision.

        Returns
        -------
        dict
        """
        given = {"decision": decision, "source": source}
        which = {name: int(number) for name, number in given.items() if number is not None}
        if len(which) != 1:
            raise ValueError("give one of decision and source")
        return self._tell("/v1/rows/aside", **which)

    def restore_row(self, source: int) -> dict[str, Any]:
        """Bring a row back that was set aside.

        Parameters
        ----------
        source : int
            The row, as :meth:`explain` had it.

        Returns
        -------
        dict
        """
        return self._tell("/v1/rows/restore", source=int(source))

    def not_class(self, label: Any = None, *, decision: int | None = None, sample: int | None = None) -> dict[str, Any]:
        """Say that a row is not of a class, in a new version that is live at once; ``undo`` takes it back.

        Parameters
        ----------
        label : default=None
            The class that it is not of; unless given, the class that it is taken for now.
        decision : int, default=None
        sample : int, default=None
            A sample of the pool, instead of a decision.

        Returns
        -------
        dict
        """
        given = {"decision": decision, "sample": sample}
        which: dict[str, Any] = {name: int(number) for name, number in given.items() if number is not None}
        if len(which) != 1:
            raise ValueError("give one of decision and sample")
        if label is not None:
            which["class"] = str(label)
        return self._tell("/v1/rows/not", **which)

    def suggest(self, n: int = 10) -> list[Group]:
        """Hand the next groups out, the largest gain first; those that were handed out stay as they are.

        For ten minutes, others get them last.

        Parameters
        ----------
        n : int, default=10
            How many at most.

        Returns
        -------
        list of Group
        """
        if n < 0:
            raise ValueError(f"n = {n}: must not be negative")
        groups: list[Group] = []
        place: dict[str, Any] = {}
        while len(groups) < n:
            found = self._ask("/v1/groups/hand-out", count=min(n - len(groups), _GROUPS), sitting=self.sitting, **place)
            groups.extend(group_of(one) for one in found["groups"])
            if found["next"] is None:
                break
            place = {"after": found["next"]}
        return groups

    def group(self, number: int) -> Group:
        """Get one group with all of its samples.

        Parameters
        ----------
        number : int

        Returns
        -------
        Group
        """
        return group_of(self._get(f"/v1/groups/{int(number)}"))

    def split(self, group: int | Group, radius: float) -> list[int]:
        """Have samples that are farther from the exemplar than ``radius`` leave a group.

        Parameters
        ----------
        group : int or Group
        radius : float

        Returns
        -------
        list of int
            The numbers of the groups that it became.
        """
        found: list[int] = self._tell(f"/v1/groups/{number_of(group)}/split", radius=float(radius))["groups"]
        return found

    def merge(self, groups: Iterable[int | Group]) -> int:
        """Make one group of several.

        Parameters
        ----------
        groups : iterable of int or Group

        Returns
        -------
        int
            Its number.
        """
        merged: int = self._tell("/v1/groups/merge", groups=[number_of(group) for group in groups])["group"]
        return merged

    def skip(self, group: int | Group) -> None:
        """Put a group at the end of the queue.

        Parameters
        ----------
        group : int or Group
        """
        self._tell(f"/v1/groups/{number_of(group)}/skip")

    def _say(self, verb: str, samples: int | Iterable[int] | Group, strike: Iterable[int], **more: Any) -> int:
        struck = set(_numbers(strike))
        if isinstance(samples, Group):
            if strangers := sorted(struck.difference(samples.group)):
                raise ValueError(f"strike: sample {strangers[0]} is not in group {samples.number}")
            meant = [sample for sample in samples.group if sample not in struck]
            target: dict[str, Any] = {"samples": meant, "group": samples.number}
        else:
            target = {"samples": _numbers(samples)}
            if struck:
                raise ValueError("strike: only members of a group are struck out; leave them out of samples")
        event: int = self._tell(f"/v1/{verb}", **target, **more)["event"]
        return event

    def label(
        self,
        samples: int | Iterable[int] | Group,
        label: Any,
        *,
        strike: Iterable[int] = (),
        new_class: bool = False,
        replace: bool = False,
        proposed: bool = False,
    ) -> int:
        """Give samples a class.

        Unless all of them wait, nothing is done, and ``ServerError.problem["answered"]`` says who answered what.

        Parameters
        ----------
        samples : int, iterable of int or Group
            Their numbers, or a whole group.
        label
            The class.
        strike : iterable of int, default=()
            Members that do not belong to the group; they wait on.
        new_class : bool, default=False
            Found the class, although its name is close to that of another. Without it such a name is rejected, because
            it may be a typing error, and ``ServerError.problem["known"]`` has the names that are close to it.
        replace : bool, default=False
            Whether answers that the samples have are replaced.
        proposed : bool, default=False
            Whether the system says so by itself, and no person: :meth:`set_enrolment` may hold such samples back until
            a person labels them.

        Returns
        -------
        int
            The event, which :meth:`undo` takes.
        """
        asked = {"new_class": bool(new_class), "replace": bool(replace), "proposed": bool(proposed)}
        return self._say("labels", samples, strike, label=_labels.text(label), **asked)

    def ignore(self, samples: int | Iterable[int] | Group, *, strike: Iterable[int] = (), replace: bool = False) -> int:
        """Say that samples are strangers and are to stay strangers.

        Parameters
        ----------
        samples : int, iterable of int or Group
        strike : iterable of int, default=()
            Members that do not belong to the group.
        replace : bool, default=False
            Whether answers that the samples have are replaced.

        Returns
        -------
        int
            The event.
        """
        return self._say("ignore", samples, strike, replace=bool(replace))

    def discard(
        self, samples: int | Iterable[int] | Group, *, strike: Iterable[int] = (), replace: bool = False
    ) -> int:
        """Say that samples are of no use.

        Parameters
        ----------
        samples : int, iterable of int or Group
        strike : iterable of int, default=()
            Members that do not belong to the group.
        replace : bool, default=False
            Whether answers that the samples have are replaced.

        Returns
        -------
        int
            The event.
        """
        return self._say("discard", samples, strike, replace=bool(replace))

    def unlabel(self, samples: int | Iterable[int]) -> int:
        """Have samples wait again.

        Parameters
        ----------
        samples : int or iterable of int

        Returns
        -------
        int
            The event.
        """
        return self._say("reopen", samples, ())

    def undo(self, event: int) -> int:
        """Undo an event. An undoing is an event and can be undone too.

        Parameters
        ----------
        event : int

        Returns
        -------
        int
            The event that says so.
        """
        undoing: int = self._tell("/v1/undo", event=int(event))["event"]
        return undoing

    def events(self, count: int = 100, *, before: int | None = None) -> list[dict[str, Any]]:
        """List what happened, the newest first.

        Parameters
        ----------
        count : int, default=100
        before : int or None, default=None
            Only events before this one.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = self._get("/v1/events", count=count, before=before)["events"]
        return found

    def sample(self, number: int) -> dict[str, Any]:
        """Get what is known of a sample.

        Parameters
        ----------
        number : int

        Returns
        -------
        dict
        """
        return self._get(f"/v1/samples/{int(number)}")

    def samples(
        self, state: str | None = "waiting", *, count: int = 1_000, **wanted: str | bool | float
    ) -> Iterator[dict[str, Any]]:
        """Go through all samples of a state, or through those for which all holds that is given.

        Parameters
        ----------
        state : {"waiting", "labelled", "ignored", "discarded"} or None, default="waiting"
            None for any.
        count : int, default=1000
            How many are asked for at a time.
        **wanted : str, bool or float
            ``label`` (as people named them), ``best`` (their best class), ``known``, ``id`` and ``text`` (a part of
            it), ``since`` and ``until`` (when they came, in seconds since 1970), ``least_support`` and
            ``most_support``.

        Yields
        ------
        dict
        """
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in wanted.items()}
        last = 0
        while found := self._get("/v1/samples", **query, state=state, count=count, after=last)["samples"]:
            yield from found
            last = found[-1]["number"]
