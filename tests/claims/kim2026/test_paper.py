"""What kim2026 holds binds where it is said to."""

import math

import numpy as np
import pytest
from judging import planted, trial

from pfbench.claims.kim2026 import PAPER, orthogonalisers, theorem1
from pfbench.sets.orthogonalisers import QUINTIC, map_singular_values
from pfbench.verification.statements import path_mean
from pfbench.verification.statements.path_mean import constants_with_norm

pytestmark = pytest.mark.claims


# --- theorem 1 ------------------------------------------------------------------------------------


def ratios(problem, kind=None, seeds=(0,)):
    """The means of what is measured over the corrected and over the printed bound."""
    c = constants_with_norm(problem)
    numbers = {key: c[key] for key in ("K", "L", "sigma", "delta")} | {"r": min(problem.shape)}
    beta, eta = theorem1.beta_and_eta(**numbers)
    found = trial(theorem1.THEOREM, kind)
    made = found.make(iterations=problem.K, batch=1, step=eta, beta=beta)
    every = []
    for seed in seeds:
        measured, lo, hi = path_mean.mean_norm_and_lmo_quality_limits(found, problem, made, seed)
        bounds = (
            theorem1.compute_corrected_bound(**numbers, lo=lo, hi=hi),
            theorem1.compute_printed_bound(**numbers, lo=lo),
        )
        every.append([measured / bound for bound in bounds])
    return np.mean(every, axis=0)


def test_without_noise_the_corrected_bound_is_reached_and_the_printed_one_is_a_third():
    problem = theorem1.parabola(100)
    assert constants_with_norm(problem)["delta"] == 0.5
    corrected, printed = ratios(problem)
    assert corrected == pytest.approx(0.9999, abs=5e-5)
    assert corrected / printed == pytest.approx(1.0 / 3.0, rel=1e-12)
    numbers = {"K": 100, "r": 1, "L": 1.0, "sigma": 0.0, "delta": 0.5}
    assert theorem1.compute_corrected_bound(**numbers, lo=1.0, hi=1.0) == pytest.approx(
        0.1061, abs=5e-5
    )
    assert theorem1.compute_printed_bound(**numbers, lo=1.0) == pytest.approx(0.0354, abs=5e-5)
    corrected, printed = ratios(theorem1.least_squares(400, 0.0))
    assert corrected > 0.999
    assert printed > 2.9


FAR = 8.157
"""The size of B with which L Delta = 4263: then C is 2.190 at sigma = 0 and 11.5 at sigma = 3."""


def of(problem):
    c = constants_with_norm(problem)
    return {key: c[key] for key in ("L", "sigma", "delta")}


@pytest.mark.long
def test_with_little_noise_beta_is_capped_and_the_printed_form_fails():
    problem = theorem1.least_squares(2_000, 0.05, size=FAR)
    c = of(problem)
    assert c["L"] * c["delta"] == pytest.approx(4263, rel=1e-3)
    assert theorem1.beta_and_eta(K=2_000, r=3, **c)[0] == 0.0
    corrected, printed = ratios(problem)
    assert corrected == pytest.approx(0.93, abs=0.01)
    assert printed == pytest.approx(1.22, abs=0.01)
    for name in ("muon-long-step", "muon-short-step"):
        assert ratios(problem, planted(name))[0] == pytest.approx(2.55, abs=0.02)


# --- products of matrices -------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2])
def test_one_step_of_the_residual_is_a_polynomial(degree):
    """kappa = 1: u^2 (3 + u)/4, and kappa = 2: u^3 (40 + 15 u + 9 u^2)/64."""
    u = np.linspace(0.0, 1.0, 101)
    exact = u**2 * (3 + u) / 4 if degree == 1 else u**3 * (40 + 15 * u + 9 * u**2) / 64
    after = 1.0 - orthogonalisers.newton_schulz_scalar(np.sqrt(1.0 - u), degree) ** 2
    np.testing.assert_allclose(after, exact, rtol=0, atol=1e-14)
    assert (exact <= u ** (degree + 1) + 1e-15).all()


@pytest.mark.parametrize(("degree", "growth"), [(1, 1.5), (2, 1.875)])
def test_the_largest_loss_falls_linearly(degree, growth):
    """c_q <= 0.272 growth^(-q) for q <= 10."""
    losses = [
        orthogonalisers.relative_deficit_bound(1, degree, q) * growth**q for q in range(1, 11)
    ]
    assert max(losses) <= 0.2725


def test_the_numbers_of_the_quintic():
    extremes = map_singular_values([QUINTIC], orthogonalisers.positive_quintic_critical_points())
    assert extremes == pytest.approx([1.2024, 0.6818], abs=5e-5)
    for steps, least in orthogonalisers.REACHED.items():
        assert orthogonalisers.smallest_start_reaching(steps) == pytest.approx(least, rel=0.005)
        s = 0.99 * orthogonalisers.smallest_start_reaching(steps)
        s = map_singular_values([QUINTIC] * steps, s)
        assert s < orthogonalisers.LOW
    assert sum(QUINTIC) != pytest.approx(1.0, abs=0.2)  # 1 is no fixed point


# --- the separation -------------------------------------------------------------------------------


def least_steps(d, size):
    """Of gradient descent with a step until a point of the target; all but one x_j are equal."""
    for k in range(d):
        if d * abs(1.0 - size * d) ** k + (d - 1.0) * (1.0 - size) ** k <= (d - 1.0) / 2.0:
            return k
    return math.inf


@pytest.mark.parametrize(("d", "floor", "best"), [(101, 35, 38), (1001, 347, 355)])
def test_gradient_descent_needs_a_third_of_d(d, floor, best):
    assert math.ceil(theorem1.min_gradient_descent_steps(d)) == floor
    assert theorem1.sign_step_count(d) == 17
    sizes = np.linspace(0.0, 1.0, 401)[1:] * 2.0 / d
    found = min(least_steps(d, size) for size in sizes)
    assert floor < found <= best


def test_other_norms_and_a_single_step_would_not_show_it():
    """By |.|_2 the target is met at once, and the step 1/d alone would show twice the share."""
    d = 101
    first, others = 0.0, 1.0 - 1.0 / d  # after a step of 1/d
    assert np.hypot(d * first, others * (d - 1) ** 0.5) <= (d - 1) / 2
    assert least_steps(d, 1.0 / d) == pytest.approx(0.69 * d, abs=2)


# --- findings -------------------------------------------------------------------------------------


def test_the_divisor_of_theorem_3():
    numbers = next(erratum for erratum in PAPER.errata if erratum.name == "kim2026-theta").examine(
        "quick", 1
    )
    assert numbers.numbers["4 theta, step of the proof"] == pytest.approx(1.0, abs=1e-12)
    for beta in (0.9, 0.999):
        left = numbers.numbers[f"1 - 4 theta as stated, beta = {beta:g}"]
        assert left == pytest.approx(2.0 * beta * (1.0 - beta), rel=1e-9)
