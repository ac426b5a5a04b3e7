"""Base classes of families of problems: parameters in selectors, and construction."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError
from pfbench.base.parameters import (
    CheckedParameters,
    check_parameter_names,
    collect_declared_parameters,
    parameter,
)
from pfbench.problems.base import FiniteSum
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.body import ConvexBody
from pfbench.sets.catalogue import feasible_set, norm_ball
from pfbench.sets.whole_space import WholeMatrices, WholeSpace

Classes = Mapping[str, type[Any]]

_NONE: Classes = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class ProblemFamily(CheckedParameters, ABC):
    """Base class of families of problems, whose parameters are fields declared with `parameter`.

    Attributes
    ----------
    problem
        The class of the problem.
    summary
        One-line description.
    sources
        Sources of the data, by the value of the parameter `source`.
    points
        Kind of points, vectors or matrices, if the family accepts any set of such points.
    only_set
        Name of the only feasible set, or of the default set.
    default_radius
        Default radius of that set.
    allows_no_set
        Whether the family accepts set=none.
    rest
        The parameters of the source, the set and the penalty.
    """

    problem: ClassVar[type[FiniteSum]]
    summary: ClassVar[str]
    sources: ClassVar[Classes] = _NONE
    points: ClassVar[str] = ""
    only_set: ClassVar[str] = ""
    default_radius: ClassVar[float] = 1.0
    allows_no_set: ClassVar[bool] = True

    rest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @abstractmethod
    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""

    def _load_source(self, source: str) -> Any:
        """Load the data of a source; raise for a parameter that the source does not have."""
        drawing = self.sources[check_choice("source", source, self.sources)]
        check_parameter_names(
            f"the source {source}", self.rest, collect_declared_parameters(drawing)
        )
        return drawing(**self.rest).draw(source)


@dataclass(frozen=True, kw_only=True)
class AnySetFamily(ProblemFamily):
    """Family of problems whose feasible set can be chosen; `of_set` has the set's parameters."""

    of_set: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    set: str | None = parameter(None, "feasible set, see `pfbench list sets`", "see below")
    norm: str | None = parameter(
        None, "norm, such as spectral[radius=2], instead of a set or in addition to it", "none"
    )

    def _with_norm(self, problem: FiniteSum) -> FiniteSum:
        """Return the problem with the requested norm, or unchanged if none is requested."""
        if self.norm is None:
            return problem
        return NormedProblem(problem, norm_ball(self.norm, problem.shape))

    def _build_feasible_set(self, shape: tuple[int, ...]) -> ConvexBody:
        values = {name: value for name, value in self.of_set.items() if value is not None}
        name = self.set or self.only_set
        if name == "none" and self.allows_no_set:
            if values:
                raise InputError(f"set=none takes no {next(iter(values))}: leave it out.")
            return WholeSpace(*shape) if len(shape) == 1 else WholeMatrices((shape[0], shape[1]))
        if name == self.only_set:
            values = {"radius": self.default_radius} | values
        return feasible_set(name, shape, **values)
