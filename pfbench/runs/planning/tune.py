"""Tuning: the values that each method tries, as many for all, and what is chosen of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import gcd, prod
from typing import Any

from pfbench.base.visible import visible
from pfbench.runs.loop.stop import Stop

Values = Mapping[str, Any]
"""Values of the names in braces of a selector."""


@dataclass(frozen=True)
class Tuned:
    """A method to be tuned.

    Attributes
    ----------
    label
        Its name in figures.
    selector
        Its selector, with the free parameters in braces.
    grid
        The values of each free parameter.
    """

    label: str
    selector: str
    grid: Mapping[str, Sequence[Any]]

    @property
    def tuned_label(self) -> str:
        """What it is called once it is tuned."""
        return tuned_label(self.label)

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return prod(map(len, self.grid.values()))

    def points(self, trials: int) -> list[dict[str, Any]]:
        """Return the points of the grid that are tried, in its order (the last name runs fastest).

        Of a larger grid these are spread over all of it: each is the golden section of its length
        after the one before.
        """
        every = [
            dict(zip(self.grid, chosen, strict=True)) for chosen in product(*self.grid.values())
        ]
        if trials >= len(every):
            return every
        step = round(len(every) * 0.6180339887)
        while gcd(step, len(every)) > 1:
            step += 1
        return [every[at] for at in sorted(k * step % len(every) for k in range(trials))]


@dataclass(frozen=True)
class Tune:
    """How the methods of a study are tuned, on each problem at each setting.

    Attributes
    ----------
    methods
        What is tuned.
    trials
        How many points each method tries.
    seeds
        The seeds of the search; none of them is one of the study.
    target
        What a trial is to reach: the fewest expected calls decide.
    count
        The kind of calls that are counted.
    """

    methods: tuple[Tuned, ...]
    trials: int
    seeds: tuple[int, ...]
    target: Stop
    count: str

    def printable(self) -> "Tune":
        """Return the same with labels of which nothing acts."""
        methods = (replace(one, label=visible(one.label)) for one in self.methods)
        return replace(self, methods=tuple(methods))


@dataclass(frozen=True)
class Trial:
    """What became of one point of a grid.

    Attributes
    ----------
    values
        The point.
    hits
        How many runs reached the target.
    expected
        The expected calls to it, infinite without a hit.
    last
        The median of the last values of the target's measure; infinite where there is none.
    """

    values: Values
    hits: int
    expected: float
    last: float

    @property
    def score(self) -> tuple[float, float]:
        """What decides: calls to the target, and where nobody reaches it, the last value."""
        return self.expected, self.last


@dataclass(frozen=True)
class Choice:
    """What was chosen for one method on one problem at one setting.

    Attributes
    ----------
    problem, selector
        The selector of the problem, and that of the method with its free parameters in braces.
    setting
        The values of the setting.
    trials
        All that were made, in the order of the grid.
    """

    problem: str
    selector: str
    setting: Values
    trials: tuple[Trial, ...] = field(default=())

    @property
    def best(self) -> Trial:
        """The trial of the fewest calls; of equal ones, the first of the grid."""
        return min(self.trials, key=lambda trial: trial.score)

    @property
    def key(self) -> tuple[str, ...]:
        """By what a study finds it."""
        return key_of(self.problem, self.selector, self.setting)


def key_of(problem: str, selector: str, setting: Values) -> tuple[str, ...]:
    """Return by what a choice is found."""
    return problem, selector, *(f"{name}={value!r}" for name, value in setting.items())


def tuned_label(label: str) -> str:
    """Return what a tuned method is called beside the same one as it was published."""
    return f"{label}, tuned"
