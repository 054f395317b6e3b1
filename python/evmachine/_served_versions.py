"""A served model: how it stands, and its versions."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evmachine import _enrolment
from evmachine._enrolment import Enrolment, HeldBack
from evmachine._http import Connections
from evmachine._served import Learned, learned_of
from evmachine._stored_versions import PathLike

if TYPE_CHECKING:
    from typing_extensions import Self

#: Seconds between two looks at a server that learns.
_PAUSE = 0.2


class ServedVersions:
    """The calls that are about the model and no single sample."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        key: str | None = None,
        person: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._connections = Connections(url, key, timeout)
        self.person = person
        #: What tells this client from others, where the server asks for no key.
        self.sitting = person or f"python {uuid.uuid4().hex[:8]}"

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._connections.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def close(self) -> None:
        """Close connections that nobody uses; the next call opens another one."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._connections.json("GET", path, query)

    def enrolment(self) -> Enrolment:
        """Say what samples must be before they found or extend a class.

        Returns
        -------
        Enrolment
        """
        return Enrolment(**self._get("/v1/enrolment")["rule"])

    def set_enrolment(self, enrolment: Enrolment | None) -> None:
        """Set what samples must be before they found or extend a class; what was learned before stays.

        Parameters
        ----------
        enrolment : Enrolment or None
            ``None`` asks for nothing.
        """
        self._connections.json("PUT", "/v1/enrolment", body=json.loads(_enrolment.as_json(enrolment)))

    def held_back(self) -> list[HeldBack]:
        """List the labelled samples that an update would not learn now, and why.

        Returns
        -------
        list of HeldBack
        """
        found = self._get("/v1/enrolment")["held_back"]
        return [_enrolment.held(one["sample"], one["class"], one) for one in found]

    def _ask(self, path: str, **body: Any) -> dict[str, Any]:
        return self._connections.json("POST", path, body=body)

    def _tell(self, path: str, **body: Any) -> dict[str, Any]:
        return self._ask(path, **body, **({} if self.person is None else {"person": self.person}))

    def status(self) -> dict[str, Any]:
        """Say how the pool stands: counts by state, groups, classes, versions, learning.

        Returns
        -------
        dict
        """
        return self._get("/v1/status")

    def health(self) -> dict[str, Any]:
        """Say whether it works: closest stranger, closest classes, rate of unknowns over time.

        Returns
        -------
        dict
        """
        return self._get("/v1/health-of-model")

    def update(self, *, timeout: float | None = None) -> Learned:
        """Learn what was labelled or ignored, and wait for it. The server goes on answering.

        Parameters
        ----------
        timeout : float or None, default=None
            Seconds to wait; learning goes on when they are over.

        Returns
        -------
        Learned

        Raises
        ------
        TimeoutError
            If it is not done within ``timeout``.
        RuntimeError
            If nothing was learned.
        """
        self._tell("/v1/update")
        until = None if timeout is None else time.monotonic() + timeout
        while (status := self.status())["learning"] is not None:
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"learning is not done after {timeout} s; it goes on, and status() shows it")
            time.sleep(_PAUSE)
        found = status["last_learning"]
        if found is None or found.get("error"):
            raise RuntimeError(f"nothing was learned: {found['error'] if found else 'it was stopped'}")
        return learned_of(found)

    def stop_update(self) -> None:
        """Stop learning; the live version stays."""
        self._connections.json("DELETE", "/v1/update")

    def versions(self) -> list[dict[str, Any]]:
        """List the versions of the model.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = self._get("/v1/versions")["versions"]
        return found

    def promote(self, version: str) -> None:
        """Make a version live.

        Parameters
        ----------
        version : str
            Its hash.
        """
        self._tell("/v1/versions/promote", version=version)

    def rollback(self) -> None:
        """Make the previous version live again."""
        self._tell("/v1/versions/rollback")

    def compare(self, old: str, new: str, *, count: int = 1_000) -> dict[str, Any]:
        """Compare two versions on the last decisions.

        Parameters
        ----------
        old, new : str
            Their hashes.
        count : int, default=1000
            How many decisions at most.

        Returns
        -------
        dict
        """
        return self._ask("/v1/versions/compare", old=old, new=new, count=count)

    def export(self, path: PathLike) -> None:
        """Write the live model to a file, for :meth:`ExtremeValueMachine.load`.

        Parameters
        ----------
        path : path-like
        """
        from evmachine._files import _write_whole

        _write_whole(Path(path), self._connections.call("GET", "/v1/export"))

    def backup(self, name: str) -> None:
        """Have the server copy the pool into its folder of backups.

        Parameters
        ----------
        name : str
            Letters, digits, ``_`` and ``-``.
        """
        self._ask("/v1/backup", name=name)
