"""The faults that operators make of a method's source."""

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
    """Return all faults of an algorithm, a class or an object of one, in the order of its source.

    They are made of the functions that its runs and its schedule reach: in the algorithms and
    estimators of pfbench for a built-in method, in the user's modules for a user-defined one.

    Parameters
    ----------
    algorithm
        See above.
    late
        Whether those are made that act only after a while, or far out, in place of the others.

    Raises
    ------
    InputError
        If a user's module cannot be executed a second time, since a fault could not be
        distinguished from that failure; or if an object's class has no hash.
    """
    kind = algorithm if inspect.isclass(algorithm) else type(algorithm)
    faults: list[Fault] = []
    if kind.__hash__ is None and kind is not algorithm:
        raise InputError(f"objects of {kind.__qualname__} have no hash: give the class instead.")
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
        meanings = {code.dump_changed(())}
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
            f"{module} cannot be executed a second time ({type(error).__name__}: {error}), so that "
            "no faults can be made in it: let its import do nothing but define."
        ) from error


def sample_faults(faults: Sequence[Fault], limit: int) -> list[Fault]:
    """Return at most so many of some faults, drawn without replacement, the same each time."""
    if len(faults) <= limit:
        return list(faults)
    chosen = np.random.default_rng(0).choice(len(faults), limit, replace=False)
    return [faults[i] for i in sorted(chosen)]


def _canonical_change(code: Code, change: SourceChange) -> str:
    """Return a changed source without redundant parentheses; empty if it does not parse."""
    try:
        return code.dump_changed(change.edits)
    except SyntaxError:
        return ""
