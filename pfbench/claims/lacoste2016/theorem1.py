"""Theorem 1 of lacoste2016: the decrease of f in a step by (9), the least gap, and the rate.

A gap of eps needs O(1/eps^2) steps, and no fewer on a chain.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.counts import Budget
from pfbench.base.status import Status, Verdict
from pfbench.problems.zero_chain import GAP, ZeroChain
from pfbench.runs.loop.run import Stop
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.claim import GAP as ON_GAP
from pfbench.verification.claim import complexity
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    max_curvature_bound,
    random_on_simplex,
)
from pfbench.verification.statements.bound import bound
from pfbench.verification.statements.path_mean import gap as gap_at
from pfbench.verification.units import VALUE, formula

_STEPS = 30
"""Number of compared steps; a method that continues is stopped there."""

# --- the bounds -----------------------------------------------------------------------------------


class CurvatureAndSuboptimality(NamedTuple):
    """Curvature bound C >= C_f of a problem, and initial suboptimality h0 = f(x_0) - min f."""

    C: float
    h0: float


def instance_constants(problem: IndefiniteQuadratic) -> CurvatureAndSuboptimality:
    """Return a problem's upper bound C of the curvature constant, and h0 = f(x_0) - min f."""
    return CurvatureAndSuboptimality(
        max_curvature_bound(problem), problem.value(problem.start_point) - problem.minimum_value
    )


def min_decrease(gap: float, C: float) -> float:
    """Return the decrease of f in a step by inequality (9) of lacoste2016, given the gap.

    It is min{g^2/(2C), g - (C/2) [g > C]}, where g is `gap`.
    """
    return min(gap * gap / (2.0 * C), gap - (C / 2.0 if gap > C else 0.0))


def one_as_ratio_bound(c: CurvatureAndSuboptimality, a: Any, t: int) -> float:
    """Return 1, the bound of the decrease promised by lacoste2016 (9) over the actual decrease."""
    return 1.0


def min_gap_bound(c: CurvatureAndSuboptimality, a: Any, t: int) -> float:
    """Return max{2 h0, C}/sqrt(t+1), lacoste2016's bound (6) on the smallest gap up to step t."""
    return max(2.0 * c.h0, c.C) / math.sqrt(t + 1.0)


def sharper_min_gap_bound(c: CurvatureAndSuboptimality, a: Any, t: int) -> float:
    """Return the bound (15) of lacoste2016 on the smallest gap up to step t, sharper than (6).

    The bound is h0/(t+1) + C/2 while t+1 <= 2 h0/C, and sqrt(2 h0 C/(t+1)) for larger t.
    """
    h0, C = c.h0, c.C
    if t + 1.0 <= 2.0 * h0 / C:
        return h0 / (t + 1.0) + C / 2.0
    return math.sqrt(2.0 * h0 * C / (t + 1.0))


# --- instances ------------------------------------------------------------------------------------


def quadratic(rng: np.random.Generator, d: int, slope: float) -> IndefiniteQuadratic:
    """Return a random non-convex quadratic on the simplex; it starts at the vertex of largest f.

    With d = 2 vertices, the bounds (9) and (15) are attained exactly. `slope` is the size of the
    linear part: the tested sizes give h0 far below C and far above C.
    """
    return random_on_simplex(rng, d, slope)


QUADRATICS = tuple(
    make_instance(quadratic, d=d, slope=slope) for d in (2, 3, 4, 6) for slope in (0.3, 1.0, 3.0)
)


# --- the checks -----------------------------------------------------------------------------------


def rule_parameters(c: CurvatureAndSuboptimality, *, rule: str) -> dict[str, Any]:
    """Return the parameters of a run with a step rule: `step`, `curvature` and `iterations`."""
    return {"step": rule, "curvature": c.C, "iterations": _STEPS}


def ratio_of_promised_to_actual_decrease(problem: IndefiniteQuadratic, x: Any, y: Any) -> float:
    """Return the decrease of f at x by inequality (9) of lacoste2016, divided by f(x) - f(y).

    A rounding error of 1e-14 of the size of f is added to the actual decrease.
    """
    size = 1e-14 * (1.0 + abs(problem.minimum_value) + problem.value(problem.start_point))
    promised = min_decrease(gap_at(problem, x), max_curvature_bound(problem))
    gained = problem.decrease(x, y) + size
    return promised / gained if gained > 0.0 else math.inf


_on_quadratics = partial(
    bound,
    parameters={rule: partial(rule_parameters, rule=rule) for rule in ("adaptive", "line-search")},
    constants=instance_constants,
    runs=(4, 20),
    is_pooled=True,
)

# --- the claims -----------------------------------------------------------------------------------

_claim = partial(
    Claim,
    instances=QUADRATICS,
    algorithm="frank-wolfe",
    assumptions=("C_f finite",),
    schedule="step = adaptive (option II) and line-search (option I)",
    expected_seconds=(0.7, 8.0),
)

DESCENT = _claim(
    name="lacoste2016-descent",
    source="lacoste2016 (9)",
    statement="every step: f(x+) <= f(x) - min{g^2/(2C), g - (C/2) [g > C]}",
    check=_on_quadratics(
        one_as_ratio_bound, ratio_of_promised_to_actual_decrease, statistic="step"
    ),
    formulas=(formula(min_decrease, VALUE, gap=VALUE),),
)

THEOREM1 = _claim(
    name="lacoste2016-thm1",
    source="lacoste2016 theorem 1, (6) and (15)",
    statement=(
        "min over k <= t of g_k <= max{2 h0, C}/sqrt(t+1), and <= h0/(t+1) + C/2 while "
        "t+1 <= 2 h0/C, else sqrt(2 h0 C/(t+1))"
    ),
    check=_on_quadratics(
        {"(6)": min_gap_bound, "(15)": sharper_min_gap_bound}, gap_at, statistic="least"
    ),
    units={"of": VALUE},
)


# --- the rate -------------------------------------------------------------------------------------


def chain(T: int) -> ZeroChain:
    """Return the zero chain of T links; its gap exceeds 0.04 diameters until all links are found.

    For fixed L, h0 and D, the accuracy eps is proportional to 1/sqrt(T). So the number of calls
    spans two decades while eps spans one. A call costs time proportional to T, so two decades of
    eps take too long.
    """
    return ZeroChain(horizon=T, columns=T + 1)


CHAIN = make_instance(chain, T=15)
QUADRATIC = make_instance(quadratic, d=20, slope=0.3)


# --- the check ------------------------------------------------------------------------------------


def check_gap_rate(trial: Trial) -> Evidence:
    """Test that the oracle calls until the gap is at most eps grow no faster than eps^-2.

    The exponent is fitted on rescaled zero chains and, unless these refute it, on quadratics with
    targets eps C.
    """
    parts = {}
    shortest, longest, points = trial.choose_by_effort((15, 1500, 6), (5, 5000, 8))
    lengths = np.unique(np.geomspace(shortest, longest, points).round().astype(int))
    calls = [_lo_and_fo_calls_on_chain(trial, int(T)) for T in lengths]
    # T is proportional to eps^-2 at fixed L and Delta.
    for i, oracle in enumerate(("LO", "FO")):
        fit = statistics.fit_exponent(np.sqrt(lengths), [c[i] for c in calls], least_decades=1.0)
        name = f"zero chain, {oracle}, {fit.decades:.1f} decades of eps"
        parts[name] = statistics.decide_exponent(fit, 2.0)
    targets = np.geomspace(1e-1, 1e-3, trial.choose_by_effort(5, 8))
    seeds = trial.seeds(statistics.MOST_SEEDS, "quadratics")
    first, limit = trial.choose_by_effort((6, 4000), (20, 5000))
    runs, refuted = len(calls), any(part.verdict == Verdict.VIOLATED for part in parts.values())
    for rule in () if refuted else ("open-loop", "adaptive"):
        rows = statistics.SeedRows(
            partial(_lo_calls_to_scaled_gaps, trial, targets, limit, rule), seeds
        )
        growing = statistics.make_fit_function(1.0 / targets, rows)
        parts[f"quadratics, {rule}"] = statistics.decide_exponent(growing, 2.0, seeds=first)
        runs += len(rows.computed)
    return Evidence(statistics.best_if_all_hold_else_worst(parts), {"exponent": 2.0}, runs)


def _lo_and_fo_calls_on_chain(trial: Trial, chain_length: int) -> tuple[float, float]:
    """Count linear minimisations and full gradients until a chain's gap is 0.04 diameters.

    V is the Frank-Wolfe gap. If the budget is spent before, both numbers of calls are infinite.
    """
    problem = CHAIN(T=chain_length)
    run = trial.run(
        problem,
        trial.make(step="line-search"),
        stop=Stop("fw_gap", GAP * problem.set.diameter),
        budget=Budget(lo=100.0 + chain_length * chain_length),
    )
    if run.status != Status.TARGET:
        return math.inf, math.inf
    return float(run.counts.lo), run.counts.sfo / problem.n


def _lo_calls_to_scaled_gaps(trial: Trial, targets: Any, limit: int, rule: str, seed: int) -> Any:
    """Count linear minimisations until the gap is at most each target times the curvature bound C.

    C is a bound of the curvature constant.

    The problem is a random quadratic on the simplex. A gap that is not reached gives infinity.
    """
    problem = QUADRATIC(np.random.default_rng(seed))
    C = max_curvature_bound(problem)
    counts = np.full(len(targets), math.inf)
    for step in trial.follow(problem, trial.make(step=rule, curvature=C, iterations=limit)):
        reached = gap_at(problem, step.state.x) <= targets * C
        counts[reached & np.isinf(counts)] = step.counts().lo
        if reached.all():
            break
    return counts


# --- the claim ------------------------------------------------------------------------------------

RATE = Claim(
    name="lacoste2016-rate",
    source="lacoste2016 section 1",
    kind="rate",
    statement="V <= eps after O(1/eps^2) LO and FO",
    check=check_gap_rate,
    instances=(CHAIN, QUADRATIC),
    algorithm="frank-wolfe",
    assumptions=("C_f finite",),
    schedule="line-search on the chain; open-loop and adaptive on quadratics",
    expected_seconds=(2.5, 60.0),
    complexity=complexity("frank-wolfe", ON_GAP, FO=2.0, LO=2.0),
)
