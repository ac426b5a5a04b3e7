"""wang2019 theorems 1 and 2: the mean of E|G(x_t)|^2 over K steps of size 1/(2L).

Theorem 1 is on SpiderBoost, whose gradient mapping G is the gradient, and theorem 2 on its proximal
form.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from pfbench.base.counts import Counts
from pfbench.base.protocols import Problem
from pfbench.claims.wang2019 import estimate, shared
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic, RobustRegression
from pfbench.verification import (
    Claim,
    Evidence,
    Instance,
    MethodFailed,
    NotTestable,
    Trial,
    make_instance,
    statistics,
)
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.units import SQUARE, formula

FREE = make_instance(ConstantSlopeProblem, n=4, g=1.0, gap=10.0, L=1.0)
"""A slope on the line, which runs descend in one direction, for unconstrained methods."""

Bound = Callable[[float, float, int], float]
"""(L, Delta, K) -> the bound of E|G(x_xi)|^2."""


def gradient_sq_bound(L: float, Delta: float, K: int) -> float:
    """Return 4 L Delta/K, the bound of SpiderBoost's expected squared gradient at the output.

    The paper prints it as O(.).
    """
    return 4.0 * L * Delta / K


def mapping_sq_bound(L: float, Delta: float, K: int) -> float:
    """Return 20 L Delta/K, the bound of Prox-SpiderBoost's expected squared gradient mapping.

    It is for the output x_xi, and the paper prints it as O(.).

    The smaller constant 18 can be proved, too.
    """
    return 20.0 * L * Delta / K


_SMOOTH: Mapping[str, tuple[Instance, int]] = {
    "robust regression": (
        make_instance(shared.noiseless_model, kind=RobustRegression, n=64, d=4),
        640,
    ),
    "non-convex logistic": (
        make_instance(shared.noiseless_model, kind=NonconvexLogistic, n=64, d=4),
        640,
    ),
    "least squares": (make_instance(shared.noiseless_model, kind=LeastSquares, n=256, d=3), 320),
    "slope": (make_instance(ConstantSlopeProblem, n=64, g=0.1, gap=1.0, sigma=0.5), 200),
    "chain": (make_instance(shared.chain, n=16, links=3), 600),
}
"""Instances of theorem 1 by title, each with its K."""

_of_norm_3 = partial(make_instance, shared.noiseless_model, scale=3.0)
"""Rows of norm 3: at norm 1, eta = 1 would hide a penalty that is taken without eta."""

_PENALISED: Mapping[str, tuple[Instance, int]] = {
    "robust regression": (_of_norm_3(kind=RobustRegression, n=64, d=4, weight=0.05), 640),
    "non-convex logistic": (_of_norm_3(kind=NonconvexLogistic, n=64, d=4, weight=0.05), 640),
    "least squares": (_of_norm_3(kind=LeastSquares, n=256, d=3, weight=1e-3), 320),
    "slope": (
        make_instance(ConstantSlopeProblem, n=64, g=0.1, gap=1.0, sigma=0.5, weight=0.01),
        200,
    ),
}
"""Instances of theorem 2 by title, each with its K."""


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
            trial, name, shared.draw_problem(trial, problem), K, bound, calls
        )
        runs += count
    free = all(problem().unconstrained for problem, _ in problems.values())
    conditions = {
        "calls": statistics.decide_inequality(calls),
        "output": trial.decide_if_output_is_uniform(FREE() if free else None),
        **estimate.decide_law_with_method_schedule(trial),
    }
    return Evidence(
        statistics.combine_parts_and_conditions({"": parts}, conditions),
        {"mean over bound": 1.0, "calls over those of K steps": 1.0},
        runs,
    )


def _decide_on_problem(
    trial: Trial, name: str, problem: Problem, K: int, bound: Bound, calls: list[float]
) -> tuple[statistics.Decision, int]:
    """Return the decision on the mean squared gradient mapping on a problem, and the run count.

    The ratios of the counts to the claimed counts are appended to `calls`.
    """
    constants = problem.constants(problem.start())
    upper = bound(constants.L, constants.delta, K)
    algorithm = shared.make_scheduled_algorithm(trial, constants, K, math.sqrt(upper))
    square = shared.mapping_sq_function(problem)

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
    """Return the number of component gradients in a run, divided by that claimed for K steps."""
    n, root = problem.n, math.sqrt(problem.n)
    epochs = -(-K // math.floor(root))
    return counts.sfo / (n * epochs + 2 * math.ceil(root) * (K - epochs))


def _claim(
    number: int,
    algorithm: str,
    statement: str,
    bound: Bound,
    problems: Mapping[str, tuple[Instance, int]],
    expected_seconds: tuple[float, float],
) -> Claim:
    return Claim(
        name=f"wang2019-thm{number}",
        source=f"wang2019 theorem {number}, constant derived",
        kind="bound",
        statement=statement,
        algorithm=algorithm,
        assumptions=(shared.MEAN_SQUARED, "q <= |S| + 1"),
        instances=(*(problem for problem, _ in problems.values()), estimate.BOWL),
        schedule=shared.SCHEDULE,
        expected_seconds=expected_seconds,
        check=partial(check_mean_mapping, bound=bound, problems=problems),
        formulas=(formula(bound, SQUARE),),
    )


THM1 = _claim(
    1,
    "spiderboost",
    "E|grad f(x_xi)|^2 <= 4 L Delta/K, xi uniform",
    gradient_sq_bound,
    _SMOOTH,
    (6.0, 10.0),
)

THM2 = _claim(
    2,
    "prox-spiderboost",
    "E|G_eta(x_xi)|^2 <= 20 L Delta/K (18 is provable), xi uniform, PO = K",
    mapping_sq_bound,
    _PENALISED,
    (4.0, 7.0),
)
