"""Writes probe.json: coefficients of scikit-learn's LogisticRegression on drawn rows. Needs numpy and scikit-learn."""

import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(5)
means = rng.normal(size=(4, 6)) * 1.5
classes = np.arange(160) % 4
rows = (means[classes] + rng.normal(size=(160, 6)) * np.array([1, 2, 0.5, 3, 1, 0.1])).astype(np.float32)
mean, deviation = rows.astype(float).mean(0), rows.astype(float).std(0)
penalty = 0.01
model = LogisticRegression(C=1 / (penalty * len(rows)), tol=1e-10, max_iter=10000)
model.fit((rows.astype(float) - mean) / deviation, classes)
logits = model.decision_function((rows[:20].astype(float) - mean) / deviation)
data = {"rows": rows.ravel().tolist(), "classes": classes.tolist(), "penalty": penalty, "logits": logits.ravel().tolist()}
Path(__file__).with_suffix(".json").write_text(json.dumps(data) + "\n")
