"""Calls of a server: connections are kept open between calls; what the server refuses becomes an error."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

#: Seconds after which a connection that nobody used is opened anew: the server may have closed it.
_IDLE = 4.0


class ServerError(Exception):
    """What the server refused, as it says it (RFC 9457).

    Attributes
    ----------
    status : int
        The HTTP status, such as 409.
    title : str
        What kind of problem it is.
    detail : str
        What is wrong, and what to do.
    problem : dict
        All that the server said.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        self.title = str(problem.get("title") or http.client.responses.get(status, "Problem"))
        self.detail = str(problem.get("detail") or self.title)
        super().__init__(f"{self.detail} ({status})")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.problem)


class Connections:
    """Connections to one server, as many as are in use at once. Threads may share it."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url = {url!r}: must be such as http://127.0.0.1:8080")
        if parts.query or parts.fragment or parts.username or parts.password:
            raise ValueError(f"url = {url!r}: only scheme, host, port and path; a key is given as key=")
        if key is not None and not (key.isascii() and key.isprintable() and key):
            raise ValueError("key: must be printable ASCII")
        self.url = url
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._lock = threading.Lock()
        #: Those that nobody uses, with the time of their last use, the last one last.
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def json(self, method: str, path: str, query: dict[str, Any] | None = None, body: Any = None) -> dict[str, Any]:
        """A call that takes and gives JSON."""
        if body is None:
            return self._parsed(self.call(method, path, query))
        content = json.dumps(body, allow_nan=False).encode()
        return self._parsed(self.call(method, path, query, content, "application/json"))

    def posted(self, path: str, query: dict[str, Any], content: bytes, content_type: str) -> dict[str, Any]:
        """Bytes to the server, JSON back."""
        return self._parsed(self.call("POST", path, query, content, content_type))

    def call(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        content: bytes | None = None,
        content_type: str | None = None,
    ) -> bytes:
        """The body of the answer.

        Raises
        ------
        ServerError
            If the server refuses.
        ConnectionError
            If it does not answer. Whether a change was made is then unknown.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + quote(path) + (f"?{urlencode(given)}" if given else "")
        headers = dict(self._headers)
        if content_type is not None:
            headers["Content-Type"] = content_type
        connection = self._taken()
        try:
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ConnectionError(f"{self.url} does not answer: {error or type(error).__name__}") from error
        except BaseException:
            # Stopped between request and answer: no other call may read the answer to this one.
            connection.close()
            raise
        with self._lock:
            self._idle.append((connection, time.monotonic()))
        if response.status >= 400:
            raise ServerError(response.status, _problem(answer))
        return answer

    def _taken(self) -> http.client.HTTPConnection:
        with self._lock:
            connection, used = self._idle.pop() if self._idle else (None, 0.0)
        if connection is not None and time.monotonic() - used < _IDLE:
            return connection
        if connection is not None:
            connection.close()
            self.close()
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)

    def close(self) -> None:
        """Close what nobody uses; the next call opens another connection."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def __del__(self) -> None:
        for connection, _ in getattr(self, "_idle", ()):
            connection.close()

    def _parsed(self, answer: bytes) -> dict[str, Any]:
        if not answer:
            return {}
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ConnectionError(f"{self.url} is no evmachine server: it answers {answer[:40]!r}")
        return found


def _problem(answer: bytes) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"detail": answer[:200].decode(errors="replace").strip()}
