"""Away-step, pairwise and blended pairwise Frank-Wolfe: short steps, by a list of weights."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from pfbench.base.counts import Counts
from pfbench.claims.methods.stating import ONE_ON_OCTAHEDRON, claims_of
from pfbench.verification import Floats, instance
from pfbench.verification.instruments.waves import Waves, on_octahedron
from pfbench.verification.laws import Formed, Method, Place, Told, setting
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.method import Parameters

Weights = dict[tuple[float, ...], float]
"""The weight of each vertex, by its coordinates."""

Turn = tuple[Floats, float, Weights]
"""A direction, the longest step along it, and how a step of length 1 changes the weights."""

Rule = Callable[[Weights, Floats, Floats, Floats], Turn]
"""Weights, x, g and w = LO(g) -> where the method turns."""

OCTAHEDRON = instance(on_octahedron)
SEVEN_ON_OCTAHEDRON = instance(on_octahedron, n=7)


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


def moved(S: Weights, turn: Turn, g: Floats, L: float) -> Weights:
    """Return the weights after the short step, at most the longest."""
    d, most, change = turn
    descent = -float(g @ d)
    gamma = min(most, descent / (L * float(d @ d))) if descent > 0.0 else 0.0
    after = {v: S.get(v, 0.0) + gamma * change.get(v, 0.0) for v in {**S, **change}}
    return {v: weight for v, weight in after.items() if weight > 1e-15}


def path(problem: Waves, s: Parameters, told: Sequence[Told], *, rule: Rule) -> Iterator[Place]:
    """Yield the places: first a vertex, then short steps by the rule; lazily where that is set."""
    x, S, phi = problem.start(), Weights(), 0.0
    for t, one in enumerate(told):
        g, asked = one.estimate, 1
        w = np.asarray(problem.lo(g))
        gap = float(g @ (x - w))
        if t == 0:
            S, phi = {tuple(map(float, w)): 1.0}, gap
        elif s.get("lazy"):
            pair = between(S, worst(S, g), worst(S, -g))
            if len(S) > 1 and -(g @ pair[0]) >= phi / 2.0:
                S, asked = moved(S, pair, g, s["smoothness"]), 0
            elif gap >= phi / 2.0:
                S = moved(S, toward(S, x, w), g, s["smoothness"])
            else:
                phi = max(0.0, gap)
        else:
            S = moved(S, rule(S, x, g, w), g, s["smoothness"])
        there = np.asarray(sum(weight * np.array(v) for v, weight in S.items()))
        yield Place(formed=Formed(at=x), x=there, minimisations=asked)
        x = one.x


def counts(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return FO T, SFO nT, LO T; lazily as few LO as the path needs."""
    T = s["iterations"]
    return (Counts(fo=T, sfo=n * T, lo=PATH if s.get("lazy") else T),)


def stated(name: str, source: str, rule: Rule, *forms: Parameters) -> Method:
    """Return what a source says of a method; forms are further parameters."""
    every = ({}, *forms)
    return Method(
        name=name,
        source=source,
        referee=partial(path, rule=rule),
        counts=counts,
        enumerated=(setting(OCTAHEDRON, smoothness=6.0, iterations=4),),
        followed=tuple(
            setting(problem, smoothness=L, iterations=25, **form)
            for problem in (OCTAHEDRON, SEVEN_ON_OCTAHEDRON)
            for form in every
            for L in (8.0, 2.0)
        ),
        counted=tuple(
            setting(SEVEN_ON_OCTAHEDRON, smoothness=6.0, iterations=T, **form)
            for form in every
            for T in (9, 1)
        ),
        chosen=tuple(
            setting(ONE_ON_OCTAHEDRON, smoothness=6.0, iterations=T, output=output)
            for T in (8, 21)
            for output in ("last", "uniform")
        ),
    )


METHODS = (
    stated(
        "afw",
        "Guelat, Marcotte 1986; Lacoste-Julien, Jaggi 2015, algorithm 1, with the short step",
        away,
    ),
    stated("pfw", "Lacoste-Julien, Jaggi 2015, algorithm 2, with the short step", pairwise),
    stated("bpfw", "Tsuji, Tanaka, Pokutta 2022, with the short step", blended, {"lazy": True}),
)

CLAIMS = tuple(claim for method in METHODS for claim in claims_of(method))
