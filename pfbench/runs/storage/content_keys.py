"""Content key of a run or another result: a hash of everything that could change it.

The key of a run covers the resolved algorithm, the problem's digest, the seed and the limits. It
covers the source of every module, of pfbench or the user, that the run can reach by static imports.
It also covers library versions, the BLAS and the number of threads. A stored run is reused only
under the same key.
"""

import ast
import hashlib
import importlib.util
import json
import multiprocessing
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from pfbench.base.errors import WorkerDied
from pfbench.base.user_code import is_pfbench_module
from pfbench.kernels.numba_compilation import thread_count

_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
_LIBRARY_FOLDERS = frozenset(
    map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
)


_OWN_IMPORTS = re.compile(
    rb"""
    (?P<quotes>\"{3}|'{3})(?:[^\\]|\\.)*?(?P=quotes)
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | \#[^\n]*
    | ^(?P<indent>[ ]*)if[ ]TYPE_CHECKING:[^\n]*\n(?:(?P=indent)[ ][^\n]*\n|\n)+
    | ^[ ]*(?P<import>(?:from[ ][^\n(]+?[ ])?import[ ](?:\([^)]*\)|[^\n(]+))
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
"""Strings, comments and imports for type checking, which are skipped; and imports.

Finding imports with it takes a fifth of the time of a parser. It relies on the format of pfbench's
own files: each import begins a line.
"""


def environment() -> dict[str, str]:
    """Return the properties of the machine and of the libraries that can change bits of results."""
    # Its BLAS counts whether or not somebody has used it yet.
    import scipy.linalg  # noqa: F401

    blas = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and _can_affect_results(Path(pool["filepath"]))
    }
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": str(thread_count()),
        **{library: library_version(library) for library in _LIBRARIES},
        "blas": ", ".join(sorted(blas)),
    }


def library_version(library: str) -> str:
    """Return the version of an installed library, or "absent" if it has no metadata."""
    try:
        return version(library)
    except (PackageNotFoundError, ValueError):  # no metadata, as in a bundle, or no name
        return "absent"


def _can_affect_results(blas: Path) -> bool:
    """Return whether results may depend on a BLAS library.

    A BLAS in a folder NAME.libs serves only the library NAME.
    """
    bundled = [part.removesuffix(".libs") for part in blas.parts if part.endswith(".libs")]
    return not bundled or bundled[-1] in _LIBRARIES


def content_key(content: Mapping[str, Any], source: str, environment: Mapping[str, str]) -> str:
    """Return the key under which a result is stored, 64 hexadecimal digits.

    Parameters
    ----------
    content
        Description of the task as JSON data.
    source
        The `source_digest` of the modules that compute the result.
    environment
        The `environment` in which it is computed.
    """
    text = _key_text({**content, "source": source, "environment": dict(environment)})
    return hashlib.sha256(text.encode()).hexdigest()


def content_key_by_seed(
    content: Mapping[str, Any], source: str, environment: Mapping[str, str]
) -> Callable[[int], str]:
    """Return a function from a seed to the `content_key` of `content` with this field ``seed``."""
    complete = {**content, "source": source, "environment": dict(environment)}
    before = _key_text({name: part for name, part in complete.items() if name < "seed"})
    after = _key_text({name: part for name, part in complete.items() if name > "seed"})
    digest = hashlib.sha256(f'{before[:-1]}, "seed": '.encode())

    def key_of_seed(seed: int) -> str:
        complete_digest = digest.copy()  # what precedes the seed is hashed once
        complete_digest.update(f"{seed}, {after[1:]}".encode())
        return complete_digest.hexdigest()

    return key_of_seed


_key_text = json.JSONEncoder(sort_keys=True, default=str).encode


def source_digest(modules: frozenset[str]) -> str:
    """Return a hash of the source of all modules that the given modules can reach by imports."""
    digest = hashlib.sha256()
    for name, path in sorted(reachable_files_by_module(modules).items()):
        digest.update(f"{name}\n".encode())
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


_loaded = cache(source_digest)
"""`source_digest` when this process first used the modules, which Python imports once."""


def check_worker_source(note: Mapping[str, Any]) -> None:
    """Raise if this worker's source of the modules in `note` differs from the digest in `note`.

    An engine checks pfbench's own source. User modules may differ from machine to machine, or may
    have been edited since a worker imported them.

    Parameters
    ----------
    note
        The modules and their digest; see `source_note`.

    Raises
    ------
    WorkerDied
        If this is a worker, and its source differs.
    """
    if multiprocessing.parent_process() is None:
        return
    modules = frozenset(note["modules"])
    if _loaded(modules) != note["digest"]:
        user_modules = ", ".join(sorted(name for name in modules if not is_pfbench_module(name)))
        raise WorkerDied(
            f"a worker and its parent process have different versions of {user_modules}, or of a "
            "module imported by these: install the same version for both, and restart them"
        )


def has_source(module: str) -> bool:
    """Return whether a module has Python source, so that a cache key can depend on it."""
    return _source(module) is not None


def source_note(modules: frozenset[str], digest: str) -> dict[str, Any]:
    """Return the note ``source`` of a stored entry: the modules, and the digest of their source.

    Parameters
    ----------
    modules, digest
        The argument and the result of `source_digest`.
    """
    return {"modules": sorted(modules), "digest": digest}


def reachable_files_by_module(modules: frozenset[str]) -> dict[str, str]:
    """Return the source files that some modules reach by static imports, by module name.

    Three kinds of modules are followed: those of pfbench, those of the packages of `modules`, and
    those that are not installed as libraries. Imports for type checking are ignored.
    """
    roots = frozenset({"pfbench", *(name.partition(".")[0] for name in modules)})
    paths: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in paths or _is_library_outside_roots(name, roots):
            continue
        path = _source(name)
        if path is None or (name.partition(".")[0] not in roots and _is_library_file(path)):
            continue
        paths[name] = path
        waiting += _imports(name, path, os.stat(path).st_mtime_ns, roots)
        if not is_pfbench_module(name):
            # What a package's own file does to its modules; pfbench's only name what there is.
            waiting += [name.rpartition(".")[0]] if "." in name else []
    return paths


def _is_library_outside_roots(name: str, roots: frozenset[str]) -> bool:
    """Return whether a module is part of Python or of an installed package not in `roots`.

    Only the first part of the name is looked up: looking up more would import packages.
    """
    package = name.partition(".")[0]
    return package not in roots and _is_installed(package)


@cache
def _is_installed(package: str) -> bool:
    path = _source(package)
    return path is not None and _is_library_file(path)


def _is_library_file(path: str) -> bool:
    """Return whether a file belongs to Python or an installed library.

    The key covers such files by the version of the library.
    """
    return any(Path(path).is_relative_to(folder) for folder in _LIBRARY_FOLDERS)


def _source(name: str) -> str | None:
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None:
        try:
            spec = importlib.util.find_spec(name)
        except Exception:  # of whatever kind: it imports the packages above
            return None
        path = spec.origin if spec else None
    return path if path and path.endswith(".py") and os.path.isfile(path) else None


@lru_cache(maxsize=4096)
def _imports(name: str, path: str, mtime_ns: int, roots: frozenset[str]) -> tuple[str, ...]:
    """Return the names that a file imports, cached until the file's modification time changes."""
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    names: list[str] = []
    for node in _import_statements(path, mtime_ns, is_pfbench_module(name)):
        if isinstance(node, ast.ImportFrom):
            names += _list_imports(node, package, roots)
        else:
            names += [alias.name for alias in node.names]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=4096)
def _import_statements(
    path: str, mtime_ns: int, is_own: bool = False
) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the import statements of a file, cached until its modification time changes.

    In pfbench's own files (`is_own`) `_OWN_IMPORTS` finds them, and only they are parsed.
    """
    text = Path(path).read_bytes()
    if is_own:
        imports = (match["import"] for match in _OWN_IMPORTS.finditer(text))
        text = b"\n".join(filter(None, imports))
    try:
        return _list_import_statements(ast.parse(text, path))
    except SyntaxError:  # nobody has imported it
        return ()


def _modules_of_lazy_names(package: str) -> Mapping[str, str]:
    """Return a dict from each lazily loaded name of a package of pfbench to its module."""
    if not is_pfbench_module(package):  # to look for its source would import the packages above it
        return {}
    path = _source(package)
    if path is None or not path.endswith("__init__.py"):
        return {}
    homes: Mapping[str, str] = getattr(importlib.import_module(package), "_HOMES", {})
    return homes


def _is_type_checking(test: ast.expr) -> bool:
    name = test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")
    return bool(name == "TYPE_CHECKING")


def _list_import_statements(tree: ast.AST) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the imports of a syntax tree, except those for type checking."""
    nodes = list(ast.walk(tree))
    type_checks = [n for n in nodes if isinstance(n, ast.If) and _is_type_checking(n.test)]
    skipped = {child for check in type_checks for n in check.body for child in ast.walk(n)}
    imports = (n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom))
    return tuple(node for node in imports if node not in skipped)


def _list_imports(node: ast.ImportFrom, package: str, roots: frozenset[str]) -> Iterator[str]:
    base = node.module or ""
    if node.level:
        parent = package.split(".")
        parent = parent[: len(parent) - node.level + 1]
        base = ".".join([*parent, base] if base else parent)
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        if not _is_library_outside_roots(base, roots) and _source(inner):
            yield inner
        else:
            yield base
            # A name that its package loads on first use; see `pfbench.base.lazy`.
            home = _modules_of_lazy_names(base).get(alias.name)
            yield from [home] if home else []
