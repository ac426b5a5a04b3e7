"""Worst cases against published numbers and formulas, planted faults, and our own runs."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import assert_one_sentence

from pfbench.algorithms.proximal import ProxGD
from pfbench.base.errors import InputError
from pfbench.verification.session import judge
from pfbench.verification.worst_case import (
    WORST_CASES,
    cases,
    check_installed,
    custom,
    estimation,
    methods,
    random_members,
    sample_runs,
    select_cases,
)
from pfbench.verification.worst_case.cases import mean_squared_table_age
from pfbench.verification.worst_case.random_members import (
    Zigzag,
    make_half_square,
    make_random_quadratic,
    make_random_waves,
)

BY_NAME = {case.name: case for case in WORST_CASES}

# Programs above these N take more than a second.
QUICK = {"saga": (1, 2), "saga-error": (1, 2)}


@pytest.fixture(scope="module")
def solver():
    """The extra `certify`, or the reason why a test is skipped."""
    for package in ("PEPit", "cvxpy", "clarabel"):
        pytest.importorskip(package, reason=f"{package} is missing: {estimation.EXTRA}")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(cases, "INSTANCES", 5)


# --- what is computed -----------------------------------------------------------------------------


@pytest.mark.thin(3)
@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("case", WORST_CASES, ids=lambda case: case.name)
def test_bounds_hold_and_come_near_and_runs_stay_below(case):
    for N in QUICK.get(case.name, (1, 2, 3)):
        decision = case.check.decide(N, seed=0)
        worst, bound = decision.measured["worst case"], case.check.bound(N)
        assert case.check.share * bound <= worst <= bound * 1.0001
        assert 0.0 < decision.measured["largest run"] <= worst * 1.0001
        assert decision.verdict == ("attained" if worst >= 0.99 * bound else "within-10")


@pytest.mark.usefixtures("solver")
def test_a_worst_case_is_a_verdict_like_others():
    case = BY_NAME["prox-gd"]
    verdict = judge(replace(case, check=replace(case.check, quick_steps=2)))
    assert (verdict.verdict, verdict.claim.kind, verdict.lost) == ("within-10", "computed", False)
    assert verdict.measured["N=2: ratio"] == pytest.approx(
        verdict.measured["N=2: worst case"] / verdict.claimed["N=2: worst case"]
    )
    assert verdict.repetitions == 10


@pytest.mark.usefixtures("solver")
def test_frank_wolfe_as_published():
    # Measured once by other means (L = D = 1, h0 = 1/2, constant step).
    published = [1.00000, 0.64243, 0.49557, 0.41492]
    for N, expected in enumerate(published, start=1):
        assert methods.frank_wolfe_gap(N) == pytest.approx(expected, abs=1e-5)
    assert methods.frank_wolfe_gap(2, 2.0) == pytest.approx(0.967, abs=5e-4)


@pytest.mark.usefixtures("solver")
def test_gradient_descent_by_its_exact_rate():
    # Abbaszadehpeivast, de Klerk, Zamani 2022, step 1/L and N - 1 steps.
    for N in (1, 2, 4):
        exact = 4.0 * methods.DELTA / (3.0 * (N - 1) + 2.0)
        assert methods.gradient_descent(N) == pytest.approx(exact, rel=1e-5)


@pytest.mark.usefixtures("solver")
def test_worst_function_attains_the_worst_case():
    rng = np.random.default_rng(0)
    for N in (1, 2, 4):
        assert sample_runs.gradient_descent(N, rng) == pytest.approx(
            methods.gradient_descent(N), rel=1e-5
        )


@pytest.mark.usefixtures("solver")
def test_printed_bound_of_saga_fails_with_one_component():
    # SAGA is then gradient descent with step 1/(3L).
    N = 8
    bound = 3.0 * methods.DELTA / N
    assert methods.saga(N, n=1) > 1.01 * bound
    zigzag = Zigzag(step=methods.saga_step(1), visited=N, copies=1)
    method = sample_runs.proximal.SmoothSAGA(iterations=N, step=methods.saga_step(1), batch=1)
    points = sample_runs.list_visited_points(zigzag, method, np.random.default_rng(0))[:N]
    squares = [float(np.sum(zigzag.gradient(x) ** 2)) for x in points]
    assert np.mean(squares) * methods.DELTA / zigzag.initial_suboptimality > 1.01 * bound


# --- planted faults -------------------------------------------------------------------------------


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("case", WORST_CASES, ids=lambda case: case.name)
def test_too_small_a_constant_is_caught(case):
    right = case.check
    wrong = replace(right, bound=lambda N: 0.99 * right.share * right.bound(N))
    for N in (1, 2):
        decision = wrong.decide(N, seed=0)
        assert decision.verdict == "violated"
        assert decision.measured["ratio"] > 1.0


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize(
    "name",
    [
        "frank-wolfe-gap",
        "frank-wolfe-open-loop",
        "nfwu-exact",
        "nfwu-inexact",
        "svrg-error",
        "spider-error",
        "saga-error",
    ],
)
def test_function_that_is_not_smooth_enough_is_caught(name):
    right = BY_NAME[name].check
    wrong = replace(right, compute=lambda N: right.compute(N, 2.0))
    assert {wrong.decide(N, seed=0).verdict for N in (1, 2)} == {"violated"}


@pytest.mark.usefixtures("solver")
def test_run_above_the_worst_case_is_caught():
    def timid(N, rng):
        zigzag = Zigzag(step=0.2, visited=N)
        points = sample_runs.list_visited_points(zigzag, ProxGD(iterations=N, step=0.2), rng)[:N]
        least = min(float(zigzag.gradient(x)[0]) ** 2 for x in points)
        return least * methods.DELTA / zigzag.initial_suboptimality

    decision = replace(BY_NAME["gradient-descent"].check, run=timid).decide(2, seed=0)
    assert decision.measured["ratio"] <= 1.0
    assert decision.measured["largest run"] > decision.measured["worst case"]
    assert decision.verdict == "violated"


@pytest.mark.usefixtures("solver")
def test_unbounded_problem_has_no_worst_case():
    worst = estimation.PerformanceEstimation()
    f, x = worst.add_smooth_function(1.0), worst.add_start()
    assert math.isnan(worst.solve(f.gradient(x) ** 2))


# --- verdicts, without the solver ----------------------------------------------------------------


def pretended(worst, run=0.0):
    """A case whose bound is 1, with a given worst case."""
    return replace(
        BY_NAME["prox-gd"].check,
        bound=lambda N: 1.0,
        compute=lambda N: worst,
        share=0.5,
        run=lambda N, rng: run,
    )


@pytest.mark.parametrize(
    ("worst", "run", "verdict"),
    [
        (math.nan, 0.0, "inconclusive"),
        (1.001, 0.0, "violated"),
        (1.00001, 0.0, "attained"),
        (0.5, 0.0, "within-10"),
        (0.49, 0.0, "holds"),
        (0.7, 0.7, "within-10"),
        (0.7, 0.71, "violated"),
    ],
)
def test_verdicts(worst, run, verdict):
    assert pretended(worst, run).decide(1, seed=0).verdict == verdict


def test_quick_and_full_go_as_far_as_a_case_says():
    for quick, effort, last in ((4, "quick", 4), (4, "full", 8), (3, "quick", 3), (3, "full", 8)):
        check = replace(pretended(0.75, 0.5), quick_steps=quick, max_steps=8)
        verdict = judge(replace(BY_NAME["prox-gd"], check=check), effort=effort)
        assert verdict.verdict == "within-10"
        assert list(verdict.claimed) == [f"N={N}: worst case" for N in range(1, last + 1)]


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(
        estimation, "find_spec", lambda name: None if name == "clarabel" else SimpleNamespace()
    )
    for attempt in (check_installed, estimation.PerformanceEstimation):
        with pytest.raises(InputError) as error:
            attempt()
        assert_one_sentence(error, "clarabel", 'pip install "pfbench[certify]"')


def test_an_unknown_case_is_refused_and_each_has_its_name():
    with pytest.raises(InputError) as error:
        select_cases(["frank-wolf-gap"])
    assert_one_sentence(error, "frank-wolfe-gap")
    assert select_cases(["ncgs", "ncgs"]) == [BY_NAME["ncgs"]]
    assert select_cases() == list(WORST_CASES)
    assert len(BY_NAME) == len(WORST_CASES)


# --- what the runs are made of --------------------------------------------------------------------


def test_age_of_saga_by_enumeration():
    n, S = 3, 2
    for N in (1, 2, 3):
        squares = []
        for drawn in product(product(range(n), repeat=S), repeat=N - 1):
            last = [max([t for t, J in enumerate(drawn, 1) if i in J], default=0) for i in range(n)]
            squares += [(N - t) ** 2 for t in last]
        assert mean_squared_table_age(N, n, S) == pytest.approx(np.mean(squares))


def path_integral(problem, x, steps=4000):
    """f(x) - f(start) from the gradient alone."""
    u = x - problem.start_point
    middle = (np.arange(steps) + 0.5) / steps
    return float(np.mean([problem.gradient(problem.start_point + t * u) @ u for t in middle]))


@pytest.mark.parametrize("boxed", [False, True])
def test_waves_are_smooth_and_as_high_as_stated(boxed):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = make_random_waves(rng, 2, boxed=boxed, d=1)
        low, high = (
            (problem.set.lower[0], problem.set.upper[0])
            if boxed
            else (problem.start_point[0] - np.pi, problem.start_point[0] + np.pi)
        )
        grid = np.linspace(low, high, 2001)
        values = np.cos(grid[:, None] + problem.phase[:, 0]) @ problem.size[:, 0] / 2.0
        start = float(np.cos(problem.start_point + problem.phase[:, 0]) @ problem.size[:, 0]) / 2.0
        assert problem.initial_suboptimality == pytest.approx(start - values.min(), abs=1e-5)
        x, y = rng.uniform(-3.0, 3.0, (2, 1))
        gaps = np.abs(problem.component_gradients(x) - problem.component_gradients(y))
        assert np.all(gaps <= np.abs(x - y))
        assert path_integral(problem, x) == pytest.approx(
            np.mean(
                problem.size
                * (np.cos(x + problem.phase) - np.cos(problem.start_point + problem.phase))
            ),
            abs=1e-6,
        )


@pytest.mark.parametrize("step", [0.21, 0.5, 1.0])
def test_zigzag_is_smooth_and_as_high_as_stated(step):
    problem = Zigzag(step=step, visited=3)
    grid = np.linspace(-1.0, 2.0 * step + 1.0, 3001)
    slopes = np.array([problem.gradient(np.array([x]))[0] for x in grid])
    assert np.all(np.abs(np.diff(slopes)) <= np.diff(grid) * (1.0 + 1e-9))
    assert path_integral(problem, np.array([2.0 * step + 1.0])) == pytest.approx(
        -problem.initial_suboptimality, abs=1e-6
    )
    points = sample_runs.list_visited_points(problem, ProxGD(iterations=3, step=step), None)
    assert [float(problem.gradient(x)[0]) for x in points[:3]] == pytest.approx([-1.0] * 3)


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("diameter", [1.0, None])
def test_quadratics_are_in_the_class(convex, diameter):
    for seed in range(20):
        problem = make_random_quadratic(
            np.random.default_rng(seed), diameter=diameter, delta=0.5, convex=convex, noise=0.1
        )
        constants = problem.constants(problem.start())
        assert constants.L_f <= 1.0
        assert constants.delta <= 0.5 * (1.0 + 1e-12)
        if diameter is not None:
            assert pytest.approx(1.0) == constants.D
        if convex:
            assert np.linalg.eigvalsh(problem.A)[0] >= 0.0
        side = problem.set.upper
        axis = np.linspace(0.0, side, 401)
        least = sum(
            float((b * axis + 0.5 * a * axis**2).min())
            for a, b in zip(np.diag(problem.A), problem.b, strict=True)
        )
        assert problem.minimum_value - 1e-12 <= least <= problem.minimum_value + 1e-4
        errors = [
            np.linalg.norm(problem.batch(np.array([i]), problem.start_point) - problem.b)
            for i in (0, 1)
        ]
        assert errors == pytest.approx([0.1, 0.1])


def test_half_square_is_in_the_class():
    problem = make_half_square(6)
    assert problem.set.diameter == pytest.approx(1.0)
    centre = np.full(6, math.sqrt(0.5) / 6)
    assert problem.set.contains(centre)
    assert problem.value(centre) == pytest.approx(problem.minimum_value)


def test_table_by_definition():
    problem = make_random_waves(np.random.default_rng(3), 3)
    x, y = np.array([0.3, -1.0]), np.array([1.0, 0.4])
    table = problem.table(x)
    stored, fresh = problem.component_gradients(x), problem.component_gradients(y)
    drawn = np.array([0, 2, 2])
    expected = (fresh - stored)[drawn].mean(axis=0)
    assert table.difference(drawn, y) == pytest.approx(expected)
    assert table.replace(drawn, y) == pytest.approx(expected)
    stored[[0, 2]] = fresh[[0, 2]]
    assert table.mean == pytest.approx(stored.mean(axis=0))
    assert problem.difference(drawn, y, x) == pytest.approx(expected)


# --- the programs and the runs are the same methods -----------------------------------------------


class Vector:
    """An array with the algebra of PEPit's points: a product of two is the inner product."""

    def __init__(self, array):
        self.array = np.asarray(array, dtype=float)

    def __add__(self, other):
        return Vector(self.array + other.array)

    def __sub__(self, other):
        return Vector(self.array - other.array)

    def __mul__(self, other):
        if isinstance(other, Vector):
            return float(self.array @ other.array)
        return Vector(other * self.array)

    __rmul__ = __mul__

    def __truediv__(self, number):
        return Vector(self.array / number)

    def __pow__(self, exponent):
        assert exponent == 2
        return self * self


class Member:
    """One function of the class, or of its components."""

    def __init__(self, problem, index=None):
        self.problem, self.index = problem, index

    def gradient(self, x):
        if self.index is None:
            return Vector(self.problem.gradient(x.array))
        return Vector(self.problem.component_gradients(x.array)[self.index])

    def __call__(self, x):
        if x is None:
            return self.problem.minimum_value
        if hasattr(self.problem, "value"):
            return self.problem.value(x.array)
        waves = self.problem.size * np.cos(x.array + self.problem.phase)
        return float(waves.mean(axis=0).sum())

    def __add__(self, other):
        if isinstance(other, Member):  # a sum of all components
            return Member(self.problem)
        return SimpleNamespace(stationary_point=lambda: None)

    def __truediv__(self, number):
        return self


class OneProblem:
    """Answers a program's questions with one problem, and sees that what it requires is true."""

    def __init__(self, problem, vectors=()):
        self.problem, self.vectors = problem, iter(vectors)
        self.components_left = iter(range(problem.n))

    def add_smooth_function(self, L, convex=False):
        alone = self.problem.n == 1 or not hasattr(self.problem, "component_gradients")
        return Member(self.problem, None if alone else next(self.components_left))

    def proof(self, functions):
        return None

    def add_components(self, n, L, start):
        return [Member(self.problem, i) for i in range(n)], Member(self.problem)

    def add_composite(self, n, L, start):
        return *self.add_components(n, L, start), "h"

    def add_set_indicator(self, D=math.inf):
        return "C"

    def add_start(self, indicator=None):
        return Vector(self.problem.start_point)

    def add_vector(self, indicator=None):
        return Vector(next(self.vectors))

    def lo(self, g, indicator):
        return Vector(self.problem.lo(g.array))

    def prox(self, x, h, lam):
        return Vector(self.problem.set.project(x.array)), 0.0

    def require(self, *inequalities):
        assert all(inequalities)

    def solve(self, *measures):
        return min(measures)


@pytest.fixture
def same(monkeypatch):
    """Run a program and a run of the same name on one problem."""

    def compare(name, N, problem, vectors=(), delta=None):
        for room in (methods, custom):
            monkeypatch.setattr(room, "PerformanceEstimation", lambda: OneProblem(problem, vectors))
        monkeypatch.setattr(custom._WorstCaseProgram, "make_worst_function", lambda self: None)
        for made in ("make_random_waves", "Zigzag", "make_random_quadratic", "make_half_square"):
            monkeypatch.setattr(random_members, made, lambda *_, **__: problem)
        slack = 1.0 + 1e-12
        for room in (methods, sample_runs):
            monkeypatch.setattr(room, "DELTA_SLIDING", 1.0)
            if delta is not None:
                monkeypatch.setattr(room, "DELTA", delta * slack)
        found = getattr(sample_runs, name)(N, np.random.default_rng(7))
        return found / slack if delta else found, getattr(methods, name)(N)

    return compare


@pytest.mark.parametrize("name", ["frank_wolfe_gap", "nfwu_exact", "frank_wolfe_open_loop"])
def test_frank_wolfe_programs_are_the_methods(same, name):
    convex = name == "frank_wolfe_open_loop"
    problem = (
        make_half_square(9)
        if convex
        else make_random_quadratic(np.random.default_rng(11), diameter=1.0, delta=0.5)
    )
    run, program = same(name, 4, problem)
    assert run == pytest.approx(program, rel=1e-12)


def test_nfwu_program_with_errors_is_the_method(same):
    error = methods.theorem_accuracy(4) / 2.0 * (1.0 - 1e-12)
    problem = make_random_quadratic(np.random.default_rng(11), diameter=1.0, delta=0.5, noise=error)
    rng = np.random.default_rng(7)
    drawn = [problem.noise[rng.integers(2, size=1)[0]] for _ in range(4)]
    run, program = same("nfwu_inexact", 4, problem, drawn)
    assert run == pytest.approx(program, rel=1e-12)


@pytest.mark.parametrize("name", ["gradient_descent", "spiderboost", "prox_spiderboost", "saga"])
def test_gradient_programs_are_the_methods(same, name):
    boxed = name == "prox_spiderboost"
    problem = make_random_waves(
        np.random.default_rng(3), 1 if name == "gradient_descent" else 2, boxed=boxed
    )
    run, program = same(
        name, 4 if name == "saga" else 5, problem, delta=problem.initial_suboptimality
    )
    assert run == pytest.approx(program, rel=1e-9)


def test_prox_gd_program_is_the_method(same):
    problem = make_random_quadratic(
        np.random.default_rng(5), diameter=None, delta=0.5 * (1.0 - 1e-9)
    )
    object.__setattr__(problem, "initial_suboptimality", methods.DELTA)
    run, program = same("prox_gd", 4, problem)
    assert run == pytest.approx(program, rel=1e-12)


def test_ncgs_program_is_the_method(same):
    problem = make_random_quadratic(np.random.default_rng(5), diameter=None, delta=1.0 - 1e-9)
    method = sample_runs.NCGS(iterations=4, smoothness=1.0)
    returned = sample_runs.list_visited_points(problem, method, np.random.default_rng(0))[1:]
    run, program = same("ncgs", 4, problem, returned)
    assert run == pytest.approx(program, rel=1e-12)


@pytest.mark.parametrize(
    "name", ["svrg_error", "spider_error", pytest.param("saga_error", marks=pytest.mark.long)]
)
def test_error_programs_are_the_estimators(monkeypatch, name):
    N, made, original = 3, [], random_members.DiagonalQuadratic

    def noted(**given):
        made.append(original(**given))
        return made[-1]

    monkeypatch.setattr(random_members, "DiagonalQuadratic", noted)
    monkeypatch.setattr(methods, "ETA", 1.0 + 1e-9)
    run = getattr(sample_runs, name)(N, np.random.default_rng(7))
    steps = np.random.default_rng(7).standard_normal((N, 2))
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    found = []
    for problem, path in zip(made, (steps, np.repeat(steps[:1], N, axis=0)), strict=True):
        # The steps of SPIDER's program may differ from branch to branch; here they do not.
        times = 2 ** np.arange(N) if name == "spider_error" else np.ones(N, dtype=int)
        one = OneProblem(problem, np.repeat(path, times, axis=0))
        monkeypatch.setattr(methods, "PerformanceEstimation", lambda one=one: one)
        found.append(getattr(methods, name)(N))
    assert run == pytest.approx(max(found), rel=1e-12)
