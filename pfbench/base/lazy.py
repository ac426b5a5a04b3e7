"""Packages whose public names are loaded on first use, so that importing one module is quick."""

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from linecache import getlines
from typing import Any


def public_modules(package: str) -> dict[str, str]:
    """Return the module of each public name of a package, by name.

    They are what the package imports under ``if TYPE_CHECKING:``, the one block of its source that
    says it to type checkers, too.
    """
    module = sys.modules[package]
    source = "".join(getlines(str(module.__file__), vars(module)))
    blocks = (node.body for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = (node for block in blocks for node in block if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    Parameters
    ----------
    package
        Its name.
    homes
        The module of each public name.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:  # a module of it
            return import_module(f"{package}.{name}")
        return getattr(import_module(homes[name]), name)

    return load
