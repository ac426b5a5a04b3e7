"""Tests of published rankings of methods, as sentences, as a table, and as JSON."""

import math
from collections.abc import Sequence
from typing import Any

from pfbench.reporting.significance import seed_warning as too_few
from pfbench.reporting.tables import Table, TableRow
from pfbench.reporting.tested_orderings import (
    FLIPS,
    KEPT,
    OPEN,
    REPRODUCED,
    REVERSED,
    TURNS,
    OrderingResult,
)
from pfbench.reporting.wording import (
    NOTES,
    format_calls,
    format_significant,
    join_items,
    name_within_sentence,
    pluralize,
)
from pfbench.runs.planning.published import PublishedOrdering
from pfbench.runs.planning.study import Study

PAPER_MARK = " (the paper's)"
"""Mark of the unit that the paper states for an order."""

START = " (its start)"
"""Mark of a final value that equals the value at the start of the run."""


def sentences_on_reversed_rankings(results: Sequence[OrderingResult]) -> list[str]:
    """Return sentences on the published rankings that the runs reverse.

    If a paper states its unit of cost, its rankings are judged in that unit. Without a stated unit,
    a reversed ranking is called "the other way round". There are no sentences if the study has no
    published rankings.
    """
    published = [result for result in results if result.ordering.is_published]
    own = [result for result in published if result.uses_paper_unit]
    judged = _group_by_ordering(own or published)
    if not judged:
        return []
    if own:
        unit = f"In the unit of the paper ({name_within_sentence(own[0].cost_unit.title)}): "
        way, verb, none, retained = FLIPS, "that flip", "flips", "are reproduced"
    else:
        unit = ""
        way, verb, none, retained = REVERSED, f"that are {REVERSED}", f"is {REVERSED}", "hold"
    verdicts = [[result.verdict for result in of_order] for of_order in judged]
    against = [
        f"{format_order(of_order[0].ordering)} (by {join_items(list(units))})"
        for of_order in judged
        if (units := dict.fromkeys(r.cost_unit.title for r in of_order if r.verdict == way))
    ]
    if against:
        number = f"{len(against)} of {len(judged)}"
        text = f"{unit}Published orders {verb}, {number}: {join_items(against)}."
    else:
        total = sum({*of_order} <= {REPRODUCED, KEPT} for of_order in verdicts)
        text = f"{unit}No published order {none}; {total} of {len(judged)} {retained} throughout."
    if turning := sum(TURNS in of_order for of_order in verdicts):
        verb = "depends" if turning == 1 else "depend"
        text += f" {pluralize(turning, 'order')} {verb} on the form of a method."
    return [text]


def _group_by_ordering(results: Sequence[OrderingResult]) -> list[list[OrderingResult]]:
    """Group results by ranking, in the order of their first result."""
    groups: dict[int, list[OrderingResult]] = {}
    for result in results:
        groups.setdefault(id(result.ordering), []).append(result)
    return list(groups.values())


def seed_warning(study: Study) -> str:
    """Return a sentence if the study has too few seeds to decide any ranking; otherwise ''."""
    vain = "decide no published order in a test of"
    return too_few(len(study.seeds), study.ordering_test_count, vain)


def order_verdict_table(study: Study, results: Sequence[OrderingResult]) -> Table | None:
    """Return a table of the verdicts on published rankings; None without rankings.

    There is one row for each ranking, panel and unit of cost.
    """
    if not results:
        return None
    rows = [
        TableRow(
            _describe_ordering(result.ordering, study),
            result.panel.title,
            [
                f"{result.cost_unit.title}{PAPER_MARK * result.uses_paper_unit}",
                result.verdict,
                _describe_evidence(result),
            ],
        )
        for result in results
    ]
    is_open = any(result.verdict == OPEN for result in results)
    note = " ".join(filter(None, [NOTES["orders"], seed_warning(study) if is_open else ""]))
    head = ("order", "where", "in", "verdict", "evidence")
    return Table(f"{study.title}: {table_heading(results)}", note, head, rows)


def as_json(results: Sequence[OrderingResult]) -> list[dict[str, Any]]:
    """Return the tests of rankings as records for JSON."""
    return [
        {
            "source": result.ordering.source,
            "place": result.ordering.location,
            "says": result.ordering.quotation,
            "order": [list(location) for location in result.ordering.order],
            "measure": result.ordering.measure,
            "target": result.ordering.target,
            "problem": result.panel.problem,
            "setting": result.panel.setting,
            "price": result.cost_unit.title,
            "unit_of_paper": result.uses_paper_unit,
            "verdict": result.verdict,
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "medians": list(pair.values),
                    "p": pair.p_value,
                    "verdict": pair.verdict,
                    "p_every_form": pair.every_form_p_value,
                    "behind": pair.least_certain_form,
                }
                for pair in result.pairs
            ],
        }
        for result in results
    ]


def ordering_setup_sentences(study: Study) -> list[str]:
    """Return sentences on the units, method variants and assumptions used to test rankings."""
    sentences = []
    for unit in study.units:
        is_stated = any(unit.has_unit_statement(ordering) for ordering in study.orderings)
        begin = "The paper counts in"
        if not is_stated:
            begin = "A further unit, not the paper's for these orders:"
        quotation = f"“{unit.quotation}”" if unit.quotation else ""
        source = ", ".join(filter(None, (unit.location, quotation)))
        source = f" ({source})" if source else ""
        name = name_within_sentence(unit.name)
        exceptions = [f"{weights} for {label}" for label, weights in unit.exceptions.items()]
        sentences.append(f"{begin} {name}{source}: {'; '.join([unit.weights, *exceptions])}.")
    forms = [
        f"{name} is run in {pluralize(len(labels), 'form')} ({join_items(labels)}); an order must "
        "hold for the best form, and flips only against all forms."
        for name, labels in study.forms.items()
        if len(labels) > 1
    ]
    return [*sentences, *forms, *(f"Ours: {assumed}." for assumed in study.assumed_settings)]


def format_order(ordering: PublishedOrdering) -> str:
    """Return a ranking as text, such as ``svrg before sgd``."""
    return " before ".join(join_items(location) for location in ordering.order)


def table_heading(results: Sequence[OrderingResult]) -> str:
    """Return the table's heading: "published orders" if all orders are published, else "orders"."""
    published = all(result.ordering.is_published for result in results)
    return "published orders" if published else "orders"


def _describe_ordering(ordering: PublishedOrdering, study: Study) -> str:
    """Describe a ranking: its methods, compared quantity, source and variants of the methods."""
    statement = f"“{ordering.quotation}”" if ordering.is_published else ordering.quotation
    source = ", ".join(filter(None, (ordering.source, ordering.location)))
    text = ": ".join(filter(None, (source, statement)))
    return (
        f"{format_order(ordering)} in {_describe_comparison(ordering)} ({text}; "
        f"{_describe_variants(ordering, study)})"
    )


def _describe_variants(ordering: PublishedOrdering, study: Study) -> str:
    """Describe with which variants of its methods a ranking is tested."""
    if ordering.stated_settings:
        return f"in the form that the paper states, “{ordering.stated_settings}”"
    group = [
        name for name in dict.fromkeys(ordering.names) if len(study.labels_of_variants(name)) > 1
    ]
    return f"each method in its best form: {join_items(group)}" if group else "one form each"


def _describe_comparison(ordering: PublishedOrdering) -> str:
    if ordering.target is None:
        return name_within_sentence(ordering.measure)
    return (
        f"calls to {name_within_sentence(ordering.measure)} ≤ {format_significant(ordering.target)}"
    )


def _describe_evidence(result: OrderingResult) -> str:
    pair, calls = result.deciding_pair, result.ordering.target is not None
    first, second = (
        f"{format_calls(value) if calls else _value_as_text(value)}{START * unmoved}"
        for value, unmoved in zip(pair.values, pair.is_at_start, strict=True)
    )
    sure = "nothing varies" if pair.p_value == 0.0 else f"p = {format_significant(pair.p_value, 2)}"
    sure = "less than a second" if pair.is_too_short_to_time else sure
    still = (
        f"; {pair.least_certain_form} is not significantly ahead" if pair.verdict == TURNS else ""
    )
    return f"{pair.first} {first}, {pair.second} {second}, {sure}{still}"


def _value_as_text(value: float) -> str:
    return format_significant(value) if math.isfinite(value) else "no value"
