"""Functions of a method's program that its runs and its theorem's schedule call.

A function is found by the names that occur in the source, from `run` and `theory` on. Overridden
methods are not found. Declarations of the method are not found either, such as its counts and the
checks of its parameters.
"""

import ast
import inspect
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pfbench.verification.faults.mutant_compilation import module_source

_RUN = frozenset({"run", "output_weight", "output"})
_SCHEDULE = frozenset({"theory"})
_ALWAYS = frozenset({"__init__", "__call__", "__iter__", "__next__"})

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, eq=False)
class ProgramPart:
    """Part of a program: a function with its inner functions, or the attributes of a class.

    Attributes
    ----------
    module, name
        The module, and the qualified name of the function or class in it.
    node
        The syntax tree.
    is_schedule
        Whether only the theorem's schedule reaches it.
    """

    module: str
    name: str
    node: Node
    is_schedule: bool


def list_reached_parts(kind: type, modules: Collection[str]) -> list[ProgramPart]:
    """Return the parts of a program that a class uses in its runs or schedule, sorted by name."""
    run, schedule = (_reachable_names(kind, modules, roots) for roots in (_RUN, _SCHEDULE))
    return [
        ProgramPart(module, name, node, is_schedule=(module, name) not in run)
        for module, name in sorted(run | schedule)
        if (node := _trees_by_name(module).get(name)) is not None
    ]


def _reachable_names(
    kind: type, modules: Collection[str], roots: frozenset[str]
) -> frozenset[tuple[str, str]]:
    """Return (module, name) for each function that a class may call from its methods `roots`."""
    classes, names = {kind}, set(roots) | _ALWAYS
    functions: dict[tuple[str, str], Any] = {}
    count = -1
    while count != (count := len(classes) + len(names) + len(functions)):
        names = names.union(*map(_attribute_names, functions.values()))
        values = [value for kind in classes for value in _iterate_attribute_functions(kind, names)]
        values += [value for function in functions.values() for value in _used_globals(function)]
        for value in values:
            is_class = inspect.isclass(value)
            if (is_class or inspect.isfunction(value)) and value.__module__ in modules:
                if is_class:
                    classes.add(value)
                else:
                    functions[value.__module__, value.__qualname__] = value
    owners = [owner for owner in kind.__mro__ if "output" in vars(owner) and "output" in roots][:1]
    declaring = {(o.__module__, o.__qualname__) for o in owners if o.__module__ in modules}
    return frozenset(declaring.union(functions))


def _iterate_attribute_functions(kind: type, names: Collection[str]) -> Iterator[Any]:
    """Yield the functions behind the named attributes of a class, including inherited ones."""
    for name in sorted(names):
        above = [vars(owner)[name] for owner in kind.__mro__ if name in vars(owner)]
        for value in above:
            function = _unwrap_function(value)
            yield function
            if not (inspect.isfunction(function) and _calls_super(function)):
                break


def _unwrap_function(value: Any) -> Any:
    """Return the function behind a property or class method; other values unchanged."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def _node(function: Any) -> Node | None:
    return _trees_by_name(function.__module__).get(function.__qualname__)


def _attribute_names(function: Any) -> set[str]:
    """Return the names of all attributes that occur in a function's source."""
    nodes = ast.walk(_node(function) or ast.Module([], []))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _calls_super(function: Any) -> bool:
    nodes = ast.walk(_node(function) or ast.Module([], []))
    return any(isinstance(node, ast.Name) and node.id == "super" for node in nodes)


def _used_globals(function: Any) -> Iterator[Any]:
    """Yield the global objects, and the attributes of modules, that a function uses."""
    node, existing = _node(function), function.__globals__
    for item in ast.walk(node) if node else ():
        if isinstance(item, ast.Name):
            yield existing.get(item.id)
        elif isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name):
            home = existing.get(item.value.id)
            if inspect.ismodule(home):
                yield getattr(home, item.attr, None)


@lru_cache(maxsize=64)
def _trees_by_name(module: str) -> dict[str, Node]:
    """Return the syntax trees of a module's functions and classes, by qualified name."""
    nodes: dict[str, Node] = {}

    def gather(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, Node):
                nodes[prefix + node.name] = node
            if isinstance(node, ast.ClassDef):
                gather(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.If | ast.Try | ast.With):
                gather([node for node in ast.walk(node) if isinstance(node, Node)], prefix)

    gather(ast.parse(module_source(module)).body, "")
    return nodes
