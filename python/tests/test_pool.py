"""The open-world loop."""

import pickle

import numpy as np
import pytest

from evmachine import Enrolment, EnrolmentWarning, ExtremeValueMachine, StoredPool, UnknownPool


@pytest.fixture
def machine(few):
    X, y = few
    rows = np.isin(y, list("ABCD"))
    return ExtremeValueMachine(preset="plain", tail_size=30).fit(X[rows], y[rows])


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
        assert suggestion.sample in suggestion.group and suggestion.psi < 0.05
        pool.label(suggestion.group, truth[suggestion.sample])
        labelled += len(suggestion.group)
    before = machine.predict(X)
    updated = pool.update()
    assert updated is machine and machine.classes_.tolist() == list("ABCDEF")
    assert len(pool) == len(rejected) - labelled
    assert (machine.predict(X) == y).mean() > (before == y).mean() + 0.3


def test_a_label_that_may_be_a_typing_error_is_asked_about(machine, novel):
    pool = UnknownPool(machine)
    first, second, *_ = pool.add(novel[0])
    pool.label(first, "heron")
    for slip, known in [("a", "A"), ("Heron", "heron"), ("hreon", "heron")]:
        with pytest.raises(ValueError, match=f"is {known} meant. Name that class, or pass new_class=True"):
            pool.label(second, slip)
    pool.label(second, "heron")
    pool.label(second, "Heron", new_class=True)
    assert pool.samples()[2][:2] == ["heron", "Heron"]


def test_every_strategy_suggests_each_sample_once(machine, novel):
    pool = UnknownPool(machine)
    added = pool.add(novel[0], only_unknown=False)
    assert len(added) == 300
    for strategy in ("groups", "coverage", "lowest_psi", "closest_to_threshold", "random"):
        groups = [suggestion.group for suggestion in pool.suggest(1000, strategy=strategy)]
        assert sorted(sum(groups, [])) == added, strategy
    lowest = pool.suggest(5, strategy="lowest_psi")
    assert [s.psi for s in lowest] == sorted(s.psi for s in lowest)
    seeds = [[s.sample for s in pool.suggest(5, strategy="random", random_state=seed)] for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]
    with pytest.raises(ValueError, match='strategy = "best": must be groups'):
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
    machine = ExtremeValueMachine(preset="plain").fit(X, [ord(label) for label in y])
    pool = UnknownPool(machine)
    pool.label(pool.add(X[:6] + 30), np.int64(7))
    assert pool.update().predict(X[:6] + 30).tolist() == [7] * 6


@pytest.mark.filterwarnings("ignore::evmachine.RetuneWarning")
def test_a_pool_in_memory_can_be_pickled(machine, novel):
    pool = UnknownPool(machine)
    added = pool.add(novel[0][:10], only_unknown=False)
    pool.label(added[:2], "E")
    pool.remove([added[3], added[9]])
    copy = pickle.loads(pickle.dumps(pool))
    for found, expected in zip(copy.samples(), pool.samples(), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert copy.add(novel[0][:1], only_unknown=False) == [10], "numbers are not used again"
    assert copy.suggest(3) != [] and copy.update().classes_.tolist() == list("ABCDE")
    assert machine.classes_.tolist() == list("ABCD")
    with pytest.raises(ValueError, match="needs an estimator"):
        UnknownPool()


def test_a_pool_on_disk_learns_and_goes_back(machine, novel, tmp_path):
    X, y = novel
    pool = UnknownPool(machine, path=tmp_path / "pool")
    assert isinstance(pool, StoredPool)
    ids = [f"row {i}" for i in range(len(X))]
    added = pool.add(X, ids=ids)
    rejected = np.flatnonzero(machine.predict(X) == "unknown")
    assert len(pool) == len(added) == len(rejected) > 100
    assert pool.add(X, ids=ids) == added, "adding again changes nothing"
    truth = dict(zip(added, y[rejected].tolist(), strict=True))
    for group in pool.suggest(20):
        assert group.sample in group.group and group.neighbors[0].label in list("ABCD")
        assert group.neighbors[0].support < 0 and group.psi == group.neighbors[0].psi
        name = truth[group.sample]
        pool.label(group, name, strike=[one for one in group.group if truth[one] != name], person="Ada")
    before = machine.predict(X)
    updated = pool.update()
    assert updated is machine and machine.classes_.tolist() == list("ABCDEF")
    assert (machine.predict(X) == y).mean() > (before == y).mean() + 0.3
    assert pool.update() is machine, "nothing labelled, nothing learned"

    again = UnknownPool(path=tmp_path / "pool")
    assert again.estimator.predict(X).tolist() == machine.predict(X).tolist()
    assert again.rollback().classes_.tolist() == list("ABCD")
    assert again.status()["to_learn"] > 20
    assert again.events()[0]["person"] == "Ada"
    again.promote("previous")
    assert pickle.loads(pickle.dumps(again)).estimator.classes_.tolist() == list("ABCDEF")
    assert again.check() == []
    again.backup(tmp_path / "copy")
    restored = StoredPool.restore(tmp_path / "copy", tmp_path / "restored")
    assert restored.status() == again.status()


def test_answers_on_disk_can_be_undone(machine, novel, tmp_path):
    pool = UnknownPool(machine, path=tmp_path / "pool")
    picture = ("image/png", b"picture")
    added = pool.add(novel[0][:6], only_unknown=False, texts=["a", None, "c", "d", "e", "f"], pictures=[picture] * 6)
    assert added == [1, 2, 3, 4, 5, 6]
    assert pool.sample(1)["text"] == "a" and pool.sample(1)["picture"] == picture
    pool.label(added[:3], "E")
    pool.ignore(4)
    pool.discard([5])
    assert pool.samples()[2] == ["E", "E", "E", None] and len(pool) == 4
    assert repr(pool).endswith("4 samples, 3 labelled>") and "<td>E</td><td>3</td>" in pool._repr_html_()
    undoing = pool.undo(1)
    assert pool.samples()[2] == [None] * 4
    pool.undo(undoing)
    pool.unlabel(1)
    assert pool.samples()[2] == [None, "E", "E", None]
    assert pool.remove([6]) == 1
    with pytest.raises(ValueError, match="no sample 99"):
        pool.label(99, "E")
    with pytest.raises(ValueError, match="not of the type of the classes"):
        pool.label(1, 3)
    with pytest.raises(ValueError, match="2 ids for 1 rows"):
        pool.add(novel[0][:1], ids=["a", "b"])
    with pytest.raises(ValueError, match="hands out groups"):
        pool.suggest(1, strategy="random")
    with pytest.raises(ValueError, match="holds no pool yet"):
        UnknownPool(path=tmp_path / "nothing")


def test_numbers_as_labels_on_disk(few, tmp_path):
    X, y = few
    machine = ExtremeValueMachine(preset="plain").fit(X, [ord(label) for label in y])
    pool = UnknownPool(machine, path=tmp_path / "pool")
    pool.label(pool.add(X[:6] + 30), np.int64(7))
    assert pool.samples()[2] == [7] * 6
    assert pool.update().predict(X[:6] + 30).tolist() == [7] * 6
    assert UnknownPool(path=tmp_path / "pool").estimator.predict(X[:6] + 30).tolist() == [7] * 6


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_rule_holds_samples_back_and_says_why(machine, novel, tmp_path, on_disk):
    X = novel[0][machine.predict(novel[0]) == "unknown"][:8]
    rule = Enrolment(least_quality=0.5, least_samples=3, least_occasions=2, quarantine=True)
    pool = UnknownPool(machine, path=tmp_path / "pool" if on_disk else None, enrolment=rule)
    assert pool.enrolment == rule
    qualities = [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.1, None]
    days = ["monday"] * 3 + ["tuesday"] * 5
    numbers = pool.add(X, qualities=qualities, occasions=days)
    assert len(numbers) == 6
    assert [(one["row"], one["reason"]) for one in pool.left_out_] == [(6, "low_quality"), (7, "no_quality")]
    new = {"new_class": True} if on_disk else {}
    pool.label(numbers[:3], "new", **new)
    pool.label(numbers[3:4], "new", proposed=True)
    held = pool.held_back()
    assert [one.reason for one in held] == ["few_occasions"] * 3 + ["quarantined"]
    assert (held[0].sample, held[0].label, held[0].numbers) == (numbers[0], "new", {"occasions": 1, "least": 2})
    with pytest.warns(EnrolmentWarning, match="4 samples are held back: 3 few_occasions, 1 quarantined"):
        pool.update()
    assert "new" not in machine.classes_.tolist()
    pool.label(numbers[3], "new")
    pool.label(numbers[4], "other", **new)
    with pytest.warns(EnrolmentWarning, match="1 sample is held back: 1 few_samples"):
        updated = pool.update()
    assert "new" in updated.classes_.tolist() and "other" not in updated.classes_.tolist()
    if not on_disk:
        pool = pickle.loads(pickle.dumps(pool))
    assert [(one.sample, one.reason) for one in pool.held_back()] == [(numbers[4], "few_samples")]
    pool.enrolment = None
    assert "other" in pool.update().classes_.tolist()
    with pytest.raises(ValueError, match=r"most_moved = -1: must be above 0"):
        pool.enrolment = Enrolment(most_moved=-1.0)
    with pytest.raises(ValueError, match="2 qualities for 8 rows"):
        pool.add(X, qualities=[0.1, 0.2])
