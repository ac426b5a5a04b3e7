"""Published rankings of algorithms, and the cost units of their papers, as a spec states them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from pfbench.base.checks import check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.runs.loop.run import trace_name
from pfbench.runs.planning.spec_fields import (
    Reader,
    parse_any_text,
    parse_each_table,
    parse_table,
    parse_text,
    parse_texts,
)
from pfbench.runs.planning.spec_text import abbreviate

CHARGED = (*COUNTED, "iteration", "seconds")
"""Quantities that a cost unit may count: columns of every trace."""

OWN_COUNTS = "ours"
"""Source that a spec gives for a ranking that no paper states."""


@dataclass(frozen=True)
class PublishedOrdering:
    """Published ranking of algorithms, best first, which a comparison tests.

    Attributes
    ----------
    source, location
        Paper and figure, and the section of the quotation; the source begins with `OWN_COUNTS` if
        no paper states it.
    quotation
        The literal quotation; " … " marks omissions.
    order
        Names by rank: labels of algorithms, or of `Study.forms`; names of one rank are not
        compared with each other.
    measure
        The compared measure, by its name in the trace.
    target
        The level of the measure to which calls are compared; None for values at equal calls.
    problems, settings
        Labels of the problems and titles of the settings that the ranking is about; empty for all.
    stated_settings
        Quotation that states the form of the algorithms; empty if there is none.
    """

    source: str
    quotation: str
    order: tuple[tuple[str, ...], ...]
    measure: str = ""
    target: float | None = None
    problems: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    location: str = ""
    stated_settings: str = ""

    @property
    def is_published(self) -> bool:
        """Whether a paper states the ranking."""
        return re.match(rf"{OWN_COUNTS}\b", self.source) is None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of algorithm names; the first name of a pair ranks before the second."""
        locations = combinations(self.order, 2)
        return tuple(pair for ahead, behind in locations for pair in product(ahead, behind))

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the ranking."""
        return tuple(name for other_location in self.order for name in other_location)

    def is_about(self, problem: str, setting: str) -> bool:
        """Return whether the ranking is about a problem (by label) at a setting (by title)."""
        named = not self.problems or problem in self.problems
        return named and (not self.settings or setting in self.settings)


@dataclass(frozen=True)
class CostUnit:
    """Unit in which a paper counts costs, e.g. passes over the data, to test the paper's rankings.

    Attributes
    ----------
    name
        The paper's name of the unit, e.g. "passes over the data".
    weights
        Weights of the kinds of calls, as in ``sfo=0.5,fo={half}``: columns of
        `CHARGED`, numbers or names in braces.
    exceptions
        Weights for the algorithms, by label, that the paper counts otherwise.
    quotation, location
        The paper's quotation on the unit, and its location: the section of the rankings, as in
        their `location`, or the figure in their `source`.
    """

    name: str
    weights: str
    exceptions: Mapping[str, str] = field(default_factory=dict)
    quotation: str = ""
    location: str = ""

    def has_unit_statement(self, ordering: PublishedOrdering) -> bool:
        """Return whether the paper states the unit in the section or figure of a ranking.

        A quotation from another location is about another experiment. A unit without quotation is
        pfbench's.
        """
        if not (self.quotation and self.location and ordering.is_published):
            return False
        of_figure = re.search(rf"\b{re.escape(self.location)}\b", ordering.source) is not None
        return self.location == ordering.location or of_figure

    def algorithm_weights_text(self, label: str) -> str:
        """Return the weights of the oracle calls of an algorithm as text, given its label."""
        return self.exceptions.get(label, self.weights)

    @property
    def single_trace_column(self) -> str:
        """Trace column of the oracle kind that the unit counts; empty for several kinds."""
        columns = {
            part.partition("=")[0].strip()
            for weights in (self.weights, *self.exceptions.values())
            for part in weights.split(",")
        }
        return columns.pop() if len(columns) == 1 else ""


def parse_unit_costs(
    location: str, weights: str, names: Collection[str] = CHARGED
) -> dict[str, float]:
    """Return the cost of a call of each oracle kind, from a text such as ``sfo=0.5,fo=1000``.

    `names` has the quantities that may have a cost.

    Raises
    ------
    InputError
        If a kind is unknown or repeated, or a weight is not a number above 0.
    """
    reals: dict[str, float] = {}
    for part in weights.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in names:
            raise unknown_name_error(f"count in {location}", name, names)
        if name in reals:
            raise InputError(f"{location}: {name} is given twice: give it once.")
        try:
            reals[name] = check_real(f"{location}: {name}", float(number), above=0.0)
        except ValueError:
            raise InputError(
                f"{location}: {name}={number!r} must be a number above 0, as in sfo=0.5,fo=1000."
            ) from None
    return reals


def parse_orderings(field: str, value: Any) -> tuple[PublishedOrdering, ...]:
    """Return the rankings in a spec's field, without checking that their names are in the study."""
    readers: dict[str, Reader[Any]] = {
        "source": parse_text,
        "order": _parse_ranked_labels,
        "says": parse_any_text,
        "place": parse_any_text,
        "states": parse_any_text,
        "measure": lambda field, value: trace_name(parse_any_text(field, value)),
        "target": check_real,
        "problems": parse_texts,
        "settings": parse_texts,
    }
    tables = parse_each_table(field, value, readers, ("source", "order"))
    return tuple(
        PublishedOrdering(**{"quotation": ""} | _map_to_attributes(table)) for table in tables
    )


_ATTRIBUTES = {
    "says": "quotation",
    "place": "location",
    "states": "stated_settings",
    "otherwise": "exceptions",
}
"""Attributes of rankings and cost units whose name is not that of their field."""


def _map_to_attributes(table: Mapping[str, Any]) -> dict[str, Any]:
    return {_ATTRIBUTES.get(name, name): value for name, value in table.items()}


def parse_variant_labels(field: str, value: Any) -> Mapping[str, tuple[str, ...]]:
    """Return a dict from each method to the labels of its variants, which may be unknown."""
    labels = parse_table(field, value, "a table of label lists by method")
    forms = {name: parse_texts(f"{field}.{name}", source) for name, source in labels.items()}
    for name, form in forms.items():
        if not form or len(set(form)) < len(form):
            raise InputError(f"{field}.{name} must list labels of algorithms, each once.")
    return forms


def parse_units(field: str, value: Any) -> tuple[CostUnit, ...]:
    """Return the cost units in a field, in the order of the spec."""
    readers: dict[str, Reader[Any]] = {
        "name": parse_text,
        "weights": parse_text,
        "otherwise": _parse_exceptions,
        "says": parse_any_text,
        "place": parse_any_text,
    }
    tables = parse_each_table(field, value, readers, ("name", "weights"))
    return tuple(CostUnit(**_map_to_attributes(table)) for table in tables)


def _parse_exceptions(field: str, value: Any) -> Mapping[str, str]:
    table = parse_table(field, value, "a table from labels to weights")
    return {label: parse_text(f"{field}.{label}", weights) for label, weights in table.items()}


def _parse_ranked_labels(field: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each rank, from a list that has a label or a list of labels per rank."""
    if not isinstance(value, list) or len(value) < 2:
        raise InputError(
            f"{field} = {abbreviate(value)} must list two labels or more, the best first; write "
            "labels of equal rank as a list."
        )
    ranks = tuple(parse_texts(f"{field}[{k}]", item) for k, item in enumerate(value))
    labels = [label for rank in ranks for label in rank]
    if not all(ranks) or len(set(labels)) < len(labels):
        raise InputError(
            f"{field} = {abbreviate(value)} must have each label once, and no empty rank."
        )
    return ranks
