"""The checks of li2019: their bounds against derivations, their verdicts, what they must refuse."""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import pytest

from pfbench.algorithms.sliding import CGS, STORC
from pfbench.base.state import State
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.restricted_convexity import worst_direction
from pfbench.problems.sensing import synthetic_sensing
from pfbench.theory import li2019_bounds as bounds
from pfbench.theory.catalogue import CLAIMS, claim
from pfbench.verification.checks import li2019
from pfbench.verification.instruments.quadratics import face_of_simplex, interior_of_l2_ball
from pfbench.verification.mutants.li2019 import MUTANTS, Variant
from pfbench.verification.session import judge
from pfbench.verification.subject import Broken, Subject
from pfbench.verification.trial import Trial


def trial(name="thm1", algorithm=None, seed=0):
    return Trial(claim(f"li2019-{name}"), Subject(algorithm=algorithm), seed=seed)


def instance(kappa=2.0):
    return li2019._known(face_of_simplex(np.random.default_rng(0), 16, kappa))


# --- the formulas ---------------------------------------------------------------------------------


def test_the_schedule_is_the_algorithms_own():
    known = instance(30.0).constants
    cgs = CGS.theory(known.delta / 1000, known)
    storc = STORC.theory(known.delta / 1000, known)
    assert bounds.period(known.L_f, known.sigma_hat) == cgs.period == 44
    assert bounds.restarts(known.delta, known.delta / 1000) == cgs.restarts == 10
    assert bounds.batch(known.L_f, known.L_max, known.sigma_hat) == storc.batch
    for t in (1, 4):
        squared = bounds.squared_distance(known.delta, known.sigma_hat, t)
        assert cgs.eta(t, 3) == pytest.approx(2 * cgs.smoothness * squared / (cgs.period * 3))


def test_the_bound_of_lo_is_the_sum_over_all_inner_loops():
    L, D, sigma, delta0, T = 2.0, 1.5, 0.04, 0.7, 5
    N, total = ceil(8 * sqrt(L / sigma)), 0.0
    for t in range(1, T + 1):
        for k in range(1, N + 1):
            eta = 8 * L * delta0 / 2**t / (sigma * N * k)
            total += 6 * D**2 * (3 * L / k) / eta  # qu2018-condg-count without its 1 + ceil
    claimed = bounds.linear_minimisations(L, D, sigma, delta0, T)
    # The geometric sum 2 + 4 + ... + 2^T is bounded by 2 2^T.
    assert total + 2 * N * T <= claimed <= total * 2**T / (2**T - 1) + 2 * N * T + 1e-6


def test_the_bounds_fit_together():
    """At k = N_t the bound of the inner loop is at most half of delta0 2^-t (THEORY section 6)."""
    for L, sigma in ((1.0, 1.0), (3.0, 0.2), (50.0, 1e-3)):
        N, squared = bounds.period(L, sigma), bounds.squared_distance(0.3, sigma, 2)
        assert bounds.inner_gap(L, squared, N) <= 0.5 * 0.3 / 4
        assert bounds.variance(L, squared, N, 1) == pytest.approx(L**2 * squared / (4 * N))


def test_the_statistical_errors():
    numbers = (0.01, 0.5, 2.0, 0.1, 0.3, 0.2)
    assert bounds.statistical_error(*numbers) == pytest.approx(8 * 0.01 * 0.8**2 / 0.5)
    assert bounds.printed_statistical_error(*numbers) == pytest.approx(0.01 * 1.1**2 / 0.5)


def test_the_constant_of_lemma_1_has_room_above_gordons():
    """c = 2 is the largest of (alpha - (1-2y)^2/2)/y^2 over y, with curvature alpha = 1/4."""
    y = np.linspace(1e-3, 0.5, 100_000)
    assert ((0.25 - 0.5 * (1 - 2 * y) ** 2) / y**2).max() == pytest.approx(2.0, abs=1e-6)
    assert ((0.5 - 0.5 * (1 - 2 * y) ** 2) / y**2).max() > 1000
    assert bounds.LEMMA1_CONSTANT == 4.0


# --- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("thm1", "tight"),
        ("cor3", "tight"),
        ("thm1-fo", "tight"),
        ("thm1-lo", "tight"),
        ("stat", "tight"),
        ("thm2", "tight"),
        ("variance", "holds"),
        ("nonconvex", "disputed"),
        ("lemma1", "tight"),
    ],
)
def test_verdicts(name, verdict):
    row = judge(f"li2019-{name}", Subject(), seed=1)
    assert row.verdict == verdict, row.reason
    if verdict == "disputed":
        assert row.measured["verdict"] == "holds"


def test_every_claim_has_a_check():
    assert set(li2019.CHECKS) == {name for name in CLAIMS if name.startswith("li2019")}


# --- what the checks see --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Outside(CGS):
    """Yields twice each point."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield State(2.0 * state.x, state.at, state.estimate)


@dataclass(frozen=True, kw_only=True)
class Lazy(CGS):
    """Ends after three inner iterations."""

    def run(self, ask, x, rng):
        states = super().run(ask, x, rng)
        for _ in range(3):
            yield next(states)


@dataclass(frozen=True, kw_only=True)
class Undefined(CGS):
    """Claims a point whose value is not a number, inside the set."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield State(np.full_like(state.x, np.nan), state.at, state.estimate)


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [(Outside, "leaves the feasible set"), (Undefined, "not finite"), (Lazy, "makes 3 inner")],
)
def test_points_outside_and_early_ends_are_broken(algorithm, words):
    with pytest.raises(Broken, match=words):
        list(li2019._inner(trial(algorithm=algorithm), instance(), 2))
    row = judge("li2019-thm1", Subject(algorithm=algorithm))
    assert (row.verdict, row.failed) == ("violated", True)


def test_inner_iterations_are_numbered_and_seeded():
    known = instance()
    steps = [(t, k) for t, k, _ in li2019._inner(trial(), known, 3)]
    assert steps == [(t, k) for t in (1, 2, 3) for k in range(1, known.N + 1)]
    ends = [
        [s.state.x for _, _, s in li2019._inner(trial("thm2"), known, 1, seed, batch=2)][-1]
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_the_variance_is_that_of_the_definition():
    """With a batch of one the mean of the ratios is the variance of one draw over its bound."""
    known = li2019._known(interior_of_l2_ball(np.random.default_rng(1), 8, 2.0))
    problem, m, runs = known.problem, 7, 400
    parts = li2019._variances(trial("variance"), "x", known, 1, runs, batch=m)
    measured = parts["x, t=1"].measured["ratio"]
    exact, snapshot = np.zeros((runs, known.N)), problem.start()
    for i, seed in enumerate(trial("variance").seeds(runs, "x")):
        for _, k, step in li2019._inner(trial("variance"), known, 1, seed, batch=m):
            u = step.state.at - snapshot
            each = problem.rows * (problem.rows @ u)[:, None]
            spread = np.mean(np.sum((each - each.mean(axis=0)) ** 2, axis=1)) / m
            bound = bounds.variance(known.constants.L_f, known.squared_distance(1), known.N, k)
            exact[i, k - 1] = spread / bound
    # About 2800 draws: the two means agree to a few per cent, 20 % is far outside chance.
    assert measured == pytest.approx(exact.mean(), rel=0.2)


def test_matrix_regression_has_a_certified_minimiser():
    known = li2019._regression(3)
    problem = known.problem
    x, step = problem.start(), 1.0 / known.constants.L_f
    assert known.gap(x) == known.constants.delta > 0.0
    for _ in range(3000):
        x = problem.prox(x, problem.gradient(x), step)
        assert known.gap(x) >= -1e-8
    assert known.gap(x) <= 1e-6
    assert known.constants.sigma_hat > 0.0


@pytest.mark.parametrize("kappa", [5.0, 80.0, 1000.0])
def test_curved_problems_have_the_wanted_condition(kappa):
    known = li2019._curved(np.random.default_rng(0), kappa).constants(np.zeros(256))
    assert known.L_f / known.sigma_hat == pytest.approx(kappa)
    assert known.ell == pytest.approx(known.L_f)


def test_lemma_1_measures_the_curvature_of_the_function():
    data = synthetic_sensing(seed=5, rows=6, columns=6, rank=1, n=24, spike=1.0)
    problem = MatrixRegression(data, data.ball)
    zero = problem.start()

    def needs(V):
        """(alpha |V|_F^2 - f's second-order part) n/(d |V|_*^2), the latter from values."""
        curved = problem.value(V) - problem.value(zero) - np.vdot(problem.gradient(zero), V)
        return (0.25 * np.sum(V**2) - curved) * 4 / np.linalg.norm(V, "nuc") ** 2

    needed = li2019._needed(trial("lemma1"), 6, 4, 5, 0.25, 0.0)
    worst = [worst_direction(data, 0.25, rank=r, starts=2, seed=5).direction for r in (1, 2, 6)]
    assert needed == pytest.approx([needs(V) for V in worst])
    rng = np.random.default_rng(0)
    for _ in range(300):  # no random direction of rank one needs more than the worst found
        assert needs(np.outer(rng.standard_normal(6), rng.standard_normal(6))) <= needed[0]


# --- mutants --------------------------------------------------------------------------------------


def test_a_variant_without_a_fault_is_cgs_itself():
    known = instance(10.0)
    steps = [
        [step.state.x for _, _, step in li2019._inner(trial(algorithm=kind), known, 3)]
        for kind in (CGS, Variant)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(*steps, strict=True))


CHEAPEST = {  # one claim a mutant; tests/claims has all pairs
    "li2019-tolerance-not-halved": "li2019-stat",
    "li2019-stopped-early": "li2019-cor3",
    "li2019-wrong-sign": "li2019-variance",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_caught_with_another_seed(mutant):
    default = "li2019-cor3" if "li2019-cor3" in mutant.expected else mutant.expected[0]
    name = CHEAPEST.get(mutant.name, default)
    assert name in mutant.expected
    assert judge(name, mutant.subject, seed=2).verdict == "violated"


def test_mutant_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 6


# --- findings -------------------------------------------------------------------------------------


def test_lemma_1_as_printed_needs_a_growing_constant():
    found = li2019.lemma1_as_printed(trial("lemma1")).decision
    assert found.verdict == "violated"
    assert found.measured["exponent of c in n/d"] > 0.4
    ratios = (4, 10, 16, 40, 160, 400)
    growing = [found.measured[f"c at n/d={ratio}"] for ratio in ratios]
    # By Gordon's inequality about 2 sqrt(n/d) - 2, from below for these sizes.
    assert all(
        0.7 * (2 * sqrt(r) - 2) < c < 2 * sqrt(r) for c, r in zip(growing, ratios, strict=True)
    )


def test_lemma_1_for_loss_8_is_not_refuted_as_printed():
    found = li2019.lemma1_loss8_as_printed(trial("lemma1")).decision
    assert found.verdict == "tight"


def test_the_statistical_error_as_printed_is_exceeded():
    found = li2019.stat_as_printed(trial("stat")).decision
    assert found.verdict == "violated"
    assert found.measured["s=1: gap: ratio"] <= 1.0 < found.measured["s=1: distance: ratio"]


def test_figure_1s_smoothness_is_not_that_of_every_component():
    found = li2019.figure1_smoothness(trial("variance")).decision
    assert found.verdict == "violated"
    assert found.measured["ratio"] > 5.0
    assert found.measured["L_f"] < found.measured["L_ms"] < found.measured["L_max"]


def test_small_batches_break_the_variance_bound():
    found = li2019.variance_of_small_batches(trial("variance")).decision
    assert found.verdict == "violated"
    assert found.measured["ratio"] > 10.0
