"""Mutation operators: functions that yield all changes of one kind in a part of a program.

The operators imitate mistakes in implementations of stochastic methods. Examples are a wrong point,
an old reference, a batch that differs from the counted one, a wrong term, sign or constant.
"""

import ast
from collections.abc import Callable, Iterator, Mapping

from pfbench.verification.faults.code import ORACLES, Code, callee_name, variable_or_attribute
from pfbench.verification.faults.fault import SourceChange

Operator = Callable[[Code], Iterator[SourceChange]]

_REFERENCES = frozenset({"gradient", "hessian", "table", "reference_gradient"})
_MOVES = frozenset({"combine", "shift", "tilt", "prox", "local_lo", "condg"})
_TOLERANCES = frozenset({"eta", "tolerance", "tol", "chi", "accuracy"})
_NO_DRAW = frozenset({"start", "run", "spawn", "default_rng"})
_SIZES = frozenset({"iterations", "batch", "period", "step", "tolerance", "snapshot", "lam"})

_SWAPPED = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
}


# --- points ---------------------------------------------------------------------------------------


def read_another_iterate(code: Code) -> Iterator[SourceChange]:
    """Yield changes that read another iterate, except in yields and queries of all components."""
    return _point_changes(code, lambda role: role not in ("State", *_REFERENCES))


def change_point_of_full_query(code: Code) -> Iterator[SourceChange]:
    """Yield changes that query a full gradient, Hessians or a gradient table at another iterate."""
    return _point_changes(code, _REFERENCES.__contains__)


def change_yielded_point(code: Code) -> Iterator[SourceChange]:
    """Yield changes that replace the yielded iterate, or swap it with the point of the estimate."""
    yield from _point_changes(code, "State".__eq__)
    for state in code.calls("State"):
        if len(state.args) > 1:
            new, location = map(code.text, state.args[:2])
            swapped = [location, new, *map(code.text, state.args[2:])]
            yield code.replacement_change(state, f"{code.text(state.func)}({', '.join(swapped)})")


def _point_changes(code: Code, function: Callable[[str], bool]) -> Iterator[SourceChange]:
    for node in code.variable_reads(code.names_of_iterates):
        around = code.parents.get(node)
        role = callee_name(around) if isinstance(around, ast.Call) and node in around.args else ""
        # `state.x` is no point, and `x.shape` the same for all; `x.copy()` is the point.
        attr = around.attr if isinstance(around, ast.Attribute) else "copy"
        if function(role) and attr == "copy":
            visible = code.visible_names(node)
            for other in code.names_of_iterates:
                if other != variable_or_attribute(node) and (
                    other in visible or other.startswith("self.")
                ):
                    yield code.replacement_change(node, other)


# --- references -----------------------------------------------------------------------------------


def change_renewal(code: Code) -> Iterator[SourceChange]:
    """Yield changes that renew a reference point at wrong steps, or never update a gradient table.

    A reference is renewed too often, one iteration late, or half as often.
    """
    for node in code.nodes_of_type(ast.BinOp):
        if isinstance(node.op, ast.Mod):
            time, period = code.text(node.left), code.text(node.right)
            late, rare = f"max(({time}) - 1, 0) % ({period})", f"({time}) % (2 * ({period}))"
            yield from code.replacement_changes(node, time, late, rare)
    for call in code.calls("divmod"):
        time, period = map(code.text, call.args)
        late, rare = f"divmod(max(({time}) - 1, 0), {period})", f"divmod({time}, 2 * ({period}))"
        yield from code.replacement_changes(call, late, rare)
    for call in code.calls("replace"):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 2:
            yield code.replacement_change(call.func, f"{code.text(call.func.value)}.difference")


# --- batches --------------------------------------------------------------------------------------


def use_first_index_of_batch(code: Code) -> Iterator[SourceChange]:
    """Yield changes that use only the first index of a batch, but count the whole batch."""
    for node in code.calls("batch", "difference", "replace"):
        if len(node.args) > 1 and not is_non_oracle_call(node):
            sample = node.args[0]
            same = f"planted.repeat_first_index({code.text(sample)})"
            yield code.replacement_change(sample, same)


def reuse_draws(code: Code) -> Iterator[SourceChange]:
    """Yield changes that use one draw in all iterations, or each draw in two iterations."""
    if isinstance(code.node, ast.ClassDef):
        return
    for node in _draws(code):
        for how in ("reuse_first_draw", "repeat_draws"):
            text = f"planted.{how}(kept_draw, lambda: {code.text(node)})"
            yield code.replacement_change(node, text, "kept_draw = {}")


def draw_without_replacement(code: Code) -> Iterator[SourceChange]:
    """Yield changes that draw a batch without replacement."""
    for node in _draws(code):
        if callee_name(node) == "integers" and isinstance(node.func, ast.Attribute):
            texts = [ast.unparse(node) for node in (*node.args, *node.keywords)]
            stream = code.text(node.func.value)
            if any(text.startswith("size") for text in texts) or len(node.args) > 1:
                distinct = f"planted.draw_distinct({', '.join([stream, *texts])})"
                yield code.replacement_change(node, distinct)
        elif callee_name(node) == "sample" and isinstance(node.func, ast.Attribute):
            ask, (stream, size) = code.text(node.func.value), map(code.text, node.args)
            distinct = f"planted.draw_distinct({stream}, {ask}.n, size={size})"
            yield code.replacement_change(node, distinct)


def use_unseeded_stream(code: Code) -> Iterator[SourceChange]:
    """Yield changes that draw from a generator that does not depend on the seed."""
    if isinstance(code.node, ast.ClassDef):
        return
    for name in sorted(code.rng_names):
        if "." not in name and any(True for _ in code.variable_reads([name])):
            yield code.statement_insertion_change(f"{name} = planted.make_unseeded_stream()")


def _draws(code: Code) -> Iterator[ast.Call]:
    """Yield the calls in a piece of code that draw from a random generator."""
    for node in code.nodes_of_type(ast.Call):
        name, full_names = callee_name(node), [variable_or_attribute(node) for node in node.args]
        receiver = variable_or_attribute(getattr(node.func, "value", None))
        streams = receiver in code.rng_names or bool(code.rng_names & set(full_names))
        points = set(code.names_of_iterates) & set(full_names)
        if streams and name not in _NO_DRAW and not name[:1].isupper() and not points:
            yield node


# --- terms ----------------------------------------------------------------------------------------


def omit_or_scale_term(code: Code) -> Iterator[SourceChange]:
    """Yield changes that omit, double or halve a term of a sum."""
    for node in code.nodes_of_type(ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub) and not _has_integer_term(node):
            left, right = code.text(node.left), code.text(node.right)
            sign = "+" if isinstance(node.op, ast.Add) else "-"
            alone = right if sign == "+" else f"-({right})"
            yield from code.replacement_changes(node, left, alone)
            for factor in ("2.0", "0.5"):
                second = f"({left}) {sign} {factor} * ({right})"
                yield from code.replacement_changes(
                    node, second, f"{factor} * ({left}) {sign} ({right})"
                )
    for change in code.nodes_of_type(ast.AugAssign):
        if isinstance(change.op, ast.Add | ast.Sub):
            yield from _scale_changes(code, change.value, "0.0", "0.5", "2.0")


def change_sign(code: Code) -> Iterator[SourceChange]:
    """Yield changes that swap plus and minus, or omit a unary minus."""
    for node in code.nodes_of_type(ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub) and not _has_integer_term(node):
            left, right = code.text(node.left), code.text(node.right)
            other = "-" if isinstance(node.op, ast.Add) else "+"
            yield code.replacement_change(node, f"({left}) {other} ({right})")
    for minus in code.nodes_of_type(ast.UnaryOp):
        if isinstance(minus.op, ast.USub) and not isinstance(minus.operand, ast.Constant):
            yield code.replacement_change(minus, code.text(minus.operand))
    for change in code.nodes_of_type(ast.AugAssign):
        if isinstance(change.op, ast.Add | ast.Sub):
            yield code.replacement_change(change.value, f"-({code.text(change.value)})")


def double_or_halve_product(code: Code) -> Iterator[SourceChange]:
    """Yield changes that double or halve a product, or the last argument of a call like `prox`."""
    for node in code.nodes_of_type(ast.BinOp):
        above = code.parents.get(node)
        if isinstance(node.op, ast.Mult | ast.Div) and not isinstance(above, ast.BinOp):
            yield from _scale_changes(code, node, "2.0", "0.5")
    for call in code.calls(*_MOVES):
        last = call.args[-1] if call.args else None
        if isinstance(last, ast.Name | ast.Attribute | ast.Call):
            yield from _scale_changes(code, last, "2.0", "0.5")


def _scale_changes(code: Code, node: ast.expr, *factors: str) -> Iterator[SourceChange]:
    text = code.text(node)
    return code.replacement_changes(node, *(f"{factor} * ({text})" for factor in factors))


# --- conditions and numbers -----------------------------------------------------------------------


def change_comparison(code: Code) -> Iterator[SourceChange]:
    """Yield changes that swap strict and non-strict comparisons, or negate a condition."""
    for node in code.nodes_of_type(ast.Compare):
        other = _SWAPPED.get(type(node.ops[0]))
        if other and len(node.ops) == 1:
            left, right = code.text(node.left), code.text(node.comparators[0])
            yield code.replacement_change(node, f"({left}) {other} ({right})")
    for negated in code.nodes_of_type(ast.UnaryOp):
        if isinstance(negated.op, ast.Not):
            yield code.replacement_change(negated, code.text(negated.operand))
    for branch in code.nodes_of_type(ast.IfExp):
        yes, test, no = map(code.text, (branch.body, branch.test, branch.orelse))
        yield code.replacement_change(branch, f"({no}) if ({test}) else ({yes})")
    for both in code.nodes_of_type(ast.BoolOp):
        word = " or " if isinstance(both.op, ast.And) else " and "
        text = word.join(f"({code.text(node)})" for node in both.values)
        yield code.replacement_change(both, text)


def change_integer(code: Code) -> Iterator[SourceChange]:
    """Yield changes of an integer, or of the end of a range, by plus or minus 1."""
    for node in code.nodes_of_type(ast.Constant):
        if type(node.value) is int:
            yield from code.replacement_changes(node, str(node.value + 1), str(node.value - 1))
    for call in code.calls("range"):
        end = call.args[0] if len(call.args) == 1 else call.args[1]
        if not isinstance(end, ast.Constant):
            text = f"({code.text(end)})"
            yield from code.replacement_changes(end, f"{text} + 1", f"{text} - 1")


def change_constant(code: Code) -> Iterator[SourceChange]:
    """Yield changes that double or halve a floating-point constant."""
    for node in code.nodes_of_type(ast.Constant):
        if type(node.value) is float and node.value:
            texts = repr(2.0 * node.value), repr(0.5 * node.value)
            yield from code.replacement_changes(node, *texts)


def change_tolerance(code: Code) -> Iterator[SourceChange]:
    """Yield changes that replace the tolerance eta of an inner method by sqrt(eta) or 10 eta."""
    for node in code.nodes_of_type(ast.Name, ast.Attribute, ast.Call):
        name = callee_name(node) or getattr(node, "id", getattr(node, "attr", ""))
        around = code.parents.get(node)
        is_callee = isinstance(around, ast.Call) and around.func is node
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if name in _TOLERANCES and is_read and not is_callee:
            text = code.text(node)
            root = f"planted.sqrt_keeping_integers({text})"
            yield from code.replacement_changes(node, root, f"10.0 * ({text})")


# --- the schedule ---------------------------------------------------------------------------------


def change_schedule(code: Code) -> Iterator[SourceChange]:
    """Yield changes that halve or double a parameter of the schedule, or take its square root."""
    values = [
        keyword.value
        for call in code.nodes_of_type(ast.Call)
        for keyword in call.keywords
        if keyword.arg in _SIZES and callee_name(call) not in ("field", "parameter")
    ]
    for table in code.nodes_of_type(ast.Dict):
        values += [
            value
            for key, value in zip(table.keys, table.values, strict=True)
            if isinstance(key, ast.Constant) and key.value in _SIZES
        ]
    for node in values:
        text = code.text(node)
        scaled = [f"planted.scale_number({text}, {factor})" for factor in (0.5, 2.0)]
        root = f"planted.sqrt_keeping_integers({text})"
        yield from code.replacement_changes(node, *scaled, root)


# --- what is declared and paid --------------------------------------------------------------------


def change_output_rule(code: Code) -> Iterator[SourceChange]:
    """Yield changes that replace the method's declared output rule, such as "last", by another."""
    for target, value in code.assignments:
        for node in ast.walk(value) if variable_or_attribute(target) == "output" else ():
            if isinstance(node, ast.Constant) and node.value in ("uniform", "weighted", "last"):
                other = '"uniform"' if node.value == "last" else '"last"'
                yield code.replacement_change(node, other)


def bypass_one_oracle_call(code: Code) -> Iterator[SourceChange]:
    """Yield changes that make one oracle call bypass the ledger, so that it is not counted."""
    for node in code.calls(*sorted(ORACLES)):
        if isinstance(node.func, ast.Attribute) and not is_non_oracle_call(node):
            value = node.func.value
            yield code.replacement_change(value, f"planted.bypass_ledger({code.text(value)})")


def is_non_oracle_call(node: ast.Call) -> bool:
    """Return whether a call cannot be an oracle query, e.g. because it calls NumPy or `math`."""
    receiver = getattr(node.func, "value", None)
    if receiver is None or isinstance(receiver, ast.Call):
        return True
    return variable_or_attribute(receiver) in ("self", "cls", "np", "math")


def _has_integer_term(node: ast.BinOp) -> bool:
    """Return whether a sum has an integer constant as a term, which `change_integer` changes."""
    terms = (node.left, node.right)
    return any(isinstance(node, ast.Constant) and type(node.value) is int for node in terms)


RUN_OPERATORS: Mapping[str, Operator] = {
    "point": read_another_iterate,
    "reference": change_point_of_full_query,
    "yielded": change_yielded_point,
    "renewal": change_renewal,
    "part-of-batch": use_first_index_of_batch,
    "batch-again": reuse_draws,
    "without-replacement": draw_without_replacement,
    "other-stream": use_unseeded_stream,
    "term": omit_or_scale_term,
    "sign": change_sign,
    "factor": double_or_halve_product,
    "compare": change_comparison,
    "index": change_integer,
    "constant": change_constant,
    "tolerance": change_tolerance,
    "bypass": bypass_one_oracle_call,
}
"""Operators for code that a run reaches, by name."""

SCHEDULE_OPERATORS: Mapping[str, Operator] = {
    "schedule": change_schedule,
    **{name: RUN_OPERATORS[name] for name in ("term", "sign", "compare", "index", "constant")},
}
"""Operators for code that only a theorem's schedule reaches, by name."""

CLASS_OPERATORS: Mapping[str, Operator] = {"output": change_output_rule}
"""Operators for attributes of a class, by name."""
