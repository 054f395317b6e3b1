"""Writes rivals.json: scores of rivals by numpy and scikit-learn, which tests/rivals.rs compares with.

    python rivals.py > rivals.json
"""

import json

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

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


def neighbors(train, classes, queries, distances):
    """For counts of neighbours, and for class means: the class of the least mean distance, and that distance with its sign turned."""
    all_pairs = distances(queries, train)
    own = [np.sort(all_pairs[:, classes == c], axis=1) for c in range(CLASSES)]
    found = {f"{k}-NN per class" if k > 1 else "1-NN": np.stack([each[:, :k].mean(1) for each in own], 1) for k in (1, 3, 5, 10, 20)}
    found["nearest class mean"] = distances(queries, np.stack([train[classes == c].mean(0) for c in range(CLASSES)]))
    return {name: {"best": each.argmin(1).tolist(), "score": (-each.min(1)).tolist()} for name, each in found.items()}


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
    rest_of = posthoc(train, classes, queries, probe)
    machines = one_vs_rest(train, classes, queries)
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
        **{f"logistic regression, {name}": score.tolist() for name, score in rest_of.items()},
        "machines": machines.argmax(1).tolist(),
        "RBF SVM, one-vs-rest": machines.max(1).tolist(),
    }


def posthoc(train, classes, queries, probe):
    """Scores of standardised rows h, logits z and weights of standardised rows."""
    mean, deviation = train.mean(0), train.std(0)
    h, rows = (queries - mean) / deviation, (train - mean) / deviation
    z, own = probe.decision_function(queries), probe.decision_function(train)
    weights = probe.coef_ * deviation
    best, largest = z.argmax(1), z.max(1)
    energy = lambda z: np.log(np.exp(z - z.max(1, keepdims=True)).sum(1)) + z.max(1)
    length = np.linalg.norm(h, axis=1)

    p = -np.sort(-np.exp(z - energy(z)[:, None]), axis=1)
    q = 1 - p
    q[:, 0] = p[:, 1:].sum(1)  # the same, but exact where it is nearly 0
    gen = -(p[:, :100] ** 0.1 * q[:, :100] ** 0.1).sum(1)

    cosines = (h / length[:, None]) @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
    guides = -np.sort(-cosines * energy(own), axis=1)[:, :10]

    gaps = np.linalg.norm(weights[:, None] - weights[None], axis=2)
    others = [[c for c in range(CLASSES) if c != y] for y in best]
    fdbd = [np.mean([(z[i, y] - z[i, c]) / gaps[y, c] for c in others[i]]) for i, y in enumerate(best)] / length

    means = np.stack([rows[classes == c].mean(0) for c in range(CLASSES)])
    right = [rows[(classes == c) & (own.argmax(1) == c)] for c in range(CLASSES)]
    center = np.stack([each.mean(0) for each in right])
    spread = np.stack([each.std(0) for each in right]) + 1e-3
    weighted = np.stack([(each * weights[c]).mean(0) for c, each in enumerate(right)])
    cosine = lambda a, b: (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    both = cosine(h, center[best]) + cosine(h * weights[best], weighted[best])
    tops = own.max(1)
    return {
        "GEN": gen,
        "NNGuide": energy(z) * guides.mean(1),
        "NCI": (weights[best] * h).sum(1) / length + 1e-3 * np.abs(h).sum(1),
        "fDBD": fdbd,
        "SHE": (h * means[best]).sum(1),
        "GHOST": largest / (np.abs(h - center[best]) / spread[best]).sum(1),
        "PostMax": largest / length,
        "COSTARR": (largest - tops.min()) / (tops.max() - tops.min()) * both / 2,
    }


def one_vs_rest(train, classes, queries):
    """Decision values of machines with the cost that is best on every fifth row of each class."""
    mean, deviation = train.mean(0), train.std(0)
    h, rows = (queries - mean) / deviation, (train - mean) / deviation
    place = np.array([(classes[: row + 1] == classes[row]).sum() for row in range(len(classes))])
    held = place % 5 == 0
    gamma = 1 / (rows.shape[1] * rows.var())
    right = lambda cost: SVC(C=cost, gamma=gamma).fit(rows[~held], classes[~held]).score(rows[held], classes[held])
    cost = max((1, 10, 100), key=right)
    machines = [SVC(C=cost, gamma=gamma).fit(rows, classes == c) for c in range(CLASSES)]
    return np.stack([machine.decision_function(h) for machine in machines], 1)


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
lengths = lambda a, b: np.linalg.norm(a[:, None] - b[None], axis=2)
golden["euclidean"]["neighbors"] = neighbors(train, classes, queries, lengths)
golden["cosine"]["neighbors"] = neighbors(unit(train), classes, unit(queries), lambda a, b: 1 - unit(a) @ unit(b).T)
print(json.dumps(golden))
