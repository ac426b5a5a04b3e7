"""What a paper says of algorithms: their order, in its own unit, in the form that it states."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product

from pfbench.base.checks import check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error

CHARGED = (*COUNTED, "iteration", "seconds")
"""What a unit may count: columns of every trace."""

OWN_COUNTS = "ours"
"""The source of an order that no paper states."""


@dataclass(frozen=True)
class PublishedOrdering:
    """An order of algorithms that somebody has published, best first, to be put to the test.

    Attributes
    ----------
    source, location
        Where it is published, the paper and figure, and the section with the words; `OWN_COUNTS`,
        and what else begins so, if no paper states it.
    quotation
        The words, letter by letter; " … " stands where something is left out.
    order
        Names by place: labels of algorithms, or of `Study.forms`; those of one place are not
        compared with each other.
    measure
        What is compared, by its name in the trace.
    target
        The level of the measure to which calls are compared; None for values at equal calls.
    problems, settings
        Labels of the problems and titles of the settings that it speaks of; empty for all.
    stated_settings
        The words by which the paper states the form of the algorithms; empty if it states none.
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
        """Whether it is a paper's."""
        return re.match(rf"{OWN_COUNTS}\b", self.source) is None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each two names of which it puts one before the other."""
        locations = combinations(self.order, 2)
        return tuple(pair for ahead, behind in locations for pair in product(ahead, behind))

    @property
    def names(self) -> tuple[str, ...]:
        """All names in it."""
        return tuple(name for other_location in self.order for name in other_location)

    def is_about(self, problem: str, setting: str) -> bool:
        """Return whether it speaks of a problem, by its label, at a setting, by its title."""
        named = not self.problems or problem in self.problems
        return named and (not self.settings or setting in self.settings)


@dataclass(frozen=True)
class CostUnit:
    """What is counted beside our kinds of calls; orders that a paper states in it are judged first.

    Attributes
    ----------
    name
        As the paper calls it, e.g. "passes over the data".
    weights
        What it charges for a call of each kind, as in ``sfo=0.5,fo={half}``: columns of
        `CHARGED`, numbers or names in braces.
    exceptions
        The same of those algorithms, by label, that it counts in another way.
    quotation, location
        The words of the paper by which it is counted so, and where they stand: the section of the
        orders, as their `location` has it, or the figure that their `source` names.
    """

    name: str
    weights: str
    exceptions: Mapping[str, str] = field(default_factory=dict)
    quotation: str = ""
    location: str = ""

    def covers_ordering(self, ordering: PublishedOrdering) -> bool:
        """Return whether the paper states it for an order: in its section, or of its figure.

        Words that stand elsewhere are of other experiments, and so is a unit without words ours.
        """
        if not (self.quotation and self.location and ordering.is_published):
            return False
        of_figure = re.search(rf"\b{re.escape(self.location)}\b", ordering.source) is not None
        return self.location == ordering.location or of_figure

    def weights_text(self, label: str) -> str:
        """Return the weights of an algorithm."""
        return self.exceptions.get(label, self.weights)

    @property
    def single_trace_column(self) -> str:
        """The one column of a trace that it counts for every algorithm; empty if there is none."""
        columns = {
            part.partition("=")[0].strip()
            for weights in (self.weights, *self.exceptions.values())
            for part in weights.split(",")
        }
        return columns.pop() if len(columns) == 1 else ""


def unit_costs(location: str, weights: str) -> dict[str, float]:
    """Return what is charged for a call of each kind, of weights whose names are filled in.

    Raises
    ------
    InputError
        If a kind is unknown or twice there, or a weight is no number above 0.
    """
    reals: dict[str, float] = {}
    for part in weights.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in CHARGED:
            raise unknown_name_error(f"count in {location}", name, CHARGED)
        if name in reals:
            raise InputError(f"{location}: {name} is given twice.")
        try:
            reals[name] = check_real(f"{location}: {name}", float(number), above=0.0)
        except ValueError:
            raise InputError(
                f"{location}: {name}={number!r} must be a number above 0, as in sfo=0.5,fo=1000."
            ) from None
    return reals
