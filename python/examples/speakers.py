"""Speakers from vectors: who speaks, and new voices that the system enrols without poisoning itself.

The embeddings are drawn, not recorded: a speaker is a direction on the unit sphere, a day moves all windows of a
speaker a little, and a window of less quality (shorter, noisier) lies farther off. The system names new voices by
itself, and one name in five is wrong. Usage: speakers.py [PICTURE.png]
"""

import sys
from collections import defaultdict

import numpy as np

from evmachine import Enrolment, ExtremeValueMachine, UnknownPool

DIMENSIONS, KNOWN, NEW, STRANGERS = 96, 40, 10, 30
rng = np.random.default_rng(0)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


voices = unit(rng.normal(size=(KNOWN + NEW + STRANGERS, DIMENSIONS)))
days = 0.25 * rng.normal(size=(len(voices), 8, DIMENSIONS)) / np.sqrt(DIMENSIONS)


def windows(speakers: np.ndarray, day: np.ndarray, quality: np.ndarray) -> np.ndarray:
    noise = rng.normal(size=(len(speakers), DIMENSIONS)) / np.sqrt(DIMENSIONS)
    return unit(voices[speakers] + days[speakers, day] + noise * (1.8 / (0.5 + quality))[:, None]).astype(np.float32)


def drawn(speakers: range, each: int, days_of: range) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Windows of good quality, the speaker of each, and its day."""
    who = np.repeat(np.array(speakers), each)
    day = rng.choice(np.array(days_of), size=len(who))
    return windows(who, day, rng.uniform(0.6, 1.0, size=len(who))), who, day


def name(speakers: np.ndarray) -> np.ndarray:
    return np.array([f"speaker {number}" for number in speakers])


X, y, _ = drawn(range(KNOWN), 60, range(3))
machine = ExtremeValueMachine.robust(metric="cosine").fit(X, name(y))
held, truth, _ = drawn(range(KNOWN), 20, range(3, 6))
machine.calibrate(held, name(truth))  # other days than those of training

queries, speakers, _ = drawn(range(KNOWN), 10, range(6, 8))
strangers, _, _ = drawn(range(KNOWN + NEW, len(voices)), 20, range(6, 8))
rejected, accepted = np.mean(machine.novelty(queries) < 0), np.mean(machine.novelty(strangers) > 0)
said = machine.predict(queries)
wrong = np.mean((said != name(speakers))[said != "unknown"])
print(f"known and unknown voices: false rejects {rejected:.1%}, false accepts {accepted:.1%}, named wrong {wrong:.1%}")


def enrolled(rule: Enrolment | None) -> tuple[float, float, float, float]:
    """Has the system enrol new voices by itself for six days, by a rule.

    Purity of what it learned; afterwards the share of windows of the new voices that get another name, those that are
    rejected, and false accepts of strangers.
    """
    own = ExtremeValueMachine(metric="cosine", preset="plain").fit(X, name(y)).calibrate(held, name(truth))
    pool = UnknownPool(own, enrolment=rule)
    stream = np.random.default_rng(1)
    right: dict[str, list[bool]] = defaultdict(list)
    actual: dict[int, str] = {}
    for day in range(6):
        who = stream.integers(KNOWN, KNOWN + NEW, size=100)
        quality = stream.uniform(size=len(who))
        # The system knows a voice when it hears one again, in four of five cases; a bad window misleads it more often.
        misled = stream.uniform(size=len(who)) < 0.4 * (1 - quality)
        other = KNOWN + (who - KNOWN + stream.integers(1, NEW, size=len(who))) % NEW
        named = np.where(misled, other, who)
        vectors = windows(who, np.full(len(who), day), quality)
        numbers = pool.add(vectors, only_unknown=False, qualities=quality.tolist(), occasions=[f"day {day}"] * len(who))
        left_out = {one["row"] for one in pool.left_out_}
        taken = [row for row in range(len(who)) if row not in left_out]
        for number, row in zip(numbers, taken, strict=True):
            pool.label(number, name(named[row : row + 1])[0], proposed=True)
            actual[number] = name(who[row : row + 1])[0]
        waits = {one.sample for one in pool.held_back()}
        for number, _, label in zip(*pool.samples(), strict=True):
            if label is not None and number not in waits:
                right[label].append(label == actual[number])
        pool.update()
    new, own_names, _ = drawn(range(KNOWN, KNOWN + NEW), 30, range(6, 8))
    learned = np.concatenate(list(right.values()))
    said = own.predict(new)
    rejected, wrong = np.mean(said == "unknown"), np.mean((said != name(own_names)) & (said != "unknown"))
    return float(learned.mean()), float(wrong), float(rejected), float(np.mean(own.novelty(strangers) > 0))


if __name__ == "__main__":
    import warnings

    from evmachine import EnrolmentWarning, RetuneWarning

    warnings.simplefilter("ignore", EnrolmentWarning)
    # What was named wrong shows there too.
    warnings.simplefilter("ignore", RetuneWarning)
    rules = {
        "no rule": None,
        "with a rule": Enrolment(least_quality=0.6, least_samples=5, least_occasions=2),
    }
    found = {what: enrolled(rule) for what, rule in rules.items()}
    for what, (purity, misnamed, missed, strange) in found.items():
        print(
            f"new voices, {what + ':':13}purity {purity:.1%}, named wrong {misnamed:.1%}, false rejects {missed:.1%}, "
            f"false accepts {strange:.1%}"
        )
    assert found["with a rule"][0] > found["no rule"][0] + 0.05, "the rule keeps classes pure"

    if len(sys.argv) > 1:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        places = np.arange(4)
        for shift, (what, values) in zip((-0.2, 0.2), found.items(), strict=True):
            plt.bar(places + shift, [100 * value for value in values], 0.4, label=what)
        plt.xticks(places, ["purity", "named wrong", "new voices\nrejected", "strangers\naccepted"])
        plt.ylabel("per cent")
        plt.legend()
        plt.savefig(sys.argv[1])
