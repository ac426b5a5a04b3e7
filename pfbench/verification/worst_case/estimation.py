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

Function = Any
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


class PerformanceEstimation:
    """Performance-estimation problem in PEPit: declare a class, run the method, and call `solve`.

    PEPit keeps its state in its classes, so creating a second problem invalidates the first.
    """

    def __init__(self) -> None:
        check_installed()
        import PEPit
        import PEPit.functions
        import PEPit.primitive_steps

        self._functions: Any = PEPit.functions
        self._steps: Any = PEPit.primitive_steps
        self._make_vector: Any = PEPit.Point
        self.zero: Any = PEPit.Expression(is_leaf=False, decomposition_dict={})
        self._problem: Any = PEPit.PEP()
        self._penalties: list[tuple[Function, Vector]] = []

    # --- classes ----------------------------------------------------------------------------------

    def add_smooth_function(self, L: float, *, convex: bool = False) -> Function:
        """Add and return a function whose gradient is L-Lipschitz on the whole space."""
        kind = self._functions.SmoothConvexFunction if convex else self._functions.SmoothFunction
        return self._problem.declare_function(kind, L=L)

    def add_penalty(self, start: Vector) -> Function:
        """Add a convex function h with h(start) = 0, and return it."""
        h = self._problem.declare_function(self._functions.ConvexFunction)
        self._penalties.append((h, start))
        return h

    def add_set_indicator(self, D: float = math.inf) -> Function:
        """Add a closed convex set of diameter D, and return its indicator function."""
        return self._problem.declare_function(self._functions.ConvexIndicatorFunction, D=D)

    # --- points -----------------------------------------------------------------------------------

    def add_start(self, indicator: Function | None = None) -> Vector:
        """Add and return the start (the origin), restricted to the set of `indicator` if given."""
        return self._restrict(self._make_vector(is_leaf=False, decomposition_dict={}), indicator)

    def add_vector(self, indicator: Function | None = None) -> Vector:
        """Add and return an arbitrary vector, in the set of `indicator` if given."""
        return self._restrict(self._make_vector(), indicator)

    def _restrict(self, x: Vector, indicator: Function | None) -> Vector:
        if indicator is not None:
            indicator.add_point((x, self.add_start(), self.zero))  # 0 is normal everywhere
        return x

    def lo(self, g: Vector, indicator: Function) -> Vector:
        """Return a point v of the set of `indicator` that minimises <g, v>."""
        return self._steps.linear_optimization_step(g, indicator)[0]

    def prox(self, x: Vector, h: Function, lam: float) -> tuple[Vector, Expression]:
        """Return the proximal point y = prox_{lam h}(x), and the value h(y)."""
        y, slope, value = self._steps.proximal_step(x, h, lam)
        # A start needs no subgradient, and one that is free would make the program unbounded.
        for penalty, start in self._penalties:
            if penalty is h:
                self.require(value + slope * (start - y) <= 0.0)
        return y, value

    # --- what holds, and what is measured ---------------------------------------------------------

    def require(self, *inequalities: Any) -> None:
        """Add inequalities as constraints of the program."""
        for inequality in inequalities:
            self._problem.add_constraint(inequality)

    def solve(self, *measures: Expression) -> float:
        """Maximise the smallest of the measures over the class; return NaN if the solver fails.

        The value is that of the dual problem. Its multipliers, which PEPit checks, prove it up to
        rounding.
        """
        for measure in measures:
            self._problem.set_performance_metric(measure)
        # Without a solver's name PEPit may take SCS, which is up to 0.2 % too low.
        with warnings.catch_warnings():
            # cvxpy warns of an inaccurate solution, which the status says too.
            warnings.simplefilter("ignore", UserWarning)
            dual = self._problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0, **_SETTINGS)
        program = self._problem.wrapper.prob
        if dual is None or program.status != "optimal":
            return math.nan
        gap = abs(dual - program.value) / max(abs(dual), abs(program.value))
        return float(dual) if gap <= _DUALITY_GAP else math.nan


def mean(expressions: Iterable[Expression]) -> Expression:
    """Return the mean of PEPit expressions."""
    listed = list(expressions)
    return sum(listed[1:], listed[0]) / len(listed)
