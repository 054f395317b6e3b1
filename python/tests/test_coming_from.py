"""The numbers of the page for people who move over, which are libmr's own, and what the pages print."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT

from evmachine import ExtremeValueMachine, PsiModel

GOLDEN = json.loads((ROOT / "crates/evmachine/tests/golden/weibull_fits.json").read_text())["cases"]
PAGE = (ROOT / "docs/coming-from.md").read_text()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_fits_and_scores_of_libmr(case):
    expected = case["libmr"]
    fitted = PsiModel.fit(case["margins"], "libmr")
    assert fitted.shape == pytest.approx(expected["shape"], rel=1e-4)
    assert fitted.scale == pytest.approx(expected["scale"], rel=1e-4)
    np.testing.assert_allclose(fitted.probability(case["distances"]), expected["w_score"], atol=1e-5)
    stored = PsiModel.from_libmr(
        expected["scale"], expected["shape"], -1, expected["translate"], expected["small_score"]
    )
    np.testing.assert_allclose(stored.probability(case["distances"]), expected["w_score"], atol=1e-9)


@pytest.mark.parametrize("case", GOLDEN[:4], ids=lambda case: case["name"])
@pytest.mark.filterwarnings("ignore:the tail size exceeds")
def test_the_estimator_gives_the_scores_of_libmr(case):
    """One point at the origin, negatives at the case's margins: its psi is libmr's w_score."""
    X = np.concatenate([[0.0], case["margins"]])[:, None]
    y = ["origin"] + ["other"] * len(case["margins"])
    machine = ExtremeValueMachine(
        preset="plain", tail_model="libmr", tail_size=len(case["margins"]), distance_multiplier=1.0, cover_threshold=1.0
    ).fit(X, y)
    # From the far side, so that the origin's curve alone is asked.
    found = machine.class_scores(-np.array(case["distances"])[:, None])[:, 0]
    np.testing.assert_allclose(found, case["libmr"]["w_score"], atol=1e-4)


def test_what_fit_high_gives_is_refused():
    with pytest.raises(ValueError, match="fit_low"):
        PsiModel.from_libmr(1.0, 2.0, 1, 1, 0.5)


@pytest.mark.parametrize(("page", "count"), [("docs/coming-from.md", 5), ("python/README.md", 4)])
def test_every_example_of_the_pages_runs_and_prints_what_it_says(page, count):
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.DOTALL)
    assert len(blocks) == count
    names: dict = {}
    for code, output in blocks:
        printed: list[str] = []
        names["print"] = lambda *values, printed=printed: printed.append(" ".join(str(value) for value in values))
        exec(code, names)
        assert "\n".join(printed) == output.strip(), code


def test_every_parameter_of_the_page_exists():
    known = set(ExtremeValueMachine(preset="plain").get_params())
    named = set(re.findall(r"\| `(\w+)=", PAGE))
    assert {"tail_size", "cover_threshold", "distance_multiplier", "metric"} <= named <= known
