"""Natasha1.5 (Allen-Zhu, Natasha 2, NeurIPS 2018).

Notation of the source: B the batch of the reference gradient, p sub-epochs in an epoch, m = B/p
steps in a sub-epoch, sigma the lower curvature (hess f >= -sigma I), alpha the step.

    for each epoch:  x~ = x^,  mu = mean over a uniform subset of size B of grad f_i(x~)
        p times:  x_0 = x^
            for t = 0 .. m-1:
                g = grad f_i(x_t) - grad f_i(x~) + mu + 2 sigma (x_t - x^)
                x_{t+1} = prox_{alpha h}(x_t - alpha g)
            x^ = average of x_0 .. x_{m-1}
    output x^ (without the source's final pruning)
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, floor_or_one, round_up
from pfbench.algorithms.proximal import COMPOSITE
from pfbench.base.checks import check_integer, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, nonnegative, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.points import combine, keep, tilt


@dataclass(frozen=True, kw_only=True)
class Natasha15(Algorithm):
    """Natasha1.5 for non-convex f with a penalty.

    Natasha1.5: SVRG steps on the sum of f and a quadratic term, which makes the sum convex.
    """

    name = "natasha15"
    source = "Allen-Zhu, Natasha 2, NeurIPS 2018, Natasha1.5"
    counts = "T iterations, an epoch has pm: SFO B ceil(T/(pm)) + 2bT, PO T (B = n: also FO)"
    requires = frozenset({"gradient", "batch", "difference"}) | COMPOSITE
    anytime = True
    schedule_parameters = frozenset(
        {"iterations", "step", "sigma", "snapshot", "subepochs", "batch"}
    )
    scale_dependence = "as in the source, sigma >= epsilon L, where epsilon is a gradient norm"

    iterations: int = integer(MISSING, "T, inner steps")
    step: float = positive(MISSING, "alpha")
    sigma: float = nonnegative(MISSING, "lower curvature, between epsilon L and L")
    snapshot: int = integer(MISSING, "B, batch of the reference gradient, at most n")
    subepochs: int = integer(MISSING, "p, sub-epochs in an epoch")
    batch: int = integer(1, "b, batch of each step (1 in the source)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subepochs > self.snapshot:
            raise InputError(f"subepochs={self.subepochs} cannot exceed snapshot={self.snapshot}.")

    @property
    def period(self) -> int:
        """Number of steps in a sub-epoch: floor(snapshot/(subepochs * batch)), but at least 1."""
        return max(1, self.snapshot // (self.subepochs * self.batch))

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with its source's schedule: reference batch min(n, sigma2/epsilon^2).

        For a reference batch B, an epoch has p = (sigma^2 B/L^2)^(1/3) sub-epochs.

        The step is alpha = sigma/(p^2 L^2). The source states orders only; the constants here are
        1. T is L^(2/3) sigma^(1/3) h0
        B^(2/3)/epsilon^2, the source's count of proximal maps.
        """
        L, h0, V = cls.schedule_constants(constants, "L_max", "delta", "sigma2")
        n = constants.n
        if "sigma" in overrides:
            sigma = check_real("sigma", overrides["sigma"], above=0.0)
        else:
            sigma = min(L, max(cls.schedule_constants(constants, "ell")[0], epsilon * L))
        B = check_integer(
            "snapshot",
            overrides.get("snapshot", min(n, max(1, round_up(V / epsilon**2)))),
            minimum=1,
        )
        p = min(B, floor_or_one((sigma**2 * B / L**2) ** (1 / 3)))
        return cls.from_schedule(
            overrides,
            snapshot=B,
            subepochs=p,
            sigma=sigma,
            step=sigma / (p * p * L * L),
            iterations=max(1, round_up((L**2 * sigma) ** (1 / 3) * h0 * B ** (2 / 3) / epsilon**2)),
        )

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        if self.snapshot > ask.n:
            raise InputError(
                f"snapshot={self.snapshot} must be at most the number of components, n = {ask.n}."
            )
        m, centre = self.period, keep(x)
        for k in range(self.iterations):
            if k % (self.subepochs * m) == 0:
                snapshot = keep(centre)
                mean = self._reference_gradient(ask, snapshot, rng)
            if k % m == 0:
                x, average = keep(centre), None
            average = x if average is None else combine(average, x, 1.0 / (k % m + 1.0))
            S = rng.integers(ask.n, size=self.batch)
            g = tilt(ask.difference(S, x, snapshot) + mean, x, centre, 2.0 * self.sigma)
            at, x = x, ask.prox(x, g, self.step)
            if k % m == m - 1:
                centre = average
            yield State(x, at, g, centre)

    def _reference_gradient(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Any:
        if self.snapshot == ask.n:
            return ask.gradient(x)
        return ask.batch(rng.choice(ask.n, size=self.snapshot, replace=False), x)
