"""Norms of several layers: minimisers, dual norms, zeta, omega, and products of matrices."""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import layer_norm_ball
from pfbench.sets.norms import NormProduct
from pfbench.verification import Claim, Instance, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import vector_quadratic
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statistics import combine_all, decide_deviations

ROUNDING = 1e-12
"""Largest relative error of an identity."""

SHAPES = ((3, 4), (2, 3), (5,))

RADII = (0.7, 2.0, 0.3)

COMBINATIONS: Mapping[str, tuple[Any, Any]] = MappingProxyType(
    {"max": (np.max, np.sum), "sum": (np.sum, np.max), "l2": (np.linalg.norm, np.linalg.norm)}
)
"""Norm, and dual norm, of the vector of the layers' norms."""


def make_layers(combination: str, lmo: str) -> NormedProblem:
    """Return the problem |x|^2/2, with a norm that combines the norms of three layers.

    The layers have the spectral, the Frobenius and the l-infinity norm, with the radii 0.7, 2 and
    0.3.
    """
    text = f"spectral[radius=0.7,lmo={lmo}]*l2[radius=2]*linf[radius=0.3]"
    d = sum(map(math.prod, SHAPES))
    plain = vector_quadratic("l2", weights=(1.0,) * d, begin=(1.0,) * d)
    return NormedProblem(plain.inner, layer_norm_ball(f"{combination}({text})", SHAPES))


INSTANCES = (
    *(make_instance(make_layers, combination=kind, lmo="exact") for kind in COMBINATIONS),
    make_instance(make_layers, combination="sum", lmo="quintic"),
)

# --- definitions, by NumPy alone ------------------------------------------------------------------


def norms_by_radius(ball: NormProduct, x: Floats) -> Floats:
    """Return each layer's norm divided by its radius, |x_l|/rho_l."""
    first, second, third = ball.split(x)
    sizes = np.linalg.norm(first, 2), np.linalg.norm(second), np.abs(third).max()
    return np.array(sizes) / RADII


def dual_norms_times_radius(ball: NormProduct, g: Floats) -> Floats:
    """Return each layer's dual norm times its radius, rho_l |g_l|_*."""
    first, second, third = ball.split(g)
    sizes = np.linalg.norm(first, "nuc"), np.linalg.norm(second), np.abs(third).sum()
    return np.array(sizes) * RADII


def extreme_and_random_points(rng: np.random.Generator, count: int) -> Iterator[Floats]:
    """Yield points at which |x|/|x|_2 or |x|_*/|x|_2 is largest, then `count` random points.

    At some extreme points each layer has a single nonzero entry, of size 1/rho_l. At the others
    all singular values or entries of a layer are equal to rho_l. There are points with all three
    layers, and points on which only one layer is not 0.
    """
    entry = [np.zeros(shape) for shape in SHAPES]
    for layer in entry:
        layer.flat[0] = 1.0
    equal = [np.eye(3, 4), entry[1], np.ones(5)]
    for layers, scales in ((entry, 1.0 / np.array(RADII)), (equal, np.array(RADII))):
        parts = [layer.ravel() * scale for layer, scale in zip(layers, scales, strict=True)]
        yield np.concatenate(parts)
        for k in range(len(parts)):
            yield np.concatenate([part * (j == k) for j, part in enumerate(parts)])
    for _ in range(count):
        yield rng.standard_normal(sum(map(math.prod, SHAPES)))


@check_each_instance({"off": ROUNDING}, combine_all)
def check_layer_norms(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test a norm of several layers, its constants and its minimisers against their definitions."""
    ask = trial.open_oracles(problem)
    points = list(extreme_and_random_points(trial.rng(instance.stream_key), 40))
    kind, is_exact = instance.parameters["combination"], instance.parameters["lmo"] == "exact"
    deviation = _deviations(ask, problem.norm, kind, points) if is_exact else {}
    deviation["products"] = float(ask.norm.matrix_products_per_lmo - (0 if is_exact else 15))
    return {instance.stream_key: decide_deviations(deviation, ROUNDING)}


def _deviations(
    ask: Any, reference: NormProduct, kind: str, points: list[Floats]
) -> dict[str, float]:
    """Return the largest relative error of each quantity of a ball, such as its norm, by name."""
    combined, dual = COMBINATIONS[kind]
    norms = [float(combined(norms_by_radius(reference, x))) for x in points]
    duals = [float(dual(dual_norms_times_radius(reference, x))) for x in points]
    lengths = [float(np.linalg.norm(x)) for x in points]
    vertices = [np.asarray(ask.lo(g)) for g in points]
    sizes = [float(combined(norms_by_radius(reference, v))) for v in vertices]
    return {
        "norm": _max_by_size(
            ask.norm.norm(x) / a - 1.0 for x, a in zip(points, norms, strict=True)
        ),
        "dual": _max_by_size(
            ask.norm.dual_norm(x) / a - 1.0 for x, a in zip(points, duals, strict=True)
        ),
        "value": _max_by_size(
            np.vdot(g, v) / a + 1.0 for g, v, a in zip(points, vertices, duals, strict=True)
        ),
        "size": max(0.0, max(sizes) - 1.0),
        "zeta": max(a / b for a, b in zip(duals, lengths, strict=True)) / ask.norm.zeta - 1.0,
        "omega": max(a / b for a, b in zip(norms, lengths, strict=True)) / ask.norm.omega - 1.0,
    }


def _max_by_size(numbers: Iterator[float]) -> float:
    return float(max(numbers, key=abs))


NORMS = Claim(
    name="layers-norms",
    source="pfbench",
    kind="identity",
    statement=(
        "for the largest, the sum, or the root of the sum of squares of |x_l|/rho_l, min <g, x> = "
        "-|g|_* with the sum, the largest, or the root of the sum of squares of rho_l |g_l|_*; "
        "zeta and omega are attained; products are those of all layers"
    ),
    check=check_layer_norms,
    instances=INSTANCES,
    schedule="none: a statement about balls",
    expected_seconds=(0.1, 0.1),
)
