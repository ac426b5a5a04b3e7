"""Object that a check tests: an algorithm (perhaps with edited code) or modified oracles."""

import inspect
import pickle
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.function_methods import can_be_algorithm, method_class
from pfbench.base.protocols import Algorithm, Problem
from pfbench.base.user_code import list_required_arguments
from pfbench.verification.faults.fault import Edit, Fault, SourceChange
from pfbench.verification.faults.mutant_compilation import compile_faulty_algorithm
from pfbench.verification.instruments.overrides import OverriddenProblem


class ClaimBroken(Exception):
    """Exception raised if a run contradicts the claim: it diverges or leaves the set."""


class MethodFailed(ClaimBroken):
    """Exception raised if the method raises, hangs or yields no valid state.

    The check then measures nothing.
    """


class NotTestable(Exception):
    """Exception raised if the tested object lacks something that the claim's check needs."""


class SubjectLacksParameter(NotTestable):
    """Exception raised if the tested algorithm lacks a parameter or a schedule that a check needs.

    It is also raised if the algorithm cannot be instantiated.
    """


class UnsupportedPoints(NotTestable):
    """Exception raised if the tested algorithm needs arrays, but the points are not arrays."""


@dataclass(frozen=True)
class Subject:
    """Algorithm, or modified oracles, to test in place of the claim's own algorithm.

    Attributes
    ----------
    algorithm
        A class, an object, a plain function, or a generated fault; None for the claim's algorithm.
    oracles
        Function that wraps a problem's backend to plant a fault in a set or an oracle. Measures are
        computed on the unchanged problem.
    """

    algorithm: Any = None
    oracles: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if can_be_algorithm(self.algorithm):
            object.__setattr__(self, "algorithm", method_class(self.algorithm))

    @property
    def label(self) -> str | None:
        """Name for display, MODULE:NAME or "fault NAME"; None for the claim's own algorithm."""
        if self.algorithm is None:
            return None
        if isinstance(self.algorithm, Fault):
            return f"fault {self.algorithm.name}"
        kind = self.algorithm if inspect.isclass(self.algorithm) else type(self.algorithm)
        return f"{kind.__module__}:{kind.__qualname__}"

    def algorithm_under_test(self) -> Any:
        """Return the class or object to test, or None for the claim's own algorithm.

        A generated fault is compiled to a class.

        Raises
        ------
        MethodFailed
            If a fault cannot be compiled, since its module cannot be imported.
        """
        if not isinstance(self.algorithm, Fault):
            return self.algorithm
        try:
            return compile_faulty_algorithm(self.algorithm)
        except Exception as error:
            raise MethodFailed(
                f"the faulty method cannot be imported ({type(error).__name__}: {error})"
            ) from error

    def problem_under_test(self, problem: Problem) -> Any:
        """Return the problem, with the subject's modified oracles if it has any."""
        return OverriddenProblem(problem, self.oracles) if self.oracles else problem

    def check_importable(self) -> None:
        """Raise `InputError` if other processes cannot import the algorithm.

        Raise it also if the object is not an algorithm.

        Raises
        ------
        InputError
            If the algorithm has no method `run`, cannot be imported by name from a module other
            than the running program, or has a parameter that cannot be pickled.
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
        if kind.__module__ == "__main__" or _describe_pickling_error(kind):
            raise InputError(
                f"{kind.__qualname__} cannot be imported by the processes that test it: move it to "
                "the top level of a module, and import it from there."
            )
        if why := _describe_pickling_error(algorithm):
            raise InputError(
                f"{kind.__qualname__} cannot be sent to the processes that test it ({why}): use "
                "only numbers, strings or arrays as its parameters."
            )


@dataclass(frozen=True)
class EditedMethod(Subject):
    """Method with a planted fault, which is made by edits of the method's source code.

    Attributes
    ----------
    algorithm
        The right method, a class.
    edited_part
        The class or function whose source is edited.
    edits
        Pairs of a text that occurs once in that source, and its replacement.
    description
        Description of the fault.
    """

    edited_part: Any = None
    edits: tuple[tuple[str, str], ...] = ()
    description: str = ""

    def algorithm_under_test(self) -> Any:
        """Return the class compiled from the edited source."""
        return compile_faulty_algorithm(self.fault)

    @cached_property
    def fault(self) -> Fault:
        """Fault that the edits introduce.

        Raises
        ------
        LookupError
            If a text does not occur exactly once in the source.
        """
        lines, first = inspect.getsourcelines(self.edited_part)
        edits = tuple(_make_edit("".join(lines), first, *edit) for edit in self.edits)
        change = SourceChange(edits, *map("; ".join, zip(*self.edits, strict=True)))
        module, name = self.edited_part.__module__, self.edited_part.__qualname__
        return Fault(self.algorithm, module, name, "edit", 1, change)


def _make_edit(source: str, first_line: int, before: str, after: str) -> Edit:
    """Return the edit that replaces a text in a piece of source code.

    The source starts at line `first_line` of its file.
    """
    if source.count(before) != 1:
        times = source.count(before)
        raise LookupError(f"the text {before!r} must occur once, not {times} times, in {source!r}")
    ahead = source[: source.index(before)]
    ends = ahead, ahead + before
    lines = [first_line + text.count("\n") for text in ends]
    columns = [len(text.rpartition("\n")[2].encode()) for text in ends]
    return Edit(lines[0], columns[0], lines[1], columns[1], after)


def _describe_pickling_error(part: Any) -> str:
    """Describe why a class or object cannot be pickled; return "" if it can be."""
    try:
        pickle.dumps(part)
    except Exception as error:  # an object may say how it is pickled, and raise anything
        return " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ""


def instantiate_with_accepted_parameters(
    algorithm: Any, needed: Collection[str] = (), /, **requested: Any
) -> Algorithm:
    """Instantiate an algorithm with those of the requested parameters that it accepts.

    Parameters
    ----------
    algorithm
        A class or an object; an object that is not a dataclass is returned unchanged.
    needed
        Requested parameters that the algorithm must accept, since a check relies on them.
    requested
        Parameters by name.

    Raises
    ------
    SubjectLacksParameter
        If the algorithm refuses the parameters, or does not accept a needed one.
    NotTestable
        If the algorithm requires a parameter that is not requested.
    """
    existing = select_accepted(algorithm, (*requested,), needed)
    for name in needed:
        if name in requested and name not in existing:
            raise SubjectLacksParameter(
                f"the method has no parameter {name}, which the claim sets to {requested[name]}"
            )
    values = {name: value for name, value in requested.items() if name in existing}
    if unset := list_unset_parameters(algorithm, values):
        raise make_unset_parameters_error(unset)
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
            f"the method cannot be instantiated with the claim's parameters: {error}{unused}"
        ) from error
    with_parameters: Algorithm = created
    return with_parameters


def list_unset_parameters(algorithm: Any, values: Collection[str]) -> list[str]:
    """Return the parameters without a default of a class that are not among `values`."""
    required = list_required_arguments(algorithm) if inspect.isclass(algorithm) else None
    return [name for name in required or () if name not in values]


def make_unset_parameters_error(names: Collection[str]) -> NotTestable:
    """Return the error for a method that requires parameters to which a check gives no value."""
    return NotTestable(
        f"the method requires {', '.join(names)}, which the check does not set: add a default, or "
        "parameters= in your claim, for a compared method other_parameters="
    )


def select_accepted(
    algorithm: Any, requested: Collection[str], needed: Collection[str] = ()
) -> Collection[str]:
    """Return the names of the requested parameters that an algorithm accepts.

    A class with ``**parameters`` may ignore any of them. It counts as accepting only needed
    parameters, and those for which it has an attribute as a default.
    """
    if not inspect.isclass(algorithm):
        names = {field.name for field in fields(algorithm)} if is_dataclass(algorithm) else set()
        return [name for name in requested if name in names]
    accepted = {*inspect.signature(algorithm).parameters}
    if accepts_any_parameters(algorithm):
        accepted |= {name for name in requested if name in needed or hasattr(algorithm, name)}
    return [name for name in requested if name in accepted]


def accepts_any_parameters(algorithm: Any) -> bool:
    """Return whether an algorithm is a class whose constructor takes ``**parameters``."""
    if not inspect.isclass(algorithm):
        return False
    full_list = inspect.signature(algorithm).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in full_list)


def make_scheduled(
    algorithm: Any, epsilon: float, constants: Constants, **overrides: Any
) -> Algorithm:
    """Instantiate an algorithm with the parameters that its theorem states for accuracy epsilon.

    Raises
    ------
    SubjectLacksParameter
        If the algorithm has no schedule, does not accept an override, or its schedule raises.
    """
    theory = getattr(algorithm, "theory", None)
    if theory is None:
        raise SubjectLacksParameter(
            "the method has no schedule: define a classmethod theory(epsilon, constants)"
        )
    for name in overrides:
        if name not in select_accepted(algorithm, (*overrides,)):
            raise SubjectLacksParameter(
                f"the method has no parameter {name}, which the claim sets to {overrides[name]}"
            )
    try:
        created: Algorithm = theory(epsilon, constants, **overrides)
    except Exception as error:
        raise SubjectLacksParameter(
            f"the method's schedule for epsilon={epsilon:g} raises: {str(error).rstrip('.')}"
        ) from error
    return created
