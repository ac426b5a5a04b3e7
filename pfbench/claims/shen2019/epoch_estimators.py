"""The five gradient estimators of shen2019 and the laws of their errors."""

from collections.abc import Mapping

from pfbench.algorithms.nfwu import NFWU, NFWUCASPIDERG, NFWUCASVRG, NFWUSG, NFWUSPIDERG, NFWUSVRG

METHODS: Mapping[str, type[NFWU]] = {
    "sg": NFWUSG,
    "svrg": NFWUSVRG,
    "spiderg": NFWUSPIDERG,
    "casvrg": NFWUCASVRG,
    "caspiderg": NFWUCASPIDERG,
}
"""Algorithm 1 with each of the estimators GE 1 to 5, by the estimator's name."""

CURVATURE_AIDED = frozenset({"casvrg", "caspiderg"})
"""The estimators that use component Hessians."""

RECURSIVE = frozenset({"spiderg", "caspiderg"})
"""The estimators that add to the previous estimate."""

MEAN_SQUARED = "L_ms, L2_ms: mean-squared smoothness of gradients and Hessians"
"""Assumption of the error laws."""


def error_law(
    estimator: str, j: float, eta: float, S: float, *, L: float, L2: float, sigma2: float
) -> float:
    """Return the bound of E|g - grad f|^2 at distance j from the snapshot, j >= 1.

    The bounds are those of section 4, with the constants that the integral form of the mean value
    theorem gives.
    """
    laws = {
        "sg": sigma2,
        "svrg": L**2 * (j * eta) ** 2,
        "spiderg": L**2 * j * eta**2,
        "casvrg": L2**2 * (j * eta) ** 4 / 4.0,
        "caspiderg": L2**2 * eta**4 * j * (4.0 * j**2 - 1.0) / 12.0,
    }
    return laws[estimator] / S
