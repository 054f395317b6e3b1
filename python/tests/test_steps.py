"""Steps of a fit, and what drives them."""

import _thread
import pickle
import random
import signal
import threading

import numpy as np
import pytest
from engines import Here, Processes

from evmachine import ExtremeValueMachine, FallbackWarning, steps

ROBUST = {"preset": "robust"}


def content(machine):
    return machine._native_model().to_bytes()


def driven(engine, data, *, block_rows=None, ignored=None, preset="plain", **parameters):
    machine = ExtremeValueMachine(preset=preset, **parameters)
    driver = steps.Driver(engine, block_rows)
    return machine._fit(*data, ids=None, ignored=ignored, batch=None, time=None, driver=driver)


@pytest.mark.parametrize("block_rows", [None, 37, 1000])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"metric": "cosine", "tail_model": "libmr", "rejection_threshold": 0.05},
        {"metric": "manhattan", "tail_model": "gumbel", "tail_size": 30, "tail_memory": "max"},
        {"fixed_shape": 2.0, "tail_memory": "none", "per_class": True},
        {"tail_size": 0.9, "max_extreme_vectors": 10},
        ROBUST,
    ],
)
def test_the_model_is_that_of_one_process_whatever_the_blocks(few, parameters, block_rows):
    engine = Here()
    machine = driven(engine, few, block_rows=block_rows, **parameters)
    assert content(machine) == content(ExtremeValueMachine(**{"preset": "plain", **parameters}).fit(*few))
    assert {"bound", "meet_itself", "finish"} <= set(engine.steps)
    assert ("meet" in engine.steps) == (block_rows != 1000)


def test_samples_that_are_no_class_are_columns_of_their_own(few, strangers):
    engine = Here()
    machine = driven(engine, few, block_rows=150, ignored=strangers[0])
    assert content(machine) == content(ExtremeValueMachine(preset="plain").fit(*few, ignored=strangers[0]))
    assert {"gather", "meet"} <= set(engine.steps)


def test_more_parts_than_are_merged_at_a_time(few):
    engine = Here()
    machine = driven(engine, few, block_rows=20, rejection_threshold=0.05)
    assert "merge" in engine.steps
    assert content(machine) == content(ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few))


@pytest.mark.parametrize("tail_memory", ["full", "none"])
def test_rows_whose_bound_is_too_low_are_gathered_again(few, tail_memory):
    def low(task, threads, block):
        bounds = steps.bound(task, threads, block)
        bounds[::7] = np.float32(1e-3)
        return bounds

    engine = Here(replaced={"bound": low})
    machine = driven(engine, few, block_rows=100, tail_memory=tail_memory)
    assert "gather" in engine.steps and "select" in engine.steps
    assert content(machine) == content(ExtremeValueMachine(preset="plain", tail_memory=tail_memory).fit(*few))


def test_one_class_alone_asks_for_nothing(few):
    X, y = few
    one = y == y[0]
    engine = Here()
    with pytest.warns(FallbackWarning):
        machine = driven(engine, (X[one], y[one]))
    assert engine.steps == []
    with pytest.warns(FallbackWarning):
        assert content(machine) == content(ExtremeValueMachine(preset="plain").fit(X[one], y[one]))


def test_processes_that_share_nothing(few):
    engine = Processes(2)
    machine = driven(engine, few, block_rows=200, rejection_threshold=0.05)
    engine.pool.shutdown()
    assert content(machine) == content(ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few))


class Recorded(Here):
    """Remembers what it was given."""

    def __init__(self):
        super().__init__()
        self.values = []

    def put(self, value):
        self.values.append(value)
        return super().put(value)


@pytest.fixture
def recorded(few):
    """The task of a fit with tails of 20, and its blocks."""
    engine = Recorded()
    driven(engine, few, block_rows=120, tail_size=20, rejection_threshold=0.05)
    task, *blocks = engine.values
    return task, [block for block in blocks if isinstance(block, steps.Block)]


def rows_of(found):
    return np.split(found.values, np.cumsum(found.counts)[:-1])


def test_a_meeting_finds_what_brute_force_finds(recorded):
    task, blocks = recorded
    first, second = blocks[0], blocks[3]
    infinite = [np.full(len(block.classes), np.inf, dtype=np.float32) for block in (first, second)]
    found = steps.meet(task, 1, first, infinite[0], second, infinite[1])
    difference = first.values[:, None].astype(np.float64) - second.values[None]
    distances = np.sqrt((difference**2).sum(axis=2))
    distances[first.classes[:, None] == second.classes[None]] = np.inf
    for own, measured in ((found[0], distances), (found[1], distances.T)):
        for tail, row in zip(rows_of(own), measured, strict=True):
            smallest = np.sort(row)[:20]
            np.testing.assert_allclose(tail, smallest[np.isfinite(smallest)], rtol=1e-5)


def test_merging_is_associative_and_commutative(recorded):
    task, blocks = recorded
    first, *others = blocks
    bounds = steps.bound(task, 1, first)
    parts = [steps.gather(task, 1, first, bounds, columns) for columns in others]
    whole = steps.merge(task, 1, first, *parts)
    shuffle = random.Random(7)
    for _ in range(10):
        left = list(parts)
        while len(left) > 1:
            one = left.pop(shuffle.randrange(len(left)))
            other = left.pop(shuffle.randrange(len(left)))
            left.append(steps.merge(task, 1, first, one, other))
        assert left[0].counts.tobytes() == whole.counts.tobytes()
        assert left[0].values.tobytes() == whole.values.tobytes()


def test_blocks_may_be_read_only_and_at_odd_addresses(recorded):
    task, blocks = recorded
    block = blocks[0]

    def odd(array):
        content = np.frombuffer(b"x" + array.tobytes(), dtype=np.uint8)[1:]
        return content.view(array.dtype).reshape(array.shape)

    moved = steps.Block(odd(block.values), odd(block.classes))
    assert not (moved.values.flags.aligned or moved.values.flags.writeable)
    bounds = steps.bound(task, 1, block)
    assert steps.bound(task, 1, moved).tobytes() == bounds.tobytes()
    expected = steps.meet_itself(task, 1, block, bounds)
    found = steps.meet_itself(task, 1, moved, odd(bounds))
    assert found.values.tobytes() == expected.values.tobytes()
    again = steps.merge(task, 1, moved, steps.Found(odd(found.counts), odd(found.values)))
    assert again.values.tobytes() == expected.values.tobytes()


def test_a_task_survives_its_way_and_refuses_what_is_none(recorded):
    task, blocks = recorded
    again = pickle.loads(pickle.dumps(task))
    assert again.to_bytes() == task.to_bytes()
    block = blocks[0]
    assert steps.bound(again, 2, block).tobytes() == steps.bound(task, 1, block).tobytes()
    for bad in (b"", b"\x00" * 7, task.to_bytes()[:-1], task.to_bytes()[8:]):
        with pytest.raises(ValueError, match="no task, or are damaged"):
            steps.Task.from_bytes(bad)
    later = task.to_bytes().replace(b'"version":1', b'"version":2')
    with pytest.raises(ValueError, match="version 2 and this is version 1"):
        steps.Task.from_bytes(later)


def test_steps_refuse_what_does_not_fit(recorded):
    task, blocks = recorded
    block = blocks[0]
    with pytest.raises(ValueError, match="are not 119 rows"):
        steps.bound(task, 1, steps.Block(block.values, block.classes[1:]))
    with pytest.raises(ValueError, match="does not know"):
        steps.bound(task, 1, steps.Block(block.values, block.classes + np.uint32(1000)))
    with pytest.raises(ValueError, match="2 bounds for 120 rows"):
        steps.meet_itself(task, 1, block, np.zeros(2, dtype=np.float32))
    with pytest.raises(ValueError, match="in order of class"):
        steps.bound(task, 1, steps.Block(block.values, np.arange(5, -1, -0.05)[:120].astype(np.uint32)))
    with pytest.raises(ValueError, match="block_rows = 0"):
        steps.Driver(Here(), 0)


def test_an_engine_may_do_steps_in_the_process_and_with_the_threads_of_the_fit(few):
    expected = content(ExtremeValueMachine(preset="plain", n_jobs=1).fit(*few))
    assert content(driven(Here(), few, block_rows=100, n_jobs=1)) == expected


def test_what_a_step_raises_reaches_the_caller_and_changes_nothing(few):
    def failing(*_):
        raise LookupError("no such worker")

    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(*few)
    before = content(machine)
    engine = Here(replaced={"meet": failing})
    with pytest.raises(LookupError, match="no such worker"):
        machine._fit(*few, ids=None, ignored=None, batch=None, time=None, driver=steps.Driver(engine, 100))
    assert engine.steps[-1] == "meet" and engine.steps.count("meet") == 1
    assert content(machine) == before


def test_a_full_store_is_named_with_the_rows_that_do_not_fit(few):
    class Full(Here):
        def put(self, value):
            if isinstance(value, steps.Block) and value.classes[0] > 2:
                raise MemoryError("full")
            return super().put(value)

    with pytest.raises(MemoryError, match=r"here has no room for the rows \d+ to \d+ in order of class, 6400 bytes"):
        driven(Full(), few, block_rows=100, rejection_threshold=0.05)


def test_an_interrupt_ends_it(few):
    class Endless(Here):
        def wait(self, handles, seconds):
            waiting.set()
            threading.Event().wait(seconds)
            return []

    waiting = threading.Event()

    def interrupt():
        waiting.wait()
        _thread.interrupt_main()

    engine = Endless()
    thread = threading.Thread(target=interrupt)
    # A process in the background ignores it, and so does Python then.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            driven(engine, few, block_rows=100, rejection_threshold=0.05)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    # Of all meetings and what follows them, four for each of two workers were begun.
    assert len([step for step in engine.steps if step != "bound"]) == 8


def test_blocks_are_few_and_enough():
    assert [steps.block_rows(200_000, 64, workers) for workers in (1, 2, 4)] == [33334, 25000, 18182]
    assert steps.block_rows(10_000_000, 4096, 4) == 16384
    assert steps.block_rows(3, 2, 64) == 1
