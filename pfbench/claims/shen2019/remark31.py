"""Remark 3.1 of shen2019: the best of several runs, chosen by the Frank-Wolfe gap."""

import itertools
import math

import numpy as np

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.counts import Counts
from pfbench.base.protocols import Algorithm, Problem
from pfbench.claims.shen2019.epoch_estimators import MEAN_SQUARED, decide_not_rejected, valley
from pfbench.verification import Claim, Evidence, Floats, Trial, contrast, make_instance, statistics
from pfbench.verification.instruments.slopes import Valley
from pfbench.verification.units import GRADIENT, VALUE, formula


def restart_count(probability_that_all_miss: float) -> int:
    """Return the least number of runs that all have a large gap with at most this probability.

    A run misses if its gap V is above twice the bound of E V, which has at most the probability
    1/2.
    """
    return math.ceil(math.log2(1.0 / probability_that_all_miss))


def gap_level_at_probability(epsilon: float, D: float) -> float:
    """Return 4 epsilon D, which the gap rarely exceeds by remark 3.1 of shen2019."""
    return 4.0 * epsilon * D


VALLEY = make_instance(valley, estimator="spiderg", g=2.5)

PROBABILITY = 0.125
"""delta of the remark; it requires 3 runs."""

LEVEL = 1.5
"""Multiple of epsilon D that V exceeds at two iterates in five, those before the valley."""


def check_best_of_runs(trial: Trial) -> Evidence:
    """Test the cost of choosing the best of several runs, and how often its gap is too large.

    A gap above 4 epsilon D is too large, for the accuracy epsilon and the diameter D.
    """
    problem, epsilon = VALLEY(), 1.0
    constants = problem.constants(problem.start())
    k = restart_count(PROBABILITY)
    algorithm = trial.make_scheduled(epsilon, constants)
    best = trial.make_scheduled(epsilon, constants, probability=PROBABILITY)
    before = trial.run(problem, algorithm, seed=trial.seeds(1, "one")[0], measures="fw_gap")
    level = LEVEL * epsilon * constants.D
    by_one = float(np.mean(before.trace["fw_gap"].iloc[:-1] > level))
    chosen: list[float] = []
    counts: list[Counts] = []
    seeds = trial.seeds(200, "best of runs")[: trial.choose_by_effort(80, 200)]
    for seed in seeds:
        run = trial.run(problem, best, seed=seed)
        gap = run.final["fw_gap"]
        assert gap is not None
        chosen.append(gap)
        counts.append(run.counts)
    expected = {"sfo": k * (before.counts.sfo + problem.n), "lo": k * (before.counts.lo + 1)}
    missed = [float(gap > gap_level_at_probability(epsilon, constants.D)) for gap in chosen]
    by_all = [float(gap > level) / by_one**k for gap in chosen]
    grown = [
        ratio
        for seed in seeds[:10]
        for ratio in _gap_ratios_of_successive_outputs(trial, problem, best, seed)
    ]
    conditions = {
        "all runs miss the level": decide_not_rejected(by_all, f"that {k} runs miss independently"),
        "cost": statistics.decide_equality(expected, {"sfo": counts[0].sfo, "lo": counts[0].lo}),
    }
    if grown:
        conditions["the choice has the least gap"] = statistics.decide_inequality(grown)
    return Evidence(
        statistics.combine_parts_and_conditions(
            {"missed": statistics.decide_share(missed, PROBABILITY)}, conditions
        ),
        {"share above 4 eps D": PROBABILITY, "share above the level": by_one**k, **expected},
        len(chosen),
    )


def _gap_ratios_of_successive_outputs(
    trial: Trial, problem: Problem, algorithm: Algorithm, seed: int
) -> list[float]:
    """Return, for the outputs that a run yields, each gap divided by the previous output's gap.

    Each ratio is the gap of an output over the gap of the output before. The start does not count
    as an output.
    """
    start = problem.start()
    results: list[float] = []
    for step in trial.follow(problem, algorithm, seed=seed):
        output = step.state.output
        if output is not None and not np.array_equal(output, start):
            start = np.array(output)
            g = problem.gradient(start)
            results.append(float(g @ start) - problem.set.minimum(g)[0])
    return [new / old for old, new in itertools.pairwise(results)]


REMARK = Claim(
    name="shen2019-rem3.1",
    source="shen2019 remark 3.1",
    kind="bound",
    statement=(
        "the best of k = ceil(log2(1/delta)) sampled outputs, chosen by the full gap, has "
        "V <= 4 eps D with probability at least 1 - delta, for n SFO and 1 LO more a run"
    ),
    check=check_best_of_runs,
    formulas=(formula(gap_level_at_probability, VALUE, epsilon=GRADIENT),),
    instances=(VALLEY,),
    algorithm=NFWUSPIDERG.name,
    assumptions=(MEAN_SQUARED, "C compact"),
    schedule="theory",
    expected_seconds=(2.0, 5.0),
)


def examine_failure_probability(
    effort: str, seed: int, *, level: float = 1.0
) -> contrast.ExaminationEvidence:
    """Examine shen2019's remark 3.1: the probability that none of several runs has a small gap.

    The gap is small if it is at most level eps D.

    There are log2(1/delta) runs with exact gradients, and delta = 1/8. On the problem, a slope
    slightly above eps lasts for all T iterations, and a valley is near the start of a long segment.
    The corrected remark is about runs for the accuracy eps/10.
    """
    way = float(contrast.stream(seed, "remark 3.1").uniform(90.0, 100.0))
    epsilon, g = 1.0, 1.02
    problem = Valley(2, g, g * way - g * g * math.log(2.0), overshoot=100.0 * way)
    constants = problem.constants(problem.start())
    V = contrast.compute_gaps_along_run(problem, NFWUSPIDERG.theory(epsilon, constants), seed)
    finer = contrast.compute_gaps_along_run(
        problem, NFWUSPIDERG.theory(epsilon / 10.0, constants), seed
    )
    aim = level * epsilon * constants.D
    k = restart_count(PROBABILITY)

    def failure_probability(values: Floats, aim: float, runs: int) -> float:
        return float(np.mean(values > aim)) ** runs / PROBABILITY

    return contrast.compare_ratios(
        failure_probability(V, aim, k),
        failure_probability(finer, aim, k),
        **{
            "share of outputs with V > eps D": float(np.mean(aim < V)),
            "the same of runs for eps/10": float(np.mean(finer > aim)),
        },
    ).with_ratios_under_other_readings(
        {
            "runs for eps/10": failure_probability(finer, aim, k),
            "ten times as many runs": failure_probability(V, aim, 10 * k),
            "without D": failure_probability(V, level * epsilon, k),
            "every output with X <= eps": float(V[epsilon * constants.D >= V / 10.0].max()) / aim,
        }
    )
