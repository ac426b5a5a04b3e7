"""Families of synthetic, small and dense problems for testing methods for norms."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.parameters import parameter
from pfbench.problems.additive_noise import (
    NOISES,
    MatrixLeastSquares,
    SeparableQuadratic,
    make_noise,
)
from pfbench.problems.base import FiniteSum
from pfbench.problems.family import AnySetFamily
from pfbench.problems.size_limits import check_length
from pfbench.problems.two_layer import TwoLayerNetwork
from pfbench.problems.with_norm import NormedProblem
from pfbench.sets.body import ConvexBody
from pfbench.sets.named_norms import layer_norm_ball


@dataclass(frozen=True, kw_only=True)
class NoisyFamily(AnySetFamily):
    """Quadratic with additive noise."""

    only_set = "none"

    set: str | None = parameter(None, "feasible set, see `pfbench list sets`", "none")
    noise: str = parameter(
        "none", f"noise of the components: {', '.join(NOISES)}; with none, n = 1"
    )
    sigma: float = parameter(1.0, "standard deviation of the noise, exact")
    components: int = parameter(64, "number of components (n) of normal noise")
    seed: int = parameter(0, "seed of the random data")

    def _make_rng(self) -> np.random.Generator:
        return np.random.default_rng(check_integer("seed", self.seed, minimum=0))

    def _make_noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return make_noise(self.noise, self.sigma, shape, self.components, rng)


@dataclass(frozen=True, kw_only=True)
class SeparableFamily(NoisyFamily):
    """Quadratic (kappa u_1^2 + u_2^2 + ... + u_d^2)/2, u = x - c, from (1, ..., 1)."""

    problem: ClassVar[type[FiniteSum]] = SeparableQuadratic
    summary = "(kappa x_1^2 + x_2^2 + ...)/2 with noise of known variance, convex"
    points = "vectors"

    columns: int = parameter(11, "length of a point (d)")
    condition: float | None = parameter(None, "kappa", "d")
    begin: float = parameter(1.0, "value of each entry of the start, if that is in the set")
    centre: float = parameter(0.0, "each entry of c")

    def build(self) -> FiniteSum:
        """Return the problem."""
        d, rng = check_integer("columns", self.columns, minimum=1), self._make_rng()
        check_length("a point", d)
        weights = np.ones(d)
        weights[0] = d if self.condition is None else self.condition
        feasible = self._build_feasible_set((d,))
        begin = np.full(d, check_real("begin", self.begin))
        quadratic = SeparableQuadratic(
            set=feasible,
            start_point=begin if feasible.contains(begin) else feasible.start(),
            noise=self._make_noise((d,), rng),
            weights=weights,
            centre=check_real("centre", self.centre),
        )
        return self._add_norm(quadratic)


@dataclass(frozen=True, kw_only=True)
class MatrixLeastSquaresFamily(NoisyFamily):
    """Least squares |A W - B|^2/2 with normal A and B."""

    problem: ClassVar[type[FiniteSum]] = MatrixLeastSquares
    summary = "|A W - B|^2/2 over matrices with noise of known variance, convex"
    points = "matrices"

    rows: int = parameter(8, "rows of A and B")
    columns: int = parameter(3, "columns of A, rows of W")
    outputs: int = parameter(5, "columns of W")

    def build(self) -> FiniteSum:
        """Return the problem."""
        sizes = (("rows", self.rows), ("columns", self.columns), ("outputs", self.outputs))
        p, m, n = (check_integer(name, size, minimum=1) for name, size in sizes)
        check_length("A", p * m)
        check_length("B", p * n)
        check_length("a point", m * n)
        rng = self._make_rng()
        A, B = rng.standard_normal((p, m)), rng.standard_normal((p, n))
        feasible = self._build_feasible_set((m, n))
        noise = self._make_noise((m, n), rng)
        squares = MatrixLeastSquares(
            set=feasible, start_point=feasible.start(), noise=noise, A=A, B=B
        )
        return self._add_norm(squares)


@dataclass(frozen=True, kw_only=True)
class TwoLayerFamily(AnySetFamily):
    """Two-layer network; its targets are the outputs of another network of the same size."""

    problem: ClassVar[type[FiniteSum]] = TwoLayerNetwork
    summary = "network of two layers, |W2 tanh(W1 a) - b|^2/2, non-convex"
    points = "vectors"
    only_set = "l2"
    default_radius = 5.0

    set: str | None = parameter(
        None,
        "feasible set, see `pfbench list sets`, or a ball of each layer, such as "
        "spectral[radius=2]*l2; none for the whole space",
        "l2",
    )
    norm: str | None = parameter(
        None, "norm of both layers, or of each, such as spectral*linf, sum(spectral*linf)", "none"
    )
    rows: int = parameter(40, "n")
    columns: int = parameter(5, "inputs (m)")
    hidden: int = parameter(4, "hidden units (h)")
    outputs: int = parameter(3, "outputs (k)")
    domain: float | None = parameter(
        None, "with set=none, spectral norm of W2 up to which the constants hold", "infinite"
    )
    seed: int = parameter(0, "seed of the data and of the start")

    def build(self) -> FiniteSum:
        """Return the problem."""
        names = ("rows", "columns", "hidden", "outputs")
        n, m, h, k = (check_integer(name, getattr(self, name), minimum=1) for name in names)
        check_length("the features", n * max(m, h, k))
        check_length("a point", h * (m + k))
        rng = np.random.default_rng(check_integer("seed", self.seed, minimum=0))
        features = rng.standard_normal((n, m)) / np.sqrt(m)
        hidden = np.tanh(features @ rng.standard_normal((m, h)))
        targets = hidden @ rng.standard_normal((h, k)) / np.sqrt(h)
        start = 0.3 * rng.standard_normal(h * (m + k))
        blocks = (h, m), (k, h)
        feasible: ConvexBody
        if self.set is not None and set(self.set) & set("*/[("):
            feasible = layer_norm_ball(self.set, blocks)
            start = start / max(1.0, feasible.norm(start))
        else:
            feasible = self._build_feasible_set(start.shape)
        network = TwoLayerNetwork(
            features=features,
            targets=targets,
            hidden=h,
            set=feasible,
            begin=start if feasible.contains(start) else feasible.project(start),
            domain=self._check_domain(feasible),
        )
        if self.norm is None:
            return network
        return NormedProblem(network, layer_norm_ball(self.norm, blocks))

    def _check_domain(self, feasible: ConvexBody) -> float:
        """Return the domain; raise if there is a set, on which the constants hold."""
        if self.domain is None:
            return math.inf
        if math.isfinite(feasible.diameter):
            raise InputError("the constants hold on the set: give domain with set=none alone.")
        return check_real("domain", self.domain, above=0.0)
