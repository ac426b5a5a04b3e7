"""li2019 theorem 2 and (52): the variance of STORC's estimate."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.li2019.shared_runs import follow_inner_iterations, from_quadratic
from pfbench.claims.li2019.theorem2 import VARIANCE, decide_mean_variances, variance_bound
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.sensing import draw_synthetic_sensing
from pfbench.verification.instruments.quadratics import interior_of_l2_ball


def test_the_variance_is_that_of_the_definition():
    """With a batch of one the mean of the ratios is the variance of one draw over its bound."""
    tested = from_quadratic(interior_of_l2_ball(np.random.default_rng(1), 8, 2.0))
    problem, m, runs = tested.problem, 7, 400
    parts = decide_mean_variances(trial(VARIANCE), "x", tested, 1, runs, batch=m)
    measured = parts["x, t=1"].measured["ratio"]
    exact, snapshot = np.zeros((runs, tested.N)), problem.start()
    for i, seed in enumerate(trial(VARIANCE).seeds(runs, "x")):
        for _, k, step in follow_inner_iterations(trial(VARIANCE), tested, 1, seed, batch=m):
            u = step.state.at - snapshot
            each = problem.rows * (problem.rows @ u)[:, None]
            spread = np.mean(np.sum((each - each.mean(axis=0)) ** 2, axis=1)) / m
            bound = variance_bound(
                tested.constants.L_f, tested.compute_squared_distance_bound(1), tested.N, k
            )
            exact[i, k - 1] = spread / bound
    # About 2800 draws: the two means agree to a few per cent, 20 % is far outside chance.
    assert measured == pytest.approx(exact.mean(), rel=0.2)


def test_small_batches_break_the_bound_of_the_variance():
    tested = from_quadratic(interior_of_l2_ball(trial(VARIANCE).rng("problems"), 128, 25.0))
    for m in (10, 100):
        parts = decide_mean_variances(trial(VARIANCE), f"m={m}", tested, 3, 12, batch=m)
        assert {part.verdict for part in parts.values()} == {"violated"}
        assert max(part.measured["ratio"] for part in parts.values()) > 10.0


def test_figure_1s_smoothness_is_not_that_of_every_component():
    """It sets L = lambda_max(Sigma_x), where STORC needs every f_i to be L-smooth."""
    spike = 1000.0
    data = draw_synthetic_sensing(seed=0, rows=20, columns=20, spike=spike)
    problem = MatrixRegression(data, data.li2019_ball)
    c = problem.constants(problem.start())
    assert c.L_max > 5.0 * spike
    assert c.L_f < c.L_ms < c.L_max
