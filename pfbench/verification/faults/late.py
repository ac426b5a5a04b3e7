"""Late forms of the mutation operators: faults that act only late in a run or on a large problem.

In its late form, an operator makes its change only after the line has been executed a number of
times. The executions are those of iterations, epochs, or steps of an inner loop. Further late
operators store an index in too few bits, clip long answers of oracles, or end an inner loop early.
Each threshold is drawn from the name of the operator and the text of the change, never from a line
number or a module. So a threshold stays the same if other code moves.
"""

import ast
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from pfbench.verification.faults.code import Code
from pfbench.verification.faults.fault import SourceChange
from pfbench.verification.faults.mutation_operators import (
    RUN_OPERATORS,
    Operator,
    is_non_oracle_call,
)

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


def _iterate_delayed_changes(
    code: Code, *, name: str, operator: Operator
) -> Iterator[SourceChange]:
    """Yield the changes of an operator in a late form, which acts only after some executions."""
    for change in operator(code):
        first, *edits = change.edits
        node = code.find_replaced_expression(first)
        # The loop that all estimates share calls the move of a method: it counts in the run.
        is_move = code.part.name.endswith(".move") and "ask" in code.argument_names
        if node is not None and (is_move or code.may_run_repeatedly(node)):
            lasts = is_move or _contains_yield(code.node) or code.is_inside_closure(node)
            usually = _USUALLY if lasts else _ROUNDS
            times = round(
                _draw_threshold(f"late-{name}", change.line_after, *_TIMES.get(name, usually))
            )
            late = f"({first.replacement}) if planted.has_passed_call_count(kept_late, {times}) else ({code.text(node)})"  # noqa: E501
            memory = "planted.run_memory(self, ask)" if is_move else "{}"
            start = "; ".join([f"kept_late = {memory}", *(e.replacement.strip() for e in edits)])
            yield code.replacement_change(node, late, start)


def _truncate_bits_of_indices(code: Code) -> Iterator[SourceChange]:
    """Yield changes that store the indices of a batch in a few bits."""
    for node in code.calls("batch", "difference", "replace"):
        if len(node.args) > 1 and not is_non_oracle_call(node):
            sample = code.text(node.args[0])
            bits = round(_draw_threshold("late-bits", code.text(node), *_BITS))
            yield code.replacement_change(
                node.args[0], f"planted.truncate_to_bits({sample}, {bits})"
            )


def _clip_answers(code: Code) -> Iterator[SourceChange]:
    """Yield changes that limit an answer's norm to a multiple of the median norm so far."""
    for node in code.calls(*_ANSWERS):
        if not is_non_oracle_call(node) and code.may_run_repeatedly(node):
            factor = _draw_threshold("late-clip", code.text(node), *_FACTORS)
            clipped = f"planted.clip_norm(kept_late, {code.text(node)}, {factor:.3g})"
            yield code.replacement_change(node, clipped, "kept_late = {}")


def _truncate_loops(code: Code) -> Iterator[SourceChange]:
    """Yield changes that end an inner loop after a number of rounds.

    An inner loop is one that yields no state.
    """
    for loop in code.nodes_of_type(ast.While):
        if not _contains_yield(loop):
            test = code.text(loop.test)
            rounds = round(_draw_threshold("late-cap", test, *_ROUNDS))
            fewer = f"({test}) and not planted.has_passed_call_count(kept_late, {rounds})"
            yield code.replacement_change(loop.test, fewer, "kept_late = {}")
    for each in code.nodes_of_type(ast.For):
        if not _contains_yield(each):
            each_name = code.text(each.iter)
            rounds = round(_draw_threshold("late-cap", each_name, *_ROUNDS))
            yield code.replacement_change(each.iter, f"planted.limit_rounds({each_name}, {rounds})")


def _contains_yield(node: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(node))


def _draw_threshold(operator: str, text: str, low: float, high: float) -> float:
    """Return the threshold at which a late change acts, drawn log-uniformly from [low, high]."""
    rng = np.random.default_rng(zlib.crc32(f"{operator} {text}".encode()))
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


LATE_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        **{
            f"late-{name}": partial(_iterate_delayed_changes, name=name, operator=operator)
            for name, operator in RUN_OPERATORS.items()
        },
        "late-bits": _truncate_bits_of_indices,
        "late-clip": _clip_answers,
        "late-cap": _truncate_loops,
    }
)
"""Operators of late faults, by name."""
