"""The source of a statement: method, measure and bound, with what they use of their module."""

import ast
import inspect
from typing import Any

from pfbench.verification.falsify.confirmation import module_of
from pfbench.verification.falsify.numbers import Inexact
from pfbench.verification.falsify.statement import Statement


class _Strip(ast.NodeTransformer):
    """Removes docstrings, annotations, decorators; keeps defaults of fields."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        node.body = _without_text(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list = []
        node.body = _without_text(node.body) or [ast.Pass()]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return None
        return ast.Assign(targets=[node.target], value=node.value)

    def visit_Assign(self, node: ast.Assign) -> Any:
        name = getattr(node.targets[0], "id", "")
        return None if name in ("requires", "deterministic", "name", "assumes") else node


def _without_text(body: list[Any]) -> list[Any]:
    kept = [
        one
        for one in body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]
    return kept or [ast.Pass()]


def sources_of(statement: Statement) -> str:
    """Return the method, the measure and the bound, with all that they use of their module."""
    module = module_of(statement.claim)
    tree = ast.parse(inspect.getsource(module))
    method = statement.method if inspect.isclass(statement.method) else type(statement.method)
    if method.__module__ != module.__name__:
        raise Inexact("the method is in another module")
    defined = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node
    of = getattr(statement.check, "of", None)
    functions = {"limit": statement.bound or statement.check.square}
    functions |= (
        {"mean_of_error": statement.check.mean} if getattr(statement.check, "mean", None) else {}
    )
    functions |= {"measure": of} if callable(of) else {}
    extra, wanted = [], [method.__name__]
    for name, function in functions.items():
        node, free = _node_of(function, tree)
        extra += [f"{key} = {value!r}" for key, value in free.items()]
        wanted += [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        if isinstance(node, ast.Lambda):
            extra.append(f"{name} = {ast.unparse(node)}")
        else:
            wanted.append(node.name)
            extra.append(f"{name} = {node.name}")
    needed: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        node = defined.get(name)
        if node is None or name in needed:
            continue
        needed[name] = node
        wanted += [n.id for n in ast.walk(_Strip().visit(node)) if isinstance(n, ast.Name)]
    del needed[method.__name__]
    flat = _flattened(method, defined)
    bases = {base.__name__ for base in method.__mro__[1:]}
    used = {n.id for n in ast.walk(flat) if isinstance(n, ast.Name)}
    ordered = [
        node for name, node in defined.items() if name in needed and name not in bases - used
    ]
    return "\n".join(
        [*(ast.unparse(ast.fix_missing_locations(n)) for n in (*ordered, flat)), *extra]
    )


def _flattened(method: type, defined: dict[str, Any]) -> ast.ClassDef:
    """Return a class without bases: what `run` of the method uses of its own and its bases."""
    members: dict[str, Any] = {}
    for base in method.__mro__:
        for node in getattr(defined.get(base.__name__), "body", ()):
            name = getattr(node, "name", "") or getattr(
                getattr(node, "targets", [None])[0], "id", ""
            )
            if name:
                members.setdefault(name, node)
    wanted, kept = ["run"], dict[str, Any]()
    while wanted:
        name = wanted.pop()
        if name in members and name not in kept:
            kept[name] = members[name]
            nodes = [n for n in ast.walk(members[name]) if isinstance(n, ast.Attribute)]
            wanted += [n.attr for n in nodes]
    body = [node for name, node in members.items() if name in kept]
    made = ast.ClassDef(
        name=method.__name__, bases=[], keywords=[], body=body, decorator_list=[], type_params=[]
    )
    return made


def _node_of(function: Any, tree: ast.Module) -> tuple[Any, dict[str, Any]]:
    """Return where a function stands in its source, and the values that it encloses."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise Inexact("a function without source")
    free = dict(
        zip(code.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True)
    )
    if any(not isinstance(v, int | float) for v in free.values()):
        raise Inexact("a function that encloses what is no number")
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == code.co_name
            and node.lineno == code.co_firstlineno
        ):
            return node, free
    arguments = code.co_varnames[: code.co_argcount]
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            names = {n.attr for n in ast.walk(node.body) if isinstance(n, ast.Attribute)}
            if tuple(a.arg for a in node.args.args) == arguments and names <= set(code.co_names):
                return node, free
    raise Inexact("the source of a function was not found")
