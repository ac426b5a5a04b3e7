"""Source code of one part of a program, in which mutation operators look for changes."""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from pfbench.verification.faults.fault import Edit, SourceChange, apply_edits
from pfbench.verification.faults.mutant_compilation import module_source
from pfbench.verification.faults.reachability import Node, ProgramPart

POINTS_OF = {
    "gradient": (0,),
    "value": (0,),
    "hessian": (0,),
    "table": (0,),
    "batch": (1, 2),
    "difference": (1, 2),
    "product": (0, 1),
    "replace": (1,),
    "prox": (0,),
    "local_lo": (0,),
    "tilt": (1, 2),
}
"""Positions of points among the arguments of an oracle or an operation, by name."""

ORACLES = frozenset(POINTS_OF) - {"tilt"} | {"lo"}

_COPIES = frozenset({"keep", "copy", "array", "asarray", "combine", "shift"})

N = TypeVar("N", bound=ast.AST)

Placed = ast.expr | ast.stmt | ast.keyword
"""Syntax nodes with a position in the source."""

_WITHIN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def callee_name(node: ast.AST) -> str:
    """Return the last part of a called function's name; empty if the node is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def variable_or_attribute(node: ast.AST | None) -> str:
    """Return NAME for a variable, "self.NAME" for an attribute of self, and "" for other nodes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and variable_or_attribute(node.value) == "self":
        return f"self.{node.attr}"
    return ""


class Code:
    """Source code of a function or class, with methods to find nodes in it and to plan changes."""

    def __init__(self, part: ProgramPart) -> None:
        self.part, self.node = part, part.node
        self._lines = module_source(part.module).encode().splitlines(keepends=True)

    # --- its nodes ---

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Parent of each syntax node."""
        return {child: node for node in ast.walk(self.node) for child in ast.iter_child_nodes(node)}

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Syntax nodes of the statements in order, without docstrings and annotations."""
        return [node for statement in _body(self.node) for node in _walk(statement)]

    def nodes_of_type(self, *kinds: type[N]) -> Iterator[N]:
        """Return an iterator over the nodes of the given types, in order."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def calls(self, *names: str) -> "Iterator[ast.Call]":
        """Return an iterator over the calls of functions or methods with the given names."""
        return (node for node in self.nodes_of_type(ast.Call) if callee_name(node) in names)

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def find_replaced_expression(self, edit: Edit) -> ast.expr | None:
        """Return the expression that an edit replaces; None if it replaces no whole expression."""
        nodes = self.nodes_of_type(ast.expr)
        return next((node for node in nodes if _make_edit(node, edit.replacement) == edit), None)

    def may_run_repeatedly(self, node: ast.AST) -> bool:
        """Return whether one execution of the code may execute a node several times.

        This may happen to a node in a loop or in an inner function.
        """
        below = node
        for item in self.enclosing(node):
            if item is self.node:
                return False
            if isinstance(item, (*_WITHIN, ast.While)):
                return True
            if isinstance(item, ast.For) and below is not item.iter:
                return True
            below = item
        return False

    def is_inside_closure(self, node: ast.AST) -> bool:
        """Return whether a node is inside an inner function of the code."""
        above = (node for node in self.enclosing(node) if node is not self.node)
        return any(isinstance(node, _WITHIN) for node in above)

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        if not isinstance(node, Placed):
            return ast.unparse(node)
        return self._text_after_edits(node, ())

    # --- changes ---

    def replacement_change(self, node: Placed, after: str, *first: str) -> SourceChange:
        """Return the source change that replaces an expression by the text `after`.

        The statements `first`, if any, are inserted before all others of the function.
        """
        edit = _make_edit(node, _parenthesise(after))
        return self._make_change(node, edit, *map(self._prepend_edit, first))

    def replacement_changes(self, node: Placed, *texts: str) -> Iterator[SourceChange]:
        """Return an iterator over the changes that replace an expression by each of the texts."""
        return (self.replacement_change(node, text) for text in texts)

    def statement_insertion_change(self, statement: str) -> SourceChange:
        """Return the source change that inserts a statement before all others of the function."""
        body = _body(self.node)[0]
        edit, before = self._prepend_edit(statement), self._line_after_edits(body)
        return SourceChange((edit,), before, f"{statement}; {before}")

    def _prepend_edit(self, statement: str) -> Edit:
        body = _body(self.node)[0]
        line, column = body.lineno, body.col_offset
        return Edit(line, column, line, column, f"{statement}\n{' ' * column}")

    def _make_change(self, node: Placed, edit: Edit, *edits: Edit) -> SourceChange:
        """Return the change that the edits make, with the line of `node` before and after."""
        unit = node
        for item in (node, *self.enclosing(node)):
            is_block = isinstance(item, ast.stmt) and hasattr(item, "body")
            if is_block or isinstance(unit, ast.stmt | ast.keyword):
                break
            unit = item if isinstance(item, Placed) else unit
        return SourceChange(
            (edit, *edits), self._line_after_edits(unit), self._line_after_edits(unit, edit)
        )

    def dump_after_edits(self, edits: Sequence[Edit]) -> str:
        """Return the syntax tree of the code after some edits, as text.

        Raises
        ------
        SyntaxError
            If the edited source does not parse.
        """
        return ast.dump(ast.parse(textwrap.dedent(self._text_after_edits(self.node, edits))))

    def _line_after_edits(self, node: Placed, *edits: Edit) -> str:
        """Return the edited text of a node in one line; for a block, only its first line."""
        text = self._text_after_edits(node, edits)
        if hasattr(node, "body"):
            text = text.partition("\n")[0]
        return " ".join(text.split())

    def _text_after_edits(self, node: Placed, edits: Sequence[Edit]) -> str:
        """Return a node's text after some edits; a function or class keeps its indentation."""
        edit = _make_edit(node, "")
        column = 0 if isinstance(node, Node) else edit.column
        lines = self._lines[edit.line - 1 : edit.end_line]
        end = len(lines[-1]) - edit.end_column
        own = [
            replace(e, line=e.line - edit.line + 1, end_line=e.end_line - edit.line + 1)
            for e in edits
            if e.line >= edit.line
        ]
        text = apply_edits(b"".join(lines).decode(), tuple(own)).encode()
        return text[column : len(text) - end].decode()

    # --- what its names stand for ---

    @cached_property
    def names_of_iterates(self) -> tuple[str, ...]:
        """Names of variables that hold iterates, e.g. the points at which oracles are queried."""
        point_names = {
            variable_or_attribute(call.args[position])
            for call in self.calls(*POINTS_OF)
            for position in POINTS_OF[callee_name(call)]
            if position < len(call.args)
        }
        point_names |= {arg.arg for arg in self._arguments if _annotation(arg) == "Point"}
        point_names -= {""}
        while True:
            further = {*self._iterate_names_sharing_points(point_names)} - {"", *point_names}
            if not further:
                return tuple(sorted(point_names - self.rng_names))
            point_names |= further

    def _iterate_names_sharing_points(self, points: set[str]) -> Iterator[str]:
        """Yield the names of variables that an assignment sets equal to a variable in `points`."""
        for target, value in self.assignments:
            if isinstance(value, ast.Call) and callee_name(value) in _COPIES:
                point_names = [variable_or_attribute(node) for node in value.args]
                point_names += [variable_or_attribute(getattr(value.func, "value", None))]
                if points & set(point_names):
                    yield variable_or_attribute(target)
                if variable_or_attribute(target) in points and callee_name(value) == "keep":
                    yield from point_names
            elif variable_or_attribute(value) in points:
                yield variable_or_attribute(target)
            elif variable_or_attribute(target) in points:
                yield variable_or_attribute(value)

    @cached_property
    def assignments(self) -> "list[tuple[ast.expr, ast.expr]]":
        """Pairs (target, value), one for each assignment."""
        plain = self.nodes_of_type(ast.Assign)
        nodes = [(target, node.value) for node in plain for target in node.targets]
        annotated = self.nodes_of_type(ast.AnnAssign)
        nodes += [(node.target, node.value) for node in annotated if node.value]
        assignments: list[tuple[ast.expr, ast.expr]] = []
        for target, value in nodes:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                assignments += zip(target.elts, value.elts, strict=False)
            else:
                assignments.append((target, value))
        return assignments

    @cached_property
    def rng_names(self) -> frozenset[str]:
        """Names of the variables that are random generators."""
        args = {
            arg.arg
            for arg in self._arguments
            if arg.arg in ("rng", "generator") or "Generator" in _annotation(arg)
        }
        args |= {"self.rng", "self._rng"}
        copies = {
            variable_or_attribute(t)
            for t, value in self.assignments
            if variable_or_attribute(value) in args
        }
        return frozenset(args | copies - {""})

    @property
    def _arguments(self) -> list[ast.arg]:
        return [node for node in ast.walk(self.node) if isinstance(node, ast.arg)]

    @property
    def argument_names(self) -> set[str]:
        """Names of the arguments of all functions in this piece of code."""
        return {arg.arg for arg in self._arguments}

    def visible_names(self, node: ast.AST) -> set[str]:
        """Return the names of the local variables and arguments in the functions around a node."""
        around = [node for node in self.enclosing(node) if isinstance(node, _WITHIN)]
        return set().union(*(_bound_names(item) for item in around)) if around else set()

    def variable_reads(self, names: Sequence[str]) -> "Iterator[ast.expr]":
        """Yield the nodes that read a variable with one of the given names."""
        for node in self.nodes_of_type(ast.expr):
            if variable_or_attribute(node) in names and isinstance(
                getattr(node, "ctx", None), ast.Load
            ):
                yield node


def _body(node: Node) -> list[ast.stmt]:
    """Return the statements of a function or class without its docstring."""
    body, first = node.body, node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text and len(body) > 1 else body


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not is_text:
                yield from _walk(child)


def _bound_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the names that a function binds, except in its inner functions."""
    args = {node.arg for node in ast.walk(node.args) if isinstance(node, ast.arg)}
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else []
    while waiting:
        item = waiting.pop()
        if isinstance(item, _WITHIN):
            continue
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            args.add(item.id)
        waiting += ast.iter_child_nodes(item)
    return args


def _annotation(arg: ast.arg) -> str:
    return ast.unparse(arg.annotation).strip("'\"") if arg.annotation else ""


def _make_edit(node: Placed, after: str) -> Edit:
    # A parser says where each node ends; only nodes made by hand may lack it.
    end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
    return Edit(node.lineno, node.col_offset, end_line, end_column, after)


def _parenthesise(expression: str) -> str:
    """Return an expression, in parentheses if it may need them.

    Text that does not parse is returned unchanged.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return expression
    text = ast.unparse(tree)
    alone = isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
    return text if alone else f"({text})"
