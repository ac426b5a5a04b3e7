"""Worst-case function, reconstructed from its values and gradients at a few points.

A smooth function through given points exists if the inequalities of the class hold between them.
The reconstruction is the smallest convex function of this kind.

References
----------
Taylor, Hendrickx, Glineur, Smooth strongly convex interpolation and exact worst-case performance of
first-order methods, Math. Program. 161, 2017; Drori, Taylor, Efficient first-order methods for
convex minimization: a constructive approach, Math. Program. 184, 2020.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.adapters.functions import FunctionSet
from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.problems.base import FiniteSum, check_dense_point, content_digest
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification.worst_case.estimation import TOLERANCE

_TIE = 1e-5
"""Relative difference up to which the products <g, v> of two vertices count as equal."""


class SmoothInterpolant:
    """L-smooth function, convex or not, that has given values and gradients at some points.

    For a nonconvex f, the convex and 2L-smooth function f + L|x|^2/2 is interpolated.

    Parameters
    ----------
    points, gradients
        Shape (m, d).
    values
        Shape (m,).
    L, convex
        The smoothness, and whether the function is convex.
    """

    def __init__(
        self, points: Floats, gradients: Floats, values: Floats, *, L: float, convex: bool
    ) -> None:
        self._shift = 0.0 if convex else L
        self._L = L + self._shift
        gradients = gradients + self._shift * points
        values = values + self._shift * np.sum(points**2, axis=1) / 2
        self._centres = points - gradients / self._L
        self._offsets = values - np.sum(gradients**2, axis=1) / (2 * self._L)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return f(x) and its gradient, shape (d,).

        For convex f, f(x) is the minimum of L|x - sum a_j c_j|^2/2 + sum a_j o_j over weights a_j
        >= 0 of sum 1.
        """
        weights = _nearest_hull_weights(self._centres, self._offsets / self._L, x)
        away = x - weights @ self._centres
        value = self._L * float(away @ away) / 2 + float(weights @ self._offsets)
        shift = self._shift
        return value - shift * float(x @ x) / 2, self._L * away - shift * x


def _nearest_hull_weights(centres: Floats, offsets: Floats, x: Floats) -> Floats:
    """Return the convex weights a that minimise |x - sum a_j c_j|^2/2 + sum a_j o_j; shape (m,).

    The weights are nonnegative, and their sum is 1. The c_j are the rows of `centres`, and the o_j
    are the entries of `offsets`.
    """
    import clarabel
    from scipy import sparse

    m = len(centres)
    moved = centres - x
    rows = sparse.csc_matrix(np.vstack([np.ones((1, m)), -np.eye(m)]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(moved @ moved.T)),
        offsets - offsets.min(),
        rows,
        np.append(1.0, np.zeros(m)),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)],
        settings,
    )
    weights = np.maximum(np.array(solver.solve().x), 0.0)
    return np.asarray(weights / weights.sum())


class WorstFunction(FiniteSum):
    """Problem on which a method attains its worst case: a function and a set.

    Parameters
    ----------
    file
        File written by `pfbench worst-case FILE.py:NAME --json`.
    steps
        Number of steps of the worst case in the file.
    content
        Points, values, gradients and constants that define the function, in place of the file.
    """

    name = "worst-function"
    source = "Taylor, Hendrickx, Glineur 2017"
    n: int
    set: Any

    def __init__(
        self, file: str = "", steps: int = 1, *, content: Mapping[str, Any] | None = None
    ) -> None:
        self.content = content = content or _read_worst_function(file, steps)
        L, convex = float(content["L"]), bool(content["convex"])
        self._functions = [
            SmoothInterpolant(*map(np.array, component), L=L, convex=convex)
            for component in content["components"]
        ]
        self._start = np.array(content["start"], dtype=np.float64)
        self.n, d = len(self._functions), len(self._start)
        self.minimum_value = float(content["least"])
        self.set = WholeSpace(d)
        if content["vertices"]:
            lo = TieBreakingHullOracle(
                np.array(content["vertices"]), np.array(content["directions"])
            )
            self.set = FunctionSet(lo, self._start, diameter=float(content["D"]))
        vars(self).update(
            properties=frozenset({"convex"} if convex else ()),
            best_known=(self.minimum_value, "of its class") if convex else None,
            digest=content_digest(json.dumps(content)),
        )

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self._start.copy()

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return float(np.mean([f(check_dense_point(x, self.shape))[0] for f in self._functions]))

    def gradient(self, x: Any) -> Floats:
        """Return grad f(x)."""
        return np.asarray(np.mean([self.component(i, x) for i in range(self.n)], axis=0))

    def component(self, i: int, x: Any) -> Floats:
        """Return grad f_i(x)."""
        return self._functions[i](check_dense_point(x, self.shape))[1]

    def constants(self, start: Any) -> Constants:
        """Return the constants of the function class over which the worst case was computed."""
        subject = "of its class, up to the solver's error"
        L = float(self.content["L"]) * (1.0 + TOLERANCE)
        smoothness = dict.fromkeys(("L_f", "L_ms", "L_max"), (L, subject))
        n, D = (self.n, "number of components"), (self.set.diameter, subject)
        return Constants.from_derivations(n=n, D=D, **smoothness)


class TieBreakingHullOracle:
    """Linear minimisation oracle of a convex hull that prefers prescribed answers in a tie.

    Parameters
    ----------
    vertices
        Shape (m, d).
    directions
        Directions to which the first k vertices are the answers, shape (k, d), k <= m.
    """

    def __init__(self, vertices: Floats, directions: Floats) -> None:
        self._vertices, self._directions = vertices, directions

    def __call__(self, g: Floats) -> Floats:
        """Return a vertex v that minimises <g, v>, shape (d,).

        Among several minimisers, prefer the prescribed answer to the direction closest to g.
        """
        products = self._vertices @ g
        tie = _TIE * float(np.ptp(products))
        good = np.flatnonzero(products <= products.min() + tie)
        value = good[good < len(self._directions)]
        if len(value):
            away = np.linalg.norm(self._directions[value] - g, axis=1)
            return np.array(self._vertices[value[away.argmin()]])
        return np.array(self._vertices[good[0]])


def _read_worst_function(file: str, steps: int) -> Mapping[str, Any]:
    try:
        data = json.loads(Path(file).read_text(encoding="utf-8"))
        functions: Sequence[Mapping[str, Any]] = data["worst_cases"]
        return next(function["function"] for function in functions if function["steps"] == steps)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise InputError(
            f"{file} has no worst function for {steps} steps: write it by pfbench "
            "worst-case FILE.py:NAME --json > FILE."
        ) from error
