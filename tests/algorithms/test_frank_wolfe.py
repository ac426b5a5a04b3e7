"""Frank-Wolfe against lacoste2016 and against a dense second implementation."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import reference_of, tiny_recovery

from pfbench.algorithms import algorithm
from pfbench.base.state import State
from pfbench.measures import fw_gap
from pfbench.points import combine, distance, keep

STEPS = ["line-search", "adaptive"]


def states_of(problem, asking, **parameters):
    """Yield the start and every iterate, each copied."""
    chosen, _ = algorithm("frank-wolfe", **parameters).resolve(problem.constants(problem.start()))
    yield State(problem.start())
    for state in chosen.run(asking(problem), problem.start(), np.random.default_rng(0)):
        yield State(keep(state.x), keep(state.at), state.estimate)


def values_and_gaps(problem, asking, **parameters):
    states = list(states_of(problem, asking, **parameters))
    values = np.array([problem.value(state.x) for state in states])
    gaps = np.array([fw_gap(problem, state)[1] for state in states])
    return values, gaps


def pairs(states):
    return pairwise(list(states))


def vertex(problem, x):
    """Return the exact minimiser of the linearisation at x."""
    g = problem.gradient(keep(x))
    return problem.set.lo(problem.operator(g) if hasattr(problem, "operator") else g)


def curvature(problem):
    constants = problem.constants(problem.start())
    return constants.L_f * constants.D**2


@pytest.mark.parametrize("step", STEPS)
def test_descent_at_every_step(instance, asking, step):
    """lacoste2016 (9): f(x+) <= f(x) - min{g^2/(2C), g - (C/2) [g > C]}."""
    values, gaps = values_and_gaps(instance, asking, step=step, iterations=60)
    C, g = curvature(instance), gaps[:-1]
    promised = np.minimum(g**2 / (2 * C), g - C / 2 * (g > C))
    assert (values[1:] <= values[:-1] - promised + 1e-12).all()


@pytest.mark.parametrize("step", STEPS)
def test_bounds_of_the_least_gap_along_the_run(instance, asking, step):
    """lacoste2016 (6) and (15), with h0 = f(x_0) - the least value seen (the sharper choice)."""
    values, gaps = values_and_gaps(instance, asking, step=step, iterations=60)
    C, h0 = curvature(instance), values[0] - values.min()
    rounds = np.arange(1, len(gaps) + 1)
    least = np.minimum.accumulate(gaps)
    sharp = np.where(rounds <= 2 * h0 / C, h0 / rounds + C / 2, np.sqrt(2 * h0 * C / rounds))
    assert (least <= max(2 * h0, C) / np.sqrt(rounds)).all()
    # With the least value of this run in place of the minimum, the descent of x_T is not counted.
    assert (least[:-1] <= sharp[:-1] * (1 + 1e-9)).all()


def test_the_bound_can_fail(instance, asking):
    """With C ten thousand times too small the same run breaks (15)."""
    values, gaps = values_and_gaps(instance, asking, step="line-search", iterations=60)
    C, h0 = curvature(instance) / 1e4, values[0] - values.min()
    rounds = np.arange(1, len(gaps) + 1)
    sharp = np.where(rounds <= 2 * h0 / C, h0 / rounds + C / 2, np.sqrt(2 * h0 * C / rounds))
    assert (np.minimum.accumulate(gaps) > sharp).any()


def test_line_search_is_at_least_as_good_as_a_fine_grid(instance, asking):
    for before, after in pairs(states_of(instance, asking, step="line-search", iterations=12)):
        x = keep(before.x)
        v = vertex(instance, x)
        grid = min(instance.value(combine(x, v, w)) for w in np.linspace(0, 1, 501))
        assert instance.value(after.x) <= grid + 1e-12


def test_line_search_is_never_worse_than_the_short_step(instance, asking):
    C = curvature(instance)
    for before, after in pairs(states_of(instance, asking, step="line-search", iterations=12)):
        gap = fw_gap(instance, before)[1]
        x = keep(before.x)
        short = combine(x, vertex(instance, x), min(gap / C, 1.0))
        assert instance.value(after.x) <= instance.value(short) + 1e-12


def test_adaptive_step_is_g_over_C(instance, asking):
    C = 0.5 * curvature(instance)
    states = states_of(instance, asking, step="adaptive", curvature=C, iterations=12)
    for before, after in pairs(states):
        weight = min(fw_gap(instance, before)[1] / C, 1.0)
        expected = combine(keep(before.x), vertex(instance, before.x), weight)
        assert distance(expected, after.x) < 1e-8


def test_open_loop_step_is_two_over_t_plus_two(instance, asking):
    states = states_of(instance, asking, step="open-loop", iterations=12)
    for t, (before, after) in enumerate(pairs(states)):
        expected = combine(keep(before.x), vertex(instance, before.x), 2 / (t + 2))
        assert distance(expected, after.x) < 1e-8


@pytest.mark.parametrize("step", [*STEPS, "open-loop"])
def test_at_is_where_the_exact_gradient_was_taken(instance, asking, step):
    for before, after in pairs(states_of(instance, asking, step=step, iterations=6)):
        assert distance(after.at, before.x) < 1e-12
        np.testing.assert_allclose(after.estimate, instance.gradient(keep(before.x)), atol=1e-12)


@pytest.mark.parametrize("step", ["adaptive", "open-loop"])
@pytest.mark.parametrize("seed", [4, 5])
def test_iterates_equal_a_dense_implementation_with_full_svd(step, seed, asking):
    problem = tiny_recovery(seed, radius=2.0, tolerance=1e-12)
    plain, C = reference_of(problem), curvature(problem)
    X = np.zeros(problem.shape)
    states = states_of(problem, asking, step=step, iterations=25)
    next(states)
    for t, state in enumerate(states):
        G = plain.embedded(plain.component_gradients(X).mean(axis=0))
        U, _, Vt = np.linalg.svd(G)
        V = -problem.radius * np.outer(U[:, 0], Vt[0])
        gap = np.vdot(G, X - V)
        X = X + (2 / (t + 2) if step == "open-loop" else min(gap / C, 1.0)) * (V - X)
        np.testing.assert_allclose(state.x.matrix(), X, rtol=1e-8, atol=1e-8)
