"""SAGA and SAG, which keep a table with one gradient of each component."""

from dataclasses import dataclass, field

import numpy as np

from pfbench.base.checks import check_real
from pfbench.base.protocols import AlgorithmOracles, Gradient, Table
from pfbench.base.sample import Indices
from pfbench.base.state import Point
from pfbench.estimators.base import EstimateFunction, Estimator
from pfbench.points import keep


class SAGA(Estimator):
    """SAGA: mean over a batch of grad f_i(x_t) - a_i, plus the mean of all stored gradients a_i.

    ``g_t = mean over I of [grad f_i(x_t) - a_i] + mean of all a_i``; then a_j = grad f_j(x_t). The
    a_i are stored gradients. I and J are independent batches of size S, uniform with replacement.
    a_j is replaced once for each distinct j in J. The table starts with the gradients at the first
    point.
    """

    name = "saga"
    source = "Reddi, Sra, Poczos, Smola 2016 (NIPS), ProxSAGA (algorithm 2)"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        table: Table | None = None

        def estimate(x: Point) -> Gradient:
            nonlocal table
            if table is None:
                table = ask.table(x)
            I, J = self.draw(ask, rng), self.draw(ask, rng)  # noqa: E741
            g = table.difference(I, x) + table.mean
            table.replace(J, x)
            return g

        return estimate


class SAG(Estimator):
    """SAG: mean of all stored gradients a_i, of which a batch is replaced in each step.

    ``a_i = grad f_i(x_t) for i in I; g_t = mean of all a_i``. The batch I of size S is uniform with
    replacement; a_i is replaced once for each distinct i. The table starts with the gradients at
    the first point. Unlike SAGA's, the estimate has a bias.
    """

    name = "sag"
    source = "Schmidt et al. 2017, algorithm 1"
    unbiased = False

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        table: Table | None = None

        def estimate(x: Point) -> Gradient:
            nonlocal table
            if table is None:
                table = ask.table(x)
            table.replace(self.draw(ask, rng), x)
            g: Gradient = keep(table.mean)
            return g

        return estimate


@dataclass(frozen=True)
class ZeroSARAH(Estimator):
    """ZeroSARAH: SARAH's recursive estimate, corrected with weight `lam` by a table of gradients.

    ``g_t = (1 - lam) g_{t-1} + lam mean_i y_i + mean over S of d_i``, then y_i = grad f_i(x_t).

    ``d_i = grad f_i(x_t) - grad f_i(x_{t-1}) + lam (grad f_i(x_{t-1}) - y_i)``; the gradient of
    each distinct i in S is stored once, as y_i. The table starts with all gradients at x_0. If
    `filled` is false, the table starts with zeros, so that no full gradient is ever queried. Then
    g_0 is the mean over a batch, whose gradients are stored.
    """

    name = "zerosarah"
    source = "Li, Hanzely, Richtarik 2021, ZeroSARAH"

    lam: float
    filled: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("lam", self.lam, above=0.0, upper=1.0)

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        table: Table | None = None
        previous: Point = None
        g: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal table, previous, g
            if table is None:
                table = ask.table(x) if self.filled else ZeroSarahTable(ask)
                g = table.mean if self.filled else table.replace(self.draw(ask, rng), x)
            else:
                S, mean = self.draw(ask, rng), table.mean
                product = (1.0 - self.lam) * (g - table.difference(S, previous))
                g = product + self.lam * mean + table.replace(S, x)
            previous = x
            return g

        return estimate


@dataclass
class ZeroSarahTable:
    """Table of component gradients that starts with zeros, so that no full gradient is queried.

    It queries the gradients of single components, and stores them.

    Attributes
    ----------
    ask
        The oracles.
    gradients
        The stored gradients, by component.
    mean
        The mean of all n entries; the number 0 before any entry is stored.
    """

    ask: AlgorithmOracles
    gradients: dict[int, Gradient] = field(default_factory=dict)
    mean: Gradient = field(default_factory=lambda: np.zeros(()))

    def difference(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean over a sample of (grad f_i(x) - stored gradient of f_i)."""
        return np.asarray(
            np.mean([fresh - old for _, fresh, old in self._query_components(sample, x)], axis=0)
        )

    def replace(self, sample: Indices, x: Point) -> Gradient:
        """Return `difference(sample, x)`, then store grad f_i(x) for each sampled component i.

        Each distinct index is stored once.
        """
        components = self._query_components(sample, x)
        for i, fresh, old in {component[0]: component for component in components}.values():
            self.mean = self.mean + (fresh - old) / self.ask.n
            self.gradients[i] = fresh
        return np.asarray(np.mean([fresh - old for _, fresh, old in components], axis=0))

    def _query_components(self, sample: Indices, x: Point) -> list[tuple[int, Gradient, Gradient]]:
        """Return, for each index of a sample, the index, the gradient at x and the stored one."""
        return [
            (int(i), g, self.gradients.get(int(i), np.zeros_like(g)))
            for i in np.asarray(sample)
            for g in [self.ask.batch(np.array([i]), x)]
        ]
