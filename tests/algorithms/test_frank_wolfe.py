"""Frank-Wolfe against lacoste2016 and against its reference."""

from itertools import pairwise

import numpy as np
import pytest

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.state import State
from pfbench.measures import fw_gap
from pfbench.oracles import Ledger, Oracles
from pfbench.points import combine, distance, keep
from pfbench.problems import FiniteSum
from pfbench.sets import Box

STEPS = ["line-search", "adaptive", "short"]


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
    return problem.set.lo(problem.as_operator(g) if hasattr(problem, "as_operator") else g)


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


def test_line_search_is_at_least_as_good_as_a_fine_grid(instance, asking):
    for before, after in pairs(states_of(instance, asking, step="line-search", iterations=12)):
        x = keep(before.x)
        v = vertex(instance, x)
        grid = min(instance.value(combine(x, v, w)) for w in np.linspace(0, 1, 501))
        assert instance.value(after.x) <= grid + 1e-12


def test_line_search_is_never_worse_than_the_adaptive_step(instance, asking):
    C = curvature(instance)
    for before, after in pairs(states_of(instance, asking, step="line-search", iterations=12)):
        gap = fw_gap(instance, before)[1]
        x = keep(before.x)
        short = combine(x, vertex(instance, x), min(gap / C, 1.0))
        assert instance.value(after.x) <= instance.value(short) + 1e-12


# --- backtracking ---------------------------------------------------------------------------------


def counted_states(problem, **parameters):
    """Every state of a run, copied, and its counts."""
    ledger = Ledger()
    ask = Oracles(problem.open(np.random.default_rng(0)), ledger, problem.set.diameter)
    chosen = ALGORITHMS["frank-wolfe"](step="backtracking", **parameters)
    states = [
        State(keep(state.x), keep(state.at), state.estimate)
        for state in chosen.run(ask, problem.start(), np.random.default_rng(0))
    ]
    return states, ledger.counts().as_dict()


def measured_estimates(problem, states):
    """M_t = g_t/(gamma_t |d_t|^2), read off the steps that are shorter than 1."""
    found = []
    for state in states:
        x = keep(state.at)
        v, gap = vertex(problem, x), fw_gap(problem, State(x))[1]
        gamma = distance(state.x, x) / distance(v, x)
        if 1e-6 < gamma < 1.0 - 1e-9:
            found.append(gap / (gamma * distance(v, x) ** 2))
    return np.array(found)


@pytest.mark.parametrize("first", [None, 1e-6, 30.0])
def test_estimates_stay_below_twice_the_smoothness(instance, first):
    """L_t <= max(tau L_f, L_{-1}): the estimate grows only where it is below L_f."""
    L = instance.constants(instance.start()).L_f
    given = None if first is None else first * L
    states, _ = counted_states(instance, iterations=60, smoothness=given)
    found = measured_estimates(instance, states)
    assert len(found) > 20
    assert (found <= max(2.0 * L, given or 0.0) * (1 + 1e-6)).all()
    if first == 30.0:
        assert found[0] == pytest.approx(30.0 * L)
        assert found[-1] < 2.0 * L, "a first estimate that is too large must be forgotten"


@pytest.mark.parametrize("first", [None, 1e-6])
def test_backtracking_descends_as_its_estimates_promise(instance, asking, first):
    """lacoste2016 (9), hence (6), with C = max(2 L_f, L_{-1}) D^2; and f never rises."""
    given = {} if first is None else {"smoothness": first}
    values, gaps = values_and_gaps(instance, asking, step="backtracking", iterations=60, **given)
    C, g = 2 * curvature(instance), gaps[:-1]
    promised = np.minimum(g**2 / (2 * C), g - C / 2 * (g > C))
    assert (values[1:] <= values[:-1]).all()
    assert (values[1:] <= values[:-1] - promised + 1e-12).all()
    rounds, h0 = np.arange(1, len(gaps) + 1), values[0] - values.min()
    least = np.minimum.accumulate(gaps)
    assert (least <= max(2 * h0, C) / np.sqrt(rounds)).all()
    assert least[-1] < 0.03 * gaps[0]


class Linear(FiniteSum):
    """f(x) = <c, x> over a box: no curvature to estimate."""

    n, set = 1, Box(3)

    def __init__(self, c):
        self.c = np.asarray(c, dtype=float)

    def value(self, x):
        return float(self.c @ x)

    def gradient(self, x):
        return self.c.copy()


def test_backtracking_takes_the_whole_step_where_f_is_linear():
    states, counts = counted_states(Linear([1.0, -2.0, 0.5]), iterations=3)
    for state in states:
        np.testing.assert_array_equal(state.x, [-1.0, 1.0, -1.0])
    # At the vertex the gap is 0, and no value is asked.
    assert (counts["fo"], counts["lo"], counts["fv"]) == (4, 3, 2)


def test_backtracking_stays_at_a_stationary_start():
    states, counts = counted_states(Linear([0.0, 0.0, 0.0]), iterations=3)
    assert (states[-1].x == 0.0).all()
    assert counts["fv"] == 1
