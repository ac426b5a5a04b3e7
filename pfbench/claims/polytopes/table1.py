"""Exponents on polytopes, claimed and measured: active-set methods, plain Frank-Wolfe.

f is strongly convex, and its minimiser lies inside a facet. With away and pairwise steps, the
linear minimisations grow as the logarithm of 1/epsilon. Plain Frank-Wolfe with line search needs a
number that grows as 1/epsilon on the cube. Counts start at a point with a small gap, because the
methods have no proved rate before. Nothing is drawn, so each exponent is a single number.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance, statistics
from pfbench.verification.claim import EXCESS, complexity
from pfbench.verification.instruments.quadratics import quadratic_on_facet

POLYTOPES = tuple(
    make_instance(quadratic_on_facet, kind=kind, d=d, kappa=10.0, turn=turn).with_title(
        f"{kind} {d}"
    )
    for kind, d, turn in (("simplex", 4, 3), ("cube", 3, 1), ("l1", 3, 3))
)

CUBE = make_instance(quadratic_on_facet, kind="cube", d=3, kappa=2.0, turn=1).with_title("cube 3")

_LOGARITHMIC = np.geomspace(1e-1, 1e-9, 8)
"""Target fractions of the first counted gap; their logarithms span 0.95 decades."""

_POWERS = np.geomspace(1e-1, 1e-2, 4)

_LONGEST = 30_000


def calls_to_reduce(
    trial: Trial,
    problem: Any,
    target_fractions: Sequence[float] | Floats,
    starting_fraction: float,
    **overrides: Any,
) -> list[float]:
    """Return the numbers of LO calls that reduce f - min f from a start value to fractions of it.

    The start value is `starting_fraction` of f - min f after the first step. Linear minimisations
    before this value is reached are not counted. A target that is never
    reached gives infinity.
    """
    L = float(np.linalg.eigvalsh(problem.A)[-1])
    algorithm = trial.make(iterations=_LONGEST, **(overrides or {"smoothness": L}))
    results, low, before = list[float](), math.inf, 0.0
    for step in trial.follow(problem, algorithm):
        h = problem.value(np.asarray(step.state.x)) - problem.minimum_value
        spent = float(step.counts().lo)
        if math.isinf(low):
            low = starting_fraction * h
        if h > low:
            before = spent + 1.0
        while len(results) < len(target_fractions) and h <= target_fractions[len(results)] * low:
            results.append(spent - before)
        if len(results) == len(target_fractions):
            break
    return results + [math.inf] * (len(target_fractions) - len(results))


def check_logarithmic_calls(trial: Trial) -> Evidence:
    """Test that the LO count grows at most linearly in ln(1/epsilon), on each polytope."""
    x, parts = -np.log(_LOGARITHMIC), dict[str, statistics.Decision]()
    for instance in POLYTOPES:
        fit = statistics.fit_exponent(
            x, calls_to_reduce(trial, instance(), _LOGARITHMIC, 1e-3), least_decades=0.9
        )
        parts[f"LO in ln(1/epsilon): {instance.name}"] = statistics.decide_exponent(fit, 1.0)
    return Evidence(
        statistics.best_if_all_hold_else_worst(parts), dict.fromkeys(parts, 1.0), len(parts)
    )


def check_zigzag_calls(trial: Trial) -> Evidence:
    """Test that plain Frank-Wolfe's linear minimisations grow at most as 1/epsilon on the cube."""
    spent = calls_to_reduce(trial, CUBE(), _POWERS, 1e-1, step="line-search")
    fit = statistics.fit_exponent(1.0 / _POWERS, spent, least_decades=0.99)
    subject = f"LO in 1/epsilon: {CUBE.name}"
    return Evidence(
        statistics.combine_all({subject: statistics.decide_exponent(fit, 1.0)}), {subject: 1.0}, 1
    )


def _claim(name: str, source: str, *, is_plain: bool = False) -> Claim:
    """Return the claim on an active-set method or, with `is_plain`, on plain Frank-Wolfe."""
    calls = "eps^-1 LO, f convex" if is_plain else "log(1/eps) LO, f strongly convex on a polytope"
    return Claim(
        name=f"polytopes-table1-{name}",
        source=source,
        kind="rate",
        statement=f"f - min f <= eps after {calls}, in order",
        check=check_zigzag_calls if is_plain else check_logarithmic_calls,
        instances=(CUBE,) if is_plain else POLYTOPES,
        algorithm=name,
        assumptions=("f convex",) if is_plain else ("f strongly convex", "a polytope"),
        schedule="step = line-search" if is_plain else "short steps with L = L_f",
        expected_seconds=(None, 6.0),
        complexity=complexity(name, EXCESS, LO=float(is_plain)),
    )


TABLE = {
    "afw": _claim("afw", "Lacoste-Julien, Jaggi 2015"),
    "pfw": _claim("pfw", "Lacoste-Julien, Jaggi 2015, where swaps are few"),
    "bpfw": _claim("bpfw", "Tsuji, Tanaka, Pokutta 2022"),
    "frank-wolfe": _claim(
        "frank-wolfe", "Jaggi 2013, the older method next to these", is_plain=True
    ),
}
