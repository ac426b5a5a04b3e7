"""What is put to the test: an algorithm, and perhaps a changed problem that answers it."""

import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm, Problem
from pfbench.verification.instruments.changed import ChangedProblem


class Broken(Exception):
    """The subject does not do what it claims: it raised, diverged, or left the feasible set."""


class Untestable(Exception):
    """The subject lacks what the claim's test needs of it."""


@dataclass(frozen=True)
class Subject:
    """An algorithm to test in place of the claim's own.

    Attributes
    ----------
    algorithm
        A class whose parameters are its constructor's, or an algorithm with its parameters; None
        for the claim's own.
    oracles
        Makes of a problem's backend the one that answers (a planted fault of a set or an oracle);
        measures are taken on the unchanged problem.
    """

    algorithm: Any = None
    oracles: Callable[[Any], Any] | None = None

    @property
    def label(self) -> str | None:
        """Its name where it is shown, MODULE:NAME; None for the claim's own algorithm."""
        if self.algorithm is None:
            return None
        kind = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return f"{kind.__module__}:{kind.__qualname__}"

    def answering(self, problem: Problem) -> Any:
        """Return the problem that answers the oracles: changed if the subject changes it."""
        return ChangedProblem(problem, self.oracles) if self.oracles else problem

    def check_importable(self) -> None:
        """Refuse what is no algorithm, or one that no other process can import.

        Raises
        ------
        InputError
            If it has no method `run`, is not found under its name in a module other than the
            program that is running, or has a parameter that cannot be sent to a process.
        """
        given = self.algorithm
        if given is None:
            return
        kind = given if inspect.isclass(given) else type(given)
        if inspect.ismodule(given) or not callable(getattr(given, "run", None)):
            raise InputError(
                "algorithm must be a class, or an object of one, with a method run(ask, x, rng) "
                f"that yields states; this {kind.__qualname__} has none."
            )
        if kind.__module__ == "__main__" or _not_sent(kind):
            raise InputError(
                f"{kind.__qualname__} cannot be imported by the processes that test it: move it to "
                "the top level of a module of its own, and import it from there."
            )
        if why := _not_sent(given):
            raise InputError(
                f"{kind.__qualname__} cannot be sent to the processes that test it ({why}): let "
                "its parameters be numbers, texts or arrays."
            )


def _not_sent(part: Any) -> str:
    """Return why a class or object cannot be sent to another process; empty if it can."""
    try:
        pickle.dumps(part)
    except Exception as error:  # an object may say how it is pickled, and raise anything
        return " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ""


def make(algorithm: Any, **wanted: Any) -> Algorithm:
    """Return the algorithm with those of the wanted parameters that it has.

    Raises
    ------
    Untestable
        If it refuses them, or lacks one that only it knows.
    """
    made: Any = algorithm
    try:
        if inspect.isclass(algorithm):
            known = set(inspect.signature(algorithm).parameters)
            made = algorithm(**{name: value for name, value in wanted.items() if name in known})
        elif is_dataclass(algorithm):
            known = {field.name for field in fields(algorithm)}
            given = {name: value for name, value in wanted.items() if name in known}
            made = replace(algorithm, **given)  # type: ignore[type-var]
    except (TypeError, ValueError) as error:
        raise Untestable(f"it cannot be made with the claim's parameters: {error}") from error
    found: Algorithm = made
    return found


def scheduled(algorithm: Any, epsilon: float, constants: Constants, **given: Any) -> Algorithm:
    """Return the algorithm with its own theorem's schedule for accuracy epsilon.

    Raises
    ------
    Untestable
        If it has none, or its schedule fails.
    """
    theory = getattr(algorithm, "theory", None)
    if theory is None:
        raise Untestable("it has no schedule: give it a classmethod theory(epsilon, constants)")
    try:
        made: Algorithm = theory(epsilon, constants, **given)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Untestable(f"its schedule for epsilon={epsilon:g} fails: {error}") from error
    return made
