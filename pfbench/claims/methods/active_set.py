"""Away-step, pairwise and blended pairwise Frank-Wolfe, by a list of weights."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from pfbench.base.counts import Counts
from pfbench.claims.methods.estimates import searched
from pfbench.claims.methods.settings import OCTAHEDRON, sized, with_outputs
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats, instance
from pfbench.verification.instruments.waves import Waves, on_box
from pfbench.verification.laws import Formed, Method, Place, Told, setting
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.estimates import ROUNDING
from pfbench.verification.laws.method import Parameters

Weights = dict[tuple[float, ...], float]
"""The weight of each vertex, by its coordinates."""

Turn = tuple[Floats, float, Weights]
"""A direction, the longest step along it, and how a step of length 1 changes the weights."""

Rule = Callable[[Weights, Floats, Floats, Floats], Turn]
"""Weights, x, g and w = LO(g) -> where the method turns."""

Search = Callable[[bytes, float], tuple[tuple[float, ...], float]]
"""Line search along a direction, given by its bytes, up to the longest step."""

BOX = instance(on_box)

_LEAVES = 1e-8
"""A vertex that keeps a smaller share of its weight than that may have left."""

_KEPT = 8
"""So many possible weights are gone on with."""


def away(S: Weights, x: Floats, g: Floats, w: Floats) -> Turn:
    """Return w - x, or x - a where that descends more."""
    a = worst(S, g)
    if g @ (x - w) >= g @ (np.array(a) - x):
        return toward(S, x, w)
    change = dict(S)
    change[a] -= 1.0
    return x - np.array(a), S[a] / (1.0 - S[a]), change


def pairwise(S: Weights, x: Floats, g: Floats, w: Floats) -> Turn:
    """Return w - a."""
    return between(S, worst(S, g), tuple(map(float, w)))


def blended(S: Weights, x: Floats, g: Floats, w: Floats) -> Turn:
    """Return l - a, or w - x where that descends more."""
    pair = between(S, worst(S, g), worst(S, -g))
    return pair if -(g @ pair[0]) >= g @ (x - w) else toward(S, x, w)


def worst(S: Weights, g: Floats) -> tuple[float, ...]:
    """Return the vertex of S with the largest <g, v>."""
    return max(S, key=lambda v: float(g @ np.array(v)))


def toward(S: Weights, x: Floats, w: Floats) -> Turn:
    """Return the turn to w."""
    change = {v: -weight for v, weight in S.items()}
    to = tuple(map(float, w))
    change[to] = change.get(to, 0.0) + 1.0
    return w - x, 1.0, change


def between(S: Weights, a: tuple[float, ...], to: tuple[float, ...]) -> Turn:
    """Return the turn from the vertex a to another one."""
    change = dict.fromkeys((a, to), 0.0)
    change[a] -= 1.0
    change[to] += 1.0
    return np.array(to) - np.array(a), S[a], change


def moved(S: Weights, turn: Turn, gamma: float) -> Weights:
    """Return the weights after a step of length gamma."""
    change = turn[2]
    after = {v: S.get(v, 0.0) + gamma * change.get(v, 0.0) for v in {**S, **change}}
    return {v: weight for v, weight in after.items() if weight > 1e-15}


def short(turn: Turn, g: Floats, L: float) -> float:
    """Return the short step, at most the longest."""
    d, most, _ = turn
    descent = -float(g @ d)
    return min(most, descent / (L * float(d @ d))) if descent > 0.0 else 0.0


def path(problem: Waves, s: Parameters, told: Sequence[Told], *, rule: Rule) -> Iterator[Place]:
    """Yield the places: first a vertex, then steps by the rule; lazily where that is set.

    Which vertices have left is not told: what is possible is kept until the steps tell.
    """
    x, kept = problem.start(), [(Weights(), 0.0)]
    for t, one in enumerate(told):
        search = cache(partial(_searched, problem, x, one.x))
        made = partial(_steps, problem, s, one, Formed(at=x), rule if t else None, search)
        found = [step for S, phi in kept for step in made(S, phi)]
        off = [float(np.abs(place.x - one.x).max()) for place, _, _ in found]
        yield found[int(np.argmin(off))][0]
        near = max(ROUNDING, min(off))
        kept = [step[1:] for step, far in zip(found, off, strict=True) if far <= near][:_KEPT]
        x = one.x


def _steps(
    problem: Waves,
    s: Parameters,
    one: Told,
    formed: Formed,
    rule: Rule | None,
    search: Search,
    S: Weights,
    phi: float,
) -> Iterator[tuple[Place, Weights, float]]:
    """Yield the place of a step, the weights after it and phi; without a rule the first step's.

    Of line search that ends within rounding of the longest step both ends are yielded: the vertex
    left, or it kept a little.
    """
    x, g, ratios, after = formed.at, one.estimate, tuple[float, ...](), [S]
    w = np.asarray(problem.lo(g))
    gap, turn, asked = float(g @ (x - w)), None, 1
    if rule is None:
        after, phi = [{tuple(map(float, w)): 1.0}], gap
    elif s.get("lazy"):
        pair = between(S, worst(S, g), worst(S, -g))
        if len(S) > 1 and -(g @ pair[0]) >= phi / 2.0:
            turn, asked = pair, 0
        elif gap >= phi / 2.0:
            turn = toward(S, x, w)
        else:
            phi = max(0.0, gap)
    else:
        turn = rule(S, x, g, w)
    if turn and s.get("step") == "line-search":
        ratios, gamma = search(turn[0].tobytes(), turn[1])
        ends = {gamma, turn[1] if turn[1] - gamma <= _LEAVES * turn[1] else gamma}
        after = [moved(S, turn, end) for end in sorted(ends)]
    elif turn:
        after = [moved(S, turn, short(turn, g, s["smoothness"]))]
    for weights in after:
        there = np.asarray(sum(weight * np.array(v) for v, weight in weights.items()))
        yield Place(formed=formed, x=there, ratios=ratios, minimisations=asked), weights, phi


def _searched(
    problem: Waves, x: Floats, there: Floats, direction: bytes, most: float
) -> tuple[tuple[float, ...], float]:
    """Return the ratios of a line search, and the step that was taken; see `estimates.searched`."""
    place, gamma = searched(problem, Formed(at=x), np.frombuffer(direction), most, there)
    return place.ratios, gamma


def counts(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return FO T, SFO nT, LO T; lazily as few LO as the path needs."""
    T = s["iterations"]
    fv = PATH if s.get("step") == "line-search" else 0
    return (Counts(fo=T, sfo=n * T, lo=PATH if s.get("lazy") else T, fv=fv),)


def stated(name: str, source: str, rule: Rule, *forms: Parameters) -> Method:
    """Return what a source says of a method; forms are further parameters."""
    every = ({}, *forms)
    searching = {"step": "line-search", "smoothness": 8.0}
    return Method(
        name=name,
        source=source,
        referee=partial(path, rule=rule),
        counts=counts,
        enumerated=(setting(OCTAHEDRON, smoothness=6.0, iterations=4),),
        followed=(
            *(
                setting(problem, smoothness=L, iterations=25, **form)
                for problem in (OCTAHEDRON, OCTAHEDRON.seven)
                for form in every
                for L in (8.0, 2.0)
            ),
            setting(OCTAHEDRON, iterations=12, **searching),
        ),
        sized=(
            *(sized(OCTAHEDRON, smoothness=8.0, iterations=2000, **form) for form in every),
            # Steps are shorter than the longest there, and weights are small.
            *(sized(BOX, smoothness=300.0, iterations=1000, **form) for form in every),
            *(sized(BOX, iterations=100, **searching, **form) for form in every),
        ),
        counted=(
            *(
                setting(OCTAHEDRON.seven, smoothness=6.0, iterations=T, **form)
                for form in every
                for T in (9, 1)
            ),
            setting(OCTAHEDRON.seven, iterations=9, **searching),
        ),
        chosen=with_outputs(OCTAHEDRON.one, "last", "uniform", smoothness=6.0),
    )


METHODS = (
    stated(
        "afw",
        "Guelat, Marcotte 1986; Lacoste-Julien, Jaggi 2015, algorithm 1, with line search or "
        "the short step",
        away,
    ),
    stated(
        "pfw",
        "Lacoste-Julien, Jaggi 2015, algorithm 2, with line search or the short step",
        pairwise,
    ),
    stated(
        "bpfw",
        "Tsuji, Tanaka, Pokutta 2022, with line search or the short step",
        blended,
        {"lazy": True},
    ),
)

CLAIMS = claims_of(*METHODS)
