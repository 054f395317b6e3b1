"""Training and predicting on Ray: ``pip install evmachine[ray]``.

Workers find the tails of a fit, which are nearly all of its cost; the process that calls :func:`fit` does the rest, and
the model is the one that it would make alone, byte for byte. A worker that dies is replaced and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _labels, _rows, _shards
from evmachine._distributed import DistributedMachine, read_files
from evmachine._estimator import ExtremeValueMachine
from evmachine._files import PathLike

if TYPE_CHECKING:
    from ray.data import Dataset
    from typing_extensions import Self

__all__ = ["RayExtremeValueMachine", "fit", "predict"]


def _ray() -> Any:
    """Ray, connected to the cluster that is there, or to one of this machine."""
    try:
        import ray
    except ImportError:
        raise ImportError("evmachine.ray needs Ray: pip install 'evmachine[ray]'") from None
    if not ray.is_initialized():
        ray.init()
    return ray


class _Engine:
    """Ray as what steps are done by: its object store, and tasks of so many cores each."""

    name = "Ray"

    def __init__(self, num_cpus: int, max_retries: int) -> None:
        if num_cpus < 1:
            raise ValueError(f"num_cpus = {num_cpus}: must be at least 1")
        self._ray = _ray()
        self.threads = num_cpus
        self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)) // num_cpus)
        self._max_retries = max_retries
        self._steps: dict[Callable[..., Any], Any] = {}
        self._no_room = (self._ray.exceptions.ObjectStoreFullError, self._ray.exceptions.OutOfDiskError)

    def put(self, value: Any) -> Any:
        try:
            return self._ray.put(value)
        except self._no_room as error:
            raise _no_room(error) from None

    def submit(self, step: Callable[..., Any], *arguments: Any, parts: int = 1) -> Any:
        if step not in self._steps:
            # What a step itself raises, it raises again; a worker that dies is another matter.
            self._steps[step] = self._ray.remote(
                num_cpus=self.threads, max_retries=self._max_retries, retry_exceptions=False
            )(step)
        return self._steps[step].options(num_returns=parts).remote(*arguments)

    def wait(self, handles: Sequence[Any], seconds: float) -> Sequence[Any]:
        done: list[Any]
        done, rest = self._ray.wait(list(handles), timeout=seconds, fetch_local=False)
        if rest:
            more, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0, fetch_local=False)
            done += more
        return done

    def get(self, handle: Any) -> Any:
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, self._no_room):
                raise _no_room(error.cause) from None
            raise error.cause from None
        except self._no_room as error:
            raise _no_room(error) from None


def _no_room(error: Exception) -> MemoryError:
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return MemoryError(f"{first}; give ray.init a larger object_store_memory, or a larger disk to spill to")


class RayExtremeValueMachine(DistributedMachine):
    __doc__ = (
        """The :class:`~evmachine.ExtremeValueMachine`, with ``fit`` on Ray.

    Everything but ``fit`` happens in this process. :meth:`to_local` is the same machine without Ray.
"""
        + (ExtremeValueMachine.__doc__ or "").partition("\n    Parameters")[1]
        + (ExtremeValueMachine.__doc__ or "").partition("\n    Parameters")[2].partition("\n    Notes")[0]
    )

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        *,
        label: str | None = None,
        labels: PathLike | Sequence[PathLike] | None = None,
        features: Sequence[str] | None = None,
        num_cpus: int = 1,
        max_retries: int = 3,
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
        X : array-like of shape (n_rows, n_features), ray.data.Dataset, path or list of paths
            Files are NPY, Parquet or Arrow, one matrix or table each; workers read them, so that all of them need to
            see the files. Rows are learned in the order of files, or of the dataset.
        y : array-like of shape (n_rows,) or None
            Labels, where X is an array.
        label : str or None, default=None
            The column of labels, where X is a dataset or files of tables.
        labels : path, list of paths or None, default=None
            A file of labels for each file of features: NPY, or text with a label in each line.
        features : list of str or None, default=None
            The columns of features, in order; all but the labels unless given. One may hold lists.
        num_cpus : int, default=1
            Cores, and threads, of each step.
        max_retries : int, default=3
            How often a step may lose its worker.
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
            Naming file and row of what cannot be used.
        MemoryError
            Naming what the object store has no room for.
        """
        engine, rule = _Engine(num_cpus, max_retries), self._rule(label, features)
        paths = _shards.paths(X)
        parts: Iterable[tuple[str, Any]] | None = None
        if paths is not None:
            parts = read_files(engine, paths, labels, rule)
        elif hasattr(X, "to_numpy_refs"):
            blocks = enumerate(X.to_numpy_refs(), 1)
            names = ((f"block {number} of the dataset", block) for number, block in blocks)
            parts = ((name, engine.submit(_shards.read_columns, name, block, rule)) for name, block in names)
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


def fit(
    X: Any,
    y: npt.ArrayLike | None = None,
    *,
    label: str | None = None,
    labels: PathLike | Sequence[PathLike] | None = None,
    features: Sequence[str] | None = None,
    num_cpus: int = 1,
    max_retries: int = 3,
    block_rows: int | None = None,
    **parameters: Any,
) -> ExtremeValueMachine:
    """Train on Ray.

    Parameters
    ----------
    X, y, label, labels, features, num_cpus, max_retries, block_rows
        As for :meth:`RayExtremeValueMachine.fit`.
    **parameters
        Those of :class:`~evmachine.ExtremeValueMachine`.

    Returns
    -------
    ExtremeValueMachine
        The one that a single process makes of the same rows.

    Examples
    --------
    >>> import evmachine.ray
    >>> machine = evmachine.ray.fit(["a.parquet", "b.parquet"], label="species")  # doctest: +SKIP
    """
    machine = RayExtremeValueMachine(**parameters).fit(
        X,
        y,
        label=label,
        labels=labels,
        features=features,
        num_cpus=num_cpus,
        max_retries=max_retries,
        block_rows=block_rows,
    )
    return machine.to_local()


class _Answers:
    """A worker that answers: it loads the model once."""

    def __init__(self, model: Any, features: list[str] | None, names: tuple[str, str], threads: int) -> None:
        import ray

        machine = ray.get(model) if isinstance(model, ray.ObjectRef) else ExtremeValueMachine.load(model)
        # Columns are chosen here by name; what is asked then has none.
        own = machine.__dict__.pop("feature_names_in_", None)
        self._machine = machine.set_params(n_jobs=threads, verbose=0)
        self._features, self._own, self._names = features, None if own is None else own.tolist(), names

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        wanted = self._features
        if wanted is None and self._own is not None and all(name in batch for name in self._own):
            wanted = self._own
        X = _shards.columns_of(batch, wanted, None)[0]
        best, accepted, _, support, _, fitted = self._machine._decide_with(X)
        answers = _labels.answers(fitted.classes, fitted.unknown)
        label, score = self._names
        return {**batch, label: answers[np.where(accepted, best, len(fitted.classes))], score: support}


def predict(
    dataset: Dataset,
    model: ExtremeValueMachine | PathLike,
    *,
    features: Sequence[str] | None = None,
    prediction: str = "prediction",
    support: str = "support",
    batch_size: int = 4096,
    workers: int | None = None,
    num_cpus: int = 1,
) -> Dataset:
    """Answer all rows of a dataset, with the model loaded once for each worker.

    Parameters
    ----------
    dataset : ray.data.Dataset
    model : ExtremeValueMachine or path-like
        A fitted machine, which goes through the object store, or a file that all workers see.
    features : list of str or None, default=None
        The columns of features, in order; those that the model names unless given, or all where it names none.
    prediction, support : str
        What the new columns are called: the class or what unknowns are called, and the support of the best class, as
        ``score_samples`` gives it.
    batch_size : int, default=4096
        Rows that are answered at a time.
    workers : int or None, default=None
        Workers that answer; up to as many as there are cores unless given.
    num_cpus : int, default=1
        Cores, and threads, of each.

    Returns
    -------
    ray.data.Dataset
        With two more columns. Nothing is computed before it is read.
    """
    ray = _ray()
    held = ray.put(model) if isinstance(model, ExtremeValueMachine) else str(model)
    most = max(1, int(ray.cluster_resources().get("CPU", 1)) // num_cpus)
    pool = ray.data.ActorPoolStrategy
    names = None if features is None else list(features)
    return dataset.map_batches(
        _Answers,
        fn_constructor_args=(held, names, (prediction, support), num_cpus),
        batch_format="numpy",
        batch_size=batch_size,
        compute=pool(size=workers) if workers is not None else pool(min_size=1, max_size=most),
        num_cpus=num_cpus,
    )
