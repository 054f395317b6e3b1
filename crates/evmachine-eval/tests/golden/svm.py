"""Writes svm.json: decision values of scikit-learn's machines on a small part of UCI Letter.

    python crates/evmachine-eval/tests/golden/svm.py

Run from the root of the repository; needs numpy and scikit-learn (written with 1.9.1).
"""

import json
import pathlib

import numpy as np
from sklearn.calibration import _sigmoid_calibration
from sklearn.svm import SVC, OneClassSVM

rows = [line.split(",") for line in open("data/letter/letter-recognition.data")]
rows = [row for row in rows if row[0].strip() in "BDER"][:320]
values = np.array([[float(value) for value in row[1:]] for row in rows], dtype=np.float32) / np.float32(15)
positive = np.array([row[0] == "B" for row in rows])
train, queries, positive = values[:240], values[240:], positive[:240]
cost, gamma, nu = 8.0, 2.0, 0.1

binary = SVC(C=cost, gamma=gamma).fit(train, positive)
linear = SVC(C=cost, kernel="linear").fit(train, positive)
one_class = OneClassSVM(nu=nu, gamma=gamma).fit(train[positive])
sigmoid = _sigmoid_calibration(binary.decision_function(train), positive)
golden = {
    "columns": 16,
    "train": [round(float(value) * 15) for value in train.ravel()],
    "positive": positive.tolist(),
    "queries": [round(float(value) * 15) for value in queries.ravel()],
    "cost": cost,
    "gamma": gamma,
    "nu": nu,
    "binary": binary.decision_function(queries).tolist(),
    "binary_support": [int(binary.n_support_[1]), int(binary.n_support_[0])],
    "linear": linear.decision_function(queries).tolist(),
    "one_class": one_class.decision_function(queries).tolist(),
    "sigmoid": [float(value) for value in sigmoid],
}
pathlib.Path("crates/evmachine-eval/tests/golden/svm.json").write_text(json.dumps(golden) + "\n")
