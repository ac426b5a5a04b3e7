"""One method against those of its class: a sentence, a table, and who stands nearest.

The class is by what is asked: a method that makes linear minimisations and never projects is
compared with those that never project, any other one with all. What others there are stands below.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pfbench.reporting.comparison import Comparison, Expected
from pfbench.reporting.findings import versus
from pfbench.reporting.findings.tuning import at_ends
from pfbench.reporting.findings.versus import Duel
from pfbench.reporting.results import Results
from pfbench.reporting.statistics.bootstrap import EVEN
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.tables import SAME, Cell, Row, Table
from pfbench.reporting.words import counted, inside

NEAR = 2.0
"""Within so many times the calls of the best a method counts as near."""

MOST = 6
"""So many others are drawn in colour, and five of them stand in the table for a paper."""


@dataclass(frozen=True)
class Front:
    """One method of a study against the others of its class.

    Attributes
    ----------
    compared
        The study in each price; the first decides.
    label, mine
        The method, and all labels under which it stands: it is no rival of itself.
    rivals
        The others of its class, the strongest first.
    outside
        Methods that are not of its class: those that project, where it does not.
    """

    compared: tuple[Comparison, ...]
    label: str
    mine: tuple[str, ...]
    rivals: tuple[str, ...]
    outside: frozenset[str]

    @property
    def results(self) -> Results:
        """The runs."""
        return self.compared[0].results

    @property
    def price(self) -> Price:
        """What is counted first."""
        return self.compared[0].price

    @property
    def shown(self) -> tuple[str, ...]:
        """The method and the rivals that are drawn in colour."""
        return (*self.mine, *self.rivals[:MOST])

    @property
    def kind(self) -> str:
        """Of which class it is, in words."""
        return "methods that never project" if self.outside else "methods"

    @cached_property
    def duels(self) -> list[Duel]:
        """It against the best of its class, by panel and target."""
        return self._duels(self.compared[0])

    def _duels(self, comparison: Comparison) -> list[Duel]:
        return versus.duels(comparison, self.label, {*self.mine, *self.outside})

    @cached_property
    def standing(self) -> tuple[list[Duel], list[Duel], list[Duel], list[Duel]]:
        """The pairs of problem and target that count; where it is first, near, and nowhere."""
        found = [duel for duel in self.duels if not duel.begun and (duel.place or duel.other)]
        leads = [duel for duel in found if duel.place and duel.calls <= duel.others]
        near = [d for d in found if d.place and d.others < d.calls <= NEAR * d.others]
        return found, leads, near, [duel for duel in found if not duel.place]

    @cached_property
    def sentence(self) -> str:
        """On how many pairs of problem and target it is first, near, behind, or nowhere."""
        found, leads, near, never = self.standing
        left = sum(not (duel.begun or duel.place or duel.other) for duel in self.duels)
        nobody = f" (of {counted(left, 'further pair')} nobody arrives)" if left else ""
        behind = len(found) - len(leads) - len(near) - len(never)
        return (
            f"On {counted(len(found), 'pair')} of problem and target, by {self.price} among "
            f"{counted(len(self.rivals) + 1, 'method')}{self.kind.removeprefix('methods')}, "
            f"{self.label} is first on {len(leads)}, within {NEAR:g} times the first on "
            f"{len(near)}, further behind on {behind}, and does not arrive on {len(never)}"
            f"{nobody}{self._nearest}."
        )

    @property
    def _nearest(self) -> str:
        if not self.rivals:
            return ""
        rival = self.rivals[0]
        begun = {(duel.title, duel.at) for duel in self.duels if duel.begun}
        pairs = [
            (mine.needs(at), its.needs(at))
            for panel in self.compared[0].panels
            if (mine := panel.of(self.label)) and (its := panel.of(rival))
            for at in range(len(self.compared[0].targets))
            if (panel.panel.title, at) not in begun
        ]
        ahead, behind = sum(a < b for a, b in pairs), sum(b < a for a, b in pairs)
        return f"; the strongest rival is {rival}, ahead of it on {behind} and behind on {ahead}"

    @cached_property
    def table(self) -> Table:
        """For each problem and target its calls, the best of its class, and the ratio."""
        others = [one for one in self.compared[1:] if self._asks(one)]
        further = [{(d.title, d.at): d for d in self._duels(one)} for one in others]
        rows = []
        for duel in self.duels:
            target = f"≤ {duel.target.target:g}"
            cells: list[Cell] = [*_cells(duel)]
            for duels_of in further:
                cells += _cells(duels_of[duel.title, duel.at])
            cells += [self._better_in_all(duel)] if others else []
            name = f"{target}, where runs begin" if duel.begun else target
            best = frozenset({0} if duel.sure and duel.calls < duel.others else ())
            rows.append(Row(duel.title, name, cells, best))
        heads = [
            head
            for one in (self.compared[0], *others)
            for head in (f"{one.price}: mine", "best other", "its calls", "ratio")
        ]
        both = " and ".join(str(one.price) for one in (self.compared[0], *others))
        heads += [f"fewer {both}"] if others else []
        frontier = f" Last: who needs fewer {both}; nobody: it is on the frontier."
        measure = inside(self.compared[0].targets[-1].measure)
        return Table(
            f"{self.label} against the best of its class",
            f"Expected calls until {measure} is at most the target, at equal counts, and hits; "
            "behind each ratio its 95 % interval over the seeds (bootstrap). Its class are "
            f"{self._class}. Bold: fewer than "
            "the best, told by a rank test over the seeds (Holm over its tests against each other "
            f"to that target). {SAME}: the interval of the ratio is within 1/{EVEN:g} and {EVEN:g}."
            f"{frontier if others else ''}",
            (self.results.head, "target", *heads),
            rows,
        )

    @property
    def _class(self) -> str:
        """The others of its class, in words."""
        others = counted(len(self.rivals), "other")
        return f"the {others} among the {self.kind}" if self.outside else f"all {others}"

    def _asks(self, comparison: Comparison) -> bool:
        """Return whether it makes calls of this kind; a price that is stated is the only scale."""
        return (
            not self.results.study.price
            and str(comparison.price) in {"SFO", "LO", "PO"}
            and any(
                group.makes(str(comparison.price).lower())
                for group in self.results
                if group.label == self.label
            )
        )

    def _better_in_all(self, duel: Duel) -> str | None:
        """Return the rival that needs less of each kind of calls, None where it never arrives."""
        if duel.place is None or duel.begun:
            return None
        found: list[tuple[float, str]] = []
        kinds = [self.compared[0], *(one for one in self.compared[1:] if self._asks(one))]
        panels = [
            next(panel for panel in one.panels if panel.panel.title == duel.title) for one in kinds
        ]

        def needs(label: str) -> list[float]:
            return [one.needs(duel.at) for panel in panels if (one := panel.of(label))]

        mine = needs(self.label)
        for rival in self.rivals:
            its = needs(rival)
            if its and its != mine and all(a <= b for a, b in zip(its, mine, strict=True)):
                found.append((math.prod(its), rival))
        return min(found)[1] if found else "nobody"

    def steps(self) -> dict[str, list[float]]:
        """Return of each method its expected calls on the pairs where it arrives, in order."""
        found: dict[str, list[float]] = {}
        for panel in self.compared[0].panels:
            for scored in panel.scored:
                calls = found.setdefault(scored.group.label, [])
                calls += [
                    scored.needs(at)
                    for at in range(len(self.compared[0].targets))
                    if math.isfinite(scored.needs(at))
                ]
        return {label: sorted(calls) for label, calls in found.items()}

    @property
    def pairs(self) -> int:
        """How many pairs of problem and target there are."""
        return len(self.compared[0].panels) * len(self.compared[0].targets)


def _cells(duel: Duel) -> list[Cell]:
    other = duel.other
    return [
        _short(duel.mine.expected[duel.at]),
        other.group.label if other else None,
        _short(other.expected[duel.at]) if other else None,
        duel.ratio,
    ]


def _short(expected: Expected | None) -> Expected | None:
    return expected and replace(expected, interval=None)


def front(compared: Sequence[Comparison], mine: Sequence[str]) -> Front:
    """Return one method against its class; of several labels the last stands for it."""
    results = compared[0].results
    outside: set[str] = set()
    projecting = versus.projecting(results)
    if not projecting & {*mine}:
        outside = projecting
    rank = strengths(compared[0])
    rivals = [one for one in results.study.labels if one not in {*mine, *outside}]
    rivals.sort(key=lambda label: -rank.get(label, 0.0))
    return Front(tuple(compared), mine[-1], tuple(mine), tuple(rivals), frozenset(outside))


def strengths(comparison: Comparison) -> dict[str, float]:
    """Return how far each method stays below the budget: the mean of log(budget/calls) over pairs.

    It is the area under its profile, up to the budget, on a logarithmic axis. What it never reaches
    counts 0. No number follows from the other methods.
    """
    found: dict[str, float] = {}
    pairs = len(comparison.panels) * max(1, len(comparison.targets))
    for panel in comparison.panels:
        weights = dict(comparison.price.weights)
        limit = sum(weight * panel.limits.get(of, math.inf) for of, weight in weights.items())
        for scored in panel.scored:
            spent = max(map(comparison.price.spent, scored.group.runs), default=0.0)
            most = limit if math.isfinite(limit) else spent
            for at in range(len(comparison.targets)):
                calls = scored.needs(at)
                gained = math.log(most / calls) if 0 < calls < most else 0.0
                label = scored.group.label
                found[label] = found.get(label, 0.0) + gained / pairs
    return found


def standing_in_words(one: Front) -> list[str]:
    """Return on how many pairs of problem and target a method is first, near, behind, nowhere."""
    counted, leads, near, never = one.standing
    behind = len(counted) - len(leads) - len(near) - len(never)
    return [
        f"first on {len(leads)} of {len(counted)}",
        f"near on {len(near)}",
        f"behind on {behind}",
        f"not there on {len(never)}",
    ]


def front_in_words(one: Front) -> list[str]:
    """Return where a method stands to each target against all others, and what is open."""
    comparison = one.compared[0]
    said = [text for label in one.mine for text in versus.sentences(comparison, label, one.mine)]
    study = one.results.study
    return said + [text for label in one.mine for text in at_ends(study, label)]
