"""Photos of one animal belong together: one answer for a burst of photos instead of one for each.

Sentences stand for photos and intents for animals (a part of CLINC150): a burst is six sentences of one intent whose
vectors share a disturbance, as the light and the angle of a camera trap do. Usage: wildlife_tracks.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np

from evmachine import ExtremeValueMachine

LENGTH = 6
rng = np.random.default_rng(0)
data = np.load(Path(__file__).parents[2] / "data/clinc150/clinc150-part.npz")
X, y = data["X_train"].astype(np.float32), data["y_train"]
test, truth = data["X_test"].astype(np.float32), data["y_test"]
species = np.unique(truth)
known = species[: 2 * len(species) // 3]


def photos(rows: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Vectors of unit length, with a disturbance."""
    found = rows + light
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def light(count: int) -> np.ndarray:
    return rng.normal(size=(count, X.shape[1])) * 0.5 / np.sqrt(X.shape[1])


def bursts(pool: np.ndarray, names: np.ndarray, classes: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """Six photos each, the class of each photo, and its burst."""
    chosen = classes[rng.integers(len(classes), size=count)]
    rows = np.concatenate([rng.choice(np.flatnonzero(names == name), LENGTH) for name in chosen])
    shared = np.repeat(light(count), LENGTH, axis=0)
    return photos(pool[rows], shared), np.repeat(chosen, LENGTH), np.repeat(np.arange(count), LENGTH)


learned = np.isin(y, known)
machine = ExtremeValueMachine.robust(metric="cosine", unknown_label="unknown")
machine.fit(photos(X[learned], light(np.sum(learned))), y[learned])

# Test sentences are less like training sentences than those are like each other: one half calibrates for the other.
machine.calibrate(photos(test[::2], light(len(test[::2]))), truth[::2])
calibration = bursts(test[::2], truth[::2], known, 400)
queries, names, groups = bursts(test[1::2], truth[1::2], species, 600)
strange = ~np.isin(names[::LENGTH], known)

single = machine.predict(queries).reshape(-1, LENGTH)
changes = np.mean(np.sum(single[:, 1:] != single[:, :-1], axis=1))
one_row = (np.mean(single[~strange] == "unknown"), np.mean(single[strange] != "unknown"))
print(
    f"{'each photo:':25}false rejects {one_row[0]:5.1%}, false accepts {one_row[1]:5.1%}, {changes:.2f} changes a burst"
)
shares = [one_row]
for name, tracks in {"bursts": None, "bursts, calibrated": calibration}.items():
    answers = machine.predict_tracks(queries, groups, calibration=tracks)
    labels = np.array([answer.label for answer in answers], dtype=object)
    rejected, accepted = np.mean(labels[~strange] == "unknown"), np.mean(labels[strange] != "unknown")
    wrong = np.mean((labels != names[::LENGTH])[~strange & (labels != "unknown")])
    sure = [answer.sure_at for answer in answers if answer.sure_at is not None]
    print(
        f"{name + ':':25}false rejects {rejected:5.1%}, false accepts {accepted:5.1%}, named wrong {wrong:5.1%}, "
        f"{len(sure) / len(answers):.0%} sure before the end"
    )
    shares.append((rejected, accepted))

assert shares[2][1] < shares[0][1], "calibrated on bursts, fewer strangers are accepted than photo by photo"

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    places = np.arange(3)
    plt.bar(places - 0.2, [100 * share[0] for share in shares], 0.4, label="known rejected")
    plt.bar(places + 0.2, [100 * share[1] for share in shares], 0.4, label="strangers accepted")
    plt.xticks(places, ["each photo", "bursts", "bursts, calibrated"])
    plt.ylabel("per cent")
    plt.legend()
    plt.savefig(sys.argv[1])
