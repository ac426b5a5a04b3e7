"""The answer of a study in words: what was compared, and who needs the fewest calls for what."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pfbench.reporting.comparison import Compared, Comparison, Scored, all_at_equal_counts
from pfbench.reporting.results import Panel, Results
from pfbench.reporting.statistics.curves import final
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.words import (
    calls_as_text,
    counted,
    inside,
    listed,
    measure_name,
    significant,
    whole,
)
from pfbench.runs.loop.run import HOLDS
from pfbench.runs.loop.stop import Stop

_MOST_NAMED = 4
"""So many methods or panels are named; of more, their number."""


@dataclass(frozen=True)
class _Row:
    """Calls to the hardest target in one panel, at equal counts."""

    compared: Compared

    @property
    def title(self) -> str:
        """What distinguishes the panel."""
        return self.compared.panel.title

    @property
    def hits(self) -> dict[str, int]:
        """How many runs of each method reach the target."""
        return {one.group.label: one.calls[-1].hits for one in self.compared.scored}

    @property
    def order(self) -> list[tuple[float, Scored]]:
        """Expected calls and methods of those that reach the target, the fewest first."""
        known = ((one.expected[-1], one) for one in self.compared.scored)
        reached = ((found.value, one) for found, one in known if found and found.hits)
        return sorted(reached, key=lambda pair: pair[0])

    @property
    def first(self) -> str:
        """Who needs the fewest calls; all that need as few."""
        least = self.order[0][0]
        labels = [one.group.label for value, one in self.order if value == least]
        return labels[0] if len(labels) == 1 else f"{listed(labels)} alike"

    @property
    def clear(self) -> bool:
        """Whether a rank test over the seeds tells the first from all others."""
        return self.compared.by_target[-1] is not None


def answers(compared: Sequence[Comparison]) -> list[str]:
    """Return what was compared, then for each kind of calls who needs the fewest to the target.

    The target is the hardest that the spec states; without one, the last values are compared.

    Parameters
    ----------
    compared
        A study, compared in each kind of calls that its runs make; at least one.
    """
    results = all_at_equal_counts(compared[0].results)
    target = results.study.stop
    if target is None:
        return [_compared(results), *_ends(results)]
    reached = _reached(results, target, [_Row(panel) for panel in compared[0].panels])
    kinds = [one for one in compared if _is_compared(results, one.price)]
    if any(str(one.price) == "SFO" for one in kinds):
        # The component gradients of an FO are in the SFO.
        kinds = [one for one in kinds if str(one.price) != "FO"]
    fewest = (_fewest(one, results.place) for one in kinds)
    return [_compared(results), *reached, *filter(None, fewest)]


def _compared(results: Results) -> str:
    study, total = results.study, len(results.runs)
    where = [counted(len(study.problems), "problem")]
    if len(study.settings) > 1:
        where.append(counted(len(study.settings), "setting"))
    what = (
        f"{counted(len(study.algorithms), 'algorithm')} on {' at '.join(where)}, "
        f"{counted(len(study.seeds), 'seed')} each: {counted(total, 'run')}"
    )
    lost = Counter(run.status for _, run in results.runs if run.status not in HOLDS)
    if not lost:
        return f"{what}, none of which failed."
    ways = listed([f"{whole(number)} {status}" for status, number in sorted(lost.items())])
    return f"{what}, of which {whole(lost.total())} failed ({ways})."


def _is_compared(results: Results, price: Price) -> bool:
    """Return whether every method makes such calls: else to need none of them says little."""
    recorded = [group.runs for group in results if any(run.rows for run in group.runs)]
    return all(any(price.spent(run) for run in runs) for runs in recorded)


def _reached(results: Results, target: Stop, rows: Sequence[_Row]) -> Iterator[str]:
    """Yield what the target is, where nobody reaches it, and who never does."""
    level = f"{inside(target.measure)} ≤ {significant(target.target)}"
    reached = sum(sum(row.hits.values()) for row in rows)
    if not reached:
        yield f"No method reaches the target, {level}."
        return
    places = [row.title for row in rows if not any(row.hits.values())]
    methods = [
        label for label in results.study.labels if not any(row.hits.get(label) for row in rows)
    ]
    where = f"; nobody does on {listed(_most(places, results.place))}" if places else ""
    who = f"; never {listed(_most(methods, 'method'))}" if methods else ""
    yield (
        f"{whole(reached)} of {counted(len(results.runs), 'run')} reach the target, "
        f"{level}{where}{who}."
    )


def _fewest(comparison: Comparison, place: str) -> str:
    """Return which methods need the fewest calls of a kind; nothing if none reaches the target."""
    rows = [_Row(panel) for panel in comparison.panels]
    reached = [row for row in rows if row.order]
    if not reached:
        return ""
    calls = comparison.price.calls
    return _ranking(rows[0], calls) if len(rows) == 1 else _winners(reached, calls, place)


def _ranking(row: _Row, calls: str) -> str:
    """Return the order of the methods in the only panel."""
    least, best = row.order[0]
    others = [pair for pair in row.order if pair[0] > least]
    named = [f"{one.group.label} {calls_as_text(value)}{_hits(one)}" for value, one in others]
    then = f", then {listed(_most(named, 'method'))}" if named else ""
    sure = "" if row.clear or not others else "; the seeds are too few to tell the first"
    return f"Fewest {calls}: {row.first}, {calls_as_text(least)} expected{_hits(best)}{then}{sure}."


def _winners(reached: Sequence[_Row], calls: str, place: str) -> str:
    """Return who needs the fewest in how many panels, and by how much."""
    wins = Counter(row.first for row in reached)
    named = [f"{label} on {whole(number)}" for label, number in wins.most_common()]
    text = (
        f"Fewest {calls}: {listed(_most(named, 'method'))} of "
        f"{counted(len(reached), place)}, on {whole(sum(row.clear for row in reached))} of "
        "them told from all others by a rank test over the seeds"
    )
    several = [row for row in reached if 0.0 < row.order[0][0] < row.order[-1][0]]
    if not several:
        return f"{text}."
    widest = max(several, key=lambda row: row.order[-1][0] / row.order[0][0])
    (low, first), *_, (high, last) = widest.order
    return (
        f"{text}; widest on {widest.title}: {calls_as_text(low)} ({first.group.label}) to "
        f"{calls_as_text(high)} ({last.group.label})."
    )


def _ends(results: Results) -> Iterator[str]:
    """Yield, for each measure, which methods end lowest: all that is known without a target."""
    for measure in results.study.measures:
        ends = [_medians(panel, measure) for panel in results.panels]
        known = [found for found in ends if found]
        if not known:
            continue
        wins = Counter(found[0][1] for found in known)
        named = [f"{label} on {whole(number)}" for label, number in wins.most_common()]
        winner = listed(_most(named, "method")) if len(known) > 1 else known[0][0][1]
        where = f" of {counted(len(known), results.place)}" if len(known) > 1 else ""
        lowest, highest = ([found[at][0] for found in known] for at in (0, -1))
        yield (
            f"{measure_name(measure)} ends lowest for {winner}{where}: {_span(lowest)}; "
            f"the highest ends at {_span(highest)}."
        )


def _medians(panel: Panel, measure: str) -> list[tuple[float, str]]:
    """Return the final median of each method that has one, with its label, the lowest first."""
    ends = [(final(group.runs, measure).median, group.label) for group in panel.groups]
    return sorted(((value, label) for value, label in ends if value == value), key=lambda e: e[0])


def _span(values: Sequence[float]) -> str:
    low, high = significant(min(values)), significant(max(values))
    return low if low == high else f"{low} to {high}"


def _hits(scored: Scored) -> str:
    """Return how many runs reach the target, if not all."""
    hits, number = scored.calls[-1].hits, len(scored.group.runs)
    return "" if hits == number else f" ({hits} of {number} seeds)"


def _most(names: Sequence[str], thing: str) -> list[str]:
    """Return the first names; of more than a few, how many others there are."""
    if len(names) <= _MOST_NAMED:
        return list(names)
    return [*names[: _MOST_NAMED - 1], counted(len(names) - _MOST_NAMED + 1, f"more {thing}")]
