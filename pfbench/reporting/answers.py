"""Sentences that answer which method needs the fewest oracle calls to reach the target."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from pfbench.reporting.comparison import Comparison, SettingComparison
from pfbench.reporting.results import SettingResults, StudyResults, truncate_study
from pfbench.reporting.wording import (
    format_integer,
    format_significant,
    join_items,
    measure_label,
    name_within_sentence,
    pluralize,
)
from pfbench.runs.loop.run import COMPLETED, Stop

_MOST_NAMED = 4
"""Maximum number of methods or panels that a sentence lists by name."""


def answer_sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Return sentences on which methods need the fewest oracle calls to the hardest target.

    The first two sentences describe the comparison and say which methods reach the target. Then
    there is one for each kind of oracle calls. If the study has no target, the final values are
    compared instead.

    Parameters
    ----------
    comparisons
        Comparisons of one study, one for each kind of oracle calls that its runs make.
    """
    results = truncate_study(comparisons[0].results)
    first = _comparison_sentence(results)
    if results.study.final_target is None:
        return [first, *_final_value_sentences(results)]
    recorded = [group.traces for group in results if len(group.traces.numbers)]
    kinds = [
        comparison
        for comparison in comparisons
        # A kind is compared if every method makes such calls.
        if all(comparison.price.costs_of_whole_runs(traces).any() for traces in recorded)
    ]
    if any(str(comparison.price) == "SFO" for comparison in kinds):
        # The component gradients of an FO are in the SFO.
        kinds = [comparison for comparison in kinds if str(comparison.price) != "FO"]
    cheapest = (_describe_cheapest_methods(comparison, results.panel_noun) for comparison in kinds)
    reached = _hit_and_miss_sentence(results, results.study.final_target, comparisons[0].panels)
    return [first, reached, *filter(None, cheapest)]


def _comparison_sentence(results: StudyResults) -> str:
    study = results.study
    problems = pluralize(len(study.problems), "problem")
    if len(study.settings) > 1:
        problems += f" at {pluralize(len(study.settings), 'setting')}"
    # A store may have fewer seeds of some pairs.
    limit = "up to " * any(len(group.runs) < len(study.seeds) for group in results)
    subject = (
        f"{pluralize(len(study.algorithms), 'algorithm')} on {problems}, {limit}"
        f"{pluralize(len(study.seeds), 'seed')} each: {pluralize(len(results.runs), 'run')}"
    )
    lost = Counter(run.status for _, run in results.runs if run.status not in COMPLETED)
    if not lost:
        return f"{subject}, none of which failed."
    ways = [f"{format_integer(number)} {status}" for status, number in sorted(lost.items())]
    return f"{subject}, of which {format_integer(lost.total())} failed ({join_items(ways)})."


def _hit_and_miss_sentence(
    results: StudyResults, target: Stop, panels: Sequence[SettingComparison]
) -> str:
    """Return a sentence on how many runs reach the target, and which methods never reach it."""
    level = f"{name_within_sentence(target.measure)} ≤ {format_significant(target.target)}"
    hits = Counter[str]()
    for panel in panels:
        hits.update({method.group.label: method.calls[-1].hits for method in panel.algorithms})
    if not hits.total():
        return f"No method reaches the target, {level}."
    methods = [label for label in results.study.labels if not hits[label]]
    never = f"; never: {_join_some(methods, 'method')}" if methods else ""
    return (
        f"{format_integer(hits.total())} of {pluralize(len(results.runs), 'run')} reach the "
        f"target, {level}{never}."
    )


def _describe_cheapest_methods(comparison: Comparison, panel_noun: str) -> str:
    """Return a sentence on how often each method needs the fewest calls to the target.

    It counts panels; a panel is one problem at one setting. The sentence is empty if no run
    reaches the target.
    """
    reached = [panel for panel in comparison.panels if panel.order_by_calls]
    if not reached:
        return ""
    significant = sum(panel.leader_by_target[-1] is not None for panel in reached)
    return (
        f"Fewest {comparison.price.description}: {_count_wins([*map(_name_cheapest, reached)])} of "
        f"{pluralize(len(reached), panel_noun)}, on {format_integer(significant)} of them "
        "significantly (rank test over the seeds)."
    )


def _name_cheapest(panel: SettingComparison) -> str:
    """Return the label of the method with the fewest calls to the target, or all in a tie."""
    order = panel.order_by_calls
    labels = [method.group.label for calls, method in order if calls == order[0][0]]
    return labels[0] if len(labels) == 1 else f"{join_items(labels)} alike"


def _final_value_sentences(results: StudyResults) -> Iterator[str]:
    """Yield, for each measure, a sentence on the methods with the lowest final value."""
    for measure in results.study.measures:
        panels = list(filter(None, (_final_medians(panel, measure) for panel in results.panels)))
        if not panels:
            continue
        winners = [ends[0][1] for ends in panels]
        winner = winners[0]
        if len(panels) > 1:
            winner = f"{_count_wins(winners)} of {pluralize(len(panels), results.panel_noun)}"
        lowest, highest = (_format_range([ends[k][0] for ends in panels]) for k in (0, -1))
        yield (
            f"{measure_label(measure)} ends lowest for {winner}: {lowest}; "
            f"the highest ends at {highest}."
        )


def _final_medians(panel: SettingResults, measure: str) -> list[tuple[float, str]]:
    """Return (median final value, label) pairs of the methods, sorted by the median."""
    ends = [(group.traces.final_summary(measure).median, group.label) for group in panel.groups]
    return sorted((end for end in ends if not math.isnan(end[0])), key=lambda end: end[0])


def _format_range(values: Sequence[float]) -> str:
    low, high = format_significant(min(values)), format_significant(max(values))
    return low if low == high else f"{low} to {high}"


def _count_wins(winners: Sequence[str]) -> str:
    """Return the number of wins of each method as text such as ``a on 3 and b on 2``."""
    wins = Counter(winners).most_common()
    return _join_some([f"{name} on {format_integer(number)}" for name, number in wins], "method")


def _join_some(names: Sequence[str], noun: str) -> str:
    """Join names to a list in words, such as ``a, b and 3 more methods``.

    If there are more than `_MOST_NAMED` names, only the first ones are listed, followed by the
    number of the rest.
    """
    if len(names) <= _MOST_NAMED:
        return join_items(names)
    rest = pluralize(len(names) - _MOST_NAMED + 1, f"more {noun}")
    return join_items([*names[: _MOST_NAMED - 1], rest])


def sentences_on_common_budget(results: StudyResults) -> Iterator[str]:
    """Yield, for each problem and setting with truncated runs, a sentence on the common budget.

    A panel is one problem at one setting.
    """
    for panel in results.panels:
        pairs = zip(panel.groups, panel.results_at_common_budget.groups, strict=True)
        cut = sum(
            run.iterations > other.iterations
            for group, rest in pairs
            for run, other in zip(group.runs, rest.runs, strict=True)
        )
        if cut:
            limits = panel.limits.items()
            budget = [f"{kind.upper()} {format_integer(int(limit))}" for kind, limit in limits]
            yield (
                f"At {panel.title} all runs are compared within {', '.join(budget)}, the least "
                f"budget; {pluralize(cut, 'run')} went further, which is no advantage."
            )
