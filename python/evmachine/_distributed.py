"""The estimator whose tails are found by the workers of an engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from evmachine import _rows, _shards
from evmachine._estimator import ExtremeValueMachine
from evmachine._files import PathLike
from evmachine.steps import Driver, Engine

if TYPE_CHECKING:
    from typing_extensions import Self


class DistributedMachine(ExtremeValueMachine):
    """What estimators of all engines have in common."""

    def to_local(self) -> ExtremeValueMachine:
        """The same machine without an engine.

        Returns
        -------
        ExtremeValueMachine
            It shares the model, which never changes.
        """
        check_is_fitted(self)
        local = ExtremeValueMachine(**self.get_params(deep=False))
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") or name == "_model"}
        local.__dict__.update(fitted)
        return local

    def _fit_with(
        self,
        engine: Engine,
        X: Any,
        y: Any,
        parts: Iterable[tuple[str, Any]] | None,
        *,
        block_rows: int | None,
        ids: Any,
        ignored: npt.ArrayLike | None,
        batch: str | None,
        time: _rows.Time,
        encoder: str | None,
    ) -> Self:
        """Learns arrays, or what workers have read of ``parts``, each with what people call it."""
        driver, columns = Driver(engine, block_rows), None
        if parts is not None:
            X, y, columns = _shards.joined(_collected(engine, parts))
        return self._fit(
            X,
            y,
            ids=ids,
            ignored=ignored,
            batch=batch,
            time=time,
            encoder=encoder,
            columns=columns,
            driver=driver,
            stacklevel=5,
        )

    def _rule(self, label: str | None, features: Sequence[str] | None) -> _shards.Rule:
        """How parts are read."""
        names = None if features is None else list(features)
        return _shards.Rule(label, names, cosine=self.metric == "cosine", filled=self.fill is not None)


def read_files(
    engine: Engine, paths: Sequence[str], labels: PathLike | Sequence[PathLike] | None, rule: _shards.Rule
) -> Iterator[tuple[str, Any]]:
    """Has workers read files, each by itself, when its turn comes."""
    beside: Sequence[str | None] = [None] * len(paths)
    if labels is not None:
        beside = _shards.paths([labels] if isinstance(labels, (str, bytes)) else labels) or []
        if len(beside) != len(paths):
            raise ValueError(f"labels names {len(beside)} files for {len(paths)} files of features; each needs one")
    return ((path, engine.submit(_shards.read_file, path, own, rule)) for path, own in zip(paths, beside, strict=True))


def _collected(engine: Engine, parts: Iterable[tuple[str, Any]]) -> list[_shards.Shard | _shards.Refused]:
    """What workers have read, up to the first part that cannot be used."""
    found: list[_shards.Shard | _shards.Refused] = []
    for source, handle in _ahead(parts, 2 * engine.workers):
        try:
            found.append(engine.get(handle))
        except MemoryError as error:
            raise MemoryError(f"{source}: {engine.name} has no room for its rows: {error}") from None
        if isinstance(found[-1], _shards.Refused):
            break
    return found


def _ahead(parts: Iterable[tuple[str, Any]], count: int) -> Iterator[tuple[str, Any]]:
    """The parts, of which so many more are begun: all workers have work, and little is read that nobody wants."""
    begun: deque[tuple[str, Any]] = deque()
    for part in parts:
        begun.append(part)
        if len(begun) > count:
            yield begun.popleft()
    yield from begun
