"""Lazy loading of a package's public names, so that importing the package is quick."""

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from linecache import getlines
from pathlib import Path
from typing import Any


def lazy_names(
    package: str, listing: str = ""
) -> tuple[Mapping[str, str], list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the names and functions by which a package loads its public names on access.

    Parameters
    ----------
    package
        Name of the package.
    listing
        Name of the module of the package that imports the public names. If empty, they are the
        names that the package imports under ``if TYPE_CHECKING:``. The imports are parsed, not
        executed.

    Returns
    -------
    homes
        The module of each public name.
    __all__, __getattr__, __dir__
        The public names; the functions that import a name, and that list all names.
    """
    homes = _modules_of_public_names(package, listing)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:  # a module of it
            return import_module(f"{package}.{name}")
        return getattr(import_module(homes[name]), name)

    return homes, list(homes), load, lambda: sorted([*vars(sys.modules[package]), *homes])


def _modules_of_public_names(package: str, listing: str) -> dict[str, str]:
    """Return a dict from each public name of a package to the module that defines it."""
    module = sys.modules[package]
    file = str(module.__file__)
    if listing:
        file = str(Path(file).with_name(f"{listing}.py"))
    body = ast.parse("".join(getlines(file, vars(module)))).body
    blocks = [body] if listing else [node.body for node in body if isinstance(node, ast.If)]
    names: dict[str, str] = {}
    for node in (statement for block in blocks for statement in block):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name: str(node.module) for alias in node.names}
    return names
