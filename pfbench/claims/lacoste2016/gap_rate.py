"""The rate of lacoste2016: a gap of eps after O(1/eps^2) steps, and no faster on a chain."""

import math
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.counts import Budget
from pfbench.base.status import Status
from pfbench.problems.zero_chain import GAP, ZeroChain
from pfbench.runs.loop.run import Stop
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.criteria import GAP as ON_GAP
from pfbench.verification.criteria import complexity
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    curvature_bound,
    random_on_simplex,
)
from pfbench.verification.statements.path_mean import gap as gap_at
from pfbench.verification.statistics import (
    MOST_SEEDS,
    SeedRows,
    combine_instances,
    decide_exponent,
    fit_exponent,
    make_fit_function,
)

# --- instances ------------------------------------------------------------------------------------


def chain(T: int) -> ZeroChain:
    """Return the zero chain of T links, whose gap stays above 0.04 D until all links are found.

    For fixed L, h0 and D, the accuracy eps is proportional to 1/sqrt(T). So the number of calls
    spans two decades while eps spans one. A call costs time proportional to T, so two decades of
    eps take too long.
    """
    return ZeroChain(horizon=T, columns=T + 1)


def quadratic(rng: np.random.Generator, d: int, slope: float) -> IndefiniteQuadratic:
    """Return a random non-convex quadratic on the simplex of d vertices."""
    return random_on_simplex(rng, d, slope)


CHAIN = make_instance(chain, T=15)
QUADRATIC = make_instance(quadratic, d=20, slope=0.3)


# --- the check ------------------------------------------------------------------------------------


def check_gap_rate(trial: Trial) -> Evidence:
    """Test that the calls until the Frank-Wolfe gap is at most eps grow at most as eps^-2.

    The exponent is fitted on rescaled zero chains, and on quadratics with targets eps C.
    """
    parts = {}
    shortest, longest, points = trial.choose_by_effort((15, 1500, 6), (5, 5000, 8))
    lengths = np.unique(np.geomspace(shortest, longest, points).round().astype(int))
    calls = [_lo_and_fo_calls_on_chain(trial, int(T)) for T in lengths]
    # T is proportional to eps^-2 at fixed L and Delta.
    for i, oracle in enumerate(("LO", "FO")):
        fit = fit_exponent(np.sqrt(lengths), [c[i] for c in calls], least_decades=1.0)
        name = f"zero chain, {oracle}, {fit.decades:.1f} decades of eps"
        parts[name] = decide_exponent(fit, 2.0)
    targets = np.geomspace(1e-1, 1e-3, trial.choose_by_effort(5, 8))
    seeds, first, max_count = (
        trial.seeds(MOST_SEEDS, "quadratics"),
        *trial.choose_by_effort((6, 4000), (20, 5000)),
    )
    full_list = {
        rule: SeedRows(partial(_lo_calls_to_scaled_gaps, trial, targets, max_count, rule), seeds)
        for rule in ("open-loop", "adaptive")
    }

    def min_calls(k: int) -> Any:
        return np.min([rows(k + 1)[k] for rows in full_list.values()], axis=0)

    best = SeedRows(min_calls, range(MOST_SEEDS))
    for name, rows in {**full_list, "best of both": best}.items():
        parts[f"quadratics, {name}"] = decide_exponent(
            make_fit_function(1.0 / targets, rows), 2.0, seeds=first
        )
    runs = len(calls) + sum(len(rows.computed) for rows in full_list.values())
    return Evidence(combine_instances(parts), {"exponent": 2.0}, runs)


def _lo_and_fo_calls_on_chain(trial: Trial, chain_length: int) -> tuple[float, float]:
    """Return the linear minimisations and full gradients until the gap is <= 0.04 D on a chain.

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
    """Return the number of linear minimisations until the gap is at most each target times C.

    C is a bound of the curvature constant.

    The problem is a random quadratic on the simplex. A gap that is not reached gives infinity.
    """
    problem = QUADRATIC(np.random.default_rng(seed))
    C = curvature_bound(problem)
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
    schedule="line-search on the chain; open-loop, adaptive, the best of both on quadratics",
    expected_seconds=(2.5, 60.0),
    complexity=complexity("frank-wolfe", ON_GAP, FO=2.0, LO=2.0),
)

CLAIMS = (RATE,)
