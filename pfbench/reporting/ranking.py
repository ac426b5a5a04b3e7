"""Ranks of algorithms on one problem, by expected calls to targets and by final values.

An algorithm ranks by the hardest target that it reaches, then by the expected calls to that
target. An algorithm that reaches no target ranks by the median of its final values. The rank is 1
plus the number of algorithms with a smaller score, rounded as printed. Runs are compared at equal
counts: they are truncated to a common budget.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import ScoredAlgorithm, compare_algorithms, score_panel
from pfbench.reporting.results import RunGroup, StudyResults
from pfbench.reporting.runtimes import Cost, ert, make_runtimes
from pfbench.reporting.significance import median
from pfbench.reporting.wording import join_items, name_within_sentence, round_as_printed
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.tune import make_tuned_label

KINDS = ("sfo", "lo", "po", *(k for k in COUNTED if k not in ("sfo", "lo", "po", "fo", "fv")))
"""Kinds of oracle calls; methods are ranked by the first kind that the runs make."""

MAX_ROWS = 14
"""Maximum number of lines in a figure, so that a reader can distinguish them."""

Score = tuple[int, float, float]
"""Number of missed targets, calls to the hardest one reached, last value; less is better.

Of a run, or of an algorithm (expected calls, median value, as printed); infinite if unknown."""


_NO_SCORE: Score = (sys.maxsize, np.inf, np.inf)


def rank_row(row: Sequence[ScoredAlgorithm], measure: str | None) -> list[int | None]:
    """Return the ranks of the algorithms on one problem at one setting.

    Algorithms that reach no target are ranked by their final values of the measure. Without a
    measure, they have no rank.
    """
    scores = [_score_algorithm(scored, measure) for scored in row]
    return [
        None if score == _NO_SCORE else 1 + sum(other < score for other in scores)
        for score in scores
    ]


def ranking_price(results: StudyResults) -> Cost:
    """Return the cost by which algorithms are ranked.

    It is the price of the study, or the first kind of oracle calls that the runs make.
    """
    return Cost.from_weights(results.study.price or list_counted_kinds(results)[0])


def initially_shown_algorithms(results: StudyResults) -> tuple[str, ...]:
    """Return the labels of the algorithms that figures show at first.

    These are all algorithms if there are at most `MAX_ROWS`. Otherwise, they are the first
    algorithm of the study, its tuned form, and the best ranked of each panel.
    """
    labels = results.study.labels
    if len(labels) <= MAX_ROWS:
        return labels
    price, measure = ranking_price(results), find_compared_measure(results)
    placed = []
    for panel in results.panels:
        row = score_panel(results, panel.results_at_common_budget, price)
        ordered = sorted(row, key=lambda scored: _score_algorithm(scored, measure))
        placed.append([scored.group.label for scored in ordered])
    in_turn = [label for row in zip_longest(*placed) for label in row if label is not None]
    ahead = [labels[0], *(label for label in labels if label == make_tuned_label(labels[0]))]
    chosen = set(list(dict.fromkeys([*ahead, *in_turn]))[:MAX_ROWS])
    return tuple(label for label in labels if label in chosen)


def list_counted_kinds(results: StudyResults) -> list[str]:
    """Return the kinds of oracle calls that the runs of a study make."""
    kinds = [kind for kind in KINDS if any(group.makes_calls(kind) for group in results)]
    return kinds or ["sfo"]


def find_compared_measure(results: StudyResults) -> str:
    """Return the measure of the targets or, without targets, the first measure of the study."""
    stop = results.study.final_target
    return stop.measure if stop else results.study.measures[0]


def as_json(results: StudyResults) -> list[dict[str, Any]]:
    """Return the ranks on every problem and setting as records for JSON, in their order."""
    comparison = compare_algorithms(results, ranking_price(results))
    measure = find_compared_measure(results)
    records = []
    for panel in comparison.panels:
        scores = [_score_algorithm(scored, measure) for scored in panel.algorithms]
        ranks = rank_row(panel.algorithms, measure)
        for index in sorted(range(len(scores)), key=scores.__getitem__):
            scored = panel.algorithms[index]
            reached = [k for k, calls in enumerate(scored.calls) if calls.hits]
            column = panel.leader_by_target[reached[-1]] if reached else None
            leader = column if reached else panel.leader_by_measure.get(measure)
            target = results.study.targets[reached[-1]] if reached else None
            records.append(
                {
                    "study": results.study.key,
                    "problem": panel.panel.problem,
                    "setting": panel.panel.setting,
                    "algorithm": scored.group.label,
                    "rank": ranks[index],
                    "significant": ranks[index] == 1 and leader == index,
                    "seeds": len(scored.group.runs),
                    "hits": scored.calls[-1].hits if scored.calls else None,
                    "measure": measure,
                    "target": target and target.target,
                    "calls": _calls_by_kind(results, scored.group, target),
                    "median_last_value": median(scored.group.traces.final_values(measure)),
                    "statuses": Counter(run.status for run in scored.group.runs),
                }
            )
    return records


def _calls_by_kind(
    results: StudyResults, group: RunGroup, target: Stop | None
) -> Mapping[str, float]:
    """Return the expected calls to a target by kind; infinite if no target is reached.

    In a study without targets, they are the calls of the median run.
    """
    kinds = list_counted_kinds(results)
    if target is not None:
        traces = group.group_tuned_for_target(target).traces
        return {kind: ert(make_runtimes(traces, target, Cost.from_weights(kind))) for kind in kinds}
    if results.study.targets:
        return dict.fromkeys(kinds, np.inf)
    counts = sorted(tuple(getattr(run.counts, kind) for kind in kinds) for run in group.runs)
    return dict(zip(kinds, counts[(len(counts) - 1) // 2], strict=True))


def _score_algorithm(scored: ScoredAlgorithm, measure: str | None) -> Score:
    """Return the score by which an algorithm is ranked; a smaller score is better.

    Return `_NO_SCORE` if the algorithm reaches a target at no cost, or reaches none and has no
    finite final value.
    """
    for missed, calls in enumerate(reversed(scored.calls)):
        if calls.hits:
            charged = calls.total_calls.any()
            return (missed, round_as_printed(ert(calls)), np.inf) if charged else _NO_SCORE
    value = median(scored.group.traces.final_values(measure)) if measure else np.inf
    return (len(scored.calls), np.inf, round_as_printed(value)) if np.isfinite(value) else _NO_SCORE


def ranking_basis_sentence(results: StudyResults, price: Cost | None = None) -> str:
    """Return a sentence that states by which calls or final values the algorithms are ranked."""
    study, price = results.study, price or ranking_price(results)
    if study.final_target is None:
        last = name_within_sentence(find_compared_measure(results))
        return f"Ranked by the last {last} (median over the seeds; there is no target)."
    levels = join_items([f"{target.target:g}" for target in study.targets])
    measure = name_within_sentence(study.final_target.measure)
    return (
        f"Ranked by expected {price.description} to the hardest target that a method reaches "
        f"({measure} at most {levels}), as printed; equal numbers share a rank."
    )
