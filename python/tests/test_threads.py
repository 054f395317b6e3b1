"""The interpreter lock, Ctrl-C, forks and progress."""

import copy
import io
import json
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

from evmachine import ExtremeValueMachine, _progress


def slow(rows=12_000):
    """Data that takes seconds to learn on one thread."""
    random = np.random.default_rng(0)
    return random.normal(size=(rows, 64)).astype(np.float32), np.arange(rows) % 4


INTERRUPTED = """
import signal, sys, time
from test_threads import slow
# A process in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
from evmachine import ExtremeValueMachine, ExtremeValueMachineCV
X, y = slow(40_000)
machine = {kind}(n_jobs=1)
print("ready", flush=True)
start = time.monotonic()
try:
    machine.fit(X, y)
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start, hasattr(machine, "classes_"))
machine.fit(X[:200], y[:200])
print("usable")
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a process")
def test_ctrl_c_stops_a_fit_and_leaves_the_machine_usable():
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    code = INTERRUPTED.format(kind="ExtremeValueMachine")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    first, *rest = said.splitlines()
    word, _, fitted = first.split()
    assert word == "interrupted" and fitted == "False"
    assert rest == ["usable"] and process.returncode == 0


def test_other_threads_run_while_a_fit_does():
    X, y = slow(20_000)
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    ExtremeValueMachine(preset="plain", n_jobs=1).fit(X, y)
    end = time.monotonic()
    done.set()
    ticker.join()
    inside = [moment for moment in ticks if start < moment < end]
    # With the lock held there would be next to none.
    assert len(inside) > 20


def test_threads_may_share_a_machine(few, strangers):
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few)
    answers = []

    def ask():
        answers.extend(machine.predict(strangers[0]) for _ in range(10))

    def learn():
        for number in range(5):
            machine.partial_fit(strangers[0][:20], [f"new {number}"] * 20)

    workers = [threading.Thread(target=work) for work in (ask, ask, learn, ask, ask)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(answers) == 40
    allowed = {*"ABCDEF", "unknown", *(f"new {number}" for number in range(5))}
    assert {label for answer in answers for label in answer.tolist()} <= allowed


def together(*calls):
    """Runs the calls at once; what they raised."""
    barrier, raised = threading.Barrier(len(calls)), []

    def run(call):
        barrier.wait()
        try:
            call()
        except Exception as error:
            raised.append(error)

    workers = [threading.Thread(target=run, args=(call,)) for call in calls]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return raised


def test_of_two_updates_at_once_none_is_lost(few, strangers):
    for _ in range(5):
        machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few)
        calls = [
            lambda machine=machine, number=number: machine.partial_fit(
                strangers[0][20 * number : 20 * number + 20], [f"new {number}"] * 20
            )
            for number in range(6)
        ]
        assert together(*calls) == []
        assert set(machine.classes_) == {*"ABCDEF", *(f"new {number}" for number in range(6))}
        assert set(machine._model.class_names) == set(machine.classes_)


@pytest.mark.filterwarnings("ignore::evmachine.RetuneWarning")
def test_changes_of_every_kind_wait_for_each_other(few, strangers):
    X, y = few
    machine = ExtremeValueMachine(preset="plain", cover_threshold=1.0).fit(X, y)
    calls = [
        lambda: machine.forget("F"),
        lambda: machine.partial_fit(strangers[0][:30], ["new"] * 30),
        lambda: machine.reduce(max_extreme_vectors=10),
        lambda: machine.set_rejection(max_false_unknown=0.1),
        lambda: machine.calibrate(X, y),
        lambda: machine.fit_unknowns(strangers[0]),
    ]
    assert together(*calls) == []
    params = json.loads(machine._model.params)
    assert set(machine.classes_) == {*"ABCDE", "new"} == set(machine._model.class_names)
    assert params["max_extreme_vectors"] == {"per_class": 10} and params["strangers"] != [0.45, 6.0]
    assert params["rejection_threshold"] == {"false_unknown": 0.1}
    assert machine.extreme_vector_classes_.tolist().count("A") == 10


def test_copies_do_not_wait_for_the_original(few):
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few)
    with machine._changing():
        copies = [clone(machine), copy.copy(machine), copy.deepcopy(machine), pickle.loads(pickle.dumps(machine))]
        for other in copies:
            (answer,) = together(lambda other=other: other.fit(*few), lambda: 1 / 0)
            assert isinstance(answer, ZeroDivisionError)


def test_answers_are_those_of_one_model(few):
    """Whoever asks while another thread learns gets labels of the model before or after, never of both."""
    X, y = few
    numbers = np.array([ord(label) for label in y])
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.0).fit(X, numbers)
    expected, done, wrong = machine.predict(X), threading.Event(), []

    def ask():
        while not done.is_set():
            found = machine.predict(X)
            if not np.isin(found, expected).all() and not np.isin(found - 1000, expected).all():
                wrong.append(found)

    def learn():
        for turn in range(20):
            machine.fit(X, numbers + 1000 * (turn % 2))
        done.set()

    assert together(ask, ask, learn) == [] and wrong == []


def _in_child(X, y, queue):
    queue.put(ExtremeValueMachine(preset="plain").fit(X, y).predict(X[:5]).tolist())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(few):
    X, y = few
    expected = ExtremeValueMachine(preset="plain").fit(X, y).predict(X[:5]).tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(X, y, queue))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_drawn_in_a_terminal_and_wiped(monkeypatch):
    X, y = slow()
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    ExtremeValueMachine(preset="plain", n_jobs=1, verbose=1).fit(X, y)
    drawn = terminal.getvalue()
    # Of 12,000 rows about a tenth is never learned.
    assert re.search(r"fitting tails .*/10,\d{3}\b", drawn)
    assert drawn.endswith("\r\033[K")
    quiet = Terminal()
    monkeypatch.setattr(sys, "stderr", quiet)
    ExtremeValueMachine(preset="plain", n_jobs=1).fit(X[:300], y[:300])
    assert quiet.getvalue() == ""
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    ExtremeValueMachine(preset="plain", n_jobs=1, verbose=1).fit(X, y)
    assert pipe.getvalue() == ""


def test_progress_in_a_notebook(monkeypatch):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    class Display:
        HTML = staticmethod(lambda text: text)

        @staticmethod
        def display(html, display_id):
            shown.append(html)
            return Handle()

    monkeypatch.setattr(_progress, "_in_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython", Display)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    with _progress.Progress(True) as progress:
        progress.callback("fitting tails", 500, 2000)
        progress.callback("fitting tails", 2000, 2000)
    assert shown[0] == "<progress value='0.2500' max='1'></progress> fitting tails, 500 of 2,000"
    assert len(shown) == 3 and shown[-1] == ""


def test_an_error_of_the_bar_ends_the_fit(monkeypatch):
    def broken(self, stage, done, total):
        raise RuntimeError("no screen")

    monkeypatch.setattr(_progress.Progress, "_draw", broken)
    monkeypatch.setattr(sys, "stderr", Terminal())
    X, y = slow()
    with pytest.raises(RuntimeError, match="no screen"):
        ExtremeValueMachine(preset="plain", n_jobs=1, verbose=1).fit(X, y)
