"""A pool on disk as a whole: how it stands, what happened to it, and the versions of its model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evmachine import _enrolment, _labels, _native, _parameters
from evmachine._enrolment import Enrolment, HeldBack
from evmachine._pool import UnknownPool
from evmachine._progress import Progress

if TYPE_CHECKING:
    from evmachine._estimator import ExtremeValueMachine

PathLike = str | os.PathLike[str]


def label_type(estimator: ExtremeValueMachine) -> type:
    """What the class names of a pool, which are text, are as labels of the estimator."""
    kinds: dict[str, type] = {"i": int, "u": int, "f": float}
    return kinds.get(estimator.classes_.dtype.kind, str)


class StoredVersions(UnknownPool):
    """The calls that are about the pool or its model and no single sample."""

    path: Path
    _store: _native.Store

    def _follow(self, estimator: ExtremeValueMachine | None) -> ExtremeValueMachine:
        """The estimator with the live version as its model."""
        from evmachine._estimator import ExtremeValueMachine

        file = self.path / "models" / f"{self.status()['live']}.safetensors"
        if estimator is None:
            self.estimator = ExtremeValueMachine.load(file)
            return self.estimator
        model = _native.Model.load(file)
        classes = np.unique(_labels.from_names(model.class_names, label_type(estimator), model.label_type))
        estimator.unknown_label_ = _labels.unknown_label(classes, estimator.unknown_label)
        estimator._model, estimator.classes_ = model, classes
        self.estimator = estimator
        return estimator

    @property
    def enrolment(self) -> Enrolment:
        """What samples must be before they found or extend a class; kept with the pool, for all who use it."""
        return _enrolment.of_json(self._store.enrolment())

    @enrolment.setter
    def enrolment(self, rule: Enrolment | None) -> None:
        self._store.set_enrolment(_enrolment.as_json(rule))

    def held_back(self) -> list[HeldBack]:
        """List the labelled samples that ``enrolment`` holds back from an update now, and why.

        Returns
        -------
        list of HeldBack
        """
        kind, found = label_type(self.estimator), json.loads(self._store.held_back(self._means()))
        return [_enrolment.held(one["sample"], kind(one["class"]), one) for one in found]

    def _means(self) -> tuple[int, str]:
        return _parameters.means(self.estimator)

    def undo(self, event: int | None = None, *, person: str | None = None) -> int:
        """Undo an event: all is as if it had not been. An undoing is an event and can be undone too.

        Parameters
        ----------
        event : int or None, default=None
            Its number; the last in force that is not itself an undoing, unless given.
        person : str or None, default=None
            Who says so.

        Returns
        -------
        int
            The number of the event that says so.
        """
        _, undoing = self._store.undo(event, person)
        self._follow(self.estimator)
        return undoing

    def update(self, *, person: str | None = None) -> ExtremeValueMachine:
        """Learn what was labelled or ignored into a new version, and make it live.

        Parameters
        ----------
        person : str or None, default=None
            Who says so.

        Returns
        -------
        ExtremeValueMachine
            The estimator of the pool, with that version. Where there is nothing to learn, all is as it was; what
            ``enrolment`` holds back stays, with a warning.
        """
        status = self.status()
        if status["to_learn"] or status["to_ignore"]:
            with Progress(self.estimator.verbose) as progress:
                report = self._store.update(person, self._means(), progress.callback)
            self._follow(self.estimator)
            if report is not None:
                self.estimator.report_ = json.loads(report) or self.estimator.report_
            _enrolment.warn(self.held_back())
        return self.estimator

    def promote(self, version: str, *, person: str | None = None) -> ExtremeValueMachine:
        """Make a version live.

        Parameters
        ----------
        version : str
            "previous", its hash or the beginning of it; :meth:`status` lists them.
        person : str or None, default=None
            Who says so.

        Returns
        -------
        ExtremeValueMachine
            The estimator of the pool, with that version.
        """
        self._store.promote(version, person)
        return self._follow(self.estimator)

    def rollback(self, *, person: str | None = None) -> ExtremeValueMachine:
        """Make the previous version live again.

        Parameters
        ----------
        person : str or None, default=None
            Who says so.

        Returns
        -------
        ExtremeValueMachine
            The estimator of the pool, with that version.
        """
        return self.promote("previous", person=person)

    def status(self) -> dict[str, Any]:
        """How the pool stands: counts by state, groups, versions.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = json.loads(self._store.status())
        return found

    def events(self) -> list[dict[str, Any]]:
        """What happened, the first event first.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = json.loads(self._store.events())
        return found

    def check(self) -> list[dict[str, Any]]:
        """What is not as it should be: damage, and files that nobody names.

        Returns
        -------
        list of dict
            Empty where all is well.
        """
        found: list[dict[str, Any]] = json.loads(self._store.check())
        return found
