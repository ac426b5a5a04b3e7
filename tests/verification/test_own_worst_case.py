"""Worst cases of any method: its generator on unknowns, against numbers and formulas."""

from dataclasses import dataclass

import numpy as np
import pytest

import pfbench as pf
from pfbench.algorithms import proximal
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.verification.worst_case import methods
from pfbench.verification.worst_case.custom import FunctionClass, compute_worst_case
from pfbench.verification.worst_case.recording import record_method
from pfbench.verification.worst_case.requests import (
    iterate_user_worst_cases,
    measure_on_worst_function,
)
from pfbench.verification.worst_case.worst_function import SmoothInterpolant

pytest.importorskip("PEPit")
pytest.importorskip("clarabel")

N = 3
FREE = FunctionClass(convex=True, delta=np.inf)
GAP = NFWUSPIDERG(iterations=N, step=methods.best_frank_wolfe_step(N), batch=1, period=1)
OPEN = FrankWolfe(step="open-loop", iterations=1)
SAGA = proximal.SmoothSAGA(iterations=2, step=methods.saga_step(2), batch=1)
SPIDER = proximal.SpiderBoost(iterations=N, step=0.5, batch=1, period=2)
LAST = {"function_class": FREE, "measure": "suboptimality", "over": "last"}
KNOWN = {
    # Measured once by other means.
    "gap": (GAP, 0.49557, {"function_class": FunctionClass(n=1), "over": "least"}),
    # From a vertex to the middle of an edge, of |x|^2/2.
    "primal": (OPEN, 1 / 2, LAST),
    # Abbaszadehpeivast, de Klerk, Zamani 2022.
    "descent": (proximal.ProxGD(iterations=N, step=1.0), 2 / (3 * (N - 1) + 2), {}),
    # On |x|^2/2, where each step of length s takes |x|^2 to (1 - s)^2 of it.
    "spiderboost": (SPIDER, np.mean(0.25 ** np.arange(N)), {"over": "mean"}),
    "saga": (SAGA, (1 + (1 - methods.saga_step(2)) ** 2) / 2, {"over": "mean"}),
}


@pytest.mark.parametrize("case", KNOWN)
def test_it_is_what_is_known_and_a_run_attains_it(case):
    method, value, given = KNOWN[case]
    found = compute_worst_case(method, **given)
    assert found.value == pytest.approx(value, rel=2e-5)
    assert measure_on_worst_function(found.function, method, found) == pytest.approx(
        value, rel=1e-4
    )


def test_a_function_through_nodes():
    """Nodes of a quadratic: interpolated there, smooth between, and not convex if it may not be."""
    rng = np.random.default_rng(0)
    curvature, x = np.array([1.0, -0.8, 0.3]), rng.standard_normal((5, 3))
    gradients, values = curvature * x, np.sum(curvature * x**2, axis=1) / 2
    f = SmoothInterpolant(x, gradients, values, L=1.0, convex=False)
    for point, gradient, value in zip(x, gradients, values, strict=True):
        found = f(point)
        assert found[0] == pytest.approx(value, abs=1e-8)
        np.testing.assert_allclose(found[1], gradient, atol=1e-6)
    for _ in range(30):
        a, b = rng.standard_normal((2, 3))
        assert np.linalg.norm(f(a)[1] - f(b)[1]) <= (1 + 1e-6) * np.linalg.norm(a - b)
        step = 1e-5 * (b - a)
        slope = (f(a + step)[0] - f(a - step)[0]) / 2e-5
        assert slope == pytest.approx(f(a)[1] @ (b - a), abs=1e-6)


# --- methods that have none -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Own(pf.Algorithm):
    """Gradient descent; a subclass says where the next point is."""

    requires = frozenset({"gradient", "smooth"})
    iterations: int = 2

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = self.next(ask, x, rng)
            yield pf.State(x)

    def next(self, ask, x, rng):
        return x - ask.gradient(x)


def _normed(self, ask, x, rng):
    g = ask.gradient(x)
    return x - g / np.linalg.norm(g)


def _hidden(self, ask, x, rng):
    g = np.array(memoryview(ask.gradient(x)))
    return x - g / max(1.0, float(np.abs(g).max()), float(np.abs(g).sum()))


NONE = {
    "norm": (_normed, "computes norm of the"),
    "inner": (lambda s, a, x, r: x - pf.inner(a.gradient(x), x) * x, "computes vdot of the"),
    "sign": (lambda s, a, x, r: x - np.sign(a.gradient(x)), "computes sign of the"),
    "branch": (lambda s, a, x, r: x if (a.gradient(x) > 0).any() else -x, "computes greater of"),
    "entry": (lambda s, a, x, r: x - a.gradient(x)[0] * x, "computes an entry of"),
    "hidden": (_hidden, "branches on numbers"),
    "value": (lambda s, a, x, r: x - a.value(x) * a.gradient(x), "queries value"),
    "origin": (lambda s, a, x, r: 0.9 * x - a.gradient(x), "depends on the origin"),
    "noise": (lambda s, a, x, r: x - r.normal() * a.gradient(x), "needs every sequence of draws"),
}


@pytest.mark.parametrize("case", NONE)
def test_a_method_that_has_none_is_told_why(case):
    step, words = NONE[case]
    with pytest.raises(InputError, match=words):
        record_method(type("Mine", (Own,), {"next": step})(), 1)


def test_what_adds_and_scales_is_followed_however_it_is_written():
    """In place, by lists, by means: the same coefficients as gradient descent's."""

    def written(self, ask, x, rng):
        assert hasattr(ask, "value")
        assert not hasattr(ask, "set")
        y = x.copy()
        y -= sum([ask.gradient(x) * 0.25, ask.gradient(x) / 4, np.float64(0.5) * ask.gradient(x)])
        return pf.combine(y, x, 0.0)

    found = record_method(type("Mine", (Own,), {"next": written})(), 1)
    plain = record_method(Own(), 1)
    for (_, mine), (_, theirs) in zip(found.runs, plain.runs, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_too_much_is_refused():
    with pytest.raises(InputError, match=r"more than .* unknown vectors"):
        record_method(Own(iterations=99), 1)
    with pytest.raises(InputError, match="n <= 4"):
        FunctionClass(n=5)


# --- by name --------------------------------------------------------------------------------------


def test_a_claim_is_held_to_it():
    found = list(iterate_user_worst_cases("own_worst:TRUE"))
    assert [check.worst_case.steps for check in found] == [1, 2, 3, 4]
    for check in found:
        assert check.worst_case.value == pytest.approx(1 / check.worst_case.steps, rel=1e-5)
        assert check.bound == 1 / check.worst_case.steps
        assert not check.is_violated
    assert all(check.is_violated for check in iterate_user_worst_cases("own_worst:WRONG"))


def test_a_method_with_its_parameters_on_other_functions():
    (check,) = iterate_user_worst_cases(
        "own_worst:Down[step=0.5,iterations=2]", "L=2,delta=3,over=mean"
    )
    assert check.worst_case.value == pytest.approx(2 * 2.0 * 3.0 / 2, rel=1e-5)  # 2 L delta/T
    with pytest.raises(InputError, match="parameter"):
        list(iterate_user_worst_cases("own_worst:Down[step=1]", "lipschitz=2"))
