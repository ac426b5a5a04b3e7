"""SAGA and SAG, which keep a table with one gradient of each component."""

import numpy as np

from pfbench.base.protocols import AlgorithmOracles, Gradient, Table
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
