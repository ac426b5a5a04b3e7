"""The algorithms by name, and the choice of one with its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pfbench.algorithms import (
    accelerated,
    active_set,
    frank_wolfe,
    lan_sliding,
    loopless,
    loopless_frank_wolfe,
    natasha,
    nfwu,
    norms,
    proximal,
    sliding,
    spider,
    stochastic_frank_wolfe,
)
from pfbench.algorithms.base import Algorithm
from pfbench.base.checks import choice, real
from pfbench.base.constants import MEANING, Constants
from pfbench.base.errors import InputError
from pfbench.base.names import named
from pfbench.base.parameters import Parameter, check_known, check_texts, texts_of
from pfbench.base.relative import at
from pfbench.base.selectors import Selector

SCHEDULES = ("theory", "practical", "explicit")

_FAMILIES = (
    frank_wolfe.METHODS,
    stochastic_frank_wolfe.METHODS,
    nfwu.METHODS,
    sliding.METHODS,
    proximal.METHODS,
    spider.METHODS,
    accelerated.METHODS,
    natasha.METHODS,
    loopless.METHODS,
    loopless_frank_wolfe.METHODS,
    active_set.METHODS,
    lan_sliding.METHODS,
    norms.METHODS,
)

ALGORITHMS: Mapping[str, type[Algorithm]] = MappingProxyType(
    {method.name: method for methods in _FAMILIES for method in methods}
)
"""Every algorithm by its name."""


@dataclass(frozen=True)
class AlgorithmChoice:
    """An algorithm by name with the parameters that were given; `resolve` makes the algorithm."""

    name: str
    parameters: Mapping[str, Any]
    kind: type[Algorithm]

    def __repr__(self) -> str:
        """Return it as `pfbench.algorithm` makes it again."""
        return f"algorithm({self.selector!r})"

    @property
    def selector(self) -> str:
        """The choice as the command line writes it."""
        return str(Selector(self.name, self.parameters))

    @property
    def schedule(self) -> str:
        """What the parameters ask for: theory, practical or explicit."""
        if self.parameters.get("epsilon") is None or self._replaced:
            return "explicit"
        return str(self.parameters.get("schedule") or "theory")

    @property
    def assumes(self) -> frozenset[str]:
        """What the algorithm's theorem assumes, in the words of `pfbench.base.assumptions`."""
        return self.kind.assumes

    @property
    def _replaced(self) -> set[str]:
        """The given parameters that a schedule would set."""
        return set(self.kind.scheduled & set(self.parameters))

    def resolve(self, constants: Constants) -> tuple[Algorithm, str]:
        """Return the algorithm with all its parameters, and the schedule's name.

        A parameter that is a formula, as in ``step=3/L``, is its value for these constants.

        Raises
        ------
        InputError
            If a parameter is missing or out of range.
        Refused
            If the theorem's schedule, or a formula, is not defined for these constants.
        """
        cls = self.kind
        given = at(constants, self.parameters, texts_of(cls.parameters()), self.name)
        epsilon, schedule = given.pop("epsilon", None), given.pop("schedule", None)
        if schedule in ("theory", "practical") and epsilon is None:
            raise InputError(f"schedule={schedule} of {self.name} needs epsilon.")
        if epsilon is None:
            return cls.explicit(constants, **given), self.schedule
        replaced = self._replaced
        if schedule == "theory" and replaced:
            raise InputError(
                f"schedule=theory of {self.name} sets {', '.join(sorted(replaced))} itself: "
                "leave schedule or these out."
            )
        if schedule == "explicit" and not replaced:
            raise InputError(
                f"schedule=explicit of {self.name} takes no epsilon: leave epsilon or schedule out."
            )
        made = cls.practical if schedule == "practical" else cls.theory
        try:
            algorithm = made(real("epsilon", epsilon, above=0.0), constants, **given)
        except (OverflowError, ZeroDivisionError) as error:
            zero = [name for name in MEANING if getattr(constants, name) == 0.0]
            if zero and isinstance(error, ZeroDivisionError):
                raise InputError(
                    f"the schedule of {self.name} is not defined where {' and '.join(zero)} is 0: "
                    "give the parameters explicitly instead of epsilon."
                ) from None
            raise InputError(
                f"epsilon={epsilon} is too small for the schedule of {self.name}: its numbers "
                "would exceed the range of floating point."
            ) from None
        return algorithm, self.schedule


_OF_SCHEDULES: Mapping[str, Parameter] = MappingProxyType(
    {
        "epsilon": Parameter("accuracy that the schedule is for", "none"),
        "schedule": Parameter("theory, practical or explicit", "as the others say", text=True),
    }
)
"""What every algorithm has beside its own parameters."""


def named_algorithm(selector: Selector) -> AlgorithmChoice:
    """Choose the algorithm of a selector; its texts stay texts. See `algorithm`."""
    return own_choice(named("algorithm", selector.name, ALGORITHMS), selector)


def algorithm(name: str, **parameters: Any) -> AlgorithmChoice:
    """Choose an algorithm by name; see ``pfbench info NAME`` for its parameters.

    With `epsilon` alone the theorem's schedule is used; with explicit parameters, those.

    Parameters
    ----------
    name
        As in ``"frank-wolfe"``, or with parameters, as in ``"frank-wolfe[iterations=100]"``.
    parameters
        By their names.

    Raises
    ------
    InputError
        If the name or a parameter is unknown (the nearest is suggested).
    """
    if isinstance(name, str) and "[" in name:
        return named_algorithm(Selector.parse(name).joined(parameters))
    return _choice(name, named("algorithm", name, ALGORITHMS), parameters)


def own_choice(cls: type[Algorithm], selector: Selector) -> AlgorithmChoice:
    """Choose an algorithm's class with the parameters of a selector; see `algorithm`."""
    known = {**cls.parameters(), **_OF_SCHEDULES}
    return _choice(selector.name, cls, selector.given(texts_of(known)))


def _choice(name: str, cls: type[Algorithm], parameters: Mapping[str, Any]) -> AlgorithmChoice:
    known = {**cls.parameters(), **_OF_SCHEDULES}
    check_known(name, parameters, known)
    check_texts(parameters, known)
    if "schedule" in parameters:
        choice("schedule", parameters["schedule"], SCHEDULES)
    return AlgorithmChoice(name, MappingProxyType(dict(parameters)), cls)
