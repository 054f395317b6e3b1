"""Figures and pictures."""

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from evmachine import ExtremeValueMachine, FallbackWarning, plot
from evmachine.metrics import open_set_report, openness_curve, oscr_curve


@pytest.fixture(scope="module")
def machine(few):
    return ExtremeValueMachine(preset="plain", tail_size=30).fit(*few)


def test_the_report_agrees_with_scikit_learn(machine, strangers):
    X, y = strangers
    report = open_set_report(machine, X, y)
    known = np.isin(y, machine.classes_)
    truth, said = np.where(known, y, "unknown"), machine.predict(X)
    assert (report["known"], report["unknown"]) == (known.sum(), (~known).sum())
    assert report["accuracy"] == pytest.approx(accuracy_score(truth, said))
    assert report["known_accuracy"] == pytest.approx(accuracy_score(y[known], said[known]))
    assert report["unknown_accuracy"] == pytest.approx(np.mean(said[~known] == "unknown"))
    micro = f1_score(truth, said, labels=machine.classes_, average="micro")
    assert report["f1_micro"] == pytest.approx(micro)
    told = np.clip(machine.score_samples(X), -1e300, 1e300)
    assert report["auroc"] == pytest.approx(roc_auc_score(known, told), abs=1e-12)


def test_the_curve_has_the_area_of_the_report(machine, strangers):
    unknown, known = oscr_curve(machine, *strangers)
    assert (np.diff(unknown) >= 0).all() and (np.diff(known) >= 0).all()
    assert unknown[0] == known[0] == 0.0 and unknown[-1] == 1.0
    area = np.sum(np.diff(unknown) * (known[1:] + known[:-1]) / 2)
    assert area == pytest.approx(open_set_report(machine, *strangers)["oscr"])


def test_openness_ends_where_the_report_is(machine, strangers):
    curve = openness_curve(machine, *strangers)
    report = open_set_report(machine, *strangers)
    assert curve.unknown_classes.tolist() == list(range(21))
    assert curve.openness[0] == 0.0 and curve.openness[-1] == pytest.approx(1 - np.sqrt(2 * 6 / (6 + 26)))
    assert curve.f1[-1] == pytest.approx(report["f1_micro"])
    assert curve.accuracy[-1] == pytest.approx(report["accuracy"])
    assert curve.f1[0] > curve.f1[-1]


def test_what_cannot_be_judged_is_said(machine, few):
    with pytest.raises(ValueError, match="queries of known and of unknown classes"):
        oscr_curve(machine, *few)
    with pytest.raises(ValueError, match="600 rows of X but 3 labels"):
        open_set_report(machine, few[0], few[1][:3])
    assert open_set_report(machine, *few)["auroc"] is None


def test_pictures(machine, few, strangers, tmp_path):
    plane = ExtremeValueMachine(preset="plain", tail_size=30, rejection_threshold=0.05).fit(few[0][:, :2], few[1])
    axes = [
        plot.psi_contours(plane),
        plot.psi_contours(plane, strangers[0][:20, :2] * 3),
        plot.psi_contours(plane, few[0][:20, :2], few[1][:20]),
        plot.parameter_histograms(machine)[0],
        plot.oscr_curve(machine, *strangers),
        plot.openness_curve(machine, *strangers),
    ]
    for number, ax in enumerate(axes):
        ax.figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 5000
    texts = [text.get_text() for text in axes[1].get_legend().get_texts()]
    assert texts[0] == "delta = 0.05" and {"A", "F", "unknown"} <= set(texts)
    assert axes[4].get_legend().get_texts()[1].get_text() == "at 5 % of known rejected"
    labels = np.repeat(["a", "b", "c"], 100)
    blobs = np.random.default_rng(0).normal(size=(300, 2)) + 6 * np.eye(3, 2).repeat(100, axis=0), labels
    with pytest.warns(FallbackWarning, match="an estimate"):
        guessed = ExtremeValueMachine(preset="plain", max_false_known=0.125).fit(*blobs)
    for drawn, words in (
        (guessed, "12.5 % of unknown accepted"),
        (
            ExtremeValueMachine(preset="plain", max_false_unknown=0.1, per_class=True).fit(*blobs),
            "10 % of each class rejected",
        ),
        (ExtremeValueMachine(preset="plain", rejection_threshold={"support": 1.5}).fit(*blobs), "support = 1.5"),
    ):
        ax = plot.psi_contours(drawn)
        assert ax.get_legend().get_texts()[0].get_text() == words
    assert len(axes[5].lines) == 2 and axes[5].lines[0].get_xdata()[-1] > 0.3
    own = pyplot.subplots()[1]
    assert plot.oscr_curve(machine, *strangers, ax=own) is own
    pyplot.close("all")
    with pytest.raises(ValueError, match="need 2 features; the model has 16"):
        plot.psi_contours(machine)


def test_without_matplotlib_the_way_to_get_it_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from evmachine import ExtremeValueMachine, plot\n"
        "machine = ExtremeValueMachine(preset='plain').fit([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1])\n"
        "plot.parameter_histograms(machine)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'evmachine[plot]'" in found.stderr
