"""Worst cases against published numbers and formulas, and planted faults."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import refused

from pfbench.algorithms.proximal import ProxGD
from pfbench.estimators.epochs import SVRG
from pfbench.verification.session import judge
from pfbench.verification.worst_case import estimation, methods
from pfbench.verification.worst_case.cases import WORST_CASES, select_cases
from pfbench.verification.worst_case.custom import FunctionClass, compute_worst_case
from pfbench.verification.worst_case.methods import EstimatedPath, mean_squared_table_age
from pfbench.verification.worst_case.recording import RecordingOptions, record_method

BY_NAME = {case.name: case for case in WORST_CASES}

# Programs above these N take more than a second.
QUICK = {"saga": (1, 2), "saga-error": (1, 2)}

# Of programs that were written by hand, or published, for N = 1, 2, 3.
BY_HAND = {
    "frank-wolfe-gap": (1.0, 0.64243, 0.49557),  # measured once by other means
    "gradient-descent": (1.0, 0.4, 0.25),  # Abbaszadehpeivast, de Klerk, Zamani 2022
    "nfwu-inexact": (math.sqrt(2), 0.968750, 0.777866),
    "prox-gd": (1.0, 0.4, 0.25),
    "ncgs": (32.72690, 15.66420, 10.32240),
    "prox-spiderboost": (4 / 3, 2 / 3, 0.449502),
    "svrg-error": (0.5, 2.0, 4.5),
    "spider-error": (1.0, 2.0, 3.0),
    "saga-error": (1.0, 2.25, 3.125),
}


@pytest.fixture(scope="module")
def solver():
    """The extra `certify`, or the reason why a test is skipped."""
    for package in ("PEPit", "cvxpy", "clarabel"):
        pytest.importorskip(package, reason=f"{package} is missing: {estimation.EXTRA}")


# --- what is computed -----------------------------------------------------------------------------


@pytest.mark.thin(3)
@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("case", WORST_CASES, ids=lambda case: case.name)
def test_bounds_hold_and_come_near(case):
    for N in QUICK.get(case.name, (1, 2, 3)):
        decision = case.check.decide(N)
        worst, bound = decision.measured["worst case"], case.check.bound(N)
        assert case.check.min_bound_share * bound <= worst <= bound * 1.0001
        assert worst == pytest.approx(BY_HAND.get(case.name, {N - 1: worst})[N - 1], rel=1e-4)
        assert decision.verdict == ("attained" if worst >= 0.99 * bound else "within-10")


@pytest.mark.usefixtures("solver")
def test_frank_wolfe_with_a_longer_step_as_published():
    assert methods.frank_wolfe_gap(2, 2.0) == pytest.approx(0.967, abs=5e-4)


@pytest.mark.usefixtures("solver")
def test_a_worst_case_is_a_verdict_like_others():
    case = BY_NAME["prox-gd"]
    verdict = judge(replace(case, check=replace(case.check, quick_steps=2)))
    assert (verdict.verdict, verdict.claim.kind, verdict.lost) == ("within-10", "computed", False)
    assert verdict.measured["N=2: ratio"] == pytest.approx(
        verdict.measured["N=2: worst case"] / verdict.claimed["N=2: worst case"]
    )
    assert verdict.repetitions == 2


@pytest.mark.usefixtures("solver")
def test_printed_bound_of_saga_fails_with_one_component():
    # SAGA is then gradient descent with step 1/(3L).
    N = 8
    bound = 3.0 * methods.DELTA / N
    assert methods.saga(N, n=1) > 1.01 * bound


@pytest.mark.usefixtures("solver")
def test_an_estimator_with_a_fault_has_another_worst_case():
    """Its own code is run: with one component in place of two the error is twice as large."""
    path = EstimatedPath(SVRG(1, 2), (1.0,))
    assert methods._error(path, 3, 1.0) == pytest.approx(1.0, rel=1e-5)


# --- planted faults -------------------------------------------------------------------------------


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("case", WORST_CASES, ids=lambda case: case.name)
def test_too_small_a_constant_is_caught(case):
    right = case.check
    wrong = replace(right, bound=lambda N: 0.99 * right.min_bound_share * right.bound(N))
    for N in (1, 2):
        decision = wrong.decide(N)
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
    assert {wrong.decide(N).verdict for N in (1, 2)} == {"violated"}


@pytest.mark.usefixtures("solver")
def test_unbounded_problem_has_no_worst_case():
    free = FunctionClass(delta=math.inf)
    assert math.isnan(compute_worst_case(ProxGD(iterations=1, step=1.0), free).value)


# --- verdicts, without the solver ----------------------------------------------------------------


def pretended(worst):
    """A case whose bound is 1, with a given worst case."""
    return replace(
        BY_NAME["prox-gd"].check, bound=lambda N: 1.0, compute=lambda N: worst, min_bound_share=0.5
    )


@pytest.mark.parametrize(
    ("worst", "verdict"),
    [
        (math.nan, "inconclusive"),
        (1.001, "violated"),
        (1.00001, "attained"),
        (0.5, "within-10"),
        (0.49, "holds"),
    ],
)
def test_verdicts(worst, verdict):
    assert pretended(worst).decide(1).verdict == verdict


def test_quick_and_full_go_as_far_as_a_case_says():
    for quick, effort, last in ((4, "quick", 4), (4, "full", 8), (3, "quick", 3), (3, "full", 8)):
        check = replace(pretended(0.75), quick_steps=quick, max_steps=8)
        verdict = judge(replace(BY_NAME["prox-gd"], check=check), effort=effort)
        assert verdict.verdict == "within-10"
        assert list(verdict.claimed) == [f"N={N}: worst case" for N in range(1, last + 1)]


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(
        estimation, "find_spec", lambda name: None if name == "clarabel" else SimpleNamespace()
    )
    with refused("clarabel", 'pip install "pfbench[certify]"'):
        compute_worst_case(ProxGD(iterations=1, step=1.0))


def test_an_unknown_case_is_refused_and_each_has_its_name():
    with refused("frank-wolfe-gap"):
        select_cases(["frank-wolf-gap"])
    assert select_cases(["ncgs", "ncgs"]) == [BY_NAME["ncgs"]]
    assert select_cases() == list(WORST_CASES)
    assert len(BY_NAME) == len(WORST_CASES)


# --- what is recorded ---------------------------------------------------------------------------


def test_age_of_saga_by_enumeration():
    n, S = 3, 2
    for N in (1, 2, 3):
        squares = []
        for drawn in product(product(range(n), repeat=S), repeat=N - 1):
            last = [max([t for t, J in enumerate(drawn, 1) if i in J], default=0) for i in range(n)]
            squares += [(N - t) ** 2 for t in last]
        assert mean_squared_table_age(N, n, S) == pytest.approx(np.mean(squares))


def test_steps_that_follow_the_draws_differ_from_draw_to_draw():
    """Two components and two steps: the second step is one unknown, or one for each draw."""

    def free(follows):
        path = EstimatedPath(SVRG(1, 9), (1.0, 1.0), follows_draws=follows)
        recording = record_method(path, 2, None, RecordingOptions())
        assert sum(chance for chance, _ in recording.runs) == pytest.approx(1.0)
        return sum(answer.kind == "free" for answer in recording.answers)

    assert (free(False), free(True)) == (2, 3)


def test_draws_that_change_nothing_need_not_be_followed():
    options = RecordingOptions(measure=methods._error_vector_of_last_estimate)

    def law(estimator, N):
        recording = record_method(EstimatedPath(estimator, (1.0,) * N), 2, None, options)
        totals = {}
        for (chance, _), (error,) in zip(recording.runs, recording.measured, strict=True):
            key = tuple(np.round(error, 9) + 0.0)
            totals[key] = totals.get(key, 0.0) + chance
        # The unknowns have other numbers: so many errors, with the same chances.
        return sorted(totals.values())

    for N in (1, 2):
        some, every = law(methods.SAGAOfRelevantDraws(1, N), N), law(methods.SAGA(1), N)
        assert some == pytest.approx(every)
