"""Writes forest.json: what scikit-learn's forests say of drawn rows, which tests/parity.rs and the rivals of evmachine-eval compare with.

    python forest.py > forest.json

Rows are whole numbers. Six classes of two clumps each; in each of five draws three classes are known, and the others are unknown.
"""

import json
from itertools import combinations

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

CLASSES, ROWS, COLUMNS, DRAWS, TREES, SEEDS, MANY = 6, 60, 8, 5, 300, 8, 20_000


def data():
    """Rows to learn from and queries, as many, with their classes."""
    rng = np.random.default_rng(28)
    clumps = rng.normal(0, 22, (CLASSES, 2, COLUMNS))
    mixing = rng.normal(0, 1, (CLASSES, COLUMNS, COLUMNS))
    classes = np.arange(2 * CLASSES * ROWS) % CLASSES
    rows = [clumps[c, rng.integers(2)] + 9 * rng.normal(0, 1, COLUMNS) @ mixing[c] for c in classes]
    rows = np.clip(np.round(np.array(rows)), -99, 99)
    half = len(rows) // 2
    return rows[:half], classes[:half], rows[half:], classes[half:]


def oscr(correct, known, unknown):
    scores = np.concatenate([known, unknown])
    order = np.argsort(-scores, kind="stable")
    right = np.concatenate([correct.astype(float), np.zeros(len(unknown))])[order]
    wrong = np.concatenate([np.zeros(len(known)), np.ones(len(unknown))])[order]
    last = np.r_[scores[order][1:] != scores[order][:-1], True]
    ccr = np.r_[0, np.cumsum(right)[last] / len(known)]
    fpr = np.r_[0, np.cumsum(wrong)[last] / len(unknown)]
    return float(np.trapezoid(ccr, fpr))


def figure(probabilities, truth, count):
    best = probabilities.max(1)
    correct = probabilities[:count].argmax(1) == truth
    return oscr(correct, best[:count], best[count:])


train, classes, queries, truths = data()
golden = {
    "columns": COLUMNS,
    "train": train.astype(int).ravel().tolist(),
    "classes": classes.tolist(),
    "queries": queries.astype(int).ravel().tolist(),
    "truth": truths.tolist(),
    "draws": [],
}
makers = {
    "extra_trees": lambda seed: ExtraTreesClassifier(TREES, random_state=seed, n_jobs=2),
    "random_forest": lambda seed: RandomForestClassifier(TREES, random_state=seed, n_jobs=2),
    "boosted": lambda _: HistGradientBoostingClassifier(),
}
for draw, known in enumerate(list(combinations(range(CLASSES), CLASSES // 2))[1 :: 20 // DRAWS]):
    known = np.array(known)
    own, asked = np.isin(classes, known), np.isin(truths, known)
    labels, truth = np.searchsorted(known, classes[own]), np.searchsorted(known, truths[asked])
    rows = np.vstack([queries[asked], queries[~asked]])
    found = {"known": known.tolist()}
    for name, make in makers.items():
        seeds = range(1 if name == "boosted" else SEEDS)
        all_seeds = [make(seed).fit(train[own], labels).predict_proba(rows) for seed in seeds]
        found[name] = {"oscr": float(np.mean([figure(each, truth, len(truth)) for each in all_seeds]))}
        if draw == 0:
            many = make(100).set_params(**({} if name == "boosted" else {"n_estimators": MANY})).fit(train[own], labels)
            found[name]["probabilities"] = np.round(many.predict_proba(rows), 6).ravel().tolist()
    golden["draws"].append(found)
# Two classes, and columns of more than 255 values. With 601 rows no quantile of 255ths falls between two rows.
rng = np.random.default_rng(3)
wide = rng.integers(-3000, 3000, (601, 2))
halves = (wide[:, 0] + rng.normal(0, 700, 601) > 0).astype(int)
two = HistGradientBoostingClassifier(max_iter=30).fit(wide, halves)
golden["two"] = {
    "train": wide.ravel().tolist(),
    "classes": halves.tolist(),
    "probabilities": np.round(two.predict_proba(wide[:100]), 6).ravel().tolist(),
}
print(json.dumps(golden, separators=(",", ":")))
