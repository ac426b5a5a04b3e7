"""Comparison of one method, the candidate, with the best of the other methods of its class.

If the candidate never projects, its class consists of the methods that never project. Otherwise,
its class consists of all methods.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pfbench.base.errors import end_sentence
from pfbench.base.status import Status
from pfbench.reporting.comparison import (
    Comparison,
    ExpectedCalls,
    ScoredAlgorithm,
    SettingComparison,
)
from pfbench.reporting.results import StudyResults
from pfbench.reporting.runtimes import EVEN, BootstrapInterval, Cost, ert_ratio_interval
from pfbench.reporting.significance import significant_sides
from pfbench.reporting.tables import EQUAL_MARK, CallRatio, Cell, Table, TableRow
from pfbench.reporting.wording import NOTES, name_within_sentence, pluralize, round_as_printed
from pfbench.runs.loop.run import COMPLETED, Stop

NEAR_RATIO = 2.0
"""A method is near the best if it needs at most this multiple of the calls of the best."""

MAX_ROWS = 6
"""Maximum number of rivals that are drawn in colour."""


@dataclass(frozen=True)
class Duel:
    """Comparison of a method with the best other method, for one target on one problem.

    Attributes
    ----------
    title, target, target_index
        Title of the panel, the target, and its index among those of the study.
    candidate, best_other
        The method, and the other method with the fewest expected calls. The latter is None if no
        other method reaches the target.
    method_count, rank
        The number of compared methods, and the rank of the method; None if it misses the target.
    starts_within_target
        Whether the target is reached at the start of some runs of the method. Then there is no
        comparison, as these runs need no calls.
    is_significant
        Whether the method with fewer expected calls is significantly better by a rank test over the
        seeds. Holm's correction is over the tests against all other methods for this target and
        problem.
    interval
        The 95 % interval of the ratio of the expected calls; None if a method misses the target.
    """

    title: str
    target: Stop
    target_index: int
    candidate: ScoredAlgorithm
    method_count: int
    best_other: ScoredAlgorithm | None = None
    rank: int | None = None
    starts_within_target: bool = False
    is_significant: bool = False
    interval: BootstrapInterval | None = None

    @property
    def candidate_expected_calls(self) -> float:
        """Expected number of oracle calls until the method reaches the target."""
        return self.candidate.compute_expected_calls(self.target_index)

    @property
    def best_other_calls(self) -> float:
        """Expected number of calls of the best other method; infinite if there is none."""
        return (
            self.best_other.compute_expected_calls(self.target_index)
            if self.best_other
            else math.inf
        )

    @property
    def is_missed_by_all(self) -> bool:
        """Whether neither the method nor any other method reaches the target."""
        return self.rank is None and self.best_other is None

    @property
    def ratio(self) -> CallRatio | None:
        """Ratio of the method's expected calls to those of the best other method.

        The ratio is None if one of the two methods misses the target.
        """
        if self.rank is None or self.best_other is None:
            return None
        return CallRatio(self.candidate_expected_calls / self.best_other_calls, self.interval)

    @property
    def cells(self) -> list[Cell]:
        """Table cells: the method's calls, the best rival's name, the rival's calls, the ratio."""
        both = (self.candidate, self.best_other)
        calls, its = (
            _drop_interval(each.calls_until_targets[self.target_index]) if each else None
            for each in both
        )
        return [calls, self.best_other.group.label if self.best_other else None, its, self.ratio]


def _drop_interval(expected: ExpectedCalls | None) -> ExpectedCalls | None:
    return expected and replace(expected, interval=None)


def list_duels_with_best(
    comparison: Comparison, label: str, excluded_labels: Collection[str]
) -> list[Duel]:
    """Return comparisons of a method with the best other method, by problem and target.

    A panel is one problem at one setting. Panels on which all runs of the method were refused are
    left out.

    Parameters
    ----------
    comparison
        Comparison of the study by one cost of oracle calls.
    label, excluded_labels
        Label of the method, and the labels of its own forms, with which it is not compared.
    """
    return [
        _make_duel(panel, me, index, target, excluded_labels)
        for panel in comparison.panels
        if (me := panel.find(label)) and any(run.status != Status.REFUSED for run in me.group.runs)
        for index, target in enumerate(comparison.targets)
    ]


def _make_duel(
    panel: SettingComparison,
    me: ScoredAlgorithm,
    index: int,
    target: Stop,
    excluded_labels: Collection[str],
) -> Duel:
    title = panel.panel.title
    if (me.group.traces.start_values(target.measure) <= target.target).any():
        number = len(panel.algorithms)
        return Duel(title, target, index, me, number, starts_within_target=True)
    rivals = [other for other in panel.algorithms if other.group.label not in excluded_labels]
    needed = [other.compute_expected_calls(index) for other in rivals]
    duel = Duel(title, target, index, me, len(rivals) + 1)
    if math.isfinite(calls := round_as_printed(duel.candidate_expected_calls)):
        duel = replace(duel, rank=1 + sum(round_as_printed(its) < calls for its in needed))
    minimum = min(needed, default=math.inf)
    if not math.isfinite(minimum):
        return duel
    first = needed.index(minimum)
    sides = significant_sides([(me.sample(index), other.sample(index)) for other in rivals])
    return replace(
        duel,
        best_other=rivals[first],
        is_significant=sides[first] * (duel.candidate_expected_calls - minimum) > 0,
        interval=ert_ratio_interval(me.calls[index], rivals[first].calls[index]),
    )


@dataclass(frozen=True)
class CandidateAgainstRivals:
    """Comparison of the candidate method with its rivals, the other methods of its class.

    Attributes
    ----------
    comparisons
        Comparisons of the study by each cost of oracle calls; the first one ranks the methods.
    label, candidate_labels
        Label of the candidate, and the labels of all its forms, with which it is not compared.
    rivals
        The other methods of its class, the strongest first.
    not_comparable
        Labels of the methods outside its class: those that project, if the candidate never does.
    """

    comparisons: tuple[Comparison, ...]
    label: str
    candidate_labels: tuple[str, ...]
    rivals: tuple[str, ...]
    not_comparable: frozenset[str]

    @property
    def results(self) -> StudyResults:
        """Runs of the study, by problem, setting and algorithm."""
        return self.comparisons[0].results

    @property
    def price(self) -> Cost:
        """Cost of oracle calls by which the methods are ranked."""
        return self.comparisons[0].price

    @property
    def methods_in_colour(self) -> tuple[str, ...]:
        """Labels of the candidate and of the strongest rivals, which figures draw in colour."""
        return (*self.candidate_labels, *self.rivals[:MAX_ROWS])

    @property
    def rival_class_noun(self) -> str:
        """Noun for the compared methods: ``methods`` or ``methods that never project``."""
        return "methods that never project" if self.not_comparable else "methods"

    @cached_property
    def duels_with_best_rival(self) -> list[Duel]:
        """Comparisons of the candidate with its best rival, by problem, setting and target."""
        excluded = {*self.candidate_labels, *self.not_comparable}
        return list_duels_with_best(self.comparisons[0], self.label, excluded)

    @cached_property
    def outcome_counts_sentence(self) -> str:
        """Sentence that says how often the candidate is first, nearly first, slower, or misses.

        A pair is one panel with one target; the candidate misses a pair if it does not reach the
        target. A pair is not counted if the runs begin within the target, or if no method reaches
        it.
        """
        started = [d for d in self.duels_with_best_rival if not d.starts_within_target]
        duels = [duel for duel in started if not duel.is_missed_by_all]
        reached = [duel for duel in duels if duel.rank]
        first = sum(duel.candidate_expected_calls <= duel.best_other_calls for duel in reached)
        close = sum(
            duel.candidate_expected_calls <= NEAR_RATIO * duel.best_other_calls for duel in reached
        )
        left = len(started) - len(duels)
        unreached = f" ({left} more reached by no method)" if left else ""
        return (
            f"On {pluralize(len(duels), 'pair')} of problem and target, by "
            f"{self.price} among {pluralize(len(self.rivals) + 1, 'method')}"
            f"{self.rival_class_noun.removeprefix('methods')}, {self.label} is first on {first}, "
            f"within {NEAR_RATIO:g} times the first on {close - first}, slower on "
            f"{len(reached) - close}, and misses {pluralize(len(duels) - len(reached), 'target')}"
            f"{unreached}{self._nearest_rival_text}."
        )

    @property
    def _nearest_rival_text(self) -> str:
        if not self.rivals:
            return ""
        rival = self.rivals[0]
        by_title = {panel.panel.title: panel.find(rival) for panel in self.comparisons[0].panels}
        pairs = [
            (duel.candidate_expected_calls, its.compute_expected_calls(duel.target_index))
            for duel in self.duels_with_best_rival
            if not duel.starts_within_target and (its := by_title[duel.title])
        ]
        ahead, behind = sum(a < b for a, b in pairs), sum(b < a for a, b in pairs)
        return f"; the strongest rival is {rival}, which is ahead on {behind} and behind on {ahead}"

    @property
    def candidate_failure_texts(self) -> list[str]:
        """Sentences that list where the candidate was refused or failed, with the reasons."""
        sentences = []
        for label in self.candidate_labels:
            for panel in self.results.panels:
                runs = group.runs if (group := panel.find(label)) else ()
                lost = next((run for run in runs if run.status not in COMPLETED), None)
                if lost:
                    reason = end_sentence(lost.stop_reason)
                    sentences.append(f"{label} is {lost.status} on {panel.title}: {reason}")
        return sentences

    @cached_property
    def calls_table(self) -> Table:
        """Table of expected calls of the candidate and its best rival, by problem and target."""
        rows = []
        for duel in self.duels_with_best_rival:
            target = f"≤ {duel.target.target:g}"
            name = f"{target} (runs begin within it)" if duel.starts_within_target else target
            is_ahead = duel.is_significant and duel.candidate_expected_calls < duel.best_other_calls
            best = frozenset({0} if is_ahead else ())
            rows.append(TableRow(duel.title, name, duel.cells, best))
        rest = pluralize(len(self.rivals), "other")
        rivals = f"the {rest} among the {self.rival_class_noun}"
        note = NOTES["candidate"].format(
            measure=name_within_sentence(self.comparisons[0].targets[-1].measure),
            rivals=rivals if self.not_comparable else f"all {rest}",
            equal=EQUAL_MARK,
            even=EVEN,
        )
        heads = (f"{self.price}: candidate", "best other", "its calls", "ratio")
        head = (self.results.panel_column_heading, "target", *heads)
        return Table(f"{self.label} against the best of its class", note, head, rows)


def mean_log_budget_over_calls(comparison: Comparison) -> dict[str, float]:
    """Return each method's mean of log(budget/expected calls) over all problems and targets.

    The mean is the area under the method's profile up to the budget, on a logarithmic axis. A
    target that the method never reaches counts as 0. The mean of a method does not depend on the
    other methods. Without a budget, the cost of
    the longest run of the method is used instead.
    """
    means: dict[str, float] = {}
    price, targets = comparison.price, comparison.targets
    pairs = len(comparison.panels) * max(1, len(targets))
    for panel in comparison.panels:
        limits = panel.panel.limits
        budget = sum(weight * limits.get(kind, math.inf) for kind, weight in price.weights)
        for scored in panel.algorithms:
            spent = price.costs_of_whole_runs(scored.group.traces).max(initial=0.0)
            limit = budget if math.isfinite(budget) else float(spent)
            calls = map(scored.compute_expected_calls, range(len(targets)))
            gained = sum(math.log(limit / number) for number in calls if 0 < number < limit)
            label = scored.group.label
            means[label] = means.get(label, 0.0) + gained / pairs
    return means


def make_candidate_front(
    comparisons: Sequence[Comparison], candidates: Sequence[str]
) -> CandidateAgainstRivals:
    """Return the comparison of a candidate method with its rivals.

    If the candidate never projects, the rivals are the methods that never project, else all.

    `candidates` has the labels of all forms of the candidate; the last one is compared.
    """
    results = comparisons[0].results
    projecting = {group.label for group in results if group.makes_calls("po")}
    outside = frozenset(() if projecting & {*candidates} else projecting)
    rank = mean_log_budget_over_calls(comparisons[0])
    rivals = [label for label in results.study.labels if label not in {*candidates, *outside}]
    rivals.sort(key=lambda label: -rank.get(label, 0.0))
    return CandidateAgainstRivals(
        tuple(comparisons), candidates[-1], tuple(candidates), tuple(rivals), outside
    )


def duels_with_best_as_json(
    comparison: Comparison, label: str, excluded_labels: Collection[str]
) -> list[dict[str, Any]]:
    """Return comparisons of a method with the best other method as records for JSON."""
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
            "calls": duel.candidate_expected_calls if duel.rank else None,
            "best_other": duel.best_other.group.label if duel.best_other else None,
            "best_calls": duel.best_other_calls,
            "ratio": duel.ratio.value if duel.ratio else None,
            "ratio_interval": duel.interval,
            "significant": duel.is_significant,
        }
        for duel in list_duels_with_best(comparison, label, excluded_labels)
    ]
