"""Base class of algorithms, with parameters, required oracles, schedules and `run`."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.parameters import (
    Parameter,
    check_field_values,
    collect_declared_parameters,
    one_of_values,
    parameter,
)
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State, check_output_rule
from pfbench.estimators.epochs import SAMPLINGS

_MOST = 2**62


def round_up(number: float) -> int:
    """Return a real number rounded up to an integer, with a tolerance for rounding errors.

    Raises
    ------
    OverflowError
        If `number` is above 2^62.
    """
    if number > _MOST:
        raise OverflowError(f"{number:g} is above 2^62")
    return math.ceil(number * (1.0 - 1e-12))


def floor_or_one(number: float) -> int:
    """Return a real number rounded down to an integer of at least 1.

    Rounding errors are tolerated.
    """
    return max(1, math.floor(number * (1.0 + 1e-12)))


def smallest_integer(condition: Callable[[int], bool]) -> int:
    """Return the smallest integer, at least 1, that satisfies a monotone condition.

    Raises
    ------
    OverflowError
        If the result is above 2^62.
    """
    high = 1
    while not condition(high):
        high *= 2
        if high > _MOST:
            raise OverflowError("an integer that the schedule computes exceeds the limit 2^62")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Base class of optimisation methods; the fields of a subclass are its parameters.

    The first line of a subclass's docstring is its one-line description in lists.

    Attributes
    ----------
    name
        Name on the command line; by default that of the class.
    source
        Paper and number of the algorithm that the code follows; papers are cited by authors and
        year, or by their keys in `pfbench.base.bibliography`.
    counts
        The exact counts of a run, as a formula.
    requires
        Names of the oracles that the method queries.
    assumes
        Assumptions of the method's theorem, besides smooth f_i and a convex set, by their names in
        `pfbench.base.protocols`. A problem that is not known to satisfy them is refused if
        schedule=theory.
    deterministic
        Whether the method draws no random numbers.
    schedule_parameters
        Parameters that the schedule of the method's theorem sets.
    constant_defaults
        Pairs of a parameter and the constant of the problem that is its default.
    guarantee
        Guarantee of the theorem's schedule; None if the guarantee is not a number.
    scale_dependence
        Reason why the theorem's schedule depends on the units of f and x; empty if it does not.
    kinds
        Parameters that select a variant of the method. A claim that sets such a parameter does not
        apply to a method without it.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    counts: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    assumes: ClassVar[frozenset[str]] = frozenset()
    deterministic: ClassVar[bool] = False
    schedule_parameters: ClassVar[frozenset[str]] = frozenset(
        {"iterations", "step", "batch", "period"}
    )
    constant_defaults: ClassVar[tuple[tuple[str, str], ...]] = ()
    guarantee: ClassVar[Guarantee | None] = None
    scale_dependence: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ()

    output: str = parameter("last", "last, or uniform among the x_t")

    def __init_subclass__(cls) -> None:
        # A name that a class did not state is not that of a class made of it.
        unstated = {base.__name__ for base in cls.__mro__[1:]}
        if getattr(cls, "name", None) in {None, *unstated}:
            cls.name = cls.__name__

    def __post_init__(self) -> None:
        check_output_rule(self.output)
        check_field_values(self)

    @abstractmethod
    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield the state of the method after each update."""

    def output_weight(self, k: int) -> float:
        """Return the weight of iterate k >= 1 in the random choice for output=weighted."""
        return 1.0

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that a run with these parameters queries; by default those in `requires`."""
        return self.requires

    @property
    def sampler_asks(self) -> frozenset[str]:
        """Oracles that a run queries if the problem is a sampler; by default those of `asks`."""
        return self.asks

    @property
    def anytime(self) -> bool:
        """Whether the iterates are independent of the parameter `iterations`.

        A shorter run is then a prefix of a longer one.
        """
        return False

    @property
    def runs_until_stopped(self) -> bool:
        """Whether a run ends only when a budget, a target or a time limit stops it."""
        return False

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the algorithm with its theorem's schedule for accuracy `epsilon`.

        `overrides` replace parameters of the schedule.

        Raises
        ------
        RefusedError
            If there is no theorem, a constant is missing, or epsilon is out of its range.
        """
        raise RefusedError(
            f"no theorem sets parameters of {cls.name} from epsilon: give them explicitly."
        )

    @classmethod
    def practical(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the algorithm with a schedule for accuracy `epsilon` that no theorem covers.

        The constants of a practical schedule are not those of a theorem.

        Raises
        ------
        RefusedError
            If the method has no practical schedule.
        """
        raise RefusedError(
            f"{cls.name} has no practical schedule, which would set the parameters from epsilon: "
            "take schedule=theory, or give the parameters explicitly."
        )

    @classmethod
    def explicit(cls, constants: Constants, **overrides: Any) -> Self:
        """Return the algorithm with the given parameters.

        Raises
        ------
        InputError
            If a parameter is missing.
        """
        defaults = {name: getattr(constants, c) for name, c in cls.constant_defaults}
        overrides = {name: c for name, c in defaults.items() if math.isfinite(c)} | overrides
        missing = [name for name in cls.list_required_parameters() if name not in overrides]
        if missing:
            raise InputError(
                f"{cls.name} lacks {', '.join(missing)}: give explicit values, or give epsilon, "
                "from which the schedule of a theorem computes them."
            )
        return cls(**overrides)

    @classmethod
    def schedule_constants(cls, constants: Constants, *names: str) -> list[float]:
        """Return the named constants, which a schedule needs; "L" stands for max(L_f, L_ms).

        Raises
        ------
        RefusedError
            If a constant is missing.
        """
        purpose = f"the schedule of {cls.name}"
        return [
            constants.smoothness(purpose) if name == "L" else constants.require(name, purpose)
            for name in names
        ]

    @classmethod
    def from_schedule(cls, parameters: Mapping[str, Any], **schedule: Any) -> Self:
        """Return the algorithm with the parameters of a schedule; `parameters` take precedence."""
        return cls(**schedule | dict(parameters))

    @classmethod
    def parameters(cls) -> Mapping[str, Parameter]:
        """Return the parameters of the method, which are the fields of the class, by name."""
        return collect_declared_parameters(cls, includes_all=True)

    @classmethod
    def list_required_parameters(cls) -> list[str]:
        """Return the names of the parameters that have no default."""
        return [f.name for f in fields(cls) if f.default is MISSING]


@dataclass(frozen=True, kw_only=True)
class SamplingAlgorithm(Algorithm):
    """Base class of methods that draw components uniformly, or in proportion to smoothness."""

    kinds = ("sampling",)

    sampling: str = one_of_values(
        "uniform", "uniform, or importance: in proportion to the components' L_i", SAMPLINGS
    )

    @property
    def asks(self) -> frozenset[str]:
        """Oracles that a run queries; importance sampling adds the components' smoothness."""
        by_smoothness = self.sampling == "importance"
        return self.requires | {"component_smoothness"} if by_smoothness else self.requires

    @classmethod
    def schedule_smoothness(cls, constants: Constants, parameters: Mapping[str, Any]) -> float:
        """Return the smoothness constant for a schedule: L_mean for importance sampling, else L.

        L is max(L_f, L_ms). Importance sampling draws component i with probability q_i = L_i/(n
        L_mean). Then (grad f_i(x) - grad f_i(y))/(n q_i) has a mean square of at most L_mean^2 |x -
        y|^2.
        """
        return cls.schedule_constants(
            constants, "L_mean" if parameters.get("sampling") == "importance" else "L"
        )[0]


def get_parameters(algorithm: Any) -> dict[str, Any]:
    """Return a dict of an algorithm's parameters, its dataclass fields, from name to value."""
    if not is_dataclass(algorithm):
        return dict(getattr(algorithm, "plain_parameters", {}))
    return {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
