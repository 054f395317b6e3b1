"""The tails of a fit as steps for the workers of any engine.

A fit costs what its tails cost, the distances of all pairs. :class:`Driver` has them found by an :class:`Engine`, which
is a place to put arrays and workers that call functions: :mod:`evmachine.ray` and :mod:`evmachine.dask` have one each,
and another needs four methods. Everything else of the fit, from whitening to the threshold, is done by the process that
drives, so the model is the one that a single process makes, byte for byte, if all workers have the same vector
instructions.

The rows of a fit come in order of class and are cut into blocks. Every two blocks meet once, and each with itself
(:func:`meet`); what a block has found in all meetings is merged, in any order (:func:`merge`), and fitted
(:func:`finish`). A row finds nothing beyond a bound that a sample of all rows suggests (:func:`bound`); one whose
bound proves too low is gathered again (:func:`gather`). A step that is done twice gives the same bytes, so a worker may
die at any time.

Steps are plain functions of arrays, which may be read-only and at any address, and of a :class:`Task`, which pickles.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from evmachine import _native

__all__ = [
    "Block",
    "BlockTails",
    "Driver",
    "Engine",
    "Found",
    "Task",
    "bound",
    "finish",
    "gather",
    "meet",
    "meet_itself",
    "merge",
    "select",
]

#: What all steps of one fit share: metric, sizes of tails, what is fitted, and a sample of the rows.
Task = _native.Task

#: Meetings for each worker: so many even out who ends last.
_MEETINGS = 16
#: Values of a block; its bytes are four times as many.
_LARGEST_BLOCK = 1 << 26
#: Parts that are merged at a time.
_PARTS = 16
#: Steps of a fit that are under way at a time, for each worker: so many that none has to wait for the driver.
_UNDER_WAY = 4
#: Seconds between looks at who wants the fit to end.
_TICK = 0.1


class Block(NamedTuple):
    """Vectors in order of class.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_dimensions), float32
        Ready for the metric.
    classes : ndarray of shape (n_rows,), uint32
        By number. 2^32 - 1 is another class than all others, among columns alone.
    """

    values: npt.NDArray[np.float32]
    classes: npt.NDArray[np.uint32]


class Found(NamedTuple):
    """Distances that were found for rows.

    Attributes
    ----------
    counts : ndarray of shape (n_rows,), uint32
        How many, by row.
    values : ndarray of shape (n_values,), float32
        Row after row, each row's sorted.
    """

    counts: npt.NDArray[np.uint32]
    values: npt.NDArray[np.float32]


#: Distances from which on nothing is wanted, by row.
Bounds = npt.NDArray[np.float32]


class BlockTails(NamedTuple):
    """What is wanted of the tails of a block.

    Attributes
    ----------
    counts : ndarray of shape (n_rows,), uint32
        Values of each tail.
    largest : ndarray of shape (n_rows,), float32
        The largest of each; 0 where there is none.
    values : ndarray or None
        The tails, row after row, where they are kept.
    fits : tuple of four ndarrays of shape (n_rows,) or None
        Shape, scale, shift and status of each fit, where they are fitted.
    """

    counts: npt.NDArray[np.uint32]
    largest: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32] | None
    fits: tuple[npt.NDArray[Any], ...] | None


def _aligned(*arrays: npt.NDArray[Any] | None) -> tuple[Any, ...]:
    """The arrays, copied where an engine has put them at an odd address, as Dask does with what it has received."""
    return tuple(None if array is None else np.require(array, requirements=["C", "A"]) for array in arrays)


def bound(task: Task, threads: int, block: Block) -> Bounds:
    """Where the tail of each row ends, most likely."""
    values, classes = _aligned(*block)
    return task.bounds(values, classes, threads)


def meet(
    task: Task, threads: int, first: Block, first_bounds: Bounds, second: Block, second_bounds: Bounds
) -> tuple[Found, Found]:
    """What the rows of two blocks find in each other; each distance is measured once."""
    one, other = task.meet(_aligned(*first, first_bounds), _aligned(*second, second_bounds), threads)
    assert other is not None
    return Found(*one), Found(*other)


def meet_itself(task: Task, threads: int, block: Block, bounds: Bounds) -> Found:
    """What the rows of a block find among themselves."""
    return Found(*task.meet(_aligned(*block, bounds), None, threads)[0])


def gather(task: Task, threads: int, rows: Block, bounds: Bounds | None, columns: Block) -> Found:
    """What rows find among columns that want nothing."""
    values, classes = _aligned(*columns)
    return Found(*task.gather(_aligned(*rows, bounds), values, classes, threads))


def merge(task: Task, threads: int, rows: Block, *parts: Found) -> Found:
    """The smallest of several parts, as many as a tail has; associative and commutative."""
    return Found(*task.merge(_aligned(rows.classes)[0], [_aligned(*part) for part in parts], threads))


def finish(
    task: Task, threads: int, fit: bool, keep: bool, rows: Block, *parts: Found
) -> tuple[BlockTails, npt.NDArray[np.uint64]]:
    """The tails of a block from all of its parts, and which rows lack values because a bound proved too low."""
    found = merge(task, threads, rows, *parts)
    short = task.short(_aligned(rows.classes)[0], found)
    ends = np.cumsum(found.counts, dtype=np.int64)
    largest = np.zeros(len(ends), dtype=np.float32)
    some = found.counts > 0
    largest[some] = found.values[ends[some] - 1]
    fits = task.fit(found, threads) if fit else None
    return BlockTails(found.counts, largest, found.values if keep else None, fits), short


def select(block: Block, rows: npt.NDArray[np.uint64]) -> Block:
    """Some rows of a block."""
    return Block(block.values[rows], block.classes[rows])


class Engine(Protocol):
    """What steps are done by.

    A handle stands for a value that is somewhere or will be. It can be hashed, and is only ever handed back. Few steps
    are under way at a time, so that a fit which ends early leaves little to be done for nobody.
    """

    @property
    def name(self) -> str:
        """What people call it, such as "Ray"."""

    @property
    def workers(self) -> int:
        """Steps that are done at a time."""

    @property
    def threads(self) -> int:
        """Threads of each of them."""

    def put(self, value: Any) -> Any:
        """Keeps a value where workers can read it; its handle."""

    def submit(self, step: Callable[..., Any], *arguments: Any, parts: int = 1) -> Any:
        """Has a worker call a function, with the values of those arguments that are handles.

        The handle of what it returns, or, where that is a tuple of several ``parts``, a list of their handles. A worker
        that dies is replaced, and the call repeated.
        """

    def wait(self, handles: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Those that have come to an end, as soon as there is one, or none after so many seconds."""

    def get(self, handle: Any) -> Any:
        """The value; raises what the step has raised."""


class Driver:
    """Has an engine find the tails of a fit.

    Parameters
    ----------
    engine : Engine
    block_rows : int or None, default=None
        Rows of a block, where the number should not follow from rows and workers. The model does not depend on it.
    """

    def __init__(self, engine: Engine, block_rows: int | None = None) -> None:
        if block_rows is not None and block_rows < 1:
            raise ValueError(f"block_rows = {block_rows}: must be at least 1, or None")
        self._engine = engine
        self._block_rows = block_rows

    @property
    def name(self) -> str:
        """That of the engine."""
        return self._engine.name

    def begin(self, task: Task, rows: int, dimensions: int, same: bool, fit: bool, keep: bool) -> _Job:
        """Called by the library for each set of tails that it wants."""
        size = self._block_rows or block_rows(rows, dimensions, self._engine.workers)
        return _Job(self._engine, task, size, rows, same, fit, keep)


def block_rows(rows: int, dimensions: int, workers: int) -> int:
    """Rows of a block: few blocks, because each costs something, and enough that all workers end at about one time."""
    # b blocks have b (b + 1) / 2 meetings.
    blocks = max(1, round(float(np.sqrt(2 * _MEETINGS * workers))))
    return max(1, min(-(-rows // blocks), _LARGEST_BLOCK // dimensions))


class _Job:
    """One set of tails. The library adds all blocks, follows the progress, and takes the tails."""

    def __init__(
        self, engine: Engine, task: Task, block_rows: int, rows: int, same: bool, fit: bool, keep: bool
    ) -> None:
        self.block_rows = block_rows
        self._engine = engine
        self._sampled = engine.put(task)
        # What all steps but the first take along.
        self._task = engine.put(task.without_sample())
        self._count = rows
        self._same = same
        self._wanted = (fit, keep)
        self._added = 0
        self._estimated = False
        self._rows: list[Any] = []
        self._bounds: list[Any] = []
        self._columns: list[Any] = []
        #: By block, what it has found so far.
        self._parts: list[list[Any]] = []
        #: What is under way, and what is to be done when it has come to an end.
        self._pending: dict[Any, Callable[[], None]] = {}
        self._tails: list[BlockTails | None] = []
        self._steps = self._done = self._told = 0

    def add_rows(self, values: npt.NDArray[np.float32], classes: npt.NDArray[np.uint32], bounds: Bounds | None) -> None:
        """The next block of rows."""
        self._rows.append(self._put(Block(values, classes)))
        if bounds is None:
            self._estimated = True
            threads = self._engine.threads
            self._bounds.append(self._engine.submit(bound, self._sampled, threads, self._rows[-1]))
        else:
            self._bounds.append(self._engine.put(bounds))

    def add_columns(self, values: npt.NDArray[np.float32], classes: npt.NDArray[np.uint32]) -> None:
        """The next block of columns that are no rows."""
        self._columns.append(self._put(Block(values, classes)))

    def _put(self, block: Block) -> Any:
        first = self._added + 1
        self._added += len(block.classes)
        try:
            return self._engine.put(block)
        except MemoryError as error:
            raise MemoryError(
                f"{self._engine.name} has no room for the rows {first} to {self._added} in order of class, "
                f"{block.values.nbytes} bytes: {error}"
            ) from None

    def _submit(self, step: Callable[..., Any], *arguments: Any, parts: int = 1) -> Any:
        return self._engine.submit(step, self._task, self._engine.threads, *arguments, parts=parts)

    def progress(self) -> Iterator[int]:
        """Does it all; says from time to time for how many more rows."""
        try:
            self._parts = [[] for _ in self._rows]
            self._tails = [None for _ in self._rows]
            steps = [self._steps_of(block) for block in range(len(self._rows))]
            self._steps = sum(map(len, steps))
            for block, of_block in enumerate(steps):
                for step in of_block:
                    while len(self._pending) >= _UNDER_WAY * self._engine.workers:
                        yield self._waited()
                    self._pending[step()] = self._counted
                # Tails are fetched while others are being found.
                self._finish(self._rows[block], self._parts[block], functools.partial(self._take, block))
                self._parts[block] = []
            while self._pending:
                yield self._waited()
        except BaseException:
            self.cancel()
            raise

    def _steps_of(self, block: int) -> list[Callable[[], Any]]:
        """What begins each step for a block, but for those that blocks before it have begun."""
        steps = [functools.partial(self._gather, block, columns) for columns in self._columns]
        others = range(block, len(self._rows)) if self._same else ()
        return steps + [functools.partial(self._meet, block, other) for other in others]

    def _meet(self, one: int, other: int) -> Any:
        """Has two blocks meet, or one itself."""
        first = (self._rows[one], self._bounds[one])
        if one == other:
            self._parts[one].append(self._submit(meet_itself, *first))
        else:
            found = self._submit(meet, *first, self._rows[other], self._bounds[other], parts=2)
            self._parts[other].append(found[1])
            self._parts[one].append(found[0])
        return self._parts[one][-1]

    def _gather(self, block: int, columns: Any) -> Any:
        """Has a block look at columns."""
        self._parts[block].append(self._submit(gather, self._rows[block], self._bounds[block], columns))
        return self._parts[block][-1]

    def _finish(self, rows: Any, parts: list[Any], take: Callable[[BlockTails, npt.NDArray[np.uint64]], None]) -> None:
        """Has the tails of rows made of all that was found, and taken with the positions of those that are short."""
        while len(parts) > _PARTS:
            groups = [parts[start : start + _PARTS] for start in range(0, len(parts), _PARTS)]
            parts = [self._submit(merge, rows, *group) for group in groups]
        tails, short = self._submit(finish, *self._wanted, rows, *parts, parts=2)
        self._pending[short] = lambda: take(self._engine.get(tails), self._engine.get(short))

    def _counted(self) -> None:
        self._done += 1

    def _waited(self) -> int:
        """Lets go of what has come to an end, which the engine need not keep; the rows that it stands for."""
        for handle in self._engine.wait(list(self._pending), _TICK):
            self._pending.pop(handle)()
        told, self._told = self._told, self._done * self._count // max(1, self._steps)
        return self._told - told

    def _take(self, block: int, tails: BlockTails, short: npt.NDArray[np.uint64]) -> None:
        """Keeps the tails of a block, and has those of rows gathered again whose bound proved too low."""
        self._tails[block] = tails
        # A bound that was given leaves out what nobody wants.
        if not self._estimated or not len(short):
            return
        few = self._engine.submit(select, self._rows[block], short)
        others = (self._rows if self._same else []) + self._columns
        parts = [self._submit(gather, few, None, columns) for columns in others]
        self._finish(few, parts, lambda again, _: self._replace(block, short, again))

    def _replace(self, block: int, rows: npt.NDArray[np.uint64], again: BlockTails) -> None:
        tails = self._tails[block]
        assert tails is not None
        self._tails[block] = _replaced(tails, rows, again)

    def tails(self) -> list[BlockTails]:
        """What was found, in the order of the blocks."""
        return [tails for tails in self._tails if tails is not None]

    def cancel(self) -> None:
        """Nobody wants it any more: engines forget what nobody has a handle of."""
        for handles in (self._rows, self._bounds, self._columns, self._parts, self._pending, self._tails):
            handles.clear()


def _replaced(tails: BlockTails, rows: npt.NDArray[np.uint64], others: BlockTails) -> BlockTails:
    """The tails with those of some rows replaced."""
    counts, largest = tails.counts.copy(), tails.largest.copy()
    counts[rows], largest[rows] = others.counts, others.largest
    values, fits = None, None
    if tails.values is not None and others.values is not None:
        each = np.split(tails.values, np.cumsum(tails.counts)[:-1])
        for row, tail in zip(rows, np.split(others.values, np.cumsum(others.counts)[:-1]), strict=True):
            each[row] = tail
        values = np.concatenate(each)
    if tails.fits is not None and others.fits is not None:
        fits = tuple(column.copy() for column in tails.fits)
        for column, other in zip(fits, others.fits, strict=True):
            column[rows] = other
    return BlockTails(counts, largest, values, fits)
