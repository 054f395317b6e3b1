"""The open-world loop."""

import numpy as np
import pytest

from evmachine import ExtremeValueMachine, UnknownPool


@pytest.fixture
def machine(few):
    X, y = few
    rows = np.isin(y, list("ABCD"))
    return ExtremeValueMachine(tail_size=30).fit(X[rows], y[rows])


@pytest.fixture
def novel(letters):
    """300 rows of E and F, which the machine has not seen."""
    X, y = letters
    rows = np.flatnonzero(np.isin(y, ["E", "F"]))[300:600]
    return X[rows], y[rows]


def test_the_loop_learns_new_classes(machine, novel):
    X, y = novel
    pool = UnknownPool(machine)
    added = pool.add(X)
    rejected = np.flatnonzero(machine.predict(X) == "unknown")
    assert len(pool) == len(added) == len(rejected) > 100
    truth = dict(zip(added, y[rejected].tolist(), strict=True))
    labelled = 0
    for suggestion in pool.suggest(20):
        assert suggestion.sample in suggestion.group and suggestion.probability < 0.05
        pool.label(suggestion.group, truth[suggestion.sample])
        labelled += len(suggestion.group)
    before = machine.predict(X)
    updated = pool.update()
    assert updated is machine and machine.classes_.tolist() == list("ABCDEF")
    assert len(pool) == len(rejected) - labelled
    assert (machine.predict(X) == y).mean() > (before == y).mean() + 0.3


def test_every_strategy_suggests_each_sample_once(machine, novel):
    pool = UnknownPool(machine)
    added = pool.add(novel[0], only_unknown=False)
    assert len(added) == 300
    for strategy in ("coverage", "lowest_psi", "closest_to_threshold", "random"):
        groups = [suggestion.group for suggestion in pool.suggest(1000, strategy=strategy)]
        assert sorted(sum(groups, [])) == added, strategy
    lowest = pool.suggest(5, strategy="lowest_psi")
    assert [s.probability for s in lowest] == sorted(s.probability for s in lowest)
    seeds = [[s.sample for s in pool.suggest(5, strategy="random", random_state=seed)] for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]
    with pytest.raises(ValueError, match='strategy = "best": must be coverage'):
        pool.suggest(1, strategy="best")


def test_labels_can_be_changed_and_taken_back(machine, novel):
    pool = UnknownPool(machine)
    added = pool.add(novel[0][:10], only_unknown=False)
    pool.label(added[:4], "E")
    pool.label(added[0], "F")
    pool.unlabel([added[3]])
    numbers, X, labels = pool.samples()
    assert numbers == added and labels[:5] == ["F", "E", "E", None, None]
    np.testing.assert_array_equal(X, novel[0][:10])
    assert pool.remove([added[1], 99]) == 1
    assert repr(pool) == "<UnknownPool: 9 samples, 2 labelled>"
    assert "<td>F</td><td>1</td>" in pool._repr_html_()
    assert not any(added[0] in suggestion.group for suggestion in pool.suggest(100))
    for number in (99, -1):
        with pytest.raises(ValueError, match=f"no sample {number}"):
            pool.label([number], "E")
    with pytest.raises(ValueError, match="n = -1"):
        pool.suggest(-1)
    with pytest.raises(ValueError, match="not of the type of the classes"):
        pool.label(added[0], 3)


def test_a_failed_update_keeps_the_labels(machine, novel):
    pool = UnknownPool(machine)
    pool.label(pool.add(novel[0][:5], only_unknown=False), "unknown")
    with pytest.raises(ValueError, match="unknown_label = 'unknown' is a class"):
        pool.update()
    assert len(pool) == 5 and machine.classes_.tolist() == list("ABCD")
    pool.unlabel(pool.samples()[0])
    assert pool.update() is machine, "nothing labelled, nothing learned"


def test_numbers_as_labels(few):
    X, y = few
    machine = ExtremeValueMachine().fit(X, [ord(label) for label in y])
    pool = UnknownPool(machine)
    pool.label(pool.add(X[:6] + 30), np.int64(7))
    assert pool.update().predict(X[:6] + 30).tolist() == [7] * 6
