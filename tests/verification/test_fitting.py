"""`pfbench.fit_rate`: exponents from runs whose calls are known by a formula."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import refused
from stored import run_of_rows

import pfbench as pf
from pfbench.base.counts import Counts

COLUMNS = ("iteration", "sfo", "V")


def run(seed=0, n=100, epsilon=0.1, sfo=1000, rows=(), status="target"):
    about = {"problem": f"quadratic[n={n}]", "parameters": {"epsilon": epsilon, "step": 0.1}}
    spent = {"iterations": 7, "counts": Counts(sfo=int(sfo))}
    fields = {"seed": seed, "status": status, "columns": COLUMNS, "rows": list(rows)}
    return run_of_rows([], (), **about, **spent, **fields)


def over_n(power, noise=0.0, seeds=6):
    rng = np.random.default_rng(0)
    return [
        run(seed, n, sfo=1e4 * n**power * np.exp(noise * rng.standard_normal()))
        for seed in range(seeds)
        for n in (10, 40, 200, 1000)
    ]


@pytest.mark.parametrize("x", ["n", lambda run: float(run.problem[12:-1])])
def test_from_run_to_run_by_a_parameter(x):
    fit = pf.fit_rate(over_n(0.5), x=x)
    assert (fit.slope, fit.seeds, fit.points) == (pytest.approx(0.5, abs=1e-3), 6, 4)
    runs = over_n(0.5, 0.2)
    noisy = pf.fit_rate(runs, x=x)
    logs = np.log([one.counts.sfo for one in runs]).reshape(6, 4)
    slopes = np.polyfit(np.log([10, 40, 200, 1000]), logs.T, 1)[0]
    by_hand = (np.median(slopes), slopes.min(), slopes.max())  # six: 97 %
    assert (noisy.slope, noisy.lower, noisy.upper) == pytest.approx(by_hand)


def test_an_inverse_is_what_grows():
    runs = [run(0, epsilon=eps, sfo=100 / eps**2) for eps in (0.5, 0.1, 0.05, 0.001)]
    fit = pf.fit_rate(runs, x="1/epsilon")
    assert fit.slope == pytest.approx(2.0, abs=1e-3)
    assert fit.upper == np.inf  # one seed says nothing of the spread


def test_along_each_run_by_its_targets():
    """The first row at or below a target counts, those after it do not."""
    rows = [(k, k * k, 1.0 / k if k > 0 else 5.0) for k in range(200)]
    rows += [(200, 10**6, 9.0), (201, 10**7, 1e-9)]
    fit = pf.fit_rate([run(rows=rows)], targets=[1.0, 0.1, 0.05, 0.01], measure="V")
    assert fit.slope == pytest.approx(2.0, abs=1e-3)
    steps = pf.fit_rate(
        [run(rows=rows)], targets=[1.0, 0.1, 0.05, 0.01], measure="V", count="iteration"
    )
    assert steps.slope == pytest.approx(1.0, abs=1e-3)


def test_a_curve_is_told():
    rows = [(k, 10 * k + k**2, 1.0 / k) for k in range(1, 2000)]
    fit = pf.fit_rate(
        [run(seed, rows=rows) for seed in range(6)], targets=[1.0, 0.1, 0.01, 0.001], measure="V"
    )
    assert fit.is_curved
    assert fit.end_slope > fit.slope


def test_what_is_not_reached_is_censored():
    runs = over_n(0.5)
    runs[3] = replace(runs[3], status="budget")
    fit = pf.fit_rate(runs, x="n", decades=1)
    assert (fit.censored, fit.dropped, fit.is_usable) == (1, 1, False)
    rows = [(1, 1, 1.0)]
    fit = pf.fit_rate([run(rows=rows)], targets=[1.0, 0.1, 0.05, 0.01], measure="V")
    assert fit.censored == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"runs": []}, "at least one run"),
        ({"runs": [3]}, "at least one run"),
        ({}, "give x (one value per run)"),
        ({"x": "n", "targets": [1.0]}, "give x (one value per run)"),
        ({"x": "d"}, "x=d is not a numeric parameter"),
        ({"x": "n", "count": "sfos"}, "did you mean 'sfo'"),
        ({"targets": [0.0]}, "positive"),
        ({"targets": [1.0]}, "has no fw_gap"),
        ({"x": "n", "runs": [run(), run()]}, "two runs have seed 0"),
        ({"x": "n", "runs": [run(), run(1, 10)]}, "no run has seed 0 and x = 10"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(given, words):
    with refused(words):
        pf.fit_rate(**{"runs": over_n(0.5), **given})
