"""Built-in algorithms by name, and functions that select an algorithm and its parameters."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType, ModuleType
from typing import Any

from pfbench.algorithms import (
    accelerated,
    active_set,
    frank_wolfe,
    lan_sliding,
    local_lmo,
    loopless,
    loopless_frank_wolfe,
    natasha,
    nfwu,
    norm_ball_methods,
    primal_dual,
    proximal,
    sliding,
    spider,
    stochastic_frank_wolfe,
)
from pfbench.algorithms.base import Algorithm
from pfbench.base.checks import check_choice, check_real
from pfbench.base.constants import Constants, evaluate_formulas
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.base.parameters import (
    Parameter,
    check_parameter_names,
    check_values_for_text_parameters,
    string_parameter_names,
)
from pfbench.base.selectors import Selector

SCHEDULES = ("theory", "practical", "explicit")

_FAMILIES = (
    *(frank_wolfe, stochastic_frank_wolfe, nfwu, sliding, proximal, spider, accelerated, natasha),
    *(loopless, loopless_frank_wolfe, active_set, lan_sliding, primal_dual, local_lmo),
    norm_ball_methods,
)
"""Modules with algorithms; in them, each class that states a `name` is an algorithm."""


def _is_algorithm(item: Any, family: ModuleType) -> bool:
    """Return whether an object of a module is an algorithm that states its name."""
    is_defined_there = isinstance(item, type) and item.__module__ == family.__name__
    return is_defined_there and getattr(item, "name", item.__name__) != item.__name__


ALGORITHMS: Mapping[str, type[Algorithm]] = MappingProxyType(
    {
        method.name: method
        for family in _FAMILIES
        for method in vars(family).values()
        if _is_algorithm(method, family)
    }
)
"""Class of each algorithm, by name."""


@dataclass(frozen=True)
class AlgorithmChoice:
    """Name of an algorithm with explicit parameters; `resolve` creates the algorithm."""

    name: str
    parameters: Mapping[str, Any]
    algorithm_class: type[Algorithm]

    def __repr__(self) -> str:
        """Return the text of the call of `pfbench.algorithm` that creates this choice."""
        return f"algorithm({self.selector!r})"

    @property
    def selector(self) -> str:
        """Choice as a text NAME[key=value,...], which the command line accepts."""
        return str(Selector(self.name, self.parameters))

    @property
    def schedule(self) -> str:
        """Name of the requested schedule: theory, practical or explicit."""
        if self.parameters.get("epsilon") is None or self._overridden_parameters:
            return "explicit"
        return str(self.parameters.get("schedule") or "theory")

    @property
    def assumes(self) -> frozenset[str]:
        """Names of the assumptions of the algorithm's theorem; they are keys of `ASSUMPTIONS`."""
        return self.algorithm_class.assumes

    @property
    def _overridden_parameters(self) -> set[str]:
        """Names of the given parameters that a schedule would otherwise set."""
        return set(self.algorithm_class.schedule_parameters & set(self.parameters))

    def resolve(self, constants: Constants) -> tuple[Algorithm, str]:
        """Return the algorithm with all its parameters, and the name of its schedule.

        A parameter may be a formula, such as ``step=3/L``, which is evaluated with these problem
        constants.

        Raises
        ------
        InputError
            If a parameter is missing or out of range.
        RefusedError
            If the theorem's schedule, or a formula, is not defined for these constants.
        """
        cls = self.algorithm_class
        relative = evaluate_formulas(
            constants, self.parameters, string_parameter_names(cls.parameters()), self.name
        )
        epsilon, schedule = relative.pop("epsilon", None), relative.pop("schedule", None)
        if schedule in ("theory", "practical") and epsilon is None:
            raise InputError(f"schedule={schedule} of {self.name} needs epsilon.")
        if epsilon is None:
            return cls.explicit(constants, **relative), self.schedule
        replaced = self._overridden_parameters
        if schedule == "theory" and replaced:
            raise InputError(
                f"schedule=theory of {self.name} sets {', '.join(sorted(replaced))} itself: "
                "leave out schedule or these parameters."
            )
        if schedule == "explicit" and not replaced:
            raise InputError(
                f"schedule=explicit of {self.name} takes no epsilon: leave out schedule or epsilon."
            )
        practical = cls.practical if schedule == "practical" else cls.theory
        try:
            algorithm = practical(check_real("epsilon", epsilon, above=0.0), constants, **relative)
        except (OverflowError, ZeroDivisionError) as error:
            if math.isinf(constants.n):
                with suppress(OverflowError, ZeroDivisionError):
                    practical(epsilon, replace(constants, n=1), **relative)
                    constants.require("n", f"the schedule of {self.name}")
            raise InputError(
                f"the schedule of {self.name} has no finite values for epsilon={epsilon} and the "
                "problem's constants: give a larger epsilon, or explicit parameters without it."
            ) from error
        return algorithm, self.schedule


_OF_SCHEDULES: Mapping[str, Parameter] = MappingProxyType(
    {
        "epsilon": Parameter("accuracy for which the schedule is made", "none"),
        "schedule": Parameter("theory, practical or explicit", "theory with epsilon", text=True),
    }
)
"""Parameters that every algorithm has in addition to its fields."""


def select_algorithm(selector: Selector) -> AlgorithmChoice:
    """Return the built-in algorithm and the parameters that a selector names.

    See `algorithm`.
    """
    return select_user_algorithm(find_entry("algorithm", selector.name, ALGORITHMS), selector)


def algorithm(name: str, **parameters: Any) -> AlgorithmChoice:
    """Choose an algorithm by name; ``pfbench info NAME`` lists its parameters.

    If `epsilon` is given, the theorem's schedule sets the parameters; explicit parameters replace
    those of the schedule.

    Parameters
    ----------
    name
        Name of the algorithm, such as ``"frank-wolfe"``. It may have parameters in brackets, as in
        ``"frank-wolfe[iterations=100]"``.
    parameters
        Parameters by name.

    Raises
    ------
    InputError
        If the name or a parameter is unknown (the nearest is suggested).
    """
    if isinstance(name, str) and "[" in name:
        return select_algorithm(Selector.parse(name).with_parameters(parameters))
    return _select(name, find_entry("algorithm", name, ALGORITHMS), parameters)


def select_user_algorithm(cls: type[Algorithm], selector: Selector) -> AlgorithmChoice:
    """Return a user-defined algorithm class as a choice, with the parameters of a selector.

    See `algorithm`.
    """
    parameters = {**cls.parameters(), **_OF_SCHEDULES}
    return _select(
        selector.name, cls, selector.parameter_values(string_parameter_names(parameters))
    )


def _select(name: str, cls: type[Algorithm], parameters: Mapping[str, Any]) -> AlgorithmChoice:
    existing = {**cls.parameters(), **_OF_SCHEDULES}
    check_parameter_names(name, parameters, existing)
    check_values_for_text_parameters(parameters, existing)
    if "schedule" in parameters:
        check_choice("schedule", parameters["schedule"], SCHEDULES)
    return AlgorithmChoice(name, MappingProxyType(dict(parameters)), cls)
