"""Section 3 of lacoste2016: if f is convex near x_t, the gap bounds f(x_t) - min f there."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.problems.single_component import Operator, SingleComponent
from pfbench.sets import LinfBall
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.statistics import Decision, combine_instances, decide_inequality


@dataclass(frozen=True, eq=False)
class DoubleWell(SingleComponent):
    """f(x) = (x_0^2 - 1)^2/4 + sum over j >= 1 of w_j (x_j - c_j)^2/2 on the box [-2, 2]^d.

    f is convex on each of the two parts where |x_0| >= 1/sqrt(3). On each part the minimum of f is
    0, at x_0 = 1 or x_0 = -1, and x_j = c_j.

    Parameters
    ----------
    centre
        c, shape (d - 1,), entries in [-2, 2].
    weights
        w, shape (d - 1,), positive.
    begin
        The start point, shape (d,), in the box.
    """

    name: ClassVar[str] = "double-well"
    source: ClassVar[str] = "an instrument of the verification"

    centre: Floats
    weights: Floats
    begin: Floats

    @cached_property
    def set(self) -> LinfBall:
        """Feasible set: the box [-2, 2]^d."""
        return LinfBall(self.begin.size, 2.0)

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self.begin.copy()

    def is_convex_near(self, x: Floats) -> bool:
        """Return whether x is in one of the two parts of the box on which f is convex."""
        return bool(3.0 * x[0] ** 2 >= 1.0)

    def value(self, x: Floats) -> float:
        """Return the objective value f(x)."""
        u = x[1:] - self.centre
        return float((x[0] ** 2 - 1.0) ** 2 / 4.0 + 0.5 * (self.weights @ (u * u)))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        return np.append(x[0] * (x[0] ** 2 - 1.0), self.weights * (x[1:] - self.centre))

    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian at s, which is diagonal, as an operator."""
        diagonal = np.append(3.0 * s[0] ** 2 - 1.0, self.weights)
        return lambda v: diagonal * v

    def constants(self, start: Floats) -> Constants:
        """Return the exact constants; the second derivative 3 x_0^2 - 1 in x_0 is from -1 to 11."""
        L = max(11.0, float(self.weights.max()))
        return Constants.from_derivations(
            n=(1, "f is one function"),
            D=(self.set.diameter, "the box's"),
            L_f=(L, "the largest of 11, which is 3 x_0^2 - 1 at the end of the box, and weights"),
            L_ms=(L, "L_f, as n = 1"),
            L_max=(L, "L_f, as n = 1"),
            L2_ms=(12.0, "the third derivative is 6 x_0, 12 at the end of the box"),
            sigma2=(0.0, "0, as n = 1"),
            delta=(self.value(start), "f(start), as the least value is 0"),
            M=(self.set.diameter / 2.0, "half the diameter of the box"),
            ell=(1.0, "the second derivative is -1 at x_0 = 0"),
        )


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
    """Decide whether f(x_t) is at most the gap at all x_t of a run in a set where min f = 0.

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
