"""Signs against gradient descent with any fixed step, on one stretched coordinate (ours).

f = (d x_1^2 + x_2^2 + ... + x_d^2)/2 from (1, ..., 1), to a mean of |grad f|_1 of at most (d-1)/2.
With L = 2d - 1 in l-infinity, uSCG with exact gradients and gamma = sqrt(2 Delta/(L K)) has it
after K = ceil(4 L^2/(d-1)^2) steps, 17 for d >= 18. Gradient descent with a step of 2/d or
more never shrinks x_1, so that it has no point of that norm; with a smaller one its other
coordinates are above 1/2 for ln 2/(-ln(1 - 2/d)), about 0.35 d, steps. On a diagonal matrix that is
Muon against gradient descent.
"""

import math
from typing import Any

import numpy as np

from pfbench.algorithms.norms import USCG
from pfbench.base.state import Point
from pfbench.verification import Claim, Evidence, Floats, Mutant, Trial, instance
from pfbench.verification.instruments.normed import Until, on_vectors
from pfbench.verification.stating.mean_along import dual_norm, known
from pfbench.verification.statistics import all_of, decide_exact
from pfbench.verification.units import NUMBER, formula

STEPS = np.linspace(0.02, 1.5, 38)
"""Steps of gradient descent, in units of 2/d."""


def stretched(d: int) -> Until:
    """Return one coordinate d times as steep as the other d - 1; K is what uSCG needs."""
    made = on_vectors("linf", weights=(float(d), *[1.0] * (d - 1)), begin=[1.0] * d)
    return Until.of(made, signs_need(d))


def signs_need(d: int) -> int:
    """Return ceil(4 L^2/(d-1)^2), L = 2d - 1."""
    return math.ceil(4.0 * (2.0 * d - 1.0) ** 2 / (d - 1.0) ** 2 - 1e-12)


def descent_needs(d: int) -> float:
    """Return ln 2/(-ln(1 - 2/d)), below which gradient descent has no step that suffices."""
    return math.log(2.0) / -math.log1p(-2.0 / d)


def separates(trial: Trial) -> Evidence:
    """Run uSCG for its K steps, and gradient descent for as many as suffice with no step."""
    parts = {}
    runs = 0
    for one in trial.claim.instances:
        problem = one()
        c = known(problem)
        d, target = problem.shape[0], (problem.shape[0] - 1) / 2.0
        step = math.sqrt(2.0 * c["delta"] / (c["L"] * problem.K)) / c["rho"]
        made = trial.make(iterations=problem.K, batch=1, step=step, alpha=1.0)
        found = float(np.mean(norms_along(trial, problem, made)))
        said = f"After {problem.K} steps the mean is {found / target:.3g} of the target."
        ratio = {"ratio": found / target}
        parts[f"uscg, d = {d}"] = decide_exact(found <= target, said, said, ratio)
        most = math.ceil(descent_needs(d)) - 1
        least = math.inf
        for size in STEPS:
            other: Any = trial.other("prox-gd")
            slow = other(iterations=most, step=size * 2.0 / d)
            least = min(least, float(norms_along(trial, problem, slow).min()) / target)
            runs += 1
        said = f"In {most} steps of gradient descent the least norm is {least:.3g} of the target."
        parts[f"descent, d = {d}"] = decide_exact(
            least > 1.0, said, said, {"least over target": least}
        )
    return Evidence(all_of(parts), {"ratio": 1.0}, runs + len(parts) // 2)


def norms_along(trial: Trial, problem: Until, made: Any) -> Floats:
    """Return |grad f(x_k)|_1 for k = 1, ..., K."""
    return np.array([dual_norm(problem, x) for x, _ in trial.moves(problem, made)])


SEPARATION = Claim(
    name="kim2026-sign-gd-separation",
    source="on theorem 3 of kim2026; pfbench",
    kind="separation",
    statement=(
        "f = (d x_1^2 + x_2^2 + ... + x_d^2)/2 from (1, ..., 1), to a mean of |grad f|_1 of "
        "(d-1)/2: ceil(4(2d-1)^2/(d-1)^2) steps of signs, and at least "
        "ln 2/(-ln(1-2/d)), about 0.35 d, until gradient descent with any fixed step "
        "has a point of that norm (ours)"
    ),
    check=separates,
    instances=(instance(stretched, d=101), instance(stretched, d=301)),
    algorithm="uscg",
    assumptions=("exact gradients",),
    schedule="alpha = 1, gamma = sqrt(2 Delta/(L K))",
    takes=(0.6, 0.6),
    formulas=(formula(descent_needs, NUMBER, {"d": 101}),),
)

CLAIMS = (SEPARATION,)


class AlongTheGradient(USCG):
    """Steps of the same length along the gradient, not by its signs."""

    def moved(self, x: Point, v: Point) -> Point:
        """Return x + gamma v/sqrt(d), in the direction of x less its signs."""
        g = np.array(x)
        g[0] *= len(g)
        return x - self.step * g / max(float(np.linalg.norm(g)), 1e-300)


class TenthStep(USCG):
    """Steps by gamma/10."""

    def moved(self, x: Point, v: Point) -> Point:
        """Return x + (gamma/10) v."""
        return super().moved(x, 0.1 * v)


MUTANTS = (
    Mutant.of("uscg-along-the-gradient", AlongTheGradient, SEPARATION),
    Mutant.of("uscg-tenth-step", TenthStep, SEPARATION),
)
