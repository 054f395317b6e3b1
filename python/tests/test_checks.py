"""scikit-learn's own checks, on every public estimator, without expected failures and without skips."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

import evmachine
from evmachine import ExtremeValueMachine, ExtremeValueMachineCV

ESTIMATORS = [
    ExtremeValueMachine(),
    # The checks demand that no training row is unknown: that no known row is, is what the tuner can be asked for.
    ExtremeValueMachineCV(max_false_unknown=0.0),
]


def test_every_public_estimator_is_checked():
    public = {getattr(evmachine, name) for name in evmachine.__all__}
    estimators = {kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    assert estimators == {type(estimator) for estimator in ESTIMATORS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_checks(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert len(results) >= 54
    assert [(result["check_name"], result["exception"]) for result in results if result["status"] != "passed"] == []
