"""Frank-Wolfe on polytopes with away steps, pairwise steps, and blended pairwise steps.

Notation: x_t = sum over S_t of lambda_v v, S_t the active set, L >= L_f.

    S_1 = {x_1}, x_1 = LO(grad f(x_0))
    for t = 1 .. T-1:
        g = grad f(x_t),  w = LO(g),  a = argmax over S_t of <g, v>,  l = argmin over S_t of <g, v>
        afw:   <g, x_t - w> >= <g, a - x_t>:  d = w - x_t, gamma_max = 1
               else:                          d = x_t - a, gamma_max = lambda_a/(1 - lambda_a)
        pfw:   d = w - a, gamma_max = lambda_a
        bpfw:  <g, a - l> >= <g, x_t - w>:    d = l - a, gamma_max = lambda_a
               else:                          d = w - x_t, gamma_max = 1
        gamma = min(gamma_max, <g, -d>/(L |d|^2)), or the best on [0, gamma_max] (line-search)
        x_{t+1} = x_t + gamma d

Lazy bpfw queries LO only where S_t has no pair that is good enough;
minimisation over S_t counts no LO (this form is pfbench's):

    <g, a - l> >= phi/2:          d = l - a
    else w = LO(g), V = <g, x_t - w>;  phi = min(phi, V) where V < phi/2;
        V >= phi/2:  d = w - x_t; else the step is 0.    phi = V of the first LO
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from pfbench.algorithms.base import Algorithm
from pfbench.algorithms.frank_wolfe import line_search
from pfbench.base.parameters import integer, nonnegative, one_of_values, parameter
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point, State
from pfbench.points import combine, inner
from pfbench.points.active_atoms import ActiveSet


@dataclass(frozen=True, kw_only=True)
class ActiveSetMethod(Algorithm):
    """Base class of Frank-Wolfe methods with an active set of vertices.

    A subclass defines the direction of each step in `move`.
    """

    counts = "T iterations: FO T, SFO nT, LO T; line-search also n FV for each queried value"
    requires = frozenset({"gradient", "lo", "polytope"})
    deterministic = True
    anytime = True
    schedule_parameters = frozenset()
    constant_defaults = (("smoothness", "L_f"),)
    line_search: ClassVar[Callable[..., float]] = staticmethod(line_search)

    step: str = one_of_values("short", "short, or line-search", ("short", "line-search"))
    iterations: int = integer(MISSING, "T; the first iteration moves to a vertex")
    smoothness: float = nonnegative(
        MISSING, "L of the short step, a trial step of line-search; the problem's L_f if not given"
    )

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that a run queries: those in `requires` and, for line search, function values."""
        return self.requires | {"value"} if self.step == "line-search" else self.requires

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        for t in range(self.iterations):
            g = ask.gradient(x)
            if t == 0:
                S = ActiveSet(ask.lo(g))
            else:
                self.move(ask, S, x, g, ask.lo(g))
            at, x = x, S.point()
            yield State(x, at, g)

    @abstractmethod
    def move(self, ask: AlgorithmOracles, S: ActiveSet, x: Point, g: Gradient, w: Point) -> None:
        """Make a step from x by changing the weights of the active set S in place.

        Here g is the gradient at x, and w the vertex that minimises <g, w>.
        """

    def step_size(
        self,
        ask: AlgorithmOracles,
        x: Point,
        g: Gradient,
        d: Point,
        upper: float,
        end: Callable[[], Point],
    ) -> float:
        """Return the step size along d, at most `upper`, or 0 if d is not a descent direction.

        `end` returns x + upper d as a combination of vertices. Trial points are combinations of x
        and this point, so that they stay in the set despite rounding.
        """
        descent = -inner(g, d)
        if descent <= 0.0:
            return 0.0
        bend = self.smoothness * inner(d, d)
        short = min(upper, descent / bend) if bend > 0.0 else upper
        if self.step == "short":
            return short
        far = end()
        return self.line_search(
            lambda gamma: ask.value(combine(x, far, gamma / upper)), upper, short
        )


class AwayStepFW(ActiveSetMethod):
    """Away-step Frank-Wolfe on polytopes."""

    name = "afw"
    source = (
        "Guelat, Marcotte 1986; Lacoste-Julien, Jaggi 2015, algorithm 1, with line search or the "
        "short step"
    )

    def move(self, ask: AlgorithmOracles, S: ActiveSet, x: Point, g: Gradient, w: Point) -> None:
        """Move toward the vertex w or, if steeper, away from the worst active vertex."""
        a, _ = S.argmax_and_argmin_product(g)
        if len(S) == 1 or inner(g, x - w) >= inner(g, S.vertex(a) - x):
            S.move_toward(w, self.step_size(ask, x, g, w - x, 1.0, lambda: w))
        else:
            end = partial(S.point_without_vertex, a)
            S.move_away(a, self.step_size(ask, x, g, x - S.vertex(a), S.max_away_step(a), end))


class PairwiseFW(ActiveSetMethod):
    """Pairwise Frank-Wolfe on polytopes."""

    name = "pfw"
    source = "Lacoste-Julien, Jaggi 2015, algorithm 2, with line search or the short step"

    def move(self, ask: AlgorithmOracles, S: ActiveSet, x: Point, g: Gradient, w: Point) -> None:
        """Move weight from the active vertex with the largest <g, v> to the vertex w."""
        a, _ = S.argmax_and_argmin_product(g)
        end = partial(S.point_without_vertex, a, w)
        S.transfer(a, w, self.step_size(ask, x, g, w - S.vertex(a), S.weights[a], end))


@dataclass(frozen=True, kw_only=True)
class BlendedPairwiseFW(ActiveSetMethod):
    """Blended pairwise Frank-Wolfe on polytopes.

    The lazy form queries the linear minimisation oracle only if no pair in the active set gives
    enough descent.
    """

    name = "bpfw"
    source = "Tsuji, Tanaka, Pokutta 2022, with line search or the short step"
    counts = f"{ActiveSetMethod.counts}; lazy: LO at most T"

    lazy: bool = parameter(False, "true: query LO only if no active pair descends enough")

    def move(self, ask: AlgorithmOracles, S: ActiveSet, x: Point, g: Gradient, w: Point) -> None:
        """Move toward the vertex w or, if steeper, from the worst to the best active vertex.

        The worst vertex has the largest <g, v> in S, and the best one the smallest.
        """
        a, low = S.argmax_and_argmin_product(g)
        pair = S.vertex(low) - S.vertex(a)
        if -inner(g, pair) >= inner(g, x - w):
            end = partial(S.point_without_vertex, a, S.vertex(low))
            S.transfer(a, S.vertex(low), self.step_size(ask, x, g, pair, S.weights[a], end))
        else:
            S.move_toward(w, self.step_size(ask, x, g, w - x, 1.0, lambda: w))

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        if not self.lazy:
            yield from super().run(ask, x, rng)
            return
        for t in range(self.iterations):
            g = ask.gradient(x)
            if t == 0:
                w = ask.lo(g)
                S, phi = ActiveSet(w), inner(g, x - w)
            else:
                phi = self.move_lazily(ask, S, x, g, phi)
            at, x = x, S.point()
            yield State(x, at, g)

    def move_lazily(
        self, ask: AlgorithmOracles, S: ActiveSet, x: Point, g: Gradient, phi: float
    ) -> float:
        """Make one step, querying `ask.lo` only if needed; return the updated gap estimate phi.

        The step is along a pair of the active set if this pair has a slope of phi/2 or more.
        Otherwise, the linear minimisation oracle is queried.
        """
        a, low = S.argmax_and_argmin_product(g)
        pair = S.vertex(low) - S.vertex(a)
        if len(S) > 1 and -inner(g, pair) >= phi / 2.0:
            end = partial(S.point_without_vertex, a, S.vertex(low))
            S.transfer(a, S.vertex(low), self.step_size(ask, x, g, pair, S.weights[a], end))
            return phi
        w = ask.lo(g)
        gap = inner(g, x - w)
        if gap >= phi / 2.0:
            S.move_toward(w, self.step_size(ask, x, g, w - x, 1.0, lambda: w))
            return phi
        return max(gap, 0.0)
