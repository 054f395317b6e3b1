"""Faces from vectors: a threshold for as many false accepts as a door may have, and what it costs in false rejects.

The embeddings are drawn, not photographed: a person is a direction on the unit sphere, people resemble each other a
little (families share a direction), and a photo lies around its person. Usage: faces.py [PICTURE.png]
"""

import sys

import numpy as np

from evmachine import ExtremeValueMachine

DIMENSIONS, KNOWN, STRANGERS, FAMILY = 64, 50, 400, 5
rng = np.random.default_rng(0)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def drawn(*shape: int) -> np.ndarray:
    return rng.normal(size=(*shape, DIMENSIONS)) / np.sqrt(DIMENSIONS)


people = KNOWN + STRANGERS
families = np.repeat(drawn(people // FAMILY), FAMILY, axis=0)
faces = unit(0.7 * families + drawn(people))


def photos(persons: np.ndarray, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Photos of persons, and the name of each."""
    who = np.repeat(persons, each)
    vectors = unit(faces[who] + 1.6 * drawn(len(who)))
    return vectors.astype(np.float32), np.array([f"person {number}" for number in who])


order = rng.permutation(people)
known, others = order[:KNOWN], order[KNOWN:]
X, y = photos(known, 60)
machine = ExtremeValueMachine.robust(metric="cosine").fit(X, y)
# Strangers of the kind that come to the door, to set the threshold on; others, to test it.
machine.fit_unknowns(photos(others[:200], 10)[0])
queries, truth = photos(known, 40)
strangers, _ = photos(others[200:], 20)

asked = [0.1, 0.01, 0.001]
found = []
for share in asked:
    machine.set_rejection(max_false_known=share)
    said = machine.predict(queries)
    rejected, accepted = np.mean(said == "unknown"), np.mean(machine.predict(strangers) != "unknown")
    wrong = np.mean((said != truth) & (said != "unknown"))
    found.append((accepted, rejected))
    print(
        f"at most {share:6.1%} of strangers: false accepts {accepted:6.2%}, false rejects {rejected:6.1%}, "
        f"named wrong {wrong:5.2%}"
    )

for share, (accepted, _) in zip(asked, found, strict=True):
    # Photos of one person resemble each other, so that this varies more than 4,000 independent rows would.
    assert accepted < 2.5 * share + 0.002, "a door keeps its promise"

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    accepts, rejects = machine.score_samples(strangers), machine.score_samples(queries)
    thresholds = np.quantile(accepts, np.linspace(0, 1, 400))
    course = [(np.mean(accepts >= at), np.mean(rejects < at)) for at in thresholds]
    plt.plot(*zip(*course, strict=True), label="every threshold")
    plt.plot(*zip(*found, strict=True), "o", label="10 %, 1 % and 0.1 % asked for")
    plt.xscale("symlog", linthresh=1e-4)
    plt.xlabel("false accepts (strangers)")
    plt.ylabel("false rejects (known people)")
    plt.legend()
    plt.savefig(sys.argv[1])
