"""What the statistics promise about chance, shown by simulation with fixed seeds."""

import math

import numpy as np
import pytest
from scipy import stats

from pfbench.verification import statistics as st
from pfbench.verification.statistics import means, medians

EXPONENTS = (0.5, 2.0, *(pytest.param(one, marks=pytest.mark.long) for one in (1.0, 1.5, 3.0)))
X = np.geomspace(10, 1000, 8)  # two decades
TRIALS, SEEDS = 10_000, 20


def lognormal(rng, shape):
    """Noise whose logarithm has a standard deviation of 0.2."""
    return np.exp(0.2 * rng.standard_normal(shape))


def relative(rng, shape):
    """Normal noise of 20 %, kept positive (a case in 3 million)."""
    return np.maximum(1 + 0.2 * rng.standard_normal(shape), 0.01)


def fits(exponent, noise, trials, seed, seeds=SEEDS):
    rng = np.random.default_rng(seed)
    counts = 1000 * X**exponent * noise(rng, (trials, seeds, X.size))
    return [st.fit_exponent(X, one) for one in counts]


# --- exponents ------------------------------------------------------------------------------------


@pytest.mark.thin(2)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_intervals_cover_the_exponent_and_p_values_are_those_of_a_coin(exponent):
    """10 000 studies: intervals cover, and p-values fall below α, as often as the binomial says."""
    found = fits(exponent, lognormal, TRIALS, seed=int(10 * exponent))
    covered = np.mean([fit.lower <= exponent <= fit.upper for fit in found])
    exact = 1 - 2 * stats.binom.cdf(5, SEEDS, 0.5)  # 6th and 15th of 20
    assert abs(covered - exact) < 5.5 * math.sqrt(exact * (1 - exact) / TRIALS)
    p_values = np.array([medians.sign_p_value(fit.slopes, exponent) for fit in found])
    for within in (9, 5, 3):
        level = stats.binom.cdf(within, SEEDS, 0.5)
        deviation = math.sqrt(level * (1 - level) / TRIALS)
        assert abs(np.mean(p_values <= level * (1 + 1e-9)) - level) < 5.5 * deviation


@pytest.mark.long
def test_intervals_cover_under_normal_relative_noise():
    found = fits(2.0, relative, TRIALS, seed=1)
    assert 0.94 <= np.mean([fit.lower <= 2 <= fit.upper for fit in found]) <= 0.97


@pytest.mark.parametrize("noise", [lognormal, relative])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_slope_too_steep_by_three_tenths_is_violated(exponent, noise):
    found = fits(exponent, noise, 500, seed=2, seeds=st.MOST_SEEDS)
    verdicts = [st.decide_exponent(fit, exponent - 0.3).verdict for fit in found]
    assert verdicts.count("violated") >= 0.95 * 500


def test_straight_lines_are_rarely_called_curved_or_violated():
    found = fits(1.0, lognormal, 3000, seed=4)
    assert np.mean([fit.is_curved for fit in found]) < 0.015
    verdicts = [st.decide_exponent(fit, 1.0).verdict for fit in found]
    assert verdicts.count("within-10") > 0.98 * 3000
    assert "violated" not in [st.decide_exponent(fit, 0.9).verdict for fit in found]


# --- the e-process --------------------------------------------------------------------------------


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "law",
    [
        lambda rng, shape: rng.exponential(size=shape),
        lambda rng, shape: (1 + rng.pareto(1.1, shape)) / 11,  # infinite variance
        lambda rng, shape: np.exp(2 * rng.standard_normal(shape) - 2),
        lambda rng, shape: 20.0 * (rng.random(shape) < 0.05),
    ],
    ids=["exponential", "pareto", "lognormal", "bernoulli"],
)
def test_a_true_bound_is_rejected_in_at_most_one_of_a_hundred_sequences(law):
    """1e5 sequences of 100 runs whose mean is the bound, looked at after each run."""
    rng = np.random.default_rng(5)
    rejected = sum(
        np.count_nonzero(means.log_e_values(law(rng, (5000, 100)), 1.0).max(axis=1) > math.log(100))
        for _ in range(20)
    )
    assert 0 < rejected <= 1000


def test_a_t_test_at_each_look_would_not_keep_the_level():
    """Why the e-process: the same sequences, a one-sided t-test at 1 % from the fifth run on."""
    values = np.random.default_rng(6).exponential(size=(5000, 100))
    runs = np.arange(1, 101)
    mean = np.cumsum(values, axis=1) / runs
    spread = np.cumsum(values**2, axis=1) / runs - mean**2
    t = (mean - 1)[:, 4:] / np.sqrt(spread[:, 4:] / (runs[4:] - 1))
    rejects = (t > stats.t.isf(0.01, runs[4:] - 1)).any(axis=1)
    logs = means.log_e_values(values, 1.0)
    assert np.mean(rejects) > np.mean(logs.max(axis=1) > math.log(100))


# --- sequential -----------------------------------------------------------------------------------


WITHIN = {
    "normal": lambda rng, shape: np.maximum(rng.normal(1, 0.1, shape), 0.0),
    "chi2_8": lambda rng, shape: rng.chisquare(8, shape) / 8,
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "0/10 coin": lambda rng, shape: 10.0 * (rng.random(shape) < 0.1),
    "lognormal": lambda rng, shape: np.exp(rng.standard_normal(shape) - 0.5),
    "pareto 2.5": lambda rng, shape: 0.6 * (1 + rng.pareto(2.5, shape)),
}
BEYOND = {
    "lognormal s=2": lambda rng, shape: np.exp(2 * rng.standard_normal(shape) - 2),
    "pareto 1.5": lambda rng, shape: (1 + rng.pareto(1.5, shape)) / 3,
}
"""Laws of mean 1: those with little beyond ten times it, and those with much."""


def says_holds(law, runs):
    """The share of sequences in which a bound that is the mean is said to hold at some look."""
    samples = np.minimum(law(np.random.default_rng(7), (4000, runs)), means.RANGE)
    with np.errstate(divide="ignore"):
        products = np.cumsum(np.log((means.RANGE - samples) / (means.RANGE - 1)), axis=1)
    return np.mean((products >= math.log(20)).any(axis=1))


@pytest.mark.long
def test_the_shares_are_those_of_sequential():
    law, rng = WITHIN["exponential"], np.random.default_rng(7)
    samples = law(rng, (4000, 200))[:200]
    said = []
    for row in samples:
        position = iter(range(0, 200, 10))

        def draw(number, row=row, position=position):
            start = next(position)
            return row[start : start + number]

        said.append(st.decide_mean_sequentially(draw, 1.0, batch=10, limit=200)[0].verdict)
    products = np.cumsum(np.log(np.maximum(10 - samples, 1e-300) / 9), axis=1)[:, 9::10]
    expected = (products >= math.log(20)).any(axis=1)
    assert [verdict in ("holds", "within-10", "attained") for verdict in said] == expected.tolist()


@pytest.mark.parametrize("law", WITHIN.values(), ids=WITHIN)
def test_a_mean_at_the_bound_holds_at_most_once_in_twenty(law):
    assert says_holds(law, 320) <= 0.05 + 3 * math.sqrt(0.05 / 4000)


@pytest.mark.parametrize("law", BEYOND.values(), ids=BEYOND)
def test_tails_beyond_the_range_cost_what_the_docstring_says(law):
    assert 0.2 < says_holds(law, 400) < 0.32
