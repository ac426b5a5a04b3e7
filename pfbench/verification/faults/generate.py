"""Generation of faults from a method's source, and the late forms of the mutation operators.

In its late form, an operator makes its change only after the line has been executed a number of
times. The executions are those of iterations, epochs, or steps of an inner loop. Further late
operators store an index in too few bits, clip long answers of oracles, or end an inner loop early.
Each threshold is drawn from the name of the operator and the text of the change, never from a line
number or a module. So a threshold stays the same if other code moves.
"""

import ast
import inspect
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.verification.faults.code import Code
from pfbench.verification.faults.fault import Fault, SourceChange
from pfbench.verification.faults.mutant_compilation import (
    compile_unchanged,
    mutable_program_modules,
)
from pfbench.verification.faults.mutation_operators import (
    CLASS_OPERATORS,
    RUN_OPERATORS,
    SCHEDULE_OPERATORS,
    Operator,
    is_non_oracle_call,
)
from pfbench.verification.faults.reachability import list_reached_parts


def generate_faults(algorithm: Any, *, late: bool = False) -> list[Fault]:
    """Return all generated faults of an algorithm, in the order of the source code.

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
    """Return the syntax tree of a program part after a change, as text; "" if it does not parse."""
    try:
        return code.dump_after_edits(change.edits)
    except SyntaxError:
        return ""


_TIMES = {"reference": (4, 25)}
"""Range of executions after which a change begins, for code that runs once an epoch."""

_USUALLY = (13, 1500)
"""Range of executions after which any other change in a run begins."""

_BITS = (5, 13)

_FACTORS = (3.0, 30.0)
"""Range of multiples of the median norm at which an answer is clipped."""

_ROUNDS = (13, 120)
"""Range of rounds of an inner loop after which a change begins."""

_ANSWERS = ("gradient", "batch", "difference", "replace")


def _iterate_changes_acting_late(
    code: Code, *, name: str, operator: Operator
) -> Iterator[SourceChange]:
    """Yield an operator's changes, delayed to act only after the code has run several times."""
    for change in operator(code):
        first, *edits = change.edits
        node = code.find_replaced_expression(first)
        # Shared loops call the move of a method and the average of an estimator once a step.
        is_step = code.part.name.endswith((".move", ".average")) and "ask" in code.argument_names
        if node is not None and (is_step or code.may_run_repeatedly(node)):
            lasts = is_step or _contains_yield(code.node) or code.is_inside_closure(node)
            usually = _USUALLY if lasts else _ROUNDS
            low, high = _TIMES.get(name, usually)
            times = round(_draw_late_fault_threshold(f"late-{name}", change.line_after, low, high))
            late = f"({first.replacement}) if planted.has_passed_call_count(kept_late, {times}) else ({code.text(node)})"  # noqa: E501
            memory = "planted.fault_storage_of_run(self, ask)" if is_step else "{}"
            start = "; ".join([f"kept_late = {memory}", *(e.replacement.strip() for e in edits)])
            yield code.replacement_change(node, late, start)


def _truncate_bits_of_indices(code: Code) -> Iterator[SourceChange]:
    """Yield changes that store the indices of a batch in a few bits."""
    for node in code.calls("batch", "difference", "replace"):
        if len(node.args) > 1 and not is_non_oracle_call(node):
            sample = code.text(node.args[0])
            bits = round(_draw_late_fault_threshold("late-bits", code.text(node), *_BITS))
            truncated = f"planted.truncate_to_bits({sample}, {bits})"
            yield code.replacement_change(node.args[0], truncated)


def _clip_answers(code: Code) -> Iterator[SourceChange]:
    """Yield changes that clip oracle answers to a multiple of earlier answers' median norm."""
    for node in code.calls(*_ANSWERS):
        if not is_non_oracle_call(node) and code.may_run_repeatedly(node):
            factor = _draw_late_fault_threshold("late-clip", code.text(node), *_FACTORS)
            clipped = f"planted.clip_norm(kept_late, {code.text(node)}, {factor:.3g})"
            yield code.replacement_change(node, clipped, "kept_late = {}")


def _limit_inner_loop_rounds(code: Code) -> Iterator[SourceChange]:
    """Yield changes that end an inner loop after a randomly chosen number of rounds.

    An inner loop is one that yields no state.
    """
    for loop in code.nodes_of_type(ast.While):
        if not _contains_yield(loop):
            test = code.text(loop.test)
            rounds = round(_draw_late_fault_threshold("late-cap", test, *_ROUNDS))
            fewer = f"({test}) and not planted.has_passed_call_count(kept_late, {rounds})"
            yield code.replacement_change(loop.test, fewer, "kept_late = {}")
    for each in code.nodes_of_type(ast.For):
        if not _contains_yield(each):
            each_name = code.text(each.iter)
            rounds = round(_draw_late_fault_threshold("late-cap", each_name, *_ROUNDS))
            yield code.replacement_change(each.iter, f"planted.limit_rounds({each_name}, {rounds})")


def _contains_yield(node: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(node))


def _draw_late_fault_threshold(operator: str, text: str, low: float, high: float) -> float:
    """Return the threshold beyond which a late fault acts, drawn log-uniformly from [low, high]."""
    rng = np.random.default_rng(zlib.crc32(f"{operator} {text}".encode()))
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


LATE_OPERATORS: Mapping[str, Operator] = {
    **{
        f"late-{name}": partial(_iterate_changes_acting_late, name=name, operator=operator)
        for name, operator in RUN_OPERATORS.items()
    },
    "late-bits": _truncate_bits_of_indices,
    "late-clip": _clip_answers,
    "late-cap": _limit_inner_loop_rounds,
}
"""Operators of late faults, by name."""
