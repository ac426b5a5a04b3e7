"""The answer of a study in sentences: which method needs the fewest calls to the target."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pfbench.reporting.comparison import (
    Comparison,
    ScoredAlgorithm,
    SettingComparison,
    truncate_study,
    truncate_to_equal_counts,
)
from pfbench.reporting.results import SettingResults, StudyResults
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.statistics.seed_curves import final_summary, median_start_value
from pfbench.reporting.wording import (
    format_calls_in_sentence,
    format_integer,
    format_significant,
    join_items,
    measure_label,
    name_within_sentence,
    pluralize,
)
from pfbench.runs.loop.run import COMPLETED
from pfbench.runs.loop.stop import Stop

_MOST_NAMED = 4
"""Maximum number of methods or panels that a sentence names; the others it counts."""


@dataclass(frozen=True)
class _TargetRow:
    """Calls to the hardest target in one panel, at equal counts."""

    panel: SettingComparison

    @property
    def title(self) -> str:
        """Title of the panel."""
        return self.panel.panel.title

    @property
    def hits_by_method(self) -> dict[str, int]:
        """Number of runs that reach the target, by label."""
        return {
            algorithm.group.label: algorithm.calls[-1].hits for algorithm in self.panel.algorithms
        }

    @property
    def methods_by_calls(self) -> list[tuple[float, ScoredAlgorithm]]:
        """Expected calls and method, for each that reaches the target, the fewest calls first."""
        existing = (
            (algorithm.calls_until_targets[-1], algorithm) for algorithm in self.panel.algorithms
        )
        reached = (
            (calls.value, algorithm) for calls, algorithm in existing if calls and calls.hits
        )
        return sorted(reached, key=lambda pair: pair[0])

    @property
    def cheapest_methods(self) -> str:
        """Label of the method with the fewest calls, or of all that share the minimum."""
        lower = self.methods_by_calls[0][0]
        labels = [
            algorithm.group.label for value, algorithm in self.methods_by_calls if value == lower
        ]
        return labels[0] if len(labels) == 1 else f"{join_items(labels)} alike"

    @property
    def has_significant_winner(self) -> bool:
        """Whether the method with the fewest calls is significantly better than all others."""
        return self.panel.leader_by_target[-1] is not None


def answer_sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Return sentences on the comparison, then on the cheapest method by each kind of calls.

    The target is the hardest that the spec states; without one, the last values are compared.

    Parameters
    ----------
    comparisons
        A study, compared in each kind of calls that its runs make; at least one.
    """
    results = truncate_study(comparisons[0].results)
    target = results.study.final_target
    if target is None:
        return [_comparison_sentence(results), *_final_value_sentences(results)]
    reached = _target_sentences(
        results, target, [_TargetRow(panel) for panel in comparisons[0].panels]
    )
    kinds = [
        comparison
        for comparison in comparisons
        if _all_methods_make_calls(results, comparison.price)
    ]
    if any(str(comparison.price) == "SFO" for comparison in kinds):
        # The component gradients of an FO are in the SFO.
        kinds = [comparison for comparison in kinds if str(comparison.price) != "FO"]
    cheapests = (_describe_cheapest(comparison, results.panel_noun) for comparison in kinds)
    return [_comparison_sentence(results), *reached, *filter(None, cheapests)]


def _comparison_sentence(results: StudyResults) -> str:
    study, total = results.study, len(results.runs)
    pluralizes = [pluralize(len(study.problems), "problem")]
    if len(study.settings) > 1:
        pluralizes.append(pluralize(len(study.settings), "setting"))
    subject = (
        f"{pluralize(len(study.algorithms), 'algorithm')} on {' at '.join(pluralizes)}, "
        f"{pluralize(len(study.seeds), 'seed')} each: {pluralize(total, 'run')}"
    )
    lost = Counter(run.status for _, run in results.runs if run.status not in COMPLETED)
    if not lost:
        return f"{subject}, none of which failed."
    ways = join_items(
        [f"{format_integer(number)} {status}" for status, number in sorted(lost.items())]
    )
    return f"{subject}, of which {format_integer(lost.total())} failed ({ways})."


def _all_methods_make_calls(results: StudyResults, price: Cost) -> bool:
    """Return whether every method makes calls that the price charges."""
    recorded = [group.runs for group in results if any(run.rows for run in group.runs)]
    return all(any(price.total_cost(run) for run in runs) for runs in recorded)


def _target_sentences(
    results: StudyResults, target: Stop, rows: Sequence[_TargetRow]
) -> Iterator[str]:
    """Yield a sentence on the runs that reach the target, and on methods that never do."""
    level = f"{name_within_sentence(target.measure)} ≤ {format_significant(target.target)}"
    reached = sum(sum(row.hits_by_method.values()) for row in rows)
    if not reached:
        yield f"No method reaches the target, {level}."
        return
    titles = [row.title for row in rows if not any(row.hits_by_method.values())]
    methods = [
        label
        for label in results.study.labels
        if not any(row.hits_by_method.get(label) for row in rows)
    ]
    location = (
        f"; no method does on {join_items(_abbreviate_names(titles, results.panel_noun))}"
        if titles
        else ""
    )
    owner = f"; never: {join_items(_abbreviate_names(methods, 'method'))}" if methods else ""
    yield (
        f"{format_integer(reached)} of {pluralize(len(results.runs), 'run')} reach the target, "
        f"{level}{location}{owner}."
    )


def _describe_cheapest(comparison: Comparison, panel_noun: str) -> str:
    """Return a sentence on the methods with the fewest calls; empty if none reaches the target."""
    rows = [_TargetRow(panel) for panel in comparison.panels]
    reached = [row for row in rows if row.methods_by_calls]
    if not reached:
        return ""
    calls = comparison.price.description
    return (
        _describe_order(rows[0], calls)
        if len(rows) == 1
        else _describe_winners(reached, calls, panel_noun)
    )


def _describe_order(row: _TargetRow, calls: str) -> str:
    """Return a sentence on the methods of the only panel, ordered by their expected calls."""
    lower, best = row.methods_by_calls[0]
    order = [pair for pair in row.methods_by_calls if pair[0] > lower]
    named = [
        f"{algorithm.group.label} {format_calls_in_sentence(value)}{_format_hits(algorithm)}"
        for value, algorithm in order
    ]
    then = f", then {join_items(_abbreviate_names(named, 'method'))}" if named else ""
    sure = (
        "" if row.has_significant_winner or not order else "; the first is not significantly better"
    )
    return f"Fewest {calls}: {row.cheapest_methods}, {format_calls_in_sentence(lower)} expected{_format_hits(best)}{then}{sure}."  # noqa: E501


def _describe_winners(reached: Sequence[_TargetRow], calls: str, panel_noun: str) -> str:
    """Return a sentence that counts the panels on which each method needs the fewest calls."""
    wins = Counter(row.cheapest_methods for row in reached)
    named = [f"{label} on {format_integer(number)}" for label, number in wins.most_common()]
    text = (
        f"Fewest {calls}: {join_items(_abbreviate_names(named, 'method'))} of "
        f"{pluralize(len(reached), panel_noun)}, on {format_integer(sum(row.has_significant_winner for row in reached))} of "  # noqa: E501
        "them significantly (rank test over the seeds)"
    )
    target_rows = [
        row for row in reached if 0.0 < row.methods_by_calls[0][0] < row.methods_by_calls[-1][0]
    ]
    if not target_rows:
        return f"{text}."
    widest = max(
        target_rows, key=lambda row: row.methods_by_calls[-1][0] / row.methods_by_calls[0][0]
    )
    (low, first), *_, (high, last) = widest.methods_by_calls
    return (
        f"{text}; largest difference on {widest.title}: {format_calls_in_sentence(low)} ({first.group.label}) to "  # noqa: E501
        f"{format_calls_in_sentence(high)} ({last.group.label})."
    )


def _final_value_sentences(results: StudyResults) -> Iterator[str]:
    """Yield, for each measure, a sentence on the methods that end lowest."""
    for measure in results.study.measures:
        ends = [_final_medians(panel, measure) for panel in results.panels]
        existing = [end for end in ends if end]
        if not existing:
            continue
        wins = Counter(results[0][1] for results in existing)
        named = [f"{label} on {format_integer(number)}" for label, number in wins.most_common()]
        winner = (
            join_items(_abbreviate_names(named, "method"))
            if len(existing) > 1
            else existing[0][0][1]
        )
        location = (
            f" of {pluralize(len(existing), results.panel_noun)}" if len(existing) > 1 else ""
        )
        lowest, highest = ([results[index][0] for results in existing] for index in (0, -1))
        yield (
            f"{measure_label(measure)} ends lowest for {winner}{location}: {_format_range(lowest)}; "  # noqa: E501
            f"the highest ends at {_format_range(highest)}."
        )


def _final_medians(panel: SettingResults, measure: str) -> list[tuple[float, str]]:
    """Return the final median of each method that has one, with its label, the lowest first."""
    ends = [(final_summary(group.runs, measure).median, group.label) for group in panel.groups]
    return sorted(((value, label) for value, label in ends if value == value), key=lambda e: e[0])


def _format_range(values: Sequence[float]) -> str:
    low, high = format_significant(min(values)), format_significant(max(values))
    return low if low == high else f"{low} to {high}"


def _format_hits(algorithm: ScoredAlgorithm) -> str:
    """Return ``(8 of 10 seeds)``; '' if all runs reach the target."""
    hits, number = algorithm.calls[-1].hits, len(algorithm.group.runs)
    return "" if hits == number else f" ({hits} of {number} seeds)"


def _abbreviate_names(names: Sequence[str], noun: str) -> list[str]:
    """Return the names; of more than `_MOST_NAMED` the first, and the number of the others."""
    if len(names) <= _MOST_NAMED:
        return list(names)
    return [*names[: _MOST_NAMED - 1], pluralize(len(names) - _MOST_NAMED + 1, f"more {noun}")]


def truncation_and_decrease_sentences(results: StudyResults) -> list[str]:
    """Return sentences on truncated runs, and on whether each measure ends below its start."""
    equal = truncate_study(results)
    measured = [
        measure
        for measure in equal.study.measures
        if any(math.isfinite(median_start_value(group.runs, measure)) for group in equal)
    ]
    falls = [_decrease_sentences(equal, measure) for measure in measured]
    return [*_describe_truncation_to_equal_counts(results), *falls]


def _describe_truncation_to_equal_counts(results: StudyResults) -> Iterator[str]:
    """Yield a sentence on the common budget of each panel in which runs are truncated."""
    for panel in results.panels:
        limits, equal = truncate_to_equal_counts(panel)
        pairs = zip(panel.groups, equal.groups, strict=True)
        cut = sum(
            run.iterations > other.iterations
            for group, rest in pairs
            for run, other in zip(group.runs, rest.runs, strict=True)
        )
        if cut:
            words = ", ".join(
                f"{kind.upper()} {format_integer(int(limit))}" for kind, limit in limits.items()
            )
            yield (
                f"At {panel.title} all runs are compared within {words}, the least budget; "
                f"{pluralize(cut, 'run')} went further, which is no advantage."
            )


def _decrease_sentences(results: StudyResults, measure: str) -> str:
    against = [
        f"{group.label} at {panel.title}"
        for panel, group in results.iterate_groups()
        if math.isfinite(median_start_value(group.runs, measure))
        and not final_summary(group.runs, measure).median < median_start_value(group.runs, measure)
    ]
    name = name_within_sentence(measure)
    if against:
        return f"The median {name} does not end below its start for {join_items(against)}."
    location = f"every {results.panel_noun}" if len(results.panels) > 1 else results.panels[0].title
    return f"The median {name} ends below its start for every algorithm at {location}."
