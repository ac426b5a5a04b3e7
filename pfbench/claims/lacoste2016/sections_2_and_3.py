"""Sections 2 and 3 of lacoste2016: gaps do not depend on the coordinates, and bound f locally."""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.status import Verdict
from pfbench.problems.single_component import Operator, SingleComponent
from pfbench.sets import LinfBall
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.instruments import indefinite, quadratics
from pfbench.verification.statements.path_mean import gap as gap_at

_STEPS = 20
"""Number of compared steps; a method that continues is stopped there."""

PATHS = 1e-5
"""Largest difference of corresponding runs, relative to the first gap and to the diameter.

A line search by function values finds gamma to about 1e-8, and later steps amplify its errors.
"""


# --- instances ------------------------------------------------------------------------------------


def make_affine_problem_pair(
    rng: np.random.Generator, d: int
) -> tuple[indefinite.IndefiniteQuadratic, indefinite.IndefiniteQuadratic, Any, Any]:
    """Return a quadratic f on the simplex, the equivalent problem z -> f(M z + b), M, and b.

    The function f is a random non-convex quadratic on the simplex, and M is random with condition
    number 25. The set of z -> f(M z + b) is the preimage of the simplex. Both problems have the
    same curvature constant C_f, and Frank-Wolfe observes the same numbers on both.
    """
    problem = indefinite.random_on_simplex(rng, d, 1.0)
    M = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(0.2, 5.0, d)
    b = rng.standard_normal(d)
    return problem, indefinite.transform_quadratic(problem, M, b), M, b


PAIR = make_instance(make_affine_problem_pair, d=5)


# --- the check ------------------------------------------------------------------------------------


def check_affine_invariance(trial: Trial) -> Evidence:
    """Test that runs on f and on z -> f(M z + b) have equal gaps, and iterates x_t = M z_t + b.

    Both runs use the same curvature constant C.
    """
    parts: dict[str, statistics.Decision] = {}
    seeds = trial.seeds(trial.choose_by_effort(10, 100), "problems")
    for rule in ("adaptive", "line-search", "open-loop"):
        gaps, points = [], []
        for seed in seeds:
            problem, image, M, b = PAIR(np.random.default_rng(seed))
            C = indefinite.max_curvature_bound(problem)
            algorithm = trial.make(step=rule, curvature=C, iterations=_STEPS)
            first = max(gap_at(problem, problem.start_point), C)
            paths, images = (
                islice(trial.follow_with_previous_point(item, algorithm), _STEPS)
                for item in (problem, image)
            )
            for (x, step), (z, other) in zip(paths, images, strict=False):
                gaps.append(abs(gap_at(problem, x) - gap_at(image, z)) / first)
                if _nearly_tied(problem, x, first):
                    break
                difference = step.state.x - M @ other.state.x - b
                points.append(float(np.linalg.norm(difference)) / problem.set.diameter)
        parts[f"gaps, {rule}"] = _decide_all_zero(gaps)
        parts[f"points, {rule}"] = _decide_all_zero(points)
    claimed = {"difference": 0.0, "tolerance": PATHS}
    return Evidence(statistics.combine_all(parts), claimed, 3 * len(seeds))


def _nearly_tied(problem: indefinite.IndefiniteQuadratic, x: Any, size: float) -> bool:
    """Return whether <grad f(x), v> is nearly minimal at two vertices: a run may choose either."""
    best, second = np.partition(problem.gradient(x), 1)[:2]
    return bool(second - best <= 1e-6 * size)


def _decide_all_zero(differences: list[float]) -> statistics.Decision:
    """Decide whether all differences between two runs are 0, up to the tolerance `PATHS`."""
    decision = statistics.decide_inequality(np.divide(differences, PATHS))
    measured = {"checks": decision.measured["checks"], "difference": max(differences)}
    met = decision.verdict != Verdict.VIOLATED
    return statistics.decide_exact(met, "They differ.", measured)


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


# --- section 3: the gap where f is convex nearby --------------------------------------------------


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
        """Return the exact constants; delta is f(start), as the least value is 0.

        The second derivative 3 x_0^2 - 1 in x_0 is from -1 to 11, and the third, 6 x_0, at most 12.
        """
        L, D = max(11.0, float(self.weights.max())), self.set.diameter
        delta = self.value(start)
        return Constants(
            n=1, D=D, L_f=L, L_ms=L, L_max=L, L2_ms=12.0, sigma2=0.0, delta=delta, M=D / 2, ell=1.0
        )


_LOCAL_STEPS = 40
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
    """Test that f(x_t) minus the minimum of f in a convex region around x_t is at most the gap."""
    parts, d = dict[str, statistics.Decision](), trial.choose_by_effort(32, 128)
    for seed in trial.seeds(trial.choose_by_effort(3, 20), "problems"):
        rng = np.random.default_rng(seed)
        problems = {
            "vertex of the simplex": VERTEX(rng, d=d),
            "face of the simplex": FACE(rng, d=d),
            "face of the l1 ball": L1_FACE(rng, d=d),
            "double well": WELL(rng, d=d),
        }
        for name, problem in problems.items():
            parts[f"{name}, {seed}"] = _decide_local_gap_bound(trial, problem)
    return Evidence(statistics.best_if_all_hold_else_worst(parts), {"ratio": 1.0}, len(parts))


def _decide_local_gap_bound(trial: Trial, problem: Any) -> statistics.Decision:
    """Decide whether f(x_t) is at most the gap at all x_t of a run in a set M' where min f = 0.

    M' is the whole set of a convex problem, and a convex region of a double well. Rounding errors
    up to 1e-13 f(x_0) are allowed.
    """
    ratios = []
    first = problem.value(problem.start())
    algorithm = trial.make(step="line-search", iterations=_LOCAL_STEPS)
    for x, step in islice(trial.follow_with_previous_point(problem, algorithm), _LOCAL_STEPS):
        if not isinstance(problem, DoubleWell) or problem.is_convex_near(x):
            g = step.estimate  # as the run sees it: the gap comes free with the LO
            difference = float(g @ x) - problem.minimum(g)[0]
            ratios.append(problem.value(x) / max(difference + 1e-13 * first, 1e-13 * first))
    return statistics.decide_inequality(ratios)


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
