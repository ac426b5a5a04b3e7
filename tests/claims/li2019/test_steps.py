"""The schedule of li2019, its problems, and runs by outer and inner iteration."""

from dataclasses import dataclass

import numpy as np
import pytest
from judging import judge, trial

from pfbench.algorithms.sliding import CGS, STORC
from pfbench.claims.li2019.corollary3 import inner_gap_bound
from pfbench.claims.li2019.shared_runs import (
    compute_squared_distance_bound,
    follow_inner_iterations,
    from_quadratic,
    from_regression,
    inner_iteration_count,
    matrix_regression,
    restart_count,
)
from pfbench.claims.li2019.theorem1 import GAP
from pfbench.claims.li2019.theorem2 import THM2, batch_size, variance_bound
from pfbench.verification.instruments.quadratics import face_of_simplex
from pfbench.verification.subject import ClaimBroken, Subject


def face(kappa=2.0):
    return from_quadratic(face_of_simplex(np.random.default_rng(0), 16, kappa))


# --- the schedule ---------------------------------------------------------------------------------


def test_the_schedule_is_the_algorithms_own():
    c = face(30.0).constants
    cgs = CGS.theory(c.delta / 1000, c)
    storc = STORC.theory(c.delta / 1000, c)
    assert inner_iteration_count(c.L_f, c.sigma_hat) == cgs.period == 44
    assert restart_count(c.delta, c.delta / 1000) == cgs.restarts == 10
    assert batch_size(c.L_f, c.L_max, c.sigma_hat) == storc.batch
    for t in (1, 4):
        squared = compute_squared_distance_bound(c.delta, c.sigma_hat, t)
        assert cgs.eta(t, 3) == pytest.approx(2 * cgs.smoothness * squared / (cgs.period * 3))


def test_the_bounds_fit_together():
    """At k = N_t the bound of the inner loop is at most half of delta0 2^-t."""
    for L, sigma in ((1.0, 1.0), (3.0, 0.2), (50.0, 1e-3)):
        N, squared = inner_iteration_count(L, sigma), compute_squared_distance_bound(0.3, sigma, 2)
        assert inner_gap_bound(L, squared, N) <= 0.5 * 0.3 / 4
        assert variance_bound(L, squared, N, 1) == pytest.approx(L**2 * squared / (4 * N))


# --- problems -------------------------------------------------------------------------------------


def test_matrix_regression_has_a_certified_minimiser():
    found = from_regression(matrix_regression(3))
    problem = found.problem
    x, step = problem.start(), 1.0 / found.constants.L_f
    assert found.gap(x) == found.constants.delta > 0.0
    for _ in range(3000):
        x = problem.prox(x, problem.gradient(x), step)
        assert found.gap(x) >= -1e-8
    assert found.gap(x) <= 1e-6
    assert found.constants.sigma_hat > 0.0


# --- runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Lazy(CGS):
    """Ends after three inner iterations."""

    def run(self, ask, x, rng):
        states = super().run(ask, x, rng)
        for _ in range(3):
            yield next(states)


def test_a_run_that_ends_early_breaks_the_claim():
    with pytest.raises(ClaimBroken, match="makes 3 of"):
        list(follow_inner_iterations(trial(GAP, Lazy), face(), 2))
    row = judge(GAP, Subject(Lazy))
    assert (row.verdict, row.lost) == ("violated", False)


def test_inner_iterations_are_numbered_and_seeded():
    problem = face()
    steps = [(t, k) for t, k, _ in follow_inner_iterations(trial(GAP), problem, 3)]
    assert steps == [(t, k) for t in (1, 2, 3) for k in range(1, problem.N + 1)]
    ends = [
        [s.state.x for _, _, s in follow_inner_iterations(trial(THM2), problem, 1, seed, batch=2)][
            -1
        ]
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])
