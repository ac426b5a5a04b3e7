"""A user's module, loaded again for a replay: literals, quotients and functions are exact."""

import ast
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pfbench import points
from pfbench.verification.falsify.exact_numbers import Inexact, Number

_COUNTER = count()


def load_exact_module(module: ModuleType, number: type[Number]) -> ModuleType:
    """Return a module executed with another arithmetic; the module itself is left as it is.

    Raises
    ------
    Inexact
        If its source is not known.
    """
    file = inspect.getsourcefile(module) if getattr(module, "__file__", None) else None
    if file is None:
        raise Inexact(f"the source of {module.__name__} is not known")
    tree = _Rewriter().visit(ast.parse(Path(file).read_text(encoding="utf-8"), file))
    twin = ModuleType(f"{module.__name__}__exact_{next(_COUNTER)}")
    twin.__file__, twin.__package__ = file, module.__package__
    replacements = _replacements(number)

    def replace_functions() -> None:
        for name, value in list(vars(twin).items()):
            if (callable(value) or isinstance(value, ModuleType)) and id(value) in replacements:
                setattr(twin, name, replacements[id(value)])

    vars(twin).update(
        _exact_=lambda text: number.from_fraction(Fraction(text)),
        _divide_=lambda a, b: _divide(number, a, b),
        _power_=lambda a, b: _power(number, a, b),
        _float_=lambda value: value if isinstance(value, Number) else _number(number, value),
        _replace_=replace_functions,
    )
    sys.modules[twin.__name__] = twin  # dataclasses look their module up
    try:
        exec(compile(ast.fix_missing_locations(tree), file, "exec"), vars(twin))
    finally:
        sys.modules.pop(twin.__name__, None)
    return twin


class _Rewriter(ast.NodeTransformer):
    """Replaces float literals, quotients, powers and calls of `float`."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is float and math.isfinite(node.value):
            return _call("_exact_", ast.Constant(repr(node.value)))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "_divide_", ast.Pow: "_power_"}.get(type(node.op))
        return node if name is None else _call(name, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "_divide_", ast.Pow: "_power_"}.get(type(node.op))
        if name is None or not isinstance(node.target, ast.Name):
            return node
        value = _call(name, ast.Name(node.target.id, ast.Load()), node.value)
        return ast.Assign(targets=[node.target], value=value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            node.func = ast.Name("_float_", ast.Load())
        return node

    def _import(self, node: Any) -> Any:
        if getattr(node, "module", "") == "__future__":
            return node
        return [node, ast.Expr(_call("_replace_"))]

    visit_Import = visit_ImportFrom = _import


def _call(name: str, *arguments: Any) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _number(number: type[Number], value: Any) -> Any:
    exact = number.convert(value)
    if exact is None:
        raise Inexact(f"float({value!r})")
    return exact


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _divide(number: type[Number], a: Any, b: Any) -> Any:
    if _is_integer(a) and _is_integer(b):
        return number.from_fraction(Fraction(int(a), int(b)))
    if isinstance(a, np.ndarray) and a.dtype.kind in "ib":
        a = a.astype(object) * number.from_fraction(Fraction(1))
    return a / b


def _power(number: type[Number], a: Any, b: Any) -> Any:
    if _is_integer(a) and not (_is_integer(b) and b >= 0):
        a = number.from_fraction(Fraction(int(a)))
    return a**b


class _PatchedModule:
    """A module some of whose functions are replaced."""

    def __init__(self, module: Any, functions: Mapping[str, Any]) -> None:
        self._module = module
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _replacements(number: type[Number]) -> dict[int, Any]:
    """Return the exact forms of functions and modules, by the identities of the originals."""

    def elementary(name: str) -> Callable[[Any], Any]:
        def apply(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return np.array([apply(entry) for entry in value.ravel()], dtype=object).reshape(
                    value.shape
                )
            function = getattr(_number(number, value), name, None)
            if function is None:
                raise Inexact(f"the function {name}")
            return function()

        return apply

    def array(value: Any, *arguments: Any, **options: Any) -> Any:
        objects = np.array(value, dtype=object)
        flat = [number.convert(entry) for entry in objects.ravel()]
        if any(entry is None for entry in flat) or all(map(_is_integer, objects.ravel())):
            return np.array(value)
        return np.array(flat, dtype=object).reshape(objects.shape)

    def fill(constant: int) -> Callable[..., Any]:
        entry = number.from_fraction(Fraction(constant))

        def full(shape: Any, *arguments: Any, **options: Any) -> Any:
            return np.full(shape, entry, dtype=object)

        return full

    simple = {name: elementary(name) for name in ("sqrt", "exp", "log")}
    arrays: dict[str, Any] = {"array": array, "asarray": array, "zeros": fill(0), "ones": fill(1)}
    arrays |= {"empty": fill(0), "float64": lambda value: _number(number, value)}
    moves = {
        "combine": lambda x, v, w: (1 - w) * x + w * v,
        "tilt": lambda g, x, u, c: g + c * (x - u),
        "keep": np.copy,
        "inner": lambda a, b: a.ravel() @ b.ravel(),
        "distance": lambda a, b: elementary("sqrt")((a - b).ravel() @ (a - b).ravel()),
    }
    package = sys.modules[__name__.partition(".")[0]]
    replacements: dict[int, Any] = {}
    for module, functions in (
        (math, simple),
        (np, simple | arrays),
        (points, moves),
        (package, moves),
    ):
        replacements[id(module)] = _PatchedModule(module, functions)
        replacements |= {id(getattr(module, name)): new for name, new in functions.items()}
    return replacements
