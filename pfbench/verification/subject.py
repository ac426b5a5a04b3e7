"""Subject of a check: an algorithm, possibly edited, or a problem with changed oracles."""

import inspect
import pickle
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.function_methods import is_method, method_class
from pfbench.base.protocols import Algorithm, Problem
from pfbench.verification.faults.fault import Edit, Fault, SourceChange
from pfbench.verification.faults.mutant_compilation import compile_fault
from pfbench.verification.instruments.overrides import OverriddenProblem


class ClaimBroken(Exception):
    """The subject was measured not to do what it claims: it diverged, or left the feasible set."""


class MethodFailed(ClaimBroken):
    """The subject raised, hangs, or tells what is no state: nothing was measured."""


class NotTestable(Exception):
    """The subject lacks what the claim's test needs of it."""


class SubjectLacksParameter(NotTestable):
    """The subject lacks a parameter or a schedule, or cannot be made."""


class UnsupportedPoints(NotTestable):
    """The subject moves arrays only, and the points of a problem are none."""


@dataclass(frozen=True)
class Subject:
    """An algorithm to test in place of the claim's own.

    Attributes
    ----------
    algorithm
        A class whose parameters are its constructor's, or an algorithm with its parameters; a
        plain function; a generated fault of one; None for the claim's own.
    oracles
        Makes of a problem's backend the one that answers (a planted fault of a set or an oracle);
        measures are taken on the unchanged problem.
    """

    algorithm: Any = None
    oracles: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if is_method(self.algorithm):
            object.__setattr__(self, "algorithm", method_class(self.algorithm))

    @property
    def label(self) -> str | None:
        """Its name where it is shown, MODULE:NAME; None for the claim's own algorithm."""
        if self.algorithm is None:
            return None
        if isinstance(self.algorithm, Fault):
            return f"fault {self.algorithm.name}"
        kind = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return f"{kind.__module__}:{kind.__qualname__}"

    def algorithm_under_test(self) -> Any:
        """Return the class or object under test, None for the claim's own; a fault is compiled.

        Raises
        ------
        MethodFailed
            If a fault cannot be compiled: its module cannot be imported with it.
        """
        if not isinstance(self.algorithm, Fault):
            return self.algorithm
        try:
            return compile_fault(self.algorithm)
        except Exception as error:
            raise MethodFailed(
                f"it cannot be imported ({type(error).__name__}: {error})"
            ) from error

    def problem_under_test(self, problem: Problem) -> Any:
        """Return the problem that answers the oracles: changed if the subject changes it."""
        return OverriddenProblem(problem, self.oracles) if self.oracles else problem

    def check_importable(self) -> None:
        """Refuse what is not an algorithm, or one that no other process can import.

        Raises
        ------
        InputError
            If it has no method `run`, is not found under its name in a module other than the
            program that is running, or has a parameter that cannot be sent to a process.
        """
        algorithm = self.algorithm
        if algorithm is None:
            return
        kind = algorithm if inspect.isclass(algorithm) else type(algorithm)
        if inspect.ismodule(algorithm) or not callable(getattr(algorithm, "run", None)):
            raise InputError(
                "algorithm must be a class, or an object of one, with a method run(ask, x, rng) "
                f"that yields states; this {kind.__qualname__} has none."
            )
        if kind.__module__ == "__main__" or _pickling_error(kind):
            raise InputError(
                f"{kind.__qualname__} cannot be imported by the processes that test it: move it to "
                "the top level of a module of its own, and import it from there."
            )
        if why := _pickling_error(algorithm):
            raise InputError(
                f"{kind.__qualname__} cannot be sent to the processes that test it ({why}): let "
                "its parameters be numbers, texts or arrays."
            )


@dataclass(frozen=True)
class EditedMethod(Subject):
    """A subject whose method has a planted fault: its source with one or more edits.

    Attributes
    ----------
    algorithm
        The right method, a class.
    edited_part
        The class or function in whose source it stands.
    edits
        Texts that stand there once, each with what stands in its place.
    description
        The fault, in words.
    """

    edited_part: Any = None
    edits: tuple[tuple[str, str], ...] = ()
    description: str = ""

    def algorithm_under_test(self) -> Any:
        """Return the method with the fault, compiled apart."""
        return compile_fault(self.fault)

    @cached_property
    def fault(self) -> Fault:
        """The fault.

        Raises
        ------
        LookupError
            If a text does not stand there once.
        """
        lines, first = inspect.getsourcelines(self.edited_part)
        edits = tuple(_make_edit("".join(lines), first, *edit) for edit in self.edits)
        change = SourceChange(edits, *map("; ".join, zip(*self.edits, strict=True)))
        module, name = self.edited_part.__module__, self.edited_part.__qualname__
        return Fault(self.algorithm, module, name, "edit", 1, change)


def _make_edit(source: str, first_line: int, before: str, after: str) -> Edit:
    """Return the edit of a text in a source that begins with this line of its file."""
    if source.count(before) != 1:
        raise LookupError(f"{before!r} stands {source.count(before)} times in {source!r}, not once")
    ahead = source[: source.index(before)]
    ends = ahead, ahead + before
    lines = [first_line + text.count("\n") for text in ends]
    columns = [len(text.rpartition("\n")[2].encode()) for text in ends]
    return Edit(lines[0], columns[0], lines[1], columns[1], after)


def _pickling_error(part: Any) -> str:
    """Return the reason that a class or object cannot be pickled; empty if it can."""
    try:
        pickle.dumps(part)
    except Exception as error:  # an object may say how it is pickled, and raise anything
        return " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ""


def instantiate_with_accepted_parameters(
    algorithm: Any, needed: Collection[str] = (), /, **requested: Any
) -> Algorithm:
    """Return the algorithm with those of the requested parameters that it accepts.

    Parameters
    ----------
    algorithm
        A class whose parameters are its constructor's, or an object, which is returned itself if it
        is not a dataclass.
    needed
        Those of the wanted that it must have, since a check counts on them.
    requested
        Parameters by name.

    Raises
    ------
    SubjectLacksParameter
        If it refuses them, lacks one that is needed, or needs one that only it knows.
    """
    existing = select_accepted(algorithm, (*requested,), needed)
    for name in needed:
        if name in requested and name not in existing:
            raise SubjectLacksParameter(
                f"it has no parameter {name}, which the claim sets to {requested[name]}"
            )
    values = {name: value for name, value in requested.items() if name in existing}
    created: Any = algorithm
    try:
        if inspect.isclass(algorithm):
            created = algorithm(**values)
        elif is_dataclass(algorithm):
            created = replace(algorithm, **values)  # type: ignore[type-var]
    except Exception as error:
        unknown = " and no ".join(name for name in requested if name not in existing)
        unused = f"; it has no {unknown}, which the claim sets" if unknown else ""
        raise SubjectLacksParameter(
            f"it cannot be made with the claim's parameters: {error}{unused}"
        ) from error
    with_parameters: Algorithm = created
    return with_parameters


def select_accepted(
    algorithm: Any, requested: Collection[str], needed: Collection[str] = ()
) -> Collection[str]:
    """Return the requested parameters that an algorithm, a class or an object, accepts.

    Of a class that takes any it is known only that it has those that are needed, and those of which
    it has an attribute, as a default: what else it is given it may ignore.
    """
    if not inspect.isclass(algorithm):
        names = {field.name for field in fields(algorithm)} if is_dataclass(algorithm) else set()
        return [name for name in requested if name in names]
    parameters, any_other = (
        inspect.signature(algorithm).parameters,
        accepts_any_parameters(algorithm),
    )

    def has(name: str) -> bool:
        return name in parameters or (any_other and (name in needed or hasattr(algorithm, name)))

    return [name for name in requested if has(name)]


def accepts_any_parameters(algorithm: Any) -> bool:
    """Return whether an algorithm is a class that takes whatever parameters it is given."""
    if not inspect.isclass(algorithm):
        return False
    full_list = inspect.signature(algorithm).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in full_list)


def with_parameters(algorithm: Algorithm, **overrides: Any) -> Algorithm:
    """Return an algorithm with other values of some of its parameters.

    Raises
    ------
    SubjectLacksParameter
        If it is not a dataclass, or lacks one of them.
    """
    if not is_dataclass(algorithm):
        raise SubjectLacksParameter(
            "its parameters cannot be changed once it is made: make it a dataclass"
        )
    return instantiate_with_accepted_parameters(algorithm, tuple(overrides), **overrides)


def make_scheduled(
    algorithm: Any, epsilon: float, constants: Constants, **overrides: Any
) -> Algorithm:
    """Return the algorithm with its own theorem's schedule for accuracy epsilon.

    Raises
    ------
    SubjectLacksParameter
        If it has none, lacks a parameter that is given, or its schedule fails.
    """
    theory = getattr(algorithm, "theory", None)
    if theory is None:
        raise SubjectLacksParameter(
            "it has no schedule: give it a classmethod theory(epsilon, constants)"
        )
    for name in overrides:
        if name not in select_accepted(algorithm, (*overrides,)):
            raise SubjectLacksParameter(
                f"it has no parameter {name}, which the claim sets to {overrides[name]}"
            )
    try:
        created: Algorithm = theory(epsilon, constants, **overrides)
    except Exception as error:
        raise SubjectLacksParameter(
            f"its schedule for epsilon={epsilon:g} fails: {str(error).rstrip('.')}"
        ) from error
    return created
