"""The words of a theorem against their definitions, each with faults that it must find."""

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from judging import judge

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.claims import (
    Claim,
    bound,
    counts,
    error_law,
    identity,
    make_instance,
    rate,
    separation,
)
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.instruments.weighted_rows import WeightedRows
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial


class Parabolas(WeightedRows):
    """f_i(x) = a_i x^2/2 on the line, from 1: all of it is known by hand."""

    name = "parabolas"

    def __init__(self, curvatures=(1.0, 3.0)):
        super().__init__(np.array(curvatures), np.zeros(len(curvatures)), np.ones(len(curvatures)))

    def constants(self, start):
        stated = pf.base.constants.Constants
        return stated(n=self.n, L_f=self.curvatures.mean(), L_ms=3.0, delta=self.value(start))


@dataclass(frozen=True, kw_only=True)
class SGD(pf.Algorithm):
    """Steps along one component's gradient."""

    name = "own-sgd"
    requires = frozenset({"batch", "smooth"})
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = self.estimate(ask, x, rng)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)

    def estimate(self, ask, x, rng):
        return ask.batch(rng.integers(ask.n, size=1), x)


class Descent(SGD):
    """Takes the gradient."""

    deterministic = True
    requires = frozenset({"gradient", "smooth"})

    def estimate(self, ask, x, rng):
        return ask.gradient(x)


class Full(SGD):
    """Takes the gradient, as a batch of all components."""

    def estimate(self, ask, x, rng):
        return ask.batch(np.arange(ask.n), x)


class Biased(SGD):
    """Draws the last component more often."""

    def estimate(self, ask, x, rng):
        return ask.batch(np.array([min(ask.n - 1, rng.integers(ask.n + 1))]), x)


class Twice(SGD):
    """Asks twice, half of the time."""

    def estimate(self, ask, x, rng):
        if rng.random() < 0.5:
            super().estimate(ask, x, rng)
        return super().estimate(ask, x, rng)


class Fails(SGD):
    """Raises."""

    def estimate(self, ask, x, rng):
        raise ZeroDivisionError("mine")


class Short(SGD):
    """Stops before its end."""

    def run(self, ask, x, rng):
        yield from list(super().run(ask, x, rng))[:-1]


SMALL = {"iterations": 3, "step": 0.1}


def claim(check, *instances, **given):
    named = {"name": "own-claim", "statement": "s", "algorithm": SGD, **given}
    return Claim(instances=instances, check=check, **named)


def verdict(check, *instances, algorithm=SGD, subject=None):
    found = judge(claim(check, *instances, algorithm=algorithm), Subject(subject))
    return found.verdict, found


# --- counts ---------------------------------------------------------------------------------------


def test_counts_are_equal_to_the_unit():
    check = counts(lambda c, a: {"sfo": a.iterations}, parameters=SMALL)
    assert verdict(check, Parabolas())[0] == "holds"
    wrong = counts(lambda c, a: {"sfo": a.iterations + 1}, parameters=SMALL)
    kind, found = verdict(wrong, Parabolas())
    assert (kind, found.reason) == ("violated", "sfo is 3, not 4.")
    unnamed = counts(lambda c, a: {"lo": 0}, parameters=SMALL)
    assert verdict(unnamed, Parabolas())[0] == "violated"  # what is not named is 0


def test_several_settings_are_each_compared():
    labelled = {"T=2": {**SMALL, "iterations": 2}, "T=5": {**SMALL, "iterations": 5}}
    check = counts(lambda c, a: {"sfo": a.iterations}, parameters=labelled)
    _, found = verdict(check, Parabolas())
    assert found.claimed["T=2: sfo"] == 2
    assert found.measured["T=5: sfo"] == 5


def test_expected_counts_are_means_over_all_draws():
    check = counts(lambda c, a: {"sfo": 1.5 * a.iterations}, parameters=SMALL, expected=True)
    assert verdict(check, Parabolas(), subject=Twice)[0] == "holds"
    kind, found = verdict(check, Parabolas())
    assert (kind, found.measured["sfo"]) == ("violated", 3.0)
    assert found.reason == "the mean over all draws of sfo is 3, not 4.5."


def test_a_method_that_raises_is_failed_not_unenumerable():
    check = counts(lambda c, a: {"sfo": 3}, parameters=SMALL, expected=True)
    kind, found = verdict(check, Parabolas(), subject=Fails)
    assert kind == "failed"
    assert "ZeroDivisionError: mine" in found.reason


# --- bounds ---------------------------------------------------------------------------------------


def by_hand(T, step=0.1, a=(1.0, 3.0)):
    """E of the mean of x_t^2 for t < T: x_{t+1} = (1 - step a_i) x_t."""
    shrink = np.mean([(1 - step * one) ** 2 for one in a])
    return np.mean([shrink**t for t in range(T)])


def square(problem, x):
    return float(x @ x)


@pytest.mark.parametrize(
    ("factor", "expected"), [(0.5, "violated"), (2.0, "within-10"), (15.0, "holds")]
)
def test_a_bound_in_expectation_is_of_the_mean_over_the_iterates(factor, expected):
    check = bound(lambda c, a: factor * by_hand(a.iterations), square, parameters=SMALL)
    kind, found = verdict(check, Parabolas())
    assert kind == expected, found.reason
    assert found.measured["ratio"] * factor == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("over", ["last", "output"])
def test_a_bound_of_the_last_iterate(over):
    at_end = np.mean([0.9**2, 0.7**2]) ** 3
    check = bound(lambda c, a: 2 * at_end, square, statistic=over, parameters=SMALL)
    kind, found = verdict(check, Parabolas())
    assert kind == "within-10"
    assert found.measured["ratio"] == pytest.approx(0.5, abs=0.08)


def test_a_bound_of_every_run_counts_t_from_the_first_iterate():
    largest = lambda c, a, t: 0.9 ** (2 * t)  # noqa: E731
    check = bound(largest, square, statistic="every", parameters=SMALL, runs=(9, 9))
    kind, found = verdict(check, Parabolas())
    assert (kind, found.repetitions, found.measured["checks"]) == ("attained", 9, 27)
    assert found.measured["ratio"] == pytest.approx(1.0, abs=0.3)
    early = bound(lambda c, a, t: 0.9 ** (2 * t + 2), square, statistic="every", parameters=SMALL)
    assert verdict(early, Parabolas())[0] == "violated"


def test_rounding_does_not_violate_a_bound_that_vanishes():
    near_square = lambda problem, x: square(problem, x) + 1e-17  # noqa: E731
    steps = {"iterations": 150, "step": 0.1}
    for rate_of_decrease, expected in ((0.64, "attained"), (0.6, "violated")):
        check = bound(
            lambda c, a, t, q=rate_of_decrease: (1 + 1e-9) * q**t,
            near_square,
            statistic="every",
            parameters=steps,
        )
        assert verdict(check, Parabolas(), algorithm=Descent)[0] == expected


def test_the_least_so_far_begins_with_the_start():
    check = bound(lambda c, a, t: 1.0, square, statistic="least", parameters=SMALL, runs=(2, 2))
    _, found = verdict(check, Parabolas())
    assert found.measured["ratio"] == 1.0
    assert found.measured["checks"] == 6


def test_a_bound_is_tested_from_its_first_t_on():
    """Gradient descent multiplies x by 0.8; the bound is infinite at t = 0."""
    late = {"statistic": "least", "parameters": SMALL}
    check = bound(lambda c, a, t: 1.0 / t, square, first=1, **late)
    kind, found = verdict(check, Parabolas(), algorithm=Descent)
    assert (kind, found.measured["checks"]) == ("within-10", 2)
    assert found.measured["ratio"] == pytest.approx(2 * 0.8**4)
    too_late = claim(bound(lambda c, a, t: 1.0, square, first=3, **late), Parabolas())
    with pytest.raises(InputError, match="makes 3 steps"):
        too_late.check.check_testable(Trial(too_late))
    with pytest.raises(InputError, match="leave first out"):
        bound(lambda c, a: 1.0, square, first=1)


def test_calls_and_own_constants_make_nothing_tight():
    exact = lambda c, a: float(a.iterations)  # noqa: E731
    kind, found = verdict(bound(exact, "sfo", parameters=SMALL), Parabolas())
    assert (kind, found.measured["by_schedule"]) == ("holds", True)
    below = lambda c, a: a.iterations - 1.0  # noqa: E731
    assert verdict(bound(below, "sfo", parameters=SMALL), Parabolas())[0] == "violated"
    own = bound(lambda c, a: 2 * by_hand(3), square, parameters=SMALL, has_own_constant=True)
    kind, found = verdict(own, Parabolas())
    assert (kind, found.measured["by_own_constant"]) == ("holds", True)


def test_a_built_in_method_takes_from_the_problem_what_the_claim_leaves_out():
    problem = pf.problem("quadratic", source="synthetic", set="l2")
    check = bound(
        lambda c, a, t: max(2 * c.delta, c.L_f * c.D**2) / math.sqrt(t + 1),
        "fw_gap",
        statistic="least",
        parameters={"iterations": 9, "step": "short"},
    )
    kind, found = verdict(check, problem, algorithm=ALGORITHMS["frank-wolfe"])
    assert kind in ("holds", "within-10"), found
    kind, found = verdict(check, problem, algorithm=ALGORITHMS["frank-wolfe"], subject=SGD)
    assert kind == "failed", found


def test_a_method_with_fewer_states_is_inconclusive():
    check = bound(lambda c, a: 1.0, square, parameters=SMALL)
    kind, found = verdict(check, Parabolas(), subject=Short)
    assert kind == "inconclusive"
    assert "2 states in 3 iterations" in found.reason


def test_an_output_that_is_declared_uniform_is_drawn_so():
    @dataclass(frozen=True, kw_only=True)
    class Uniform(SGD):
        """Declares a uniform output."""

        output: str = "uniform"

    check = bound(lambda c, a: 2 * by_hand(3), square, parameters=SMALL)
    kind, found = verdict(check, Parabolas(), algorithm=Uniform)
    assert (kind, found.measured["condition output: options"]) == ("within-10", 8.0)
    assert verdict(check, Parabolas(), algorithm=Uniform, subject=SGD)[0] == "violated"
    normed = pf.problem("matrix-least-squares", noise="normal", norm="spectral")
    sizes = {"iterations": 3, "step": 0.1, "batch": 1, "beta": 0.0}
    check = bound(lambda c, a: 10 * c.sigma2**0.5, "dual_norm", parameters=sizes)
    kind, found = verdict(check, normed, algorithm=ALGORITHMS["uscg"])
    assert found.measured["condition output: options"] == 8.0, found.reason


def test_parameters_are_the_claims_whatever_the_subject_does():
    """A faulty schedule does not move its own bound."""

    @dataclass(frozen=True, kw_only=True)
    class Scheduled(SGD):
        """Has a schedule."""

        @classmethod
        def theory(cls, epsilon, constants, **given):
            return cls.from_schedule(given, iterations=math.ceil(1 / epsilon), step=0.1)

    class Lazy(Scheduled):
        """Makes one step."""

        @classmethod
        def theory(cls, epsilon, constants, **given):
            return cls.from_schedule(given, iterations=1, step=0.1)

    told = []
    check = bound(
        lambda c, a: told.append(a.iterations) or 2.0, square, parameters={"epsilon": 0.1}
    )
    verdict(check, Parabolas(), algorithm=Scheduled, subject=Lazy)
    assert set(told) == {10}


# --- laws -----------------------------------------------------------------------------------------


def variance(c, a, past):
    """The two components are 1 and 3 times x: the error is x or -x."""
    return float(past.x @ past.x)


@pytest.mark.parametrize("exact", [False, True])
def test_a_law_is_the_mean_square_given_the_past(exact):
    check = error_law(variance, mean=lambda c, a, past: 0.0, exact=exact, parameters=SMALL)
    kind, found = verdict(check, Parabolas())
    assert kind == ("holds" if exact else "attained"), found.reason
    assert found.measured["ratio"] == pytest.approx(1.0)
    assert found.measured["condition mean: relative deviation"] < 1e-12
    kind, found = verdict(check, Parabolas(), subject=Biased)
    assert kind == "violated"
    assert found.reason.startswith("condition mean: A conditional mean is off by 0.167")


def test_a_law_that_is_too_small_or_not_exact_is_violated():
    half = error_law(lambda c, a, past: variance(c, a, past) / 2, parameters=SMALL)
    assert verdict(half, Parabolas())[0] == "violated"
    double = lambda c, a, past: 2 * variance(c, a, past)  # noqa: E731
    assert verdict(error_law(double, parameters=SMALL), Parabolas())[0] == "within-10"
    kind, found = verdict(error_law(double, exact=True, parameters=SMALL), Parabolas())
    assert (kind, found.reason) == ("violated", "A mean square is 0.5 times its law, not equal.")


@pytest.mark.parametrize("curvatures", [(1.0, 8.0, 3.0), (1e-11, 8e-11, 3e-11), (0.1, 0.2, -0.3)])
def test_a_law_holds_in_any_unit_and_from_a_start_with_no_gradient(curvatures):
    class Recursive(SGD):
        """Adds the change of one component, and moves by steps that depend on no draw."""

        def run(self, ask, x, rng):
            at, g = 0.0 * x, 0.0 * x
            for t in range(self.iterations):
                i = rng.integers(ask.n, size=1) if t else np.arange(ask.n)
                g = ask.batch(i, x) + 0.7 * (g - ask.batch(i, at))
                at, x = x, x - self.step
                yield pf.State(x, at, g)

    def recursion(c, a, past):
        moved = past.x - 0.7 * (past.x - past.step)
        return (0.49 * past.error_sq + np.var(curvatures) * float(moved @ moved)) * (past.t > 0)

    check = error_law(recursion, exact=True, parameters=SMALL)
    kind, found = verdict(check, Parabolas(curvatures), algorithm=Recursive)
    assert kind == "holds", found.reason
    assert verdict(check, Parabolas(curvatures), algorithm=Recursive, subject=Full)[0] == "violated"


def test_a_certain_estimate_is_exact_and_makes_nothing_tight():
    for exact in (False, True):
        check = error_law(lambda c, a, past: 0.0, exact=exact, parameters=SMALL)
        assert verdict(check, Parabolas(), subject=Full)[0] == "holds"
        assert verdict(check, Parabolas())[0] == "violated"


def test_the_law_of_an_estimate_is_tested_where_another_direction_is_minimised_and_says_so():
    on_a_ball = type("OnBall", (Parabolas,), {"set": pf.sets.L2Ball(1, 2.0)})()

    class Ascends(SGD):
        """Yields its estimate, and minimises along minus a sum of its estimates."""

        requires = frozenset({"batch", "lo"})

        def run(self, ask, x, rng):
            minus_sum = 0.0 * x
            for _ in range(self.iterations):
                g = self.estimate(ask, x, rng)
                minus_sum = minus_sum - g
                at, x = x, x + self.step * (ask.lo(minus_sum) - x)
                yield pf.State(x, at, g)

    check = error_law(variance, mean=lambda c, a, past: 0.0, exact=True, parameters=SMALL)
    kind, found = verdict(check, on_a_ball, algorithm=Ascends)
    assert kind == "holds", found.reason
    assert "lo gets something else" in found.reason


def test_the_past_is_that_of_the_estimate():
    seen = []
    check = error_law(lambda c, a, past: seen.append(past) or 10.0, parameters=SMALL)
    verdict(check, Parabolas())
    first, second = (next(one for one in seen if one.t == t) for t in (0, 1))
    assert (first.error_sq, first.step_sq, float(first.x[0])) == (0.0, 0.0, 1.0)
    # The first component was drawn: g = x, e = x - 2x, and x moved by -0.1.
    assert (second.error_sq, second.step_sq) == (pytest.approx(1.0), pytest.approx(0.01))


# --- identities -----------------------------------------------------------------------------------


def test_two_methods_coincide():
    for check in (
        identity("prox-gd", parameters=SMALL),
        identity(ALGORITHMS["prox-gd"], parameters=SMALL, quantity="value"),
    ):
        assert verdict(check, Parabolas(), algorithm=Descent)[0] == "holds"
        assert verdict(check, Parabolas())[0] == "violated"
        assert verdict(check, Parabolas(), algorithm=Descent, subject=Short)[0] == "violated"
    check = identity("prox-gd", parameters=SMALL, quantity=lambda problem, x: math.nan)
    kind, found = verdict(check, Parabolas(), algorithm=Descent)
    assert (kind, "not finite" in found.reason) == ("inconclusive", True)
    with pytest.raises(InputError, match="did you mean 'prox-gd'"):
        identity("prox-gb")


# --- separations ----------------------------------------------------------------------------------


def test_fewer_calls_than_another_method():
    class Slow(SGD):
        """Takes a quarter of the step."""

        def estimate(self, ask, x, rng):
            return super().estimate(ask, x, rng) / 4

    long = SMALL | {"iterations": 1000}
    given = {"measure": square, "target": lambda c: 1e-3 * c.delta, "parameters": long}
    kind, found = verdict(separation(Slow, **given), Parabolas())
    assert kind == "within-10"
    assert found.measured["ratio"] == pytest.approx(0.25, abs=0.1)
    half = separation(Slow, factor=0.5, **given)
    assert verdict(half, Parabolas())[0] == "within-10"
    assert verdict(half, Parabolas(), subject=Slow)[0] == "violated"  # it needs as many as itself
    assert verdict(separation(SGD, **given), Parabolas(), subject=Slow)[0] == "violated"
    assert verdict(separation(Slow, **given | {"parameters": SMALL}), Parabolas())[0] == "violated"
    none = separation(Descent, count="fo", **given)
    assert verdict(none, Parabolas())[0] == "holds"  # no gradient is fewer than some
    assert verdict(none, Parabolas(), subject=Descent)[0] == "attained"
    assert verdict(separation(Slow, count="lo", **given), Parabolas())[0] == "inconclusive"


# --- rates ----------------------------------------------------------------------------------------


def slope(epsilon=0.1):
    """Return a slope that takes about 1/epsilon^2 steps."""
    return ConstantSlopeProblem(n=2, g=2 * epsilon, gap=1.0)


def size(problem, x):
    return float(np.abs(problem.gradient(x)).max())


SWEEP = {
    "values": [0.2, 0.1, 0.05, 0.02, 0.01],
    "measure": size,
    "decades": 1,
    "seeds": 2,
    "parameters": {"iterations": 30_000, "step": 1.0},
}


@pytest.mark.parametrize(
    ("exponent", "expected"), [(2, "holds"), (2.5, "holds"), (1.5, "violated")]
)
def test_an_exponent_in_epsilon(exponent, expected):
    kind, found = verdict(rate(exponent, **SWEEP), slope, algorithm=Descent)
    assert kind == expected, found.reason
    assert found.measured["slope"] == pytest.approx(2.0, abs=0.1)
    assert found.repetitions == 5


def wide(n=2):
    return Parabolas([1.0] * n)


def test_an_exponent_in_a_parameter_of_the_instance():
    given = {
        "values": [2, 8, 32, 200],
        "varied_parameter": "n",
        "measure": size,
        "parameters": SMALL | {"iterations": 50, "epsilon": 0.5},
        "seeds": 3,
    }
    kind, found = verdict(rate(1, **given), wide, algorithm=Full)
    assert (kind, found.measured["slope"]) == ("within-10", pytest.approx(1.0))
    kind, found = verdict(rate(1, **given, by_schedule=True), wide, algorithm=Full)
    assert kind == "holds"
    short = {**given, "parameters": SMALL | {"epsilon": 0.5}}
    kind, found = verdict(rate(1, **short), wide, algorithm=Full)
    assert (kind, found.measured["censored"]) == ("inconclusive", 12.0)


# --- instances and refusals -----------------------------------------------------------------------


def test_an_instance_is_a_problem_a_class_or_a_selector():
    drawn = make_instance("log-cosh[rows=9,source=synthetic]", columns=2)
    assert (drawn.name, drawn.example().shape) == ("log-cosh", (2,))
    assert make_instance(Parabolas, curvatures=(2.0,)).example().n == 1
    given = Parabolas()
    assert make_instance(given).example() is given
    assert drawn.description
    several = claim(counts(cost, parameters=SMALL), "log-cosh", Parabolas, given).instances
    assert [one.name for one in several] == ["log-cosh", "Parabolas", "parabolas"]


def of_seed(seed=0):
    return Parabolas([1.0 + seed % 7])


def test_an_instance_that_takes_a_seed_is_drawn_by_the_trial():
    seen = set()

    def noted(problem, x):
        seen.add(problem.curvatures[0])
        return 1.0

    check = bound(lambda c, a, t: 2.0, noted, statistic="every", parameters=SMALL, runs=(20, 20))
    verdict(check, of_seed)
    assert len(seen) > 2


def test_what_cannot_be_tested_is_inconclusive_before_any_run():
    fine = bound(lambda c, a: 1.0, square, parameters=SMALL)
    for check, instances, words in (
        (fine, (), "has no instance"),
        (fine, ("log-cosh",), "does not fit"),
        (bound(lambda c, a: 1.0, "values", parameters=SMALL), (Parabolas(),), "unknown"),
        (bound(lambda c, a: -1.0, square, parameters=SMALL), (Parabolas(),), "must be positive"),
        (
            bound(lambda c, a: a.T, square, parameters=SMALL),
            (Parabolas(),),
            "the claim reads T: state this parameter",
        ),
        (bound(lambda c, a: 1 / 0, square, parameters=SMALL), (Parabolas(),), "ZeroDivision"),
        (counts(lambda c, a: {"sfos": 1}, parameters=SMALL), (Parabolas(),), "did you mean 'sfo'"),
    ):
        found = judge(claim(check, *instances, user_source="here.py"))
        assert (found.verdict, found.lost, found.repetitions) == ("inconclusive", True, 0)
        assert words in found.reason
    lacks = claim(bound(lambda c, a: 1.0, square), Parabolas(), user_source="here.py")
    assert (judge(lacks).verdict, judge(lacks).lost) == ("inconclusive", True)
    for instance, algorithm, words in (
        ("quadratics", SGD, "did you mean 'quadratic'"),
        (Parabolas(), dict, "dict is not an algorithm"),
    ):
        own = claim(print, instance, algorithm=algorithm, kind="bound", user_source="here.py")
        assert (judge(own).verdict, judge(own).lost) == ("inconclusive", True)
        assert words in judge(own).reason


def test_the_words_reach_other_processes():
    check = counts(cost, parameters=SMALL)
    assert pickle.loads(pickle.dumps(check)).formula is cost
    assert claim(check, Parabolas()).kind == "count"


def cost(c, a):
    return {"sfo": a.iterations}
