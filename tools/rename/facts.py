"""Resolve every attribute access and keyword argument of a checkout with mypy.

Usage, from the root of a checkout, in an environment with mypy and the package's dependencies::

    python facts.py pfbench tests benchmarks -o facts.json

The file is the input of ``apply.py``. It takes minutes: mypy must check everything again, since a
cached module has no syntax tree.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mypy import build
from mypy.config_parser import parse_config_file
from mypy.find_sources import create_source_list
from mypy.nodes import (
    CallExpr, ClassDef, Decorator, Expression, FakeInfo, FuncDef, MemberExpr, MypyFile, NameExpr, Node,
    OverloadedFuncDef, RefExpr, TypeInfo, Var,
)  # fmt: skip
from mypy.options import Options
from mypy.types import (
    CallableType, FunctionLike, Instance, LiteralType, Overloaded, ProperType, TupleType, Type,
    TypeType, TypeVarType, UnionType, get_proper_type,
)  # fmt: skip


def check(roots: list[str]) -> build.BuildResult:
    """Check all files below some folders with mypy, and keep the types of all expressions."""
    options = Options()
    parse_config_file(options, lambda: None, "pyproject.toml", sys.stdout, sys.stderr)
    options.export_types = options.preserve_asts = options.check_untyped_defs = True
    options.incremental, options.cache_dir = False, os.devnull
    options.python_version = sys.version_info[:2]
    options.mypy_path = [os.path.abspath(folder) for folder in ("tests", "docs", ".")]
    options.namespace_packages = options.explicit_package_bases = True
    sources = [
        source
        for source in create_source_list(roots, options)
        if "templates" not in str(source.path) and not str(source.path).endswith("conftest.py")
    ]
    return build.build(sources, options)


def owners(value_type: Type | None, name: str) -> list[str]:
    """Return the classes that define an attribute of a type, ``?`` where mypy knows none."""
    resolved = get_proper_type(value_type) if value_type is not None else None
    if isinstance(resolved, UnionType):
        names_of_items = {owner for item in resolved.items for owner in owners(item, name)}
        return sorted(names_of_items - {"?"}) or ["?"]  # None of `C | None` has no attributes
    info = type_info(resolved)
    if info is None:
        return ["?"]
    if info.fullname == "builtins.object" and name not in info.names:
        return ["?"]
    holder = info.get_containing_type_info(name)
    if holder is not None:
        return [holder.fullname]
    return [f"{info.fullname}?"] if info.fullname.startswith("builtins.") else ["?"]


def type_info(resolved: ProperType | None) -> TypeInfo | None:
    """Return the class of a type, or None."""
    match resolved:
        case Instance():
            return resolved.type
        case TupleType():
            return resolved.partial_fallback.type
        case LiteralType():
            return resolved.fallback.type
        case TypeType():
            return type_info(get_proper_type(resolved.item))
        case TypeVarType():
            return type_info(get_proper_type(resolved.upper_bound))
        case FunctionLike() if resolved.is_type_obj():
            return resolved.type_object()
        case FunctionLike():
            return resolved.fallback.type
    return None


def callee(call: CallExpr, types: dict[Expression, Type]) -> list[str]:
    """Return the callees of a call: functions as ``module.f``, classes as ``module.C()``."""
    node = call.callee.node if isinstance(call.callee, RefExpr) else None
    if isinstance(node, TypeInfo):
        return [f"{node.fullname}()"]
    if isinstance(node, FuncDef | OverloadedFuncDef):
        return [node.fullname]
    if isinstance(node, Decorator):
        return [node.func.fullname]
    return callables(types.get(call.callee))


def callables(value_type: Type | None) -> list[str]:
    """Return the functions or classes that a type stands for."""
    resolved = get_proper_type(value_type) if value_type is not None else None
    if isinstance(resolved, UnionType):
        return sorted({name for item in resolved.items for name in callables(item)})
    if isinstance(resolved, Overloaded):
        return sorted({name for item in resolved.items for name in callables(item)})
    if isinstance(resolved, CallableType):
        if resolved.is_type_obj():
            return [f"{resolved.type_object().fullname}()"]
        if resolved.definition is not None and resolved.definition.fullname:
            return [resolved.definition.fullname]
        return ["?"]
    if isinstance(resolved, TypeType) and isinstance(get_proper_type(resolved.item), Instance):
        return [f"{get_proper_type(resolved.item).type.fullname}()"]  # type: ignore[union-attr]
    if isinstance(resolved, Instance):
        if resolved.type.fullname == "functools.partial" and resolved.args:
            # A class that is called with the remaining arguments.
            inner_type = get_proper_type(resolved.args[0])
            if isinstance(inner_type, Instance):
                return [f"{inner_type.type.fullname}()"]
        holder = resolved.type.get_containing_type_info("__call__")
        return [f"{holder.fullname}.__call__"] if holder else ["?"]
    return ["?"]


def label(value_type: Type | None) -> str:
    """Return the class of a value, ``list[C]`` and the like for what holds many; else empty."""
    resolved = get_proper_type(value_type) if value_type is not None else None
    if isinstance(resolved, Instance):
        inner = [label(item) for item in resolved.args]
        return resolved.type.fullname + (f"[{', '.join(inner)}]" if any(inner) else "")
    if isinstance(resolved, TupleType):
        name = resolved.partial_fallback.type.fullname
        inner = sorted({label(item) for item in resolved.items})
        return name if name != "builtins.tuple" else f"{name}[{', '.join(inner)}]"
    if isinstance(resolved, LiteralType):
        return label(resolved.fallback)
    if isinstance(resolved, UnionType):
        labels = {label(item) for item in resolved.items} - {""}
        return labels.pop() if len(labels) == 1 else ""
    if isinstance(resolved, TypeType):
        return f"builtins.type[{label(resolved.item)}]"
    if isinstance(resolved, TypeVarType):
        return label(resolved.upper_bound)
    if isinstance(resolved, CallableType):
        return "builtins.type" if resolved.is_type_obj() else "builtins.function"
    return ""


# What leads from a node to another part of the program, not to a part of its own.
_REFERENCES = frozenset(
    {"node", "info", "type", "names", "defn", "typeinfo", "definition", "original_def", "analyzed"}
)


def walk(root: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it: compiled mypy refuses visitors written in Python."""
    waiting: list[Any] = [root]
    visited = set[int]()
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, Node) and id(item) not in visited:
            visited.add(id(item))
            yield item
            waiting.extend(getattr(item, name, None) for name in children(type(item)))


@cache
def children(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes of a class of nodes that may hold parts of a node."""
    names: dict[str, None] = {}
    for base in kind.__mro__:
        names |= dict.fromkeys(getattr(base, "__mypyc_attrs__", ()))
        names |= dict.fromkeys(getattr(base, "__slots__", ()))
    return tuple(name for name in names if name not in _REFERENCES and not name.startswith("__"))


class Collector:
    """Collect the facts of one file."""

    def __init__(self, types: dict[Expression, Type]) -> None:
        self.types = types
        self.attributes: list[list[Any]] = []
        self.keywords: list[list[Any]] = []
        self.names: list[list[Any]] = []

    def collect(self, tree: MypyFile) -> None:
        """Walk through a file."""
        for node in walk(tree):
            if isinstance(node, MemberExpr):
                self.add_attribute(node)
            elif isinstance(node, CallExpr):
                self.add_keywords(node)
            elif isinstance(node, NameExpr):
                self.add_name(node)

    def add_attribute(self, node: MemberExpr) -> None:
        """Record where an attribute is defined."""
        base = node.expr
        if isinstance(base, RefExpr) and isinstance(base.node, MypyFile):
            holders = [f"{base.node.fullname}:"]
        else:
            holders = owners(self.types.get(base), node.name)
            if holders == ["?"] and isinstance(base, RefExpr) and isinstance(base.node, TypeInfo):
                holder = base.node.get_containing_type_info(node.name)
                holders = [holder.fullname] if holder else ["?"]
        self.attributes.append([node.end_line, node.end_column, node.name, holders])

    def add_keywords(self, node: CallExpr) -> None:
        """Record what a call with keywords calls, and with which object or function first."""
        names = [name for name in node.arg_names if name]
        if not names:
            return
        called = callee(node, self.types)
        first = label(self.types.get(node.args[0])) if node.args else ""
        target = []
        if called and called[0].rpartition(".")[2] in ("partial()", "partial"):
            inner = node.args[0]
            if isinstance(inner, RefExpr) and isinstance(inner.node, TypeInfo):
                target = [f"{inner.node.fullname}()"]
            else:
                target = callables(self.types.get(inner))
        self.keywords.append([node.line, node.column, names, called, first, target])

    def add_name(self, node: NameExpr) -> None:
        """Record the class of a variable's value."""
        if isinstance(node.node, Var) and (text := label(node.node.type)):
            self.names.append([node.line, node.column, node.name, text])


def checkout_states(result: build.BuildResult) -> list[Any]:
    """Return the modules of the checkout, without those of libraries."""
    return [
        state
        for state in result.graph.values()
        if state.tree is not None
        and state.path
        and not os.path.relpath(state.path).startswith("..")
        and "site-packages" not in state.path
    ]


def classes(result: build.BuildResult) -> dict[str, Any]:
    """Return bases, members and kind of every class of the checkout."""
    resolved: dict[str, Any] = {}
    for state in checkout_states(result):
        for node in walk(state.tree):
            if isinstance(node, ClassDef) and not isinstance(node.info, FakeInfo):
                info = node.info
                resolved[info.fullname] = {
                    "mro": [item.fullname for item in info.mro[1:]],
                    "names": sorted(info.names),
                    "protocol": bool(info.is_protocol),
                    "dataclass": "dataclass" in info.metadata or "dataclass_tag" in info.metadata,
                }
    return resolved


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Resolve attributes and keywords with mypy.")
    parser.add_argument("roots", nargs="+")
    parser.add_argument("-o", "--output", type=Path, default=Path("facts.json"))
    chosen = parser.parse_args()
    result = check(chosen.roots)
    files = {}
    for state in checkout_states(result):
        collector = Collector(result.types)
        collector.collect(state.tree)
        files[os.path.relpath(state.path)] = {
            "module": state.id,
            "attributes": collector.attributes,
            "keywords": collector.keywords,
            "names": collector.names,
        }
    facts = {"files": files, "classes": classes(result)}
    chosen.output.write_text(json.dumps(facts), encoding="utf-8")
    print(f"{len(files)} files, {len(result.errors)} messages of mypy", file=sys.stderr)


if __name__ == "__main__":
    main()
