"""Late forms of the operators: faults that do nothing on a few components and a dozen iterations.

What an operator changes is changed only once its place was come to often enough (a number of
iterations, of epochs, of steps of an inner loop); beside these an index is kept in too few bits, a
long answer is clipped, an inner loop is cut off. Each threshold is drawn from the place, so that
the same fault has it each time.
"""

import ast
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from pfbench.verification.faults.code import Code
from pfbench.verification.faults.fault import Change
from pfbench.verification.faults.operators import OF_RUNS, Operator, is_own

_TIMES = {"reference": (4, 25)}
"""After how many times a change begins, of what is done once an epoch."""

_USUALLY = (13, 1500)
"""The same of what lasts for a run."""

_BITS = (5, 13)

_FACTORS = (3.0, 30.0)
"""Times the median norm at which an answer is clipped."""

_ROUNDS = (13, 120)
"""After how many rounds of an inner loop."""

_ANSWERS = ("gradient", "batch", "difference", "replace")


def _afterwards(code: Code, *, name: str, operator: Operator) -> Iterator[Change]:
    """Yield the changes of an operator, made only after a number of times."""
    for change in operator(code):
        first, *begun = change.edits
        node = code.placed(first)
        if node is not None and code.is_repeated(node):
            lasts = _yields(code.node) or code.is_closure(node)
            usually = _USUALLY if lasts else _ROUNDS
            times = round(_drawn(change.after, *_TIMES.get(name, usually)))
            late = f"({first.after}) if planted.late(kept_late, {times}) else ({code.text(node)})"
            start = "; ".join(["kept_late = {}", *(one.after.strip() for one in begun)])
            yield code.change(node, late, start)


def _few_bits(code: Code) -> Iterator[Change]:
    """Keep the indices of a batch in a few bits."""
    for node in code.calls("batch", "difference", "replace"):
        if len(node.args) > 1 and not is_own(node):
            sample = code.text(node.args[0])
            bits = round(_drawn(f"{code.text(node)} {node.lineno}", *_BITS))
            yield code.change(node.args[0], f"planted.in_bits({sample}, {bits})")


def _clipped(code: Code) -> Iterator[Change]:
    """Clip an answer at a multiple of the median of the norms so far."""
    for node in code.calls(*_ANSWERS):
        if not is_own(node) and code.is_repeated(node):
            factor = _drawn(f"{code.text(node)} {node.lineno}", *_FACTORS)
            clipped = f"planted.clipped(kept_late, {code.text(node)}, {factor:.3g})"
            yield code.change(node, clipped, "kept_late = {}")


def _cut_off(code: Code) -> Iterator[Change]:
    """End an inner loop, one that yields nothing, after a number of rounds."""
    for loop in code.of(ast.While):
        if not _yields(loop):
            test = code.text(loop.test)
            rounds = round(_drawn(f"{test} {loop.lineno}", *_ROUNDS))
            fewer = f"({test}) and not planted.late(kept_late, {rounds})"
            yield code.change(loop.test, fewer, "kept_late = {}")
    for each in code.of(ast.For):
        if not _yields(each):
            every = code.text(each.iter)
            rounds = round(_drawn(f"{every} {each.lineno}", *_ROUNDS))
            yield code.change(each.iter, f"planted.first_rounds({every}, {rounds})")


def _yields(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))


def _drawn(place: str, low: float, high: float) -> float:
    """Return a number that a place draws, uniform in its logarithm."""
    rng = np.random.default_rng(zlib.crc32(place.encode()))
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


OF_LATE: Mapping[str, Operator] = MappingProxyType(
    {
        **{
            f"late-{name}": partial(_afterwards, name=name, operator=operator)
            for name, operator in OF_RUNS.items()
        },
        "late-bits": _few_bits,
        "late-clip": _clipped,
        "late-cap": _cut_off,
    }
)
"""The operators of late faults, by name."""
