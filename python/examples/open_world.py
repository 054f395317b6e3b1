"""The open-world loop on UCI Letter: detect, choose, label, update, four times over."""

from pathlib import Path

import numpy as np

from evmachine import ExtremeValueMachine, UnknownPool

LABELS_PER_ROUND = 60

rows = np.loadtxt(Path(__file__).parents[2] / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
X, y = rows[:, 1:].astype(np.float32), rows[:, 0]
first = np.isin(y[:6000], list("ABCDEFGHIJKLMNO"))
machine = ExtremeValueMachine.robust(tail_size=100).fit(X[:6000][first], y[:6000][first])
held_out, held_out_labels = X[15_000:], y[15_000:]


def right() -> float:
    return float(np.mean(machine.predict(held_out) == held_out_labels))


scores = [right()]
print(f"15 letters known: {scores[0]:.1%} of the held-out rows of all 26 are named right")
for number, start in enumerate(range(6000, 14_000, 2000), start=1):
    pool = UnknownPool(machine)
    stream, stream_labels = X[start : start + 2000], y[start : start + 2000]
    rejected = machine.novelty(stream) < 0
    samples = pool.add(stream)
    truth = dict(zip(samples, stream_labels[rejected].tolist(), strict=True))
    # The person who labels is played by the true labels: one look for each suggestion, one label for its group.
    suggestions = pool.suggest(LABELS_PER_ROUND)
    for suggestion in suggestions:
        pool.label(suggestion.group, truth[suggestion.sample])
    taught = len(pool) - sum(label is None for label in pool.samples()[2])
    pool.update()
    scores.append(right())
    print(
        f"round {number}: {len(samples)} of 2000 unknown, {len(suggestions)} questions taught {taught} rows, "
        f"{len(machine.classes_)} letters known, {scores[-1]:.1%} right"
    )

assert scores[-1] > scores[0] + 0.1 and len(machine.classes_) > 20
