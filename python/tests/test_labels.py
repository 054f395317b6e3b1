"""Labels of every type, and what unknowns are called among them."""

import pickle

import numpy as np
import pandas as pd
import pytest

from evmachine import ExtremeValueMachine, _labels

X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
QUERIES = [[0.1], [5.1], [99.0]]


def said(y, **params):
    return ExtremeValueMachine(preset="plain", **params).fit(X, y).predict(QUERIES)


@pytest.mark.parametrize(
    ("labels", "unknown"),
    [
        ((0, 1), -1),
        ((7, 3), -1),
        ((-1, 1), -2),
        ((-5, -9), -10),
        ((0.0, 1.0), -1.0),
        (("a", "b"), "unknown"),
        (("a", "a much longer name"), "unknown"),
        ((True, False), "unknown"),
    ],
)
def test_the_unknown_label_goes_with_the_classes(labels, unknown):
    low, high = labels
    y = np.array([low] * 3 + [high] * 3)
    assert said(y).tolist() == [low, high, unknown]
    assert said(y.tolist()).tolist() == [low, high, unknown]


def test_dtypes_stay():
    assert said(np.array([1, 1, 1, 2, 2, 2], dtype=np.int8)).dtype.kind == "i"
    assert said(np.array([1, 1, 1, 2, 2, 2], dtype=np.uint8)).tolist() == [1, 2, -1]
    assert said(["a", "a", "a", "b", "b", "b"]).dtype.kind == "U"
    objects = np.array(["a", "a", "a", "b", "b", "b"], dtype=object)
    assert said(objects).dtype == object and said(objects).tolist() == ["a", "b", "unknown"]


def test_unknowns_can_be_called_otherwise():
    words = ["a", "a", "a", "b", "b", "b"]
    assert said(words, unknown_label="?").tolist() == ["a", "b", "?"]
    assert said([0, 0, 0, 1, 1, 1], unknown_label=99).tolist() == [0, 1, 99]
    assert said([0, 0, 0, 1, 1, 1], unknown_label="nobody").tolist() == [0, 1, "nobody"]
    assert said(words, unknown_label=None).tolist() == ["a", "b", None]


def test_rows_that_are_called_unknown_are_refused_by_every_road():
    y = ["b"] * 3 + ["unknown"] * 3
    words = (
        "row 3 of y is labelled 'unknown', which is what predict says of unknowns: leave rows of unknown classes out"
    )
    with pytest.raises(ValueError, match=words):
        said(y)
    with pytest.raises(ValueError, match=words):
        ExtremeValueMachine(preset="plain").partial_fit(X, y)
    assert said(y, unknown_label="?").tolist() == ["b", "unknown", "?"]
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, ["a"] * 3 + ["b"] * 3)
    with pytest.raises(ValueError, match="row 1 of y is labelled 'unknown'"):
        machine.partial_fit([[9.0], [9.1]], ["c", "unknown"])
    machine.set_params(unknown_label="c")
    with pytest.raises(ValueError, match="row 0 of y is labelled 'c'"):
        machine.partial_fit([[9.0], [9.1]], ["c", "d"])
    numbers = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="row 1 of y is labelled -1, which is what predict says of unknowns"):
        numbers.partial_fit([[9.0], [9.1]], [2, -1])
    assert numbers.classes_.tolist() == [0, 1]


def test_a_negative_class_that_comes_later_moves_the_label():
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, [0, 0, 0, 1, 1, 1])
    assert machine.unknown_label_ == -1
    machine.partial_fit([[9.0], [9.1]], [-5, -5])
    assert machine.unknown_label_ == -6
    assert machine.predict([[9.05], [99.0]]).tolist() == [-5, -6]


def test_numbers_are_one_class_whatever_their_type():
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, [0, 0, 0, 1, 1, 1])
    machine.partial_fit([[9.0], [9.1], [0.05]], np.array([2.0, 2.0, 0.0]))
    assert machine.classes_.dtype.kind == "i" and machine.classes_.tolist() == [0, 1, 2]
    assert machine.predict([[0.1], [9.05]]).tolist() == [0, 2]
    floats = (
        ExtremeValueMachine(preset="plain", rejection_threshold=0.05)
        .fit(X, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        .partial_fit([[9.0], [9.1]], [2, 2])
    )
    assert floats.predict([[0.1], [9.05]]).tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match="use one type"):
        machine.partial_fit([[9.0]], [True])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "a", "", "b", "b", "b"], "row 2 has an empty class name"),
        ([0.5, 0.1, 0.2, 0.3, 0.4, 0.6], "Unknown label type"),
        (["a", "b"], "inconsistent numbers of samples"),
        ([0, 0, 0, 1, 1, np.nan], "NaN"),
    ],
)
def test_bad_labels_are_explained(y, message):
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachine(preset="plain").fit(X, y)


TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"]


@pytest.mark.parametrize("dtype", [*TYPES, "<U5", object])
def test_types_survive_files_and_pickles(tmp_path, dtype):
    y = (
        np.array(["1"] * 3 + ["20"] * 3, dtype=dtype)
        if dtype in ("<U5", object)
        else np.repeat([0, 1], 3).astype(dtype)
    )
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, y)
    machine.save(tmp_path / "m.safetensors")
    for other in (ExtremeValueMachine.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(machine))):
        assert other.classes_.dtype.kind == machine.classes_.dtype.kind
        assert dtype == "<U5" or other.classes_.dtype == machine.classes_.dtype == np.dtype(dtype)
        assert other.classes_.tolist() == machine.classes_.tolist()
        assert [type(label) for label in other.classes_.tolist()] == [
            type(label) for label in machine.classes_.tolist()
        ]
        assert other.unknown_label_ == machine.unknown_label_
        np.testing.assert_array_equal(other.predict(QUERIES), machine.predict(QUERIES))
        other.partial_fit([[0.15]], y[:1])
        assert len(other.classes_) == 2


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([1.0, 2.0], ["1", "2"]),
        ([-0.0, 2.0], ["0", "2"]),
        ([np.float32(1.0), np.float32(16777216.0)], ["1", "16777216"]),
        ([True, False], ["true", "false"]),
        ([np.int8(-5), np.int8(7)], ["-5", "7"]),
        ([0, 2**64 - 1], ["0", "18446744073709551615"]),
        (["1.0", "x"], ["1.0", "x"]),
        ([" 01", "1e3"], [" 01", "1e3"]),
    ],
)
def test_class_names_are_those_that_the_program_reads(labels, names):
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, [labels[0]] * 3 + [labels[1]] * 3)
    assert sorted(machine._model.class_names) == sorted(names)
    assert machine.predict([[0.1], [5.1]]).tolist() == labels


def test_numbers_as_text_have_the_shortest_digits():
    numbers = [0.1, np.float32(0.1), 1e-7, 2.0**53 + 2, -1.5, 1e22]
    assert [_labels.text(number) for number in numbers] == [
        "0.1",
        "0.1",
        "1e-7",
        "9007199254740994.0",
        "-1.5",
        "1e22",
    ]
    keys = {"1.0": "1", "-0": "0", "-3.000": "-3", "TRUE": "true", "01": "01", "1e3": "1e3", "1.": "1.", "yes": "yes"}
    assert {name: _labels.key(name) for name in keys} == keys


def test_the_largest_integers_are_told_from_unknowns(tmp_path):
    largest = 2**64 - 1
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(
        X, np.array([0, 0, 0] + [largest] * 3, dtype=np.uint64)
    )
    assert machine.unknown_label_ == largest - 1
    assert machine.predict(QUERIES).tolist() == [0, largest, largest - 1]
    machine.save(tmp_path / "m.safetensors")
    other = ExtremeValueMachine.load(tmp_path / "m.safetensors")
    assert other.predict(QUERIES).tolist() == [0, largest, largest - 1] and other.classes_.dtype == np.uint64
    smallest = -(2**63)
    signed = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, [smallest] * 3 + [5] * 3)
    assert signed.predict(QUERIES).tolist() == [smallest, 5, 2**63 - 1]
    with pytest.raises(ValueError, match="-1 and 18446744073709551615 fit into no 64-bit integer"):
        machine.fit(X, [-1] * 3 + [largest] * 3)
    with pytest.raises(ValueError, match="fit into no 64-bit integer"):
        signed.partial_fit([[9.0]], np.array([largest], dtype=np.uint64))
    wider = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(
        X, np.repeat(np.array([1, 2], dtype=np.int8), 3)
    )
    assert wider.partial_fit([[9.0], [9.1]], [1000, 1000]).predict([[9.05]]).tolist() == [1000]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, "1", "1", "1"], "y mixes numbers and text: row 0 is 1, row 3 is '1'"),
        (np.array([True, True, True, "true", "true", "x"], dtype=object), "row 0 is True, row 3 is 'true'"),
        ([True, True, 1, 0, 0, 1], "y mixes booleans and numbers: row 0 is True, row 2 is 1"),
        (pd.Series(["a", "a", 3, 3, "b", "b"], dtype=object), "row 0 is 'a', row 2 is 3"),
        (["1", "1", "1.0", "1.0", "b", "b"], "the labels '1' and '1.0' are one class, '1'"),
        (["True", "true", "b", "b", "b", "b"], "the labels 'True' and 'true' are one class, 'true'"),
        (["a", "a", None, "b", "b", "b"], "row 2 of y has no label: None"),
        (["a", "a", float("nan"), "b", "b", "b"], "row 2 of y has no label: nan"),
        (["a", "a", {}, "b", "b", "b"], "row 2 of y is {}, a dict; labels are text, numbers or booleans"),
        (np.array([b"a", b"a", b"a", b"b", b"b", b"b"]), "y holds bytes"),
    ],
)
def test_labels_that_would_become_one_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachine(preset="plain").fit(X, y)


def test_kinds_are_not_mixed_by_updates():
    def machine(labels):
        return ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, [labels[0]] * 3 + [labels[1]] * 3)

    for known, new in (((0, 1), ["1"]), (("0", "1"), [1]), (("true", "x"), [True]), ((True, False), ["true"])):
        with pytest.raises(ValueError, match="y is of type .*the classes known so far of type .*use one type"):
            machine(known).partial_fit([[9.0]], new)
        with pytest.raises(ValueError, match="use one type"):
            machine(known).calibrate([[0.1]], new)
    with pytest.raises(ValueError, match="the labels '1' and '1.0' are one class"):
        machine(("1", "2")).partial_fit([[0.1]], ["1.0"])


def test_objects_of_one_kind_are_that_kind():
    numbers = pd.Series([1, 1, 1, 2, 2, 2], dtype=object)
    assert ExtremeValueMachine(preset="plain").fit(X, numbers).classes_.dtype.kind == "i"
    nullable = pd.Series([True, True, True, False, False, False], dtype="boolean")
    assert ExtremeValueMachine(preset="plain").fit(X, nullable).classes_.dtype.kind == "b"
    integers = pd.Series([1, 1, 1, 2, 2, 2], dtype="Int16")
    assert ExtremeValueMachine(preset="plain").fit(X, integers).classes_.dtype.kind == "i"
    with pytest.raises(ValueError, match="row 5 of y has no label: <NA>"):
        ExtremeValueMachine(preset="plain").fit(X, integers.where(integers.index < 5))
    words = np.array(["a", "a", "a", "b", "b", "b"], dtype=np.dtypes.StringDType())
    assert ExtremeValueMachine(preset="plain").fit(X, words).predict(QUERIES).tolist() == ["a", "b", "unknown"]


def test_names_of_files_are_of_several_classes():
    with pytest.raises(ValueError, match="the file has the classes 'true' and 'True', which are one class"):
        _labels.from_names(["true", "x", "True"], None, None)
    for stored in ("int64", "complex128", "no such type", None):
        assert _labels.from_names(["1", "x"], None, stored).tolist() == ["1", "x"]
    assert _labels.from_names(["1", "300"], None, "uint8").tolist() == [1, 300]
    assert _labels.from_names(["1", "9" * 30], None, None).tolist() == ["1", "9" * 30]
    assert _labels.from_names(["1e3", "2"], None, "float64").tolist() == ["1e3", "2"]


def test_names_of_the_program_are_found_by_their_key(tmp_path):
    machine = ExtremeValueMachine(preset="plain", rejection_threshold=0.05).fit(X, ["1.0"] * 3 + ["2"] * 3)
    machine.save(tmp_path / "m.safetensors")
    other = ExtremeValueMachine.load(tmp_path / "m.safetensors", label_type=int)
    assert other.predict(QUERIES).tolist() == [1, 2, -1]
    other.partial_fit([[9.0], [9.1], [0.15]], [3, 3, 1])
    assert other._model.class_names == ["1.0", "2", "3"] and other.classes_.tolist() == [1, 2, 3]
    assert other.calibrate(X, [1, 1, 1, 2, 2, 2]).calibration_["rows"] == 6
    assert other.forget(1).classes_.tolist() == [2, 3]
