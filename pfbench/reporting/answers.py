"""The answer of a study in words: what was compared, and who needs the fewest calls for what."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import all_at_equal_counts
from pfbench.reporting.results import Panel, Results
from pfbench.reporting.statistics import (
    HOLDS,
    Price,
    Runtimes,
    Standing,
    ert,
    final,
    runtimes,
    standings,
)
from pfbench.reporting.words import AXES, counted, inside, listed, measure_name, significant, whole
from pfbench.runs.loop.stop import Stop

_MOST_NAMED = 4
"""So many methods or panels are named; of more, their number."""


@dataclass(frozen=True)
class _Row:
    """Calls to a target in one panel: by method, and how the methods stand."""

    title: str
    found: dict[str, Runtimes]
    standing: Standing

    @property
    def order(self) -> list[tuple[float, str]]:
        """Expected calls and method of those that reach the target, the fewest first."""
        expected = ((ert(one), label) for label, one in self.found.items() if one.hits)
        return sorted(expected, key=lambda pair: pair[0])


def answers(results: Results) -> list[str]:
    """Return what was compared, then for each kind of calls who needs the fewest to the target.

    The target is the hardest that the spec states; without one, the last values are compared.
    """
    results = all_at_equal_counts(results)
    target = results.study.stop
    if target is None:
        return [_compared(results), *_ends(results)]
    kinds = [kind for kind in AXES if kind in COUNTED and _is_compared(results, kind)]
    if "sfo" in kinds and "fo" in kinds:
        kinds.remove("fo")  # its component gradients are in the SFO
    rows = {kind: list(_rows(results.panels, target, Price.of(kind))) for kind in kinds}
    return [_compared(results), *_reached(results, target), *_fewest(rows, results.head)]


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


def _is_compared(results: Results, kind: str) -> bool:
    """Return whether every method makes such calls: else to need none of them says little."""
    return all(group.makes(kind) for group in results if any(run.rows for run in group.runs))


def _reached(results: Results, target: Stop) -> Iterator[str]:
    """Yield what the target is, and where nobody reaches it."""
    level = f"{inside(target.measure)} ≤ {significant(target.target)}"
    hits = {
        panel.title: {
            group.label: runtimes(group.runs, target, Price.of("iteration")).hits
            for group in panel.groups
        }
        for panel in results.panels
    }
    reached = sum(sum(found.values()) for found in hits.values())
    if not reached:
        yield f"No method reaches the target, {level}."
        return
    places = [title for title, found in hits.items() if not any(found.values())]
    methods = [
        label
        for label in results.study.labels
        if not any(found.get(label) for found in hits.values())
    ]
    where = f"; nobody does on {listed(_most(places, _place(results.head)))}" if places else ""
    who = f"; never {listed(_most(methods, 'method'))}" if methods else ""
    yield (
        f"{whole(reached)} of {counted(len(results.runs), 'run')} reach the target, "
        f"{level}{where}{who}."
    )


def _fewest(rows: Mapping[str, Sequence[_Row]], head: str) -> Iterator[str]:
    """Yield for each kind of calls which methods need the fewest."""
    for kind, of_kind in rows.items():
        reached = [row for row in of_kind if row.order]
        if reached and len(of_kind) == 1:
            yield _ranking(of_kind[0], f"{kind.upper()} calls")
        elif reached:
            yield _winners(reached, f"{kind.upper()} calls", head)


def _rows(panels: Sequence[Panel], target: Stop, price: Price) -> Iterator[_Row]:
    found = [
        {group.label: runtimes(group.runs, target, price) for group in panel.groups}
        for panel in panels
    ]
    stand = standings([[one.calls for one in row.values()] for row in found])
    for panel, row, standing in zip(panels, found, stand, strict=True):
        yield _Row(panel.title, row, standing)


def _ranking(row: _Row, calls: str) -> str:
    """Return the order of the methods in the only panel."""
    (least, first), *others = row.order
    named = [f"{label} {_calls(value)}{_hits(row.found[label])}" for value, label in others]
    then = f", then {listed(_most(named, 'method'))}" if named else ""
    sure = "" if row.standing.clear or not others else "; the seeds are too few to tell the first"
    return (
        f"Fewest {calls}: {first}, {_calls(least)} expected{_hits(row.found[first])}{then}{sure}."
    )


def _winners(reached: Sequence[_Row], calls: str, head: str) -> str:
    """Return who needs the fewest in how many panels, and by how much."""
    wins = Counter(row.order[0][1] for row in reached)
    named = [f"{label} on {whole(number)}" for label, number in wins.most_common()]
    clear = sum(row.standing.clear for row in reached)
    text = (
        f"Fewest {calls}: {listed(_most(named, 'method'))} of "
        f"{counted(len(reached), _place(head))}, on {whole(clear)} of them told from all others by "
        "a rank test over the seeds"
    )
    several = [row for row in reached if len(row.order) > 1 and row.order[0][0]]
    if not several:
        return f"{text}."
    widest = max(several, key=lambda row: row.order[-1][0] / row.order[0][0])
    (low, first), *_, (high, last) = widest.order
    return f"{text}; widest on {widest.title}: {_calls(low)} ({first}) to {_calls(high)} ({last})."


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
        where = f" of {counted(len(known), _place(results.head))}" if len(known) > 1 else ""
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


def _place(head: str) -> str:
    """Return what a panel is, in one word."""
    return "panel" if "," in head else head


def _calls(value: float) -> str:
    return whole(round(value)) if value < 1e7 else significant(value)


def _hits(found: Runtimes) -> str:
    number = found.calls.size
    return "" if found.hits == number else f" ({found.hits} of {number} seeds)"


def _most(names: Sequence[str], thing: str) -> list[str]:
    """Return the first names; of more than a few, how many others there are."""
    if len(names) <= _MOST_NAMED:
        return list(names)
    return [*names[: _MOST_NAMED - 1], counted(len(names) - _MOST_NAMED + 1, f"more {thing}")]
