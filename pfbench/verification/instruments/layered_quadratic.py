"""Quadratics of several layers, whose smoothness in norms over layers is known."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.points import Layers, keep
from pfbench.problems.base import FiniteSum, content_digest
from pfbench.sets.norms import NormBall, NormProduct
from pfbench.sets.whole_space import WholeSpace


@dataclass(frozen=True, eq=False, kw_only=True)
class LayeredQuadratic(FiniteSum):
    """Function x'Hx/2 of points x that consist of several layers.

    Parameters
    ----------
    H
        Symmetric, shape (d, d).
    blocks
        The L_lm, the largest |H_lm x_m|_* over |x_m| <= 1 in norms of radius 1, shape (p, p).
    begin
        The start.
    set
        All vectors of length d.
    """

    name: ClassVar[str] = "layered-quadratic"
    source: ClassVar[str] = "pfbench"
    n: ClassVar[int] = 1
    properties: ClassVar[frozenset[str]] = frozenset()

    H: Floats
    blocks: Floats
    begin: Layers
    set: WholeSpace

    @property
    def digest(self) -> str:
        """Hash of all arrays and shapes that define the problem."""
        return content_digest(self.begin.shapes, self.H, self.blocks, self.begin.vector)

    def start(self) -> Layers:
        """Return a fresh copy of the start point."""
        return keep(self.begin)  # type: ignore[no-any-return]

    def value(self, x: Any) -> float:
        """Return the objective value x'Hx/2."""
        return 0.5 * float(np.vdot(x, self.gradient(x)))

    def gradient(self, x: Any) -> Floats:
        """Return the gradient Hx, shape (d,)."""
        return np.asarray(self.H @ np.asarray(x))

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the smoothness constant in a norm of layers, with its derivation in words.

        It is the sum of rho_l rho_m L_lm over all layers l and m, for the norm max |x_l|/rho_l, and
        an upper bound for larger norms. The result is None for a norm that is no product over
        layers.
        """
        if not isinstance(norm, NormProduct):
            return None
        rho = np.array([ball.radius for ball in norm.balls])
        return float(rho @ self.blocks @ rho), "the sum of rho_l rho_m L_lm"

    def constants(self, start: Any) -> Constants:
        """Return the constants n, D, L_f and delta."""
        L = float(np.abs(np.linalg.eigvalsh(self.H)).max())
        return Constants.from_derivations(
            n=(1, "stated"),
            D=(self.set.diameter, "diameter of its set"),
            L_f=(L, "the largest absolute eigenvalue of H"),
            delta=(self.value(start), "f(start) - 0, if H is positive semidefinite"),
        )
