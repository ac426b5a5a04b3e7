"""Averaging minimisers in place of gradients: Almond stops where uSCG goes on.

Noise of 3 tau with chance 1/4 and of -tau with 3/4 has mean 0 and median -tau. Averaged signs
settle where the *median* of the gradient is 0: at |grad f| = tau = sigma/sqrt(3), for every alpha,
however small the step (ours). The source's own bound has 2 zeta sigma, which no step makes less.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pfbench.algorithms.norms import USCG, Almond
from pfbench.base.protocols import Asked, Gradient
from pfbench.base.sample import Indices
from pfbench.base.state import Point, State
from pfbench.verification import Claim, Evidence, Mutant, Trial, instance
from pfbench.verification.instruments.changed import Changed
from pfbench.verification.instruments.normed import Until, on_vectors
from pfbench.verification.stating.mean_along import dual_norm, known
from pfbench.verification.statistics import all_of, decide_exact
from pfbench.verification.units import GRADIENT, formula

TAU = 1.0

FLOOR, BELOW = 0.9, 0.4
"""Almond's |grad f| is at least so many tau, uSCG's at most so many."""

_SEEDS = 3


def floor_of(sigma: float) -> float:
    """Return tau = sigma/sqrt(3), where averaged signs settle."""
    return sigma / math.sqrt(3.0)


def skewed(K: int) -> Until:
    """Return x^2/2 from 3 tau with noise whose median is not its mean."""
    noise = ((3.0 * TAU,), *((-TAU,),) * 3)
    return Until.of(on_vectors("linf", weights=(1.0,), begin=(3.0 * TAU,), noise=noise), K)


def settles(trial: Trial) -> Evidence:
    """Compare where both settle: the mean of |grad f(x_k)| over the second half of a run.

    Over runs it varies by some hundredths of tau, and the gap between the limits is half of tau.
    """
    parts, numbers = {}, {}
    (one,) = trial.claim.instances
    problem = one()
    tau = floor_of(known(problem)["sigma"])
    common: Any = {"iterations": problem.K, "batch": 1, "step": 20.0 / problem.K}
    methods: dict[str, list[Any]] = {
        "almond": [trial.make(**common, alpha=alpha) for alpha in (0.1, 0.5)],
        "uscg": [USCG(**common, alpha=0.1)],
    }
    for name, every in methods.items():
        found = [
            _late(trial, problem, made, seed)
            for made in every
            for seed in trial.seeds(_SEEDS, name)
        ]
        right = min(found) >= FLOOR * tau if name == "almond" else max(found) <= BELOW * tau
        numbers = {"least": min(found) / tau, "most": max(found) / tau}
        said = f"It settles from {numbers['least']:.3g} to {numbers['most']:.3g} tau."
        parts[name] = decide_exact(right, said, said, numbers)
    return Evidence(all_of(parts), {"least": FLOOR, "most": BELOW}, 3 * _SEEDS)


def _late(trial: Trial, problem: Until, made: Any, seed: int) -> float:
    points = [np.array(x) for x, _ in trial.moves(problem, made, seed)]
    return float(np.mean([dual_norm(problem, x) for x in points[len(points) // 2 :]]))


ALMOND_FLOOR = Claim(
    name="pethick2025-almond-floor",
    source="on Almond of pethick2025; pfbench",
    kind="separation",
    statement=(
        "x^2/2 with skewed noise: Almond settles at |grad f| = tau = 0.577 sigma for every alpha "
        "and small step, and uSCG with the same step and alpha = 0.1 below 0.4 tau (ours)"
    ),
    check=settles,
    instances=(instance(skewed, K=2_000),),
    algorithm="almond",
    assumptions=("noise whose median is not its mean",),
    schedule="gamma = 0.01, alpha = 0.1 and 0.5",
    takes=(1.5, 1.5),
    formulas=(formula(floor_of, GRADIENT, sigma=GRADIENT),),
)

CLAIMS = (ALMOND_FLOOR,)


# --- planted faults -------------------------------------------------------------------------------


class AveragesGradients(Almond):
    """Averages gradients, and takes the minimiser of the average."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `USCG.run`."""
        given: Any = {"iterations": self.iterations, "step": self.step, "batch": self.batch}
        yield from USCG(**given, alpha=self.alpha).run(ask, x, rng)


class Symmetric(Changed):
    """Noise of plus and minus tau, in equal parts, whose median is its mean."""

    def batch(self, sample: Indices, x: Point) -> Gradient:
        """Return the gradient with a sign of tau more, by the parity of the sample."""
        signs = np.where(np.asarray(sample) % 2, 1.0, -1.0)
        return np.asarray(self._right.gradient(x) + TAU * signs.mean())


MUTANTS = (
    Mutant.of("almond-averages-gradients", AveragesGradients, ALMOND_FLOOR),
    Mutant.answering("almond-symmetric-noise", Symmetric, ALMOND_FLOOR),
)
