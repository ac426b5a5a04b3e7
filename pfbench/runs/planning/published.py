"""What a paper says of algorithms: their order, in its own unit, in the form that it states."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product

from pfbench.base.checks import real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.names import unknown

CHARGED = (*COUNTED, "iteration", "seconds")
"""What a unit may count: columns of every trace."""

OURS = "ours"
"""The source of an order that no paper states."""


@dataclass(frozen=True)
class Ordering:
    """An order of algorithms that somebody has published, best first, to be put to the test.

    Attributes
    ----------
    source, place
        Where it is published, the paper and figure, and the section with the words; `OURS`, and
        what else begins so, if no paper states it.
    says
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
    states
        The words by which the paper states the form of the algorithms; empty if it states none.
    """

    source: str
    says: str
    order: tuple[tuple[str, ...], ...]
    measure: str = ""
    target: float | None = None
    problems: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    place: str = ""
    states: str = ""

    @property
    def published(self) -> bool:
        """Whether it is a paper's."""
        return re.match(rf"{OURS}\b", self.source) is None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each two names of which it puts one before the other."""
        places = combinations(self.order, 2)
        return tuple(pair for ahead, behind in places for pair in product(ahead, behind))

    @property
    def names(self) -> tuple[str, ...]:
        """All names in it."""
        return tuple(name for place in self.order for name in place)

    def speaks_of(self, problem: str, setting: str) -> bool:
        """Return whether it speaks of a problem, by its label, at a setting, by its title."""
        named = not self.problems or problem in self.problems
        return named and (not self.settings or setting in self.settings)


@dataclass(frozen=True)
class Unit:
    """What is counted beside our kinds of calls; orders that a paper states in it are judged first.

    Attributes
    ----------
    name
        As the paper calls it, e.g. "passes over the data".
    weights
        What it charges for a call of each kind, as in ``sfo=0.5,fo={half}``: columns of
        `CHARGED`, numbers or names in braces.
    otherwise
        The same of those algorithms, by label, that it counts in another way.
    says, place
        The words of the paper by which it is counted so, and where they stand: the section of the
        orders, as their `place` has it, or the figure that their `source` names.
    """

    name: str
    weights: str
    otherwise: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    place: str = ""

    def is_stated_for(self, ordering: Ordering) -> bool:
        """Return whether the paper states it for an order: in its section, or of its figure.

        Words that stand elsewhere are of other experiments, and so is a unit without words ours.
        """
        if not (self.says and self.place and ordering.published):
            return False
        of_figure = re.search(rf"\b{re.escape(self.place)}\b", ordering.source) is not None
        return self.place == ordering.place or of_figure

    def of(self, label: str) -> str:
        """Return the weights of an algorithm."""
        return self.otherwise.get(label, self.weights)

    @property
    def column(self) -> str:
        """The one column of a trace that it counts for every algorithm; empty if there is none."""
        columns = {
            part.partition("=")[0].strip()
            for weights in (self.weights, *self.otherwise.values())
            for part in weights.split(",")
        }
        return columns.pop() if len(columns) == 1 else ""


def charges(where: str, weights: str) -> dict[str, float]:
    """Return what is charged for a call of each kind, of weights whose names are filled in.

    Raises
    ------
    InputError
        If a kind is unknown or twice there, or a weight is no number above 0.
    """
    found: dict[str, float] = {}
    for part in weights.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in CHARGED:
            raise unknown(f"count in {where}", name, CHARGED)
        if name in found:
            raise InputError(f"{where}: {name} is given twice.")
        try:
            found[name] = real(f"{where}: {name}", float(number), above=0.0)
        except ValueError:
            raise InputError(
                f"{where}: {name}={number!r} must be a number above 0, as in sfo=0.5,fo=1000."
            ) from None
    return found
