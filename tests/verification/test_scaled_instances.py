"""A bound that is not homogeneous is violated in other units, or inconclusive."""

from dataclasses import replace

import numpy as np
import pytest
from claims.own_theorem import MEAN

import pfbench as pf
from pfbench.claims import bound
from pfbench.verification.instruments.rescaled import RescaledProblem
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.session import judge
from pfbench.verification.units import Scaling


def slope():
    """Return a slope with L = 1 and a gap of 1."""
    return ConstantSlopeProblem(n=2, g=0.2, gap=1.0)


def steps(c):
    return {"iterations": 25, "step": 1 / c.L_f}


def judged(most, *, parameters=steps, normalised="", instances=(slope,)):
    check = bound(most, "gradient_mapping_sq", parameters=parameters)
    return judge(replace(MEAN, instances=instances, check=check, scale_dependence=normalised))


@pytest.mark.parametrize(
    ("most", "reason"),
    [
        (lambda c, a: 2 * c.L_f * c.delta**0.5 / a.iterations, "f by 2^4: The inequality"),
        (lambda c, a: 2 * c.L_f**2 / a.iterations, "x by 2^4: The inequality"),
        (lambda c, a: 2 * c.delta / a.iterations, "f by 2^4: The inequality"),
        (lambda c, a: 2.0 / a.iterations, "f by 2^4: The inequality"),
    ],
)
def test_what_lost_a_factor_is_violated_on_a_scaled_instance(most, reason):
    found = judged(most)
    assert found.verdict == "violated"
    assert found.reason.startswith(reason)
    assert found.p_value is None


def test_what_is_never_broken_is_inconclusive_and_not_near_its_bound():
    found = judged(lambda c, a: 2 * c.L_f * (c.delta + 1) / a.iterations)
    assert found.verdict == "inconclusive"
    assert "f by 2^4: the bound is 136 times, not 256" in found.reason
    assert "tight_on" not in found.measured


def test_a_bound_that_says_why_is_left_as_it_is():
    found = judged(lambda c, a: 2 * c.L_f * c.delta**0.5 / a.iterations, normalised="delta is 1")
    assert found.verdict.keeps_bound


@pytest.mark.parametrize("parameters", [steps, {"iterations": 25, "step": 1.0}])
def test_a_bound_that_keeps_its_units_is_left_as_it_is(parameters):
    """Also with a step that is a number: in other units it would be another one."""
    found = judged(lambda c, a: 2 * c.delta / (a.step * a.iterations), parameters=parameters)
    assert found.verdict.keeps_bound, found.reason


@pytest.mark.parametrize("by", [Scaling(f=16.0), Scaling(x=16.0), Scaling(f=8.0, x=0.25)], ids=str)
def test_a_problem_in_other_units_has_its_constants_and_its_set(by):
    right = pf.problem("log-cosh", rows=9, columns=3, seed=4)
    other = RescaledProblem(right, by)
    x = right.start() + 0.01
    g = other.open(np.random.default_rng(0)).gradient(by.x * x)
    np.testing.assert_allclose(g, by.f / by.x * right.gradient(x), rtol=1e-12)
    known, scaled = right.constants(right.start()), other.constants(other.start())
    assert scaled.L_f == pytest.approx(known.L_f * by.f / by.x**2)
    assert scaled.delta == pytest.approx(known.delta * by.f)
    assert other.set.diameter == pytest.approx(right.set.diameter * by.x)
    far = 3.0 * right.set.diameter * np.ones_like(x)
    assert other.set.contains(by.x * x) == right.set.contains(x)
    assert other.set.contains(by.x * far) == right.set.contains(far)
