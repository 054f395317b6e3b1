"""Fits and predictions on Dask, with workers of this machine."""

import os
import signal
import threading

import numpy as np
import pytest

import evmachine.dask
from evmachine import ExtremeValueMachine
from evmachine.dask import DaskExtremeValueMachine

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
pytestmark = pytest.mark.filterwarnings("default")


def content(machine):
    return machine._native_model().to_bytes()


@pytest.fixture(scope="module")
def expected(few):
    return content(ExtremeValueMachine().fit(*few))


def started(workers):
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    return cluster, distributed.Client(cluster)


@pytest.fixture(scope="module")
def client():
    cluster, client = started(2)
    yield client
    client.close()
    cluster.close()


@pytest.mark.parametrize("workers", [1, 4])
def test_the_file_is_that_of_one_process(few, expected, tmp_path, workers):
    cluster, client = started(workers)
    machine = evmachine.dask.fit(*few, client=client, block_rows=150)
    client.close()
    cluster.close()
    assert type(machine) is ExtremeValueMachine
    machine.save(tmp_path / "dask.safetensors")
    assert (tmp_path / "dask.safetensors").read_bytes() == expected


def test_workers_may_be_threads_of_this_process(few, expected):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert content(evmachine.dask.fit(*few, client=client, block_rows=150, n_jobs=1)) == expected


def test_arrays_of_dask_and_their_answers(client, few, expected, strangers):
    X, y = few
    chunks = da.from_array(X, chunks=(170, 8))
    machine = DaskExtremeValueMachine().fit(chunks, y)
    assert content(machine) == expected
    assert content(evmachine.dask.fit(chunks, da.from_array(y, chunks=50), client=client)) == expected
    local = machine.to_local()
    assert type(local) is ExtremeValueMachine and local.get_params() == machine.get_params()
    answers = evmachine.dask.predict(da.from_array(strangers[0], chunks=(90, 16)), machine)
    assert answers.compute().tolist() == local.predict(strangers[0]).tolist()


def test_a_bad_row_is_named(client, few, tmp_path):
    X, y = few[0].copy(), few[1]
    X[400, 5] = np.inf
    named = r"chunk 3 of X, which begins with row 341, row 61, column 6: inf is not a finite 32-bit number"
    with pytest.raises(ValueError, match=named):
        evmachine.dask.fit(da.from_array(X, chunks=(170, 16)), y)
    with pytest.raises(ValueError, match="X has 600 rows and y 599 labels"):
        evmachine.dask.fit(da.from_array(X, chunks=(170, 16)), y[1:])
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    with pytest.raises(ValueError, match=r"x\.npy, row 401, column 6: inf"):
        evmachine.dask.fit(tmp_path / "x.npy", labels=tmp_path / "y.npy")


def test_files(client, few, expected, tmp_path):
    paths = []
    for part, (rows, own) in enumerate(zip(np.array_split(few[0], 3), np.array_split(few[1], 3), strict=True)):
        paths.append((tmp_path / f"x{part}.npy", tmp_path / f"y{part}.npy"))
        np.save(paths[-1][0], rows)
        np.save(paths[-1][1], own)
    features, labels = (list(each) for each in zip(*paths, strict=True))
    assert content(evmachine.dask.fit(features, labels=labels)) == expected


def test_a_killed_worker_changes_nothing(client, letters):
    X, y = letters[0][:6000], letters[1][:6000]
    pid = next(iter(client.run(os.getpid).values()))
    # Hundreds of meetings take seconds, whatever the machine.
    timer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    timer.start()
    machine = evmachine.dask.fit(X, y, block_rows=200, rejection_threshold=0.05)
    assert not timer.is_alive(), "the fit was over before the worker died"
    assert content(machine) == content(ExtremeValueMachine(rejection_threshold=0.05).fit(X, y))


def test_without_a_cluster_it_says_how_to_make_one(monkeypatch, few):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    with pytest.raises(ValueError, match=r"there is no Dask cluster; make one, client = distributed.Client"):
        evmachine.dask.fit(*few)
