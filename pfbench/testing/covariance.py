"""Checks of covariance: if a map transforms the problem, it must map a method's iterates."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.testing.failure_messages import Layers, fail, format_call, max_deviation
from pfbench.testing.steppers import stepper

__tracebackhide__ = True  # of pytest

_FACTOR = 4.0
"""Power of two, which commutes with rounding."""


@dataclass(frozen=True)
class _ProblemMap:
    """Maps of points and gradients to a transformed problem; `back` inverts the map of points."""

    point: Callable[[Layers], Layers]
    gradient: Callable[[Layers], Layers]
    back: Callable[[Layers], Layers]


def compute_tolerance(make: stepper) -> float:
    """Return the tolerance for comparing two runs, as a fraction of the largest step."""
    return min(max(1e-9, 2.0**14 * make.unit_roundoff), 0.25)


def covariant(
    make: Any,
    group: str,
    *,
    scales: Mapping[str, float] = MappingProxyType({}),
    tolerance: float | None = None,
    **hyper: Any,
) -> None:
    """Check that a transformation of the problem transforms the iterates in the same way.

    Parameters
    ----------
    make
        A stepper from `stepper`; for "affine map of the set", a solver
        ``run(grad, lmo, x0, **hyper)``.
    group
        ===========================  ==============================================
        "scale of f"                 gradients times 4
        "scale of x"                 points times 4, gradients over 4
        "permutation"                of the entries along each axis
        "rotation"                   of a layer's entries, as one vector
        "two-sided rotation"         of a matrix, W -> U W V
        "order of layers"            the layers in reverse order
        "idle layer"                 one more layer, without gradients: it stays
        "affine map of the set"      of the polytope of a Frank-Wolfe method
        ===========================  ==============================================
    scales
        For a parameter that scales with the group, the power of the group's factor; 0 if not given.
    tolerance
        Largest deviation, as a multiple of the largest step. By default it follows from the type:
        1e-9 in double precision.
    hyper
        The parameters.

    Raises
    ------
    AssertionError
        If the runs differ.
    InputError
        If the group is unknown, or not defined for these layers.
    """
    if group == "affine map of the set":
        _check_affine(make, hyper, tolerance)
        return
    check_choice("group", group, (*_GROUPS, "affine map of the set"))
    unknown = [name for name in scales if name not in hyper]
    if unknown:
        raise InputError(f"scales names {unknown[0]}: pass this parameter by {unknown[0]}=VALUE.")
    x0, grads = make.draw()
    mapped, transform = _GROUPS[group](make, np.random.default_rng((make.seed, 1)))
    scaled = {
        name: value * _FACTOR ** scales[name] if name in scales else value
        for name, value in hyper.items()
    }
    expected = make.follow(x0, grads, hyper)
    recorded = mapped.follow(transform.point(x0), [transform.gradient(g) for g in grads], scaled)
    if group == "idle layer":
        expected = [[*point, recorded[0][-1]] for point in expected]
    with np.errstate(invalid="ignore", over="ignore"):
        back = [transform.back(point) for point in recorded]
    distance, t, words = max_deviation(back, expected)
    if not distance <= (compute_tolerance(make) if tolerance is None else tolerance):
        powers = ", ".join(f"{name} {scales.get(name, 0):g}" for name in hyper)
        lines = [
            f"{make.label} is not covariant under {group}: step {t} differs by {distance:.3g} of the "  # noqa: E501
            "largest step",
            f"transformed back, {words}",
        ]
        if group.startswith("scale"):
            lines.append(
                f"scaled with these powers of the factor {_FACTOR:g}: {powers}; if a constant such "
                "as eps scales, too, give it and its power in scales, or pass tolerance="
            )
        options = {"scales": scales, "tolerance": tolerance}
        fail(lines, format_call(covariant, make, group, **options, **hyper))


# --- groups ---------------------------------------------------------------------------------------


def _scaling(point: float, gradient: float) -> Callable[..., tuple[stepper, _ProblemMap]]:
    def times(factor: float) -> Callable[[Layers], Layers]:
        return lambda layers: [factor * layer for layer in layers]

    return lambda make, rng: (make, _ProblemMap(times(point), times(gradient), times(1 / point)))


def _make_layer_isometry_sampler(
    draw: Callable[[Any, tuple[int, ...]], tuple[Callable[..., Floats], Callable[..., Floats]]],
) -> Callable[..., tuple[stepper, _ProblemMap]]:
    """Return a function that draws an isometry for each layer, for points and gradients alike."""

    def transform(make: stepper, rng: Any) -> tuple[stepper, _ProblemMap]:
        sample = [draw(rng, shape) for shape in make.shapes]

        def apply(side: int) -> Callable[[Layers], Layers]:
            return lambda layers: [f[side](a) for f, a in zip(sample, layers, strict=True)]

        return make, _ProblemMap(apply(0), apply(0), apply(1))

    return transform


def _permutation(rng: Any, shape: tuple[int, ...]) -> Any:
    orders = [rng.permutation(k) for k in shape]
    inverse = [np.argsort(order) for order in orders]
    return (lambda a: a[np.ix_(*orders)]), (lambda a: a[np.ix_(*inverse)])


def _rotation(rng: Any, shape: tuple[int, ...]) -> Any:
    Q = _orthogonal(rng, int(np.prod(shape)))
    return (lambda a: (Q @ a.ravel()).reshape(shape)), (lambda a: (Q.T @ a.ravel()).reshape(shape))


def _two_sided(rng: Any, shape: tuple[int, ...]) -> Any:
    if len(shape) != 2:
        raise InputError(f"group='two-sided rotation' needs matrices, not layers of shape {shape}.")
    U, V = _orthogonal(rng, shape[0]), _orthogonal(rng, shape[1])
    return (lambda a: U @ a @ V), (lambda a: U.T @ a @ V.T)


def _orthogonal(rng: Any, k: int) -> Floats:
    return np.linalg.qr(rng.standard_normal((k, k)))[0]


def _reverse_layers(make: stepper, rng: Any) -> tuple[stepper, _ProblemMap]:
    if len(make.shapes) < 2:
        raise InputError("group='order of layers' needs two layers: give shape=[(4,), (4,)].")

    def turn(layers: Layers) -> Layers:
        return layers[::-1]

    return replace(make, shape=[*make.shapes[::-1]]), _ProblemMap(turn, turn, turn)


def _add_idle_layer(make: stepper, rng: Any) -> tuple[stepper, _ProblemMap]:
    extra = rng.standard_normal(make.shapes[-1])
    return replace(make, shape=[*make.shapes, make.shapes[-1]]), _ProblemMap(
        lambda layers: [*layers, extra], lambda layers: [*layers, None], lambda layers: layers
    )


_GROUPS: Mapping[str, Callable[[stepper, Any], tuple[stepper, _ProblemMap]]] = MappingProxyType(
    {
        "scale of f": _scaling(1.0, _FACTOR),
        "scale of x": _scaling(_FACTOR, 1 / _FACTOR),
        "permutation": _make_layer_isometry_sampler(_permutation),
        "rotation": _make_layer_isometry_sampler(_rotation),
        "two-sided rotation": _make_layer_isometry_sampler(_two_sided),
        "order of layers": _reverse_layers,
        "idle layer": _add_idle_layer,
    }
)


# --- affine maps of Frank-Wolfe problems ----------------------------------------------------------


def _check_affine(
    solver: Callable[..., Any], hyper: Mapping[str, Any], tolerance: float | None
) -> None:
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
        Largest distance, relative to the diameter of the polytope; by default 1e-9.
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
    expected = _collect_solver_iterates(solver, plain, hyper)
    points = (_collect_solver_iterates(solver, mapped, hyper) - b) @ inverse.T
    distance = np.abs(points - expected).max(axis=1) / float(np.ptp(vertices, axis=0).max())
    wrong = np.flatnonzero(~(distance <= (1e-9 if tolerance is None else tolerance)))
    if wrong.size:
        t = int(wrong[0])
        lines = [
            f"{solver.__name__} is not covariant under an affine map of the set: point {t} differs "
            f"by {distance[t]:.3g} of the diameter",
            f"transformed back, {np.round(points[t], 6).tolist()}, expected "
            f"{np.round(expected[t], 6).tolist()}",
        ]
        options = {"tolerance": tolerance, **hyper}
        fail(lines, format_call(covariant, solver, "affine map of the set", **options))


def _collect_solver_iterates(
    solver: Callable[..., Any], parameters: Mapping[str, Any], hyper: Mapping[str, Any]
) -> Floats:
    """Run a solver with the given f, grad, lmo and x0; return its k points, shape (k, d)."""
    existing = inspect.signature(solver).parameters
    functions = {name: item for name, item in parameters.items() if name in existing}
    result = solver(**functions, **hyper)
    return np.atleast_2d(
        np.array(list(result) if inspect.isgenerator(result) else result, dtype=float)
    )
