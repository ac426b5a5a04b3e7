"""The module of a claim: loaded again for an exact replay, and its source for a script."""

import __future__

import ast
import builtins
import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pfbench import points
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.exact_numbers import Inexact, Number
from pfbench.verification.falsify.statement import SearchedStatement

_COUNTER = count()


def claim_module(claim: Claim) -> ModuleType:
    """Return the module that states a claim."""
    check: Any = claim.check
    function = getattr(check, "square", None) or next(iter(check.bounds.values()))
    return sys.modules.get(function.__module__) or importlib.import_module(function.__module__)


def load_exact_module(module: ModuleType, number: type[Number]) -> ModuleType:
    """Return a module executed with another arithmetic; the module itself is left as it is.

    A statement at its top that refuses exact numbers, as of an instance, is executed as it stands.

    Raises
    ------
    Inexact
        If its source is not known.
    """
    file = inspect.getsourcefile(module) if getattr(module, "__file__", None) else None
    if file is None:
        raise Inexact(f"the source of {module.__name__} is not known")
    text = Path(file).read_text(encoding="utf-8")
    plain, exact = ast.parse(text, file), _Rewriter().visit(ast.parse(text, file))
    twin = ModuleType(f"{module.__name__}__exact_{next(_COUNTER)}")
    replacements = _make_replacements(number)

    def import_exact(name: str, *arguments: Any) -> Any:
        imported = __import__(name, *arguments)
        return replacements.get(imported.__name__, imported)

    vars(twin).update(
        __file__=file,
        __package__=module.__package__,
        __builtins__={**vars(builtins), "__import__": import_exact},
        _exact_=lambda text: number.from_value(Fraction(text)),
        _float_=partial(_convert, number),
        _divide_=lambda a, b: _convert_integers(number, a) / b,
        _power_=lambda a, b: (
            (a if _is_integer(b) and b >= 0 else _convert_integers(number, a)) ** b
        ),
    )
    sys.modules[twin.__name__] = twin  # dataclasses look their module up
    flags = __future__.annotations.compiler_flag if "import annotations" in text else 0
    try:
        for node, original in zip(exact.body, plain.body, strict=True):
            try:
                _execute(node, file, flags, twin)
            except Exception:
                _execute(original, file, flags, twin)
    finally:
        sys.modules.pop(twin.__name__, None)
    return twin


def _execute(node: ast.stmt, file: str, flags: int, module: ModuleType) -> None:
    tree = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(tree, file, "exec", flags), vars(module))


class _Rewriter(ast.NodeTransformer):
    """Replaces float literals, quotients, powers and calls of `float`."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is float and math.isfinite(node.value):
            return _call("_exact_", ast.Constant(repr(node.value)))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "_divide_", ast.Pow: "_power_"}.get(type(node.op))
        return node if name is None else _call(name, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.op, ast.Div | ast.Pow) or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([node.target], self.visit(value))

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if node.arg == "instances" else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            node.func.id = "_float_"
        return node


def _call(name: str, *arguments: Any) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _convert(number: type[Number], value: Any) -> Any:
    exact = number.convert_scalar(value)
    if exact is None:
        raise Inexact(f"float({value!r})")
    return exact


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _convert_integers(number: type[Number], value: Any) -> Any:
    """Return integers, and arrays of integers, as numbers."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "ib":
        return value.astype(object) * number.from_value(1)
    return number.convert_scalar(value) if _is_integer(value) else value


def _make_replacements(number: type[Number]) -> Mapping[str, ModuleType]:
    """Return modules in which some functions are exact, by their names."""

    def elementary(name: str) -> Callable[[Any], Any]:
        def apply(value: Any) -> Any:
            function = getattr(_convert(number, value), name, None)
            if function is None:
                raise Inexact(f"the function {name}")
            return function()

        return np.frompyfunc(apply, 1, 1)

    def array(value: Any, *arguments: Any, **options: Any) -> Any:
        objects = np.array(value, dtype=object)
        flat = [number.convert_scalar(entry) for entry in objects.ravel()]
        if any(entry is None for entry in flat) or all(map(_is_integer, objects.ravel())):
            return np.array(value)
        return np.array(flat, dtype=object).reshape(objects.shape)

    def fill(constant: int) -> Callable[..., Any]:
        entry = number.from_value(constant)
        return lambda shape, *arguments, **options: np.full(shape, entry, dtype=object)

    simple = {name: elementary(name) for name in ("sqrt", "exp", "log")}
    arrays: dict[str, Any] = {"array": array, "asarray": array, "zeros": fill(0), "ones": fill(1)}
    arrays |= {"empty": fill(0), "float64": partial(_convert, number)}
    moves = {
        "combine": lambda x, v, w: (1 - w) * x + w * v,
        "tilt": lambda g, x, u, c: g + c * (x - u),
        "inner": lambda a, b: a.ravel() @ b.ravel(),
        "distance": lambda a, b: simple["sqrt"]((a - b).ravel() @ (a - b).ravel()),
    }
    package = sys.modules[__name__.partition(".")[0]]
    replacements: dict[str, ModuleType] = {}
    originals = {math: simple, np: simple | arrays, points: moves, package: moves}
    for module, functions in originals.items():
        replacements[module.__name__] = twin = ModuleType(module.__name__)
        vars(twin).update(vars(module) | functions)
    return replacements


# --- the source for a script ----------------------------------------------------------------------


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


def _names_read_but_not_set(node: ast.AST) -> list[str]:
    """Return the names that a node reads and does not set."""
    names = [child for child in ast.walk(node) if isinstance(child, ast.Name)]
    local = {child.id for child in names if isinstance(child.ctx, ast.Store)}
    return [child.id for child in names if child.id not in local]


def _target_name(node: ast.AST) -> str:
    """Return the name that a statement defines; empty if none."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return str(getattr(node, "name", "") or getattr(target, "id", ""))


def collect_sources_and_imports(statement: SearchedStatement) -> tuple[str, list[str]]:
    """Return the code of method, measure and bound with all that they use; and its imports."""
    module, method = claim_module(statement.claim), statement.method
    tree = ast.parse(inspect.getsource(module))
    method = method if inspect.isclass(method) else type(method)
    if method.__module__ != module.__name__:
        raise Inexact("the method is in another module")
    definitions: dict[str, Any] = {_target_name(node): node for node in tree.body}
    definitions[method.__name__] = _flatten_class(method, definitions)
    check = statement.check
    functions = {"limit": statement.bound or getattr(check, "square", None)}
    functions["measure"] = getattr(check, "quantity", None)
    functions["mean_of_error"] = getattr(check, "mean", None)
    lines, needed, used = list[str](), [method.__name__], dict[str, ast.AST]()
    for name, function in functions.items():
        if callable(function):
            node, enclosed = _find_node_and_closure(function, tree)
            lines += [f"{key} = {value!r}" for key, value in enclosed.items()]
            is_lambda = isinstance(node, ast.Lambda)
            lines.append(f"{name} = {ast.unparse(node) if is_lambda else node.name}")
            needed += _names_read_but_not_set(node) if is_lambda else [node.name]
    while needed:
        name = needed.pop()
        if name and name in definitions and name not in used:
            used[name] = _Stripper().visit(definitions[name])
            needed += _names_read_but_not_set(used[name])
    nodes = (ast.fix_missing_locations(used[name]) for name in definitions if name in used)
    text, imports = "\n".join([*map(ast.unparse, nodes), *lines]), list[str]()
    for node in (node for node in tree.body if isinstance(node, ast.Import)):
        if all(alias.name in ("math", "numpy", "itertools") for alias in node.names):
            imports.append(ast.unparse(node))
        for alias in node.names:
            if alias.name == "pfbench":
                text = re.sub(rf"\b{alias.asname or alias.name}\.", "pf.", text)
    return text, imports


def _flatten_class(method: type, definitions: dict[str, Any]) -> Any:
    """Return a class without bases: what `run` uses of the class and its bases."""
    members: dict[str, Any] = {}
    for base in method.__mro__:
        for node in getattr(definitions.get(base.__name__), "body", ()):
            members.setdefault(_target_name(node), node)
    for name in getattr(method, "__dataclass_fields__", {}):
        members.pop(name, None)
    needed, used = ["run"], dict[str, Any]()
    while needed:
        name = needed.pop()
        if name in members and name not in used:
            used[name] = members[name]
            nodes = ast.walk(members[name])
            needed += [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    flat: Any = ast.parse(f"class {method.__name__}: pass").body[0]
    flat.body = [*used.values()]
    return flat


def _find_node_and_closure(function: Any, tree: ast.Module) -> tuple[Any, dict[str, Any]]:
    """Return the node of a function in its source, and the values that it encloses."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise Inexact("a function without source")
    enclosed = dict(inspect.getclosurevars(function).nonlocals)
    if any(not isinstance(value, int | float) for value in enclosed.values()):
        raise Inexact("a function encloses a value that is not a number")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node.lineno == code.co_firstlineno:
            arguments = tuple(argument.arg for argument in node.args.args)
            names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            is_named = code.co_name in ("<lambda>", getattr(node, "name", ""))
            is_same = is_named and arguments == code.co_varnames[: code.co_argcount]
            if is_same and {*code.co_names} <= names:
                return node, enclosed
    raise Inexact("the source of a function is not known")
