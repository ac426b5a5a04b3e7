"""How the runs of a study ended, and whether measures fell, in a few sentences."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from pfbench.reporting.comparison import truncate_study, truncate_to_equal_counts
from pfbench.reporting.results import StudyResults
from pfbench.reporting.statistics.seed_curves import final_summary, median_start_value
from pfbench.reporting.tables import is_as_planned
from pfbench.reporting.wording import format_integer, inline_name, join_items, pluralize


def sentences(results: StudyResults) -> list[str]:
    """Return what the runs show."""
    ended, results = (
        [_ending_sentence(results), *_describe_truncation_to_equal_counts(results)],
        truncate_study(results),
    )
    measured = [
        measure
        for measure in results.study.measures
        if any(math.isfinite(median_start_value(group.runs, measure)) for group in results)
    ]
    falls = [_decrease_sentences(results, measure) for measure in measured]
    return [*ended, *falls]


def _describe_truncation_to_equal_counts(results: StudyResults) -> Iterator[str]:
    """Yield what runs are compared within, where some went further."""
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
                f"At {panel.title} all is compared within {words}, the least budget; "
                f"{pluralize(cut, 'run')} went further, and gained nothing by that."
            )


def _ending_sentence(results: StudyResults) -> str:
    as_planned: Counter[str] = Counter()
    early: Counter[str] = Counter()
    for group in results:
        for plan, run in zip(group.plans, group.runs, strict=True):
            (as_planned if is_as_planned(plan, run) else early)[run.status] += 1
    total = len(results.runs)
    full_text = (
        "finished"
        if as_planned.keys() <= {"finished"}
        else f"ended as planned: {_format_run_endings(as_planned)}"
    )
    if not early:
        return f"All {pluralize(total, 'run')} {full_text}."
    return (
        f"{pluralize(total - early.total(), 'run')} of {total} {full_text}; the others "
        f"did not run to the end of their schedule ({_format_run_endings(early)}), and are listed below."  # noqa: E501
    )


_WAYS: Mapping[str, str] = {
    "target": "reached the target",
    "budget": "spent the budget",
    "finished": "finished",
    "timeout": "reached the time limit",
    "diverged": "diverged",
    "error": "raised an error",
    "killed": "killed",
    "refused": "refused",
}
"""How runs end, by their status."""


def _format_run_endings(statuses: Mapping[str, int]) -> str:
    ways = sorted(statuses.items())
    return join_items([f"{format_integer(number)} {_WAYS[status]}" for status, number in ways])


def _decrease_sentences(results: StudyResults, measure: str) -> str:
    against = [
        f"{group.label} at {panel.title}"
        for panel, group in results.iterate_groups()
        if math.isfinite(median_start_value(group.runs, measure))
        and not final_summary(group.runs, measure).median < median_start_value(group.runs, measure)
    ]
    name = inline_name(measure)
    if against:
        return f"The median {name} does not end below its start for {join_items(against)}."
    location = (
        f"every {results.panel_position}" if len(results.panels) > 1 else results.panels[0].title
    )
    return f"The median {name} ends below its start for every algorithm at {location}."
