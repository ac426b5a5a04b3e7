"""Power of a claim's check: the smallest planted error of the method that it detects.

An error is a factor on a parameter of the method, or on the answers of its sampled oracles. A
wrapper applies the factor, so that the method's declarations stay right and the check is unchanged.
Bisection tries several factors, each with a few seeds. A factor is detected if most seeds give the
verdict *violated*.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base.protocols import AlgorithmOracles, Point, State
from pfbench.verification.claim import Claim, Mutant
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.session import Session
from pfbench.verification.subject import Subject
from pfbench.verification.trial import claim_method

FACTORS = (1.1, 1.5, 2.0, 4.0, 10.0)
"""Factors that are tried."""

SEEDS = 3
"""Number of seeds, two of which must catch an error; the last one runs if the others differ."""

ESTIMATE = "estimate"
"""Name of the error on the sampled oracles' answers (the gradient's if a method draws nothing)."""

DETECTED = {"step": 1, "batch": -1, "tolerance": 1, "smoothness": -1, "curvature": -1}
"""Parameters that an error scales: 1 multiplies them by the factor, -1 divides them."""

_PATIENCE, _MORE = 3.0, 60.0
"""Multiple of the usual seconds of a check that it may take, and further seconds."""

_ANSWERS = ("difference", "table", "batch", "gradient")
"""Oracles whose answers an error scales: the first of these that a method requires."""


# --- the planted errors ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PlantedError(Subject):
    """Built-in method with one planted error of known size.

    Attributes
    ----------
    algorithm
        The right method, a class.
    parameter
        A name of `DETECTED`, or `ESTIMATE`.
    factor
        Factor of the error, above 1.
    """

    parameter: str = ESTIMATE
    factor: float = 1.0

    def algorithm_under_test(self) -> Any:
        """Return the class of the method with the planted error."""
        return make_faulty(self.algorithm, self.parameter, self.factor)


def scalable_parameters(method: Any) -> list[str]:
    """Return the parameters that a planted error can scale, and `ESTIMATE` for oracle answers."""
    # A method computes these if they are not set.
    implicit = {"curvature", *(["tolerance"] if hasattr(method, "eta") else [])}
    numbers = [
        field.name
        for field in fields(method)
        if field.default is MISSING or _is_number(field.default) or field.name in implicit
    ]
    return [*(name for name in numbers if name in DETECTED), ESTIMATE]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def make_faulty(method: Any, parameter: str, factor: float) -> Any:
    """Return a subclass of a method that runs with a scaled parameter or scaled oracle answers."""

    class Faulty(method):  # type: ignore[misc]
        __doc__ = f"{method.__name__} with its {parameter} off by {factor:g}."

        def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
            """Run the method with the planted error."""
            if parameter == ESTIMATE:
                misjudged: Any = _ScaledAnswers(ask, factor, choose_oracle_to_scale(method))
                yield from method.run(self, misjudged, x, rng)
            else:
                yield from method.run(_scale_parameter(self, parameter, factor), ask, x, rng)

    Faulty.__name__, Faulty.__qualname__ = method.__name__, method.__qualname__
    return Faulty


def _scale_parameter(algorithm: Any, parameter: str, factor: float) -> Any:
    """Return a copy of the algorithm with a scaled parameter; an integer parameter is rounded."""
    value = getattr(algorithm, parameter)
    if value is None and parameter == "tolerance":
        value = algorithm.eta
    if not _is_number(value):
        return algorithm
    changed = value * factor ** DETECTED[parameter]
    if isinstance(value, int):
        changed = max(1, round(changed))
    return replace(algorithm, **{parameter: changed})


def choose_oracle_to_scale(method: Any) -> str:
    """Return the name of the oracle whose answers the planted error multiplies by a factor."""
    return next(name for name in _ANSWERS if name in method.requires)


class _ScaledAnswers(OverriddenOracles):
    """Oracles in which the answers of one oracle are multiplied by a factor."""

    def __init__(self, reference: Any, factor: float, verb: str) -> None:
        super().__init__(reference)
        self._factor, self._verb = factor, verb

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._original, name)
        if name != self._verb:
            return value
        if name == "table":
            return lambda x: _ScaledAnswers(value(x), self._factor, "difference")
        return lambda *other_value: self._factor * value(*other_value)


# --- the search -----------------------------------------------------------------------------------


@dataclass
class PowerSearch:
    """Bisection for the smallest error of one parameter that a claim's check detects.

    Attributes
    ----------
    claim
        The claim.
    parameter
        Parameter with the error, or `ESTIMATE`.
    low, high
        Positions in `FACTORS`: `low` is missed (-1: no factor is known to be missed), `high` is
        caught (`len(FACTORS)`: no factor is known to be caught).
    lost_trials
        Number of trials that ended without a verdict; they count as missed errors.
    was_run
        Whether this search was run; if not, `high` is the result of a search of less effort.
    """

    claim: Claim
    parameter: str
    low: int = -1
    high: int = field(default=len(FACTORS))
    lost_trials: int = 0
    was_run: bool = True

    @property
    def is_open(self) -> bool:
        """Whether there is another factor to try in the bisection."""
        return self.high - self.low > 1

    @property
    def min_factor(self) -> float | None:
        """Smallest factor on a parameter that the check detects; None if it detects none."""
        return FACTORS[self.high] if self.high < len(FACTORS) else None

    @property
    def min_factor_text(self) -> str:
        """Smallest detected factor as text, with the number of trials without a verdict."""
        lower = "-" if self.min_factor is None else f"{self.min_factor:g}"
        if not self.was_run and self.high > 0:
            return "not asked" if self.min_factor is None else f"at most {lower}"
        if not self.lost_trials:
            return lower
        return f"{lower} ({self.lost_trials} {'trial' if self.lost_trials == 1 else 'trials'} without a verdict)"  # noqa: E501

    @property
    def next_factor_index(self) -> int:
        """Index in `FACTORS` of the factor to try next, at first the largest one."""
        last = len(FACTORS) - 1
        return last if self.high > last else (self.low + self.high) // 2

    @cached_property
    def method(self) -> Any:
        """Method that the claim is about, a class or an object."""
        return claim_method(self.claim)

    def next_mutant(self) -> Mutant:
        """Return the mutant with the error that is to be tried next."""
        factor = FACTORS[self.next_factor_index]
        name = f"{self.claim.method} {self.parameter} {factor:g}"
        error = PlantedError(self.method, parameter=self.parameter, factor=factor)
        return Mutant(name=name, subject=error, expected_claims=(self.claim,))

    def skip_larger_errors(self, lower_effort_search: "PowerSearch") -> None:
        """Try only errors smaller than the smallest that a search with lower effort detected."""
        self.high = lower_effort_search.high

    def record_result(self, is_found: bool) -> None:
        """Record whether the check detects the error that was tried last."""
        if is_found:
            self.high = self.next_factor_index
        else:
            self.low = self.next_factor_index


def list_searches(claims: Iterable[Claim]) -> list[PowerSearch]:
    """Return a search for each claim about a method and each parameter that can be scaled."""
    return [
        PowerSearch(claim, parameter)
        for claim in claims
        if claim.algorithm and is_dataclass(claim_method(claim))
        for parameter in scalable_parameters(claim_method(claim))
    ]


def complete_searches(searches: Sequence[PowerSearch], sessions: Sequence[Session]) -> None:
    """Complete all searches together: each round makes one bisection step of every open search.

    Parameters
    ----------
    searches
        The searches.
    sessions
        One session for each of the `SEEDS` seeds.

    Raises
    ------
    StorageError
        If the store cannot be written or read; what is stored already stays.
    """
    while tried := [search for search in searches if search.is_open]:
        votes = [_find_caught_errors(tried, session) for session in sessions[:-1]]
        split = [i for i, both in enumerate(zip(*votes, strict=True)) if len(set(both)) > 1]
        deciding = _find_caught_errors([tried[i] for i in split], sessions[-1])
        last = dict(zip(split, deciding, strict=True))
        for i, search in enumerate(tried):
            search.record_result(last.get(i, votes[0][i]))


def _find_caught_errors(searches: Sequence[PowerSearch], session: Session) -> list[bool]:
    """Return whether each search's check detects its next planted error with the session's seed."""
    caught = session.catch_mutants(
        [search.next_mutant() for search in searches], time_limit_for_planted_error
    )
    for search, outcome in zip(searches, caught, strict=True):
        search.lost_trials += sum(row.lost for row in outcome.verdicts)
    return [bool(item.catching_verdicts) for item in caught]


def time_limit_for_planted_error(claim: Claim, effort: str) -> float:
    """Return the time in seconds after which the check of a planted error is killed."""
    return _PATIENCE * claim.seconds(effort) + _MORE
