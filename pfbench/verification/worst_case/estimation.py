"""Performance estimation: the worst case of a few steps of a method, as a semidefinite program.

A worst case is the largest value of a measure over all functions of a class, all sets and all
starts, in any dimension. The unknowns are the Gram matrix of points and gradients and the function
values; the class is its interpolation inequalities between the points visited.

References
----------
Taylor, Hendrickx, Glineur, Exact worst-case performance of first-order methods for composite convex
optimization, SIAM J. Optim. 27(3), 2017.
"""

import math
import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from pfbench.base.errors import InputError

EXTRA = 'install it with pip install "pfbench[certify]"'

_PACKAGES = ("PEPit", "cvxpy", "clarabel")

_SETTINGS = {
    "tol_gap_abs": 1e-7,
    "tol_gap_rel": 1e-7,
    "tol_feas": 1e-7,
    "static_regularization_constant": 1e-7,
    "equilibrate_enable": False,
}
"""Settings of Clarabel, which by default fails on some non-unique worst cases."""

_DUALITY_GAP = 1e-5
"""Largest relative difference of the primal and the dual value of a solved program."""

TOLERANCE = 1e-4
"""Relative error of a worst case beyond which a bound counts as violated."""

Expression = Any
"""A linear function of Gram matrix and function values; PEPit provides no type for it."""

Vector = Any


def check_installed() -> None:
    """Raise `InputError` if a package of the extra `certify` is not installed.

    Raises
    ------
    InputError
        If a package is missing; the error names the package and the extra.
    """
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise InputError(f"worst cases need {package}, which is not installed: {EXTRA}.")


def maximise_smallest(program: Any, measures: Iterable[Expression]) -> float:
    """Return the largest value of the smallest measure in a PEPit program; NaN if unknown.

    The value is that of the dual problem. Its multipliers, which PEPit checks, prove it up to
    rounding.
    """
    for measure in measures:
        program.set_performance_metric(measure)
    # Without a solver's name PEPit may take SCS, which is up to 0.2 % too low.
    with warnings.catch_warnings():
        # cvxpy warns of an inaccurate solution, which the status says too.
        warnings.simplefilter("ignore", UserWarning)
        dual = program.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0, **_SETTINGS)
    primal = program.wrapper.prob
    if dual is None or primal.status != "optimal":
        return math.nan
    gap = abs(dual - primal.value) / max(abs(dual), abs(primal.value))
    return float(dual) if gap <= _DUALITY_GAP else math.nan


def mean(expressions: Iterable[Expression]) -> Expression:
    """Return the mean of PEPit expressions."""
    listed = list(expressions)
    return sum(listed[1:], listed[0]) / len(listed)
