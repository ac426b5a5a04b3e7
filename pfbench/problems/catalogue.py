"""Catalogue of problems, with their parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from pfbench.base.checks import check_text
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.base.parameters import (
    Parameter,
    check_parameter_names,
    check_values_for_text_parameters,
    collect_declared_parameters,
    merge_parameters,
    string_parameter_names,
)
from pfbench.base.selectors import USER_PARTS, Selector
from pfbench.problems import families, noise_families
from pfbench.problems.base import FiniteSum
from pfbench.problems.family import AnySetFamily, ProblemFamily
from pfbench.sets.catalogue import PENALTIES, SETS, find_class

_TOO_LARGE = ("Maximum allowed dimension", "array is too big")
"""Starts of NumPy's messages about arrays with too many entries."""


@dataclass(frozen=True)
class ProblemEntry:
    """Catalogue entry of a family of problems, which builds problems from parameter values."""

    family: type[ProblemFamily]

    @property
    def name(self) -> str:
        """Name of the problem in selectors."""
        return self.family.problem.name

    @property
    def summary(self) -> str:
        """One-line description of the problem."""
        return self.family.summary

    @property
    def source(self) -> str:
        """Literature reference for the problem."""
        return self.family.problem.source

    @property
    def data_source_names(self) -> tuple[str, ...]:
        """Names of the data sources that the problem can use."""
        return tuple(self.family.sources)

    @property
    def only_set(self) -> str:
        """Name of the problem's only feasible set; empty if the user can choose the set."""
        return "" if self.family.points else self.family.only_set

    def accepts_every(self, kind: str, points: str) -> bool:
        """Return whether the problem accepts every set (or penalty) for points of a given kind.

        `kind` is "set" or "penalty"; `points` is a kind of points, such as "vectors".
        """
        return kind in collect_declared_parameters(self.family) and points.endswith(
            (self.family.points, "arrays")
        )

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the problem, its sets, its penalties and its data sources."""
        of_sources = merge_parameters(
            {name: collect_declared_parameters(cls) for name, cls in self.family.sources.items()}
        )
        return {
            **collect_declared_parameters(self.family),
            **_set_and_penalty_parameters(self),
            **of_sources,
        }

    def parameters_with_user_parts(self, parameters: Mapping[str, Any]) -> dict[str, Parameter]:
        """Return the parameters of the problem and of its user-defined set and penalty, by name.

        `parameters` names the user-defined set or penalty, as in "FILE.py:NAME".
        """
        return {**_user_part_parameters(parameters), **self.parameters()}

    def build(self, parameters: Mapping[str, Any]) -> FiniteSum:
        """Build the problem from parameter values; raise for unknown names of parameters."""
        existing = self.parameters_with_user_parts(
            {part: text for part, text in parameters.items() if isinstance(text, str)}
        )
        check_parameter_names(self.name, parameters, existing)
        for part in USER_PARTS & parameters.keys():
            if parameters[part] is not None:
                check_text(part, parameters[part], "l1")
        check_values_for_text_parameters(parameters, existing)
        of_sets = {**_user_part_parameters(parameters), **_set_and_penalty_parameters(self)}
        declared = collect_declared_parameters(self.family)
        own = {name: value for name, value in parameters.items() if name in declared}
        of_set = {name: value for name, value in parameters.items() if name in of_sets}
        rest = {k: v for k, v in parameters.items() if k not in own and k not in of_set}
        make: Callable[..., ProblemFamily] = self.family
        if issubclass(self.family, AnySetFamily):
            own["of_set"] = of_set
        return make(**own, rest=rest).build()


@cache
def _set_and_penalty_parameters(entry: ProblemEntry) -> Mapping[str, Parameter]:
    """Return the cached parameters of all sets and penalties that a problem accepts, by name."""
    parameters = merge_parameters(
        {
            f"{kind}={body.name}": body.parameters()
            for kind, entries in (("set", SETS), ("penalty", PENALTIES))
            for body in entries.values()
            if entry.accepts_every(kind, body.points) and not body.required_arguments
        }
    )
    words = {name: parameter.default or "needed" for name, parameter in parameters.items()}
    if "radius" in words:
        words["radius"] = f"{entry.family.default_radius:g} for {entry.family.only_set}, else 1"
    return {name: replace(parameters[name], default=words[name]) for name in words}


def _user_part_parameters(parameters: Mapping[str, Any]) -> dict[str, Parameter]:
    """Import a user-defined set and penalty, and return their parameters by name."""
    return {
        key: parameter
        for kind in ("set", "penalty")
        if ":" in (name := str(parameters.get(kind)))
        for key, parameter in find_class(kind, name).parameters().items()
    }


PROBLEMS: Mapping[str, ProblemEntry] = MappingProxyType(
    {
        family.problem.name: ProblemEntry(family)
        for family in (
            families.RecoveryFamily,
            families.LogisticFamily,
            families.MultitaskFamily,
            families.MulticlassFamily,
            families.RobustRegressionFamily,
            families.LogCoshFamily,
            families.LeastSquaresFamily,
            families.MatrixRegressionFamily,
            families.SimplexNormFamily,
            families.ZeroChainFamily,
            families.FiniteSumChainFamily,
            noise_families.SeparableFamily,
            noise_families.MatrixLeastSquaresFamily,
            noise_families.TwoLayerFamily,
            noise_families.AdditiveFamily,
            noise_families.MatrixAdditiveFamily,
            noise_families.MultiplicativeFamily,
            noise_families.CubicFamily,
            noise_families.RegressionFamily,
            noise_families.GLMFamily,
        )
    }
)
"""Entry of each problem, by name."""


def build_problem(selector: Selector) -> FiniteSum:
    """Build the problem that a selector describes by its name and parameters; see `problem`.

    Values of parameters of type string are not converted to numbers.
    """
    texts = string_parameter_names(
        find_entry("problem", selector.name, PROBLEMS).parameters_with_user_parts(
            selector.parameters
        )
    )
    return _build(selector.name, selector.parameter_values(texts))


def problem(name: str, **parameters: Any) -> FiniteSum:
    """Build a problem by name; ``pfbench info NAME`` lists its parameters.

    Parameters
    ----------
    name
        As in ``"quadratic"``, or with parameters, as in ``"quadratic[rows=20]"``.
    parameters
        Parameters by name; ``set`` may also be a set of `pfbench.sets`, as in ``set=L2Ball(5)``.

    Raises
    ------
    InputError
        If the name or a parameter is unknown or out of range.
    DataError
        If the data are missing or damaged.
    """
    if isinstance(name, str) and "[" in name:
        return build_problem(Selector.parse(name).with_parameters(parameters))
    return _build(name, parameters)


def _build(name: str, value: Mapping[str, Any]) -> FiniteSum:
    entry = find_entry("problem", name, PROBLEMS)
    parameters = _with_name_of_set(value)
    try:
        finite_sum = entry.build(parameters).with_selector(name, parameters)
        if parameters is not value and finite_sum.shape != value["set"].shape:
            raise InputError(
                f"set must have points of shape {finite_sum.shape}, not {value['set'].shape}."
            )
        return finite_sum
    except (MemoryError, OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith(_TOO_LARGE):
            raise
        raise InputError(
            f"{Selector(name, parameters)} is too large to be built ({error}): choose smaller "
            "numbers."
        ) from error


def _with_name_of_set(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `parameters` with a built-in set object replaced by its name and parameters."""
    result = parameters.get("set")
    kind = SETS.get(getattr(result, "name", ""))
    if result is None or kind is None or type(result) is not kind or kind.required_arguments:
        return parameters
    own = {name: getattr(result, name) for name in kind.parameters()}
    return {**own, **parameters, "set": kind.name}
