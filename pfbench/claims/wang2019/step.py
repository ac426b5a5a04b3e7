"""wang2019 section 3: the step size 1/(2L), compared with SPIDER's, which depends on epsilon."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.counts import Budget
from pfbench.base.protocols import Algorithm, Problem, State
from pfbench.base.status import Status
from pfbench.claims.wang2019.shared import MEAN_SQUARED, make_scheduled_algorithm
from pfbench.problems.linear_models import LinearModel, LogCosh, RobustRegression
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.runs.loop.run import Run, Stop
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics

_BELOW = 1000.0
"""Ratio of SPIDER's epsilon to the target."""

_PATIENCE = 100
"""SpiderBoost fails if it needs this multiple of the calls that SPIDER needs to epsilon."""


def regression(seed: int = 0, *, kind: type[LinearModel]) -> LinearModel:
    """Return a regression problem on 64 random rows in 6 variables, with small residuals.

    The residuals are small, so f is steep near its minimum. Steps that do not shrink with the
    gradient never come near it.
    """
    return kind(*draw_synthetic_rows(rows=64, columns=6, seed=seed), WholeSpace(6))


_REGRESSIONS = {
    "robust": make_instance(regression, kind=RobustRegression),
    "log cosh": make_instance(regression, kind=LogCosh),
}


def check_calls_against_spider(trial: Trial) -> Evidence:
    """Test that SpiderBoost needs no more calls than SPIDER, to epsilon and to a smaller accuracy.

    The calls are component gradients in paired runs. At epsilon, SPIDER is the better form of its
    source (option 2, which shortens its steps where the estimate is small). Below epsilon it is
    the form with steps of one length (option 1), with four times the iterations that SpiderBoost
    needed. If SPIDER does not reach the target, the ratio of calls is only an upper bound. Such a
    ratio is reported separately and decides nothing.
    """
    parts: dict[str, statistics.Decision] = {}
    conditions: dict[str, statistics.Decision] = {}
    censored: dict[str, float] = {}
    count = trial.choose_by_effort(10, 40)
    for name, drawn_anew in _REGRESSIONS.items():
        pairs: list[tuple[float, float, float]] = []
        for seed in trial.seeds(count, name):
            pairs.append(_sfo_ratios_and_spider_success(trial, drawn_anew(seed), seed))
            if math.isinf(max(pairs[-1])):
                break
        near, below, reached = (np.array(column) for column in zip(*pairs, strict=True))
        arrived = bool(np.isfinite(below).all())
        parts[f"{name}: SFO over SPIDER's, to epsilon"] = statistics.decide_median(near, 1.0)
        conditions[f"{name}: SpiderBoost gets to epsilon/{_BELOW:g}"] = statistics.decide_exact(
            arrived, f"It fails within {_PATIENCE} times SPIDER's SFO.", {}
        )
        conditions[f"{name}: share of SPIDER's runs that get there"] = statistics.decide_share(
            reached, 0.5
        )
        text = f"{name}: SFO over SPIDER's, to epsilon/{_BELOW:g}"
        censored[f"{text}: censored"] = float(np.count_nonzero(reached == 0.0))
        censored[f"{text}: at most"] = float(below.mean())
    decision = statistics.combine_parts_and_conditions(
        {"": statistics.combine_all(parts)}, conditions
    )
    return Evidence(
        replace(decision, measured={**decision.measured, **censored}),
        {"SFO over SPIDER's": 1.0, "share of SPIDER's runs that get there": 0.5},
        2 * count,
    )


def _sfo_ratios_and_spider_success(
    trial: Trial, problem: Problem, seed: int
) -> tuple[float, float, float]:
    """Return ratios of SpiderBoost's calls to SPIDER's for two targets, and SPIDER's success.

    The ratios are those of SpiderBoost to SPIDER, to epsilon and to epsilon/`_BELOW`. A ratio is
    infinite if SpiderBoost fails. If SPIDER fails, the second ratio is an upper bound, with all the
    calls of SPIDER's run, and the third number is 0, else 1.
    """
    constants = problem.constants(problem.start())
    epsilon = 0.1 * float(np.linalg.norm(problem.gradient(problem.start())))
    target = epsilon / _BELOW
    K = math.ceil(4.0 * constants.L * constants.delta / target**2)
    boost = make_scheduled_algorithm(trial, constants, K, target)
    spider: Any = ALGORITHMS["spider"]
    careful = spider.theory(epsilon, constants)
    run = _run_to_gradient_norm(trial, problem, careful, epsilon, seed)
    patience = Budget(sfo=_PATIENCE * run.counts.sfo)
    until = _run_to_gradient_norm(trial, problem, boost, epsilon, seed, patience)
    near = until.counts.sfo / run.counts.sfo if until.status == Status.TARGET else math.inf
    until = _run_to_gradient_norm(trial, problem, boost, target, seed, patience)
    one_length = replace(careful, option=1, iterations=4 * max(1, until.iterations))
    run = _run_to_gradient_norm(trial, problem, one_length, target, seed)
    below = until.counts.sfo / run.counts.sfo if until.status == Status.TARGET else math.inf
    return near, below, float(run.status == Status.TARGET)


def _run_to_gradient_norm(
    trial: Trial,
    problem: Problem,
    algorithm: Algorithm,
    target: float,
    seed: int,
    budget: Budget | None = None,
) -> Run:
    """Return a run of an algorithm that is stopped when |grad f(x_t)| <= target."""

    def measure(_: Problem, state: State) -> float:
        g = problem.gradient(state.x)
        return float(g @ g)

    name = "squared gradient"
    return trial.run(
        problem,
        algorithm,
        seed=seed,
        budget=budget,
        stop=Stop(name, target**2),
        measures={name: measure},
        frequency=2,
    )


STEP = Claim(
    name="wang2019-step",
    source="wang2019 section 3",
    kind="separation",
    statement="at step 1/(2L) SpiderBoost converges where SPIDER stalls at its step's accuracy",
    algorithm="spiderboost",
    assumptions=(MEAN_SQUARED,),
    instances=tuple(_REGRESSIONS.values()),
    schedule="SpiderBoost 1/(2L); SPIDER option 2 to its eps, option 1 (steps eps/L) below it",
    expected_seconds=(0.5, 2.0),
    check=check_calls_against_spider,
)
