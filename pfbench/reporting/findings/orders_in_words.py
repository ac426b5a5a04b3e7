"""What became of published orders, in sentences, as a table, and for programs."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pfbench.reporting.findings.orderings import (
    FLIPS,
    KEPT,
    OPEN,
    REPRODUCED,
    REVERSED,
    TURNS,
    VERDICTS,
    Tested,
)
from pfbench.reporting.findings.seeds import too_few
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.tables import Row, Table
from pfbench.reporting.words import calls_as_text, counted, inside, listed, significant, whole
from pfbench.runs.planning.published import Ordering, Unit
from pfbench.runs.planning.study import Study

REVERSED_IS = f"is {REVERSED}"

START = " (its start)"
"""Beside a value that is that of the start: at these calls the method has made no iterate yet."""


def in_brief(several: Sequence[Tested]) -> list[str]:
    """Return which published orders flip, and in what; nothing without orders.

    Where a paper has a unit of its own, its orders are judged there, and what is otherwise in our
    counts is a finding of its own. Without one no order flips: it may be the other way round.
    """
    published = [one for one in several if one.ordering.published]
    own = [one for one in published if one.in_papers_unit]
    judged = _by_order(own or published)
    if not judged:
        return []
    unit = f"In the unit of the paper ({inside(own[0].scale.title)}): " if own else ""
    way, verb, none = (
        (FLIPS, "that flip", "flips") if own else (REVERSED, f"that are {REVERSED}", REVERSED_IS)
    )
    against = [
        f"{order(of[0].ordering)} (by {listed(list(scales))})"
        for of in judged
        if (scales := dict.fromkeys(one.scale.title for one in of if one.verdict == way))
    ]
    if against:
        number = f"{len(against)} of {len(judged)}"
        text = f"{unit}Published orders {verb}, {number}: {listed(against)}."
    else:
        held = sum(all(one.verdict in (REPRODUCED, KEPT) for one in of) for of in judged)
        kept = "are reproduced" if own else "hold"
        text = f"{unit}No published order {none}; {held} of {len(judged)} {kept} throughout."
    if turning := sum(any(one.verdict == TURNS for one in of) for of in judged):
        verb = "depends" if turning == 1 else "depend"
        text += f" {counted(turning, 'order')} {verb} on the form of a method."
    return [text, *between_units(several)]


def between_units(several: Sequence[Tested]) -> list[str]:
    """Return a sentence for each order that stands both ways: the paper's unit and one of ours."""
    found = []
    for of in _by_order([one for one in several if one.ordering.published]):
        for scale in dict.fromkeys(one.scale.title for one in of if not one.in_papers_unit):
            turned = [panel for panel in _by_panel(of) if _turned(panel, scale)]
            if not turned:
                continue
            own = next(one for one in turned[0] if one.in_papers_unit)
            ours = next(one for one in turned[0] if one.scale.title == scale)
            found.append(
                f"Between units: {order(of[0].ordering)} {_becoming(own.verdict)} in "
                f"{inside(own.scale.title)}, and {_becoming(ours.verdict)} in {scale}, on "
                f"{whole(len(turned))} of {counted(len(_by_panel(of)), 'panel')} (at "
                f"{own.panel.title}: {_evidence(own)}; in {scale} {_evidence(ours)})."
            )
    return found


def sentences(several: Sequence[Tested], study: Study) -> list[str]:
    """Return a sentence for each order, with its evidence; what flips comes first."""
    return [_sentence(of, study) for of in sorted(_by_order(several), key=_worst)]


def too_few_seeds(study: Study) -> str:
    """Return a sentence where a study has too few seeds to decide any published order, else ''."""
    vain = "decide no published order in a test of"
    return too_few(len(study.seeds), study.ordered_pairs, vain)


def table(study: Study, several: Sequence[Tested]) -> Table | None:
    """Return the verdict on each order in each panel and unit; None without orders."""
    if not several:
        return None
    rows = [
        Row(
            f"{one.ordering.source}: {order(one.ordering)} ({_compared(one.ordering)})",
            one.panel.title,
            [_unit(one), one.verdict, _evidence(one)],
        )
        for one in several
    ]
    note = (
        "An order is reproduced where every pair of it is, by a rank test over the seeds (Holm at "
        "5 % over the study), in the unit that its paper states for it; else it holds. Of a "
        "method with several forms, the best on either side counts. An order flips where every "
        "form of a later method is significantly ahead of every form of an earlier one, in the "
        "unit that the paper states for it; in another unit it is the other way round. Where not "
        "every form of the later method is ahead, the order depends on the form. The evidence is "
        "the pair that decides, with medians over the seeds. Seconds are those of the machine "
        "that made the runs; less than one decides nothing."
    )
    if any(one.verdict == OPEN for one in several):
        note = f"{note} {too_few_seeds(study)}".strip()
    return Table(
        f"{study.title}: {heading(several)}",
        note,
        ("order", "where", "in", "verdict", "evidence"),
        rows,
    )


def as_json(several: Sequence[Tested]) -> list[dict[str, Any]]:
    """Return the same for programs; what is infinite is None."""
    return [
        {
            "source": one.ordering.source,
            "place": one.ordering.place,
            "says": one.ordering.says,
            "order": [list(place) for place in one.ordering.order],
            "measure": one.ordering.measure,
            "target": one.ordering.target,
            "problem": one.panel.problem,
            "setting": one.panel.setting,
            "price": one.scale.title,
            "unit_of_paper": one.in_papers_unit,
            "verdict": one.verdict,
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "medians": [v if math.isfinite(v) else None for v in pair.values],
                    "p": pair.p,
                    "verdict": pair.verdict,
                    "p_every_form": None if math.isnan(pair.every) else pair.every,
                    "behind": pair.behind,
                }
                for pair in one.pairs
            ],
        }
        for one in several
    ]


def dossier(study: Study) -> list[str]:
    """Return how a study judges: the paper's units, the forms of methods, and what is ours."""
    units = [
        f"{_whose(unit, study)} {inside(unit.name)}{_quoted(unit.says, unit.place)}: "
        f"{_charges(study, unit)}."
        for unit in study.units
    ]
    forms = [
        f"{name} is run in {counted(len(labels), 'form')} ({listed(labels)}); an order must hold "
        "for the best of them, and flips against all of them alone."
        for name, labels in study.forms.items()
        if len(labels) > 1
    ]
    ours = [f"Ours: {one}." for one in study.assumed]
    return [*units, *forms, *ours]


def order(ordering: Ordering) -> str:
    """Return an order in words."""
    return " before ".join(listed(place) for place in ordering.order)


def _whose(unit: Unit, study: Study) -> str:
    """Return whose unit it is: the paper's where it states it for an order of the study."""
    stated = any(unit.is_stated_for(one) for one in study.orderings)
    return "The paper counts in" if stated else "A further unit, not the paper's for these orders:"


def heading(several: Sequence[Tested]) -> str:
    """Return how a table of orders is headed: published ones alone are called so."""
    return "published orders" if all(one.ordering.published for one in several) else "orders"


def _charges(study: Study, unit: Unit) -> str:
    """Return what a unit charges each algorithm, at each setting where that differs."""
    told = dict[str, list[str]]()
    for setting in study.settings:
        who = dict[str, list[str]]()
        for label in sorted(study.labels, key=unit.otherwise.__contains__):
            price = Price.of(study.charged(unit, label, setting.values))
            who.setdefault(str(price), []).append(label)
        usual, *others = who
        of_others = [f"{price} for {listed(who[price])}" for price in others]
        told.setdefault("; ".join([usual, *of_others]), []).append(setting.title)
    return "; ".join(
        f"{text} at {listed(titles)}" if len(told) > 1 else text for text, titles in told.items()
    )


def _quoted(says: str, place: str) -> str:
    told = ", ".join(filter(None, (place, f"“{says}”" if says else "")))
    return f" ({told})" if told else ""


def _by_order(several: Sequence[Tested]) -> list[list[Tested]]:
    return _grouped(several, lambda one: id(one.ordering))


def _by_panel(several: Sequence[Tested]) -> list[list[Tested]]:
    return _grouped(several, lambda one: id(one.panel))


def _grouped(several: Sequence[Tested], key: Callable[[Tested], Hashable]) -> list[list[Tested]]:
    """Return what belongs together, each group in the place of its first."""
    found = dict[Hashable, list[Tested]]()
    for one in several:
        found.setdefault(key(one), []).append(one)
    return list(found.values())


def _turned(several: Sequence[Tested], title: str) -> bool:
    """Return whether an order is one way in the paper's unit, and the other way in a count."""
    own = [one for one in several if one.in_papers_unit]
    ours = [one for one in several if one.scale.title == title]
    return bool(own and ours) and (own[0].verdict, ours[0].verdict) in (
        (FLIPS, KEPT),
        (REPRODUCED, REVERSED),
    )


def _worst(several: Sequence[Tested]) -> int:
    own = [one for one in several if one.in_papers_unit] or several
    return min(VERDICTS.index(one.verdict) for one in own)


def _sentence(several: Sequence[Tested], study: Study) -> str:
    """Return what becomes of one order in each unit."""
    one = several[0].ordering
    becomes = "; ".join(f"by {_unit(of[0])} {_becomes(of)}" for of in _grouped(several, _unit))
    said = f"“{one.says}”" if one.published else one.says
    source = ", ".join(filter(None, (one.source, one.place)))
    told = ": ".join(filter(None, (source, said)))
    return f"{order(one)} in {_compared(one)} ({told}; {_form(one, study)}): {becomes}."


def _form(one: Ordering, study: Study) -> str:
    """Return against which forms of the methods an order is judged."""
    if one.states:
        return f"in the form that the paper states, “{one.states}”"
    several = [name for name in dict.fromkeys(one.names) if len(study.forms_of(name)) > 1]
    return f"in the best of its forms each: {listed(several)}" if several else "one form each"


def _becomes(several: Sequence[Tested]) -> str:
    """Return what becomes of one order in one unit over its panels, with the evidence of one."""
    shown = min(several, key=lambda one: VERDICTS.index(one.verdict))
    if len(several) == 1:
        return f"{shown.verdict} ({_evidence(shown)})"
    number = Counter(one.verdict for one in several)
    ways = [f"{way} on {whole(number[way])}" for way in VERDICTS if number[way]]
    total = counted(len(several), "panel")
    return f"{listed(ways)} of {total} (at {shown.panel.title}: {_evidence(shown)})"


def _becoming(verdict: str) -> str:
    words = {FLIPS: "flips", REVERSED: REVERSED_IS, REPRODUCED: "is reproduced", KEPT: "holds"}
    return words[verdict]


def _unit(one: Tested) -> str:
    return f"{one.scale.title} (the paper's)" if one.in_papers_unit else one.scale.title


def _compared(ordering: Ordering) -> str:
    if ordering.target is None:
        return inside(ordering.measure)
    return f"calls to {inside(ordering.measure)} ≤ {significant(ordering.target)}"


def _evidence(one: Tested) -> str:
    pair, calls = one.evidence, one.ordering.target is not None
    first, second = (
        f"{calls_as_text(value) if calls else _value_as_text(value)}{START * unmoved}"
        for value, unmoved in zip(pair.values, pair.unmoved, strict=True)
    )
    sure = "nothing varies" if pair.p == 0.0 else f"p = {significant(pair.p, 2)}"
    sure = "less than a second" if pair.short else sure
    still = f"; not so for {pair.behind}" if pair.verdict == TURNS else ""
    return f"{pair.first} {first}, {pair.second} {second}, {sure}{still}"


def _value_as_text(value: float) -> str:
    return significant(value) if math.isfinite(value) else "no value"
