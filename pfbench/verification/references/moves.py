"""Moves along an estimate, shared by the references of a family."""

from collections.abc import Callable, Iterator
from typing import Any

from pfbench.base.state import State
from pfbench.verification.references.estimates import EstimateGenerator, estimate_function


def frank_wolfe_moves(
    ask: Any,
    x: Any,
    s: Any,
    estimate: EstimateGenerator,
    gamma: Callable[[int], float] | None = None,
) -> Iterator[State]:
    """x_{t+1} = (1 - gamma_t) x_t + gamma_t v_t, v_t = argmin over C of <g_t, v>."""
    g_at = estimate_function(estimate)
    for t in range(s.iterations):
        g = g_at(x)
        v = ask.lo(g)
        step = s.step if gamma is None else gamma(t)
        point, x = x, (1.0 - step) * x + step * v
        yield State(x, point, g)


def proximal_moves(ask: Any, x: Any, s: Any, estimate: EstimateGenerator) -> Iterator[State]:
    """x_{t+1} = prox_{eta h}(x_t - eta g_t)."""
    g_at = estimate_function(estimate)
    for _ in range(s.iterations):
        g = g_at(x)
        point, x = x, ask.prox(x, g, s.step)
        yield State(x, point, g)
