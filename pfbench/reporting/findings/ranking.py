"""How the algorithms of a panel rank: by expected calls to targets, and by values at equal counts.

An algorithm ranks by the hardest target that it reaches, then by the expected calls to it; one that
reaches none by the median of its last values. The rank is 1 and how many others have a smaller
number, as the numbers are printed. Runs are compared at equal counts: what goes beyond the least
budget of a panel is cut away, so a larger budget is no advantage.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from pfbench.reporting.comparison import at_equal_counts
from pfbench.reporting.results import Group, Panel, Results
from pfbench.reporting.statistics.curves import column, nothing_varies
from pfbench.reporting.statistics.limits import Limits, first_beyond
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.statistics.runtimes import ert, runtimes
from pfbench.reporting.statistics.significance import Sample, leaders, middle
from pfbench.reporting.tables import Cell, Row, Table, calls
from pfbench.reporting.words import as_printed, inside, listed, whole
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.tune import tuned_label

KINDS = ("sfo", "lo", "po", "sso", "hvp")
"""The counts of a comparison; the first that is made in a study is the one that ranks."""

MOST_SHOWN = 14
"""Lines of a figure that are still told apart."""

Score = tuple[int, float, float]
"""Targets missed, calls to the hardest one reached, and last value: each infinite if unknown.

Of a run, or of an algorithm: its expected calls, and its median value, as they are printed."""


_NO_SCORE: Score = (sys.maxsize, np.inf, np.inf)


@dataclass(frozen=True)
class Ranked:
    """Where an algorithm stands in its panel.

    Attributes
    ----------
    group
        Its runs, at the counts that all had.
    place
        Its rank; equal scores share one. None if no run has an answer, and if it needs no calls of
        the kind that ranks.
    clear
        Whether it is the first, and a rank test over the seeds tells it from every other.
    hits
        How many runs reach the hardest target of the study.
    target
        The hardest target that any of its runs reaches.
    calls
        Expected calls to `target`, by kind, infinite where it reaches none; where the study has no
        targets, the calls of the run that is in the middle of all.
    spent
        The least that one of its runs spent in all, by kind.
    last
        Median of the last values of the measure that is compared.
    """

    group: Group
    place: int | None
    clear: bool
    hits: int
    target: Stop | None
    calls: Mapping[str, float]
    spent: Mapping[str, float]
    last: float

    @property
    def statuses(self) -> str:
        """How the runs ended, in words."""
        statuses = Counter(run.status for run in self.group.runs)
        return ", ".join(f"{number} {status}" for status, number in statuses.most_common())


Ranking = list[tuple[Panel, list[Ranked]]]
"""How the algorithms of each panel rank, the first first."""


def ranking(results: Results, price: Price | None = None, *, last: bool = True) -> Ranking:
    """Return how the algorithms of each panel rank, the first first.

    Parameters
    ----------
    price
        What a call costs; the price of the study, or its first kind of calls, if not given.
    last
        Whether those that reach no target rank by their last values; otherwise they have no rank.
    """
    price = price or price_of(results)
    panels = [at_equal_counts(panel)[1].groups for panel in results.panels]
    scores = [[_score(results, group, price, last=last) for group in groups] for groups in panels]
    places = [[_rank(score, row) for score in row] for row in scores]
    samples = [
        [
            Sample(values, nothing_varies(group.runs))
            for values, group in zip(_as_ranks(row), groups, strict=True)
        ]
        for row, groups in (
            ([_scores(results, group, price) for group in groups], groups) for groups in panels
        )
    ]
    shown = [[float("inf") if place is None else place for place in row] for row in places]
    found = []
    for panel, groups, row, score, first in zip(
        results.panels, panels, places, scores, leaders(samples, shown), strict=True
    ):
        order = sorted(range(len(groups)), key=lambda at: score[at] or _NO_SCORE)
        ranked = [
            _ranked(results, groups[at], score[at], row[at], clear=at == first) for at in order
        ]
        found.append((panel, ranked))
    return found


def price_of(results: Results) -> Price:
    """Return what ranks the algorithms of a study: its price, or the first kind of its calls."""
    return Price.of(results.study.price or kinds_of(results)[0])


def foremost(results: Results) -> tuple[str, ...]:
    """Return the algorithms that figures show at first: all, or of very many those in front.

    These are the first of the list, and its tuned form, and then the first, second and so on of
    each panel.
    """
    labels = results.study.labels
    if len(labels) <= MOST_SHOWN:
        return labels
    placed = [[one.group.label for one in ranked] for _, ranked in ranking(results)]
    in_turn = [label for row in zip_longest(*placed) for label in row if label is not None]
    ahead = [labels[0], *(label for label in labels if label == tuned_label(labels[0]))]
    chosen = set(list(dict.fromkeys([*ahead, *in_turn]))[:MOST_SHOWN])
    return tuple(label for label in labels if label in chosen)


def essence(run: Run, targets: Sequence[Stop], limits: Sequence[Limits] = ()) -> Run:
    """Return a run with those rows of its trace alone that its rank follows from.

    These are the first that reach each target, and the last with a value of each measure, in the
    whole run and within each of some limits; and the next row, which a shortened run is charged.
    """
    firsts = (run.first(target.measure, target.target) for target in targets)
    needed = {at for at in firsts if at is not None}
    for end in {len(run.rows), *(first_beyond(run, one) for one in limits)}:
        needed |= {end} & {*range(len(run.rows))}
        for name in run.columns:
            needed |= {int(at) for at in np.flatnonzero(~np.isnan(column(run, name)[:end]))[-1:]}
    return replace(run, rows=[run.rows[at] for at in sorted(needed)], x=None)


def kinds_of(results: Results) -> list[str]:
    """Return the kinds of calls that the runs of a study make."""
    made = [kind for kind in KINDS if any(group.makes(kind) for group in results)]
    return made or ["sfo"]


def compared(results: Results) -> str:
    """Return the measure whose values are compared: that of the targets, or else the first."""
    stop = results.study.stop
    return stop.measure if stop else results.study.measures[0]


def table(results: Results) -> Table:
    """Return the table of results: places, hits of the hardest target, calls to it, last values."""
    study, kinds, measure = results.study, kinds_of(results), compared(results)
    several = len(study.targets) > 1
    rows = []
    for panel, ranked in ranking(results):
        for one in ranked:
            cells: list[Cell] = [one.place]
            if study.targets:
                cells.append(f"{one.hits}/{len(one.group.runs)}")
            if several:
                cells.append(f"{one.target.target:g}" if one.target else None)
            cells += [_calls(one, kind) for kind in kinds]
            cells.append(one.last if np.isfinite(one.last) else None)
            best = frozenset({0} if one.clear else ())
            rows.append(Row(panel.title, one.group.label, [*cells, one.statuses], best))
    head = [results.head, "algorithm", "place"]
    if study.stop:
        head.append(f"seeds to {study.stop.target:g}")
    head += ["target"] if several else []
    to = " to target" if study.targets else ""
    head += [f"{kind.upper()}{to}" for kind in kinds]
    return Table(
        f"{study.title}: results", _note(results), (*head, f"last {inside(measure)}", "ended"), rows
    )


def as_json(results: Results) -> list[dict[str, Any]]:
    """Return the same for programs; what is infinite is None."""

    def known(value: float) -> float | None:
        return value if np.isfinite(value) else None

    return [
        {
            "study": results.study.key,
            "problem": panel.problem,
            "setting": panel.setting,
            "algorithm": one.group.label,
            "place": one.place,
            "clear": one.clear,
            "seeds": len(one.group.runs),
            "hits": one.hits if results.study.targets else None,
            "measure": compared(results),
            "target": one.target and one.target.target,
            "calls": {kind: known(value) for kind, value in one.calls.items()},
            "last": known(one.last),
            "statuses": Counter(run.status for run in one.group.runs),
        }
        for panel, ranked in ranking(results)
        for one in ranked
    ]


def _score(results: Results, group: Group, price: Price, *, last: bool) -> Score | None:
    """Return the score of an algorithm; less is better. None if it has no number."""
    targets = results.study.targets
    for missed, target in enumerate(reversed(targets)):
        found = runtimes(group.to(target).runs, target, price)
        if found.hits:
            return (missed, as_printed(ert(found)), np.inf) if found.spent.any() else None
    value = middle([run.last(compared(results)) for run in group.runs]) if last else np.inf
    return (len(targets), np.inf, as_printed(value)) if np.isfinite(value) else None


def _rank(score: Score | None, scores: Sequence[Score | None]) -> int | None:
    if score is None:
        return None
    return 1 + sum(other is not None and other < score for other in scores)


def _scores(results: Results, group: Group, price: Price) -> list[Score]:
    """Return the scores of the runs of one algorithm, for a test; less is better."""
    targets = results.study.targets
    calls = np.array([runtimes(group.to(one).runs, one, price).calls for one in targets])
    measure = compared(results)
    found = []
    for at, run in enumerate(group.runs):
        reached = [k for k in range(len(targets)) if np.isfinite(calls[k, at])]
        spent = float(calls[reached[-1], at]) if reached else np.inf
        missed = len(targets) - 1 - reached[-1] if reached else len(targets)
        found.append((missed, spent, np.inf if reached else run.last(measure)))
    return found


def _as_ranks(row: Sequence[Sequence[Score]]) -> list[Any]:
    """Return scores as numbers of the same order, those of no answer infinite."""
    numbers = {score: float(k) for k, score in enumerate(sorted({s for one in row for s in one}))}
    return [np.array([np.inf if _lost(s) else numbers[s] for s in one]) for one in row]


def _lost(score: Score) -> bool:
    return not (np.isfinite(score[1]) or np.isfinite(score[2]))


def _ranked(
    results: Results, group: Group, score: Score | None, place: int | None, *, clear: bool
) -> Ranked:
    study, kinds = results.study, kinds_of(results)
    hits = {
        target: runtimes(group.to(target).runs, target, Price.of("iteration")).hits
        for target in study.targets
    }
    reached = next((target for target in reversed(study.targets) if hits[target]), None)
    by_kind = {kind: sorted(getattr(run.counts, kind) for run in group.runs) for kind in kinds}
    calls: Mapping[str, float] = dict.fromkeys(kinds, np.inf)
    if reached:
        runs = group.to(reached).runs
        calls = {kind: ert(runtimes(runs, reached, Price.of(kind))) for kind in kinds}
    elif not study.targets:
        counts = sorted(tuple(getattr(run.counts, kind) for kind in kinds) for run in group.runs)
        calls = dict(zip(kinds, counts[(len(counts) - 1) // 2], strict=True))
    return Ranked(
        group,
        place,
        clear,
        hits[study.stop] if study.stop else 0,
        reached,
        calls,
        {kind: float(numbers[0]) for kind, numbers in by_kind.items()},
        middle([run.last(compared(results)) for run in group.runs]),
    )


def _calls(one: Ranked, kind: str) -> str:
    number = one.calls[kind]
    return calls(number) if np.isfinite(number) else f"> {whole(int(one.spent[kind]))}"


def ranked_by(results: Results, price: Price | None = None) -> str:
    """Return a sentence on what the ranks follow from."""
    study, price = results.study, price or price_of(results)
    if study.stop is None:
        last = inside(compared(results))
        return f"Ranked by the last {last} (median over the seeds; there is no target)."
    levels = listed([f"{target.target:g}" for target in study.targets])
    return (
        f"Ranked by expected {price.calls} to the hardest target that a method reaches "
        f"({inside(study.stop.measure)} at most {levels}), as printed; equal numbers share a rank."
    )


def _note(results: Results) -> str:
    """Return how the table is to be read."""
    study = results.study
    # A run that stands at several settings, or for several targets, is one.
    runs = list({id(run): run for _, run in results.runs}.values())
    said = []
    if study.stop is not None:
        hits = runtimes(runs, study.stop, Price.of("iteration")).hits
        if hits < len(runs):
            said.append(
                f"{len(runs) - hits} of {len(runs)} runs miss the hardest target and are censored: "
                f"“> N”: no run reached a target, and each spent N or more."
            )
    bold = "Bold: told from every other by a rank test over the seeds (Holm)."
    return " ".join([ranked_by(results), bold, *said])
