"""Writes rivals.json: scores of rivals by numpy and scikit-learn, which tests/rivals.rs compares with.

    python rivals.py > rivals.json
"""

import json

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LogisticRegression

CLASSES, ROWS, DIMENSIONS, QUERIES = 5, 40, 6, 12


def data():
    """Training rows, their classes, and queries of known and of unknown classes, all exact in single precision."""
    rng = np.random.default_rng(7)
    centers = rng.normal(0, 2, (CLASSES, DIMENSIONS))
    mixing = rng.normal(0, 1, (DIMENSIONS, DIMENSIONS))
    classes = np.arange(CLASSES * ROWS) % CLASSES
    train = centers[classes] + rng.normal(0, 1, (len(classes), DIMENSIONS)) @ mixing * 0.4
    queries = rng.normal(0, 2.5, (QUERIES, DIMENSIONS))
    narrow = lambda values: values.astype(np.float32).astype(np.float64)
    return narrow(train), classes, narrow(queries)


def squared(rows, centers, precision):
    """Mahalanobis' distances, squared: rows by centers."""
    difference = rows[:, None] - centers[None]
    return np.einsum("qcd,de,qce->qc", difference, precision, difference)


def scores(train, classes, queries):
    means = np.stack([train[classes == c].mean(0) for c in range(CLASSES)])
    within = LedoitWolf(assume_centered=True).fit(train - means[classes])
    whole = LedoitWolf().fit(train)
    distances = squared(queries, means, within.precision_)
    from_all = squared(queries, train.mean(0)[None], whole.precision_)[:, 0]

    probe = LogisticRegression(C=1.0, max_iter=10_000, tol=1e-10).fit(train, classes)
    weights, intercepts = probe.coef_, probe.intercept_
    logits = probe.decision_function(queries)
    largest = logits.max(1)
    energy = largest + np.log(np.exp(logits - largest[:, None]).sum(1))

    origin = -np.linalg.pinv(weights, rcond=1e-6) @ intercepts
    centred = train - origin
    _, vectors = np.linalg.eigh(centred.T @ centred / len(train))
    rest = vectors[:, : DIMENSIONS - DIMENSIONS // 2]
    alpha = probe.decision_function(train).max(1).sum() / np.linalg.norm(centred @ rest, axis=1).sum()
    outside = np.linalg.norm((queries - origin) @ rest, axis=1)
    return {
        "weights": weights.ravel().tolist(),
        "intercepts": intercepts.tolist(),
        "nearest": distances.argmin(1).tolist(),
        "predicted": logits.argmax(1).tolist(),
        "Mahalanobis": (-distances.min(1)).tolist(),
        "relative Mahalanobis": (from_all - distances.min(1)).tolist(),
        "logistic regression, largest logit": largest.tolist(),
        "logistic regression, largest probability": (largest - energy).tolist(),
        "logistic regression, energy": energy.tolist(),
        "logistic regression, ViM": (energy - alpha * outside).tolist(),
    }


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


train, classes, queries = data()
golden = {
    "columns": DIMENSIONS,
    "train": train.ravel().tolist(),
    "classes": classes.tolist(),
    "queries": queries.ravel().tolist(),
    "euclidean": scores(train, classes, queries),
    "cosine": scores(unit(train), classes, unit(queries)),
}
print(json.dumps(golden))
