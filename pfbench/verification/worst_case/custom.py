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
    PerformanceEstimation,
    Vector,
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
        self._recording, self._function_class = recording, function_class
        self._estimation = worst = PerformanceEstimation()
        self._set = worst.add_set_indicator(function_class.D) if constrained else None
        self._points: dict[bytes, Vector] = {}
        self._vectors: list[Vector] = [None]
        self._vertices: list[tuple[Vector, Vector]] = []
        self._start = worst.add_start(self._set)
        self._functions = [
            worst.add_smooth_function(function_class.L, convex=function_class.convex)
            for _ in range(function_class.n)
        ]
        self._f = mean(self._functions)
        self._prox_of = worst.add_penalty(self._start) if has_penalty else self._set
        if has_penalty or (any(recording.measured) and not constrained):
            # Methods that query only differences of components, full gradients and proximal maps
            # are not restricted by this: linear functions can be moved between f_i and h.
            common = worst.add_start() if has_penalty else worst.add_vector()
            for f_i in self._functions:
                f_i.add_point((self._start, common, worst.zero))
        self._visited: list[tuple[Vector, Expression]] = []
        points, near = [self._start], list[tuple[Vector, Vector, float]]()
        for answer in recording.answers:
            vector = None if answer.kind == FREE else self._vector(answer.point)
            if answer.kind == GRADIENT:
                self._vectors.append(self._functions[answer.component].gradient(vector))
            elif answer.kind == FREE:
                self._vectors.append(worst.add_vector())
                worst.require(self._vectors[-1] ** 2 <= answer.length**2)
            else:
                y, height = self._start, 0.0
                if answer.kind == VERTEX:
                    y = self._lo(vector)
                elif answer.kind == PROX:
                    y, height = worst.prox(vector, self._prox_of, answer.length)
                else:
                    y = worst.add_vector(self._set)
                    near.append(((y - vector) / answer.length, y, answer.gap))
                points.append(y)
                if has_penalty or answer.kind == NEAR_PROX:
                    self._visited.append((y, height))
                self._vectors.append(y - self._start)
        for slope, y, gap in near:
            worst.require(*(slope * (y - u) <= gap for u in points if u is not y))

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
            self._points[key] = sum(parts[1:], parts[0]) if parts else self._estimation.add_start()
        return self._points[key]

    def _lo(self, g: Vector) -> Vector:
        v = self._estimation.lo(g, self._set)
        self._vertices.append((v, g))
        return v

    def solve(self, measure: str, statistic: str) -> float:
        """Return a measure's largest value over the function class; NaN if the solver fails."""
        worst, f, function_class = self._estimation, self._f, self._function_class
        if any(self._recording.measured):
            return self._solve_mean_squares(statistic)
        runs = [(chance, [self._vector(x) for x in run]) for chance, run in self._recording.runs]
        start, best = f(self._start), None
        bounded = math.isfinite(function_class.delta)
        self._min_points = start - function_class.delta if bounded else start
        if function_class.convex:
            best = (f if self._set is None else f + self._set).stationary_point()
            if bounded:
                worst.require(start - f(best) <= function_class.delta)
            self._min_points = f(best)
        measures = [
            (chance, [self._measure(measure, x, best) for x in _combine(run, statistic)])
            for chance, run in runs
        ]
        if bounded and not function_class.convex:
            for x in {id(x): x for _, run in runs for x in run}.values():
                slack = 0.0 if self._set else f.gradient(x) ** 2 / (2.0 * function_class.L)
                worst.require(start - f(x) + slack <= function_class.delta)
        if statistic == "least":
            return worst.solve(*measures[0][1])
        return worst.solve(sum((chance * mean(results) for chance, results in measures), 0.0))

    def _solve_mean_squares(self, statistic: str) -> float:
        """Return the worst case of the least, or of the mean, squared norm of recorded vectors.

        The statistic `statistic` selects the least or the mean.
        """
        worst, delta = self._estimation, self._function_class.delta
        squares = [[self._vector(v) ** 2 for v in run] for run in self._recording.measured]
        if math.isfinite(delta):
            start = self._f(self._start)
            for y, height in self._visited:
                worst.require(start - self._f(y) - height <= delta)
        if statistic == "least":
            return worst.solve(*squares[0])
        chances = [chance for chance, _ in self._recording.runs]
        return worst.solve(sum(map(operator.mul, chances, map(mean, squares)), 0.0))

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
