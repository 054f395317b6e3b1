"""Fits and predictions on Ray, with workers of this machine."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import evmachine.ray
from evmachine import ExtremeValueMachine
from evmachine.ray import RayExtremeValueMachine

ray = pytest.importorskip("ray", reason="Ray is not installed: it has no wheel for this Python or platform")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False)
    yield
    ray.shutdown()


def content(machine):
    return machine._native_model().to_bytes()


@pytest.fixture(scope="module")
def expected(few):
    return content(ExtremeValueMachine().fit(*few))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_file_is_that_of_one_process(few, expected, tmp_path, workers):
    machine = evmachine.ray.fit(*few, num_cpus=4 // workers, block_rows=150)
    assert type(machine) is ExtremeValueMachine
    machine.save(tmp_path / "ray.safetensors")
    assert (tmp_path / "ray.safetensors").read_bytes() == expected


def files(folder, few, count):
    """NPY files with labels beside them."""
    X, y = few
    paths, labels = [], []
    for number, (rows, own) in enumerate(zip(np.array_split(X, count), np.array_split(y, count), strict=True)):
        paths.append(folder / f"part-{number:02}.npy")
        labels.append(folder / f"labels-{number:02}.npy")
        np.save(paths[-1], rows)
        np.save(labels[-1], own)
    return paths, labels


def test_files_with_labels_beside_them(few, expected, tmp_path):
    paths, labels = files(tmp_path, few, 40)
    assert content(evmachine.ray.fit(paths, labels=labels)) == expected
    text = []
    for path in labels:
        text.append(path.with_suffix(".txt"))
        text[-1].write_text("\n".join(np.load(path)) + "\n")
    assert content(evmachine.ray.fit(paths, labels=text)) == expected


def test_a_bad_row_in_the_fortieth_file_is_named(few, tmp_path):
    paths, labels = files(tmp_path, few, 40)
    bad = np.load(paths[39])
    bad[6, 2] = np.nan
    np.save(paths[39], bad)
    with pytest.raises(ValueError, match=r"part-39\.npy, row 7, column 3: NaN is not a finite 32-bit number"):
        evmachine.ray.fit(paths, labels=labels)
    filled = evmachine.ray.fit(paths, labels=labels, fill="mean")
    X = few[0].copy()
    X[-len(bad) + 6, 2] = np.nan
    assert content(filled) == content(ExtremeValueMachine(fill="mean").fit(X, few[1]))
    np.save(paths[2], np.load(paths[2])[:, :-1])
    with pytest.raises(ValueError, match=r"part-02\.npy has 15 columns, .*part-00\.npy has 16"):
        evmachine.ray.fit(paths, labels=labels, fill="mean")
    with pytest.raises(ValueError, match="labels names 39 files for 40"):
        evmachine.ray.fit(paths, labels=labels[1:])
    with pytest.raises(ValueError, match=r"part-00\.npy: an NPY file has no labels"):
        evmachine.ray.fit(paths)
    np.save(paths[0], np.zeros_like(np.load(paths[0])))
    with pytest.raises(ValueError, match=r"part-00\.npy, row 1 is all zeros and has no cosine distance"):
        evmachine.ray.fit(paths, labels=labels, metric="cosine")
    with pytest.raises(ValueError, match=r"nowhere\.npy"):
        evmachine.ray.fit([tmp_path / "nowhere.npy"], labels=labels[:1])


def test_tables_by_name(few, tmp_path):
    import pandas

    X, y = few
    table = pandas.DataFrame(X, columns=[f"x{column}" for column in range(X.shape[1])])
    here = ExtremeValueMachine().fit(table, y)
    table["letter"] = y
    paths = [tmp_path / "a.parquet", tmp_path / "b.feather"]
    # The index of a frame is no feature.
    table[:200].set_index(pandas.Index(2 * np.arange(200), name="sample")).to_parquet(paths[0])
    table[200:].reset_index(drop=True).to_feather(paths[1])
    machine = evmachine.ray.fit(paths, label="letter")
    assert machine.feature_names_in_.tolist() == table.columns[:-1].tolist()
    assert content(machine) == content(here)
    table.rename(columns={"x3": "y3"})[200:].reset_index(drop=True).to_feather(paths[1])
    with pytest.raises(ValueError, match=r"b\.feather has the column 'y3' where .*a\.parquet has 'x3'"):
        evmachine.ray.fit(paths, label="letter")
    with pytest.raises(ValueError, match=r"a\.parquet: there is no column 'word' of labels; it has x0, "):
        evmachine.ray.fit(paths, label="word")
    table.loc[4, "letter"] = None
    table.to_parquet(paths[0])
    with pytest.raises(ValueError, match=r"a\.parquet, row 5: the label is missing"):
        evmachine.ray.fit(paths[0], label="letter")


def test_a_dataset_and_its_answers(few, strangers):
    import pyarrow

    X, y = few
    table = pyarrow.table({"vector": list(X), "letter": y})
    dataset = ray.data.from_arrow([table[:250], table[250:]])
    machine = RayExtremeValueMachine(preset="plain", metric="cosine").fit(dataset, label="letter")
    local = machine.to_local()
    assert type(local) is ExtremeValueMachine and local.get_params() == machine.get_params()
    here = ExtremeValueMachine(preset="plain", metric="cosine").fit(pyarrow.table({"vector": list(X)}), y)
    assert content(local) == content(here)

    queries = ray.data.from_arrow(pyarrow.table({"vector": list(strangers[0]), "id": range(300)}))
    answered = evmachine.ray.predict(queries, local, features=["vector"], batch_size=64, workers=2)
    answers = answered.to_pandas().sort_values("id")
    assert answers["prediction"].tolist() == local.predict(strangers[0]).tolist()
    np.testing.assert_array_equal(answers["support"], local.score_samples(strangers[0]))


def test_answers_by_the_names_of_the_model(few, strangers, tmp_path):
    import pandas

    names = [f"x{column}" for column in range(16)]
    machine = ExtremeValueMachine().fit(pandas.DataFrame(few[0], columns=names), few[1])
    machine.save(tmp_path / "model.safetensors")
    queries = pandas.DataFrame(strangers[0], columns=names)[names[::-1]].assign(letter=strangers[1])
    dataset = ray.data.from_pandas(queries)
    answered = evmachine.ray.predict(dataset, tmp_path / "model.safetensors", prediction="found", workers=1)
    assert answered.to_pandas()["found"].tolist() == machine.predict(strangers[0]).tolist()


def workers_in(step):
    """Processes of Ray that are at a step."""
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] == [f"ray::{step}"]:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def test_a_killed_worker_changes_nothing(letters):
    X, y = letters[0][:6000], letters[1][:6000]
    killed = []

    def kill():
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            for process in workers_in("meet")[:1]:
                os.kill(process.pid, signal.SIGKILL)
                killed.append(process.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    machine = evmachine.ray.fit(X, y, block_rows=400, rejection_threshold=0.05)
    thread.join()
    assert len(killed) == 1
    assert content(machine) == content(ExtremeValueMachine(rejection_threshold=0.05).fit(X, y))


FULL = """
import numpy as np, ray, evmachine.ray
ray.init(num_cpus=1, include_dashboard=False, object_store_memory=80 << 20, log_to_driver=False,
         _system_config={"automatic_object_spilling_enabled": False, "local_fs_capacity_threshold": 0.0})
hold = [ray.put(np.zeros(60 << 20, np.uint8))]
machine = evmachine.ray.RayExtremeValueMachine(preset="plain")
try:
    machine.fit(PATH, labels=LABELS)
except MemoryError as error:
    print("MemoryError", error)
print(sorted(name for name in vars(machine) if name.endswith("_")))
"""


def test_a_full_object_store_is_named_with_the_file(tmp_path):
    path, labels = str(tmp_path / "large.npy"), str(tmp_path / "labels.npy")
    np.save(path, np.random.default_rng(1).random((300_000, 32), dtype=np.float32))
    np.save(labels, np.arange(300_000) % 7)
    code = FULL.replace("PATH", repr(path)).replace("LABELS", repr(labels))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert f"MemoryError {path}: Ray has no room for its rows" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
