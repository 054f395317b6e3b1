"""Out-of-scope detection on sentence embeddings (a part of CLINC150): what an assistant should not answer.

Usage: out_of_scope.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from evmachine import ExtremeValueMachine
from evmachine.metrics import open_set_report

data = np.load(Path(__file__).parents[2] / "data/clinc150/clinc150-part.npz")
X, y = data["X_train"].astype(np.float32), data["y_train"]
queries = np.concatenate([data["X_test"], data["X_out_of_scope"]]).astype(np.float32)
truth = np.concatenate([data["y_test"], np.full(len(data["X_out_of_scope"]), "out of scope")])
texts = np.concatenate([data["text_test"], data["text_out_of_scope"]])
in_scope = truth != "out of scope"

machines = {
    "the paper's parameters": ExtremeValueMachine(metric="cosine"),
    "robust": ExtremeValueMachine.robust(metric="cosine", unknown_label="out of scope"),
}
print(f"{'':24}accuracy  AUROC   OSCR")
for name, machine in machines.items():
    report = open_set_report(machine.fit(X, y), queries, truth)
    print(f"{name:24}{report['closed_accuracy']:8.3f}{report['auroc']:7.3f}{report['oscr']:7.3f}")

linear = LogisticRegression(C=10, max_iter=1000).fit(X, y)
confidence = linear.predict_proba(queries).max(axis=1)
accuracy = linear.score(queries[in_scope], truth[in_scope])
print(f"{'logistic regression':24}{accuracy:8.3f}{roc_auc_score(in_scope, confidence):7.3f}")

machine = machines["robust"]
# The fit held training sentences out, to reject 5 % of those in scope. Test sentences are less like them, and more are
# rejected; one half of them sets the threshold for the other.
test, labels = data["X_test"].astype(np.float32), data["y_test"]
before = np.mean(machine.novelty(test[1::2]) < 0)
machine.calibrate(test[::2], labels[::2])
after = np.mean(machine.novelty(test[1::2]) < 0)
print(f"\nof the sentences in scope {before:.1%} are rejected, once calibrated {after:.1%};")
said = machine.predict(queries)
print(f"{np.mean(said[~in_scope] == 'out of scope'):.0%} out of scope are rejected:")
for row in np.flatnonzero(~in_scope)[:6]:
    reason = machine.explain(queries[row : row + 1], n_classes=1)[0]
    print(f"  {str(texts[row])!r}: {reason.label} (best: {reason.best})")

asked = ~in_scope
asked[1 : len(test) : 2] = True  # out of scope, and the half of the others that set no threshold
rejected = np.mean(said[asked & in_scope] == "out of scope")
accepted = np.mean(said[asked & ~in_scope] != "out of scope")
print(f"false rejects {rejected:.1%}, false accepts {accepted:.1%}")

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    support = machine.score_samples(queries)
    bins = np.linspace(*np.quantile(support, [0.005, 0.995]), 50)
    plt.hist(support[asked & in_scope], bins, alpha=0.6, density=True, label=f"in scope, {rejected:.1%} rejected")
    plt.hist(support[~in_scope], bins, alpha=0.6, density=True, label=f"out of scope, {accepted:.1%} accepted")
    plt.axvline(0, color="black", linewidth=0.8)
    plt.xlabel("support (0 is the threshold)")
    plt.ylabel("density")
    plt.legend()
    plt.savefig(sys.argv[1])

assert report["auroc"] > 0.95 and np.mean(said[~in_scope] == "out of scope") > 0.8
assert after < before and after < 0.1
