"""Planted faults that the claims about a method must catch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.algorithms.proximal import ProxGD, ProxSAGA, ProxSpiderBoost, ProxSVRG
from pfbench.base.protocols import Asked, Gradient, Point, State
from pfbench.claims.methods import nfwu, proximal
from pfbench.estimators import SG, SPIDERG, SVRG, Estimate, Estimator
from pfbench.points import keep
from pfbench.verification import Claim, Mutant


def _claim(what: str, name: str) -> Claim:
    """Return a claim about a method by what it says and the method's name."""
    claims: tuple[Claim, ...] = (*nfwu.CLAIMS, *proximal.CLAIMS)
    return next(one for one in claims if one.name == f"methods-{what}-{name}")


# --- estimates ------------------------------------------------------------------------------------


class StaleReference(SPIDERG):
    """SPIDER whose later reference gradients are taken where the run began."""

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        right, first = super().start, list[Point]()

        class Stale:
            """Oracles whose gradient is that of the first point asked."""

            n = ask.n
            difference = staticmethod(ask.difference)
            batch = staticmethod(ask.batch)

            def gradient(self, x: Point) -> Gradient:
                first.append(keep(x))
                return ask.gradient(first[0])

        stale: Any = Stale()
        return right(stale, rng)


class StaleNFWU(NFWUSPIDERG):
    """Takes every reference gradient at the start point."""

    estimates = StaleReference


class StaleSpiderBoost(ProxSpiderBoost):
    """Takes every reference gradient at the start point."""

    @property
    def estimator(self) -> SPIDERG:
        """The faulty estimator."""
        return StaleReference(self.batch, self.period, self.snapshot)


@dataclass(frozen=True)
class PaidNotUsed(SVRG):
    """SVRG that pays its batch, and uses one component of it."""

    def draw(self, ask: Asked, rng: np.random.Generator) -> Any:
        """Return one index, as often as the batch is large."""
        return np.repeat(rng.integers(ask.n, size=1), self.batch)


class OneUsed(ProxSVRG):
    """Pays b components and uses one."""

    @property
    def estimator(self) -> SVRG:
        """The faulty estimator."""
        return PaidNotUsed(self.batch, self.period, at_snapshot=True)


class FixedTable(Estimator):
    """SAGA whose table is never renewed, though all is paid."""

    name = "fixed-table"
    source = "none"

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        tables: list[Any] = []

        def estimate(x: Point) -> Gradient:
            if not tables:
                tables.append(ask.table(x))
            I, J = self.draw(ask, rng), self.draw(ask, rng)  # noqa: E741
            g: Gradient = tables[0].difference(I, x) + tables[0].mean
            tables[0].difference(J, x)
            return g

        return estimate


class NeverRenewed(ProxSAGA):
    """Leaves the table as it was filled at the start."""

    @property
    def estimator(self) -> Any:
        """The faulty estimator."""
        return FixedTable(self.batch)


# --- steps, output, counts, schedules -------------------------------------------------------------


class HalfStep(ProxGD):
    """Takes half the step."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `ProxGD.run` with half the step."""
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, ask.prox(x, g, self.step / 2.0)
            yield State(x, at, g)


class SecondHalf(NFWUSG):
    """Draws its output among the second half of the points."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NFWU.run` with an output of its own."""
        chosen = int(rng.integers(self.iterations // 2, self.iterations))
        output = None
        for t, state in enumerate(super().run(ask, x, rng)):
            if t == chosen:
                output = keep(state.at)
            yield state._replace(output=output)


@dataclass(frozen=True)
class Unpaid(SG):
    """Mini-batches that are asked beside the ledger."""

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        backend: Any = ask
        return lambda x: backend._backend.batch(self.draw(ask, rng), x)


class Bypass(NFWUSG):
    """Asks the backend itself."""

    @property
    def estimator(self) -> SG:
        """The faulty estimator."""
        return Unpaid(self.batch)


class DoubledStep(ProxSVRG):
    """Its theorem's schedule has twice the step."""

    @classmethod
    def theory(cls, epsilon: float, constants: Any, **given: Any) -> Any:
        """Return the schedule with twice the step."""
        right = ProxSVRG.theory(epsilon, constants, **given)
        return cls(
            iterations=right.iterations,
            batch=right.batch,
            period=right.period,
            step=2.0 * right.step,
        )


MUTANTS = (
    Mutant.of("methods-nfwu-stale", StaleNFWU, _claim("estimate", "nfwu-spiderg")),
    Mutant.of("methods-boost-stale", StaleSpiderBoost, _claim("estimate", "prox-spiderboost")),
    Mutant.of("methods-svrg-one-used", OneUsed, _claim("estimate", "prox-svrg")),
    Mutant.of("methods-saga-fixed-table", NeverRenewed, _claim("estimate", "prox-saga")),
    Mutant.of("methods-gd-half-step", HalfStep, _claim("steps", "prox-gd")),
    Mutant.of("methods-sg-second-half", SecondHalf, _claim("steps", "nfwu-sg")),
    Mutant.of(
        "methods-sg-bypass",
        Bypass,
        *(_claim(what, "nfwu-sg") for what in ("estimate", "steps", "count")),
    ),
    Mutant.of("methods-svrg-doubled-step", DoubledStep, _claim("schedule", "prox-svrg")),
)
