"""Errata of qu2018: what its tables compare, and where theorem 1 takes the gradient mapping."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pfbench.algorithms.sliding import NCGS
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.linear_models import LinearModel, LogCosh
from pfbench.problems.rows import synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification.contrast import Contrast, Examination, Floats, compared, stream


class Visit(NamedTuple):
    """What theorem 1 speaks of at iteration k, with the gradient at theta_md_k."""

    theta: Floats
    md: Floats
    ag: Floats
    gradient: Floats


def _mapping(problem: LinearModel, x: Floats, g: Floats, lam: float) -> float:
    """Return |x - proj(x - lam g)|/lam."""
    return float(np.linalg.norm(x - problem.prox(x, g, lam))) / lam


def _radius_and_slope(seed: int) -> Iterator[tuple[LinearModel, float]]:
    """Yield a flat problem on a large ball and a steep one on a small ball, with their L."""
    features, labels = synthetic_rows(seed=seed, rows=100, columns=6)
    large = LogCosh(0.2 * features, labels, L2Ball(6, 30.0))
    small = LogCosh(10.0 * features, labels, L2Ball(6, 0.02))
    for problem in (large, small):
        yield problem, float(problem.constants(problem.start()).L_f)


Link = Callable[[float, float, float], float]
"""Makes a bound of a measure of stationarity, the diameter's part or |grad f|'s, and lambda."""

_PRINTED: tuple[Link, Link] = (lambda G, reach, lam: G**2, lambda V, reach, lam: V)
_LINKS: tuple[Link, Link] = (lambda G, reach, lam: reach * G, lambda V, reach, lam: V / lam)
"""Bounds of V by |G| and of |G|^2 by V, reach = D + lambda |grad f| (THEORY section 3)."""


def one_epsilon(effort: str, seed: int, *, printed: tuple[Link, Link] = _PRINTED) -> Contrast:
    """Tables 1 to 3 compare |G|^2 <= eps with V <= eps; ask at iterates if one implies the other.

    As printed V <= |G|^2 on one problem or |G|^2 <= V on another would make the two alike; both
    are refuted. As corrected |G|^2 <= V/lambda and V <= (D + lambda |grad f|) |G|.
    """
    worst = {"printed": np.zeros(2), "corrected": np.zeros(2)}
    for problem, L in _radius_and_slope(seed):
        D, lam = problem.set.diameter, 1.0 / (2.0 * L)
        algorithm = NCGS(iterations=30, smoothness=L, tolerance=1e-3 * L * D**2)
        ask = Oracles(problem.open(np.random.default_rng(seed)), Ledger(), D)
        for state in algorithm.run(ask, problem.start(), np.random.default_rng(seed)):
            x, g = state.at, problem.gradient(state.at)
            V, G = float(g @ x) - problem.minimum(g)[0], _mapping(problem, x, g, lam)
            reach = D + lam * float(np.linalg.norm(g))
            if V <= 0.0 or G <= 0.0:
                continue
            for name, (of_gap, of_mapping) in (("printed", printed), ("corrected", _LINKS)):
                over = [V / of_gap(G, reach, lam), G**2 / of_mapping(V, reach, lam)]
                worst[name] = np.maximum(worst[name], over)
    return compared(
        float(worst["printed"].min()),
        float(worst["corrected"].max()),
        **{
            "largest V over |G|^2": float(worst["printed"][0]),
            "largest |G|^2 over V": float(worst["printed"][1]),
            "largest V over (D + lambda|grad f|)|G|": float(worst["corrected"][0]),
            "largest lambda|G|^2 over V": float(worst["corrected"][1]),
        },
    )


def _project(y: Floats) -> Floats:
    """Return the nearest point of the unit ball."""
    return y / max(1.0, float(np.linalg.norm(y)))


def _option_two(rng: np.random.Generator, N: int) -> Iterator[tuple[Visit, float]]:
    """Run option II with exact projections (eta = chi = 0) for a random quadratic of the plane.

    F(x) = <x, Hx>/2 - <c, x> on the unit ball, H = diag(h, 1), |h| <= 1, so L = 1. Yields what the
    theorem speaks of, and F(md_k) - F(ag_k) without cancellation.
    """
    H, c = np.array([rng.uniform(-1.0, 1.0), 1.0]), rng.standard_normal(2)
    theta = ag = _project(2.0 * rng.standard_normal(2))
    beta = 0.5
    for k in range(1, N + 1):
        alpha = 2.0 / (k + 1.0)
        md = (1.0 - alpha) * ag + alpha * theta
        g = H * md - c
        ag = _project(md - beta * g)
        s = md - ag
        yield Visit(theta, md, ag, g), float(g @ s - 0.5 * s @ (H * s))
        theta = _project(theta - k * beta / 2.0 * g)


def mapping_of_option_two(
    effort: str, seed: int, *, at: Callable[[Visit], Floats] = lambda visit: visit.theta
) -> Contrast:
    """Theorem 1, option II prints |G| at theta_{k-1}; its proof bounds it at theta_md_k.

    The proof needs (3/(16 L)) |G|^2 <= F(md_k) - F(ag_k) of every iteration. At md_k it holds (beta
    = 1/(2L)); at theta_{k-1} iterations refute it. The final bound of min_k |G|^2 is so loose that
    no run was found that refutes it with the mapping at theta_{k-1}.
    """
    rng, beta = stream(seed, "thm1-II"), 0.5
    worst = {"theta": 0.0, "md": 0.0}
    refuted, iterations = 0, 0
    for _ in range(100 if effort == "quick" else 1000):
        for visit, fall in _option_two(rng, 40):
            for name, x in (("theta", at(visit)), ("md", visit.md)):
                square = float(np.sum((x - _project(x - beta * visit.gradient)) ** 2)) / beta**2
                if square < 1e-12:
                    continue  # below, rounding decides
                ratio = 3.0 / 16.0 * square / fall
                worst[name] = max(worst[name], ratio)
                refuted += name == "theta" and ratio > 1.0
            iterations += 1
    return compared(
        worst["theta"],
        worst["md"],
        **{"iterations": float(iterations), "refuting iterations": float(refuted)},
    )


EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {
        "qu2018-tables": one_epsilon,
        "qu2018-thm1-II-mapping": mapping_of_option_two,
    }
)
"""The examinations of this file, by the name of the erratum."""
