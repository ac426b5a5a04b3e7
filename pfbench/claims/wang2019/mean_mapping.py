"""Tests of theorems 1 and 2 of wang2019: bounds of the mean of E|G(x_t)|^2 over K steps."""

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np

from pfbench.base.counts import Counts
from pfbench.base.protocols import Problem
from pfbench.claims.wang2019 import estimate
from pfbench.claims.wang2019.shared import (
    draw_instance,
    make_scheduled_algorithm,
    mapping_sq_function,
)
from pfbench.verification import Evidence, Instance, MethodFailed, NotTestable, Trial, make_instance
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.statistics import (
    Decision,
    combine_instances,
    combine_with_conditions,
    decide_inequality,
)

FREE = make_instance(ConstantSlopeProblem, n=4, g=1.0, gap=10.0, L=1.0)
"""A slope on the line, which runs descend in one direction, for unconstrained methods."""

Bound = Callable[[float, float, int], float]
"""(L, Delta, K) -> the bound of E|G(x_xi)|^2."""


def check_mean_mapping(
    trial: Trial, bound: Bound, problems: Mapping[str, tuple[Instance, int]]
) -> Evidence:
    """Test the bound of the mean squared gradient mapping over the first K points of runs.

    Conditions are the number of calls, a uniform draw of the output, and the law of the estimate's
    error.
    """
    parts, runs = {}, 0
    calls: list[float] = []
    for name, (problem, K) in problems.items():
        parts[name], count = _decide_on_problem(
            trial, name, draw_instance(trial, problem), K, bound, calls
        )
        runs += count
    free = all(problem().unconstrained for problem, _ in problems.values())
    conditions = {
        "calls": decide_inequality(calls),
        "output": trial.decide_uniform_output(FREE() if free else None),
        **estimate.decide_law_with_own_schedule(trial),
    }
    return Evidence(
        combine_with_conditions({"": combine_instances(parts)}, conditions),
        {"mean over bound": 1.0, "calls over those of K steps": 1.0},
        runs,
    )


def _decide_on_problem(
    trial: Trial, name: str, problem: Problem, K: int, bound: Bound, calls: list[float]
) -> tuple[Decision, int]:
    """Return the decision on the mean squared gradient mapping on a problem, and the run count.

    The ratios of the counts to the claimed counts are appended to `calls`.
    """
    constants = problem.constants(problem.start())
    upper = bound(constants.L, constants.delta, K)
    algorithm = make_scheduled_algorithm(trial, constants, K, math.sqrt(upper))
    square = mapping_sq_function(problem)

    def ratio(seed: int) -> float:
        moves = list(
            itertools.islice(trial.follow_with_previous_point(problem, algorithm, seed), K)
        )
        if not moves:
            raise MethodFailed("the method makes no step")
        count, counts = len(moves), moves[-1][1].counts()
        if count < K and _sfo_ratio(problem, counts, count) > 1.0 >= _sfo_ratio(problem, counts, K):
            raise NotTestable(f"the method yields {count} states in {K} steps, not {K}")
        calls.extend(_ratios_to_claimed_calls(problem, counts, count))
        return float(np.mean([square(x) for x, _ in moves])) / upper

    return trial.decide_mean_sequentially(
        ratio, purpose=name, batch=10, limit=trial.choose_by_effort(80, 320)
    )


def _ratios_to_claimed_calls(problem: Problem, counts: Counts, K: int) -> list[float]:
    """Return the oracle counts of a run divided by the claimed ones; no ratio may exceed 1.

    Claimed are n ceil(K/q) + 2S(K - ceil(K/q)) component gradients, and K proximal calls. For
    proximal calls, the inverse ratio is returned too, so that they must be equal.
    """
    ratios = [_sfo_ratio(problem, counts, K)]
    return ratios if problem.unconstrained else [*ratios, counts.po / K, K / max(counts.po, 1)]


def _sfo_ratio(problem: Problem, counts: Counts, K: int) -> float:
    """Return a run's component gradients divided by those claimed for K steps."""
    n, root = problem.n, math.sqrt(problem.n)
    epochs = -(-K // math.floor(root))
    return counts.sfo / (n * epochs + 2 * math.ceil(root) * (K - epochs))
