"""Labels of every type, and what unknowns are called among them."""

import numpy as np
import pytest

from evmachine import ExtremeValueMachine

X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
QUERIES = [[0.1], [5.1], [99.0]]


def said(y, **params):
    return ExtremeValueMachine(**params).fit(X, y).predict(QUERIES)


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


def test_a_class_called_unknown_needs_another_label():
    y = ["unknown"] * 3 + ["b"] * 3
    with pytest.raises(ValueError, match="unknown_label = 'unknown' is a class"):
        said(y)
    assert said(y, unknown_label="?").tolist() == ["unknown", "b", "?"]


def test_a_negative_class_that_comes_later_moves_the_label():
    machine = ExtremeValueMachine(rejection_threshold=0.05).fit(X, [0, 0, 0, 1, 1, 1])
    assert machine.unknown_label_ == -1
    machine.partial_fit([[9.0], [9.1]], [-1, -1])
    assert machine.unknown_label_ == -2
    assert machine.predict([[9.05], [99.0]]).tolist() == [-1, -2]


def test_numbers_are_one_class_whatever_their_type():
    machine = ExtremeValueMachine(rejection_threshold=0.05).fit(X, [0, 0, 0, 1, 1, 1])
    machine.partial_fit([[9.0], [9.1], [0.05]], np.array([2.0, 2.0, 0.0]))
    assert machine.classes_.dtype.kind == "i" and machine.classes_.tolist() == [0, 1, 2]
    assert machine.predict([[0.1], [9.05]]).tolist() == [0, 2]
    floats = (
        ExtremeValueMachine(rejection_threshold=0.05)
        .fit(X, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        .partial_fit([[9.0], [9.1]], [2, 2])
    )
    assert floats.predict([[0.1], [9.05]]).tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match="use one type"):
        machine.partial_fit([[9.0]], [True])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 6, "one class only, 'a'"),
        (["a", "a", "", "b", "b", "b"], "row 2 has an empty class name"),
        ([0.5, 0.1, 0.2, 0.3, 0.4, 0.6], "Unknown label type"),
        (["a", "b"], "inconsistent numbers of samples"),
        ([0, 0, 0, 1, 1, np.nan], "NaN"),
    ],
)
def test_bad_labels_are_explained(y, message):
    with pytest.raises(ValueError, match=message):
        ExtremeValueMachine().fit(X, y)
