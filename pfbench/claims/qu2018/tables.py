"""Tables 1 to 3 of qu2018: what they compare."""

from collections.abc import Callable, Iterator

import numpy as np

from pfbench.algorithms.sliding import NCGS
from pfbench.claims.qu2018.theorem1 import RATE
from pfbench.problems.linear_models import LinearModel, LogCosh
from pfbench.problems.rows import synthetic_rows
from pfbench.runs.loop.asking import oracles_of
from pfbench.sets import L2Ball
from pfbench.verification import Erratum, Floats
from pfbench.verification.contrast import Contrast, compared


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
"""Bounds of V by |G| and of |G|^2 by V, reach = D + lambda |grad f|, as printed and as they are.

The latter follow from <x - lambda g - x+, y - x+> <= 0 for all y in C, x+ the projection.
"""


def one_epsilon(effort: str, seed: int, *, printed: tuple[Link, Link] = _PRINTED) -> Contrast:
    """Tables 1 to 3 compare |G|^2 <= eps with V <= eps; ask at iterates if one implies the other.

    As printed V <= |G|^2 on one problem or |G|^2 <= V on another would make the two alike; both
    are refuted. As corrected |G|^2 <= V/lambda and V <= (D + lambda |grad f|) |G|.
    """
    worst = {"printed": np.zeros(2), "corrected": np.zeros(2)}
    for problem, L in _radius_and_slope(seed):
        D, lam = problem.set.diameter, 1.0 / (2.0 * L)
        algorithm = NCGS(iterations=30, smoothness=L, tolerance=1e-3 * L * D**2)
        ask = oracles_of(problem, problem.open(np.random.default_rng(seed)))
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


ERRATA = (
    Erratum(
        name="qu2018-tables",
        as_printed="|G|^2 <= eps and V <= eps are compared in tables 1 to 3 as if alike",
        corrected="lambda |G|^2 <= V <= (D + lambda |grad f|) |G|: compare on one scale",
        examine=one_epsilon,
        claim=RATE,
    ),
)
