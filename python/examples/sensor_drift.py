"""Sensors with drift: an alarm at a stated rate of false ones, the cause by name, and what an update brings back.

Letters stand for the states of a machine and their 16 numbers for its sensors. Usage: sensor_drift.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np

from evmachine import DriftMonitor, ExtremeValueMachine

rng = np.random.default_rng(0)
table = np.loadtxt(Path(__file__).parents[2] / "data/letter/letter-recognition.data", delimiter=",", dtype=str)
X, y = table[:, 1:].astype(np.float32), table[:, 0]
known = np.isin(y, list("ABCDEFGHIJ"))
rows = rng.permutation(np.flatnonzero(known))
train, quiet, later = rows[:4000], rows[4000:5500], rows[5500:7000]
strangers = rng.permutation(np.flatnonzero(np.isin(y, list("XYZ"))))[:300]

machine = ExtremeValueMachine.robust().fit(X[train], y[train])


def rates(queries: np.ndarray) -> str:
    """False rejects of known rows, and false accepts of strangers."""
    rejected = np.mean(machine.novelty(queries) < 0)
    accepted = np.mean(machine.novelty(X[strangers]) > 0)
    return f"false rejects {rejected:5.1%}, false accepts {accepted:5.1%}"


print(f"quiet:         {rates(X[quiet])}")
assert DriftMonitor(machine).observe(X[quiet]).report().alarm is None

offset = np.zeros(16, dtype=np.float32)
offset[[2, 5]] = 1.5
planted = {
    "moved": X[later] + offset,
    "new_class": np.concatenate([X[later], X[strangers]])[rng.permutation(len(later) + len(strangers))],
    "encoder": X[later][:, ::-1].copy(),
}
evidence = {}
for cause, stream in planted.items():
    monitor = DriftMonitor(machine).observe(X[quiet])
    course, named = [], None
    for first in range(0, len(stream), 50):
        report = monitor.observe(stream[first : first + 50]).report()
        course.append(max(watch.evidence / watch.needed for watch in report.watches))
        if named is None and report.cause is not None and report.cause.kind == cause:
            named = first + 50
    evidence[cause] = course
    print(f"{cause + ':':15}alarm after {report.alarm.row - len(quiet)} rows, named after {named}: {report.cause.text}")
    assert report.alarm.row > len(quiet) and named is not None

moved = planted["moved"]
print(f"moved:         {rates(moved[750:])}")
machine.calibrate(moved[:750], y[later][:750])
print(f"calibrated:    {rates(moved[750:])}")

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for cause, course in evidence.items():
        plt.semilogy(50 * np.arange(1, len(course) + 1), course, label=cause)
    plt.axhline(1, color="black", linewidth=0.8)
    plt.xlabel("rows since the change")
    plt.ylabel("evidence (1 is an alarm)")
    plt.ylim(1e-3, 1e6)
    plt.legend()
    plt.savefig(sys.argv[1])
