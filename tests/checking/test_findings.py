"""Findings of `check`: remarks, absolute numbers, NaN, and what is no such thing at all."""

import math
import sys

import numpy as np
import pytest
from checking.faulty_problems import Ridge, RidgeHessian, ridge
from checking.faulty_sets import SETS
from judging import judge
from own_things import Quadratic
from scipy.special import expit
from twisted import with_schedule

import pfbench as pf
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.proximal import ProxGD, SmoothSVRG
from pfbench.base.arrays import maximum_nan_as_infinity
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.checking import check
from pfbench.claims.catalogue import CLAIMS
from pfbench.estimators.base import Estimator
from pfbench.sets import L1Ball, L1Penalty, L2Ball
from pfbench.verification import Subject


class Unscaled(Quadratic):
    """Logistic regression on columns from 1e-4 to 4e4: saturated nearly everywhere."""

    def __init__(self, rows=60, columns=6):
        rng = np.random.default_rng(0)
        self.a = rng.standard_normal((rows, columns)) * np.geomspace(1e-4, 4e4, columns)
        self.y = np.sign(rng.standard_normal(rows))
        self.n, self.set = rows, L2Ball(columns, 1.0)

    def value(self, x):
        return float(np.mean(np.logaddexp(0.0, -self.y * (self.a @ x))))

    def gradient(self, x):
        return self.batch(np.arange(self.n), x)

    def batch(self, sample, x):
        a, y = self.a[sample], self.y[sample]
        return -a.T @ (y * expit(-y * (a @ x))) / len(sample)


class Curled(Unscaled):
    """The same, and no gradient: a part that turns."""

    def batch(self, sample, x):
        turn = np.zeros(6)
        turn[4], turn[5] = x[5], -x[4]
        return super().batch(sample, x) + 1e4 * turn


def found(what, check):
    return next(result for result in pf.check(what).findings if result.check == check)


def test_a_saturated_loss_is_not_accused():
    """Two underflows were compared relatively, and the components called no gradients."""
    assert found(Unscaled(), "components").status == "passed"


def test_components_that_are_no_gradients_are_still_accused():
    assert found(Curled(), "components").status == "failed"


class Table(Unscaled):
    """The same on columns from 1e-3 to 1e4: it turns within each step of a difference."""

    def __init__(self, seed=0, factor=1.0):
        rng = np.random.default_rng(seed)
        self.a = rng.standard_normal((300, 8)) * np.geomspace(1e-3, 1e4, 8)
        self.y = np.sign(rng.standard_normal(300))
        self.n, self.set, self.factor = 300, L1Ball(8, 5.0), factor

    def gradient(self, x):
        return self.factor * super().gradient(x)


def test_the_gradient_of_a_table_of_unscaled_columns_is_not_accused():
    """Extrapolations agreed by chance, 0.3 % off the derivative of a right gradient."""
    for seed in range(4):
        assert found(Table(seed), "gradient").status != "failed", seed
        assert found(Table(seed, 1.01), "gradient").status == "failed", seed


def test_a_property_that_raises_is_not_called_missing():
    body = type("Mine", (L2Ball,), {"diameter": property(lambda self: self.length)})(4)
    assert "no attribute 'length'" in check(body).failures[0].observed


def test_a_linear_minimisation_that_is_nan_at_0_is_named():
    looked = found(SETS["NaN at 0"][0], "lo answers")
    assert (looked.status, looked.expected) == ("failed", "lo(0) must be a finite vertex")


# --- other units ----------------------------------------------------------------------------------

RUN, SCHEDULE = "its run is the same in other units", "its schedule is the same in other units"


def found_units(method):
    """Return the two findings about units."""
    by_check = {result.check: result for result in check(method, kind="algorithm").findings}
    return by_check[RUN], by_check[SCHEDULE]


class Gives(ProxGD):
    """Gives up where its step is short, in absolute units."""

    def run(self, ask, x, rng):
        """Stop at 1e-6."""
        for state in super().run(ask, x, rng):
            yield state
            if np.linalg.norm(state.estimate) < 1e-6:
                return


class Hurries(FrankWolfe):
    """Stops at a gap of 1e-6."""

    def run(self, ask, x, rng):
        """Stop."""
        for state in super().run(ask, x, rng):
            if float(np.vdot(state.estimate, state.at - ask.lo(state.estimate))) < 1e-6:
                return
            yield state


class PlainDescent:
    """Gradient descent of no base class, whose step is an attribute."""

    name, deterministic, output = "plain", True, "last"
    requires = frozenset({"gradient", "smooth"})

    def __init__(self, iterations, step):
        self.iterations, self.step = iterations, step

    def run(self, ask, x, rng):
        """Step."""
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


class Picky(PlainDescent):
    """Refuses what it does not like, by an error of Python's."""

    def __init__(self, iterations, step):
        super().__init__(iterations, step)
        if step > 1.0:
            raise ValueError("so long a step")

    @classmethod
    def theory(cls, epsilon, constants, **given):
        """Refuse."""
        raise KeyError("epsilon")


@pytest.mark.parametrize("method", [Gives, Hurries])
def test_an_absolute_tolerance_is_found(method):
    run, schedule = found_units(method)
    assert run.status == "failed"
    assert "f by 2^-30: the run has" in run.observed
    assert schedule.status == "passed"


def test_a_step_with_one_more_is_found():
    method = with_schedule(ProxGD, step=lambda epsilon, c: 1.0 / (c.L_f + 1.0))
    run, schedule = found_units(method)
    assert schedule.status == "failed"
    assert "step is" in schedule.observed
    assert run.status == "skipped"


def test_what_a_method_refuses_is_no_fault():
    assert [one.status for one in found_units(Picky)] == ["skipped", "skipped"]


def test_the_unit_of_epsilon_is_told():
    assert "epsilon is |G|" in found_units("prox-gd")[1].observed


# --- NaN passes no check --------------------------------------------------------------------------


def spoiled(array):
    array = np.array(array)
    array.flat[0] = math.nan
    return array


class SpoiledValue(Ridge):
    def value(self, x):
        return math.nan if x[0] > 0.2 else super().value(x)


class SpoiledProduct(RidgeHessian):
    def product(self, x, y):
        return spoiled(super().product(x, y))


class SpoiledHessian(Ridge):
    def hessian(self, s):
        return SpoiledProduct(self)


class SpoiledSmoothness(Ridge):
    def component_smoothness(self):
        return spoiled(super().component_smoothness())

    def constants(self, start):
        return Ridge().constants(start)


class SpoiledLength(L2Ball):
    max_norm = math.nan


class SpoiledProx(L1Penalty):
    def prox(self, y, t):
        return spoiled(super().prox(y, t)) if y.flat[0] > 0.2 else super().prox(y, t)


WRONG = {
    "gradient": SpoiledValue(),
    "hessian": SpoiledHessian(),
    "constant L_mean": SpoiledSmoothness(),
    "diameter": SpoiledLength(4),
    "proximal map": SpoiledProx(0.3),
}


@pytest.mark.parametrize("name", WRONG)
def test_nan_of_users_fails_the_check_that_meets_it(name):
    assert name in [result.check for result in pf.check(WRONG[name]).failures]


def test_the_largest_of_some_numbers_does_not_lose_nan():
    assert (
        maximum_nan_as_infinity(0.0, math.nan) == maximum_nan_as_infinity(math.nan, 0.0) == math.inf
    )
    assert maximum_nan_as_infinity(0.0, 2.0, -math.inf) == 2.0


class Tells(SmoothSVRG):
    """SVRG that yields a part of one State with NaN, and goes on without."""

    part = "estimate"

    def run(self, ask, x, rng):
        for t, state in enumerate(super().run(ask, x, rng)):
            yield state._replace(**{self.part: spoiled(getattr(state, self.part))} if t else {})


class TellsAt(Tells):
    part = "at"


@pytest.mark.parametrize("kind", [Tells, TellsAt])
def test_nan_in_a_part_of_a_state_is_violated(kind):
    found = judge(CLAIMS["methods-run-svrg"], Subject(kind))
    assert found.verdict == "violated"
    assert f"State.{kind.part} is not finite" in found.reason


# --- what is no such thing ------------------------------------------------------------------------


def ball(**methods):
    return type("Ball", (L1Ball,), methods)(4, 2.0)


def method(run, **parts):
    told = dict.fromkeys(("name", "summary", "source", "counts"), "mine")
    return type("Mine", (pf.Algorithm,), {**told, "requires": frozenset(), "run": run, **parts})


def estimator(start):
    return type("Mine", (Estimator,), {"name": "mine", "source": "", "start": start})


def raises(*given):
    raise ValueError("\x1b[2J no good")


def leaves(*given):
    sys.exit(3)
    yield


def recurses(self, ask, x, rng):
    yield from recurses(self, ask, x, rng)


STRANGE = {
    "nothing inside": (ball(contains=lambda self, x, tolerance=0.0: False), "start", "is False"),
    "no tolerance": (ball(contains=lambda self, x: True), "start", "positional arguments"),
    "raises": (ball(lo=raises), "lo answers", "it raised ValueError"),
    "list": (ball(lo=lambda self, g: [0.0] * 4), "lo answers", "a list"),
    "None": (ball(lo=lambda self, g: None), "lo answers", "None"),
    "integers": (ball(lo=lambda self, g: np.eye(4, dtype=int)[0]), "lo answers", "int64"),
    "shape": (ball(lo=lambda self, g: np.zeros(3)), "lo answers", "shape (3,)"),
    "gradient list": (
        ridge(gradient=lambda self, x: Ridge.gradient(self, x).tolist()),
        "it declares what a problem needs",
        "gradient(start) of own is a list",
    ),
    "value array": (
        ridge(value=lambda self, x: np.zeros(2)),
        "it declares what a problem needs",
        "must be a number",
    ),
    "constants raise": (ridge(constants=raises), "it declares what a problem needs", "no good"),
    "constants NaN": (
        ridge(constants=lambda self, start: Constants(n=7, L_f=np.nan)),
        "constants",
        "nan",
    ),
    "exits": (method(leaves), "it runs", "SystemExit"),
    "recursion": (method(recurses), "it runs", "RecursionError"),
    "no parameters": (method(leaves, __post_init__=raises), "it can be instantiated", "no good"),
    "a text": (method(leaves, requires="gradient"), "it declares what it is", "frozenset"),
    "no function": (estimator(lambda self, ask, rng: 3), "it estimates gradients", "callable"),
    "a number": (
        estimator(lambda self, ask, rng: lambda x: 3.0),
        "it estimates gradients",
        "shape ()",
    ),
}


@pytest.mark.parametrize(("what", "where", "words"), STRANGE.values(), ids=STRANGE)
def test_it_is_one_finding(what, where, words):
    report = check(what)
    (result,) = report.failures
    assert (result.check, result is report.findings[-1]) == (where, True)
    assert words in result.observed
    assert "\x1b" not in str(report)


def test_a_value_of_one_entry_is_a_number():
    assert check(ridge(value=lambda self, x: np.array([Ridge.value(self, x)]))).is_passed


@pytest.mark.parametrize(
    "what", [3, None, np, lambda: 3], ids=["number", "None", "module", "function"]
)
def test_what_is_none_of_them_is_refused(what):
    with pytest.raises(InputError, match="no kind that can be checked"):
        check(what)
