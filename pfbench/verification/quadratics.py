"""Quadratics over a set whose minimiser and restricted strong convexity are known exactly."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import finite_array, real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import FeasibleSet, Measure
from pfbench.base.sample import Indices, weighted

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """f_i(x) = <c, u> + <a_i, u>^2/2 + shift |u|^2/2 with u = x - theta_hat, over a set.

    f(theta_hat) = 0, so that f is the suboptimality itself, without cancellation. theta_hat is the
    minimiser if -c is in the normal cone of the set there and f is convex, or if restricted strong
    convexity makes it one.

    Parameters
    ----------
    set
        The feasible set, of vectors of length d or of matrices with d entries.
    rows
        a_i, shape (n, d); of matrices row by row.
    minimiser
        theta_hat, shape (d,) or (M, N), in the set.
    slope
        c, the gradient at theta_hat, of the same shape, with <c, v> >= <c, theta_hat> on the set.
    begin
        The start point, of the same shape, in the set.
    sigma_hat
        f(x) >= f(theta_hat) + (sigma_hat/2) |x - theta_hat|^2 on the set.
    shift
        Curvature that every f_i has beside its row; negative for non-convex f_i.

    Raises
    ------
    InputError
        If shapes do not fit, or theta_hat or the start lies outside the set, or theta_hat is not
        stationary.
    """

    name: ClassVar[str] = "known-quadratic"

    set: FeasibleSet
    rows: Floats
    minimiser: Floats
    slope: Floats
    begin: Floats
    sigma_hat: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        shape = self.minimiser.shape
        finite_array("the rows", self.rows, shape=(len(self.rows), self.minimiser.size))
        for name in ("minimiser", "slope", "begin"):
            finite_array(f"the {name}", getattr(self, name), shape=shape)
        real("sigma_hat", self.sigma_hat, above=0.0)
        if not (self.set.contains(self.minimiser) and self.set.contains(self.begin)):
            raise InputError("the minimiser and the start must be in the set.")
        descent = float(np.vdot(self.slope, self.minimiser)) - self.set.minimum(self.slope)[0]
        if descent > 1e-9 * (1.0 + float(np.abs(self.slope).max()) * self.set.diameter):
            raise InputError("the minimiser is not stationary: -slope is not normal to the set.")

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The sizes by name."""
        return MappingProxyType({"n": self.n, "d": self.rows.shape[1]})

    @property
    def digest(self) -> str:
        """The sizes as text: instances are never stored."""
        return f"{self.name}{self.rows.shape}"

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self.begin.copy()

    def open(self, rng: np.random.Generator) -> "Quadratic":
        """Return itself."""
        return self

    def measures(self) -> Mapping[str, Measure]:
        """Return no measures of its own."""
        return {}

    @cached_property
    def hessian(self) -> Floats:
        """The Hessian of f, shape (d, d)."""
        gram: Floats = self.rows.T @ self.rows / self.n
        return gram + self.shift * np.eye(len(gram))

    def constants(self, start: Floats) -> Constants:
        """Return the constants, exact; delta is f(start) - f(theta_hat)."""
        squares = np.einsum("ij,ij->i", self.rows, self.rows)
        weights = (squares + 2.0 * self.shift) / self.n
        second = (self.rows.T * weights) @ self.rows
        L_ms = np.sqrt(np.linalg.eigvalsh(second)[-1] + self.shift**2)
        L_f = np.abs(np.linalg.eigvalsh(self.hessian)).max()
        D = self.set.diameter
        return Constants(
            n=self.n,
            D=D,
            L_f=float(L_f),
            L_ms=float(L_ms),
            L_max=float(max(squares.max() + self.shift, abs(self.shift))),
            L2_ms=0.0,
            sigma2=float(L_ms * D) ** 2,
            delta=self.value(start),
            M=float(np.linalg.norm(start)) + D,
            sigma_hat=self.sigma_hat,
            ell=max(0.0, -self.shift),
        )

    def value(self, x: Floats) -> float:
        """Return f(x), which is f(x) - f(theta_hat)."""
        u = x - self.minimiser
        products = self.rows @ u.ravel()
        square = float(products @ products) / self.n + self.shift * float(np.vdot(u, u))
        return float(np.vdot(self.slope, u)) + 0.5 * square

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x."""
        u = x - self.minimiser
        return self.slope + (self.hessian @ u.ravel()).reshape(u.shape)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        return self.slope + self.difference(sample, x, self.minimiser)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample."""
        indices, weights = weighted(sample)
        rows, u = self.rows[indices], x - y
        products = weights * (rows @ u.ravel())
        return np.asarray((products @ rows).reshape(u.shape) + self.shift * u)

    def spread(self, x: Floats, y: Floats) -> float:
        """Return E_i |grad f_i(x) - grad f_i(y)|^2 - |grad f(x) - grad f(y)|^2.

        The variance of one draw of an SVRG estimate at x with snapshot y.
        """
        u = (x - y).ravel()
        squares = np.einsum("ij,ij->i", self.rows, self.rows)
        own = self.hessian @ u - self.shift * u
        return max(0.0, float(squares @ (self.rows @ u) ** 2) / self.n - float(own @ own))

    def lo(self, g: Floats) -> Any:
        """Return a vertex of the set that minimises <g, v>."""
        return self.set.lo(g)

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Return the exact minimum of <g, v> over the set, twice."""
        return self.set.minimum(g)

    def prox(self, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the projection of x - lam g onto the set."""
        return np.asarray(self.set.project(x - lam * g))


def rows_of_spectrum(rng: np.random.Generator, eigenvalues: Floats) -> Floats:
    """Return rows, shape (d, d), whose mean of a_i a_i' has these eigenvalues, randomly turned."""
    d = len(eigenvalues)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    mixing = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.asarray(math.sqrt(d) * mixing @ (np.sqrt(eigenvalues)[:, None] * basis))
