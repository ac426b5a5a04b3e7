"""Measures against dense arithmetic; they disturb nothing, and a gap below 0 is an error."""

import math

import numpy as np
import pytest
import scipy.linalg
from helpers import random_vertex, reference_of, refused, tiny_logistic, tiny_recovery
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import pfbench as pf
from pfbench.adapters import FunctionSet, from_functions
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.base.state import State
from pfbench.measures.catalogue import BRACKETS, MEASURES, available_measures, select_measures
from pfbench.measures.common import (
    estimator_error,
    fw_gap,
    gradient_mapping_lambda,
    gradient_mapping_sq,
    objective,
    value,
)
from pfbench.points import combine, inner, keep
from pfbench.problems import FiniteSum
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations
from pfbench.runs.planning.name_resolution import check_user_problem
from pfbench.sets import L1Ball, L2Ball, LinfBall, NuclearBall, Simplex, WholeSpace, penalty

SEEDS = st.integers(0, 2**32 - 1)
TRUTH = tiny_logistic()


def logistic_over(kind, radius=2.0):
    """A loss strong enough that minimisers lie on the boundary."""
    return NonconvexLogistic(TRUTH.features, TRUTH.labels, kind(4, radius), alpha=0.05)


PROBLEMS = {
    "recovery": tiny_recovery(radius=3.0),
    "recovery, sum": tiny_recovery(radius=3.0, scaling="sum"),
    **{f"logistic, {kind.name}": logistic_over(kind) for kind in (L1Ball, L2Ball, LinfBall)},
    "logistic, simplex": logistic_over(Simplex),
}
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def random_state(problem, seed):
    """A state at a random convex combination of vertices, and the same point as an array."""
    rng = np.random.default_rng(seed)
    x, dense = problem.start(), None
    for _ in range(3):
        vertex = problem.set.random_vertex(rng)
        x = combine(x, vertex, rng.random())
    dense = x if isinstance(x, np.ndarray) else x.matrix()
    return State(x), dense


def dense_gradient(problem, dense):
    reference = reference_of(problem)
    return reference.embedded(reference.component_gradients(dense).mean(axis=0))


def support(body, g):
    """max of <g, v> over the set, from its definition."""
    norms = {
        L1Ball: lambda: np.abs(g).max(),
        L2Ball: lambda: np.linalg.norm(g),
        LinfBall: lambda: np.abs(g).sum(),
        Simplex: lambda: g.max(),
        NuclearBall: lambda: np.linalg.svd(g, compute_uv=False)[0],
    }
    return body.radius * norms[type(body)]()


# --- each measure against its definition ----------------------------------------------------------


@EACH
@given(SEEDS)
def test_the_gap_is_exact(problem, seed):
    state, x = random_state(problem, seed)
    g = dense_gradient(problem, x)
    exact = np.vdot(g, x) + support(problem.set, -g)
    lower, upper = fw_gap(problem, state)
    assert lower == upper
    assert_allclose(upper, exact, rtol=1e-10, atol=1e-12 * problem.set.radius * np.abs(g).max())


@EACH
@given(SEEDS)
def test_value_and_objective_are_f_where_there_is_no_penalty(problem, seed):
    state, x = random_state(problem, seed)
    assert_allclose(value(problem, state), reference_of(problem).components(x).mean(), rtol=1e-11)
    assert objective(problem, state) == value(problem, state)


@EACH
@given(SEEDS)
def test_the_gradient_mapping_is_the_projected_step(problem, seed):
    state, x = random_state(problem, seed)
    constants = problem.constants(problem.start())
    lam = 1.0 / (2.0 * max(constants.L_f, constants.L_ms))
    assert gradient_mapping_lambda(problem, state) == pytest.approx(lam)
    target = x - lam * dense_gradient(problem, x)
    square = gradient_mapping_sq(problem, state)
    p = problem.set.project(target)
    if not isinstance(p, np.ndarray):
        p = (p.left * p.weights[:, None]).T @ p.right
    # p is optimal, by <target - p, v - p> <= 0 over the set; the mapping is the step to it.
    assert support(problem.set, target - p) - np.vdot(target - p, p) <= 1e-9 * (1 + np.abs(x).max())
    assert_allclose(square, np.sum(((x - p) / lam) ** 2), rtol=1e-8, atol=1e-16 / lam**2)


def test_the_estimator_error_is_taken_where_the_estimate_was_formed(recovery):
    rng = np.random.default_rng(0)
    at = recovery.start()
    g = recovery.gradient(at)
    estimate = g + rng.standard_normal(g.size)
    x = combine(at, random_vertex(rng, recovery.pattern), 0.5)
    state = State(x, at, estimate)
    assert_allclose(estimator_error(recovery, state), np.linalg.norm(estimate - g), rtol=1e-12)
    assert estimator_error(recovery, State(x)) is None
    assert estimator_error(recovery, State(x, at)) is None


def test_rmse_of_held_out_entries_and_of_the_truth():
    problem = pf.problem("robust-matrix-recovery", rows=9, columns=7, rank=2, density=0.4)
    state, x = random_state(problem, 0)
    truth = problem.observations.truth
    whole = (truth.left * truth.weights[:, None]).T @ truth.right
    found = available_measures(problem)["rmse_truth"](problem, state)
    assert_allclose(found, np.sqrt(np.mean((x - whole) ** 2)), rtol=1e-12)

    held = Observations(
        (3, 2),
        np.array([0, 1]),
        np.array([0, 1]),
        np.array([1.0, 3.0]),
        np.array([2, 0, 1]),
        np.array([1, 1, 0]),
        np.array([5.0, -1.0, 0.0]),
    )
    problem = RobustMatrixRecovery(held, radius=5.0)
    state, x = random_state(problem, 1)
    errors = x[[2, 0, 1], [1, 1, 0]] - [5.0, -1.0, 0.0]
    measures = problem.measures()
    assert_allclose(measures["rmse_heldout"](problem, state), np.sqrt(np.mean(errors**2)))
    mean_errors = 2.0 - np.array([5.0, -1.0, 0.0])
    assert_allclose(measures["rmse_heldout_mean"](problem, state), np.sqrt(np.mean(mean_errors**2)))


def test_with_a_penalty_the_objective_has_it_and_the_gap_is_not_defined():
    h = penalty("l1", (4,), weight=0.3)
    problem = NonconvexLogistic(TRUTH.features, TRUTH.labels, WholeSpace(4), 0.05, h)
    x = np.array([0.5, -1.0, 0.0, 2.0])
    state = State(x)
    f = reference_of(problem).components(x).mean()
    assert_allclose(value(problem, state), f, rtol=1e-12)
    assert_allclose(objective(problem, state), f + 0.3 * 3.5, rtol=1e-12)
    assert fw_gap(problem, state) is None
    lam = gradient_mapping_lambda(problem, state)
    y = x - lam * dense_gradient(problem, x)
    p = np.sign(y) * np.maximum(np.abs(y) - 0.3 * lam, 0.0)
    assert_allclose(gradient_mapping_sq(problem, state), np.sum(((x - p) / lam) ** 2), rtol=1e-10)


@pytest.mark.parametrize("lam", [0.25, 3.0, 40.0])
def test_the_gradient_mapping_takes_the_lambda_of_a_paper(lam):
    problem, name = PROBLEMS["logistic, l1"], f"gradient_mapping_sq[lam={lam}]"
    x = np.array([1.2, -0.5, 0.2, 0.1])
    p = problem.set.project(x - lam * dense_gradient(problem, x))
    (measure,) = select_measures(problem, [name]).values()
    assert_allclose(measure(problem, State(x)), np.sum(((x - p) / lam) ** 2), rtol=1e-10)
    own = gradient_mapping_lambda(problem, State(x))
    (same,) = select_measures(problem, [f"gradient_mapping_sq[lam={own!r}]"]).values()
    assert same(problem, State(x)) == gradient_mapping_sq(problem, State(x))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gradient_mapping_sq[lam=0]", "lam"),
        ("gradient_mapping_sq[lam=-1]", "lam"),
        ("gradient_mapping_sq[lam=nan]", "lam"),
        ("gradient_mapping_sq[lambda=1]", "lam=0.25"),
        ("fw_gap[lam=1]", "takes a parameter"),
        ("gradient_maping_sq[lam=1]", "did you mean 'gradient_mapping_sq'"),
    ],
)
def test_what_no_measure_takes_is_refused(name, why):
    with pytest.raises(InputError) as refused:
        select_measures(TRUTH, [name])
    assert why in str(refused.value)


def test_without_set_and_penalty_the_gradient_mapping_is_the_gradient():
    problem = NonconvexLogistic(TRUTH.features, TRUTH.labels, WholeSpace(4), 0.05)
    x = np.array([0.5, -1.0, 0.0, 2.0])
    square = np.sum(dense_gradient(problem, x) ** 2)
    assert_allclose(gradient_mapping_sq(problem, State(x)), square, rtol=1e-10)
    assert fw_gap(problem, State(x)) is None


# --- large matrices -------------------------------------------------------------------------------


def large_problem():
    """510 x 500: above the size at which the gap is exact."""
    rng = np.random.default_rng(0)
    cells = rng.choice(510 * 500, size=6000, replace=False)
    data = Observations((510, 500), *np.divmod(cells, 500), rng.standard_normal(6000))
    return RobustMatrixRecovery(data, radius=30.0)


def test_a_gradient_mapping_whose_square_overflows_is_infinite():
    """So that a run that diverges ends as such, not by an error of its measure."""
    problem = pf.problem("matrix-least-squares", rows=3, columns=2, outputs=2)
    far, near = (State(np.full((2, 2), size)) for size in (1e152, 1e60))
    assert gradient_mapping_sq(problem, near) < math.inf
    with np.errstate(over="ignore"):
        assert gradient_mapping_sq(problem, far) == math.inf
        run = pf.solve(problem, pf.algorithm("prox-gd", step=300.0, iterations=1000))
    assert run.status == "diverged"


def test_a_loose_linear_minimisation_would_falsify_the_gap():
    """ANCHORS 2.3: the measured gap never relies on the minimiser that the run uses."""
    problem = large_problem()
    loose = RobustMatrixRecovery(problem.observations, radius=30.0, tolerance=1.0)
    state, x = random_state(loose, 0)
    g = loose.gradient(keep(state.x))
    vertex = loose.open(np.random.default_rng(0)).lo(g)
    at_the_loose_vertex = inner(g, state.x) - inner(g, vertex)
    exact = np.vdot(dense_gradient(loose, x), x)
    exact += 30.0 * scipy.linalg.svdvals(dense_gradient(loose, x))[0]
    assert at_the_loose_vertex < 0.95 * exact
    assert fw_gap(loose, state) == fw_gap(problem, State(keep(state.x)))
    assert fw_gap(loose, state)[1] >= exact


def test_the_gradient_mapping_of_a_huge_matrix_is_not_defined():
    observations = Observations((2001, 2000), np.array([0]), np.array([0]), np.ones(1))
    problem = RobustMatrixRecovery(observations)
    assert gradient_mapping_sq(problem, State(problem.start())) is None


def test_without_curvature_there_is_no_gradient_mapping():
    """L_f = L_ms = 0: no lambda = 1/(2 L)."""
    problem = LeastSquares(np.zeros((3, 2)), np.ones(3), L2Ball(2))
    state = State(problem.start())
    assert problem.constants(state.x).L == 0.0
    assert gradient_mapping_lambda(problem, state) is None
    assert gradient_mapping_sq(problem, state) is None


# --- measures are never seen by the run -----------------------------------------------------------


@EACH
def test_measures_never_modify_a_point(problem):
    """Neither the newest point, whose step is only recorded, nor the one before."""
    rng = np.random.default_rng(0)
    at = problem.start()
    at = combine(at, problem.set.random_vertex(rng), 0.3)
    estimate = problem.gradient(at)
    x = combine(at, problem.set.random_vertex(rng), 0.4)
    state = State(x, at, estimate)
    seen = [bits(each) for each in (x, at)]
    estimate_before = estimate.copy()
    first = {name: measure(problem, state) for name, measure in available_measures(problem).items()}
    assert [bits(each) for each in (x, at)] == seen
    assert_array_equal(estimate, estimate_before)
    again = {name: measure(problem, state) for name, measure in available_measures(problem).items()}
    assert again == first


def bits(x):
    """Everything that is stored about a point, to the bit."""
    if isinstance(x, np.ndarray):
        return x.tobytes()
    trail = x._trail
    stored = (trail.values, trail.weights, *x.factors(), x.values())
    return (
        *(array.tobytes() for array in stored),
        trail.atoms.atom_count,
        x._token is trail.current,
    )


# --- by name --------------------------------------------------------------------------------------


def test_measures_by_name(recovery):
    assert set(select_measures(recovery, ["fw_gap", "value"])) == {"fw_gap", "value"}
    assert set(available_measures(recovery)) == set(MEASURES)
    assert set(MEASURES) >= BRACKETS
    with refused("'fw_gpa'", "'fw_gap'"):
        select_measures(recovery, ["fw_gpa"])


# --- a gap below 0 --------------------------------------------------------------------------------

T = np.array([0.3, 0.0])
WORDS = "the Frank-Wolfe gap is -"


def largest(g):
    return np.sign(g) * (np.abs(g) == np.abs(g).max())


class Flipped(L1Ball):
    def lo(self, g):
        return largest(np.asarray(g))

    def minimum(self, g):
        value = float(np.vdot(g, self.lo(g)))
        return value, value


class Distance(FiniteSum):
    """Half the squared distance to T."""

    n = 1

    def __init__(self, where, start):
        self.set, self._start = where, np.array(start)

    def start(self):
        return self._start.copy()

    def value(self, x):
        return 0.5 * float((x - T) @ (x - T))

    def gradient(self, x):
        return x - T


def anywhere(vertex):
    return FunctionSet(lambda g: np.array(vertex), np.zeros(2), diameter=2.0, contains=_yes)


def _yes(x, tolerance):
    return True


WRONG = {
    "maximises": Distance(Flipped(2), [0.0, 0.0]),
    "always 0": Distance(anywhere([0.0, 0.0]), [0.2, 0.0]),
    "always -e1": Distance(anywhere([-1.0, 0.0]), [0.1, 0.0]),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("step", ["open-loop", "line-search"])
def test_a_gap_below_0_reaches_no_target(case, step):
    algorithm = f"frank-wolfe[step={step},iterations=3]"
    run = pf.solve(WRONG[case], algorithm, stop="fw_gap=1e-6")
    assert (run.status, run.iterations) == ("error", 0)
    assert WORDS in run.stop_reason
    assert run.final["fw_gap"] is None


def test_it_is_seen_at_the_output_where_it_is_not_recorded():
    run = pf.solve(WRONG["maximises"], "frank-wolfe[step=line-search,iterations=3]")
    assert run.status == "error"
    assert WORDS in run.stop_reason


class Between(L1Ball):
    """Is wrong at the first iterate alone, (1, 0)."""

    def minimum(self, g):
        value, _ = super().minimum(g)
        return (1.0, 1.0) if g[0] > 0.6 else (value, value)


@pytest.mark.parametrize(("measures", "status"), [("objective", "finished"), ("fw_gap", "error")])
def test_it_is_seen_on_the_way_only_where_it_is_recorded(measures, status):
    problem = Distance(Between(2), [0.0, 0.0])
    run = pf.solve(problem, "frank-wolfe[step=open-loop,iterations=3]", measures=measures)
    assert run.status == status, run.stop_reason
    assert (WORDS in run.stop_reason) == (status == "error")


@pytest.mark.parametrize("case", WRONG)
def test_a_problem_with_it_is_refused_where_it_enters(case):
    problem = WRONG[case]
    with pytest.raises(InputError, match=WORDS):
        check_user_problem(Selector.parse("my_file.py:NAME"), problem)
    with pytest.raises(InputError, match=WORDS):
        from_functions(problem.value, problem.gradient, problem.set, start=problem.start())


def test_rounding_is_no_error():
    for scale in (1.0, 1e-150, 1e150):
        for seed in range(20):
            c = scale * np.random.default_rng(seed).standard_normal(300)
            start = Simplex(300).lo(c) + 1e-12 * np.sign(c)
            problem = from_functions(
                lambda x, c=c: float(c @ x), lambda x, c=c: c, Simplex(300), start=start
            )
            run = pf.solve(problem, "frank-wolfe[step=open-loop,iterations=2]", stop="fw_gap=0")
            assert run.status in ("target", "finished"), run.stop_reason
