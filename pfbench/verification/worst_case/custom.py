"""Computation of the worst case of a user-defined method by a semidefinite program.

The method runs on symbolic vectors. The variables of the program are the gradients and vertices
that the oracles answer. Its constraints are the inequalities of the function class between all
queried points.
"""

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm
from pfbench.verification.instruments.enumerated_random import rounding_key
from pfbench.verification.worst_case.estimation import (
    Expression,
    Vector,
    check_installed,
    maximise_smallest,
    mean,
)
from pfbench.verification.worst_case.recording import (
    FREE,
    GRADIENT,
    NEAR_PROX,
    PROX,
    VERTEX,
    MethodRecording,
    record_method,
)
from pfbench.verification.worst_case.worst_function import WorstFunction

MEASURES = ("fw_gap", "gradient_mapping_sq", "suboptimality")
"""Measures that a worst case can have; f - min f needs convexity, |grad f|^2 has no set."""

OVER = ("least", "mean", "last")
"""Statistics over the points of a run: `last` is that of x_N, others those of x_0 .. x_{N-1}."""

MOST_COMPONENTS = 4

ROUNDING = 1e-12
"""Modulus below which a coefficient counts as 0."""


@dataclass(frozen=True)
class FunctionClass:
    """Class of functions and sets over which a worst case is computed.

    Attributes
    ----------
    n
        Number of components, each with an L-Lipschitz gradient.
    L
        Smoothness.
    convex
        Whether the components are convex.
    D
        Diameter of the set, if there is one; infinite if unrestricted.
    delta
        Upper bound of f(x_0) - min f; infinite if unrestricted.
    """

    n: int = 1
    L: float = 1.0
    convex: bool = False
    D: float = 1.0
    delta: float = 0.5

    def __post_init__(self) -> None:
        check_integer("n", self.n, minimum=1)
        if self.n > MOST_COMPONENTS:
            raise InputError(
                f"n={self.n} is too large for a worst case: choose n <= {MOST_COMPONENTS}."
            )
        check_real("L", self.L, above=0.0)
        for name in ("D", "delta"):
            if getattr(self, name) != math.inf:
                check_real(name, getattr(self, name), above=0.0)


@dataclass(frozen=True)
class ComputedWorstCase:
    """Largest value of a measure over a class of functions, and the function that attains it.

    Attributes
    ----------
    value
        The largest value of the measure; NaN if the solver does not find it.
    measure, statistic
        The measure, one of `MEASURES`, and the statistic over the points, one of `OVER`.
    steps
        Number of steps, N.
    function_class
        The class.
    is_constrained
        Whether there is a set; otherwise the whole space, without a penalty.
    function
        The function and set that attain the worst case, as a problem; None if there is no value.
    """

    value: float
    measure: str
    statistic: str
    steps: int
    function_class: FunctionClass
    is_constrained: bool
    function: WorstFunction | None


def compute_worst_case(
    method: Algorithm,
    function_class: FunctionClass | None = None,
    *,
    measure: str | None = None,
    over: str | None = None,
    steps: int | None = None,
) -> ComputedWorstCase:
    """Compute the worst case of a method over a class of functions by a semidefinite program.

    Parameters
    ----------
    method
        The method with all parameters. It may only add and scale the answers of the oracles. All
        sequences of its draws are enumerated.
    function_class
        The class. By default, smooth functions with L = D = 1 and delta = 1/2, of one component, or
        of two if the method queries components.
    measure
        One of `MEASURES`. By default, the Frank-Wolfe gap of a method with linear minimisations,
        else |grad f|^2.
    over
        One of `OVER`. By default the least, or the mean if the method draws or queries components.
    steps
        Number of steps, N, of a method that does not end by itself.

    Raises
    ------
    InputError
        If the method does more than add and scale, a name is unknown, or PEPit is not installed.
    """
    constrained = "lo" in getattr(method, "asks", method.requires)
    parts = bool(method.requires & {"batch", "difference", "table"})
    function_class = function_class or FunctionClass(n=2 if parts else 1)
    usual = "fw_gap" if constrained else "gradient_mapping_sq"
    measure = check_choice("measure", measure or usual, MEASURES)
    if (measure == "fw_gap") is not constrained and measure != "suboptimality":
        queries, other = (
            ("query", "fw_gap") if constrained else ("do not query", "gradient_mapping_sq")
        )
        raise InputError(f"{measure} is not defined for methods that {queries} lo: take {other}.")
    if measure == "suboptimality" and not function_class.convex:
        raise InputError("suboptimality needs a convex function class: set convex=true.")
    recording = record_method(method, function_class.n, steps)
    is_random = len(recording.runs) > 1
    over = check_choice("over", over or ("mean" if parts or is_random else "least"), OVER)
    if over == "least" and is_random:
        raise InputError(
            "the least value over iterates (over=least) cannot be computed for a method whose "
            "iterates are random: use over=mean."
        )
    program = WorstCaseProgram(recording, function_class, constrained)
    value = program.solve(measure, over)
    function = None if np.isnan(value) else program.make_worst_function()
    count = max(len(run) for _, run in recording.runs) - 1
    return ComputedWorstCase(value, measure, over, count, function_class, constrained, function)


class WorstCaseProgram:
    """Semidefinite program for the worst case of a recorded method.

    Parameters
    ----------
    recording, function_class
        The recording of the method, and the function class.
    constrained
        Whether there is a set.
    has_penalty
        Whether there is a convex penalty.
    """

    def __init__(
        self,
        recording: MethodRecording,
        function_class: FunctionClass,
        constrained: bool,
        has_penalty: bool = False,
    ) -> None:
        check_installed()
        import PEPit
        from PEPit.functions import (
            ConvexFunction,
            ConvexIndicatorFunction,
            SmoothConvexFunction,
            SmoothFunction,
        )
        from PEPit.primitive_steps import proximal_step

        self._recording, self._function_class = recording, function_class
        self._program = program = PEPit.PEP()
        self._origin: Vector = PEPit.Point(is_leaf=False, decomposition_dict={})
        self._zero: Expression = PEPit.Expression(is_leaf=False, decomposition_dict={})
        self._set = None
        if constrained:
            self._set = program.declare_function(ConvexIndicatorFunction, D=function_class.D)
        smooth = SmoothConvexFunction if function_class.convex else SmoothFunction
        self._functions = [
            program.declare_function(smooth, L=function_class.L) for _ in range(function_class.n)
        ]
        self._f = mean(self._functions)
        penalty = program.declare_function(ConvexFunction) if has_penalty else None
        self._points: dict[bytes, Vector] = {}
        self._vectors: list[Vector] = [None]
        self._vertices: list[tuple[Vector, Vector]] = []
        self._start = self._restrict_to_set(self._origin)
        if has_penalty or (any(recording.measured) and not constrained):
            # Methods that query only differences of components, full gradients and proximal maps
            # are not restricted by this: linear functions can be moved between f_i and h.
            common = self._origin if has_penalty else PEPit.Point()
            for f_i in self._functions:
                f_i.add_point((self._start, common, self._zero))
        self._visited: list[tuple[Vector, Expression]] = []
        points, near = [self._start], list[tuple[Vector, Vector, float]]()
        for answer in recording.answers:
            vector = None if answer.kind == FREE else self._vector(answer.point)
            if answer.kind == GRADIENT:
                self._vectors.append(self._functions[answer.component].gradient(vector))
            elif answer.kind == FREE:
                self._vectors.append(PEPit.Point())
                program.add_constraint(self._vectors[-1] ** 2 <= answer.length**2)
            else:
                height = self._zero
                if answer.kind == VERTEX:
                    y = self._lo(vector)
                elif answer.kind == PROX:
                    inner = self._set if penalty is None else penalty
                    y, slope, height = proximal_step(vector, inner, answer.length)
                    if penalty is not None:
                        # The start, where h is 0, needs no subgradient, and one that is free would
                        # make the program unbounded.
                        program.add_constraint(height + slope * (self._start - y) <= 0.0)
                else:
                    y = self._restrict_to_set(PEPit.Point())
                    near.append(((y - vector) / answer.length, y, answer.gap))
                points.append(y)
                if has_penalty or answer.kind == NEAR_PROX:
                    self._visited.append((y, height))
                self._vectors.append(y - self._start)
        for slope, y, gap in near:
            for u in points:
                if u is not y:
                    program.add_constraint(slope * (y - u) <= gap)

    def _restrict_to_set(self, x: Vector) -> Vector:
        if self._set is not None:
            self._set.add_point((x, self._origin, self._zero))  # 0 is normal everywhere
        return x

    def _vector(self, coefficients: Floats) -> Vector:
        """Return the combination of the start and the oracle answers with these coefficients.

        The result is cached.
        """
        key = rounding_key(coefficients)
        if key not in self._points:
            parts = [
                float(coefficients[j]) * self._vectors[j]
                for j in np.flatnonzero(np.abs(coefficients[1:]) > ROUNDING) + 1
            ]
            if coefficients[0] > ROUNDING:
                parts.insert(0, self._start)
            self._points[key] = sum(parts, self._origin)
        return self._points[key]

    def _lo(self, g: Vector) -> Vector:
        from PEPit.primitive_steps import linear_optimization_step

        v = linear_optimization_step(g, self._set)[0]
        self._vertices.append((v, g))
        return v

    def solve(self, measure: str, statistic: str) -> float:
        """Return a measure's largest value over the function class; NaN if the solver fails."""
        program, f, function_class = self._program, self._f, self._function_class
        if any(self._recording.measured):
            return self._solve_mean_squares(statistic)
        runs = [(chance, [self._vector(x) for x in run]) for chance, run in self._recording.runs]
        start, best = f(self._start), None
        bounded = math.isfinite(function_class.delta)
        self._min_points = start - function_class.delta if bounded else start
        if function_class.convex:
            best = (f if self._set is None else f + self._set).stationary_point()
            if bounded:
                program.add_constraint(start - f(best) <= function_class.delta)
            self._min_points = f(best)
        measures = [
            (chance, [self._measure(measure, x, best) for x in _combine(run, statistic)])
            for chance, run in runs
        ]
        if bounded and not function_class.convex:
            for x in {id(x): x for _, run in runs for x in run}.values():
                slack = 0.0 if self._set else f.gradient(x) ** 2 / (2.0 * function_class.L)
                program.add_constraint(start - f(x) + slack <= function_class.delta)
        if statistic == "least":
            return maximise_smallest(program, measures[0][1])
        total = sum((chance * mean(results) for chance, results in measures), 0.0)
        return maximise_smallest(program, [total])

    def _solve_mean_squares(self, statistic: str) -> float:
        """Return the worst case of the least, or of the mean, squared norm of recorded vectors.

        The statistic `statistic` selects the least or the mean.
        """
        program, delta = self._program, self._function_class.delta
        squares = [[self._vector(v) ** 2 for v in run] for run in self._recording.measured]
        if math.isfinite(delta):
            start = self._f(self._start)
            for y, height in self._visited:
                program.add_constraint(start - self._f(y) - height <= delta)
        if statistic == "least":
            return maximise_smallest(program, squares[0])
        chances = [chance for chance, _ in self._recording.runs]
        total = sum(map(operator.mul, chances, map(mean, squares)), 0.0)
        return maximise_smallest(program, [total])

    def _measure(self, measure: str, x: Vector, best: Vector) -> Expression:
        if measure == "suboptimality":
            return self._f(x) - self._f(best)
        g = self._f.gradient(x)
        return g**2 if measure == "gradient_mapping_sq" else g * (x - self._lo(g))

    def make_worst_function(self) -> WorstFunction:
        """Return the function and the set that attain the worst case found by `solve`."""
        nodes = [
            [(x.eval(), g.eval(), v.eval()) for x, g, v in f.list_of_points]
            for f in self._functions
        ]
        vertices = [(v.eval(), g.eval()) for v, g in self._vertices]
        function_class, start = self._function_class, self._start.eval().tolist()
        content = {
            "L": function_class.L,
            "D": function_class.D,
            "convex": function_class.convex,
            "least": float(self._min_points.eval()),
            "start": start,
            "components": [
                [
                    [x.tolist() for x, _, _ in node],
                    [g.tolist() for _, g, _ in node],
                    [float(v) for _, _, v in node],
                ]
                for node in nodes
            ],
            "vertices": [v.tolist() for v, _ in vertices] + ([start] if vertices else []),
            "directions": [g.tolist() for _, g in vertices],
        }
        return WorstFunction(content=content)


def _combine(run: list[Any], over: str) -> list[Any]:
    return run[-1:] if over == "last" else run[:-1]
