"""One method against the best other method of a study, for each problem and target."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pfbench.base.status import Status
from pfbench.reporting.comparison import Comparison, ScoredAlgorithm, SettingComparison
from pfbench.reporting.results import StudyResults
from pfbench.reporting.statistics.bootstrap import BootstrapInterval, ratio_interval
from pfbench.reporting.statistics.seed_curves import median_start_value
from pfbench.reporting.statistics.significance import compare_pairs
from pfbench.reporting.tables import CallRatio
from pfbench.reporting.wording import round_as_printed
from pfbench.runs.loop.run import COMPLETED
from pfbench.runs.loop.stop import Stop


@dataclass(frozen=True)
class Duel:
    """Comparison of a method with the best other one, for one target on one problem.

    Attributes
    ----------
    title, target
        Title of the panel, and the target.
    candidate, best_other
        The method, and the other with the fewest expected calls; None if no other method reaches
        the target.
    rank, method_count
        Rank of the method, None if it misses the target; and the number of compared methods.
    starts_within_target
        Whether some runs of the method begin within the target. Then there is no comparison, as the
        target costs no calls on these seeds.
    is_significant
        Whether the two differ significantly by a rank test over the seeds. The tests against all
        other methods for this target and panel are one family (Holm).
    interval
        The 95 % interval of the ratio of their expected calls; None if one misses the target.
    """

    title: str
    target: Stop
    candidate: ScoredAlgorithm
    best_other: ScoredAlgorithm | None
    target_index: int
    rank: int | None
    method_count: int
    starts_within_target: bool = False
    is_significant: bool = False
    interval: BootstrapInterval | None = None

    @property
    def calls(self) -> float:
        """Expected calls of the method to the target."""
        return self.candidate.calls_to_target(self.target_index)

    @property
    def best_other_calls(self) -> float:
        """Expected calls of the best other method; infinite if there is none."""
        return self.best_other.calls_to_target(self.target_index) if self.best_other else math.inf

    @property
    def ratio(self) -> CallRatio | None:
        """Ratio of the method's expected calls to the best other's; None if either misses."""
        if self.rank is None or self.best_other is None:
            return None
        return CallRatio(self.calls / self.best_other_calls, self.interval)


def list_duels(comparison: Comparison, label: str, candidates: Collection[str]) -> list[Duel]:
    """Return the duels of a method with the best other one, by panel and target.

    Panels on which all runs of the method were refused are left out.

    Parameters
    ----------
    comparison
        The study, compared at one price.
    label, candidates
        Label of the method, and all labels that are not its rivals, such as those of its own forms.
    """
    return [
        _make_duel(panel, me, index, target, candidates)
        for panel in comparison.panels
        if (me := panel.find(label)) and any(run.status != Status.REFUSED for run in me.group.runs)
        for index, target in enumerate(comparison.targets)
    ]


def _make_duel(
    panel: SettingComparison,
    me: ScoredAlgorithm,
    index: int,
    target: Stop,
    candidates: Collection[str],
) -> Duel:
    if any(median_start_value([run], target.measure) <= target.target for run in me.group.runs):
        return Duel(
            panel.panel.title,
            target,
            me,
            None,
            index,
            None,
            len(panel.algorithms),
            starts_within_target=True,
        )
    algorithms = [
        algorithm for algorithm in panel.algorithms if algorithm.group.label not in candidates
    ]
    reaching = [
        algorithm for algorithm in algorithms if math.isfinite(algorithm.calls_to_target(index))
    ]
    best = min(reaching, key=lambda algorithm: algorithm.calls_to_target(index), default=None)
    calls, position = round_as_printed(me.calls_to_target(index)), None
    if math.isfinite(calls):
        position = 1 + sum(
            round_as_printed(algorithm.calls_to_target(index)) < calls for algorithm in algorithms
        )
    duel = Duel(panel.panel.title, target, me, best, index, position, len(algorithms) + 1)
    if best is None:
        return duel
    sides = compare_pairs([(me.sample(index), algorithm.sample(index)) for algorithm in algorithms])
    interval = ratio_interval(me.calls[index], best.calls[index])
    return replace(duel, is_significant=sides[algorithms.index(best)] != 0, interval=interval)


def projecting_methods(results: StudyResults) -> set[str]:
    """Return the methods that make projections, or proximal steps."""
    return {group.label for group in results if group.makes_calls("po")}


def failure_sentences(results: StudyResults, label: str) -> Iterator[str]:
    """Yield a sentence for each panel on which a method was refused or failed, with the reason."""
    for panel in results.panels:
        group = panel.find(label)
        lost = [run for run in group.runs if run.status not in COMPLETED] if group else []
        if lost:
            first = lost[0]
            reason = first.stop_reason.rstrip(".")
            yield f"{label} is {first.status} on {panel.title}: {reason}."


def _finite_interval(interval: BootstrapInterval | None) -> list[float | None] | None:
    return interval and [end if math.isfinite(end) else None for end in interval]


def as_json(
    comparison: Comparison, label: str, candidates: Collection[str]
) -> list[dict[str, Any]]:
    """Return the duels of a method as JSON records; infinite numbers are None."""
    return [
        {
            "problem": duel.title,
            "measure": duel.target.measure,
            "target": duel.target.target,
            "algorithm": label,
            "count": str(comparison.price).lower(),
            "rank": duel.rank,
            "methods_compared": duel.method_count,
            "starts_within_target": duel.starts_within_target,
            "calls": duel.calls if duel.rank else None,
            "best_other": duel.best_other.group.label if duel.best_other else None,
            "best_calls": duel.best_other_calls if duel.best_other else None,
            "ratio": duel.ratio.value if duel.ratio else None,
            "ratio_interval": _finite_interval(duel.interval),
            "significant": duel.is_significant,
        }
        for duel in list_duels(comparison, label, candidates)
    ]
