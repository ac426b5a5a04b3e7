"""Test problem, curved everywhere, on which methods are compared with their references."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import Indices
from pfbench.problems.base import ComponentHessiansAtPoint, FiniteSum, index_weights
from pfbench.sets import L1Ball, L2Ball, LinfBall
from pfbench.sets.body import ConvexBody
from pfbench.sets.catalogue import norm_ball, vector_norm_ball
from pfbench.sets.norms import EntrywiseBall, NormBall
from pfbench.sets.penalties import L1Penalty, NormPenalty
from pfbench.sets.whole_space import WholeMatrices, WholeSpace

Shape = tuple[int, ...]

_WAVE = 0.1


@dataclass(frozen=True, eq=False)
class RippledLogCosh(FiniteSum):
    """Test problem: a finite sum of log-cosh functions with small sine ripples.

    The components are f_i(x) = l_i log cosh(<a_i, x> - b_i) + 0.1 sin(<k_i, x>). In the variant for
    examples by hand, f_i(x) = l_i (<a_i, x> - b_i)^2/2 with small integers.

    Parameters
    ----------
    n
        The number of components.
    set, penalty, norm
        The feasible set, the penalty, and the norm in place of a set.
    scale
        Factor of f.
    heavy
        Factor of the first component, by which gradients of batches with it are longer.
    at_vertex
        Whether the start is a vertex of the set.
    is_quadratic
        Whether the components are quadratic.
    seed
        Seed of the data and the start; 0 for the usual ones.
    """

    name: ClassVar[str] = "log-cosh"

    n: int = 11
    set: ConvexBody = field(default_factory=lambda: WholeSpace(4))
    penalty: NormPenalty | None = None
    norm: NormBall | None = None
    scale: float = 1.0
    heavy: float = 1.0
    at_vertex: bool = False
    is_quadratic: bool = False
    seed: int = 0

    @cached_property
    def _data(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Arrays l, b, a, k of the class's formula, shapes (n,), (n,), (n, d) and (n, d)."""
        rng, d = np.random.default_rng(29 + self.seed), prod(self.set.shape)
        lengths = self.scale * rng.uniform(0.5, 1.5, self.n)
        lengths[0] *= self.heavy
        if self.is_quadratic:
            a = rng.integers(-1, 3, (self.n, d)).astype(np.float64)
            a[:, 0] = 1 + np.arange(self.n) % 2
            b = rng.integers(-2, 3, self.n).astype(np.float64)
            lengths = self.scale * np.ones(self.n)
            lengths[0] *= self.heavy
            return lengths, b, a, np.zeros((self.n, d))
        return (
            lengths,
            rng.uniform(-1.5, 1.5, self.n),
            rng.normal(size=(self.n, d)) / np.sqrt(max(1.0, d / 4.0)),
            rng.uniform(-2.0, 2.0, (self.n, d)) / np.sqrt(max(1.0, d / 4.0)),
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Number of components and name of the set, by parameter name."""
        return MappingProxyType({"n": self.n, "set": self.set.name})

    def start(self) -> Floats:
        """Return the start: a fixed interior point, or a vertex of the set if `at_vertex`."""
        shape = self.set.shape
        if self.at_vertex and self.set.diameter < np.inf:
            direction = np.zeros(shape)
            direction[(0,) * len(shape)] = 1.0
            return np.array(self.set.lo(direction))
        if self.is_quadratic:
            return np.resize([0.5, -0.25, 0.125], shape)
        point = np.resize([0.21, -0.13, 0.17, 0.05], shape)
        if self.seed:
            point = np.random.default_rng(self.seed).uniform(-0.2, 0.2, shape)
        return np.asarray(point * min(1.0, 6.0 / point.size))

    @property
    def formula(self) -> str:
        """Components, start, and set (or norm or penalty) as text, if the components are quadratic.

        The text is "" for other components. The coordinates are x1, x2, ... in the order of rows.
        """
        if not self.is_quadratic:
            return ""
        lengths, b, a, _ = self._data
        terms = [
            f"{'' if length == 1.0 else f'{length:g} '}({_format_affine(row, shift)})^2/2"
            for length, row, shift in zip(lengths, a, b, strict=True)
        ]
        components = ", ".join(f"f_{i}(x) = {term}" for i, term in enumerate(terms))
        start = ", ".join(f"{entry:g}" for entry in np.ravel(self.start()))
        return f"{components}, x_0 = ({start}), {self.norm or self.penalty or self.set!r}"

    def component_smoothness(self) -> Floats:
        """Return a smoothness constant L_i of each component, shape (n,)."""
        lengths, _, a, k = self._data
        waves = _WAVE * self.scale * (k * k).sum(axis=1)
        return np.asarray(lengths * (a * a).sum(axis=1) + waves)

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        lengths, b, a, k = self._data
        flat = x.ravel()
        z = a @ flat - b
        logs = z * z / 2.0 if self.is_quadratic else np.logaddexp(z, -z) - np.log(2.0)
        return float((lengths * logs + _WAVE * self.scale * np.sin(k @ flat)).mean())

    def component_gradients(self, x: Floats, indices: Integers | None = None) -> Floats:
        """Return the gradients of the components in `indices` at x, one in each row."""
        lengths, b, a, k = self._data
        if indices is not None:
            lengths, b, a, k = lengths[indices], b[indices], a[indices], k[indices]
        flat = x.ravel()
        of_logs, of_waves = lengths * self._slope(a @ flat - b), np.cos(k @ flat)
        return np.asarray(of_logs[:, None] * a + (_WAVE * self.scale * of_waves)[:, None] * k)

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient of f at x."""
        lengths, b, a, k = self._data
        flat = x.ravel()
        product = (lengths * self._slope(a @ flat - b)) @ a
        product = product + (_WAVE * self.scale * np.cos(k @ flat)) @ k
        return np.asarray((product / self.n).reshape(x.shape))

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        indices, weights = index_weights(sample, self.n)
        return np.asarray((weights @ self.component_gradients(x, indices)).reshape(x.shape))

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the Hessians of all components at s."""
        lengths, b, a, k = self._data
        flat = s.ravel()
        bends = lengths / (1.0 if self.is_quadratic else np.cosh(a @ flat - b) ** 2)
        turns = -_WAVE * self.scale * np.sin(k @ flat)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            complete = np.arange(self.n) if sample is None else sample
            indices, weights = index_weights(complete, self.n)
            p, q, v = a[indices], k[indices], u.ravel()
            product = (weights * bends[indices] * (p @ v)) @ p
            product = product + (weights * turns[indices] * (q @ v)) @ q
            return np.asarray(product.reshape(u.shape))

        return ComponentHessiansAtPoint(apply_hessian)

    def _slope(self, z: Floats) -> Floats:
        return z if self.is_quadratic else np.tanh(z)


def _format_affine(row: Floats, shift: float) -> str:
    """Return <row, x> - shift as text, such as "x1 - 2 x2 + 1"."""
    variables = [f"x{j + 1}" for j in range(len(row))] if len(row) > 1 else ["x"]
    text = ""
    for factor, variable in (*zip(row, variables, strict=True), (-shift, "")):
        if factor:
            size = f"{abs(factor):g}" if abs(factor) != 1.0 or not variable else ""
            text += f"{' - ' if factor < 0.0 else ' + '}{size}{' ' * bool(size)}{variable}".rstrip()
    return text.removeprefix(" + ")


MATRIX: Shape = (2, 3)


def make_l2_ball_problem(
    shape: Shape = (4,), radius: float = 1.0, **options: Any
) -> RippledLogCosh:
    """Return a log-cosh test problem on a Euclidean ball."""
    return RippledLogCosh(set=_make_entrywise_set(L2Ball(prod(shape), radius), shape), **options)


def make_l1_ball_problem(
    shape: Shape = (4,), radius: float = 1.0, **options: Any
) -> RippledLogCosh:
    """Return a log-cosh test problem on an l1 ball."""
    return RippledLogCosh(set=_make_entrywise_set(L1Ball(prod(shape), radius), shape), **options)


def make_box_problem(shape: Shape = (4,), radius: float = 0.3, **options: Any) -> RippledLogCosh:
    """Return a log-cosh test problem on a box."""
    return RippledLogCosh(set=_make_entrywise_set(LinfBall(prod(shape), radius), shape), **options)


def make_unconstrained_problem(shape: Shape = (4,), **options: Any) -> RippledLogCosh:
    """Return a log-cosh test problem without a feasible set and without a penalty."""
    return RippledLogCosh(set=_make_block_set(shape), **options)


def make_penalised_problem(shape: Shape = (4,), **options: Any) -> RippledLogCosh:
    """Return a log-cosh test problem with an l1 penalty."""
    return RippledLogCosh(set=_make_block_set(shape), penalty=L1Penalty(0.05), **options)


def make_problem_with_norm(
    shape: Shape = (6,), norm: str = "linf", **options: Any
) -> RippledLogCosh:
    """Return a log-cosh test problem with a norm in place of a feasible set.

    For a matrix norm, the points consist of matrix blocks and vector blocks.
    """
    of_norm = vector_norm_ball(norm, prod(shape)) if len(shape) == 1 else norm_ball(norm, shape)
    return RippledLogCosh(set=_make_block_set(shape), norm=of_norm, **options)


BUILDERS: Mapping[str, Callable[..., RippledLogCosh]] = MappingProxyType(
    {
        "ball": make_l2_ball_problem,
        "octahedron": make_l1_ball_problem,
        "cube": make_box_problem,
        "space": make_unconstrained_problem,
        "penalised": make_penalised_problem,
        "normed": make_problem_with_norm,
    }
)
"""Builders of problems by the kind of their set."""


def _make_block_set(shape: Shape) -> ConvexBody:
    return WholeSpace(prod(shape)) if len(shape) == 1 else WholeMatrices((shape[0], shape[1]))


def _make_entrywise_set(vectors: NormBall, shape: Shape) -> ConvexBody:
    return vectors if len(shape) == 1 else EntrywiseBall(shape, vectors)
