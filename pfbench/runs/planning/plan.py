"""Planned run: selectors, names and limits."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pfbench.base.checks import check_integer, check_real
from pfbench.base.counts import Budget
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, replace_file_by_module
from pfbench.base.selectors import list_user_code_names as own_in
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop

MOST_RUNS = 100_000
"""Maximum number of runs in a spec."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{0,300})?([eE][+-]?[0-9]{1,3})?")
_MOST_SHOWN = 6


@dataclass(frozen=True)
class PlannedRun:
    """Run defined by selectors.

    Attributes
    ----------
    problem, algorithm
        Selectors; either may be user-defined, ``MODULE:NAME[...]`` or ``FILE.py:NAME[...]``.
    seed
        The algorithm's seed.
    measures, every
        Recorded measures, and the number of iterations between rows; a measure may be
        ``MODULE:NAME``.
    budget, stop, time_limit
        As in `pfbench.solve` (oracle calls, a target by its name in the trace, seconds).
    memory_limit
        Bytes by which the run may increase the memory of its process; None for no limit.
    """

    problem: str
    algorithm: str
    seed: int
    measures: tuple[str, ...]
    every: int
    budget: Budget | None = None
    stop: Stop | None = None
    time_limit: float | None = None
    memory_limit: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the run as JSON, the input of `from_json`."""
        stop, budget = self.stop, self.budget
        return vars(self) | {
            "measures": list(self.measures),
            "budget": None if budget is None else budget.limits,
            "stop": None if stop is None else [stop.measure, stop.target],
        }

    @classmethod
    def from_json(cls, plan: Mapping[str, Any]) -> "PlannedRun":
        """Return the run that `as_json` wrote.

        Raises
        ------
        InputError
            If the mapping is not a planned run.
        """
        try:
            budget, stop = plan["budget"], plan["stop"]
            arguments = {field.name: plan[field.name] for field in fields(cls)} | {
                "measures": tuple(plan["measures"]),
                "budget": None if budget is None else Budget(**budget),
                "stop": None if stop is None else Stop(*stop),
            }
            for text in (plan["problem"], plan["algorithm"], *arguments["measures"]):
                if not isinstance(text, str):
                    raise TypeError(f"{text!r} is not a selector")
            planned_run = cls(**arguments)
            check_integer("every", planned_run.every, minimum=1)
            check_integer("seed", planned_run.seed, minimum=0)
            for name in ("time_limit", "memory_limit"):
                if arguments[name] is not None:
                    check_real(name, arguments[name], above=0.0)
            for text in (planned_run.problem, planned_run.algorithm, *planned_run.measures):
                Selector.parse(text)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the plan of a run is invalid ({type(error).__name__}: {error})."
            ) from error
        return planned_run

    @property
    def user_selectors(self) -> tuple[str, ...]:
        """Selectors MODULE:NAME of a user-defined problem, algorithm and measures."""
        named = (self.problem, self.algorithm, *self.measures)
        return tuple(text for text in named if list_user_code_names([text]))

    @property
    def user_code_name(self) -> str:
        """Name of the user-defined code of the run, with its algorithm; empty if there is none.

        A worker that has run user-defined code executes only runs of the same code.
        """
        target = [] if self.stop is None else [self.stop.measure]
        own = list_user_code_names([self.problem, self.algorithm, *self.measures, *target])
        return " ".join([self.algorithm.partition("[")[0], *own]) if own else ""


def list_user_code_names(selectors: Iterable[str]) -> list[str]:
    """Return the names MODULE:NAME and FILE.py:NAME in selectors, each once."""
    return list(dict.fromkeys(name for text in selectors for name in own_in(text)))


def describe_user_imports(selectors: Iterable[str]) -> list[str]:
    """Return a text for each MODULE:NAME that selectors import, with its parameters.

    If selectors differ in a parameter, the text has all its values, but of more than six numbers
    only the smallest and the largest.

    Raises
    ------
    InputError
        If a selector cannot be read.
    """
    arguments: dict[str, dict[str, dict[str, None]]] = {}
    for text in dict.fromkeys(selectors):
        selector = Selector.parse(text)
        for own in own_in(text):
            parameters = arguments.setdefault(own, {})
            for name, value in selector.texts.items() if own == selector.name else ():
                parameters.setdefault(name, {})[value] = None
    return [
        f"{name}[{','.join(f'{key}={_join_and_abbreviate_values(list(values))}' for key, values in argument.items())}]"  # noqa: E501
        if argument
        else name
        for name, argument in arguments.items()
    ]


def _join_and_abbreviate_values(values: Sequence[str]) -> str:
    """Return the values of a parameter as one text; only numbers may be abbreviated."""
    texts = [value for value in values if not _NUMBER.fullmatch(value)]
    numbers = sorted((value for value in values if _NUMBER.fullmatch(value)), key=float)
    if len(numbers) > _MOST_SHOWN:
        numbers = [f"{numbers[0]} to {numbers[-1]} ({len(numbers):,} numbers)"]
    return " or ".join([*texts, *numbers])


def check_run_count(location: str, factors: Mapping[str, int]) -> int:
    """Return the number of runs of a product, before any of them is created.

    Parameters
    ----------
    location
        Location in the spec, for the message.
    factors
        Sizes of the factors of the product, by their names in the plural.

    Raises
    ------
    InputError
        If there are more than `MOST_RUNS`.
    """
    number = math.prod(factors.values())
    if number > MOST_RUNS:
        product = " x ".join(f"{many:,} {name}" for name, many in factors.items())
        raise InputError(
            f"{location} plans {number:,} runs ({product}), at most {MOST_RUNS:,} are allowed: split it."  # noqa: E501
        )
    return number


def portable_identity(source: PlannedRun | Run) -> tuple[str, str, int]:
    """Return problem, algorithm and seed, independent of the folders of their files."""
    problem, algorithm = map(replace_file_by_module, (source.problem, source.algorithm))
    return problem, algorithm, source.seed
