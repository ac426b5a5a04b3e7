"""The source of a statement: method, measure and bound, and what they use of their module."""

import ast
import inspect
import re
from typing import Any

from pfbench.verification.falsify.confirmation import claim_module
from pfbench.verification.falsify.exact_numbers import Inexact
from pfbench.verification.falsify.statement import SearchedStatement


class _Stripper(ast.NodeTransformer):
    """Removes docstrings, annotations and decorators; keeps the defaults of fields."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return None if node.value is None else ast.Assign([node.target], node.value)


def _names(node: ast.AST) -> list[str]:
    """Return the names that a node reads and does not set."""
    names = [child for child in ast.walk(node) if isinstance(child, ast.Name)]
    local = {child.id for child in names if isinstance(child.ctx, ast.Store)}
    return [child.id for child in names if child.id not in local]


def _target_name(node: ast.AST) -> str:
    """Return the name that a statement defines; empty if none."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return str(getattr(node, "name", "") or getattr(target, "id", ""))


def collect_sources(statement: SearchedStatement) -> tuple[str, list[str]]:
    """Return the code of method, measure and bound with all that they use; and its imports."""
    module = claim_module(statement.claim)
    tree = ast.parse(inspect.getsource(module))
    method = statement.method if inspect.isclass(statement.method) else type(statement.method)
    if method.__module__ != module.__name__:
        raise Inexact("the method is in another module")
    imports = [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.Import)
        and all(alias.name in ("math", "numpy", "itertools") for alias in node.names)
    ]
    definitions = {_target_name(node): node for node in tree.body if _target_name(node)}
    check = statement.check
    functions = {"limit": statement.bound or getattr(check, "square", None)}
    functions["measure"] = getattr(check, "quantity", None)
    functions["mean_of_error"] = getattr(check, "mean", None)
    lines, needed = [], list[str]()
    for name, function in functions.items():
        if callable(function):
            node, enclosed = _find_node(function, tree)
            lines += [f"{key} = {value!r}" for key, value in enclosed.items()]
            is_lambda = isinstance(node, ast.Lambda)
            lines.append(f"{name} = {ast.unparse(node) if is_lambda else node.name}")
            needed += _names(node) if is_lambda else [node.name]
    flat = _flatten_class(method, definitions)
    needed += _names(flat)
    used: dict[str, ast.AST] = {}
    while needed:
        name = needed.pop()
        if name in definitions and name not in used:
            used[name] = _Stripper().visit(definitions[name])
            needed += _names(used[name])
    nodes = [used[name] for name in definitions if name in used]
    text = "\n".join([*(ast.unparse(ast.fix_missing_locations(n)) for n in (*nodes, flat)), *lines])
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name == "pfbench":
                text = re.sub(rf"\b{alias.asname or alias.name}\.", "pf.", text)
    return text, imports


def _flatten_class(method: type, definitions: dict[str, Any]) -> Any:
    """Return a class without bases: what `run` uses of the class and its bases."""
    members: dict[str, Any] = {}
    for base in method.__mro__:
        for node in getattr(definitions.get(base.__name__), "body", ()):
            members.setdefault(_target_name(node), node)
    needed, used = ["run"], set[str]()
    while needed:
        name = needed.pop()
        if name in members and name not in used:
            used.add(name)
            nodes = ast.walk(members[name])
            needed += [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    fields = getattr(method, "__dataclass_fields__", {})
    body = [node for name, node in members.items() if name in used - {*fields}]
    tree = ast.parse(f"class {method.__name__}: pass")
    tree.body[0].body = body  # type: ignore[attr-defined]
    return _Stripper().visit(tree).body[0]


def _find_node(function: Any, tree: ast.Module) -> tuple[Any, dict[str, Any]]:
    """Return the node of a function in its source, and the values that it encloses."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise Inexact("a function without source")
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    enclosed = dict(zip(code.co_freevars, cells, strict=True))
    if any(not isinstance(value, int | float) for value in enclosed.values()):
        raise Inexact("a function encloses a value that is no number")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node.lineno == code.co_firstlineno:
            arguments = tuple(argument.arg for argument in node.args.args)
            body = node.body if isinstance(node, ast.Lambda) else node
            attributes = {n.attr for n in ast.walk(body) if isinstance(n, ast.Attribute)}
            is_named = code.co_name in ("<lambda>", getattr(node, "name", ""))
            is_same = is_named and arguments == code.co_varnames[: code.co_argcount]
            if is_same and attributes <= {*code.co_names}:
                return node, enclosed
    raise Inexact("the source of a function is not known")
