"""Training and predicting on Dask: ``pip install evmachine[dask]``.

Workers find the tails of a fit, which are nearly all of its cost; the process that calls :func:`fit` does the rest, and
the model is the one that it would make alone, byte for byte. A worker that dies is replaced and changes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _labels, _rows, _shards
from evmachine._distributed import DistributedMachine, read_files
from evmachine._estimator import ExtremeValueMachine
from evmachine._files import PathLike

if TYPE_CHECKING:
    import dask.array
    from distributed import Client
    from typing_extensions import Self

__all__ = ["DaskExtremeValueMachine", "fit", "predict"]


def _held(value: Any) -> Any:
    """The value itself: a task, so that Dask can make it again where the worker that has it dies."""
    return value


class _Engine:
    """Dask as what steps are done by: the memory of its workers, and futures."""

    name = "Dask"

    def __init__(self, client: Client | None, retries: int) -> None:
        try:
            import dask
            import distributed
        except ImportError:
            raise ImportError("evmachine.dask needs Dask: pip install 'evmachine[dask]'") from None
        if client is None:
            try:
                client = distributed.default_client()
            except ValueError:
                raise ValueError("there is no Dask cluster; make one, client = distributed.Client(...)") from None
        self._dask, self._distributed, self.client = dask, distributed, client
        client.wait_for_workers(1)
        threads = client.nthreads().values()
        # Steps of one worker share its threads.
        self.workers, self.threads = max(1, sum(threads)), max(threads, default=1)
        self._retries = retries

    def put(self, value: Any) -> Any:
        # Blocks are what the graph is for.
        with self._dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.submit(_held, value)

    def submit(self, step: Callable[..., Any], *arguments: Any, parts: int = 1) -> Any:
        future = self.client.submit(step, *arguments, pure=False, retries=self._retries)
        if parts == 1:
            return future
        return [self.client.submit(operator.getitem, future, part, pure=False) for part in range(parts)]

    def wait(self, handles: Sequence[Any], seconds: float) -> Sequence[Any]:
        try:
            self._distributed.wait(list(handles), timeout=seconds, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        return [handle for handle in handles if handle.done()]

    def get(self, handle: Any) -> Any:
        return handle.result()


class DaskExtremeValueMachine(DistributedMachine):
    __doc__ = (
        """The :class:`~evmachine.ExtremeValueMachine`, with ``fit`` on Dask.

    Everything but ``fit`` happens in this process. :meth:`to_local` is the same machine without Dask.
"""
        + (ExtremeValueMachine.__doc__ or "").partition("\n    Parameters")[1]
        + (ExtremeValueMachine.__doc__ or "").partition("\n    Parameters")[2].partition("\n    Notes")[0]
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        client: Client | None = None,
        label: str | None = None,
        labels: PathLike | Sequence[PathLike] | None = None,
        features: Sequence[str] | None = None,
        retries: int = 3,
        block_rows: int | None = None,
        ids: Any = None,
        ignored: npt.ArrayLike | None = None,
        batch: str | None = None,
        time: _rows.Time = None,
        encoder: str | None = None,
    ) -> Self:
        """Learn the classes of ``y``, of a column, or of files of labels.

        Parameters
        ----------
        X : array-like or dask array of shape (n_rows, n_features), path or list of paths
            Files are NPY, Parquet or Arrow, one matrix or table each; workers read them, so that all of them need to
            see the files. Rows are learned in the order of files.
        y : array-like or dask array of shape (n_rows,) or None
            Labels, where X is an array.
        client : distributed.Client or None, default=None
            The latest one unless given.
        label : str or None, default=None
            The column of labels, where X is files of tables.
        labels : path, list of paths or None, default=None
            A file of labels for each file of features: NPY, or text with a label in each line.
        features : list of str or None, default=None
            The columns of features, in order; all but the labels unless given. One may hold lists.
        retries : int, default=3
            How often a step may fail.
        block_rows : int or None, default=None
            Rows of a block, where the number should not follow from rows and workers.
        ids, ignored, batch, time, encoder
            As for :meth:`ExtremeValueMachine.fit <evmachine.ExtremeValueMachine.fit>`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Naming file, or chunk, and row of what cannot be used.
        """
        engine, rule = _Engine(client, retries), self._rule(label, features)
        paths = _shards.paths(X)
        parts: Iterable[tuple[str, Any]] | None = None
        if paths is not None:
            parts = read_files(engine, paths, labels, rule)
        elif hasattr(X, "to_delayed"):
            parts = _chunks(engine, X, y, rule)
        return self._fit_with(
            engine,
            X,
            y,
            parts,
            block_rows=block_rows,
            ids=ids,
            ignored=ignored,
            batch=batch,
            time=time,
            encoder=encoder,
        )


def _chunks(engine: _Engine, X: Any, y: Any, rule: _shards.Rule) -> Iterator[tuple[str, Any]]:
    """Has workers check the chunks of a dask array."""
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; features are a matrix, rows and columns")
    X = X.rechunk({1: -1})
    if np.isnan(X.shape[0]):
        X.compute_chunk_sizes()
    ends = np.cumsum(X.chunks[0])
    if len(y) != ends[-1]:
        raise ValueError(f"X has {ends[-1]} rows and y {len(y)} labels")
    if hasattr(y, "to_delayed"):
        labels = engine.client.compute(list(y.rechunk((X.chunks[0],)).to_delayed()))
    else:
        labels = np.split(np.asarray(_labels.column(y)), ends[:-1])
    chunks = engine.client.compute(list(X.to_delayed().ravel()))
    for number, (end, chunk, own) in enumerate(zip(ends, chunks, labels, strict=True), 1):
        name = f"chunk {number} of X, which begins with row {end - X.chunks[0][number - 1] + 1}"
        yield name, engine.submit(_shards.read_arrays, name, chunk, own, rule)


def fit(
    X: Any,
    y: Any = None,
    *,
    client: Client | None = None,
    label: str | None = None,
    labels: PathLike | Sequence[PathLike] | None = None,
    features: Sequence[str] | None = None,
    retries: int = 3,
    block_rows: int | None = None,
    **parameters: Any,
) -> ExtremeValueMachine:
    """Train on Dask.

    Parameters
    ----------
    X, y, client, label, labels, features, retries, block_rows
        As for :meth:`DaskExtremeValueMachine.fit`.
    **parameters
        Those of :class:`~evmachine.ExtremeValueMachine`.

    Returns
    -------
    ExtremeValueMachine
        The one that a single process makes of the same rows.
    """
    machine = DaskExtremeValueMachine(**parameters).fit(
        X,
        y,
        client=client,
        label=label,
        labels=labels,
        features=features,
        retries=retries,
        block_rows=block_rows,
    )
    return machine.to_local()


def _answers(block: npt.NDArray[Any], machine: ExtremeValueMachine) -> npt.NDArray[Any]:
    return machine.predict(block)


def predict(X: dask.array.Array, model: ExtremeValueMachine | PathLike) -> dask.array.Array:
    """Answer all rows of a dask array, with the model loaded once for each worker.

    Parameters
    ----------
    X : dask array of shape (n_rows, n_features)
    model : ExtremeValueMachine or path-like
        A fitted machine, or a file that this process reads.

    Returns
    -------
    dask array of shape (n_rows,)
        Classes, or what unknowns are called. Nothing is computed before it is asked for.
    """
    from dask import delayed

    machine = model if isinstance(model, ExtremeValueMachine) else ExtremeValueMachine.load(model)
    found = _labels.answers(machine.classes_, machine.unknown_label_)
    # A node of the graph: it goes to a worker once.
    held = delayed(machine, pure=True)
    rows = X.rechunk({1: -1})
    return rows.map_blocks(_answers, held, dtype=found.dtype, drop_axis=1, meta=np.empty(0, dtype=found.dtype))
