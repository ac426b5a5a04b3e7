"""Section 2 of lacoste2016: Frank-Wolfe and its gaps do not depend on the coordinates."""

from itertools import islice
from typing import Any

import numpy as np

from pfbench.base.status import Verdict
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    curvature_bound,
    random_on_simplex,
    transform_quadratic,
)
from pfbench.verification.statements.path_mean import gap as gap_at
from pfbench.verification.statistics import Decision, combine_all, decide_exact, decide_inequality

_STEPS = 20
"""Number of compared steps; a method that continues is stopped there."""

PATHS = 1e-5
"""Largest difference of corresponding runs, relative to the first gap and to the diameter.

A line search by function values finds gamma to about 1e-8, and later steps amplify its errors.
"""


# --- instances ------------------------------------------------------------------------------------


def make_affine_problem_pair(
    rng: np.random.Generator, d: int
) -> tuple[IndefiniteQuadratic, IndefiniteQuadratic, Any, Any]:
    """Return a quadratic f on the simplex, the same problem as z -> f(M z + b), the matrix M and b.

    The function f is a random non-convex quadratic on the simplex, and M is random with condition
    number 25. The set of z -> f(M z + b) is the preimage of the simplex. Both problems have the
    same curvature constant C_f, and Frank-Wolfe observes the same numbers on both.
    """
    problem = random_on_simplex(rng, d, 1.0)
    M = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(0.2, 5.0, d)
    b = rng.standard_normal(d)
    return problem, transform_quadratic(problem, M, b), M, b


PAIR = make_instance(make_affine_problem_pair, d=5)


# --- the check ------------------------------------------------------------------------------------


def check_affine_invariance(trial: Trial) -> Evidence:
    """Test that runs on f and on z -> f(M z + b) have equal gaps, and iterates x_t = M z_t + b.

    Both runs use the same curvature constant C.
    """
    parts: dict[str, Decision] = {}
    count = trial.choose_by_effort(10, 100)
    seeds = trial.seeds(count, "problems")
    for rule in ("adaptive", "line-search", "open-loop"):
        gaps, points = [], []
        for seed in seeds:
            problem, image, M, b = PAIR(np.random.default_rng(seed))
            C = curvature_bound(problem)
            algorithm = trial.make(step=rule, curvature=C, iterations=_STEPS)
            first = max(gap_at(problem, problem.start_point), C)
            runs = [
                islice(trial.follow_with_previous_point(item, algorithm), _STEPS)
                for item in (problem, image)
            ]
            for (x, other_item), (z, other) in zip(*runs, strict=False):
                gaps.append(abs(gap_at(problem, x) - gap_at(image, z)) / first)
                if _nearly_tied(problem, x, first):
                    break
                points.append(
                    float(np.linalg.norm(other_item.state.x - M @ other.state.x - b))
                    / problem.set.diameter
                )
        parts[f"gaps, {rule}"] = _decide_all_zero(gaps)
        parts[f"points, {rule}"] = _decide_all_zero(points)
    return Evidence(combine_all(parts), {"difference": 0.0, "tolerance": PATHS}, 3 * count)


def _nearly_tied(problem: IndefiniteQuadratic, x: Any, size: float) -> bool:
    """Return whether two vertices minimise <g, v> at x up to rounding: a run may choose either."""
    best, second = np.partition(problem.gradient(x), 1)[:2]
    return bool(second - best <= 1e-6 * size)


def _decide_all_zero(differences: list[float]) -> Decision:
    """Decide whether all differences between two runs are 0, up to the tolerance `PATHS`."""
    decision = decide_inequality(np.divide(differences, PATHS))
    measured = {"checks": decision.measured["checks"], "difference": max(differences)}
    met = decision.verdict != Verdict.VIOLATED
    return decide_exact(met, "They coincide.", "They differ.", measured)


# --- the claim ------------------------------------------------------------------------------------

AFFINE = Claim(
    name="lacoste2016-affine",
    source="lacoste2016 section 2",
    kind="identity",
    statement="under x = M z + b gaps are equal and x_t = M z_t + b (same C, same ties)",
    check=check_affine_invariance,
    instances=(PAIR,),
    algorithm="frank-wolfe",
    schedule="step = adaptive, line-search and open-loop, curvature given",
    expected_seconds=(0.4, 4.0),
)

CLAIMS = (AFFINE,)
