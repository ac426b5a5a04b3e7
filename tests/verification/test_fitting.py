"""`pfbench.fit_rate`: exponents from runs whose calls are known by a formula."""

import numpy as np
import pytest
from helpers import refused
from stored import run_of_rows

import pfbench as pf
from pfbench.base.counts import Counts

COLUMNS = ("iteration", "sfo", "V")


ALONG = {"targets": [1.0, 0.1, 0.05, 0.01], "measure": "V"}


def run(seed=0, rows=(), status="target"):
    fields = {"seed": seed, "status": status, "columns": COLUMNS, "rows": list(rows)}
    return run_of_rows([], (), problem="quadratic", counts=Counts(), **fields)


def test_one_slope_a_run_and_their_median():
    rng = np.random.default_rng(0)
    calls = 1e4 * np.exp(0.2 * rng.standard_normal((6, 4))) / np.array(ALONG["targets"]) ** 0.5
    calls = np.maximum.accumulate(np.round(calls), axis=1)
    rows = [[*zip(range(4), one, ALONG["targets"], strict=True)] for one in calls]
    fit = pf.fit_rate([run(seed, rows[seed]) for seed in range(6)], **ALONG)
    slopes = np.polyfit(-np.log(ALONG["targets"]), np.log(calls).T, 1)[0]
    by_hand = (np.median(slopes), slopes.min(), slopes.max())  # six: 97 %
    assert (fit.slope, fit.lower, fit.upper) == pytest.approx(by_hand)
    assert (fit.seeds, fit.points) == (6, 4)
    assert pf.fit_rate([run(0, rows[0])], **ALONG).upper == np.inf  # one says nothing of the spread


def test_along_each_run_by_its_targets():
    """The first row at or below a target counts, those after it do not."""
    rows = [(k, k * k, 1.0 / k if k > 0 else 5.0) for k in range(200)]
    rows += [(200, 10**6, 9.0), (201, 10**7, 1e-9)]
    fit = pf.fit_rate([run(rows=rows)], **ALONG)
    assert fit.slope == pytest.approx(2.0, abs=1e-3)
    steps = pf.fit_rate([run(rows=rows)], **ALONG, count="iteration")
    assert steps.slope == pytest.approx(1.0, abs=1e-3)


def test_a_curve_is_told():
    rows = [(k, 10 * k + k**2, 1.0 / k) for k in range(1, 2000)]
    fit = pf.fit_rate(
        [run(seed, rows=rows) for seed in range(6)], targets=[1.0, 0.1, 0.01, 0.001], measure="V"
    )
    assert fit.is_curved
    assert fit.end_slope > fit.slope


def test_what_is_not_reached_is_censored():
    rows = [(1, 1, 1.0)]
    fit = pf.fit_rate([run(rows=rows)], **ALONG)
    assert fit.censored == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"runs": []}, "at least one run"),
        ({"runs": [3]}, "at least one run"),
        ({"count": "sfos"}, "did you mean 'sfo'"),
        ({"targets": [0.0]}, "positive"),
        ({"targets": [1.0]}, "has no fw_gap"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(given, words):
    with refused(words):
        pf.fit_rate(**{"runs": [run()], "targets": [1.0], **given})
