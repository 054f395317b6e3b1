"""Corrections: with every row kept and whole tails, a corrected model is that of a fit to the corrected rows."""

import copy
import pickle
import threading

import numpy as np
import pytest

from evmachine import Difference, EditReport, ExtremeValueMachine, FallbackWarning

EXACT = {"tail_size": 25, "cover_threshold": 1.0, "rejection_threshold": 0.05}


def exact(**params):
    return ExtremeValueMachine(preset="plain", **EXACT, **params)


def parts(machine):
    """What the model is made of, by class, whatever the order of its rows."""
    columns = (machine.extreme_vectors_, machine.weibull_shape_, machine.weibull_scale_)
    rows = zip(machine.extreme_vector_classes_.tolist(), *(column.tolist() for column in columns), strict=True)
    return sorted(rows, key=repr)


@pytest.fixture
def machine(few):
    return exact().fit(*few)


@pytest.mark.parametrize("label", ["B", "new"])
def test_relabelled_rows_are_as_if_they_had_been_labelled_so(machine, few, strangers, label):
    X, y = few
    rows = [3, 4, 77, 200]
    report = machine.relabel(label, rows=[row + 1 for row in rows])
    right = y.astype(object)
    right[rows] = label
    fitted = exact().fit(X, right.astype(str))
    assert parts(machine) == parts(fitted)
    assert machine.classes_.tolist() == fitted.classes_.tolist()
    np.testing.assert_array_equal(machine.predict(strangers[0]), fitted.predict(strangers[0]))
    assert report == EditReport(
        rows=sum(y[row] != label for row in rows),
        refitted=report.refitted,
        new_classes=["new"] if label == "new" else [],
        ended_classes=[],
        extreme_vectors=600,
        recalibrated=False,
    )


def test_unlearned_rows_are_as_if_they_had_never_been_there(machine, few):
    X, y = few
    rows = [0, 10, 599]
    machine.unlearn(rows=np.array(rows) + 1)
    assert parts(machine) == parts(exact().fit(np.delete(X, rows, axis=0), np.delete(y, rows)))
    with pytest.raises(ValueError, match=r"does not hold row 11: .*cover_threshold=1"):
        machine.unlearn(rows=[11])


def test_classes_are_merged_split_and_renamed_as_if_they_had_been_so(machine, few):
    X, y = few
    before = parts(machine)
    report = machine.merge_classes("B", into="A")
    assert (report.ended_classes, report.rows) == (["B"], (y == "B").sum())
    assert machine.classes_.tolist() == list("ACDEF")
    assert parts(machine) == parts(exact().fit(X, np.where(y == "B", "A", y)))
    report = machine.split_class("A", into="B", rows=np.flatnonzero(y == "B") + 1)
    assert report.new_classes == ["B"] and parts(machine) == before
    report = machine.rename_class("B", to="a much longer name")
    assert machine.classes_.tolist() == ["A", "C", "D", "E", "F", "a much longer name"] and report.rows == 0
    machine.rename_class("a much longer name", to="B")
    assert parts(machine) == before


def test_a_label_that_may_be_a_typing_error_is_asked_about(machine):
    with pytest.raises(ValueError, match="is A meant. Name that class, or pass new_class=True"):
        machine.relabel("a", rows=1)
    assert machine.relabel("a", rows=1, new_class=True).new_classes == ["a"]


def test_rows_set_aside_come_back_even_if_their_class_has_ended(few, tmp_path):
    X, y = few
    numbers = np.array([ord(label) for label in y], dtype=np.int16)
    machine = exact().fit(X, numbers)
    before, own = parts(machine), np.flatnonzero(numbers == ord("C")) + 1
    report = machine.set_aside(rows=own)
    assert report.ended_classes == [ord("C")]
    assert machine.classes_.tolist() == [ord(label) for label in "ABDEF"]
    assert parts(machine) == parts(exact().fit(X[y != "C"], numbers[y != "C"]))
    machine.save(tmp_path / "m.safetensors")
    machine = ExtremeValueMachine.load(tmp_path / "m.safetensors")
    aside = [row for row in machine.rows() if row.part == "set aside"]
    assert {row.label for row in aside} == {ord("C")} and len(aside) == len(own)
    with pytest.raises(ValueError, match=f"row {own[0]} is set aside; restore it first"):
        machine.unlearn(rows=own[0])
    with pytest.raises(ValueError, match="row 1 is not set aside"):
        machine.restore(rows=1)
    assert machine.restore(rows=aside).new_classes == [ord("C")]
    assert machine.classes_.dtype == np.int16 and parts(machine) == before


def test_ignored_samples_may_come_before_or_after(few, strangers):
    X, y = few
    queries = strangers[0][:30]
    at_once = exact().fit(X, y, ignored=queries)
    nameless, later = exact().fit(X, y), exact().fit(X, y)
    nameless.ignore(queries)
    assert at_once._model == nameless._model
    report = later.ignore(queries, ids=range(30), batch="strangers")
    assert report.rows == 30 and report.new_classes == [] and parts(later) == parts(at_once)
    assert (later.predict(queries) == "unknown").all()
    why = later.explain(queries[7:8])[0].ignored
    assert (why.id, why.number, why.batch_name, why.distance, why.decides) == ("7", 8, "strangers", 0.0, True)
    assert exact().fit(X, y).explain(queries[:1])[0].ignored is None
    assert [row.label for row in later.rows() if row.part == "ignored"] == [None] * 30

    rows = np.flatnonzero(y == "A")[:5]
    edited = exact().fit(X, y)
    edited.ignore_rows(rows=rows + 1)
    assert parts(edited) == parts(exact().fit(np.delete(X, rows, axis=0), np.delete(y, rows), ignored=X[rows]))
    with pytest.raises(ValueError, match="ignored samples"):
        edited.set_aside(rows=rows + 1)
    # Ignored samples can be given a class after all.
    edited.relabel("A", rows=rows + 1)
    assert parts(edited) == parts(exact().fit(X, y))


def test_what_is_ignored_is_unknown_whatever_held_out_rows_say(few):
    X, y = few
    # Of the known classes themselves, so that many a held-out row lies nearest to one of them.
    machine = ExtremeValueMachine(preset="plain").fit(X[100:], y[100:], ignored=X[:100])
    assert (machine.predict(X[:100]) == "unknown").all()
    assert (machine.predict(X[100:]) == y[100:]).mean() > 0.9


def test_one_class_alone_recognises_its_own_and_not_what_lies_far_off(few):
    X, y = few
    own = X[y == "A"]
    with pytest.warns(FallbackWarning, match=r"there is one class.*ignore\(\)"):
        machine = ExtremeValueMachine(preset="plain").fit(own, ["A"] * len(own))
    assert machine.classes_.tolist() == ["A"]
    assert (machine.predict(own) == "A").mean() > 0.9
    assert machine.predict(X[:1] + 100.0).tolist() == ["unknown"]
    assert machine.predict_proba(own).shape == (len(own), 1)
    np.testing.assert_allclose(machine.predict_proba(own), 1.0)
    # Others come, and it is as if they had been there.
    with pytest.warns(FallbackWarning, match="one class"):
        later = exact().partial_fit(own, ["A"] * len(own))
    later.partial_fit(X[y != "A"], y[y != "A"])
    assert parts(later) == parts(exact().fit(X, y))
    # Ignored samples are something to measure margins against.
    with_strangers = ExtremeValueMachine(preset="plain").fit(own, ["A"] * len(own), ignored=X[y != "A"])
    assert (with_strangers.predict(X[y != "A"]) == "unknown").all()
    # Whoever merges all classes is told.
    two = exact().fit(X[np.isin(y, ["A", "B"])], y[np.isin(y, ["A", "B"])])
    with pytest.warns(FallbackWarning, match="there is one class") as caught:
        two.merge_classes("B", into="A")
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="no class would be left"):
        two.unlearn(rows=[row for row in two.rows()])


def test_labels_stay_of_their_kind(few):
    X, y = few
    numbers = np.array([ord(label) for label in y], dtype=np.uint8)
    machine = exact().fit(X, numbers)
    machine.relabel(np.int64(300), rows=1)
    assert machine.classes_.tolist() == [65, 66, 67, 68, 69, 70, 300] and machine.classes_.dtype == np.int64
    assert pickle.loads(pickle.dumps(machine)).classes_.tolist() == machine.classes_.tolist()
    for label, message in [("G", "use one type"), (None, "None is no label"), (1.5, "use one type")]:
        with pytest.raises(ValueError, match=message):
            machine.relabel(label, rows=2)
    with pytest.raises(ValueError, match="-1 is what predict says of unknowns"):
        machine.relabel(-1, rows=2)
    machine.relabel(-5, rows=2)
    assert machine.unknown_label_ == -6
    with pytest.raises(ValueError, match="there is no class 99; the classes are"):
        machine.merge_classes(99, into=65)
    with pytest.raises(ValueError, match='there is a class "66" already'):
        machine.rename_class(65, to=66)
    flags = exact().fit(X, y < "C")
    flags.relabel(True, rows=np.flatnonzero(y >= "C")[:3] + 1)
    assert flags.classes_.dtype == bool and flags.classes_.tolist() == [False, True]


def test_doubt_finds_the_row_that_is_wrong(machine, few):
    X, y = few
    wrong = y.copy()
    row = int(np.flatnonzero(y == "A")[4])
    wrong[row] = "F"
    ids = [f"image {number}.png" for number in range(600)]
    mistaken = exact().fit(X, wrong, ids=ids)
    doubt = mistaken.doubt(X[row : row + 1])[0]
    assert doubt.label == "F" and doubt.because.id == f"image {row}.png"
    assert (doubt.because.number, doubt.because.distance, doubt.psi) == (row + 1, 0.0, 1.0)
    assert doubt.without.label != "F" and 0.0 <= doubt.without.psi <= 1.0
    assert doubt.without.best in mistaken.classes_
    before = copy.deepcopy(mistaken)
    mistaken.relabel("A", rows=doubt.because)
    assert Difference(row, "F", "A") in before.compare(mistaken, X)
    assert mistaken.compare(machine, X) == []
    assert parts(mistaken) == parts(machine)


def test_compare_takes_unknown_for_unknown(machine, few, strangers):
    (X, y), queries = few, strangers[0]
    named = exact(unknown_label="nobody").fit(X, y)
    assert machine.compare(named, queries) == []
    numbers = exact().fit(X, [ord(label) for label in y])
    assert numbers.compare(exact().fit(X, [float(ord(label)) for label in y]), queries) == []
    strict = exact(unknown_label="nobody").fit(X, y).set_rejection(rejection_threshold=0.999)
    said, asked = machine.predict(queries), strict.predict(queries)
    expected = [
        Difference(row, said[row], "nobody") for row in np.flatnonzero((said != "unknown") & (asked == "nobody"))
    ]
    assert expected and machine.compare(strict, queries) == expected


def test_witnesses_and_thresholds_follow(few, strangers):
    machine = ExtremeValueMachine.robust().fit(*few)
    machine.merge_classes("B", into="A")
    machine.relabel("new", rows=range(1, 11))
    assert machine.shares_ is not None and machine.calibration_ is not None
    other = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(other.predict(strangers[0]), machine.predict(strangers[0]))
    assert set(machine.predict(few[0])) <= {*"ACDEF", "new", "unknown"}


def test_edits_at_once_are_all_made(few):
    X, y = few
    machine = exact().fit(X, y)
    barrier = threading.Barrier(4)

    def work(numbers):
        barrier.wait()
        for number in numbers:
            machine.unlearn(rows=number)
            machine.predict(X[:5])

    workers = [threading.Thread(target=work, args=(range(start, 21, 4),)) for start in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert parts(machine) == parts(exact().fit(X[20:], y[20:]))


def test_what_fails_leaves_the_machine_as_it_was(machine, few):
    before = machine._model.to_bytes()
    for call in (
        lambda: machine.split_class("A", into="B", rows=1),
        lambda: machine.split_class("A", into="Z", rows=range(1, 601)),
        lambda: machine.relabel("", rows=1),
        lambda: machine.merge_classes("A", into="A"),
        lambda: machine.unlearn(),
        lambda: machine.unlearn(rows=[]),
        lambda: machine.unlearn(rows=0),
        lambda: machine.unlearn(rows=1.0),
        lambda: machine.ignore([[1.0]]),
        lambda: machine.ignore(few[0][:2], ids=[1]),
    ):
        with pytest.raises(ValueError):
            call()
    assert machine._model.to_bytes() == before and machine.classes_.tolist() == list("ABCDEF")


@pytest.mark.parametrize("preset", [exact, ExtremeValueMachine.robust])
def test_rows_that_are_not_of_a_class_are_never_answered_so_until_that_is_taken_back(few, preset):
    X, y = few
    machine = preset().fit(X, y)
    before, said = machine._model.to_bytes(), machine.predict(X)
    own = X[y == "A"][:3]
    report = machine.not_class(own, "A", ids=["p", "q", "r"], batch="today")
    assert (report.rows, report.recalibrated) == (3, False)
    assert "A" not in machine.predict(own)
    (denied,) = machine.explain(own[1:2])[0].denied
    assert (denied.label, denied.id, denied.distance, denied.decides) == ("A", "q", 0.0, True)
    assert [row.part for row in machine.rows("A")].count("not of it") == 3
    assert pickle.loads(pickle.dumps(machine)).predict(own).tolist() == machine.predict(own).tolist()
    machine.unlearn(ids=["p", "q", "r"])
    assert machine._model.to_bytes() == before
    np.testing.assert_array_equal(machine.predict(X), said)
    with pytest.raises(ValueError, match="there is no class 'nobody'"):
        machine.not_class(own, "nobody")
