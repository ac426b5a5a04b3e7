"""Compilation of a faulty variant from a changed source, without patching modules.

The changed module is executed again under its own name, but outside of `sys.modules`. The modules
of the same program that use its definitions are executed again, too. Every other import finds the
original modules.
"""

import builtins
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pfbench.base.user_code import is_pfbench_module
from pfbench.runs.storage.content_keys import reachable_files_by_module
from pfbench.verification.faults.fault import Edit, Fault, apply_edits

_OURS = ("pfbench.algorithms", "pfbench.estimators")

_KEPT = frozenset({"pfbench.algorithms.base", "pfbench.algorithms.catalogue"})
"""Modules that are never changed: bookkeeping, and code that all methods share."""


def mutable_program_modules(kind: type) -> frozenset[str]:
    """Return the modules in which generated faults may change the code of a method.

    For a built-in method these are algorithms and estimators, except their bookkeeping. For a
    user-defined method they are all imported user modules that the class reaches.
    """
    reached = reachable_files_by_module(frozenset({kind.__module__}))
    if is_pfbench_module(kind.__module__):
        return frozenset(m for m in reached if m.startswith(_OURS) and m not in _KEPT)
    return frozenset(m for m in reached if not is_pfbench_module(m) and m in sys.modules)


@lru_cache(maxsize=64)
def module_source(module: str) -> str:
    """Return the source text of a module."""
    path = importlib.import_module(module).__file__
    assert path is not None
    return Path(path).read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def compile_faulty_algorithm(fault: Fault) -> Any:
    """Return the algorithm with a fault: a class or an object, like the correct algorithm.

    Any exception that is raised here is caused by the fault: the variant cannot even be imported.
    """
    return _compile_variant(fault.algorithm, fault.module, fault.change.edits)


def compile_unchanged(algorithm: Any, module: str) -> Any:
    """Return the algorithm compiled like a faulty variant, but from the unchanged source."""
    return _compile_variant(algorithm, module, ())


def _compile_variant(algorithm: Any, module: str, edits: tuple[Edit, ...]) -> Any:
    kind = algorithm if inspect.isclass(algorithm) else type(algorithm)
    afresh = _ReexecutedModuleCopies(
        _modules_using(module, mutable_program_modules(kind)),
        {module: apply_edits(module_source(module), edits)},
    )
    variant: Any = afresh.module(kind.__module__)
    for name in kind.__qualname__.split("."):
        variant = getattr(variant, name)
    if inspect.isclass(algorithm):
        return variant
    new = object.__new__(variant)
    for name, value in vars(algorithm).items():
        object.__setattr__(new, name, value)
    return new


@lru_cache(maxsize=64)
def _modules_using(module: str, modules: frozenset[str]) -> frozenset[str]:
    """Return the names of a module and of all modules in `modules` that depend on it."""
    names = {module}
    while True:
        further = {user for user in modules - names if names & _defining_modules(user)}
        if not further:
            return frozenset(names)
        names |= further


def _defining_modules(module: str) -> set[str]:
    """Return the names of the modules from which a module's global names come."""
    values = vars(sys.modules[module]).values()
    modules = {value.__name__ for value in values if isinstance(value, ModuleType)}
    return modules | {str(getattr(value, "__module__", "")) for value in values}


class _ReexecutedModuleCopies:
    """Modules that are executed again, and an import function that returns them."""

    def __init__(self, modules: Collection[str], sources: Mapping[str, str]) -> None:
        self._modules, self._sources = modules, sources
        self._fresh_modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def module(self, name: str) -> ModuleType:
        """Return the re-executed module of this name; the original if it is not re-executed."""
        if name not in self._modules:
            return importlib.import_module(name)
        if name not in self._fresh_modules:
            right = sys.modules[name]
            module = self._fresh_modules[name] = ModuleType(name, right.__doc__)
            for dunder in ("__file__", "__package__", "__path__", "__spec__"):
                if hasattr(right, dunder):
                    setattr(module, dunder, getattr(right, dunder))
            # Some of its functions call what a fault plants.
            planted = importlib.import_module("pfbench.verification.faults.planted")
            vars(module).update(__builtins__=self._builtins, planted=planted)
            source = self._sources.get(name) or module_source(name)
            exec(_compile_source(source, name), vars(module))
        return self._fresh_modules[name]

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        """Import like `__import__`, but return re-executed modules in place of originals."""
        module = builtins.__import__(name, globals, locals, fromlist, level)
        package = (globals or {}).get("__package__") or ""
        full = importlib.util.resolve_name("." * level + name, package) if level else name
        return self._module_with_copies(full if fromlist else full.partition(".")[0], module)

    def _module_with_copies(self, name: str, module: ModuleType) -> ModuleType:
        """Return a copy of a module in which re-executed modules replace the originals."""
        below = [module for module in self._modules if module.startswith(f"{name}.")]
        if name in self._modules:
            view = self.module(name)
        elif below:
            view = ModuleType(name, module.__doc__)
            vars(view).update(vars(module))
        else:
            return module
        names = {item.removeprefix(f"{name}.").partition(".")[0] for item in below}
        for child in (f"{name}.{part}" for part in names):
            if child in sys.modules:
                setattr(
                    view,
                    child.rpartition(".")[2],
                    self._module_with_copies(child, sys.modules[child]),
                )
        return view


@lru_cache(maxsize=64)
def _compile_source(source: str, name: str) -> Any:
    return compile(source, f"<{name}, compiled apart>", "exec", dont_inherit=True)
