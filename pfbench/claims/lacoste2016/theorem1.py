"""Theorem 1 of lacoste2016, and (9), what a step takes off f at least."""

import math
from collections.abc import Iterator
from functools import partial
from itertools import islice

import numpy as np

from pfbench.base.protocols import Asked, Gradient, Point
from pfbench.claims.lacoste2016.faulty import Faulty
from pfbench.claims.lacoste2016.steps import curvature_of, gap_at
from pfbench.points import combine, keep
from pfbench.verification import Claim, Evidence, Mutant, Trial, instance
from pfbench.verification.instruments.changed import Changed
from pfbench.verification.instruments.indefinite import Indefinite, random_on_simplex
from pfbench.verification.statistics import all_of, decide_inequality

_STEPS = 30
"""Steps that are looked at, of a method that goes on too."""

# --- the bounds -----------------------------------------------------------------------------------


def decrease(gap: float, C: float) -> float:
    """Return min{g^2/(2C), g - (C/2) [g > C]}, what a step takes off f at least (9)."""
    return min(gap * gap / (2.0 * C), gap - (C / 2.0 if gap > C else 0.0))


def least_gap(h0: float, C: float, t: int) -> float:
    """Return max{2 h0, C}/sqrt(t+1), the bound of the least gap up to t (theorem 1, (6))."""
    return max(2.0 * h0, C) / math.sqrt(t + 1.0)


def sharp_least_gap(h0: float, C: float, t: int) -> float:
    """Return the sharper bound (15): h0/(t+1) + C/2 while t+1 <= 2 h0/C, else as (6)."""
    if t + 1.0 <= 2.0 * h0 / C:
        return h0 / (t + 1.0) + C / 2.0
    return math.sqrt(2.0 * h0 * C / (t + 1.0))


# --- instances ------------------------------------------------------------------------------------


def quadratic(rng: np.random.Generator, d: int, slope: float) -> Indefinite:
    """Return a random non-convex quadratic on the simplex of d vertices, from the highest.

    On two vertices (9) and (15) are reached exactly; the slope, the size of the linear part, takes
    h0 from far below C to far above.
    """
    return random_on_simplex(rng, d, slope)


QUADRATIC = instance(quadratic, d=2, slope=1.0)

SIZES = (2, 3, 4, 6)
SLOPES = (0.3, 1.0, 3.0)


# --- the checks -----------------------------------------------------------------------------------


def _problems(trial: Trial, most: int) -> Iterator[tuple[Indefinite, float]]:
    """Yield random quadratics on the simplex, each with a C >= C_f."""
    for d in SIZES:
        for size in SLOPES:
            for seed in trial.seeds(most, f"{d} {size}"):
                problem = QUADRATIC(np.random.default_rng(seed), d=d, slope=size)
                yield problem, curvature_of(problem)


def descent(trial: Trial) -> Evidence:
    """Test (9) at every step, up to rounding: 1e-14 of the size of f."""
    parts = {}
    instances = list(_problems(trial, trial.pick(4, 20)))
    for rule in ("adaptive", "line-search"):
        ratios = []
        for problem, C in instances:
            size = 1e-14 * (1.0 + abs(problem.least) + problem.value(problem.begin))
            algorithm = trial.make(step=rule, curvature=C, iterations=_STEPS)
            for x, step in islice(trial.moves(problem, algorithm), _STEPS):
                promised = decrease(gap_at(problem, x), C)
                gained = problem.decrease(x, step.state.x)
                ratios.append(promised / (gained + size) if gained + size > 0.0 else math.inf)
        parts[rule] = decide_inequality(ratios)
    return Evidence(all_of(parts), {"ratio": 1.0}, 2 * len(instances))


def least_gaps(trial: Trial) -> Evidence:
    """Test (6) and (15) for the least gap up to every t."""
    instances = list(_problems(trial, trial.pick(4, 20)))
    parts = {}
    for rule in ("adaptive", "line-search"):
        plain, sharp = [], []
        for problem, C in instances:
            h0, least = problem.value(problem.begin) - problem.least, math.inf
            algorithm = trial.make(step=rule, curvature=C, iterations=_STEPS)
            for t, (x, _) in enumerate(islice(trial.moves(problem, algorithm), _STEPS)):
                least = min(least, gap_at(problem, x))
                plain.append(least / least_gap(h0, C, t))
                sharp.append(least / sharp_least_gap(h0, C, t))
        parts[f"(6), {rule}"] = decide_inequality(plain)
        parts[f"(15), {rule}"] = decide_inequality(sharp)
    return Evidence(all_of(parts), {"ratio": 1.0}, 2 * len(instances))


# --- the claims -----------------------------------------------------------------------------------

_bound = partial(
    Claim,
    kind="bound",
    instances=(QUADRATIC,),
    algorithm="frank-wolfe",
    assumptions=("C_f finite",),
    schedule="step = adaptive (option II) and line-search (option I)",
    takes=(0.7, 8.0),
)

DESCENT = _bound(
    name="lacoste2016-descent",
    source="lacoste2016 (9)",
    statement="every step: f(x+) <= f(x) - min{g^2/(2C), g - (C/2) [g > C]}",
    check=descent,
)

THEOREM1 = _bound(
    name="lacoste2016-thm1",
    source="lacoste2016 theorem 1, (6) and (15)",
    statement=(
        "min over k <= t of g_k <= max{2 h0, C}/sqrt(t+1), and <= h0/(t+1) + C/2 while "
        "t+1 <= 2 h0/C, else sqrt(2 h0 C/(t+1))"
    ),
    check=least_gaps,
)

CLAIMS = (DESCENT, THEOREM1)


# --- planted faults -------------------------------------------------------------------------------


class StaleGradient(Faulty):
    """Minimises the gradient of the iteration before."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the last but one."""
        return history[-2] if len(history) > 1 else history[-1]


class WrongSign(Faulty):
    """Minimises minus the gradient."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return minus the last."""
        return -history[-1]


class MeanGradient(Faulty):
    """Minimises the mean of all gradients so far."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the mean."""
        return np.asarray(np.mean(history, axis=0))


class DoubleStep(Faulty):
    """Takes the step 2g/C: the half of the quadratic bound is forgotten."""

    def _short_step(self, gap: float) -> float:
        return min(2.0 * max(gap, 0.0) / (self.curvature or 1.0), 1.0)


class Unclipped(Faulty):
    """Takes the step g/C without the minimum with 1."""

    def _short_step(self, gap: float) -> float:
        return gap / (self.curvature or 1.0)


class AlwaysOpenLoop(Faulty):
    """Takes 2/(t+2) whatever step rule is asked for."""

    def weight(self, ask: Asked, t: int, x: Point, v: Point, gap: float) -> float:
        """Return 2/(t+2)."""
        return 2.0 / (t + 2.0)


class HalfSearch(Faulty):
    """Searches [0, 1/2] instead of [0, 1]."""

    def _line_search(self, ask: Asked, x: Point, v: Point, gap: float) -> float:
        return 0.5 * super()._line_search(ask, x, combine(keep(x), v, 0.5), gap / 2.0)


class LooseMinimisation(Changed):
    """A problem whose LO minimises a gradient that is rounded to one digit."""

    def lo(self, g: Gradient) -> Point:
        """Return the vertex for g, rounded to multiples of a third of its largest entry."""
        size = float(np.abs(g).max()) / 3.0
        found: Point = self._right.lo(np.round(g / size) if size > 0.0 else g)
        return found


MUTANTS = (
    Mutant.of("frank-wolfe-stale-gradient", StaleGradient, DESCENT),
    Mutant.of("frank-wolfe-wrong-sign", WrongSign, DESCENT, THEOREM1),
    Mutant.of("frank-wolfe-mean-gradient", MeanGradient, DESCENT),
    Mutant.of("frank-wolfe-double-step", DoubleStep, DESCENT),
    Mutant.of("frank-wolfe-unclipped", Unclipped, DESCENT, THEOREM1),
    Mutant.of("frank-wolfe-always-open-loop", AlwaysOpenLoop, DESCENT),
    Mutant.of("frank-wolfe-half-search", HalfSearch, DESCENT),
    Mutant.answering("frank-wolfe-loose-minimisation", LooseMinimisation, DESCENT),
)
