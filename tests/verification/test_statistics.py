"""The statistics against their definitions: enumeration, scipy's tests, polyfit, by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pfbench.base.errors import InputError
from pfbench.verification import statistics as st
from pfbench.verification.statistics import means

X = np.geomspace(3, 3e2, 8)


def product_e_value(samples, bound):
    """The e-value as DESIGN 5.9 defines it, by plain products."""
    lambdas = [1, 1 / 2, 1 / 4, 1 / 8, 1 / 16]
    return sum(math.prod(1 + a * (x / bound - 1) for x in samples) for a in lambdas) / len(lambdas)


def noisy(exponent, seeds=20, noise=0.2, seed=0, x=X):
    rng = np.random.default_rng(seed)
    return 50 * x**exponent * np.exp(noise * rng.standard_normal((seeds, x.size)))


# --- levels ---------------------------------------------------------------------------------------


def test_the_level_is_split_over_the_tests():
    assert pytest.approx(1e-6) == st.LEVEL * st.MOST_TESTS
    assert [st.rejects(math.log(st.MOST_TESTS * x)) for x in (0.99e6, 1.01e6)] == [False, True]


# --- the e-process --------------------------------------------------------------------------------


def test_e_values_are_averages_of_products():
    samples = np.random.default_rng(1).exponential(3.0, size=30)
    expected = [math.log(product_e_value(samples[: i + 1], 2.0)) for i in range(30)]
    np.testing.assert_allclose(means.log_e_values(samples, 2.0), expected, rtol=1e-12, atol=1e-13)
    assert st.max_log_e_value(samples, 2.0) == pytest.approx(max(0.0, *expected))
    assert st.max_log_e_value([], 2.0) == 0.0


def test_many_sequences_at_once_are_each_a_sequence():
    samples = np.random.default_rng(2).exponential(size=(2, 3, 5))
    together = means.log_e_values(samples, 1.5)
    assert together.shape == (2, 3, 5)
    np.testing.assert_array_equal(together[1, 2], means.log_e_values(samples[1, 2], 1.5))


@pytest.mark.parametrize(("chance", "value"), [(0.5, 2.0), (0.05, 20.0)])
def test_under_the_bound_e_values_have_mean_one_and_obey_ville(chance, value):
    """All 2^12 sequences of a two-valued law whose mean is the bound, with their probabilities."""
    outcomes = np.array(list(itertools.product([0.0, value], repeat=12)))
    weight = np.prod(np.where(outcomes > 0, chance, 1 - chance), axis=1)
    logs = means.log_e_values(outcomes, 1.0)
    np.testing.assert_allclose(weight @ np.exp(logs), np.ones(12), rtol=1e-12)
    for threshold in (1.5, 5.0, 20.0, 100.0):
        assert weight @ (logs.max(axis=1) > math.log(threshold)) <= 1 / threshold


@pytest.mark.parametrize(("ratio", "most"), [(2.5, 23), (1.85, 34), (10.0, 9), (1.2, 120)])
def test_runs_needed_at_a_constant_ratio(ratio, most):
    """Close to log(67e6) / log(ratio), which is what λ = 1 alone needs."""
    needed = int(np.argmax(means.log_e_values(np.full(400, ratio), 1.0) > math.log(67e6))) + 1
    assert math.log(67e6) / math.log(ratio) < needed <= most


@pytest.mark.parametrize("before", [[], [0.0], [0.5, 3.0]])
def test_an_infinite_sample_rejects_for_good(before):
    samples = [*before, math.inf, 0.0, 1.0]
    assert [*means.log_e_values(samples, 1.0)[len(before) :]] == [math.inf] * 3
    assert st.rejects(st.max_log_e_value(samples, 1.0))


def test_no_overflow_in_long_sequences():
    assert means.log_e_values(np.full(3000, 10.0), 1.0)[-1] == pytest.approx(
        3000 * math.log(10) - math.log(5)
    )


@pytest.mark.parametrize("bad", [-1e-9, math.nan, -math.inf])
def test_bad_samples_are_refused(bad):
    with pytest.raises(InputError, match="nonnegative"):
        means.log_e_values([1.0, bad], 1.0)


# --- exponents ------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [X, np.array([40.0, 1.0, 7.0, 900.0, 3.0])])
def test_slopes_and_curvature_are_those_of_polyfit(x):
    counts = noisy(1.7, seeds=6, x=x)
    fit = st.fit_exponent(x, counts)
    u = np.log(x)
    lines = [np.polyfit(u, np.log(row), 1)[0] for row in counts]
    quadratic = [np.polyfit(u, np.log(row), 2) for row in counts]
    change = [2 * c * (u.max() - u.min()) for c, _, _ in quadratic]
    np.testing.assert_allclose(fit.slopes, lines, rtol=1e-10)
    assert fit.slope == pytest.approx(np.median(lines))
    assert (fit.lower, fit.upper) == pytest.approx((min(lines), max(lines)))  # 6 seeds: 97 %
    assert fit.curvature == pytest.approx(np.median(change))
    assert (fit.curvature_lower, fit.curvature_upper) == pytest.approx((min(change), max(change)))
    assert fit.end_slope == pytest.approx(np.median([2 * c * u.max() + b for c, b, _ in quadratic]))
    assert (fit.seeds, fit.points, fit.censored, fit.dropped) == (6, x.size, 0, 0)
    assert fit.decades == pytest.approx(math.log10(x.max() / x.min()))
    assert fit.is_usable
    assert not fit.deterministic


def test_known_factors_are_divided_out():
    factor = np.log(X) ** 2
    fit = st.fit_exponent(X, noisy(1.0) * factor, log_known_factors=np.log(factor))
    plain = st.fit_exponent(X, noisy(1.0))
    np.testing.assert_allclose(fit.slopes, plain.slopes, rtol=1e-12)
    assert st.fit_exponent(X, noisy(1.0) * factor).slope > 1.5


def test_the_interval_is_over_seeds_and_not_over_points():
    """Wiggles that all seeds share say nothing of the seeds: they leave the interval as it is."""
    shared = np.exp([0.3, -0.2, 0.1, -0.4, 0.2, 0.3, -0.3, 0.0])
    with_wiggles, plain = (
        st.fit_exponent(X, noisy(1.0, noise=0.01) * factor) for factor in (shared, np.ones(8))
    )
    width = plain.upper - plain.lower
    assert with_wiggles.upper - with_wiggles.lower == pytest.approx(width, rel=1e-9)


def test_x_with_a_censored_cell_is_left_out_for_all_seeds():
    x = np.geomspace(1, 1e4, 9)
    counts = noisy(2.0, seeds=5, x=x)
    counts[0, -1], counts[3, -1], counts[2, -2] = math.inf, math.nan, math.inf
    fit = st.fit_exponent(x, counts)
    kept = st.fit_exponent(x[:-2], noisy(2.0, seeds=5, x=x)[:, :-2])
    assert fit.slopes == kept.slopes
    assert (fit.censored, fit.dropped, fit.points, fit.is_usable) == (3, 2, 7, True)
    assert fit.decades == pytest.approx(3)


@pytest.mark.parametrize(
    ("x", "keep", "usable"),
    [
        (np.geomspace(1, 100, 8), 8, True),
        (np.geomspace(1, 100, 8), 7, False),  # 1.7 decades
        (np.geomspace(1, 1e6, 5), 4, True),
        (np.geomspace(1, 1e6, 5), 3, False),  # three points
        (np.geomspace(1, 1e6, 5), 1, False),
        (np.geomspace(1, 1e6, 5), 0, False),
    ],
)
def test_too_few_points_or_decades_are_not_fitted(x, keep, usable):
    counts = noisy(1.0, x=x)
    counts[4, keep:] = math.inf
    fit = st.fit_exponent(x, counts)
    assert fit.is_usable == usable
    assert fit.points == keep
    assert fit.censored == x.size - keep
    assert math.isnan(fit.slope) == (not usable)
    assert len(fit.slopes) == (20 if usable else 0)
    decision = st.decide_exponent(fit, 1.0)
    assert (decision.verdict == "inconclusive") == (not usable)
    if not usable:
        assert "uncensored" in decision.reason
        assert decision.measured["censored"] == x.size - keep


def test_laws_may_be_fitted_over_one_decade():
    x = np.arange(4.0, 41.0)
    assert not st.fit_exponent(x, noisy(3.0, x=x)).is_usable
    assert st.fit_exponent(x, noisy(3.0, x=x), least_decades=1.0).is_usable


def test_curved_counts_are_seen_and_straight_ones_are_not():
    bent = X ** (1 + 0.1 * np.log(X / X[0]))  # local slope 1 + 0.2 log(x/x0): up by 0.92
    fit = st.fit_exponent(X, bent * noisy(0.0, seed=1))
    assert fit.is_curved
    assert fit.curvature_lower < 0.2 * math.log(100) < fit.curvature_upper
    assert st.fit_exponent(X, noisy(0.0) / bent).is_curved
    assert not st.fit_exponent(X, noisy(1.0)).is_curved
    slightly = X ** (1 + 0.009 * np.log(X / X[0]))  # up by 0.08, less than 0.1
    assert not st.fit_exponent(X, slightly).is_curved


def test_one_seed_has_no_interval_unless_nothing_is_random():
    counts = noisy(1.0)[0]
    one = st.fit_exponent(X, counts[np.newaxis])
    assert (one.lower, one.upper, one.deterministic) == (-math.inf, math.inf, False)
    fixed = st.fit_exponent(X, counts)
    assert fixed.lower == fixed.slope == fixed.upper == one.slope
    assert fixed.deterministic
    assert fixed.seeds == 1


def test_seeds_that_agree_are_no_certainty():
    """The interval is a number; but an atom of the law may have made all of them the same."""
    fit = st.fit_exponent(X, np.tile(noisy(1.0)[0], (7, 1)))
    assert not fit.deterministic
    assert (fit.lower, fit.upper) == pytest.approx((fit.slope, fit.slope))
    assert st.decide_exponent(fit, 0.5).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("x", "counts", "known", "message"),
    [
        ([1.0, 2.0, 2.0, 3.0], np.ones((2, 4)), None, "distinct"),
        ([0.0, 2.0, 4.0, 3.0], np.ones((2, 4)), None, "positive"),
        ([1.0, math.nan, 2.0, 3.0], np.ones((2, 4)), None, "x has"),
        ([1.0, 2.0, 3.0, 4.0], np.ones((4, 2)), None, "shape"),
        ([1.0, 2.0, 3.0, 4.0], np.ones((0, 4)), None, "shape"),
        ([1.0, 2.0, 3.0, 4.0], np.ones((1, 2, 4)), None, "shape"),
        ([1.0, 2.0, 3.0, 4.0], np.zeros((2, 4)), None, "positive"),
        ([1.0, 2.0, 3.0, 4.0], np.full((2, 4), -math.inf), None, "positive"),
        ([1.0, 2.0, 3.0, 4.0], np.ones((2, 4)), [0.0, 1.0], "known"),
        ([1.0, 2.0, 3.0, 4.0], np.ones((2, 4)), [0.0, 1.0, 2.0, math.inf], "known"),
    ],
)
def test_bad_fits_are_refused(x, counts, known, message):
    with pytest.raises(InputError, match=message):
        st.fit_exponent(x, counts, log_known_factors=known)


# --- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "spread", "runs", "verdict"),
    [
        (0.5, 0.3, 60, "within-10"),
        (0.5, 0.3, 20, "inconclusive"),  # a sample might be ten times the bound
        (0.01, 0.3, 30, "holds"),
        (0.12, 1.0, 40, "holds"),  # the lower limit is below 0.1
        (1.05, 0.3, 20, "inconclusive"),
        (0.9, 1.0, 4, "inconclusive"),
        (1.4, 0.3, 20, "inconclusive"),  # above, but not surely at 1e-6/67
        (3.0, 0.3, 30, "violated"),
    ],
)
def test_verdicts_of_means(ratio, spread, runs, verdict):
    rng = np.random.default_rng(9)
    samples = 7 * ratio * rng.gamma(1 / spread**2, spread**2, size=runs)
    decision = st.decide_mean(samples, 7.0)
    assert decision.verdict == verdict
    measured = decision.measured
    assert measured["runs"] == runs
    assert measured["ratio"] == pytest.approx(samples.mean() / 7)
    limits = means.sequential_limits(samples / 7, 0.95)
    assert (measured["lower_limit"], measured["upper_limit"]) == (limits.lower, limits.upper)
    assert measured["lower"] <= limits.lower <= measured["ratio"] <= limits.upper
    assert limits.upper <= measured["upper"]
    assert (decision.p_value <= st.LEVEL) == (verdict == "violated")
    assert (measured["upper_limit"] <= 1) == (verdict in ("holds", "within-10", "attained"))
    assert (measured["upper_limit"] <= 1 and measured["lower_limit"] >= 0.1) == (
        verdict == "within-10"
    )


def test_a_stated_range_makes_a_limit_of_few_samples():
    samples = np.full(20, 0.8)
    assert st.decide_mean(samples, 1.0).verdict == "inconclusive"
    decision = st.decide_mean(samples, 1.0, upper=2.0)
    assert decision.verdict == "within-10"
    expected = 2 - 1.2 * 0.05 ** (1 / 20)  # where ((2 - 0.8)/(2 - m))^20 is 20
    assert decision.measured["upper_limit"] == pytest.approx(expected)
    with pytest.raises(InputError, match="upper"):
        st.decide_mean(samples, 1.0, upper=1.0)


def test_a_mean_is_never_violated_by_a_t_test():
    """Five samples far above the bound: t rejects at 1e-6/67, the e-process must not yet."""
    samples = 1.5 + 1e-7 * np.arange(5)
    assert stats.ttest_1samp(samples, 1, alternative="greater").pvalue < st.LEVEL
    assert st.decide_mean(samples, 1.0).verdict == "inconclusive"


def test_a_small_p_value_short_of_the_level_is_inconclusive():
    """Later samples bring the mean below the bound; what was seen before still speaks against."""
    decision = st.decide_mean(np.concatenate([np.full(12, 3.0), np.zeros(400)]), 1.0)
    assert decision.verdict == "inconclusive"
    assert st.LEVEL < decision.p_value < 1e-3
    assert decision.measured["upper_limit"] < 1
    decision = st.decide_share(np.concatenate([np.ones(6), np.zeros(400)]), 0.1)
    assert decision.verdict == "inconclusive"
    assert decision.measured["upper_limit"] < 1
    assert st.LEVEL < decision.p_value < 1e-3


def test_a_violation_stays_when_later_runs_are_good():
    samples = np.concatenate([np.full(40, 3.0), np.zeros(400)])
    assert samples.mean() < 1
    assert st.decide_mean(samples, 1.0).verdict == "violated"


def test_a_diverged_run_violates_a_bound_in_mean():
    decision = st.decide_mean([0.1, math.inf, 0.2], 1.0)
    assert decision.verdict == "violated"
    assert decision.p_value == 0
    assert decision.measured["ratio"] == math.inf


def test_huge_samples_raise_no_warning():
    assert st.decide_mean([1e200, 3e250], 1.0).verdict == "violated"


@pytest.mark.parametrize(
    ("happened", "runs", "most", "verdict"),
    [
        (0, 100, 0.05, "holds"),
        (0, 20, 0.05, "inconclusive"),
        (9, 100, 0.2, "within-10"),
        (1, 400, 0.2, "holds"),
        (10, 100, 0.05, "inconclusive"),
        (60, 100, 0.05, "violated"),
        (20, 20, 0.05, "violated"),
        (20, 20, 1.0, "within-10"),
    ],
)
def test_verdicts_of_shares(happened, runs, most, verdict):
    values = np.zeros(runs)
    values[:happened] = 1
    np.random.default_rng(10).shuffle(values)
    decision = st.decide_share(values, most)
    assert decision.verdict == verdict
    limits = [
        stats.binomtest(happened, runs, alternative=side).proportion_ci(0.95)
        for side in ("greater", "less")
    ]
    assert decision.measured["lower_limit"] == pytest.approx(limits[0].low / most)
    assert decision.measured["upper_limit"] == pytest.approx(limits[1].high / most)
    assert decision.measured["ratio"] == pytest.approx(happened / runs / most)
    largest = max(product_e_value(values[:i], most) for i in range(runs + 1))
    assert decision.p_value == pytest.approx(1 / largest)


@pytest.mark.parametrize("samples", [[17.2] * 40, [0.0] * 60 + [900.0], [30.0, *[0.1] * 80]])
def test_a_limit_is_never_on_the_wrong_side_of_its_estimate(samples):
    """Also where samples lie beyond the range that the upper limit rests on: then there is none."""
    measured = st.decide_mean(samples, 1.0).measured
    for lower, upper in (("lower", "upper"), ("lower_limit", "upper_limit")):
        assert measured[lower] <= measured["ratio"] <= measured[upper]


def test_nothing_holds_with_a_mean_above_its_bound():
    decision = st.decide_mean([0.0] * 300 + [900.0], 1.0)
    assert decision.measured["ratio"] > 1.0
    assert decision.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("ratios", "verdict", "worst"),
    [
        ([0.0, 0.05], "holds", 0.05),
        ([0.05, 0.1], "within-10", 0.1),
        ([[0.2, 1.0], [0.3, 1 + 1e-12]], "attained", 1 + 1e-12),
        ([0.989], "within-10", 0.989),
        ([0.99], "attained", 0.99),
        ([0.2, 1 + 1e-6], "violated", 1 + 1e-6),
        ([-5.0, -1.0], "holds", -1.0),
        ([0.5, math.inf], "violated", math.inf),
    ],
)
def test_verdicts_of_inequalities(ratios, verdict, worst):
    decision = st.decide_inequality(ratios)
    assert decision.verdict == verdict
    assert decision.p_value is None
    assert decision.measured["ratio"] == worst
    assert decision.measured["checks"] == np.size(ratios)


def test_one_broken_step_among_many_is_counted():
    ratios = np.full(1000, 0.5)
    ratios[[3, 700]] = 1.01
    decision = st.decide_inequality(ratios)
    assert decision.verdict == "violated"
    assert decision.measured["broken"] == 2
    assert st.decide_inequality(ratios, rounding=0.02).verdict == "attained"


@pytest.mark.parametrize(
    ("exponent", "claimed", "noise", "seeds", "verdict"),
    [
        (2.0, 2.0, 0.2, 20, "within-10"),
        (1.5, 2.0, 0.2, 20, "holds"),
        (1.91, 2.0, 0.2, 20, "holds"),  # its interval leaves the margin below
        (2.1, 2.0, 0.2, 20, "inconclusive"),
        (2.15, 2.0, 0.2, 20, "inconclusive"),  # above, but not surely
        (2.25, 2.0, 0.1, 20, "inconclusive"),  # 2^-20 is above the level
        (2.25, 2.0, 0.1, 31, "violated"),
        (2.25, 2.0, 0.1, 30, "inconclusive"),
        (2.0, 2.0, 1.0, 4, "inconclusive"),
        (-0.4, -0.4, 0.2, 20, "within-10"),
        (-0.1, -0.4, 0.2, 41, "violated"),
        (1.5, 2.0, 0.2, 5, "inconclusive"),  # 5 seeds have no interval
        (1.5, 2.0, 0.2, 6, "holds"),
    ],
)
def test_verdicts_of_exponents(exponent, claimed, noise, seeds, verdict):
    fit = st.fit_exponent(X, noisy(exponent, seeds, noise))
    decision = st.decide_exponent(fit, claimed)
    assert decision.verdict == verdict
    above = sum(slope > claimed + 0.1 for slope in fit.slopes)
    expected = stats.binomtest(above, seeds, alternative="greater").pvalue
    assert decision.p_value == pytest.approx(expected)
    assert decision.measured["slope"] == np.median(fit.slopes)
    assert (expected <= st.LEVEL) == (verdict == "violated")


def test_laws_have_half_the_margin():
    fit = st.fit_exponent(X, noisy(2.08, seeds=41, noise=0.01))
    assert st.decide_exponent(fit, 2.0).verdict == "within-10"
    assert st.decide_exponent(fit, 2.0, st.LAW_MARGIN).verdict == "violated"
    low = st.fit_exponent(X, noisy(1.92, noise=0.01))
    assert st.decide_exponent(low, 2.0).verdict == "within-10"
    assert st.decide_exponent(low, 2.0, st.LAW_MARGIN).verdict == "holds"


@pytest.mark.parametrize(
    ("exponent", "verdict"),
    [(1.85, "holds"), (1.95, "within-10"), (2.1, "within-10"), (2.101, "violated")],
)
def test_without_chance_an_exponent_is_an_inequality(exponent, verdict):
    decision = st.decide_exponent(st.fit_exponent(X, X**exponent), 2.0)
    assert decision.verdict == verdict
    assert decision.p_value is None


def test_one_random_seed_decides_no_exponent():
    for exponent in (1.0, 9.0):
        fit = st.fit_exponent(X, noisy(exponent, seeds=1))
        assert st.decide_exponent(fit, 2.0).verdict == "inconclusive"


def test_curved_counts_are_judged_where_x_is_large():
    """The slope alone is not believed where the end of the curve contradicts it."""
    u = np.log(X / X[0])
    middle = u.max() / 2

    def verdict(slope, change):  # local slope from slope − change/2 to slope + change/2
        logs = slope * u + change / (2 * u.max()) * (u - middle) ** 2
        return st.decide_exponent(
            st.fit_exponent(X, np.exp(logs) * noisy(0.0, 41, noise=0.02)), 2.0
        )

    assert verdict(1.9, 0.8).verdict == "inconclusive"  # ends at 2.3
    assert "curved" in verdict(1.9, 0.8).reason
    assert verdict(1.9, -0.8).verdict == "holds"  # ends at 1.5
    assert verdict(1.6, 0.4).verdict == "holds"  # ends at 1.8
    assert verdict(2.2, -0.8).verdict == "inconclusive"  # ends at 1.8
    assert verdict(2.2, 0.8).verdict == "violated"
    assert verdict(2.0, 0.0).verdict == "within-10"
    assert verdict(2.0, -0.3).verdict == "holds"  # within-10 needs a straight line


# --- sequential -----------------------------------------------------------------------------------


def drawn(law, seed=0):
    """Return a source of samples, and the sizes it was asked for."""
    rng, asked = np.random.default_rng(seed), []

    def draw(number):
        asked.append(number)
        return law(rng, number)

    return draw, asked


def test_clear_cases_end_early():
    draw, asked = drawn(lambda rng, n: 0.3 * rng.gamma(10, 0.1, n))
    decision, samples = st.decide_mean_sequentially(draw, 1.0, batch=8, limit=1000)
    assert decision.verdict == "within-10"
    assert asked == [8] * 6
    assert samples.size == 48
    draw, asked = drawn(lambda rng, n: 3.0 * rng.gamma(10, 0.1, n))
    decision, samples = st.decide_mean_sequentially(draw, 1.0, batch=8, limit=1000)
    assert decision.verdict == "violated"
    assert asked == [8] * 3
    assert samples.size == decision.measured["runs"] == 24


@pytest.mark.parametrize(("ratio", "runs"), [(0.0, 29), (0.5, 56), (0.8, 137)])
def test_runs_needed_to_hold(ratio, runs):
    decision, samples = st.decide_mean_sequentially(
        lambda n: np.full(n, ratio), 1.0, batch=1, limit=400
    )
    assert decision.verdict == ("within-10" if ratio else "holds")
    assert samples.size == runs


def test_an_unclear_case_ends_with_all_runs():
    draw, asked = drawn(lambda rng, n: rng.gamma(4, 0.25, n))
    decision, samples = st.decide_mean_sequentially(draw, 1.0, batch=8, limit=45)
    assert decision.verdict == "inconclusive"
    assert asked == [8, 8, 8, 8, 8, 5]
    assert samples.size == 45


def test_the_upper_limit_is_where_the_product_reaches_20():
    """The least m at which prod (10 - x_i)/(10 - m) reaches 20 after any sample, by bisection."""
    x = np.random.default_rng(5).gamma(4, 0.2, 60)

    def reached(m):
        return any(np.prod((10 - x[:k]) / (10 - m)) >= 20 for k in range(1, 61))

    low, high = 0.0, 9.9
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    assert means.sequential_limits(x, 0.95).upper == pytest.approx(high)


def test_the_lower_limit_is_where_the_e_process_rejects():
    x = np.random.default_rng(6).gamma(4, 0.2, 60)
    limit = means.sequential_limits(x, 0.95).lower
    assert 0.3 < limit < x.mean()
    for factor, rejected in ((0.999, True), (1.001, False)):
        assert (means.log_e_values(x, factor * limit).max() > math.log(20)) == rejected


def test_a_sample_beyond_the_range_keeps_a_limit_from_falling():
    x = np.concatenate([np.zeros(10), [11.0], np.zeros(200)])
    assert means.sequential_limits(x, 0.95).upper == pytest.approx(10 * (1 - 0.05**0.1))
    assert means.sequential_limits(np.array([0.5, math.inf]), 0.95).upper == math.inf


# --- refusals -------------------------------------------------------------------------------------


def in_turn(draw, batch=2, limit=4):
    return st.decide_mean_sequentially(draw, 1.0, batch=batch, limit=limit)


REFUSED = {
    "bound": [
        lambda bound=bound, decide=decide: decide(bound)
        for bound in (0.0, -1.0, math.nan, math.inf)
        for decide in (
            lambda bound: means.log_e_values([1.0], bound),
            lambda bound: st.decide_mean([1.0, 2.0], bound),
        )
    ],
    "samples must be a list": [lambda: means.log_e_values(1.0, 1.0)],
    "samples": [*(lambda x=x: st.decide_mean(x, 1.0) for x in ([], [[1.0]], [-1.0], [math.nan]))],
    "successes": [lambda x=x: st.decide_share(x, 0.1) for x in ([], [0.5], [math.nan])],
    "limit": [lambda most=most: st.decide_share([1], most) for most in (0.0, 1.1)],
    "ratios": [lambda x=x: st.decide_inequality(x) for x in ([], [math.nan, 0.5], "many")],
    "batch|limit": [
        lambda batch=batch, most=most: in_turn(np.ones, batch, most)
        for batch, most in ((0, 10), (8, 7), (2.5, 10))
    ],
    "returned shape": [lambda: in_turn(lambda n: np.ones(n + 1))],
    "nonnegative": [lambda: in_turn(lambda n: -np.ones(n))],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_out_of_range_is_refused_by_name(words):
    for attempt in REFUSED[words]:
        with pytest.raises(InputError, match=words):
            attempt()
