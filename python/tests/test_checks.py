"""scikit-learn's own checks, on every public estimator, without skips."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

import evmachine
from evmachine import ExtremeValueMachine, ExtremeValueMachineCV

#: Demands that the class of largest probability is predicted for every training row, so that none is unknown.
ALL_KNOWN = {"check_classifiers_train": "one in twenty known rows is called unknown, unless told otherwise"}

ESTIMATORS = [
    # That no known row is unknown is what both can be asked for, and then no check fails.
    (ExtremeValueMachine(preset="plain", max_false_unknown=0.0), {}),
    (ExtremeValueMachine(preset="plain", rejection_threshold=0.05, fill="mean"), {}),
    (ExtremeValueMachine(preset="plain"), ALL_KNOWN),
    (ExtremeValueMachineCV(max_false_unknown=0.0), {}),
]


def test_every_public_estimator_is_checked():
    public = {getattr(evmachine, name) for name in evmachine.__all__}
    estimators = {kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    assert estimators == {type(estimator) for estimator, _ in ESTIMATORS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "expected"), ESTIMATORS, ids=str)
def test_checks(estimator, expected):
    results = check_estimator(estimator, on_fail=None, expected_failed_checks=expected)
    assert len(results) >= 54
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert failed.keys() == expected.keys(), failed
