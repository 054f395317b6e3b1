"""One change at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OneAtATime:
    """An object that threads may change, one after the other, each of them seeing what the one before it did.

    A change that fails leaves it as it was. Who only asks does not wait. Copies, clones and pickles have locks of their
    own, and so have forked processes, to which whoever holds one here does not come along.
    """

    @contextmanager
    def _changing(self) -> Iterator[None]:
        locks = vars(self).setdefault("_locks", {})
        with locks.setdefault(os.getpid(), threading.RLock()):
            before = self.__dict__.copy()
            try:
                yield
            except BaseException:
                self.__dict__.update(before)
                for name in self.__dict__.keys() - before.keys():
                    del self.__dict__[name]
                raise

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_locks", None)
        return state
