"""S and p of the theorems, as printed and as corrected, and whether (9) holds with them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.shen2019.epoch_estimators import METHODS, error_law
from pfbench.claims.shen2019.paths import exact_mean_squared_errors
from pfbench.verification import Floats
from pfbench.verification.instruments.forced_path import ForcedPath


@dataclass(frozen=True)
class BatchAndPeriod:
    """Batch S and period p."""

    S: int
    p: int


Schedule = Callable[[float, Constants], BatchAndPeriod]
"""(accuracy, constants) -> S and p; it uses the constants n, L, L2 and sigma^2."""


def compute_corrected_sizes(estimator: str, epsilon: float, constants: Constants) -> BatchAndPeriod:
    """Return the S and p with which (9) holds, as the catalogue's algorithms take them."""
    L = constants.smoothness("a schedule")
    sizes = METHODS[estimator].estimator_parameters(epsilon, L, constants)
    return BatchAndPeriod(sizes["batch"], sizes.get("period", 1))


def compute_printed_sizes(estimator: str, epsilon: float, constants: Constants) -> BatchAndPeriod:
    """Return the S and p of sections 3.1, 3.2 and 4 as printed; sigma^2 stands for G^2."""
    n, L, L2 = constants.n, constants.smoothness("a schedule"), float(constants.L2_ms)
    if estimator == "sg":
        return BatchAndPeriod(math.ceil(constants.sigma2 / epsilon**2), 1)
    if estimator in ("svrg", "spiderg"):
        p = math.floor(n ** (1 / 3 if estimator == "svrg" else 1 / 2) + 1e-9)
    elif estimator == "casvrg":
        small = epsilon <= L / (L2 * n**2)
        p = math.floor(
            math.sqrt(L * L2 / epsilon) if small else _period_from_power(n, L, L2, epsilon, 0.4)
        )
    else:
        p = math.floor(_period_from_power(n, L, L2, epsilon, 0.5))
    return BatchAndPeriod(max(1, math.ceil(n / p - 1e-9)), p)


def _period_from_power(n: int, L: float, L2: float, epsilon: float, power: float) -> float:
    """Return p = (L/(L2 epsilon))^power n^(power/2) of sections 4.1 (0.4) and 4.2 (0.5)."""
    return float((L / (L2 * epsilon)) ** power * n ** (power / 2.0))


def error_over_limit(
    estimator: str,
    problem: ForcedPath,
    epsilon: float,
    sizes: BatchAndPeriod,
    eta: float | None = None,
) -> Floats:
    """Return E|g - grad f|^2 over epsilon^2/4 at j = 0 .. p-1; (9) holds if none is above 1.

    eta is epsilon/L by default.
    """
    L = problem.constants(problem.start()).smoothness("a step")
    squares = exact_mean_squared_errors(estimator, problem, eta or epsilon / L, sizes.p)
    return np.asarray(squares / sizes.S / (epsilon**2 / 4.0))


def error_law_since_snapshot(
    estimator: str, j: int, epsilon: float, S: int, constants: Constants
) -> float:
    """Return the error law at distance j with eta = epsilon/L."""
    L, L2 = constants.smoothness("a law"), float(constants.L2_ms)
    return error_law(estimator, j, epsilon / L, S, L=L, L2=L2, sigma2=float(constants.sigma2))
