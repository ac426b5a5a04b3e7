"""The bounds of qu2018's theorems, their schedules, and the reach of the momentum."""

import numpy as np
import pytest

from pfbench.algorithms.sliding import NCGS, NCGSVR, StochasticNCGS
from pfbench.base.constants import Constants
from pfbench.claims.qu2018 import gradient_mapping, theorem1, theorem2, theorem3
from pfbench.claims.qu2018.condg_statements import max_calls
from pfbench.verification.instruments.indefinite import make_quadratic_linear_along_box
from pfbench.verification.trial import Trial

KNOWN = Constants(n=27, D=2.0, L_f=0.5, L_ms=0.5, delta=3.0, sigma2=0.7, M=1.0, ell=0.1)


def test_the_schedules_are_the_least_iterations_of_the_bounds():
    epsilon, known = 0.4, (0.5, 0.1, 2.0, 1.0, 1.0)
    for bound, numbers, method in (
        (theorem1.option1_min_bound, (0.5, 3.0), NCGS.theory(epsilon, KNOWN)),
        (theorem1.option2_min_bound, known, NCGS.theory(epsilon, KNOWN, option=2)),
        (theorem2.stochastic_mapping_bound, (*known, 0.7), StochasticNCGS.theory(epsilon, KNOWN)),
    ):
        N = method.iterations
        assert bound(*numbers, N) <= epsilon < bound(*numbers, N - 1)


def test_the_calls_of_condg_by_hand():
    assert max_calls(2.0, 1.0, 24.0) == 2
    assert max_calls(2.0, 1.0, 23.9) == 3
    assert max_calls(1.0, 0.5, 0.01) == 1201


def test_the_mean_of_option_one_is_the_sharper_bound():
    for N in (1, 10, 1000):
        assert theorem1.option1_mean_bound(1.0, 10.0, N) < theorem1.option1_min_bound(1.0, 10.0, N)


@pytest.mark.parametrize("N", [1, 2, 5])
def test_the_momentum_reaches_the_end_of_its_slope_just_then(N):
    """With that much room all N mappings are g; with 1 % less one of them is not."""
    for room, least in ((1.0 + 1e-9, 0.999999), (0.99, None)):
        problem = make_quadratic_linear_along_box(
            1.0, room * gradient_mapping.distance_covered_with_momentum(N) / 2.0, 1e4
        )
        g = float(np.linalg.norm(problem.gradient(problem.start())))
        sizes = []
        method = NCGS(iterations=N, smoothness=1.0, option=2)
        for step in Trial(theorem1.OPTION2).follow(problem, method):
            md = step.state.at
            sizes.append(2.0 * np.linalg.norm(md - problem.prox(md, problem.gradient(md), 0.5)))
        if least:
            assert min(sizes) >= least * g
        else:
            assert min(sizes) < 0.999 * g


def test_the_schedule_of_theorem_3_is_the_least_iterations_of_its_bound():
    epsilon, method = 0.4, NCGSVR.theory(0.4, KNOWN)
    T, m = method.iterations, method.period
    assert theorem3.uniform_output_bound(0.5, 3.0, T) <= epsilon
    assert theorem3.uniform_output_bound(0.5, 3.0, T - m) > epsilon
    assert theorem3.component_gradient_count(27, method.batch, m, T) == T // 3 * (27 + 2 * 9 * 3)
