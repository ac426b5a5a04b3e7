"""wang2019 theorem 1: the mean squared gradient of SpiderBoost after K steps of 1/(2L)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from pfbench.algorithms.proximal import SpiderBoost
from pfbench.base.constants import Constants
from pfbench.base.protocols import Asked, Gradient, Point, State
from pfbench.claims.wang2019.common import MEAN_SQUARED, SCHEDULE, chain, without_noise
from pfbench.claims.wang2019.estimate import BOWL
from pfbench.claims.wang2019.mean_mapping import mean_mapping
from pfbench.points import keep
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic, RobustRegression
from pfbench.verification import Claim, Mutant, instance
from pfbench.verification.instruments.slopes import Slope
from pfbench.verification.units import SQUARE, formula


def bound(L: float, Delta: float, K: int) -> float:
    """Return 4 L Delta/K, the bound of E|grad f(x_xi)|^2; the paper prints O(.)."""
    return 4.0 * L * Delta / K


_TESTED = {
    "robust regression": (instance(without_noise, kind=RobustRegression, n=64, d=4), 640),
    "non-convex logistic": (instance(without_noise, kind=NonconvexLogistic, n=64, d=4), 640),
    "least squares": (instance(without_noise, kind=LeastSquares, n=256, d=3), 320),
    "slope": (instance(Slope, n=64, g=0.1, gap=1.0, sigma=0.5), 200),
    "chain": (instance(chain, n=16, links=3), 600),
}
"""The problems, each with its K."""


THM1 = Claim(
    name="wang2019-thm1",
    source="wang2019 theorem 1, constant derived",
    kind="bound",
    statement="E|grad f(x_xi)|^2 <= 4 L Delta/K, xi uniform",
    algorithm="spiderboost",
    assumptions=(MEAN_SQUARED, "q <= |S| + 1"),
    instances=(*(problem for problem, _ in _TESTED.values()), BOWL),
    schedule=SCHEDULE,
    takes=(6.0, 10.0),
    check=partial(mean_mapping, bound=bound, problems=_TESTED),
    formulas=(formula(bound, SQUARE),),
)

# --- planted faults: the estimate -----------------------------------------------------------------


class Faulty(SpiderBoost):
    """SpiderBoost itself, with the pieces of its estimate as methods that a fault overrides."""

    def refreshes(self, k: int) -> bool:
        """Return whether iteration k takes a full gradient."""
        return k % self.period == 0

    def reference(self, ask: Asked, x: Point, before: Point) -> Gradient:
        """Return the reference gradient at x, after the point before."""
        return ask.gradient(x)

    def sample(self, ask: Asked, rng: np.random.Generator, last: Any) -> Any:
        """Draw S, after the last one."""
        return rng.integers(ask.n, size=self.batch)

    def next(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Return v_k from v_{k-1} and the points of this epoch, the newest last."""
        return ask.difference(S, path[-1], path[-2]) + v

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `SpiderBoost.run`."""
        path: list[Point] = [keep(x)]
        S: Any = None
        v: Any = None
        for k in range(self.iterations):
            if self.refreshes(k):
                path, v = [keep(x)], self.reference(ask, x, path[-1])
            else:
                path.append(keep(x))
                S = self.sample(ask, rng, S)
                v = self.next(ask, S, path, v)
            at, x = x, ask.prox(x, v, self.step)
            yield State(x, at, v)


class NeverRefreshed(Faulty):
    """Takes its full gradient once and never again."""

    def refreshes(self, k: int) -> bool:
        """Refresh at 0 only."""
        return k == 0


class DividedByN(Faulty):
    """Divides the summed difference by n instead of S."""

    def next(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Multiply the difference by S/n."""
        return self.batch / ask.n * ask.difference(S, path[-1], path[-2]) + v


class WrongSign(Faulty):
    """Subtracts the difference."""

    def next(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Subtract."""
        return v - ask.difference(S, path[-1], path[-2])


class FromTheSnapshot(Faulty):
    """Takes the difference to the snapshot and adds it to v_{k-1} all the same."""

    def next(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Take it to the first point of the epoch."""
        return ask.difference(S, path[-1], path[0]) + v


class TwoBack(Faulty):
    """Takes the difference to x_{k-2}."""

    def next(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Take it to the point before the last."""
        return ask.difference(S, path[-1], path[max(-3, -len(path))]) + v


class ForgetsItself(Faulty):
    """Leaves v_{k-1} out of the recursion."""

    def next(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Return the difference alone."""
        return ask.difference(S, path[-1], path[-2])


class OneComponent(Faulty):
    """Draws one index and repeats it."""

    def sample(self, ask: Asked, rng: np.random.Generator, last: Any) -> Any:
        """Draw once."""
        return np.repeat(rng.integers(ask.n, size=1), self.batch)


class BatchAgain(Faulty):
    """Takes a batch again, half of the time."""

    def sample(self, ask: Asked, rng: np.random.Generator, last: Any) -> Any:
        """Keep the last one if its sum is even."""
        new = super().sample(ask, rng, last)
        return new if last is None or int(np.sum(last)) % 2 else last


class ReferenceBefore(Faulty):
    """Takes the reference gradient at the point before."""

    def reference(self, ask: Asked, x: Point, before: Point) -> Gradient:
        """Take it there."""
        return ask.gradient(before)


# --- planted faults: the schedule -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LastOutput(SpiderBoost):
    """Returns the last iterate."""

    output: str = field(default="last")


class LongStep(SpiderBoost):
    """Moves by 4/L."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Take eight times the step."""
        made = super().theory(epsilon, constants, **given)
        return replace(made, step=8.0 * made.step)


class ShortRun(SpiderBoost):
    """Stops after a quarter of its iterations."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Divide K by 4."""
        made = super().theory(epsilon, constants, **given)
        return replace(made, iterations=max(1, made.iterations // 4))


class LongEpoch(SpiderBoost):
    """Takes a full gradient every n iterations instead of sqrt n, and S = 1."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Take q = n."""
        return super().theory(epsilon, constants, **{"period": constants.n, "batch": 1, **given})


CLAIMS = (THM1,)

MUTANTS = (
    Mutant.of("spiderboost-never-refreshed", NeverRefreshed, THM1),
    Mutant.of("spiderboost-divided-by-n", DividedByN, THM1),
    Mutant.of("spiderboost-wrong-sign", WrongSign, THM1),
    Mutant.of("spiderboost-from-snapshot", FromTheSnapshot, THM1),
    Mutant.of("spiderboost-two-back", TwoBack, THM1),
    Mutant.of("spiderboost-forgets", ForgetsItself, THM1),
    Mutant.of("spiderboost-one-index", OneComponent, THM1),
    Mutant.of("spiderboost-batch-again", BatchAgain, THM1),
    Mutant.of("spiderboost-reference-before", ReferenceBefore, THM1),
    Mutant.of("spiderboost-last", LastOutput, THM1),
    Mutant.of("spiderboost-long-step", LongStep, THM1),
    Mutant.of("spiderboost-short-run", ShortRun, THM1),
    Mutant.of("spiderboost-long-epoch", LongEpoch, THM1),
)
