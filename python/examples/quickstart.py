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
print("a decision is", ", ".join(f"{share:.0%} {witness}" for witness, share in (machine.shares_ or {}).items()))

report = open_set_report(machine, X[test], y[test])
for name in ("closed_accuracy", "auroc", "oscr", "known_accuracy", "unknown_accuracy"):
    print(f"{name:18} {report[name]:.3f}")

# The fit held some letters out, so that 5 % of the known ones are called unknown. Stricter:
held_out = np.isin(y[test], machine.classes_)
rejected = {}
for share in (0.05, 0.1):
    machine.set_rejection(max_false_unknown=share)
    rejected[share] = float(np.mean(machine.novelty(X[test][held_out]) < 0))
    report = open_set_report(machine, X[test], y[test])
    print(f"{rejected[share]:.1%} of known letters rejected, {report['unknown_accuracy']:.1%} of the others")

stranger = X[test][~held_out][:1]
reason = machine.explain(stranger, n_classes=1)[0]
speaker = reason.classes[0].extreme_vectors[0]
print(f"a letter {y[test][~held_out][0]} is {reason.label}: training row {speaker.index} is nearest in psi,")
print(f"at distance {speaker.distance:.2f}, and speaks up to {speaker.radius:.2f}")

machine.save("letters.safetensors")
again = ExtremeValueMachine.load("letters.safetensors")
assert (again.predict(X[test]) == machine.predict(X[test])).all()
assert 0.03 < rejected[0.05] < 0.07 and report["known_accuracy"] > 0.85 and report["unknown_accuracy"] > 0.75
