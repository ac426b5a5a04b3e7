"""Section 4 of shen2019: the conditional mean of each gradient estimate is the gradient."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from pfbench.base.protocols import Algorithm, Problem
from pfbench.claims.shen2019.epoch_estimators import METHODS, RECURSIVE, estimate_error_vectors
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance, reproducibility
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.statements.error_law import group_errors
from pfbench.verification.statistics import LEVEL, Decision, decide_exact


def enumerable_logistic(rng: np.random.Generator) -> NonconvexLogistic:
    """Return logistic regression with so few components that all batches can be enumerated.

    The gradient changes along the path, so a gradient taken at another point is detected.
    """
    features, labels = draw_synthetic_rows(True, rows=3, columns=3, seed=int(rng.integers(2**31)))
    return NonconvexLogistic(features, labels, L2Ball(3, 2.0), alpha=0.3)


# The title seeds its random streams: another one changes every number.
FAMILY = make_instance(enumerable_logistic).with_title("few_components")

_BATCH, _STEP = 2, 0.2

_ROUNDING = 1e-10
"""Largest deviation that counts as rounding, in units of the gradient at the start."""


def check_unbiased_by_enumeration(trial: Trial, *, estimator: str) -> Evidence:
    """Test, by enumeration, that each estimate's mean, given the past, is the gradient.

    At snapshots, the estimate itself must be the gradient. The past consists of what the algorithm
    has yielded, so the algorithm may draw when and how it likes.
    """
    problem = FAMILY(trial.rng("data"))
    results = {"at snapshots": 0.0, "relative deviation": 0.0}
    runs = 0
    for p, T in [(1, 2)] if estimator == "sg" else [(3, 3), (2, 4)]:

        def run(rng: np.random.Generator, p: int = p, T: int = T) -> list[tuple[Floats, Floats]]:
            return _points_and_estimates(trial, problem, p, T, rng=rng)

        try:
            reproducibility.check_reproducible(trial, problem, _make_algorithm(trial, p, T))
            groups, count = group_errors(problem, enumerate_draws(run))
        except NotEnumerable as why:
            sampled = _check_sampled_means(trial, problem, estimator)
            return replace(
                sampled, decision=reproducibility.mark_unrepeatable(sampled.decision, why)
            )
        runs += count
        for group in groups:
            if _is_full_gradient(estimator, group.past.t, p):
                name, worst = "at snapshots", math.sqrt(group.square / group.chance)
            else:
                before = group.past.error if estimator in RECURSIVE else 0.0
                name, worst = "relative deviation", np.abs(group.mean / group.chance - before).max()
            results[name] = max(results[name], float(worst))
    scale = float(np.abs(problem.gradient(problem.start())).max())
    measured = {name: worst / scale for name, worst in results.items()}
    largest = max(measured.values())
    if largest > _ROUNDING:
        reproducibility.check_seed_changes_runs(trial, problem, _make_algorithm(trial, p, T))
    decision = decide_exact(
        largest <= _ROUNDING,
        f"A conditional mean is off by {largest:.3g} of the gradient.",
        {**measured, "ratio": largest / _ROUNDING},
    )
    return Evidence(decision, dict.fromkeys(results, 0.0), runs)


def _is_full_gradient(estimator: str, t: int, p: int) -> bool:
    """Return whether the estimate in iteration t is a full gradient, as it is at snapshots."""
    return estimator != "sg" and t % p == 0


def _make_algorithm(trial: Trial, p: int, T: int) -> Algorithm:
    return trial.make(batch=_BATCH, period=p, iterations=T, step=_STEP)


def _points_and_estimates(
    trial: Trial, problem: Problem, p: int, T: int, **stream: Any
) -> list[tuple[Floats, Floats]]:
    """Return the points of a run, each with the gradient estimate at it.

    `stream` is the argument `rng` or `seed` of `Trial.follow`.
    """
    steps = list(trial.follow(problem, _make_algorithm(trial, p, T), **stream))
    points = [problem.start(), *(step.state.x for step in steps)]
    estimate_error_vectors(problem, steps, T)  # raises where it cannot see them
    return [(x, step.estimate) for x, step in zip(points, steps, strict=False)]


def _check_sampled_means(trial: Trial, problem: Problem, estimator: str) -> Evidence:
    """Test that the means of sampled errors are 0, for draws that cannot be enumerated.

    Each coordinate at each iteration of an epoch has a t-test, and the level is divided among the
    tests. At snapshots every error must be 0.
    """
    p, T = (1, 1) if estimator == "sg" else (3, 4)
    errors = np.array(
        [
            [
                g - problem.gradient(x)
                for x, g in _points_and_estimates(trial, problem, p, T, seed=s)
            ]
            for s in trial.seeds(2000, "sampled mean")
        ]
    )
    scale = float(np.abs(problem.gradient(problem.start())).max())
    random = [t for t in range(T) if not _is_full_gradient(estimator, t, p)]
    added = errors[:, random] - (
        errors[:, [t - 1 for t in random]] if estimator in RECURSIVE else 0
    )
    columns = added.reshape(len(errors), -1) / scale
    deviation = float(np.abs(columns.mean(axis=0)).max())
    snapshots = np.abs(np.delete(errors, random, axis=1)).max(initial=0.0)
    measured = {"relative deviation": deviation, "at snapshots": float(snapshots) / scale}
    p_value = min(1.0, min(map(_p_value_of_zero_mean, columns.T)) * columns.shape[1])
    spread = float(columns.std(axis=0, ddof=1).max()) / math.sqrt(len(columns))
    half = float(scipy.special.stdtrit(len(columns) - 1, 0.975)) * spread  # of a t-interval
    measured["half width of the interval"] = half
    if not measured["at snapshots"] <= _ROUNDING:
        words = "The estimate at a snapshot is not the gradient."
        decision = Decision("violated", words, measured, None)
    elif p_value <= LEVEL:
        decision = Decision(
            "violated", f"The mean is off by {deviation:.3g} of the gradient.", measured, p_value
        )
    elif half <= 0.1:
        decision = Decision("holds", "The sampled mean is the gradient.", measured, p_value)
    else:
        decision = Decision("inconclusive", "The sampled mean is too uncertain.", measured, p_value)
    return Evidence(decision, {"relative deviation": 0.0, "at snapshots": 0.0}, len(errors))


def _p_value_of_zero_mean(column: Floats) -> float:
    """Return the p-value of a t-test that the mean is 0, or 1 if the mean is 0 up to rounding."""
    if abs(float(column.mean())) <= _ROUNDING:
        return 1.0
    if not float(np.ptp(column)) > 0.0:
        return 0.0
    return float(scipy.stats.ttest_1samp(column, 0.0).pvalue)


_WHOLE = "E[g_t | past] = grad f(x_t)"
_INCREMENT = "E[g_t - g_{t-1} | past] = grad f(x_t) - grad f(x_{t-1})"
_STATEMENTS = {
    **dict.fromkeys(METHODS, _WHOLE),
    **dict.fromkeys(RECURSIVE, _INCREMENT),
    "sg": "E[g_t | x_t] = grad f(x_t)",
}

UNBIASED = {
    name: Claim(
        name=f"shen2019-unbiased-{name}",
        source="shen2019 section 4, estimators GE 1 to 5",
        kind="law",
        statement=_STATEMENTS[name],
        check=partial(check_unbiased_by_enumeration, estimator=name),
        instances=(FAMILY,),
        algorithm=method.name,
        expected_seconds=(0.2, 0.2),
    )
    for name, method in METHODS.items()
}
