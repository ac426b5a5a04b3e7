"""Tuning: the values that each method tries, as many for all, and what is chosen of them.

A method is tuned to each target that it is judged at, out of the same trials: a trial's trace tells
when it reached each of them. Where what is chosen lies at an end of a grid, the grid goes on beyond
it once, by the same rule for every method; what lies at an end then is said to.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import Any

from pfbench.base.relative import is_constant_formula
from pfbench.runs.loop.stop import Stop

Values = Mapping[str, Any]
"""Values of the names in braces of a selector."""

TUNED = ", tuned"
"""Stands behind the label of a tuned method."""


@dataclass(frozen=True)
class TunedMethod:
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
        return make_tuned_label(self.label)

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return prod(map(len, self.grid.values()))

    def grid_points(self, trials: int) -> list[dict[str, Any]]:
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
        return [every[index] for index in sorted(k * step % len(every) for k in range(trials))]


@dataclass(frozen=True)
class TuningPlan:
    """How the methods of a study are tuned, on each problem at each setting.

    Attributes
    ----------
    methods
        What is tuned.
    trials
        How many points each method tries.
    seeds
        The seeds of the search; none of them is one of the study.
    targets
        What is tuned for, hardest last: to each of these the fewest expected calls decide.
    count
        The kind of calls that are counted.
    extends_grid
        Whether a list goes on beyond an end at which a choice lies.
    """

    methods: tuple[TunedMethod, ...]
    trials: int
    seeds: tuple[int, ...]
    targets: tuple[Stop, ...]
    count: str
    extends_grid: bool = True

    def target_index(self, target: Stop | None) -> int:
        """Return for which of its targets a method is tuned that is judged at a target.

        It is that target, or else the hardest.
        """
        stops = self.targets
        return stops.index(target) if target in stops else len(stops) - 1


@dataclass(frozen=True)
class TuningTrial:
    """What became of one point of a grid.

    Attributes
    ----------
    values
        The point.
    hits
        How many runs reached each target.
    expected_calls
        The expected calls to each, infinite without a hit.
    last_values
        The median of the last values of the measure of each; infinite where there is none.
    total_calls
        The calls of all its runs.
    """

    values: Values
    hits: tuple[int, ...]
    expected_calls: tuple[float, ...]
    last_values: tuple[float, ...]
    total_calls: int = 0

    def sort_key(self, index: int) -> tuple[float, float]:
        """Return what decides: calls to a target, and where nobody reaches it, the last value."""
        return self.expected_calls[index], self.last_values[index]


@dataclass(frozen=True)
class TuningChoice:
    """What was chosen for one method on one problem at one setting.

    Attributes
    ----------
    problem, selector
        The selector of the problem, and that of the method with its free parameters in braces.
    setting
        The values of the setting.
    trials
        All that were made, in the order of the grid; last those beyond its ends.
    points_beyond
        The points beyond the ends of the grid, which are tried, too.
    """

    problem: str
    selector: str
    setting: Values
    trials: tuple[TuningTrial, ...] = field(default=())
    points_beyond: tuple[Values, ...] = field(default=())

    def best_trial(self, index: int = -1) -> TuningTrial:
        """Return the trial of the fewest calls to a target; of equal ones, the first."""
        return min(self.trials, key=lambda trial: trial.sort_key(index))

    def parameters_at_ends(self, index: int = -1) -> tuple[str, ...]:
        """Return the parameters of which the best value lies at an end of what was tried."""
        return tuple(self._values_beyond_ends(index))

    def points_beyond_ends(self) -> list[Values]:
        """Return the points beyond the ends of the grid at which something chosen lies.

        Each is one that was chosen, but for one parameter, which is one step further.
        """
        tried = [trial.values for trial in self.trials]
        results = [
            {**self.best_trial(index).values, name: value}
            for index in range(len(self.trials[0].hits))
            for name, value in self._values_beyond_ends(index).items()
        ]
        new = [point for index, point in enumerate(results) if point not in results[:index]]
        return [point for point in new if point not in tried]

    def _values_beyond_ends(self, index: int) -> dict[str, int | float | str]:
        """Return of each parameter whose best value lies at an end the value beyond it.

        Where another value does as well, nothing points beyond.
        """
        excesses, best = {}, self.best_trial(index)
        alike = [trial for trial in self.trials if trial.sort_key(index) == best.sort_key(index)]
        for name, value in best.values.items():
            excess = value_beyond_end([trial.values[name] for trial in self.trials], value)
            if excess is not None and all(trial.values[name] == value for trial in alike):
                excesses[name] = excess
        return excesses

    @property
    def key(self) -> tuple[str, ...]:
        """By what a study finds it."""
        return choice_key(self.problem, self.selector, self.setting)


def choice_key(problem: str, selector: str, setting: Values) -> tuple[str, ...]:
    """Return by what a choice is found."""
    return problem, selector, *(f"{name}={value!r}" for name, value in setting.items())


def make_tuned_label(label: str) -> str:
    """Return what a tuned method is called beside the same one as it was published."""
    return f"{label}{TUNED}"


def value_beyond_end(tried: Sequence[Any], value: Any) -> int | float | str | None:
    """Return the number beyond an end of those tried at which a value lies; None if it does not.

    It continues them: 0.3 comes after 0.01, 0.03 and 0.1, and 512 after 8 and 64. What is whole
    stays whole and at least 1; multiples of a constant, as 10/L and 1/L, go on as such. A grid of a
    single value, of zero, of other texts or of switches has no ends.
    """
    units = {_constant_of_multiple(item) for item in tried if isinstance(item, str)}
    if len(units) == 1 and all(isinstance(item, str) for item in tried) and units != {""}:
        (unit,) = units
        multiples = [float(item.removesuffix(unit)) for item in tried]
        further = value_beyond_end(multiples, float(value.removesuffix(unit)))
        return None if further is None else f"{further:g}{unit}"
    numbers = sorted({item for item in tried if isinstance(item, int | float)})
    if len(numbers) < 2 or any(isinstance(item, bool | str) for item in tried) or numbers[0] <= 0:
        return None
    if value == numbers[-1]:
        numbers = numbers[-3:]
    elif value == numbers[0]:
        numbers = numbers[2::-1]
    else:
        return None
    # Of three, by the step before the last: grids as 0.01, 0.03, 0.1 are even in pairs.
    further = numbers[1] * numbers[-1] / numbers[0]
    if not all(isinstance(number, int) for number in numbers):
        return float(f"{further:.2g}") if math.isfinite(further) and further > 0 else None
    return round(further) if further >= 1 and round(further) != value else None


def _constant_of_multiple(text: str) -> str:
    """Return the constant of a multiple of one, with its sign, as in /L of 3/L; empty if none.

    A root of constants counts as one, as in 0.1*sqrt(2*delta/L_norm).
    """
    match = re.fullmatch(r"[0-9]+(?:\.[0-9]*)?([*/](?:sqrt\([^()]*\)|[A-Za-z]\w*))", text)
    return match[1] if match and is_constant_formula(text) else ""
