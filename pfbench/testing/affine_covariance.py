"""Check of Frank-Wolfe methods: if an affine map transforms the problem, it maps the iterates."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.testing.failure_messages import fail, format_call

__tracebackhide__ = True  # of pytest

_NAMES = ("f", "grad", "lmo", "x0")


def check_affine(solver: Callable[..., Any], hyper: Mapping[str, Any], tolerance: float) -> None:
    """Check that a Frank-Wolfe solver commutes with an affine map of a random polytope.

    The points on the mapped problem must be the images of the points on the original one.

    Parameters
    ----------
    solver
        Function of any of f, grad, lmo and x0, and of the parameters, that returns the last point
            or all points.
    hyper
        The parameters.
    tolerance
        Largest distance, relative to the diameter of the polytope.
    """
    rng = np.random.default_rng(0)
    d, A = 4, np.diag([1.0, 3.0, 0.25, 2.0]) @ rng.standard_normal((4, 4)) + 2 * np.eye(4)
    b, vertices = rng.standard_normal(d), rng.standard_normal((12, d))
    root, c = rng.standard_normal((d, d)), 0.1 * rng.standard_normal(d)
    inverse = np.linalg.inv(A)

    def value(x: Floats) -> float:
        return float(np.sum((root @ (x - c)) ** 2) / 2)

    def gradient(x: Floats) -> Floats:
        return np.asarray(root.T @ (root @ (x - c)))

    def minimise(g: Floats) -> Floats:
        return np.asarray(vertices[int(np.argmin(vertices @ g))].copy())

    plain = {"f": value, "grad": gradient, "lmo": minimise, "x0": vertices[0].copy()}
    mapped = {
        "f": lambda y: value(inverse @ (y - b)),
        "grad": lambda y: inverse.T @ gradient(inverse @ (y - b)),
        "lmo": lambda g: A @ minimise(A.T @ g) + b,
        "x0": A @ vertices[0] + b,
    }
    expected = _run_solver(solver, plain, hyper)
    points = (_run_solver(solver, mapped, hyper) - b) @ inverse.T
    if points.shape != expected.shape:
        raise InputError(
            f"{solver.__name__} returns {len(expected)} points for the set, but {len(points)} "
            "for the image of the set under an affine map."
        )
    distance = np.abs(points - expected).max(axis=1) / float(np.ptp(vertices, axis=0).max())
    wrong = np.flatnonzero(~(distance <= tolerance))
    if wrong.size:
        t = int(wrong[0])
        lines = [
            f"{solver.__name__} is not covariant under an affine map of the set: point {t} differs "
            f"by {distance[t]:.3g} of the diameter",
            f"transformed back, {np.round(points[t], 6).tolist()}, expected "
            f"{np.round(expected[t], 6).tolist()}",
        ]
        fail(lines, format_call("covariant", solver, "affine map of the set", **hyper))


def _run_solver(
    solver: Callable[..., Any], parameters: Mapping[str, Any], hyper: Mapping[str, Any]
) -> Floats:
    """Run a solver on the problem with the given f, grad, lmo and x0; return its points (k, d)."""
    existing = inspect.signature(solver).parameters
    lacking = [
        n for n, p in existing.items() if p.default is p.empty and n not in {*_NAMES, *hyper}
    ]
    if lacking:
        raise InputError(f"{solver.__name__} needs {lacking[0]}: give it, as in {lacking[0]}=1.")
    result = solver(**{name: parameters[name] for name in _NAMES if name in existing}, **hyper)
    return np.atleast_2d(
        np.array(list(result) if inspect.isgenerator(result) else result, dtype=float)
    )
