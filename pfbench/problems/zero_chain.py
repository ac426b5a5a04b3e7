"""Zero chain over a Euclidean ball: a lower bound for linear minimisation (shen2019, 7.1).

The function is f(x) = |x|^2/10 + H_T(V'x) on the ball of radius R = 230 sqrt T, where V has T
orthonormal columns v_k. At a point with <v_T, x> = 0, the Frank-Wolfe gap is at least 0.08 R =
0.04 D. A method that starts at 0 and stays in the span of the oracle's results discovers the v_k
one after the other. For a fixed V, the bound holds only for such methods. The resisting oracle
extends it to all methods.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array, check_integer, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.kernels import chain
from pfbench.problems.base import check_dense_point, check_entry_count, content_digest
from pfbench.problems.chain_bounds import CHAIN_BOUNDS
from pfbench.problems.single_component import Operator, SingleComponent
from pfbench.sets.balls import L2Ball

GAP = 0.04
"""V(x_t) >= GAP D for t < T (shen2019 section 7.1: 0.08 R)."""

DEPTH = 12.0
"""H_T(0) - inf H_T <= DEPTH T (shen2019 lemma 7.1)."""


def chain_smoothness() -> float:
    """Return the certified smoothness constant l of the unscaled zero chain f.

    It is the bound for the function H_T, plus 1/5 for a quadratic term.
    """
    return math.nextafter(CHAIN_BOUNDS.smoothness_bound + 0.2, math.inf)


def chain_scaling(epsilon: float, L: float, delta: float) -> tuple[int, float]:
    """Return the length T and scale mu of a zero chain that is hard for the accuracy epsilon.

    The chain is fbar(x) = (L mu^2/l) f(x/mu).

    fbar is L-smooth, and fbar(0) - min fbar <= delta. Its Frank-Wolfe gap is at least epsilon
    times its diameter until T directions are known. The values are mu = l epsilon/(0.04 L), and T
    = (0.0016/12) L delta/(l epsilon^2), rounded down (shen2019 (18)).

    Raises
    ------
    InputError
        If a number is not positive, or epsilon leaves no chain, T < 1.
    """
    for name, number in (("epsilon", epsilon), ("smoothness", L), ("delta", delta)):
        check_real(name, number, above=0.0)
    scale = chain_smoothness()
    total = GAP * GAP / DEPTH * L * delta / scale
    T = math.floor(total / epsilon / epsilon)
    if T < 1:
        raise InputError(
            f"epsilon={epsilon:g} is too large, as the chain in the problem would have no link: "
            f"choose epsilon below {math.sqrt(total):.4g}."
        )
    return T, scale * epsilon / (GAP * L)


def random_directions(d: int, T: int, seed: int) -> Floats:
    """Draw T uniformly random orthonormal vectors of length d, shape (d, T).

    Raises
    ------
    InputError
        If the matrix has more than 10^8 entries.
    """
    check_entry_count("the matrix of directions", d * T)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    Q, R = np.linalg.qr(rng.standard_normal((d, T)))
    # QR fixes signs in its own way; those of R make the draw uniform.
    return np.asarray(Q * np.where(np.diag(R) < 0.0, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class ZeroChain(SingleComponent):
    """Scaled zero chain on a ball: the hard function of the lower bound in shen2019, theorem 5.1.

    The chain is fbar(x) = (L mu^2/l) f(x/mu), where the unscaled chain f is l-smooth. The radius
    of the ball is 230 sqrt(T) mu.

    Attributes
    ----------
    horizon
        T, the number of directions.
    columns
        d, the length of a point, at least T.
    directions
        V, shape (d, T), with orthonormal columns; by default the first T unit vectors.
    smoothness
        L; by default the certified constant l of f, which gives fbar = mu^2 f(x/mu).
    mu
        Scale of the points.

    Raises
    ------
    InputError
        If a size or a number is out of range, or the columns of V are not orthonormal.
    """

    name: ClassVar[str] = "zero-chain"
    source: ClassVar[str] = "shen2019 theorem 5.1 and section 7.1"

    horizon: int
    columns: int
    directions: Floats | None = None
    smoothness: float | None = None
    mu: float = 1.0

    def __post_init__(self) -> None:
        T = check_integer("horizon", self.horizon, minimum=1)
        if check_integer("columns", self.columns, minimum=1) < T:
            raise InputError(
                f"columns={self.columns} is too small for {T} orthogonal directions: give at "
                f"least {T}."
            )
        check_entry_count("a point", self.columns)
        check_real("mu", self.mu, above=0.0)
        if self.smoothness is not None:
            check_real("smoothness", self.smoothness, above=0.0)
        if self.directions is not None:
            V = check_finite_array("directions", self.directions, shape=(self.columns, T))
            if np.abs(V.T @ V - np.eye(T)).max() > 1e-10:
                raise InputError(
                    "directions must have orthonormal columns: pass the Q of a QR factorisation."
                )

    @cached_property
    def set(self) -> L2Ball:
        """Feasible set: the ball of radius 230 sqrt(T) mu (T: length of the chain; mu: scale)."""
        return L2Ball(self.columns, 230.0 * math.sqrt(self.horizon) * self.mu)

    @property
    def L(self) -> float:
        """Smoothness constant L of the scaled chain."""
        return chain_smoothness() if self.smoothness is None else self.smoothness

    @cached_property
    def digest(self) -> str:
        """Hash of the parameters T, d, L, mu and of the directions V."""
        numbers = self.name, self.horizon, self.columns, self.L, self.mu
        directions = () if self.directions is None else (self.directions.astype(np.float64),)
        return content_digest(numbers, *directions)

    # --- oracles ------------------------------------------------------------------------------

    @cached_property
    def _value_factor(self) -> float:
        """Factor by which the values of the unscaled chain are multiplied."""
        return self.L * self.mu**2 / chain_smoothness()

    def chain_coordinates(self, x: Floats) -> Floats:
        """Return the coordinates of x/mu along the T directions V of the chain, shape (T,)."""
        V, x = self.directions, check_dense_point(x, self.shape)
        return np.asarray((x[: self.horizon] if V is None else V.T @ x) / self.mu)

    def _embed(self, y: Floats) -> Floats:
        """Return V y, the vector with coordinates y along the T directions V, shape (d,)."""
        if self.directions is not None:
            return np.asarray(self.directions @ y)
        x = np.zeros(self.columns)
        x[: self.horizon] = y
        return x

    def value(self, x: Floats) -> float:
        """Return the value of the scaled chain at x."""
        scaled = x / self.mu
        return self._value_factor * (
            0.1 * float(scaled @ scaled) + chain.chain_value(self.chain_coordinates(x))
        )

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        slopes = np.empty(self.horizon)
        chain.write_chain_gradient(self.chain_coordinates(x), slopes)
        return (self._value_factor / self.mu) * (0.2 / self.mu * x + self._embed(slopes))

    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian of the scaled chain at s as a linear operator.

        It is a multiple of V H V' plus 1/5 of the identity, where H is tridiagonal.
        """
        diagonal, deviation = np.empty(self.horizon), np.empty(self.horizon - 1)
        chain.write_chain_hessian(self.chain_coordinates(s), diagonal, deviation)
        factor = self._value_factor / self.mu**2

        def product(v: Floats) -> Floats:
            y = np.zeros(self.horizon)
            chain.add_tridiagonal(diagonal, deviation, self.chain_coordinates(v), self.mu, y)
            return factor * (0.2 * v + self._embed(y))

        return product

    # --- constants ----------------------------------------------------------------------------

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        bounds, scale, height, mu = CHAIN_BOUNDS, chain_smoothness(), self._value_factor, self.mu
        return Constants.from_derivations(
            n=(1, "one component"),
            D=(
                self.set.diameter,
                f"2 R, R = 230 sqrt(T) mu with T = {self.horizon} and mu = {mu:.6g}, exact",
            ),
            L_f=(
                self.L,
                f"L of fbar = (L mu^2/l) f(x/mu), l = {scale:.6g} certified by interval arithmetic "
                "(shen2019 lemma 7.1: 3^15 = 14348907)",
            ),
            L_ms=(self.L, "L_f, as n = 1"),
            L_max=(self.L, "L_f, as n = 1"),
            L2_ms=(
                height * bounds.hessian_smoothness_bound / mu**3,
                "(L/(l mu)) times a bound of the third derivatives of H_T, sup|Psi'''| sup Phi + "
                "sup Psi sup|Phi'''| + 3 sup|Psi''| sup Phi' + 3 sup Psi' sup|Phi''| = "
                f"{bounds.hessian_smoothness_bound:.6g}",
            ),
            sigma2=(0.0, "0, as n = 1"),
            delta=(
                self.value(start) + height * bounds.minus_inf_bound(self.horizon),
                "f(start) - inf, inf f >= -(L mu^2/l) (1 + (T - 1) sup Psi) sup Phi; from 0 at "
                "most 12 T L mu^2/l (shen2019 lemma 7.1)",
            ),
            M=(self.set.radius, "R"),
            ell=(
                self.L * (bounds.smoothness_bound - 0.2) / scale,
                "(L/l) times the bound of the Hessian of H_T, less 1/5 of the quadratic",
            ),
        )
