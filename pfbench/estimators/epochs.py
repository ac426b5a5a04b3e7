"""First-order gradient estimators: full, SG, SVRG and SPIDER (shen2019, section 3)."""

from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice, check_real
from pfbench.base.protocols import AlgorithmOracles, Gradient, Hessian
from pfbench.base.state import Point
from pfbench.estimators.base import (
    CoinEstimateFunction,
    EpochEstimator,
    EstimateFunction,
    Estimator,
)
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
    """SPIDERG: the last estimate, plus the mean of grad f_i(x_t) - grad f_i(x_{t-1}) over a batch.

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


class CASVRG(EpochEstimator):
    """CASVRG: SVRG, corrected by component Hessians at the snapshot (estimator GE 4 of shen2019).

    It is SVRG ``+ [H(s) - mean over S of H_i(s)] (x_t - s)``, s the snapshot.
    """

    name = "casvrg"
    source = "shen2019 GE 4"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        iterations = count()
        s: Point = None
        mean: Gradient
        H: Hessian

        def estimate(x: Point) -> Gradient:
            nonlocal s, mean, H
            if next(iterations) % self.period == 0:
                mean, s = ask.gradient(x), keep(x)
                H = ask.hessian(s)
                return mean
            S = self.draw(ask, rng)
            c = H.product(x, s) - H.batch(S, x, s)
            return ask.difference(S, x, s) + mean + c

        return estimate


class CASPIDERG(EpochEstimator):
    """CASPIDERG: SPIDERG, corrected by component Hessians at the snapshot (GE 5 of shen2019).

    It is SPIDERG ``+ [H(s) - mean over S of H_i(s)] (x_t - x_{t-1})``, s the snapshot.
    """

    name = "caspiderg"
    source = "shen2019 GE 5"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        iterations = count()
        previous: Point = None
        g: Gradient
        H: Hessian

        def estimate(x: Point) -> Gradient:
            nonlocal previous, g, H
            if next(iterations) % self.period == 0:
                g = ask.gradient(x)
                H = ask.hessian(x)
            else:
                S = self.draw(ask, rng)
                c = H.product(x, previous) - H.batch(S, x, previous)
                g = ask.difference(S, x, previous) + g + c
            previous = x
            return g

        return estimate


@dataclass(frozen=True)
class LooplessEstimator(Estimator):
    """Base class of estimators that compute a full gradient with probability `refresh`."""

    refresh: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("refresh", self.refresh, above=0.0, upper=1.0)


class PAGE(LooplessEstimator):
    """PAGE: a full gradient with probability `refresh`, else a recursive estimate as in SPIDER.

    ``g_t = mean over S of [grad f_i(x_t) - grad f_i(x_{t-1})] + g_{t-1}``; heads: grad f(x_t). It
    is SPIDERG with epochs of geometric length.
    """

    name = "page"
    source = "Li, Bao, Zhang, Richtarik 2021, PAGE"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        previous: Point = None
        g: Gradient

        def estimate(x: Point, heads: bool) -> Gradient:
            nonlocal previous, g
            g = ask.gradient(x) if heads else ask.difference(self.draw(ask, rng), x, previous) + g
            previous = x
            return g

        return CoinEstimateFunction(estimate, rng, self.refresh)


class LSVRG(LooplessEstimator):
    """L-SVRG: SVRG whose snapshot w is replaced by x_t with probability `refresh`.

    ``g_t = mean over S of [grad f_i(x_t) - grad f_i(w)] + grad f(w)``; heads: w = x_t.
    """

    name = "lsvrg"
    source = "Kovalev, Horvath, Richtarik 2020, L-SVRG"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        w: Point = None
        mean: Gradient

        def estimate(x: Point, heads: bool) -> Gradient:
            nonlocal w, mean
            if heads:
                mean, w = ask.gradient(x), keep(x)
                return mean
            return ask.difference(self.draw(ask, rng), x, w) + mean

        return CoinEstimateFunction(estimate, rng, self.refresh)
