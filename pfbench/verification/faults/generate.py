"""Generation of faults from a method's source."""

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.verification.faults.code import Code
from pfbench.verification.faults.fault import Fault, SourceChange
from pfbench.verification.faults.late import LATE_OPERATORS
from pfbench.verification.faults.mutant_compilation import (
    compile_unchanged,
    mutable_program_modules,
)
from pfbench.verification.faults.mutation_operators import (
    CLASS_OPERATORS,
    RUN_OPERATORS,
    SCHEDULE_OPERATORS,
)
from pfbench.verification.faults.reachability import list_reached_parts


def generate_faults(algorithm: Any, *, late: bool = False) -> list[Fault]:
    """Return all generated faults of an algorithm, in the order of the source.

    Operators change the functions that runs and the theorem's schedule call. For a built-in method
    these are functions of pfbench's algorithms and estimators. For a user-defined method they are
    functions of the user's modules.

    Parameters
    ----------
    algorithm
        The algorithm, a class or an object.
    late
        Whether to return late faults, which act only after many steps, instead of the others.

    Raises
    ------
    InputError
        If a user's module cannot be executed a second time (a fault could not be distinguished from
        that failure), or if objects of the class cannot be hashed.
    """
    kind = algorithm if inspect.isclass(algorithm) else type(algorithm)
    faults: list[Fault] = []
    if kind.__hash__ is None and kind is not algorithm:
        raise InputError(f"{kind.__qualname__} objects cannot be hashed: pass the class instead.")
    reached = list_reached_parts(kind, mutable_program_modules(kind))
    for module in {part.module for part in reached}:
        _check_recompilable(algorithm, module)
    for part in reached:
        is_class = isinstance(part.node, ast.ClassDef)
        if late:
            operators = {} if part.is_schedule or is_class else LATE_OPERATORS
        elif is_class:
            operators = CLASS_OPERATORS
        else:
            operators = SCHEDULE_OPERATORS if part.is_schedule else RUN_OPERATORS
        code = Code(part)
        meanings = {code.dump_after_edits(())}
        for name, operator in operators.items():
            number = 0
            for change in operator(code):
                meaning = _canonical_change(code, change)
                if meaning and meaning not in meanings:
                    meanings.add(meaning)
                    number += 1
                    faults.append(Fault(algorithm, part.module, part.name, name, number, change))
    return faults


def _check_recompilable(algorithm: Any, module: str) -> None:
    try:
        compile_unchanged(algorithm, module)
    except Exception as error:
        raise InputError(
            f"{module} cannot be executed a second time ({type(error).__name__}: {error}), so "
            "no faults can be generated in it: remove the side effects of its import."
        ) from error


def sample_faults(faults: Sequence[Fault], limit: int) -> list[Fault]:
    """Return at most `limit` of the given faults, drawn without replacement from a fixed seed."""
    if len(faults) <= limit:
        return list(faults)
    chosen = np.random.default_rng(0).choice(len(faults), limit, replace=False)
    return [faults[i] for i in sorted(chosen)]


def _canonical_change(code: Code, change: SourceChange) -> str:
    """Return the syntax tree of a changed part as text; empty if the change does not parse."""
    try:
        return code.dump_after_edits(change.edits)
    except SyntaxError:
        return ""
