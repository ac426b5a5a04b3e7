"""Ranks of the algorithms of a panel, by expected calls to targets and values at equal counts.

An algorithm ranks by the hardest target that it reaches, then by the expected calls to that target.
An algorithm that reaches no target ranks by the median of its last values. The rank is 1 plus the
number of algorithms with a smaller score, as printed. Runs are compared at equal counts: they are
truncated to the least budget of a panel, so a larger budget is no advantage.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import ScoredAlgorithm, score_panel, truncate_to_equal_counts
from pfbench.reporting.results import RunGroup, SettingResults, StudyResults
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.statistics.equal_counts import Limits, first_row_beyond_limits
from pfbench.reporting.statistics.runtimes import ert, make_runtimes
from pfbench.reporting.statistics.seed_curves import trace_column
from pfbench.reporting.statistics.significance import SeedSample, median, significant_leaders
from pfbench.reporting.tables import Cell, Table, TableRow, format_calls
from pfbench.reporting.wording import (
    format_integer,
    join_items,
    name_within_sentence,
    round_as_printed,
)
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.tune import make_tuned_label

KINDS = ("sfo", "lo", "po", *(k for k in COUNTED if k not in ("sfo", "lo", "po", "fo", "fv")))
"""The counts of a comparison; the first that a study's runs make ranks its methods."""

MAX_ROWS = 14
"""Maximum number of lines in a figure, so that a reader can distinguish them."""

Score = tuple[int, float, float]
"""Number of missed targets, calls to the hardest one reached, last value; less is better.

Of a run, or of an algorithm (expected calls, median value, as printed); infinite if unknown."""


_NO_SCORE: Score = (sys.maxsize, np.inf, np.inf)


@dataclass(frozen=True)
class RankedAlgorithm:
    """Algorithm with its rank in its panel.

    Attributes
    ----------
    group
        Its runs, truncated to equal counts.
    rank
        Its rank; equal scores share a rank. None if no run has a value, or if the algorithm needs
        no calls of the kind that ranks.
    is_sole
        Whether it is first and significantly better than every other (rank test over the seeds).
    hits
        Number of runs that reach the hardest target of the study.
    target
        The hardest target that any of its runs reaches.
    calls
        Expected calls to `target` by kind; infinite if no target is reached. In a study without
        targets, the calls of the median run.
    total_calls
        The fewest calls by kind that one of its runs spent in total.
    last_value
        Median of the last values of the compared measure.
    """

    group: RunGroup
    rank: int | None
    is_sole: bool
    hits: int
    target: Stop | None
    calls: Mapping[str, float]
    total_calls: Mapping[str, float]
    last_value: float

    @property
    def statuses(self) -> str:
        """Number of runs by status, in words."""
        statuses = Counter(run.status for run in self.group.runs)
        return ", ".join(f"{number} {status}" for status, number in statuses.most_common())


Ranking = list[tuple[SettingResults, list[RankedAlgorithm]]]
"""Each panel with its algorithms in the order of their ranks."""


def rank_algorithms(
    results: StudyResults, price: Cost | None = None, *, use_last_values: bool = True
) -> Ranking:
    """Return the algorithms of each panel in the order of their ranks.

    Parameters
    ----------
    price
        Cost of the calls; if not given, the price of the study, or its first kind of calls.
    use_last_values
        Whether algorithms that reach no target rank by their last values; else they have no rank.
    """
    price = price or ranking_price(results)
    panels = [
        score_panel(results, truncate_to_equal_counts(panel)[1], price) for panel in results.panels
    ]
    measure = find_compared_measure(results)
    scores = [
        [_score_algorithm(scored, measure if use_last_values else None) for scored in row]
        for row in panels
    ]
    ranks = [[_rank_among_scores(score, row) for score in row] for row in scores]
    samples = []
    for row in panels:
        ordered = _as_ordered_numbers([_score_runs(scored, measure) for scored in row])
        pairs = zip(ordered, row, strict=True)
        samples.append([SeedSample(x, scored.group.is_deterministic) for x, scored in pairs])
    numbers = [[np.inf if rank is None else rank for rank in row] for row in ranks]
    ranking = []
    for panel, row, score, rank, leader in zip(
        results.panels, panels, scores, ranks, significant_leaders(samples, numbers), strict=True
    ):
        order = sorted(range(len(row)), key=lambda index: score[index] or _NO_SCORE)
        ranked = [
            _rank_group(results, row[index], rank[index], is_sole=index == leader)
            for index in order
        ]
        ranking.append((panel, ranked))
    return ranking


def ranking_price(results: StudyResults) -> Cost:
    """Return the cost that ranks algorithms: the study's price, or its first counted kind."""
    return Cost.from_weights(results.study.price or list_counted_kinds(results)[0])


def initially_shown_algorithms(results: StudyResults) -> tuple[str, ...]:
    """Return the algorithms that figures show at first: all, or of very many the best ranked.

    Of more than `MAX_ROWS` these are the study's first algorithm and its tuned form, then the first
    of each panel, the second of each panel, and so on.
    """
    labels = results.study.labels
    if len(labels) <= MAX_ROWS:
        return labels
    placed = [[ranked.group.label for ranked in ranked] for _, ranked in rank_algorithms(results)]
    in_turn = [label for row in zip_longest(*placed) for label in row if label is not None]
    ahead = [labels[0], *(label for label in labels if label == make_tuned_label(labels[0]))]
    chosen = set(list(dict.fromkeys([*ahead, *in_turn]))[:MAX_ROWS])
    return tuple(label for label in labels if label in chosen)


def keep_ranking_rows(run: Run, targets: Sequence[Stop], limits: Sequence[Limits] = ()) -> Run:
    """Return a run with only the trace rows that determine its rank.

    The rows kept are the first that reaches each target, and the last with a value of each measure,
    in the whole run and within each of `limits`. The first row beyond each limit is kept, too, as
    it determines what a truncated run is charged.
    """
    firsts = (run.first_value(target.measure, target.target) for target in targets)
    needed = {first for first in firsts if first is not None}
    for end in {len(run.rows), *(first_row_beyond_limits(run, limit) for limit in limits)}:
        needed |= {end} & {*range(len(run.rows))}
        for name in run.columns:
            needed |= {
                int(index)
                for index in np.flatnonzero(~np.isnan(trace_column(run, name)[:end]))[-1:]
            }
    return replace(run, rows=[run.rows[index] for index in sorted(needed)], x=None)


def list_counted_kinds(results: StudyResults) -> list[str]:
    """Return the kinds of calls that the runs of a study make."""
    kinds = [kind for kind in KINDS if any(group.makes_calls(kind) for group in results)]
    return kinds or ["sfo"]


def find_compared_measure(results: StudyResults) -> str:
    """Return the measure whose values are compared: that of the targets, else the first one."""
    stop = results.study.final_target
    return stop.measure if stop else results.study.measures[0]


def table(results: StudyResults) -> Table:
    """Return the table of results: rank, hits of the hardest target, calls, last value."""
    study, kinds, measure = (
        results.study,
        list_counted_kinds(results),
        find_compared_measure(results),
    )
    is_plural = len(study.targets) > 1
    rows = []
    for panel, ranked in rank_algorithms(results):
        for algorithm in ranked:
            cells: list[Cell] = [algorithm.rank]
            if study.targets:
                cells.append(f"{algorithm.hits}/{len(algorithm.group.runs)}")
            if is_plural:
                cells.append(f"{algorithm.target.target:g}" if algorithm.target else None)
            cells += [_format_calls(algorithm, kind) for kind in kinds]
            cells.append(algorithm.last_value if np.isfinite(algorithm.last_value) else None)
            best = frozenset({0} if algorithm.is_sole else ())
            rows.append(
                TableRow(panel.title, algorithm.group.label, [*cells, algorithm.statuses], best)
            )
    head = [results.head, "algorithm", "place"]
    if study.final_target:
        head.append(f"seeds to {study.final_target.target:g}")
    head += ["target"] if is_plural else []
    to = " to target" if study.targets else ""
    head += [f"{kind.upper()}{to}" for kind in kinds]
    return Table(
        f"{study.title}: results",
        _table_note(results),
        (*head, f"last {name_within_sentence(measure)}", "ended"),
        rows,
    )


def as_json(results: StudyResults) -> list[dict[str, Any]]:
    """Return the ranking of every panel as JSON records; infinite numbers are None."""

    def finite_or_none(value: float) -> float | None:
        return value if np.isfinite(value) else None

    return [
        {
            "study": results.study.key,
            "problem": panel.problem,
            "setting": panel.setting,
            "algorithm": algorithm.group.label,
            "rank": algorithm.rank,
            "significant": algorithm.is_sole,
            "seeds": len(algorithm.group.runs),
            "hits": algorithm.hits if results.study.targets else None,
            "measure": find_compared_measure(results),
            "target": algorithm.target and algorithm.target.target,
            "calls": {kind: finite_or_none(value) for kind, value in algorithm.calls.items()},
            "median_last_value": finite_or_none(algorithm.last_value),
            "statuses": Counter(run.status for run in algorithm.group.runs),
        }
        for panel, ranked in rank_algorithms(results)
        for algorithm in ranked
    ]


def _score_algorithm(scored: ScoredAlgorithm, measure: str | None) -> Score | None:
    """Return the score of an algorithm; less is better. None if it has no calls and no value."""
    for missed, calls in enumerate(reversed(scored.calls)):
        if calls.hits:
            charged = calls.total_calls.any()
            return (missed, round_as_printed(ert(calls)), np.inf) if charged else None
    value = median([run.final_value(measure) for run in scored.group.runs]) if measure else np.inf
    return (len(scored.calls), np.inf, round_as_printed(value)) if np.isfinite(value) else None


def _rank_among_scores(score: Score | None, scores: Sequence[Score | None]) -> int | None:
    if score is None:
        return None
    return 1 + sum(other is not None and other < score for other in scores)


def _score_runs(scored: ScoredAlgorithm, measure: str) -> list[Score]:
    """Return the scores of the runs of one algorithm, for a test; less is better."""
    scores = []
    for index, run in enumerate(scored.group.runs):
        spent = [float(calls.calls[index]) for calls in scored.calls]
        reached = [k for k, calls in enumerate(spent) if np.isfinite(calls)]
        if reached:
            scores.append((len(spent) - 1 - reached[-1], spent[reached[-1]], np.inf))
        else:
            scores.append((len(spent), np.inf, run.final_value(measure)))
    return scores


def _as_ordered_numbers(row: Sequence[Sequence[Score]]) -> list[Any]:
    """Return scores as numbers in the same order; scores without a value become infinite."""
    numbers = {score: float(k) for k, score in enumerate(sorted({s for item in row for s in item}))}
    return [np.array([np.inf if _has_no_value(s) else numbers[s] for s in item]) for item in row]


def _has_no_value(score: Score) -> bool:
    return not (np.isfinite(score[1]) or np.isfinite(score[2]))


def _rank_group(
    results: StudyResults, scored: ScoredAlgorithm, rank: int | None, *, is_sole: bool
) -> RankedAlgorithm:
    study, kinds, group = results.study, list_counted_kinds(results), scored.group
    hits = [calls.hits for calls in scored.calls]
    reached = [target for target, number in zip(study.targets, hits, strict=True) if number]
    counts = sorted(tuple(getattr(run.counts, kind) for kind in kinds) for run in group.runs)
    calls: Mapping[str, float] = dict.fromkeys(kinds, np.inf)
    if reached:
        runs = group.select_tuned_runs(reached[-1]).runs
        calls = {
            kind: ert(make_runtimes(runs, reached[-1], Cost.from_weights(kind))) for kind in kinds
        }
    elif not study.targets:
        calls = dict(zip(kinds, counts[(len(counts) - 1) // 2], strict=True))
    return RankedAlgorithm(
        group,
        rank,
        is_sole,
        hits[-1] if hits else 0,
        reached[-1] if reached else None,
        calls,
        {kind: float(min(row[k] for row in counts)) for k, kind in enumerate(kinds)},
        median([run.final_value(find_compared_measure(results)) for run in group.runs]),
    )


def _format_calls(ranked: RankedAlgorithm, kind: str) -> str:
    number = ranked.calls[kind]
    return (
        format_calls(number)
        if np.isfinite(number)
        else f"> {format_integer(int(ranked.total_calls[kind]))}"
    )


def ranking_basis_sentence(results: StudyResults, price: Cost | None = None) -> str:
    """Return a sentence on the calls or last values from which the ranks are computed."""
    study, price = results.study, price or ranking_price(results)
    if study.final_target is None:
        last = name_within_sentence(find_compared_measure(results))
        return f"Ranked by the last {last} (median over the seeds; there is no target)."
    levels = join_items([f"{target.target:g}" for target in study.targets])
    return (
        f"Ranked by expected {price.description} to the hardest target that a method reaches "
        f"({name_within_sentence(study.final_target.measure)} at most {levels}), as printed; equal numbers share a rank."  # noqa: E501
    )


def _table_note(results: StudyResults) -> str:
    """Return the note below the table: censored runs, and the meaning of its marks."""
    study = results.study
    # A run that stands at several settings, or for several targets, is one.
    runs = list({id(run): run for _, run in results.runs}.values())
    statement = []
    if study.final_target is not None:
        hits = make_runtimes(runs, study.final_target, Cost.from_weights("iteration")).hits
        if hits < len(runs):
            statement.append(
                f"{len(runs) - hits} of {len(runs)} runs miss the hardest target and are censored: "
                f"“> N”: no run reached a target, and each spent N or more."
            )
    bold = "Bold: significantly better than every other method (rank test, Holm)."
    return " ".join([ranking_basis_sentence(results), bold, *statement])
