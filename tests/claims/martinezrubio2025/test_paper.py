"""The primal-dual gap of Frank-Wolfe: its sum, its lower bound, and the ratios of each fault."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.catalogue import MUTANTS
from pfbench.claims.martinezrubio2025 import primal_dual_gap as paper
from pfbench.verification.instruments.indefinite import spread_on_simplex
from pfbench.verification.trial import Trial

pytestmark = pytest.mark.claims


def test_the_smaller_bound_is_the_sum_of_the_recursion():
    L, D = 3.0, 2.0
    t = np.arange(30)
    a, A = 2 * t + 2, (t + 1) * (t + 2)
    total = np.cumsum(L * a**2 / (2 * A) * D**2) / A
    assert [paper.gap_bound_sharper(L, D, t) for t in range(30)] == pytest.approx(total)
    assert paper.gap_bound_printed(L, D, 0) == L * D**2


def test_the_gap_is_that_of_the_definition_and_above_the_suboptimality():
    problem, test = spread_on_simplex(d=30), trial(paper.GAP)
    gaps = [gap for _, gap, _ in paper.follow_open_loop_gaps(test, problem)]
    x, total = problem.start(), 0.0
    for t, gap in enumerate(gaps):
        g = problem.gradient(x)
        v = problem.set.lo(g)
        total += (2 * t + 2) * (problem.value(x) + g @ (v - x))
        x = x + 2 / (t + 2) * (v - x)
        lower = total / ((t + 1) * (t + 2))
        assert gap == pytest.approx(problem.value(x) - lower, abs=1e-12)
        assert lower <= problem.minimum_value + 1e-12


@pytest.mark.parametrize(
    ("fault", "printed", "smaller", "recursion"),
    [
        (None, 0.583, 1.0, 1.0),
        ("previous-gradient", 0.997, 1.286, None),
        ("open-loop-squared", 12.6, 12.8, None),
        ("open-loop-constant", 2.64, 2.68, None),
        ("open-loop-root", 3.08, 3.12, None),
        ("open-loop-late", None, None, 1.286),
    ],
)
def test_ratios_by_fault_on_the_simplex(fault, printed, smaller, recursion):
    subject = MUTANTS[f"frank-wolfe-{fault}"].subject if fault else None
    test = Trial(paper.GAP, subject) if fault else trial(paper.GAP)
    problem = spread_on_simplex(d=500)
    D = problem.set.diameter
    rows = list(paper.follow_open_loop_gaps(test, problem))
    measured = (
        max(gap / paper.gap_bound_printed(1.0, D, t) for t, gap, _ in rows),
        max(gap / paper.gap_bound_sharper(1.0, D, t) for t, gap, _ in rows),
        max(ratio for _, _, ratio in rows),
    )
    for value, expected in zip(measured, (printed, smaller, recursion), strict=True):
        assert expected is None or value == pytest.approx(expected, rel=5e-3)
    if fault is None:
        late = [gap / paper.gap_bound_sharper(1.0, D, t) for t, gap, _ in rows if t >= 10]
        assert max(late) == pytest.approx(0.673, abs=1e-3)
    if fault == "open-loop-late":
        assert max(measured[:2]) < 1.0


@pytest.mark.parametrize(
    ("claim", "follow", "bounds", "path", "ratios"),
    [
        (paper.HEAVY_BALL, paper.follow_heavy_ball_gaps, paper.OPEN_LOOP, 1.0, (0.5833, 1.0)),
        (paper.GAP_SHORT, paper.follow_short_step_gaps, paper.SHORT, 1.0, (0.2812, 1.0)),
        (
            paper.GAP_OPTIMISTIC,
            paper.follow_optimistic_suboptimality,
            paper.OPTIMISTIC,
            0.2495,
            (0.1247,),
        ),
    ],
)
def test_ratios_of_the_other_methods_on_the_simplex(claim, follow, bounds, path, ratios):
    problem = spread_on_simplex(d=500)
    rows, D = list(follow(trial(claim), problem)), problem.set.diameter
    measured = [max(gap / bound(1.0, D, t) for t, gap, _ in rows) for bound in bounds.values()]
    assert measured == pytest.approx(ratios, abs=1e-4)
    assert max(ratio for _, _, ratio in rows) == pytest.approx(path, abs=1e-4)


@pytest.mark.parametrize("claim", [paper.HEAVY_BALL, paper.GAP_SHORT, paper.GAP_OPTIMISTIC])
def test_gaps_of_the_other_methods_are_at_least_the_suboptimality(claim):
    problem = spread_on_simplex(d=30)
    test = trial(claim)
    steps = trial(claim).follow(
        problem, test.make(iterations=400, smoothness=1.0, step="primal-dual")
    )
    gaps = claim.check.keywords["follow"](test, problem)
    for step, (_, gap, _) in zip(steps, gaps, strict=True):
        assert gap >= problem.value(step.state.x) - problem.minimum_value - 1e-12
