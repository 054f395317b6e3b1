"""A served pool, looked over: samples closely, what is recognised, classes, second opinions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evmachine._pool import _numbers
from evmachine._served_versions import ServedVersions


class ServedReview(ServedVersions):
    """The calls by which people look over what was said and learned."""

    def neighbors(self, number: int, count: int = 8) -> list[dict[str, Any]]:
        """Get the training rows that lie nearest to a sample, whatever their class; never the sample itself.

        Parameters
        ----------
        number : int
        count : int, default=8

        Returns
        -------
        list of dict
            The nearest first.
        """
        found: list[dict[str, Any]] = self._get(f"/v1/samples/{int(number)}/neighbors", count=count)["rows"]
        return found

    def history(self, number: int) -> dict[str, Any]:
        """Get what happened to a sample, and the notes beside it.

        Parameters
        ----------
        number : int

        Returns
        -------
        dict
            ``events``, the latest first, and ``notes``, the first one first.
        """
        return self._get(f"/v1/samples/{int(number)}/history")

    def note(self, number: int, text: str) -> dict[str, Any]:
        """Leave a note beside a sample.

        Parameters
        ----------
        number : int
        text : str
            At most 2,000 characters.

        Returns
        -------
        dict
        """
        return self._tell(f"/v1/samples/{int(number)}/notes", text=text)

    def recognised(self) -> dict[str, list[int]]:
        """Get what waits although the live version knows it.

        ``client.label(samples, name)`` accepts it.

        Returns
        -------
        dict of str to list of int
            By class, the samples, the most doubtful first.
        """
        classes = [found["class"] for found in self._get("/v1/recognised")["classes"]]
        return {name: self._get("/v1/recognised/samples", **{"class": name})["samples"] for name in classes}

    def classes(self) -> list[dict[str, Any]]:
        """List the classes of the live version, and how much there is of each.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = self._get("/v1/classes")["classes"]
        return found

    def class_rows(self, name: str, count: int = 100) -> list[dict[str, Any]]:
        """Get the training rows that a class is made of.

        Parameters
        ----------
        name : str
        count : int, default=100

        Returns
        -------
        list of dict
            ``claimed_by`` is the class that would have a row if the row itself were silent, if that is another one.
        """
        found: list[dict[str, Any]] = self._get("/v1/classes/rows", **{"class": name}, count=count)["rows"]
        return found

    def rename_class(self, name: str, to: str) -> dict[str, Any]:
        """Give a class another name, in a new version that is live at once.

        Parameters
        ----------
        name : str
        to : str

        Returns
        -------
        dict
            ``event``, which can be undone, and ``version``.
        """
        return self._tell("/v1/classes/rename", **{"class": name}, to=to)

    def merge_classes(self, name: str, into: str) -> dict[str, Any]:
        """Make one class of two, in a new version that is live at once.

        Parameters
        ----------
        name : str
            The class that ends.
        into : str
            The one that takes its rows.

        Returns
        -------
        dict
        """
        return self._tell("/v1/classes/merge", **{"class": name}, into=into)

    def move_rows(self, rows: Iterable[int], to: str, *, new_class: bool = False) -> dict[str, Any]:
        """Move training rows to another class, in a new version that is live at once.

        Parameters
        ----------
        rows : iterable of int
            Their ``source``, as :meth:`class_rows` has it.
        to : str
        new_class : bool, default=False
            Found the class, although its name is close to that of another.

        Returns
        -------
        dict
        """
        return self._tell("/v1/classes/move", rows=[int(row) for row in rows], to=to, new_class=new_class)

    def remove_class(self, name: str) -> dict[str, Any]:
        """Take a class out, in a new version that is live at once.

        Parameters
        ----------
        name : str

        Returns
        -------
        dict
        """
        return self._tell("/v1/classes/remove", **{"class": name})

    def ask_opinion(self, samples: int | Iterable[int]) -> int:
        """Ask for a second opinion on samples that were answered.

        Parameters
        ----------
        samples : int or iterable of int

        Returns
        -------
        int
            The event.
        """
        event: int = self._tell("/v1/opinions/ask", samples=_numbers(samples))["event"]
        return event

    def opinions_wanted(self) -> list[dict[str, Any]]:
        """List samples that wait for a second opinion, without what was said of them.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = self._get("/v1/opinions")["samples"]
        return found

    def give_opinion(self, samples: int | Iterable[int], name: str | None, *, new_class: bool = False) -> int:
        """Give a second opinion; the samples stay as they were answered.

        Parameters
        ----------
        samples : int or iterable of int
        name : str or None
            The class; None if they are of none.
        new_class : bool, default=False
            Found the class, although its name is close to that of another.

        Returns
        -------
        int
            The event.
        """
        told = {"samples": _numbers(samples), "label": name, "new_class": new_class}
        event: int = self._tell("/v1/opinions", **told)["event"]
        return event

    def disagreements(self) -> dict[str, Any]:
        """Get the samples whose second opinion is another than their answer, and agreement by class.

        Returns
        -------
        dict
            ``disagreements`` and ``agreement``.
        """
        return self._get("/v1/disagreements")

    def people(self) -> list[dict[str, Any]]:
        """List who is at work, and on which group.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = self._get("/v1/people")["people"]
        return found
