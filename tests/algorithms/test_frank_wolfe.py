"""Frank-Wolfe against lacoste2016, and where values or constants are NaN or 0."""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.algorithms.frank_wolfe import line_search
from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.measures.common import fw_gap
from pfbench.oracles import Ledger, Oracles
from pfbench.points import combine, distance, keep
from pfbench.problems import FiniteSum
from pfbench.sets import Box, Simplex

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
    return values, np.array([fw_gap(problem, state)[1] for state in states])


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


# --- values that are NaN --------------------------------------------------------------------------

TARGET = np.array([0.7, 0.1, 0.1, 0.1])


def half_space(x):
    """The squared distance to T, undefined beyond 0.6."""
    return np.nan if x[0] > 0.6 else float((x - TARGET) @ (x - TARGET))


def entropy(x):
    """The relative entropy with 0 log 0 = NaN."""
    with np.errstate(all="ignore"):
        return float(np.sum(x * np.log(x / (TARGET + 0.1))))


def entropy_slope(x):
    with np.errstate(all="ignore"):
        return np.maximum(np.log(x / (TARGET + 0.1)) + 1.0, -1e3)


def barrier(x):
    with np.errstate(all="ignore"):
        return float(x @ x - 0.1 * np.sum(np.sqrt(x - 0.05)))


def barrier_slope(x):
    with np.errstate(all="ignore"):
        return 2.0 * x - 0.05 / np.sqrt(np.maximum(x - 0.05, 1e-9))


UNDEFINED = {
    "half space": (half_space, lambda x: 2.0 * (x - TARGET), 0.0138),
    "entropy": (entropy, entropy_slope, -0.3363),
    "barrier": (barrier, barrier_slope, 0.07112),
}
SEARCHES = [
    "line-search",
    *(f"backtracking,smoothness={M}" for M in (0.01, 0.1, 1.0)),
    "backtracking",
]


@pytest.mark.parametrize("step", SEARCHES)
@pytest.mark.parametrize("name", UNDEFINED)
def test_no_step_goes_where_the_objective_is_undefined(name, step):
    fun, jac, reached = UNDEFINED[name]
    problem = from_functions(fun, jac, Simplex(4), start=np.array([0.3, 0.2, 0.25, 0.25]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = pf.solve(problem, f"frank-wolfe[step={step},iterations=60]", measures="objective")
    values = run.trace["objective"].to_numpy()
    assert run.status == "finished", run.stop_reason
    assert (np.diff(values) <= 1e-11).all()
    assert values[-1] < reached + 2e-4


@pytest.mark.parametrize("undefined", [math.nan, math.inf, np.float64("nan")])
@pytest.mark.parametrize("others", [(), (0.3, 0.9)])
def test_a_line_search_takes_the_best_of_the_values_that_are_defined(undefined, others):
    found = line_search(lambda w: (w - 0.7) ** 2 if w <= 0.4 else undefined, 1.0, *others)
    assert 0.3 <= found <= 0.4
    assert line_search(lambda w: undefined, 1.0, *others) == 0.0


def test_a_search_without_a_value_at_its_start_ends():
    """Where no trial point has a value it stays, and the objective of its output is undefined."""
    problem = from_functions(entropy, entropy_slope, Simplex(4), start=np.full(4, 0.25))
    for step in SEARCHES:
        run = pf.solve(
            problem,
            f"frank-wolfe[step={step},iterations=5]",
            start=np.array([1.0, 0.0, 0.0, 0.0]),
            budget={"fv": 5000},
        )
        assert run.iterations == 5
        undefined = run.final["objective"] is None
        assert run.status == ("diverged" if undefined else "finished")
        assert undefined == (step != "backtracking")  # whose probe leaves the edge without a value


# --- constants that are 0 -------------------------------------------------------------------------

ZERO = {"L_f": 0.0, "L_ms": 0.0, "L_max": 0.0, "sigma2": 0.0}
ZEROS = {
    "linear": (lambda x: float(x[0]), lambda x: np.eye(2)[0], Simplex(2), ZERO | {"delta": 1.0}),
    "constant": (lambda x: 1.0, lambda x: np.zeros(2), Simplex(2), ZERO | {"delta": 0.0}),
    "point": (lambda x: float(x @ x), lambda x: 2.0 * x, Simplex(1), {"L_f": 2.0, "delta": 1.0}),
}
FREE_OF_CURVATURE = [
    *(f"frank-wolfe[step={step},iterations=3]" for step in ("open-loop", "log-adaptive")),
    *(f"frank-wolfe[step={step},iterations=3]" for step in ("line-search", "adaptive")),
    "frank-wolfe[epsilon=0.5]",
    "frank-wolfe[step=backtracking,iterations=3]",
    *(
        f"{name}[iterations=3,step={s}]"
        for name in ("afw", "pfw")
        for s in ("short", "line-search")
    ),
    "bpfw[iterations=3]",
    "bpfw[iterations=3,lazy=true]",
]


def made(name):
    fun, jac, where, constants = ZEROS[name]
    return from_functions(fun, jac, where, start=where.start(), constants=constants)


@pytest.mark.parametrize("name", ZEROS)
@pytest.mark.parametrize("method", FREE_OF_CURVATURE)
def test_methods_that_need_no_curvature_reach_the_minimum(name, method):
    run = pf.solve(made(name), method)
    assert run.status == "finished", run.stop_reason
    assert run.final["objective"] == (0.0 if name == "linear" else 1.0)
    assert run.final["fw_gap"] == 0.0


def test_a_linear_function_is_done_in_one_step():
    run = pf.solve(made("linear"), "frank-wolfe[step=adaptive,iterations=1]")
    assert run.final["objective"] == 0.0


@pytest.mark.parametrize("name", ["prox-gd", "sfw", "saga", "page-fw"])
def test_a_schedule_that_divides_by_0_is_refused(name):
    method = pf.algorithm(name, epsilon=0.1)
    problem = from_functions(
        *ZEROS["linear"][:2], *([] if name == "saga" else [Simplex(2)]),
        start=np.eye(2)[0], constants=ZERO | {"delta": 1.0},
    )  # fmt: skip
    with pytest.raises(InputError, match="has no finite values"):
        pf.solve(problem, method)


@pytest.mark.parametrize("given", ["frank-wolfe[curvature=-1]", "afw[iterations=3,smoothness=-1]"])
def test_a_negative_one_is_refused(given):
    with pytest.raises(InputError, match="must be at least 0"):
        pf.solve(made("linear"), given)
