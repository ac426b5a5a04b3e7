"""Section 3 of lacoste2016: if f is convex near x_t, the gap bounds f(x_t) - min f there."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.double_well import DoubleWell
from pfbench.verification.statistics import Decision, combine_instances, decide_inequality

_STEPS = 40
"""Number of compared steps; a method that continues is stopped there."""

# --- instances ------------------------------------------------------------------------------------


def double_well(rng: np.random.Generator, d: int) -> DoubleWell:
    """Return a random double well on a box, with minimum 0 on each of its convex regions."""
    return DoubleWell(
        centre=rng.uniform(-1.0, 1.0, d - 1),
        weights=rng.uniform(0.1, 1.0, d - 1),
        begin=np.where(rng.integers(2, size=d) > 0, 2.0, -2.0),
    )


# Convex, so that M' is the whole set; their least value is 0.
VERTEX = make_instance(quadratics.vertex_of_simplex, d=32, kappa=100.0, pull=1.0)
FACE = make_instance(quadratics.face_of_simplex, d=32, kappa=100.0)
L1_FACE = make_instance(quadratics.face_of_l1_ball, d=32, kappa=100.0)
WELL = make_instance(double_well, d=32)


# --- the check ------------------------------------------------------------------------------------


def check_local_gap_bound(trial: Trial) -> Evidence:
    """Test that the gap bounds f(x_t) minus the minimum of f in a convex region around x_t."""
    parts = {}
    count = trial.choose_by_effort(3, 20)
    for seed in trial.seeds(count, "problems"):
        rng = np.random.default_rng(seed)
        d = trial.choose_by_effort(32, 128)
        convex = {
            "vertex of the simplex": VERTEX(rng, d=d),
            "face of the simplex": FACE(rng, d=d),
            "face of the l1 ball": L1_FACE(rng, d=d),
        }
        for name, problem in convex.items():
            parts[f"{name}, {seed}"] = _decide_gap_bound(trial, problem, lambda x: True)
        well = WELL(rng, d=d)
        parts[f"double well, {seed}"] = _decide_gap_bound(trial, well, well.is_convex_near)
    return Evidence(combine_instances(parts), {"ratio": 1.0}, len(parts))


def _decide_gap_bound(trial: Trial, problem: Any, inside: Callable[[Any], bool]) -> Decision:
    """Decide whether f(x_t) is at most the gap at x_t, for each x_t of a run that is `inside`.

    The minimum of f over this set M' is 0.

    `inside` returns whether x_t is in M'. Rounding errors up to 1e-13 f(x_0) are allowed.
    """
    ratios = []
    first = problem.value(problem.start())
    algorithm = trial.make(step="line-search", iterations=_STEPS)
    for x, step in islice(trial.follow_with_previous_point(problem, algorithm), _STEPS):
        if inside(x):
            g = step.estimate  # as the run sees it: the gap comes free with the LO
            difference = float(g @ x) - problem.minimum(g)[0]
            ratios.append(problem.value(x) / max(difference + 1e-13 * first, 1e-13 * first))
    return decide_inequality(ratios)


# --- the claim ------------------------------------------------------------------------------------

LOCAL = Claim(
    name="lacoste2016-local",
    source="lacoste2016 section 3",
    kind="bound",
    statement="f convex on a convex M' in C that holds x_t: g_t >= f(x_t) - min over M' of f",
    check=check_local_gap_bound,
    instances=(VERTEX, FACE, L1_FACE, WELL),
    algorithm="frank-wolfe",
    assumptions=("f convex on M'",),
    schedule="step = line-search",
    expected_seconds=(0.2, 2.0),
)

CLAIMS = (LOCAL,)
