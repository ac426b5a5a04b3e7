"""Frank-Wolfe for smooth, possibly non-convex objectives (lacoste2016, algorithm 1).

Notation of the paper: g_t is the Frank-Wolfe gap at x_t, gamma the step, C >= C_f the curvature
constant (C_f <= L_f D^2), h0 = f(x_0) - min f.

    for t = 0 .. T-1:
        v = argmin over C of <grad f(x_t), v>
        g_t = <grad f(x_t), x_t - v>
        gamma by option I (line search on [0, 1]), option II min(g_t/C, 1), or 2/(t+2)
        x_{t+1} = (1 - gamma) x_t + gamma v
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar

from pfbench.algorithms.base import Algorithm, round_up
from pfbench.base.checks import choice, integer, real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Asked
from pfbench.base.state import Point, State
from pfbench.points import combine, inner

STEPS = ("line-search", "adaptive", "open-loop")

_LINE_SEARCH_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(Algorithm):
    """Frank-Wolfe with exact line search, the adaptive step g/C, or the open loop 2/(t+2)."""

    name = "frank-wolfe"
    summary = "Frank-Wolfe: full gradients, one linear minimisation an iteration"
    source = "lacoste2016 algorithm 1, options I and II; open loop of Jaggi 2013"
    counts = "T iterations: FO T, SFO nT, LO T; line-search also n FV for each value it asks"
    requires = frozenset({"gradient", "lo"})
    deterministic = True
    scheduled = frozenset({"iterations", "curvature"})

    step: str = field(default="line-search", metadata={"about": ", ".join(STEPS)})
    iterations: int | None = field(
        default=None, metadata={"about": "T; without it, until a target, budget or time limit"}
    )
    curvature: float | None = field(
        default=None, metadata={"about": "C, at least C_f; the problem's L_f D^2 if not given"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("step", self.step, STEPS)
        if self.iterations is not None:
            integer("iterations", self.iterations, least=1)
        if self.curvature is not None:
            real("curvature", self.curvature, above=0.0)
        elif self.step == "adaptive":
            raise InputError("step=adaptive needs curvature, a number C >= C_f.")

    @property
    def asks(self) -> frozenset[str]:
        """`requires`, and function values where they are searched along."""
        return self.requires | {"value"} if self.step == "line-search" else self.requires

    @property
    def endless(self) -> bool:
        """See `Algorithm.endless`."""
        return self.iterations is None

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """lacoste2016 (6): max{2 h0, C}/sqrt(t+1) <= epsilon, for a gap of at most epsilon."""
        purpose = f"the schedule of {cls.name}"
        h0 = constants.need("delta", purpose)
        if given.get("curvature") is None:
            curvature = constants.need("L_f", purpose) * constants.need("D", purpose) ** 2
        else:
            curvature = real("curvature", given["curvature"], above=0.0)
        iterations = max(1, round_up((max(2.0 * h0, curvature) / epsilon) ** 2) - 1)
        schedule: dict[str, Any] = {"curvature": curvature, "iterations": iterations}
        return cls(**schedule | given)

    @classmethod
    def explicit(cls, constants: Constants, **given: Any) -> Self:
        """Return the algorithm; a curvature that is not given is L_f D^2."""
        if given.get("step") == "adaptive" and given.get("curvature") is None:
            constants.need("L_f", "the adaptive step without curvature")
        curvature = constants.L_f * constants.D**2
        if math.isfinite(curvature):
            given = {"curvature": curvature} | given
        return super().explicit(constants, **given)

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """See the module's pseudo-code."""
        for t in count() if self.iterations is None else range(self.iterations):
            gradient = ask.gradient(x)
            v = ask.lo(gradient)
            gap = inner(gradient, x) - inner(gradient, v)
            if self.step == "open-loop":
                gamma = 2.0 / (t + 2.0)
            elif self.step == "adaptive":
                gamma = self._short_step(gap)
            else:
                gamma = self._line_search(ask, x, v, gap)
            at, x = x, combine(x, v, gamma)
            yield State(x, at, gradient)

    def _short_step(self, gap: float) -> float:
        assert self.curvature is not None
        return min(max(gap, 0.0) / self.curvature, 1.0)

    def _line_search(self, ask: Asked, x: Point, v: Point, gap: float) -> float:
        """Return the best of Brent's minimiser, both ends, and the short step if C is known."""

        def value(gamma: float) -> float:
            return ask.value(combine(x, v, gamma))

        brent = minimize_scalar(
            value, bounds=(0.0, 1.0), method="bounded", options={"xatol": _LINE_SEARCH_TOLERANCE}
        )
        tried = [(float(brent.fun), float(brent.x))]
        others = {0.0, 1.0} | ({self._short_step(gap)} if self.curvature is not None else set())
        tried += [(value(gamma), gamma) for gamma in sorted(others)]
        return min(tried)[1]
