"""Norm balls, for methods that use a norm in place of a feasible set.

The dual norm is |g|_* = max <g, x> over |x| <= 1. The constants are zeta = max |x|_*/|x|_2 and
omega = max |x|/|x|_2. Let rho_2 be the largest Euclidean norm in the ball of radius rho. Then zeta
= rho_2/rho, because both are the maximum of <x, v> over |x| <= 1 and |v|_2 <= 1. Let L_2 be the
Euclidean smoothness, and L the smoothness in |grad f(x) - grad f(y)|_* <= L |x - y|. Then L_2 <=
omega^2 L and L <= zeta^2 L_2. pfbench derives these relations; the balls are those of Pethick et
al. 2025.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats, LowerUpper
from pfbench.base.parameters import DelegatedAttribute
from pfbench.points import RankOne
from pfbench.sets.body import ConvexBody, FlattenedBody, check_gradient, check_projectable, is_point


class LmoQuality(NamedTuple):
    """Two measures, both 1 for a minimiser, of how well a point minimises <g, v> over a ball.

    For a point -rho O and radius rho they are lower = <g, O>/|g|_* and upper = |O|.
    """

    lower: float
    upper: float


class NormBall(ConvexBody):
    """Base class of norm balls {|x| <= radius}."""

    if TYPE_CHECKING:  # a field or a property of each ball

        @property
        def radius(self) -> float:
            """Radius rho of the ball."""

    @property
    @abstractmethod
    def zeta(self) -> float:
        """Exact maximum zeta of |x|_*/|x|_2, where |x|_* is the dual norm."""

    @property
    @abstractmethod
    def omega(self) -> float:
        """Exact maximum omega of |x|/|x|_2."""

    @abstractmethod
    def norm(self, x: Floats) -> float:
        """Return the norm |x|."""

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether the norm of x is at most ``radius (1 + tolerance)``.

        x is an array or a vertex.
        """
        if isinstance(x, RankOne):
            x = x.matrix()
        return is_point(x, self.shape) and self.norm(x) <= self.radius * (1.0 + tolerance)

    def random_vertex(self, rng: np.random.Generator) -> Any:
        """Return the vertex that minimises <g, v> for a standard normal g."""
        return self.lo(rng.standard_normal(self.shape))

    def start(self) -> Floats:
        """Return the start point 0."""
        return np.zeros(self.shape)

    @property
    def block_norm_names(self) -> frozenset[str]:
        """Names of the norms of the blocks of a point; one name unless the ball is a product."""
        return frozenset({self.name})

    @property
    def matrix_products_per_lmo(self) -> int:
        """Number of matrix products of an approximate linear minimisation; 0 for an exact one."""
        return 0

    def dual_norm(self, g: Floats) -> float:
        """Return the dual norm |g|_*, exact up to rounding."""
        return abs(self.minimum(g)[0]) / self.radius

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return a minimiser of <g, v> over the ball; entries that g does not determine are 0.

        The minimiser is undetermined at g = 0, and in entries, rows or columns of g that are 0. It
        is also undetermined in singular directions of singular value 0. For example, sgn(0) = 0.
        Raises `DivergedError` as `lo` does.
        """
        if not check_gradient(g, self.shape).any():
            return np.zeros(self.shape)
        return _as_array(self.lo(g))

    def lmo_quality(self, g: Floats) -> LmoQuality:
        """Return the accuracy of the minimiser `lo_zero_if_undetermined(g)`; (1, 1) if g is 0."""
        size = self.dual_norm(g)
        if size == 0.0:
            return LmoQuality(1.0, 1.0)
        v = self.lo_zero_if_undetermined(g)
        return LmoQuality(-float(np.vdot(g, v)) / (self.radius * size), self.norm(v) / self.radius)


@dataclass(frozen=True, repr=False, eq=False)
class EntrywiseBall(FlattenedBody, NormBall):
    """Entrywise l1, l2 or l-infinity ball of M x N matrices.

    Parameters
    ----------
    size
        (M, N).
    ball
        The ball of vectors of length M N.
    """

    points: ClassVar[str] = "matrices"
    source: ClassVar[str] = "Jaggi 2013 section 4"
    has_projection: ClassVar[bool] = True

    size: tuple[int, ...]
    ball: NormBall

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (M, N) of a point."""
        return self.size

    name = DelegatedAttribute[str]("ball")
    radius = DelegatedAttribute[float]("ball")
    zeta = DelegatedAttribute[float]("ball")
    omega = DelegatedAttribute[float]("ball")
    diameter = DelegatedAttribute[float]("ball")

    @property
    def _flat_body(self) -> NormBall:
        return self.ball

    def norm(self, x: Floats) -> float:
        """Return the entrywise norm of a matrix."""
        return self.ball.norm(x.ravel())

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return a minimiser of <g, v>, shape (M, N), that is 0 where g is 0."""
        return self.ball.lo_zero_if_undetermined(check_gradient(g, self.shape).ravel()).reshape(
            self.shape
        )


@dataclass(frozen=True, repr=False, eq=False)
class NormProduct(NormBall):
    """Unit ball of the norm max_l |x_l|/rho_l: the product of the blocks' balls of radius rho_l.

    A point is the concatenated vector of all blocks x_l, each in C order.

    Parameters
    ----------
    balls
        The ball of each block, with its radius rho_l.
    """

    name: ClassVar[str] = "product"
    summary: ClassVar[str] = "product of the balls of several blocks"
    source: ClassVar[str] = "Pethick et al. 2025"
    has_projection: ClassVar[bool] = True

    radius: ClassVar[float] = 1.0

    balls: tuple[NormBall, ...]

    @cached_property
    def _block_ends(self) -> list[int]:
        return [0, *np.cumsum([math.prod(ball.shape) for ball in self.balls]).tolist()]

    @property
    def shape(self) -> tuple[int]:
        """Shape (d,) of a point, where d is the number of entries of all blocks."""
        return (self._block_ends[-1],)

    def split(self, x: Floats) -> list[Floats]:
        """Return the blocks of a point, as views of x with the shapes of the blocks."""
        ends = zip(self._block_ends, self._block_ends[1:], self.balls, strict=False)
        return [x[first:last].reshape(ball.shape) for first, last, ball in ends]

    def _concatenate_blocks(self, blocks: Any) -> Floats:
        return np.concatenate([np.ravel(block) for block in blocks])

    def _balls_and_blocks(self, x: Floats) -> Iterator[tuple[NormBall, Floats]]:
        return zip(self.balls, self.split(x), strict=True)

    @property
    def block_norm_names(self) -> frozenset[str]:
        """Names of the norms of all blocks."""
        return frozenset().union(*(ball.block_norm_names for ball in self.balls))

    @property
    def matrix_products_per_lmo(self) -> int:
        """Number of matrix products in one linear minimisation over all blocks."""
        return sum(ball.matrix_products_per_lmo for ball in self.balls)

    @property
    def zeta(self) -> float:
        """Exact maximum of |x|_*/|x|_2: the root of the sum over blocks of (radius * zeta)^2.

        It is the root of the sum of (rho_l zeta_l)^2.
        """
        return math.hypot(*(ball.radius * ball.zeta for ball in self.balls))

    @property
    def omega(self) -> float:
        """Exact maximum of |x|/|x|_2: the largest omega/radius of a block."""
        return max(ball.omega / ball.radius for ball in self.balls)

    @property
    def max_norm(self) -> float:
        """Exact largest Euclidean norm of a point of the ball: zeta, the maximum of |x|_*/|x|_2."""
        return self.zeta

    @property
    def diameter(self) -> float:
        """Exact diameter, the distance between a vertex of largest norm and its negative."""
        return 2.0 * self.zeta

    def norm(self, x: Floats) -> float:
        """Return the norm of x: the largest, over the blocks, of block norm/block radius."""
        return max(
            float(ball.norm(block)) / ball.radius for ball, block in self._balls_and_blocks(x)
        )

    def lo(self, g: Any) -> Floats:
        """Return a vertex v that minimises <g, v> over the ball, computed block by block."""
        return self._minimise(g, lambda ball, block: ball.lo(block))

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return a minimiser of <g, v> over the ball; entries that g does not determine are 0."""
        return self._minimise(g, lambda ball, block: ball.lo_zero_if_undetermined(block))

    def _minimise(self, g: Any, minimiser: Callable[[NormBall, Floats], Any]) -> Floats:
        """Return each block's minimiser times the block's weight, concatenated to one vector."""
        g = check_gradient(g, self.shape)
        pairs = zip(self._block_weights(g), self.balls, self.split(g), strict=True)
        return self._concatenate_blocks(
            weight * _as_array(minimiser(ball, block)) if weight else np.zeros(ball.shape)
            for weight, ball, block in pairs
        )

    def _block_weights(self, g: Floats) -> list[float]:
        """Return the part of its radius by which a minimiser moves each block."""
        return [1.0] * len(self.balls)

    def minimum(self, g: Any) -> LowerUpper:
        """Return (lower, upper) bounds of the minimum of <g, v> over the product of balls.

        The exact minimum is minus the sum of rho_l |g_l|_* over the blocks l. Both bounds equal it
        if the minimisation of each block is exact.
        """
        minimums = [
            ball.minimum(block)
            for ball, block in self._balls_and_blocks(check_gradient(g, self.shape))
        ]
        return math.fsum(low for low, _ in minimums), math.fsum(high for _, high in minimums)

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y: each block is projected onto its ball."""
        pairs = self._balls_and_blocks(check_projectable(y, self.shape))
        return self._concatenate_blocks(ball.project(block) for ball, block in pairs)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether each block of x is in its ball, up to a relative tolerance."""
        return is_point(x, self.shape) and all(
            ball.contains(block, tolerance) for ball, block in self._balls_and_blocks(x)
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a random vertex of each block's ball, concatenated to one vector."""
        return self._concatenate_blocks(_as_array(ball.random_vertex(rng)) for ball in self.balls)


def _as_array(v: Any) -> Floats:
    return v if isinstance(v, np.ndarray) else np.asarray(v.matrix())
