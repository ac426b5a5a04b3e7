"""Frank-Wolfe for smooth, possibly non-convex objectives (lacoste2016, algorithm 1).

Notation of the paper: g_t is the Frank-Wolfe gap at x_t, gamma the step, C >= C_f the curvature
constant (C_f <= L_f D^2), h0 = f(x_0) - min f.

    for t = 0 .. T-1:
        v = argmin over C of <grad f(x_t), v>
        g_t = <grad f(x_t), x_t - v>
        gamma by option I (line search on [0, 1]), option II min(g_t/C, 1), the short step
        min(g_t/(L |v - x_t|^2), 1), the open loop l/(t+l), l = 2 unless given, the log-adaptive l =
        2 + log(t+1), backtracking, or the primal-dual short step
        x_{t+1} = (1 - gamma) x_t + gamma v

Backtracking, with an estimate M of the smoothness L_f (Pedregosa, Negiar, Askari, Jaggi, AISTATS
2020, algorithm 2, tau = 2 and eta = 0.9; d = v - x_t):

    M = g_t^2 / (2 (f(x_{t-1}) - f(x_t)) |d|^2), clipped to [eta M_{t-1}, M_{t-1}]
    gamma = min(g_t/(M |d|^2), 1)
    while f(x_t + gamma d) > f(x_t) - gamma g_t + gamma^2 M |d|^2/2:  M = tau M, gamma again
    M_t = M;  M_{-1} = |grad f(x_0) - grad f(x_0 + 1e-3 d)|/(1e-3 |d|) if it is not given

The primal-dual short step (martinezrubio2025, in a summary), for convex f, with a lower bound B_t:

    gamma = min((f(x_t) - B_{t-1})/(L |v - x_t|^2), 1), and 1 for t = 0
    B_t = (1 - gamma) B_{t-1} + gamma (f(x_t) - g_t)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from pfbench.algorithms.base import Algorithm, round_up
from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.checks import check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.parameters import integer, nonnegative, one_of_values, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.points import combine, distance, inner, keep

STEPS = (
    *("line-search", "adaptive", "short", "open-loop", "log-adaptive", "backtracking"),
    "primal-dual",
)

_SHORT = ("short", "primal-dual")
"""Step rules with a given L."""

_OF_L = (*_SHORT, "backtracking")
"""Step rules that use the smoothness L, not the curvature C."""

_LINE_SEARCH_TOLERANCE = 1e-10

_GROWTH, _DECAY = 2.0, 0.9
"""tau and eta of backtracking, with the values of its source."""

_PROBE = 1e-3
"""Fraction of the first direction over which the initial estimate compares gradients."""

_ROUNDING = 1e-12
"""Relative error of a function value that backtracking allows for."""


def line_search(value: Callable[[float], float], upper: float, *candidates: float) -> float:
    """Return the candidate step size in [0, upper] at which the function `value` is smallest.

    The candidates are the result of SciPy's bounded minimiser of `value`, both ends of [0, upper],
    and the `candidates`.
    """

    def try_step(gamma: float) -> float:
        return _replace_nan_by_infinity(value(gamma))

    with np.errstate(invalid="ignore"):  # it takes differences of infinite values
        brent = scipy.optimize.minimize_scalar(
            try_step,
            bounds=(0.0, upper),
            method="bounded",
            options={"xatol": _LINE_SEARCH_TOLERANCE},
        )
    results = [(float(brent.fun), float(brent.x))]
    results += [(try_step(gamma), gamma) for gamma in sorted({0.0, upper, *candidates})]
    return min(results)[1]


def _replace_nan_by_infinity(value: float) -> float:
    """Return the function value at a trial point, with NaN replaced by infinity."""
    return math.inf if math.isnan(value) else float(value)


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(Algorithm):
    """Frank-Wolfe: full gradients, one linear minimisation an iteration."""

    name = "frank-wolfe"
    source = (
        "lacoste2016 algorithm 1, options I and II; open loop of Jaggi 2013 and Wirth, Kerdreux, "
        "Pokutta 2023; log-adaptive of Pokutta 2024; backtracking of Pedregosa, Negiar, Askari, "
        "Jaggi 2020, algorithm 2; primal-dual of Martinez-Rubio, Pokutta 2025"
    )
    counts = (
        "T iterations: FO T, SFO nT, LO T; line-search and backtracking also n FV for each value "
        "they ask, backtracking without smoothness one FO, n SFO more; primal-dual also nT FV"
    )
    requires = frozenset({"gradient", "lo"})
    deterministic = True
    anytime = True
    schedule_parameters = frozenset({"iterations", "curvature"})
    line_search: ClassVar[Callable[..., float]] = staticmethod(line_search)
    guarantee = Guarantee("min over k of V(x_k)", "epsilon", "least", "fw_gap")

    step: str = one_of_values("line-search", ", ".join(STEPS), STEPS)
    iterations: int | None = integer(None, "T; without it, until a target, budget or time limit")
    curvature: float | None = nonnegative(
        None, "C, at least C_f; the problem's L_f D^2 if not given"
    )
    smoothness: float | None = nonnegative(
        None,
        "short, primal-dual: L, the problem's L_f if not given; backtracking: first estimate of "
        "L_f, from two gradients if not given",
    )

    offset: float = positive(2.0, "open loop: l of the step l/(t+l)")

    def __post_init__(self) -> None:
        super().__post_init__()
        is_valid = {
            "offset": self.step == "open-loop" or self.offset == 2.0,
            "curvature": self.step not in _OF_L or self.curvature is None,
            "smoothness": self.step in _OF_L or self.smoothness is None,
        }
        for name in is_valid:
            if not is_valid[name]:
                raise InputError(f"step={self.step} takes no {name}: leave out {name}.")
        needed = "curvature" if self.step == "adaptive" else "smoothness"
        if self.step in ("adaptive", *_SHORT) and getattr(self, needed) is None:
            raise InputError(f"step={self.step} needs {needed}, a bound of the problem's constant.")

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that a run queries: `requires`, and values of f if the step rule needs them."""
        uses_values = self.step in ("line-search", "backtracking", "primal-dual")
        return self.requires | {"value"} if uses_values else self.requires

    @property
    def runs_until_stopped(self) -> bool:
        """Whether a run ends only when a budget, a target or a time limit stops it."""
        return self.iterations is None

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the least number T of iterations that ensures a gap of epsilon.

        T is the least with max{2 h0, C}/sqrt(T+1) <= epsilon, where h0 is at least f(x_0) - min f.
        The left side is the bound (6) of lacoste2016 on the smallest gap. With backtracking C =
        max(2 L_f, M_{-1}) D^2, since no estimate exceeds max(2 L_f, M_{-1}). With the short step C
        = L D^2, as that step decreases f at least as much as the step g/C.

        Raises
        ------
        RefusedError
            For the primal-dual step, whose theorem bounds f(x_T) - min f.
        """
        if overrides.get("step") == "primal-dual":
            raise RefusedError(
                "no theorem bounds the gap for step=primal-dual: give iterations, not epsilon."
            )
        (h0,) = cls.schedule_constants(constants, "delta")
        backtracking = overrides.get("step") == "backtracking"
        if overrides.get("step") not in _OF_L and overrides.get("curvature") is not None:
            curvature = check_real("curvature", overrides["curvature"])
        else:
            L, D = cls.schedule_constants(constants, "L_f", "D")
            if backtracking:
                L = max(_GROWTH * L, overrides.get("smoothness") or 0.0)
            elif overrides.get("step") == "short":
                L = overrides["smoothness"] = overrides.get("smoothness") or L
            curvature = L * D**2
        iterations = max(1, round_up((max(2.0 * h0, curvature) / epsilon) ** 2) - 1)
        existing = {} if overrides.get("step") in _OF_L else {"curvature": curvature}
        return cls.from_schedule(overrides, iterations=iterations, **existing)

    @classmethod
    def explicit(cls, constants: Constants, **overrides: Any) -> Self:
        """Return the algorithm with the given parameters; the curvature defaults to L_f D^2."""
        if overrides.get("step") == "adaptive" and overrides.get("curvature") is None:
            constants.require("L_f", "the adaptive step without curvature")
        curvature = constants.L_f * constants.D**2
        if overrides.get("step") in _SHORT and overrides.get("smoothness") is None:
            constants.require("L_f", f"the {overrides['step']} step without smoothness")
            overrides = overrides | {"smoothness": constants.L_f}
        if math.isfinite(curvature) and overrides.get("step") not in _OF_L:
            overrides = {"curvature": curvature} | overrides
        return super().explicit(constants, **overrides)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        lower = 0.0
        for t in count() if self.iterations is None else range(self.iterations):
            gradient = ask.gradient(x)
            v = ask.lo(gradient)
            if self.step in ("open-loop", "log-adaptive"):
                l = self.offset if self.step == "open-loop" else 2.0 + math.log(t + 1.0)  # noqa: E741
                gamma = l / (t + l)
            else:
                gap = inner(gradient, x) - inner(gradient, v)
                if self.step == "backtracking":
                    if t == 0:
                        search = BacktrackingState.from_start(ask, x, gradient, v, self.smoothness)
                    gamma = search.find_step_size(ask, x, v, gap)
                elif self.step == "adaptive":
                    gamma = self._gap_over_curvature_step(gap)
                elif self.step == "short":
                    gamma = self._compute_short_step_size(gap, distance(v, x))
                elif self.step == "primal-dual":
                    f = ask.value(x)
                    gamma = self._compute_short_step_size(f - lower, distance(v, x)) if t else 1.0
                    lower = (1.0 - gamma) * lower + gamma * (f - gap)
                else:
                    gamma = self._line_search(ask, x, v, gap)
            at, x = x, combine(x, v, gamma)
            yield State(x, at, gradient)
            del gradient  # as large as the problem: the next one takes its room

    def _gap_over_curvature_step(self, gap: float) -> float:
        """Return the step size min(gap/C, 1), where C is the curvature constant.

        If C = 0, f is linear and the step size is 1.
        """
        assert self.curvature is not None
        if self.curvature == 0.0:
            return 1.0 if gap > 0.0 else 0.0
        return min(max(gap, 0.0) / self.curvature, 1.0)

    def _compute_short_step_size(self, gap: float, length: float) -> float:
        """Return the short step: it minimises the quadratic upper bound of f along the direction.

        It is 0 if the direction is not a descent direction.
        """
        assert self.smoothness is not None
        if not gap > 0.0 < length:
            return 0.0
        curvature = self.smoothness * length**2
        return min(gap / curvature, 1.0) if curvature > 0.0 else 1.0

    def _line_search(self, ask: AlgorithmOracles, x: Point, v: Point, gap: float) -> float:
        """Return the best step size from x to v; trials include min(gap/C, 1) for a curvature C."""
        adaptive = () if self.curvature is None else (self._gap_over_curvature_step(gap),)
        return self.line_search(lambda gamma: ask.value(combine(x, v, gamma)), 1.0, *adaptive)


@dataclass
class BacktrackingState:
    """State of the backtracking search: the estimate of L_f, the value of f and its last decrease.

    Attributes
    ----------
    M
        The estimate of L_f.
    value
        f at the current point, computed by the search of the previous iteration.
    decrease
        Decrease of f in the previous iteration; infinite before the first one.
    """

    M: float
    value: float
    decrease: float = math.inf

    @classmethod
    def from_start(
        cls, ask: AlgorithmOracles, x: Point, gradient: Any, v: Point, M: float | None
    ) -> Self:
        """Return the state of the search at the start x, after a query of the value of f at x.

        Without an initial M, one more gradient is queried, near x.
        """
        value = _replace_nan_by_infinity(ask.value(x))
        if M is None:
            length = distance(v, x)
            probe = ask.gradient(combine(keep(x), v, _PROBE))
            change = float(np.linalg.norm(probe - gradient))
            M = change / (_PROBE * length) if length > 0.0 and math.isfinite(change) else 0.0
        return cls(M, value)

    def find_step_size(self, ask: AlgorithmOracles, x: Point, v: Point, gap: float) -> float:
        """Find a step size from x toward v by backtracking; return the step size, update the state.

        If v is no descent direction, return 0 without any query.
        """
        if gap <= 0.0:
            return 0.0
        square = distance(v, x) ** 2
        # The source needs M > 0: where f is linear so far, any small one will do.
        M = self.M or 1e-10 * gap / square
        if 0.0 < self.decrease < math.inf:
            M = min(max(gap**2 / (2.0 * self.decrease * square), _DECAY * M), M)
        while True:
            gamma = min(gap / (M * square), 1.0)
            promised = self.value - gamma * gap + 0.5 * gamma**2 * M * square
            value = _replace_nan_by_infinity(ask.value(combine(x, v, gamma)))
            if gamma == 0.0 or value <= promised + _ROUNDING * abs(self.value):
                break
            M *= _GROWTH
        self.M, self.value, self.decrease = M, value, self.value - value
        return gamma
