"""Comparison of algorithms at equal numbers of oracle calls, by expected calls to each target.

All numbers on an algorithm are independent of the other algorithms, except its rank and its mark
of significance.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pfbench.reporting import runtimes
from pfbench.reporting.results import (
    OBJECTIVE,
    SUBOPTIMALITY,
    RunGroup,
    SettingResults,
    StudyResults,
)
from pfbench.reporting.seed_curves import Array
from pfbench.reporting.significance import SeedSample, median, significant_leaders
from pfbench.reporting.wording import format_calls
from pfbench.runs.loop.run import Stop


@dataclass(frozen=True)
class ExpectedCalls:
    """Expected number of oracle calls that an algorithm needs to reach a target.

    Attributes
    ----------
    value
        Expected number of calls; infinite if no run reached the target.
    interval
        Bootstrap interval of `value`; None with a single run, or if no run reached the target.
    hits, planned_runs
        Number of runs that reached the target, and number of all runs.
    """

    value: float
    interval: runtimes.BootstrapInterval | None
    hits: int
    planned_runs: int

    def __str__(self) -> str:
        interval = ""
        if self.interval is not None and self.interval.low < self.interval.high:
            interval = f" ({' to '.join(map(format_calls, self.interval))})"
        return f"{format_calls(self.value)}{interval} {self.hits}/{self.planned_runs}"


@dataclass(frozen=True)
class ScoredAlgorithm:
    """Algorithm on one problem at one setting, with its runtimes to each target.

    Attributes
    ----------
    group
        Runs of the algorithm, truncated to the budget that all algorithms have.
    groups_by_target
        Runs used for each target: those of `group`, unless the method was tuned for each target.
    calls
        Cost of the runs until they reach each target.
    last_values
        The last value of each run, by measure; infinite for a failed run.
    """

    group: RunGroup
    groups_by_target: tuple[RunGroup, ...]
    calls: tuple[runtimes.Runtimes, ...]
    last_values: Mapping[str, Array]

    @cached_property
    def calls_until_targets(self) -> tuple[ExpectedCalls | None, ...]:
        """Expected calls until each target is reached; None if a target costs no calls."""
        return tuple(
            None
            if calls.is_reached_by_free_runs
            else ExpectedCalls(
                runtimes.ert(calls), runtimes.ert_interval(calls), calls.hits, calls.calls.size
            )
            for calls in self.calls
        )

    def compute_expected_calls(self, target_index: int) -> float:
        """Return the expected number of calls until the target with this index is reached.

        The number is infinite if the target needs no calls of this kind.
        """
        calls = self.calls[target_index]
        return math.inf if calls.is_reached_by_free_runs else runtimes.ert(calls)

    def sample(self, target_index: int) -> SeedSample:
        """Return a sample of the calls until one target is reached, with a number for each seed.

        The sample is empty if the target needs no calls of this kind.
        """
        calls = self.calls[target_index]
        sample = np.empty(0) if calls.is_reached_by_free_runs else calls.calls
        return SeedSample(sample, self.groups_by_target[target_index].is_deterministic)

    def sample_of_last_values(self, measure: str, target: float = -math.inf) -> SeedSample:
        """Return the final values of a measure as a sample with one value for each seed.

        Values below the target are replaced by the target.
        """
        values = np.maximum(self.last_values[measure], target)
        return SeedSample(values, self.group.is_deterministic)

    def median_last_value(self, measure: str) -> float:
        """Return the median final value of a measure; infinite if at least half the runs failed."""
        return median(self.last_values[measure])


@dataclass(frozen=True)
class SettingComparison:
    """Comparison of algorithms on one problem at one setting, with the significantly best ones.

    Attributes
    ----------
    panel
        Algorithms on one problem at one setting.
    algorithms
        The scored algorithms of the panel.
    leader_by_target, leader_by_measure
        Index of the algorithm that is significantly better than every other, by column; or None.
    """

    panel: SettingResults
    algorithms: tuple[ScoredAlgorithm, ...]
    leader_by_target: tuple[int | None, ...]
    leader_by_measure: Mapping[str, int | None]

    @cached_property
    def order_by_calls(self) -> list[tuple[float, ScoredAlgorithm]]:
        """Pairs (calls, algorithm), sorted, of the algorithms that reach the hardest target."""
        expected = [(scored.calls_until_targets[-1], scored) for scored in self.algorithms]
        reached = [(calls.value, scored) for calls, scored in expected if calls and calls.hits]
        return sorted(reached, key=lambda pair: pair[0])

    def find(self, label: str) -> ScoredAlgorithm | None:
        """Return the algorithm with the given label; None if it has no run on this problem."""
        named = (scored for scored in self.algorithms if scored.group.label == label)
        return next(named, None)


@dataclass(frozen=True)
class Comparison:
    """Comparison of all algorithms of a study, by one cost of oracle calls.

    Attributes
    ----------
    results
        Runs of the study, not truncated.
    price
        Cost of oracle calls by which the algorithms are compared.
    panels
        One comparison for each problem and setting.
    """

    results: StudyResults
    price: runtimes.Cost
    panels: tuple[SettingComparison, ...]

    @property
    def targets(self) -> tuple[Stop, ...]:
        """Target values of the study, the hardest last."""
        return self.results.study.targets

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures whose final values are compared."""
        return list_compared_measures(self.results)


def compare_algorithms(results: StudyResults, price: runtimes.Cost) -> Comparison:
    """Compare the algorithms of a study by their expected cost to reach each target.

    `price` is the cost of the oracle calls.
    """
    study, measures = results.study, list_compared_measures(results)
    scored = [
        score_panel(results, panel.results_at_common_budget, price) for panel in results.panels
    ]
    columns: list[_Column] = []
    for algorithms in scored:
        columns += [_make_calls_column(algorithms, k) for k in range(len(study.targets))]
        columns += [_make_values_column(algorithms, m, study.final_target) for m in measures]
    samples, displayed = zip(*columns, strict=True) if columns else ((), ())
    leaders = iter(significant_leaders(samples, displayed))
    compared = [
        SettingComparison(
            panel,
            algorithms,
            tuple(next(leaders) for _ in study.targets),
            {measure: next(leaders) for measure in measures},
        )
        for panel, algorithms in zip(results.panels, scored, strict=True)
    ]
    return Comparison(results, price, tuple(compared))


def list_compared_measures(results: StudyResults) -> tuple[str, ...]:
    """Return the measures whose final values the tables of a study compare.

    The suboptimality is added if the objective is measured and the best value of each problem is
    known.
    """
    is_known = all(group.best_known and None not in group.best_known for group in results)
    measures = results.study.measures
    return (*measures, SUBOPTIMALITY) if is_known and OBJECTIVE in measures else measures


def score_panel(
    results: StudyResults, truncated_panel: SettingResults, price: runtimes.Cost
) -> tuple[ScoredAlgorithm, ...]:
    """Return the algorithms on one problem at one setting, with their runtimes to each target.

    The runs of `truncated_panel` are truncated to a common budget; `price` is the cost of oracle
    calls.
    """
    study, measures = results.study, list_compared_measures(results)
    algorithms = []
    for group in truncated_panel.groups:
        groups = tuple(map(group.group_tuned_for_target, study.targets))
        calls = tuple(
            runtimes.make_runtimes(part.traces, target, price)
            for part, target in zip(groups, study.targets, strict=True)
        )
        last = {name: group.traces.final_values(name) for name in measures}
        algorithms.append(ScoredAlgorithm(group, groups, calls, last))
    return tuple(algorithms)


_Column = tuple[list[SeedSample], list[float]]
"""Column of a table: for each algorithm, the values by seed and the displayed number."""


def _make_calls_column(algorithms: Sequence[ScoredAlgorithm], target: int) -> _Column:
    samples = [algorithm.sample(target) for algorithm in algorithms]
    return samples, [algorithm.compute_expected_calls(target) for algorithm in algorithms]


def _make_values_column(
    algorithms: Sequence[ScoredAlgorithm], measure: str, stop: Stop | None
) -> _Column:
    """Return a table column of final values: each algorithm's values by seed, and their median.

    Values at or below the target count as equal to it.
    """
    target = stop.target if stop and stop.measure == measure else -math.inf
    samples = [algorithm.sample_of_last_values(measure, target) for algorithm in algorithms]
    return samples, [max(algorithm.median_last_value(measure), target) for algorithm in algorithms]
