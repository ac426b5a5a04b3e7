"""Somebody's own code, named FILE.py:NAME or MODULE:NAME."""

import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.failures import place_of, placed
from pfbench.base.function_methods import is_method, method_class
from pfbench.base.names import unknown
from pfbench.base.parameters import check_known
from pfbench.base.protocols import Algorithm
from pfbench.base.selectors import FILE, Selector, module_of

IMPORT_LIMIT = 120.0
"""Seconds that the import of a module may take."""


def is_ours(module: str) -> bool:
    """Return whether a module is one of pfbench."""
    return module.partition(".")[0] == "pfbench"


def formless(name: str) -> InputError:
    """Return the error for a name that names a file alone, or nothing in it."""
    return InputError(
        f"{name!r} must have the form FILE.py:NAME or MODULE:NAME, as in my_methods.py:MySpider."
    )


def load(name: str) -> Any:
    """Import FILE.py:NAME, or MODULE:NAME from the current folder too; return what it names.

    Of a function that is a method, as `pfbench.base.function_methods` has it, that is a class.

    This runs the module; what it prints goes to the standard error. Names come from the command
    line or a spec, and are shown before. A file is the module of its name, and finds its
    neighbours, as where Python runs it.

    Raises
    ------
    InputError
        If the name has another form, there is no such file, module or name, or its import fails or
        takes more than `IMPORT_LIMIT` seconds.
    """
    place, _, attribute = name.rpartition(":")
    if not (place and attribute):
        raise formless(name)
    module = _module(place, module_of(name))
    try:
        with redirect_stdout(sys.stderr), _limited():
            found = importlib.import_module(module)
    except _TooLong:
        raise InputError(
            f"the module of {name} has not been imported after {IMPORT_LIMIT:g} s: see what its "
            "top level waits for."
        ) from None
    except ModuleNotFoundError as error:
        raise InputError(
            f"there is no module {error.name}, which {name} needs: run the command in its folder, "
            "or install it."
        ) from error
    except PfbenchError as error:
        words = placed(error, place_of(error))
        raise InputError(f"the module of {name} is refused: {words}") from error
    except (Exception, SystemExit) as error:
        words = f"{type(error).__name__}: {placed(error, place_of(error))}"
        raise InputError(f"the module of {name} fails with {words}") from error
    if not hasattr(found, attribute):
        public = [known for known in vars(found) if not known.startswith("_")]
        if not public:
            raise InputError(f"{place} has no {attribute}: nothing is defined there.")
        raise unknown(f"name in {place}", attribute, public)
    named = getattr(found, attribute)
    return method_class(named) if is_method(named) else named


class _TooLong(BaseException):
    """Raised in an import at its limit, whatever the module catches."""


@contextmanager
def _limited() -> Iterator[None]:
    """End the block after `IMPORT_LIMIT` seconds, where the system can: in the main thread."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def end(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, end)
    left, _ = signal.setitimer(signal.ITIMER_REAL, IMPORT_LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


def _module(place: str, module: str) -> str:
    """Return the module that a place is imported as; its folder is looked into first."""
    path = Path(place) if place.endswith(FILE) else None
    if path is not None and path.is_dir():
        raise InputError(f"{place} is a folder: give the path of a file.")
    if path is not None and not path.is_file():
        raise InputError(f"there is no file {place}: give its path from the current folder.")
    # Not "": processes that are started later would not know which folder was meant.
    folder = os.getcwd() if path is None else str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # A file may be new.
    importlib.invalidate_caches()
    if path is not None:
        _check_file(path, module)
    return module


def _check_file(path: Path, module: str) -> None:
    """Refuse a file that Python would not find by its name."""
    if not module.isidentifier() or iskeyword(module):
        raise InputError(
            f"Python can not import {path}: rename it, with letters, digits and underscores alone."
        )
    try:
        spec = find_spec(module)
    except ValueError:  # it is the program that runs
        spec = None
    found = spec.origin if spec and spec.origin else "another"
    if module in sys.stdlib_module_names or Path(found).resolve() != path.resolve():
        raise InputError(f"{path} has the name of another module ({module} is {found}): rename it.")


def made(selector: Selector) -> Any:
    """Return what a class or function makes of a selector's parameters, or the object it names.

    Raises
    ------
    InputError
        If it cannot be loaded, a parameter is unknown or missing, or it raises.
    """
    return made_of(load(selector.name), selector)


def made_of(
    found: Any,
    selector: Selector,
    usual: Mapping[str, Any] = MappingProxyType({}),
    remedy: str = "",
) -> Any:
    """Return what `made` returns, of what was found already.

    Parameters
    ----------
    usual
        What a parameter is that it needs and that is not given.
    remedy
        What else mends it where one is missing, as the end of a sentence.
    """
    if not isinstance(found, type) and not inspect.isroutine(found):
        if selector.parameters:
            raise InputError(f"{selector.name} is no class or function: leave its parameters out.")
        return found
    given = _arguments(found, selector, usual, remedy)
    with blamed(str(selector)):
        return found(**given)


def own_algorithm(selector: Selector, parts: Iterable[str]) -> Algorithm:
    """Return somebody's own algorithm.

    Raises
    ------
    InputError
        If it cannot be made, or lacks one of the parts.
    """
    found: Algorithm = made(selector)
    lacks = [part for part in parts if not hasattr(found, part)]
    if lacks:
        raise InputError(f"{selector.name} is no algorithm: it lacks {', '.join(lacks)}.")
    return found


@contextmanager
def blamed(what: str, remedy: str = "") -> Iterator[None]:
    """Say what it was of somebody's that raised what is raised inside."""
    try:
        yield
    except PfbenchError:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {placed(error, place_of(error), remedy)}"
        raise InputError(f"{what} fails with {words}") from error


def _arguments(
    function: Any, selector: Selector, usual: Mapping[str, Any], remedy: str
) -> dict[str, Any]:
    """Return the arguments of a class or function; see `made_of`.

    Refused are parameters that it does not take, and those that it lacks.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # written in C, which tells nothing
        return selector.given(())
    by_name = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        check_known(selector.name, selector.parameters, by_name)
    texts = [name for name, p in by_name.items() if p.annotation in (str, "str")]
    needed = [name for name, p in by_name.items() if p.default is p.empty]
    given = {name: usual[name] for name in needed if name in usual} | selector.given(texts)
    missing = [name for name in needed if name not in given]
    if missing:
        write = f"write {selector.name}[{missing[0]}=...]{remedy}"
        raise InputError(f"{selector.name} needs {', '.join(missing)}: {write}.")
    return given
