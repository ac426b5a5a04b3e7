"""How the algorithms of a panel rank: by calls to targets, and by values at equal counts.

A run's score is the hardest target that it reaches, then the calls that it needs for it; that of a
run that reaches none is its last value. An algorithm's score is the median over its seeds. Runs are
compared at equal counts: what goes beyond the least budget of a panel is cut away, so nobody gains
anything from a larger one, and who does nothing is ranked last.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from pfbench.reporting.comparison import at_equal_counts
from pfbench.reporting.results import Group, Panel, Results
from pfbench.reporting.statistics.curves import column, nothing_varies
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.statistics.runtimes import runtimes
from pfbench.reporting.statistics.significance import Sample, leaders, middle
from pfbench.reporting.tables import Cell, Row, Table
from pfbench.reporting.words import inside, listed, whole
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.tune import tuned_label

KINDS = ("sfo", "lo", "po", "sso", "hvp")
"""The counts of a comparison; the first that is made in a study is the one that ranks."""

MOST_SHOWN = 14
"""Lines of a figure that are still told apart."""

Score = tuple[int, float, float]
"""Targets missed, calls to the hardest one reached, and last value: each infinite if unknown."""


@dataclass(frozen=True)
class Ranked:
    """Where an algorithm stands in its panel.

    Attributes
    ----------
    group
        Its runs, at the counts that all had.
    place
        Its place; equal scores share one. None if no run has an answer.
    clear
        Whether it is the first, and a rank test over the seeds tells it from every other.
    hits
        How many runs reach the hardest target of the study.
    target
        The hardest target that its median run reaches.
    calls
        Medians of the calls to `target`, by kind; of whole runs, where the study has no targets;
        infinite where half of the runs or more miss it.
    spent
        Medians of the calls of whole runs.
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


def ranking(results: Results) -> Ranking:
    """Return how the algorithms of each panel rank, the first first."""
    kinds = kinds_of(results)
    panels = [at_equal_counts(panel)[1].groups for panel in results.panels]
    scores = [[_scores(results, group, kinds[0]) for group in groups] for groups in panels]
    samples = [
        [
            Sample(values, nothing_varies(group.runs))
            for values, group in zip(row, some, strict=True)
        ]
        for row, some in zip(map(_as_ranks, scores), panels, strict=True)
    ]
    leading = leaders(samples, [[middle(one.values) for one in row] for row in samples])
    found = []
    for panel, groups, row, first in zip(results.panels, panels, scores, leading, strict=True):
        order = sorted(range(len(groups)), key=lambda at: _median(row[at]))
        places: dict[Score, int] = {}
        for place, at in enumerate(order, 1):
            places.setdefault(_median(row[at]), place)
        ranked = [
            _ranked(results, groups[at], _median(row[at]), places, clear=at == first)
            for at in order
        ]
        found.append((panel, ranked))
    return found


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


def essence(run: Run, targets: Sequence[Stop]) -> Run:
    """Return a run with those rows of its trace alone that its rank follows from.

    These are the first that reach each target, and the last with a value of each measure.
    """
    firsts = (run.first(target.measure, target.target) for target in targets)
    needed = {at for at in firsts if at is not None}
    for name in run.columns:
        needed |= {int(at) for at in np.flatnonzero(~np.isnan(column(run, name)))[-1:]}
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
    calls = "{} to target" if study.targets else "{}"
    head += [calls.format(kind.upper()) for kind in kinds]
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


def _scores(results: Results, group: Group, kind: str) -> list[Score]:
    """Return the scores of the runs of one algorithm; less is better."""
    targets, price = results.study.targets, Price.of(kind)
    calls = np.array([runtimes(group.to(one).runs, one, price).calls for one in targets])
    measure = compared(results)
    found = []
    for at, run in enumerate(group.runs):
        reached = [k for k in range(len(targets)) if np.isfinite(calls[k, at])]
        spent = float(calls[reached[-1], at]) if reached else np.inf
        missed = len(targets) - 1 - reached[-1] if reached else len(targets)
        found.append((missed, spent, np.inf if reached else run.last(measure)))
    return found


def _median(scores: Sequence[Score]) -> Score:
    return sorted(scores)[(len(scores) - 1) // 2]


def _as_ranks(row: Sequence[Sequence[Score]]) -> list[Any]:
    """Return scores as numbers of the same order, those of no answer infinite."""
    numbers = {score: float(k) for k, score in enumerate(sorted({s for one in row for s in one}))}
    return [np.array([np.inf if _lost(s) else numbers[s] for s in one]) for one in row]


def _lost(score: Score) -> bool:
    return not (np.isfinite(score[1]) or np.isfinite(score[2]))


def _ranked(
    results: Results, group: Group, score: Score, places: Mapping[Score, int], *, clear: bool
) -> Ranked:
    study, kinds = results.study, kinds_of(results)
    reached = study.targets[len(study.targets) - 1 - score[0]] if np.isfinite(score[1]) else None
    spent = {kind: middle([getattr(run.counts, kind) for run in group.runs]) for kind in kinds}
    calls = spent
    if study.targets:
        calls = {
            kind: middle(runtimes(group.to(reached).runs, reached, Price.of(kind)).calls)
            if reached
            else np.inf
            for kind in kinds
        }
    hardest = study.stop
    return Ranked(
        group,
        None if _lost(score) else places[score],
        clear,
        runtimes(group.runs, hardest, Price.of("iteration")).hits if hardest else 0,
        reached,
        calls,
        spent,
        middle([run.last(compared(results)) for run in group.runs]),
    )


def _calls(one: Ranked, kind: str) -> str:
    calls = one.calls[kind]
    return whole(int(calls)) if np.isfinite(calls) else f"> {whole(int(one.spent[kind]))}"


def ranked_by(results: Results) -> str:
    """Return a sentence on what the places follow from."""
    study, kind = results.study, kinds_of(results)[0]
    if study.stop is None:
        last = inside(compared(results))
        return f"Ranked by the last {last} (median over the seeds; there is no target)."
    levels = listed([f"{target.target:g}" for target in study.targets])
    return (
        f"Ranked by {kind.upper()} calls to the hardest target that the median seed reaches "
        f"({inside(study.stop.measure)} at most {levels})."
    )


def _note(results: Results) -> str:
    """Return how the table is to be read."""
    study = results.study
    runs = [run for _, run in results.runs]
    said = []
    if study.stop is not None:
        hits = runtimes(runs, study.stop, Price.of("iteration")).hits
        if hits < len(runs):
            said.append(
                f"{len(runs) - hits} of {len(runs)} runs miss the hardest target and are censored: "
                f"“> N” had spent N without reaching it."
            )
    bold = "Bold: told from every other by a rank test over the seeds (Holm)."
    return " ".join([ranked_by(results), bold, *said])
