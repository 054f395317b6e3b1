"""What rows are called: ids, numbers, batches and times."""

import copy
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from evmachine import ExtremeValueMachine, HeldRow, Speaker

X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
Y = ["low", "low", "low", "high", "high", "high"]
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=timezone.utc)


def fitted(**names):
    return ExtremeValueMachine(preset="plain", tail_size=3, cover_threshold=1.0, rejection_threshold=0.05).fit(
        X, Y, **names
    )


def through_file(machine, folder):
    machine.save(folder / "m.safetensors")
    return ExtremeValueMachine.load(folder / "m.safetensors")


def test_names_survive_updates_files_pickles_and_copies(tmp_path):
    machine = fitted(ids=[10, 11, 12, None, "x", "x"], batch="first.csv", time=NOON)
    machine.partial_fit([[9.0], [9.1]], ["far", "far"], ids=np.array([7, 8]), time=1_700_000_000.9)
    for other in (machine, pickle.loads(pickle.dumps(machine)), copy.copy(machine), through_file(machine, tmp_path)):
        rows = other.rows()
        assert [row.id for row in rows] == ["10", "11", "12", None, "x", "x", "7", "8"]
        assert [row.number for row in rows] == [1, 2, 3, 4, 5, 6, 1, 2]
        assert [row.batch for row in rows] == [1] * 6 + [2] * 2
        assert rows[0] == HeldRow(0, 1, "10", 1, "first.csv", NOON, "low", "extreme vector")
        assert rows[7] == HeldRow(7, 2, "8", 2, None, datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc), "far",
                                  "extreme vector")  # fmt: skip
        assert [row.id for row in other.rows("far")] == ["7", "8"]
        speaker = other.explain([[9.1]])[0].classes[0].extreme_vectors[0]
        assert isinstance(speaker, Speaker) and (speaker.id, speaker.number, speaker.index) == ("8", 2, 7)
        assert (speaker.batch, speaker.time) == (2, rows[7].time)
    with pytest.raises(ValueError, match="there is no class 'near'"):
        machine.rows("near")


def test_without_names_rows_are_numbered_over_all():
    machine = fitted().partial_fit([[9.0], [9.1]], ["far", "far"])
    rows = machine.rows()
    assert [row.number for row in rows] == [*range(1, 9)] and {row.batch for row in rows} == {None}
    assert rows[0].id is None and rows[0].time is None


@pytest.mark.parametrize("ids", [list("abcdef"), np.array(list("abcdef")), pd.Series(list("abcdef")), tuple("abcdef")])
def test_ids_of_every_kind(ids):
    assert [row.id for row in fitted(ids=ids).rows()] == list("abcdef")


def test_times_of_every_kind():
    there = timezone(timedelta(hours=2))
    for time in (NOON, NOON.astimezone(there), NOON.timestamp(), pd.Timestamp(NOON)):
        assert fitted(time=time).rows()[0].time == NOON


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"ids": [1, 2]}, "2 ids for 6 rows; give one for each row"),
        ({"ids": [1, 2, 3, 4, 5.5, 6]}, "the id of row 4 is 5.5, a float; ids are text or integers"),
        ({"ids": "abcdef"}, "must be a sequence"),
        ({"ids": 7}, "must be a sequence"),
        ({"batch": 3}, "batch = 3: must be a name"),
        ({"time": "noon"}, "time = 'noon': must be a datetime"),
        ({"time": 1e17}, "no such year"),
    ],
)
def test_bad_names_are_explained(names, message):
    with pytest.raises(ValueError, match=message):
        fitted(**names)
    with pytest.raises(ValueError, match=message):
        fitted().partial_fit(X, Y, **names)


def test_rows_are_found_by_number_id_batch_and_by_themselves():
    def machine():
        first = fitted(ids=[10, 11, 12, 13, "x", "x"], batch="first.csv")
        return first.partial_fit([[9.0], [9.1], [9.2]], ["far"] * 3, batch="second.csv")

    def left(machine):
        return [row.index for row in machine.rows()]

    for rows, expected in [
        ({"ids": "x"}, [0, 1, 2, 3, 6, 7, 8]),
        ({"ids": [11, "12"]}, [0, 3, 4, 5, 6, 7, 8]),
        ({"rows": 5}, [0, 1, 2, 3, 5, 6, 7, 8]),
        ({"rows": [1, 2], "batch": 2}, [0, 1, 2, 3, 4, 5, 8]),
        ({"rows": 1, "batch": "first.csv"}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"batch": "second.csv"}, [0, 1, 2, 3, 4, 5]),
        ({"rows": machine().rows("far")[1:], "ids": 13}, [0, 1, 2, 4, 5, 6]),
    ]:
        model = machine()
        model.unlearn(**rows)
        assert left(model) == expected, rows
    model = machine()
    for rows, message in [
        ({"rows": 2}, r"several rows 2: row 2 \(id \"11\"\) of batch \"first.csv\"; row 2 of batch \"second.csv\""),
        ({"rows": 9}, "does not hold row 9"),
        ({"ids": ["y"]}, 'does not hold a row with the id "y"'),
        ({"ids": 10, "batch": 2}, 'does not hold a row with the id "10"'),
        ({"rows": 1, "batch": 3}, r"no batch 3; the model has 1 \(\"first.csv\"\), 2 \(\"second.csv\"\)"),
        ({"batch": "third.csv"}, 'no batch "third.csv"'),
        ({"rows": [], "batch": 1}, "no rows are given"),
        ({"rows": [True]}, "rows has True"),
        ({"ids": [1.5]}, "one of ids is 1.5"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.unlearn(**rows)
    assert left(model) == [*range(9)]
