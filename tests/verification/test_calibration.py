"""What the statistics promise about chance, shown by simulation with fixed seeds."""

import math

import numpy as np
import pytest
from scipy import stats

from pfbench.verification import statistics as st
from pfbench.verification.statistics import exponents, means

EXPONENTS = (0.5, 2.0, *(pytest.param(one, marks=pytest.mark.long) for one in (1.0, 1.5, 3.0)))
X = np.geomspace(10, 1000, 8)  # two decades
TRIALS, SEEDS = 10_000, 20


def lognormal(rng, shape):
    """Noise whose logarithm has a standard deviation of 0.2."""
    return np.exp(0.2 * rng.standard_normal(shape))


def relative(rng, shape):
    """Normal noise of 20 %, kept positive (a case in 3 million)."""
    return np.maximum(1 + 0.2 * rng.standard_normal(shape), 0.01)


def fits(exponent, noise, trials, seed):
    rng = np.random.default_rng(seed)
    counts = 1000 * X**exponent * noise(rng, (trials, SEEDS, X.size))
    return [st.fit_exponent(X, one) for one in counts]


# --- exponents ------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_intervals_cover_the_exponent_and_p_values_are_uniform(exponent):
    """10 000 studies: 95 % of the intervals cover, and a share of α of the p-values is below α."""
    found = fits(exponent, lognormal, TRIALS, seed=int(10 * exponent))
    covered = np.mean([fit.lower <= exponent <= fit.upper for fit in found])
    assert 0.93 <= covered <= 0.97
    p_values = np.array(
        [exponents.exponent_p_value(fit.slopes, exponent - 0.1, 0.1) for fit in found]
    )
    for level in (0.5, 0.05, 0.01):
        deviation = math.sqrt(level * (1 - level) / TRIALS)
        assert abs(np.mean(p_values <= level) - level) < 5 * deviation


def test_intervals_cover_under_normal_relative_noise():
    found = fits(2.0, relative, TRIALS, seed=1)
    assert 0.93 <= np.mean([fit.lower <= 2 <= fit.upper for fit in found]) <= 0.97


@pytest.mark.parametrize("noise", [lognormal, relative])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_slope_too_steep_by_three_tenths_is_violated(exponent, noise):
    found = fits(exponent, noise, 500, seed=2)
    verdicts = [st.decide_exponent(fit, exponent - 0.3).verdict for fit in found]
    assert verdicts.count("violated") >= 0.95 * 500


@pytest.mark.parametrize(
    "law",
    [
        lambda rng, shape: rng.standard_normal(shape),
        lambda rng, shape: np.log(rng.exponential(size=shape)) - math.log(math.log(2)),
        lambda rng, shape: rng.standard_t(2, size=shape),
    ],
    ids=["normal", "long lower tail", "t_2"],
)
def test_the_sign_test_keeps_its_level_whatever_the_law(law):
    """Slopes whose median is the boundary, at a level that 200 000 studies can show: 21/2^20."""
    slopes = 2.1 + law(np.random.default_rng(8), (200_000, SEEDS))
    within = np.count_nonzero(slopes <= 2.1, axis=1)
    for below, level in ((4, stats.binom.cdf(4, SEEDS, 0.5)), (2, stats.binom.cdf(2, SEEDS, 0.5))):
        share = np.mean(within <= below)
        assert abs(share - level) < 5 * math.sqrt(level / 200_000)


def test_power_of_the_exponent_test_is_that_of_the_noncentral_t():
    """At a level where the power is near a half, so that a wrong quantile or margin shows."""
    excess, level = 0.03, 0.01  # above claimed + margin
    found = fits(1.0, lognormal, 4000, seed=3)
    p_values = [exponents.exponent_p_value(f.slopes, 0.9 - excess, 0.1) for f in found]
    power = np.mean(np.array(p_values) <= level)
    u = np.log(X)
    error = 0.2 / math.sqrt(np.sum((u - u.mean()) ** 2)) / math.sqrt(SEEDS)
    exact = stats.nct.sf(stats.t.isf(level, SEEDS - 1), SEEDS - 1, excess / error)
    assert 0.3 < exact < 0.8
    assert abs(power - exact) < 5 * math.sqrt(0.25 / 4000)


def test_straight_lines_are_rarely_called_curved_or_violated():
    found = fits(1.0, lognormal, 3000, seed=4)
    assert np.mean([fit.curved for fit in found]) < 0.015
    verdicts = [st.decide_exponent(fit, 1.0).verdict for fit in found]
    assert verdicts.count("tight") > 0.98 * 3000
    assert "violated" not in [st.decide_exponent(fit, 0.9).verdict for fit in found]


# --- the e-process --------------------------------------------------------------------------------


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

        said.append(st.sequential(draw, 1.0, batch=10, most=200)[0].verdict)
    products = np.cumsum(np.log(np.maximum(10 - samples, 1e-300) / 9), axis=1)[:, 9::10]
    expected = (products >= math.log(20)).any(axis=1)
    assert [verdict in ("holds", "tight") for verdict in said] == expected.tolist()


@pytest.mark.parametrize("law", WITHIN.values(), ids=WITHIN)
def test_a_mean_at_the_bound_holds_at_most_once_in_twenty(law):
    assert says_holds(law, 320) <= 0.05 + 3 * math.sqrt(0.05 / 4000)


@pytest.mark.parametrize("law", BEYOND.values(), ids=BEYOND)
def test_tails_beyond_the_range_cost_what_the_docstring_says(law):
    assert 0.2 < says_holds(law, 400) < 0.32
