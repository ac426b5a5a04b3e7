"""Tuning of methods on grids of parameters, with the same number of trials for each method.

Parameters are chosen separately for each target at which a method is judged: those with the
smallest ERT in component gradients. All choices use the same trials, because the trace of a trial
shows when it reached each target. If a choice lies at the edge of a grid, the grid is extended
once, by the same rule for every method. A choice that still lies at an edge is named in the
results.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import Any

from pfbench.base.constants import is_formula_in_constants
from pfbench.runs.loop.run import Stop

Values = Mapping[str, Any]
"""Values of the names in braces of a selector."""

TUNED = ", tuned"
"""Suffix of the label of a tuned method."""


@dataclass(frozen=True)
class StudySetting:
    """Setting of a study: the values that replace names in braces in the spec, and a title.

    The title may be empty if the study has a single setting.
    """

    title: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class TunedMethod:
    """Method to be tuned, with its label, its selector and its grid of parameters.

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
        """Label of the method after tuning."""
        return make_tuned_label(self.label)

    @property
    def size(self) -> int:
        """Number of points of the grid."""
        return prod(map(len, self.grid.values()))

    def grid_points(self, trials: int) -> list[dict[str, Any]]:
        """Return the grid points to try, in grid order: the last parameter varies fastest.

        If the grid has more points than `trials`, the points are spread over the whole grid, in
        steps of about 0.618 of its length.
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
    """Tuning of the methods of a study, on each problem at each setting.

    Attributes
    ----------
    methods
        The tuned methods.
    trials
        Number of points that each method tries.
    seeds
        The seeds of the search, disjoint from those of the study.
    target
        The only target to tune for; None for each target of the study.
    """

    methods: tuple[TunedMethod, ...]
    trials: int
    seeds: tuple[int, ...]
    target: Stop | None = None


@dataclass(frozen=True)
class TuningTrial:
    """Results of the runs with the parameters of one grid point.

    Attributes
    ----------
    values
        Values of the parameters at the grid point, by name.
    hits
        Number of runs that reached each target.
    expected_calls
        Expected calls to each target; infinite if no run reached the target.
    last_values
        Median of the last values of each target's measure; infinite without values.
    total_calls
        Calls of all runs together.
    """

    values: Values
    hits: tuple[int, ...]
    expected_calls: tuple[float, ...]
    last_values: tuple[float, ...]
    total_calls: int = 0

    def sort_key(self, target_index: int) -> tuple[float, float]:
        """Return the sort key of a trial: expected calls to reach a target, then the last value."""
        return self.expected_calls[target_index], self.last_values[target_index]


@dataclass(frozen=True)
class TuningChoice:
    """Chosen parameters of one method on one problem at one setting.

    Attributes
    ----------
    problem_selector, method_selector
        The selectors; that of the method has its free parameters in braces.
    setting_values
        The values of the setting.
    trials
        All trials, in the order of the grid; those beyond its edges last.
    points_beyond
        Points beyond the edges of the grid that are tried in addition.
    """

    problem_selector: str
    method_selector: str
    setting_values: Values
    trials: tuple[TuningTrial, ...] = field(default=())
    points_beyond: tuple[Values, ...] = field(default=())

    def best_trial(self, target_index: int = -1) -> TuningTrial:
        """Return the trial with the fewest expected calls to reach a target; the first of ties."""
        return min(self.trials, key=lambda trial: trial.sort_key(target_index))

    def parameters_at_ends(self, target_index: int = -1) -> tuple[str, ...]:
        """Return the names of parameters whose best value lies at an edge of the tried values."""
        return tuple(self._values_beyond_ends(target_index))

    def points_beyond_ends(self) -> list[Values]:
        """Return untried points next to the best points, beyond the edges of the grid.

        Each point is a best point with one parameter moved one step beyond its edge.
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
        """Return the next value for each parameter whose best value is at an edge of its grid.

        A parameter is left out if another of its values is equally good.
        """
        excesses, best = {}, self.best_trial(index)
        alike = [trial for trial in self.trials if trial.sort_key(index) == best.sort_key(index)]
        for name, value in best.values.items():
            excess = value_beyond_end([trial.values[name] for trial in self.trials], value)
            if excess is not None and all(trial.values[name] == value for trial in alike):
                excesses[name] = excess
        return excesses

    @property
    def key_without_target(self) -> tuple[str, ...]:
        """Key by which a study looks up the choice."""
        return choice_key(self.problem_selector, self.method_selector, self.setting_values)


def choice_key(problem: str, selector: str, setting: Values) -> tuple[str, ...]:
    """Return the key of the tuning choice for a problem, a method and a setting."""
    return problem, selector, *(f"{name}={value!r}" for name, value in setting.items())


def make_tuned_label(label: str) -> str:
    """Return the label of the tuned variant of a method, given the label of the method."""
    return f"{label}{TUNED}"


def value_beyond_end(tried: Sequence[Any], value: Any) -> int | float | str | None:
    """Return the next value beyond the edge of a grid if a value lies at the edge; else None.

    The next value continues the sequence: 0.3 comes after 0.01, 0.03 and 0.1, and 512 after 8 and
    64. Integers remain integers and at least 1. Multiples of a constant, as 10/L and 1/L, remain
    multiples of it. A grid of a single value, of zero, of other texts or of flags has no edges.
    """
    units = {_text_after_number(item) for item in tried if isinstance(item, str)}
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


def _text_after_number(text: str) -> str:
    """Return the part after the number in a multiple of a constant, e.g. "/L" for "3/L".

    A root of constants counts as a constant, as in 0.1*sqrt(2*delta/L_norm). The result is "" for
    any other text.
    """
    match = re.fullmatch(r"[0-9]+(?:\.[0-9]*)?([*/](?:sqrt\([^()]*\)|[A-Za-z]\w*))", text)
    return match[1] if match and is_formula_in_constants(text) else ""
