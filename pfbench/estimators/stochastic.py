"""First-order gradient estimators: full, SG, SVRG and SPIDER (shen2019, section 3)."""

from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point
from pfbench.estimators.base import EpochEstimator, EstimateFunction, Estimator
from pfbench.points import keep

SAMPLINGS = ("uniform", "importance")
"""Distributions of SPIDERG's draws: uniform, or in proportion to L_i."""


@dataclass(frozen=True)
class FullGradient(Estimator):
    """The full gradient at each iterate; the batch size is ignored."""

    name = "full"
    source = "the gradient itself"

    batch: int = 1

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        return ask.gradient


class SG(Estimator):
    """SG: the mean of component gradients over a batch (estimator GE 1 of shen2019)."""

    name = "sg"
    source = "shen2019 GE 1"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        return lambda x: ask.batch(self.draw(ask, rng), x)


@dataclass(frozen=True)
class SVRG(EpochEstimator):
    """SVRG: mean over a batch of [grad f_i(x_t) - grad f_i(s)], plus grad f(s); s is the snapshot.

    It is the estimator GE 2 of shen2019. If `at_snapshot` is true, a batch is also drawn and
    queried at the snapshot itself, as in Reddi et al. 2016 and qu2018 algorithm 4. The estimate at
    the snapshot is still the reference gradient.
    """

    name = "svrg"
    source = "shen2019 GE 2"

    at_snapshot: bool = False

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        iterations = count()
        s: Point = None
        mean: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal s, mean
            if next(iterations) % self.period == 0:
                mean, s = self.reference_gradient(ask, x, rng), keep(x)
                if not self.at_snapshot:
                    return mean
            return ask.difference(self.draw(ask, rng), x, s) + mean

        return estimate


@dataclass(frozen=True)
class DoublingSPIDER(Estimator):
    """SPIDER estimator with epochs that double in length.

    Epoch s = 0, 1, ... has 2^s iterations, with batches of size 2^s. The field `batch` is not
    used.
    """

    name = "doubling-spider"
    source = "Yurtsever, Sra, Cevher 2019, SPIDER-FW for convex finite sums"

    batch: int = 1

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        numbers = count(1)
        previous: Point = None
        g: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal previous, g
            number = next(numbers)
            size = 1 << (number.bit_length() - 1)
            if number == size:
                g = ask.gradient(x)
            else:
                g = ask.difference(rng.integers(ask.n, size=size), x, previous) + g
            previous = x
            return g

        return estimate


@dataclass(frozen=True)
class SPIDERG(EpochEstimator):
    """SPIDERG: mean over a batch of [grad f_i(x_t) - grad f_i(x_{t-1})], plus g_{t-1}.

    It is the estimator GE 3 of shen2019. With sampling=importance, i is drawn with probability q_i
    = L_i/(sum of L_j), and its difference is divided by n q_i, as in Lan 2020, algorithm 7.12.
    """

    name = "spiderg"
    source = "shen2019 GE 3"

    sampling: str = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("sampling", self.sampling, SAMPLINGS)

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        change = partial(self._mean_difference, ask, rng)
        if self.sampling == "importance":
            change = partial(self._importance_mean_difference, ask, rng, ask.component_smoothness())
        iterations = count()
        previous: Point = None
        g: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal previous, g
            if next(iterations) % self.period == 0:
                g = self.reference_gradient(ask, x, rng)
            else:
                g = change(x, previous) + g
            previous = x
            return g

        return estimate

    def _mean_difference(
        self, ask: AlgorithmOracles, rng: np.random.Generator, x: Point, y: Point
    ) -> Gradient:
        """Return the mean of grad f_i(x) - grad f_i(y) over a batch drawn uniformly."""
        return ask.difference(self.draw(ask, rng), x, y)

    def _importance_mean_difference(
        self, ask: AlgorithmOracles, rng: np.random.Generator, L: Floats, x: Point, y: Point
    ) -> Gradient:
        """Return the mean of (grad f_i(x) - grad f_i(y))/(n q_i) over i drawn with probability q_i.

        Components with equal L_i share one oracle query.
        """
        choice, mean = rng.choice(ask.n, size=self.batch, p=L / L.sum()), L.mean()
        groups = [choice[L[choice] == L_i] for L_i in np.unique(L[choice])]
        weighed = (mean / L[S[0]] * len(S) * ask.difference(S, x, y) for S in groups)
        return np.asarray(sum(weighed) / self.batch)
