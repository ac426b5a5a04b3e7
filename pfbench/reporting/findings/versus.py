"""One method against all others of a study: where it wins and loses, in words and as a table."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pfbench.reporting.comparison import Compared, Comparison, Scored
from pfbench.reporting.results import Results
from pfbench.reporting.statistics.bootstrap import EVEN, Interval, ratio_interval
from pfbench.reporting.statistics.curves import first
from pfbench.reporting.statistics.significance import told
from pfbench.reporting.tables import SAME, Cell, Ratio, Row, Table
from pfbench.reporting.words import as_printed, calls_as_text, counted, inside, listed, significant
from pfbench.runs.loop.run import HOLDS
from pfbench.runs.loop.stop import Stop


@dataclass(frozen=True)
class Duel:
    """A method against the best of the others, to one target on one problem.

    Attributes
    ----------
    title, target
        The panel, and what is to be reached.
    mine, other
        The method, and the other of the fewest expected calls; None if no other reaches it.
    place, number
        The place of the method among how many; None if it does not reach the target.
    begun
        Whether some runs of the method begin within the target: then there is nothing to win, as
        who does nothing has arrived on these seeds, for no calls.
    sure
        Whether a test over the seeds tells the two; the tests of the method against each other one,
        to one target in one panel, are a family.
    interval
        The 95 % interval of the ratio of their expected calls; None where one never arrives.
    """

    title: str
    target: Stop
    mine: Scored
    other: Scored | None
    at: int
    place: int | None
    number: int
    begun: bool = False
    sure: bool = False
    interval: Interval | None = None

    @property
    def calls(self) -> float:
        """The expected calls of the method."""
        return self.mine.needs(self.at)

    @property
    def others(self) -> float:
        """The expected calls of the best of the others."""
        return self.other.needs(self.at) if self.other else math.inf

    @property
    def ratio(self) -> Ratio | None:
        """Its expected calls over those of the best of the others, where both arrive."""
        if self.place is None or self.other is None:
            return None
        return Ratio(self.calls / self.others, self.interval)

    @property
    def wins(self) -> bool:
        """Whether the method needs fewer calls than every other."""
        return not self.begun and self.calls < self.others

    @property
    def loses(self) -> bool:
        """Whether another needs fewer."""
        return self.others < self.calls


def duels(comparison: Comparison, label: str, mine: Collection[str]) -> list[Duel]:
    """Return a method against the best of the others, by panel and target.

    Where it was refused it does not stand.

    Parameters
    ----------
    comparison
        The study, in the calls that are counted.
    label, mine
        The method, and all labels under which it stands in the study: it is no rival of itself.
    """
    return [
        _duel(panel, me, at, target, mine)
        for panel in comparison.panels
        if (me := panel.of(label)) and any(run.status != "refused" for run in me.group.runs)
        for at, target in enumerate(comparison.targets)
    ]


def _duel(panel: Compared, me: Scored, at: int, target: Stop, mine: Collection[str]) -> Duel:
    if any(first([run], target.measure) <= target.target for run in me.group.runs):
        return Duel(panel.panel.title, target, me, None, at, None, len(panel.scored), begun=True)
    others = [one for one in panel.scored if one.group.label not in mine]
    reaching = [one for one in others if math.isfinite(one.needs(at))]
    best = min(reaching, key=lambda one: one.needs(at), default=None)
    calls, place = as_printed(me.needs(at)), None
    if math.isfinite(calls):
        place = 1 + sum(as_printed(one.needs(at)) < calls for one in others)
    found = Duel(panel.panel.title, target, me, best, at, place, len(others) + 1)
    if best is None:
        return found
    sides = told([(me.sample(at), one.sample(at)) for one in others])
    interval = ratio_interval(me.calls[at], best.calls[at])
    return replace(found, sure=sides[others.index(best)] != 0, interval=interval)


def sentences(comparison: Comparison, label: str, mine: Collection[str]) -> list[str]:
    """Return where a method wins and loses, the hardest target first; then where it has no answer.

    It is against all others; `front` has it against those of its class.
    """
    kind, found = str(comparison.price), duels(comparison, label, mine)
    said = [_to_target(label, kind, each) for each in _by_target(comparison, found)]
    return [*said, *_failures(comparison.results, label)]


def projecting(results: Results) -> set[str]:
    """Return the methods that make projections, or proximal steps."""
    return {group.label for group in results if group.makes("po")}


def _by_target(comparison: Comparison, found: Sequence[Duel]) -> Iterator[list[Duel]]:
    for target in reversed(comparison.targets):
        if to_it := [duel for duel in found if duel.target == target]:
            yield to_it


def _to_target(label: str, kind: str, found: Sequence[Duel]) -> str:
    """Return how a method stands on all panels at one target."""
    target = found[0].target
    level = f"{inside(target.measure)} ≤ {significant(target.target)}"
    wins = [duel for duel in found if duel.wins]
    loses = [duel for duel in found if duel.loses]
    level_with = [duel for duel in found if duel.place and not (duel.wins or duel.loses)]
    begun = [duel for duel in found if duel.begun]
    nobody = [duel for duel in found if not (duel.begun or duel.place or duel.other)]
    parts = []
    if wins:
        parts.append(f"it wins on {_each(wins, _won)}")
    if level_with:
        parts.append(f"it is level with the best on {listed([duel.title for duel in level_with])}")
    if loses:
        parts.append(f"it loses on {_each(loses, _lost)}")
    if nobody:
        parts.append(f"nobody reaches it on {listed([duel.title for duel in nobody])}")
    if begun:
        parts.append(f"runs begin within it on {listed([duel.title for duel in begun])}")
    number = f"fewest {kind} on {len(wins)} of {counted(len(found), 'problem')}"
    told = "; ".join(parts)
    return f"{label} to {level}: {number}. {told[0].upper()}{told[1:]}."


def _each(found: Sequence[Duel], words: Callable[[Duel], str]) -> str:
    return listed([f"{duel.title} ({words(duel)})" for duel in found])


def _won(duel: Duel) -> str:
    if duel.other is None:
        return f"{calls_as_text(duel.calls)}, and no other reaches it"
    mine, others = calls_as_text(duel.calls), calls_as_text(duel.others)
    return f"{mine}, {duel.other.group.label} {others}{_unsure(duel)}"


def _lost(duel: Duel) -> str:
    best = duel.other.group.label if duel.other else ""
    if duel.place is None:
        return f"never reaches it, {best} after {calls_as_text(duel.others)}"
    factor = significant(duel.calls / duel.others, 2)
    return f"place {duel.place} of {duel.number}, {factor} times {best}{_unsure(duel)}"


def _unsure(duel: Duel) -> str:
    return "" if duel.sure else ", not told apart"


def _failures(results: Results, label: str) -> Iterator[str]:
    """Yield where a method was refused or failed, and why."""
    for panel in results.panels:
        group = panel.of(label)
        lost = [run for run in group.runs if run.status not in HOLDS] if group else []
        if lost:
            first = lost[0]
            reason = first.stop_reason.rstrip(".")
            yield f"{label} is {first.status} on {panel.title}: {reason}."


def table(comparison: Comparison, label: str, mine: Collection[str]) -> Table:
    """Return the same as a table: for each problem and target the place, the calls and the best."""
    rows = []
    for duel in duels(comparison, label, mine):
        best = duel.other.group.label if duel.other else None
        sure = None if duel.other is None else ("yes" if duel.sure else "no")
        place = f"{duel.place} of {duel.number}" if duel.place else None
        cells: list[Cell] = [place, duel.mine.expected[duel.at], best]
        cells += [duel.other.expected[duel.at] if duel.other else None]
        cells += [duel.ratio, sure]
        target = f"{inside(duel.target.measure)} ≤ {duel.target.target:g}"
        rows.append(Row(duel.title, f"{target}, where runs begin" if duel.begun else target, cells))
    head = ("target", "place", label, "best other", "its calls", "ratio", "told apart")
    return Table(
        f"{label} against all others",
        f"Expected {comparison.price.calls} at equal counts, with 95 % intervals and hits. Told "
        f"apart: by a rank test over the seeds, with Holm's correction over the tests of {label} "
        "against each other method to that target; what does not vary over the seeds is compared "
        f"as it is. {SAME}: the interval of the ratio is within 1/{EVEN:g} and {EVEN:g}.",
        (comparison.results.head, *head),
        rows,
    )


def _finite(interval: Interval | None) -> list[float | None] | None:
    return interval and [end if math.isfinite(end) else None for end in interval]


def as_json(comparison: Comparison, label: str, mine: Collection[str]) -> list[dict[str, Any]]:
    """Return the same for programs; what is infinite is None."""
    return [
        {
            "problem": duel.title,
            "measure": duel.target.measure,
            "target": duel.target.target,
            "algorithm": label,
            "count": str(comparison.price).lower(),
            "place": duel.place,
            "of": duel.number,
            "begun": duel.begun,
            "calls": duel.calls if duel.place else None,
            "best": duel.other.group.label if duel.other else None,
            "best_calls": duel.others if duel.other else None,
            "ratio": duel.ratio.value if duel.ratio else None,
            "ratio_interval": _finite(duel.interval),
            "told_apart": duel.sure,
        }
        for duel in duels(comparison, label, mine)
    ]
