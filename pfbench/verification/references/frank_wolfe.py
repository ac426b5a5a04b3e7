"""Reference implementations of Frank-Wolfe and of its away-step and pairwise variants."""

import math
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from pfbench.base.state import State
from pfbench.verification.references.estimates import full_gradient, steps_along


def frank_wolfe(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Frank-Wolfe with the step size rule `s.step` (Lacoste-Julien 2016, algorithm 1)."""
    M, f, decrease, lower = 0.0, 0.0, None, 0.0
    for t in count() if s.iterations is None else range(s.iterations):
        g = ask.gradient(x)
        v = ask.lo(g)
        gap = float(np.vdot(g, x - v))
        if s.step == "open-loop":
            gamma = s.offset / (t + s.offset)
        elif s.step == "log-adaptive":
            gamma = (2.0 + math.log(t + 1.0)) / (t + 2.0 + math.log(t + 1.0))
        elif s.step == "adaptive":
            gamma = min(max(gap, 0.0) / s.curvature, 1.0)
        elif s.step == "primal-dual":
            f, bend = ask.value(x), s.smoothness * float(np.vdot(v - x, v - x))
            room = 1.0 if t == 0 else f - lower
            gamma = min(max(room, 0.0) / bend, 1.0) if t and bend > 0.0 else float(room > 0.0)
            lower += gamma * (f - gap - lower)
        elif s.step == "short":
            bend = s.smoothness * float(np.vdot(v - x, v - x))
            gamma = min(max(gap, 0.0) / bend, 1.0) if bend > 0.0 else float(gap > 0.0)
        elif s.step == "line-search":
            short = () if s.curvature is None else (min(max(gap, 0.0) / s.curvature, 1.0),)
            gamma = s.line_search(lambda c: ask.value((1.0 - c) * x + c * v), 1.0, *short)  # noqa: B023
        else:
            if t == 0:
                f, M = ask.value(x), s.smoothness or _first_smoothness_estimate(ask, x, g, v)
            gamma, M, f, decrease = backtracking(ask, x, v, gap, M, f, decrease)
        point, x = x, (1.0 - gamma) * x + gamma * v
        yield State(x, point, g)


def gradient_sums(ask: Any, x: Any, rng: Any, s: Any, *, is_optimistic: bool) -> Iterator[State]:
    """Run Frank-Wolfe along weighted sums of all gradients so far, with step sizes 2/(t+2).

    The weight of g_i at step t is 2i + 2. In the optimistic form (Martinez-Rubio, Pokutta 2025) it
    is 2i for i < t, and 4t + 2 for i = t.
    """
    S = np.zeros(np.shape(x))
    for t in range(s.iterations):
        g = ask.gradient(x)
        v = ask.lo(S + (4 * t + 2) * g if is_optimistic else S + (2 * t + 2) * g)
        S = S + 2 * (t if is_optimistic else t + 1) * g
        point, x = x, (t * x + 2 * v) / (t + 2)
        yield State(x, point, g)


def local_lmo(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run local LMO steps: x_{k+1} minimises <grad f(x_k), z> within 2 diameter/(k+2) of x_k."""

    def move(x: Any, g: Any, k: int) -> Any:
        return ask.local_lo(x, g, s.diameter / (k / 2.0 + 1.0))

    return steps_along(full_gradient(ask, rng, s), x, s, move)


def _first_smoothness_estimate(ask: Any, x: Any, g: Any, v: Any) -> float:
    """Return a smoothness estimate from the gradient's change along a short step at x_0.

    It is |grad f(x_0) - grad f(x_0 + 1e-3 d)|/(1e-3 |d|) for the direction d = v - x_0.
    """
    d = v - x
    length = math.sqrt(float(np.vdot(d, d)))
    change = ask.gradient(x + 1e-3 * d) - g
    return math.sqrt(float(np.vdot(change, change))) / (1e-3 * length) if length > 0.0 else 0.0


def backtracking(
    ask: Any, x: Any, v: Any, gap: float, M: float, f: float, decrease: float | None
) -> tuple[float, float, float, float | None]:
    """Return step size, smoothness estimate, new value of f, and decrease of f, by backtracking.

    The rule is algorithm 2 of Pedregosa et al. 2020.
    """
    if gap <= 0.0:
        return 0.0, M, f, decrease
    square = float(np.vdot(v - x, v - x))
    M = M or 1e-10 * gap / square
    if decrease is not None and decrease > 0.0:
        M = min(max(gap**2 / (2.0 * decrease * square), 0.9 * M), M)
    while True:
        gamma = min(gap / (M * square), 1.0)
        value = ask.value((1.0 - gamma) * x + gamma * v)
        if value <= f - gamma * gap + gamma**2 * M * square / 2.0 + 1e-12 * abs(f):
            return gamma, M, value, f - value
        M = 2.0 * M


class _VertexCombination:
    """Iterate as a convex combination of vertices; vertices of weight 0 are removed."""

    def __init__(self, v: Any) -> None:
        self.vertices, self.weights = [v], [1.0]

    def point(self) -> Any:
        """Return the point x that the weights and vertices represent."""
        return sum(w * v for w, v in zip(self.weights, self.vertices, strict=True))

    def find_or_add(self, v: Any) -> int:
        """Return the index of a vertex, and add the vertex if it is new."""
        for k, vertex in enumerate(self.vertices):
            if np.array_equal(vertex, v):
                return k
        self.vertices.append(v)
        self.weights.append(0.0)
        return len(self.weights) - 1

    def extreme_vertex_indices(self, g: Any) -> tuple[int, int]:
        """Return the indices of the active vertices v with the largest and the least <g, v>."""
        products = [float(np.vdot(g, v)) for v in self.vertices]
        return int(np.argmax(products)), int(np.argmin(products))

    def move_toward(self, v: Any, gamma: float) -> None:
        """Move from x to x + gamma (v - x) by changing the weights."""
        self.weights = [(1.0 - gamma) * w for w in self.weights]
        self.weights[self.find_or_add(v)] += gamma
        self._drop()

    def move_away(self, a: int, gamma: float) -> None:
        """Move from x to x + gamma (x - v), where v is the vertex with the index a."""
        leaves = gamma >= self.weights[a] / (1.0 - self.weights[a])
        self.weights = [(1.0 + gamma) * w for w in self.weights]
        self.weights[a] = 0.0 if leaves else self.weights[a] - gamma
        self._drop()

    def transfer(self, a: int, v: Any, gamma: float) -> None:
        """Move from x to x + gamma (v - u), where u is the vertex with the index a."""
        leaves = gamma >= self.weights[a]
        self.weights[self.find_or_add(v)] += gamma
        self.weights[a] = 0.0 if leaves and self.find_or_add(v) != a else self.weights[a] - gamma
        self._drop()

    def _drop(self) -> None:
        retained = [(w, v) for w, v in zip(self.weights, self.vertices, strict=True) if w > 0.0]
        total = sum(w for w, _ in retained)
        self.weights, self.vertices = [w / total for w, _ in retained], [v for _, v in retained]


def _step_size(ask: Any, x: Any, g: Any, d: Any, upper: float, s: Any) -> Any:
    """Return the step size along d from the smoothness, or by line search; at most `upper`.

    The smoothness L gives <g, -d>/(L |d|^2). Return 0 if d is not a descent direction.
    """
    descent = -float(np.vdot(g, d))
    if descent <= 0.0:
        return 0.0
    short = min(upper, descent / (s.smoothness * float(np.vdot(d, d))))
    return (
        short if s.step == "short" else s.line_search(lambda c: ask.value(x + c * d), upper, short)
    )


def polytope_steps(ask: Any, x: Any, rng: Any, s: Any, *, move: Any) -> Iterator[State]:
    """Run a Frank-Wolfe variant on a polytope; x_1 is the vertex that minimises <grad f(x_0), v>.

    The function `move` makes the further steps: `afw`, `pfw` or `bpfw`.
    """
    phi = 0.0
    for t in range(s.iterations):
        g = ask.gradient(x)
        if t == 0:
            w = ask.lo(g)
            S, phi = _VertexCombination(w), float(np.vdot(g, x - w))
        else:
            phi = move(ask, S, x, g, s, phi)
        point, x = x, S.point()
        yield State(x, point, g)


def afw(ask: Any, S: _VertexCombination, x: Any, g: Any, s: Any, phi: float) -> float:
    """Make an away-step Frank-Wolfe step: toward the LMO's vertex, or away from an active vertex.

    The direction that descends more is taken. Return `phi` unchanged.
    """
    w, (a, _) = ask.lo(g), S.extreme_vertex_indices(g)
    v = S.vertices[a]
    if len(S.weights) == 1 or float(np.vdot(g, x - w)) >= float(np.vdot(g, v - x)):
        S.move_toward(w, _step_size(ask, x, g, w - x, 1.0, s))
    else:
        upper = S.weights[a] / (1.0 - S.weights[a])
        S.move_away(a, _step_size(ask, x, g, x - v, upper, s))
    return phi


def pfw(ask: Any, S: _VertexCombination, x: Any, g: Any, s: Any, phi: float) -> float:
    """Make a pairwise step: move weight from the worst active vertex to the LMO's vertex.

    Return `phi` unchanged.
    """
    w, (a, _) = ask.lo(g), S.extreme_vertex_indices(g)
    S.transfer(a, w, _step_size(ask, x, g, w - S.vertices[a], S.weights[a], s))
    return phi


def bpfw(ask: Any, S: _VertexCombination, x: Any, g: Any, s: Any, phi: float) -> float:
    """Make a blended pairwise step: between two active vertices, or toward the LMO's vertex.

    The pairwise step moves weight from the active vertex with the largest <g, v> to that with the
    least. The lazy variant does not query LO if this step descends enough. Return the gap estimate
    of the lazy variant.
    """
    a, low = S.extreme_vertex_indices(g)
    d = S.vertices[low] - S.vertices[a]
    w = None if s.lazy else ask.lo(g)
    enough = phi / 2.0 if s.lazy else float(np.vdot(g, x - w))
    if -float(np.vdot(g, d)) >= enough and (len(S.weights) > 1 or not s.lazy):
        S.transfer(a, S.vertices[low], _step_size(ask, x, g, d, S.weights[a], s))
        return phi
    w = ask.lo(g) if s.lazy else w
    gap = float(np.vdot(g, x - w))
    if s.lazy and gap < phi / 2.0:
        return max(gap, 0.0)
    S.move_toward(w, _step_size(ask, x, g, w - x, 1.0, s))
    return phi


REFERENCES = {
    "frank-wolfe": frank_wolfe,
    "local-lmo": local_lmo,
    "heavy-ball-fw": partial(gradient_sums, is_optimistic=False),
    "optimistic-fw": partial(gradient_sums, is_optimistic=True),
    **{
        name: partial(polytope_steps, move=move)
        for name, move in (("afw", afw), ("pfw", pfw), ("bpfw", bpfw))
    },
}
