"""One part of a program as operators see it: its nodes, its names of points and random streams."""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from pfbench.verification.faults.compiled import source_of
from pfbench.verification.faults.fault import Change, Edit, edited
from pfbench.verification.faults.reach import Node, Part

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
    "tilt": (1, 2),
}
"""The places of points among the arguments of an oracle or an operation, by its name."""

ORACLES = frozenset(POINTS_OF) - {"tilt"} | {"lo"}

_COPIES = frozenset({"keep", "copy", "array", "asarray", "combine", "shift"})

N = TypeVar("N", bound=ast.AST)

Placed = ast.expr | ast.stmt | ast.keyword
"""Nodes that have a place."""

_WITHIN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def called(node: ast.AST) -> str:
    """Return the last name of what is called; empty if the node is no call of a name."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def dotted(node: ast.AST | None) -> str:
    """Return a name, or an attribute of self, as it is written; empty if it is neither."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and dotted(node.value) == "self":
        return f"self.{node.attr}"
    return ""


class Code:
    """A part of a program, with what operators ask of it."""

    def __init__(self, part: Part) -> None:
        self.part, self.node = part, part.node
        self._source = source_of(part.module)
        self._lines = self._source.encode().splitlines(keepends=True)

    # --- its nodes ---

    @cached_property
    def above(self) -> dict[ast.AST, ast.AST]:
        """The node above each node."""
        return {child: node for node in ast.walk(self.node) for child in ast.iter_child_nodes(node)}

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of its statements in their order, without docstrings and annotations."""
        return [one for statement in _body(self.node) for one in _walk(statement)]

    def of(self, *kinds: type[N]) -> Iterator[N]:
        """Yield its nodes of some kinds."""
        return (one for one in self.nodes if isinstance(one, kinds))

    def calls(self, *names: str) -> "Iterator[ast.Call]":
        """Yield the calls of some names."""
        return (one for one in self.nodes if isinstance(one, ast.Call) and called(one) in names)

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes above a node, the nearest first."""
        while node in self.above:
            node = self.above[node]
            yield node

    def placed(self, edit: Edit) -> ast.expr | None:
        """Return the expression that an edit replaces; None if it replaces none."""
        return next((one for one in self.of(ast.expr) if _place(one, edit.after) == edit), None)

    def is_repeated(self, node: ast.AST) -> bool:
        """Whether a node is come to several times in one call: in a loop or a function within."""
        below = node
        for one in self.enclosing(node):
            if one is self.node:
                return False
            if isinstance(one, (*_WITHIN, ast.While)):
                return True
            if isinstance(one, ast.For) and below is not one.iter:
                return True
            below = one
        return False

    def is_closure(self, node: ast.AST) -> bool:
        """Whether a node is in a function within the part's."""
        above = (one for one in self.enclosing(node) if one is not self.node)
        return any(isinstance(one, _WITHIN) for one in above)

    def text(self, node: ast.AST) -> str:
        """Return a node as it is written."""
        return ast.get_source_segment(self._source, node) or ast.unparse(node)

    # --- changes ---

    def change(self, node: Placed, after: str, *first: str) -> Change:
        """Return the change of an expression into another.

        A statement that is given, too, is put before all others of the function.
        """
        return self._told(node, _place(node, _fitting(after)), *map(self._before, first))

    def begin(self, statement: str) -> Change:
        """Return the change that puts a statement before all others of the function."""
        body = _body(self.node)[0]
        edit = self._before(statement)
        return Change((edit,), self._line(body), f"{statement}; {self._line(body)}")

    def _before(self, statement: str) -> Edit:
        body = _body(self.node)[0]
        line, column = body.lineno, body.col_offset
        return Edit(line, column, line, column, f"{statement}\n{' ' * column}")

    def _told(self, node: Placed, edit: Edit, *others: Edit) -> Change:
        """Return a change with the line it is in before and after."""
        unit = node
        for one in (node, *self.enclosing(node)):
            is_block = isinstance(one, ast.stmt) and hasattr(one, "body")
            if is_block or isinstance(unit, ast.stmt | ast.keyword):
                break
            unit = one if isinstance(one, Placed) else unit
        return Change((edit, *others), self._line(unit), self._line(unit, edit))

    def changed(self, edits: Sequence[Edit]) -> str:
        """Return the function or class after a change, as Python's syntax tree in words.

        Raises
        ------
        SyntaxError
            If it cannot be read.
        """
        return ast.dump(ast.parse(textwrap.dedent(self._cut(self.node, edits))))

    def _line(self, node: Placed, *edits: Edit) -> str:
        """Return a node in one line, with edits made in it; of a block its first line."""
        text = self._cut(node, edits)
        if hasattr(node, "body"):
            text = text.partition("\n")[0]
        return " ".join(text.split())

    def _cut(self, node: Placed, edits: Sequence[Edit]) -> str:
        """Return the lines of a statement, or the text of an expression, with edits made in it."""
        here = _place(node, "")
        column = 0 if isinstance(node, Node) else here.column
        lines = self._lines[here.line - 1 : here.end_line]
        end = len(lines[-1]) - here.end_column
        own = [
            replace(e, line=e.line - here.line + 1, end_line=e.end_line - here.line + 1)
            for e in edits
            if e.line >= here.line
        ]
        text = edited(b"".join(lines).decode(), tuple(own)).encode()
        return text[column : len(text) - end].decode()

    # --- what its names stand for ---

    @cached_property
    def points(self) -> tuple[str, ...]:
        """The names of its iterates: what is asked about, and copies and moves of these."""
        found = {
            dotted(call.args[place])
            for call in self.calls(*POINTS_OF)
            for place in POINTS_OF[called(call)]
            if place < len(call.args)
        }
        found |= {arg.arg for arg in self._arguments if _annotation(arg) == "Point"}
        found -= {""}
        while True:
            further = {name for name in self._passed(found) if name and name not in found}
            if not further:
                return tuple(sorted(found - self.streams))
            found |= further

    def _passed(self, points: set[str]) -> Iterator[str]:
        """Yield the names that points are assigned to or from."""
        for target, value in self.assignments:
            if isinstance(value, ast.Call) and called(value) in _COPIES:
                given = [dotted(one) for one in value.args]
                given += [dotted(getattr(value.func, "value", None))]
                if points & set(given):
                    yield dotted(target)
                if dotted(target) in points and called(value) == "keep":
                    yield from given
            elif dotted(value) in points:
                yield dotted(target)
            elif dotted(target) in points:
                yield dotted(value)

    @cached_property
    def assignments(self) -> "list[tuple[ast.expr, ast.expr]]":
        """Pairs of a target and what is assigned to it."""
        whole = [(target, one.value) for one in self.of(ast.Assign) for target in one.targets]
        whole += [(one.target, one.value) for one in self.of(ast.AnnAssign) if one.value]
        found: list[tuple[ast.expr, ast.expr]] = []
        for target, value in whole:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                found += zip(target.elts, value.elts, strict=False)
            else:
                found.append((target, value))
        return found

    @cached_property
    def streams(self) -> frozenset[str]:
        """The names of its random streams."""
        found = {
            arg.arg
            for arg in self._arguments
            if arg.arg in ("rng", "generator") or "Generator" in _annotation(arg)
        }
        found |= {"self.rng", "self._rng"}
        return frozenset(
            found | {dotted(t) for t, value in self.assignments if dotted(value) in found} - {""}
        )

    @property
    def _arguments(self) -> list[ast.arg]:
        return [one for one in ast.walk(self.node) if isinstance(one, ast.arg)]

    def visible(self, node: ast.AST) -> set[str]:
        """Return the names that are bound in the functions around a node."""
        around = [one for one in self.enclosing(node) if isinstance(one, _WITHIN)]
        return set().union(*(_bound(one) for one in around)) if around else set()

    def loads(self, names: Sequence[str]) -> "Iterator[ast.expr]":
        """Yield the places where one of some names is read."""
        for one in self.of(ast.expr):
            if dotted(one) in names and isinstance(getattr(one, "ctx", None), ast.Load):
                yield one


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


def _bound(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the names that a function binds itself, its arguments among them."""
    found = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else []
    while waiting:
        one = waiting.pop()
        if isinstance(one, _WITHIN):
            continue
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        waiting += ast.iter_child_nodes(one)
    return found


def _annotation(arg: ast.arg) -> str:
    return ast.unparse(arg.annotation).strip("'\"") if arg.annotation else ""


def _place(node: Placed, after: str) -> Edit:
    # A parser says where each node ends; only nodes made by hand may lack it.
    end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
    return Edit(node.lineno, node.col_offset, end_line, end_column, after)


def _fitting(expression: str) -> str:
    """Return an expression in parentheses where it may need them; as it is if it cannot be read."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return expression
    text = ast.unparse(tree)
    alone = isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
    return text if alone else f"({text})"
