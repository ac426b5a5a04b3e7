"""Shared parts of qu2018's theorems: the gradient mapping, a linear function, schedule costs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.constants import Constants
from pfbench.base.protocols import Problem
from pfbench.sets import Box
from pfbench.verification import Evidence, Floats, Instance, MethodFailed, Trial, statistics
from pfbench.verification.instruments import indefinite


def mapping_sq(problem: Problem, x: Floats, g: Floats, lam: float) -> float:
    """Return |G|^2 for the gradient mapping G = (x - prox(x - lam g))/lam at x, with gradient g."""
    return float(np.sum((x - problem.prox(x, g, lam)) ** 2)) / lam**2


def compute_weighted_mean(values: Sequence[float]) -> float:
    """Return the mean of the values of iterations k = 1, 2, ..., weighted by k (k + 1)."""
    k = np.arange(1.0, len(values) + 1.0)
    return float(np.average(values, weights=k * (k + 1.0)))


def minimiser_distance_and_norm(problem: indefinite.IndefiniteQuadratic) -> tuple[float, float]:
    """Return the start's distance to the minimiser and the minimiser's norm, or upper bounds.

    On a box, theta* is the end of the first coordinate. On other sets the bounds are the diameter
    D and the largest norm M.
    """
    box = problem.set
    if isinstance(box, Box):
        length = float(np.asarray(box.upper)[0])
        return length, length
    return box.diameter, problem.radius


def distance_covered_with_momentum(N: int) -> float:
    """Return the distance that NCGS with option II covers in N iterations on f(x) = -g x.

    The distance is in units of beta g.

    On an interval of this length, every gradient mapping equals the gradient -g. In iteration k,
    theta moves by lambda_k g = (k/2) beta g, and theta_ag is beta g beyond theta_md. The distance
    is the larger of theta_md_N + 1 and theta_{N-1}.
    """
    theta = ag = md = 0.0
    for k in range(1, N + 1):
        md = ag + 2.0 / (k + 1.0) * (theta - ag)
        theta, ag = theta + k / 2.0, md + 1.0
    return max(md + 1.0, theta - N / 2.0)


def make_momentum_slope(N: int) -> indefinite.IndefiniteQuadratic:
    """Return a linear function on an interval so long that N NCGS iterations just reach its end.

    So every gradient mapping equals the constant gradient, and the bound is nearly attained for
    small N. For larger N, theta_md_N is far before the end, and |G|^2 is far below the bound.
    """
    return indefinite.make_quadratic_linear_along_box(
        1.0, distance_covered_with_momentum(N) / 2.0, 1e4
    )


GOOD = 48
"""Least number of runs that show that an output with a small mean is good on average."""


@dataclass(frozen=True)
class RunCost:
    """Cost of a run in component gradients and LO calls, and its squared gradient mapping.

    G is the gradient mapping.

    `sfo_to_target` are the component gradients until |G|^2 <= epsilon. `sfo` and `lo` are the
    component gradients and linear minimisations of the whole run. `min_ratio` and `mean` are the
    least and the mean |G|^2/epsilon. The mean is the expectation for an output drawn as the method
    declares.
    """

    sfo_to_target: float
    sfo: float
    lo: float
    min_ratio: float
    mean: float


def run_for_accuracy(
    trial: Trial,
    problem: Any,
    epsilon: float,
    inverse_lam: float,
    *,
    seed: int = 0,
    is_weighted: bool = False,
    limit: float = math.inf,
) -> RunCost:
    """Return the cost of a scheduled run, and its cost until |G|^2 is at most epsilon.

    The run stops early only if `limit` is finite: at the target, or after that number of
    iterations. |G|^2 is computed at the points of the gradients, with lambda = 1/(`inverse_lam` L).
    With `is_weighted`, the mean has weights k (k+1).
    """
    c = problem.constants(problem.start())
    lam = 1.0 / (inverse_lam * c.L)
    ratios, to_target = list[float](), math.inf
    for step in trial.follow(problem, trial.make_scheduled(epsilon, c), seed=seed):
        md, counts = step.estimate_point, step.counts()
        ratios.append(mapping_sq(problem, md, problem.gradient(md), lam) / epsilon)
        if ratios[-1] <= 1.0:
            to_target = min(to_target, counts.sfo)
        if limit < math.inf and (to_target < math.inf or len(ratios) >= limit):
            break
    if not ratios:
        raise MethodFailed("the method makes no iteration")
    mean = compute_weighted_mean(ratios) if is_weighted else float(np.mean(ratios))
    return RunCost(to_target, counts.sfo, counts.lo, min(ratios), mean)


def decide_call_exponent(
    trial: Trial,
    x: npt.ArrayLike,
    runs: statistics.SeedRows[int, list[RunCost]],
    subject: str,
    claimed: float,
) -> statistics.Decision:
    """Decide whether the call counts named `subject` grow at most as x to the power `claimed`.

    `subject` names the field of `RunCost`.
    """

    def counts(seeds: int) -> Floats:
        return np.array([[getattr(run, subject) for run in row] for row in runs(seeds)])

    fit = statistics.make_fit_function(x, counts, least_decades=1.99)
    return statistics.decide_exponent(fit, claimed, seeds=initial_seeds(trial))


def initial_seeds(trial: Trial) -> int:
    """Return the number of seeds at the second look at an exponent."""
    return trial.choose_by_effort(6, 20)


Sample = Callable[[int], tuple[float, float, float]]
"""Seed -> mean of a run over its bound, the SFO it should count, and the SFO counted."""


def check_means_and_exact_counts(
    trial: Trial, samples: Mapping[str, Sample], max_samples: int
) -> Evidence:
    """Test that each sample's mean is within its bound, and its SFO count is as claimed."""
    parts, counts, runs = {}, {}, 0
    for name, sample in samples.items():

        def ratio(seed: int, name: str = name, sample: Sample = sample) -> float:
            mean, claimed, created = sample(seed)
            counts[name] = statistics.decide_equality({"sfo": claimed}, {"sfo": created})
            return mean

        parts[name], needed = trial.decide_mean_sequentially(
            ratio, purpose=name, batch=8, limit=max_samples
        )
        runs += needed
    return Evidence(
        statistics.combine_parts_and_conditions({"mean": parts}, {"count": counts}),
        {"ratio": 1.0},
        runs,
    )


def accuracy_divisors(trial: Trial) -> Floats:
    """Return the numbers by which the largest epsilon is divided, over two decades."""
    return np.geomspace(1.0, 100.0, trial.choose_by_effort(4, 8))


def run_at_accuracies(
    trial: Trial,
    family: Instance,
    largest_epsilon: Callable[[Constants], float],
    inverse_lam: float,
    *,
    is_weighted: bool = False,
) -> statistics.SeedRows[int, list[RunCost]]:
    """Return the costs of runs at accuracies over two decades; each seed has a new problem.

    Parameters
    ----------
    trial
        Trial that makes the runs.
    family
        The family of problems.
    largest_epsilon
        Function of the constants that returns the largest epsilon.
    inverse_lam, is_weighted
        See `run_for_accuracy`.
    """
    divisors, count = accuracy_divisors(trial), statistics.MOST_SEEDS
    seeds = trial.seeds(count, "problems")
    draws = np.reshape(trial.seeds(count * divisors.size, "runs"), (count, -1))

    def row(k: int) -> list[RunCost]:
        problem = family.build_with_generator(np.random.default_rng(seeds[k]))
        largest = largest_epsilon(problem.constants(problem.start()))
        return [
            run_for_accuracy(
                trial,
                problem,
                largest / divisor,
                inverse_lam,
                seed=int(seed),
                is_weighted=is_weighted,
            )
            for divisor, seed in zip(divisors, draws[k], strict=True)
        ]

    return statistics.SeedRows(row, range(count))


Decisions = dict[str, statistics.Decision]


def decide_calls_and_outputs(
    trial: Trial, sweeps: Mapping[str, statistics.SeedRows[int, list[RunCost]]], claimed: float
) -> tuple[Decisions, Decisions, Decisions, int]:
    """Decide how component gradients and LO calls grow in 1/epsilon, and if outputs are accurate.

    LO calls are linear minimisations. The component gradients to the target must have the exponent
    `claimed`. The linear minimisations must have the exponent 2.
    An output is good if the mean of |G|^2 over it is at most epsilon. The result has the decisions
    on both kinds of calls and on outputs, each by problem family, and the number of runs.
    """
    divisors, sfo, lo, output = accuracy_divisors(trial), Decisions(), Decisions(), Decisions()
    for name, rows in sweeps.items():
        sfo[name] = decide_call_exponent(trial, divisors, rows, "sfo_to_target", claimed)
        lo[name] = decide_call_exponent(trial, divisors, rows, "lo", 2.0)
        seeds = max(initial_seeds(trial), GOOD // divisors.size)
        output[name] = statistics.decide_mean([run.mean for row in rows(seeds) for run in row], 1.0)
    return sfo, lo, output, divisors.size * sum(len(rows.computed) for rows in sweeps.values())
