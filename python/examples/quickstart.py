"""Quickstart on UCI Letter: learn 15 letters, meet all 26, reject the other 11."""

from pathlib import Path

import numpy as np

from evmachine import ExtremeValueMachine
from evmachine.metrics import open_set_report

data = Path(__file__).parents[2] / "data/letter/letter-recognition.data"
rows = np.loadtxt(data, delimiter=",", dtype=str)
X, y = rows[:, 1:].astype(np.float32), rows[:, 0]
train, test = slice(0, 15_000), slice(15_000, 20_000)
known = np.isin(y[train], list("ABCDEFGHIJKLMNO"))

machine = ExtremeValueMachine.robust(tail_size=150, verbose=1)
machine.fit(X[train][known], y[train][known])
print(f"{len(machine.extreme_vectors_)} extreme vectors of {len(machine.classes_)} letters")

report = open_set_report(machine, X[test], y[test])
for name in ("closed_accuracy", "auroc", "oscr", "known_accuracy", "unknown_accuracy"):
    print(f"{name:18} {report[name]:.3f}")

# Until it is set, delta is 0.05. Here: so that 5 % of the known letters that were held out are called unknown.
held_out = np.isin(y[test], machine.classes_)
delta = float(np.quantile(machine.score_samples(X[test][held_out][:1000]), 0.05))
machine.set_rejection_threshold(delta)
report = open_set_report(machine, X[test][3000:], y[test][3000:])
print(f"at delta = {delta:.3f}: known {report['known_accuracy']:.3f}, unknown {report['unknown_accuracy']:.3f}")

stranger = X[test][~held_out][:1]
reason = machine.explain(stranger, n_classes=1)[0]
speaker = reason.classes[0].speakers[0]
print(f"a letter {y[test][~held_out][0]} is {reason.label}: training row {speaker.index} is nearest in psi,")
print(f"at distance {speaker.distance:.2f}, and speaks up to {speaker.radius:.2f}")

machine.save("letters.safetensors")
again = ExtremeValueMachine.load("letters.safetensors")
assert (again.predict(X[test]) == machine.predict(X[test])).all()
assert report["known_accuracy"] > 0.85 and report["unknown_accuracy"] > 0.75
