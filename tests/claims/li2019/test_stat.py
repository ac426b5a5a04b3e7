"""li2019's statistical error, on problems with a known truth."""

from dataclasses import replace

import numpy as np
import pytest
from judging import trial
from numpy.testing import assert_allclose

from pfbench.claims.li2019.shared_runs import (
    follow_inner_iterations,
    from_quadratic,
    make_biased_minimiser_problem,
    statistical_error_squared_if_biased,
)
from pfbench.claims.li2019.stat import STAT


def printed_error(tau, sigma_hat, compatibility, outside, size, length):
    """eps_stat^2 as the paper prints it."""
    return tau * (outside + 2.0 * size + compatibility * length) ** 2 / sigma_hat


def parts(problem, share):
    """Return truth, the flat direction and the mirror image of theta_hat in the truth."""
    w = np.sign(problem.slope) / len(problem.slope)
    return problem.minimiser + share * w, w, problem.minimiser + 2 * share * w


@pytest.mark.parametrize("support", [1, 3])
def test_the_problem_is_what_its_text_says(support):
    d, share = 64, 0.3
    problem, tau = make_biased_minimiser_problem(d, support, share), 1 / (2 * d)
    truth, _, far = parts(problem, share)
    assert np.count_nonzero(np.abs(truth) > 1e-12) == support
    assert np.abs(truth).sum() == pytest.approx(1 - share)
    assert np.abs(problem.minimiser).sum() == pytest.approx(1.0)
    assert problem.set.contains(far)
    assert np.linalg.norm(problem.start() - far) <= 1.0
    delta = problem.minimiser - truth
    assert_allclose(problem.hessian_matrix @ delta, 0.0, atol=1e-12)
    l1, l2 = np.abs(delta).sum(), np.linalg.norm(delta)
    assert problem.sigma_hat == pytest.approx(1 - 16 * tau * support)
    error = statistical_error_squared_if_biased(d, support, share)
    assert error == pytest.approx(8 * tau * (l1 + np.sqrt(support) * l2) ** 2 / problem.sigma_hat)
    rng = np.random.default_rng(7)
    for _ in range(500):  # li2019 (29)
        x = rng.dirichlet(np.ones(4)) @ [problem.set.random_vertex(rng) for _ in range(4)]
        squared = np.sum((x - problem.minimiser) ** 2)
        assert problem.value(x) >= problem.sigma_hat * (squared / 2 - error) - 1e-12


@pytest.mark.parametrize("support", [1, 3])
def test_the_statistical_error_as_printed_is_exceeded_by_cgs(support):
    """From the other side of the truth CGS need not move: its gap is small enough there."""
    d, share = 256, 0.5
    problem = make_biased_minimiser_problem(d, support, share)
    _, _, far = parts(problem, share)
    length = share / np.sqrt(d)
    error = printed_error(0.5 / d, problem.sigma_hat, np.sqrt(support), 0.0, share, length)
    target = problem.sigma_hat * error
    begun = from_quadratic(replace(problem, begin=far))
    begun = replace(begun, constants=replace(begun.constants, delta=2.0 * target))
    theta = [step.state.x for _, _, step in follow_inner_iterations(trial(STAT), begun, 1)][
        begun.inner_iterations - 1
    ]
    assert problem.value(theta) <= target
    squared = np.sum((theta - problem.minimiser) ** 2)
    assert error < squared <= 4.0 * statistical_error_squared_if_biased(d, support, share)
