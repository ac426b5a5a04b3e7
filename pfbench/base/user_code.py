"""Import of user-defined code, named FILE.py:NAME or MODULE:NAME."""

import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import MISSING, Field, is_dataclass
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError, PfbenchError, add_location, locate_error
from pfbench.base.function_methods import can_be_algorithm, method_class
from pfbench.base.names import unknown_name_error
from pfbench.base.parameters import check_parameter_names
from pfbench.base.protocols import Algorithm
from pfbench.base.selectors import FILE, Selector, module_name

IMPORT_LIMIT = 120.0
"""Time limit in seconds for the import of a module."""


def is_pfbench_module(module: str) -> bool:
    """Return whether a module belongs to pfbench."""
    return module.partition(".")[0] == "pfbench"


def name_format_error(name: str) -> InputError:
    """Return the error for a name without a part before or after the colon."""
    return InputError(
        f"{name!r} must have the form FILE.py:NAME or MODULE:NAME, as in my_methods.py:MySpider."
    )


def load_user_object(name: str) -> Any:
    """Import FILE.py:NAME or MODULE:NAME, also from the current folder, and return the object.

    A function that is a method, as in `pfbench.base.function_methods`, becomes a class.

    The import executes the module; its output goes to the standard error. Names come from the
    command line or a spec, and are shown before the import. A file is imported under its own name,
    and can import modules next to it, as when Python runs it.

    Raises
    ------
    InputError
        If the name does not have this form, there is no such file, module or name, or its import
        fails or takes more than `IMPORT_LIMIT` seconds.
    """
    location, _, attribute = name.rpartition(":")
    if not (location and attribute):
        raise name_format_error(name)
    module = _make_module_importable(location, module_name(name))
    try:
        with redirect_stdout(sys.stderr), _limit_import_time():
            result = importlib.import_module(module)
    except _ImportTimeout:
        raise InputError(
            f"the import of {name} has not ended after {IMPORT_LIMIT:g} s: check what the top "
            "level of its module waits for."
        ) from None
    except ModuleNotFoundError as error:
        raise InputError(
            f"there is no module {error.name}, which {name} needs: run the command in the folder "
            "of this module, or install it."
        ) from error
    except PfbenchError as error:
        reason = add_location(error, locate_error(error))
        raise InputError(f"pfbench refuses the module of {name}: {reason}") from error
    except (Exception, SystemExit) as error:
        error_text = f"{type(error).__name__}: {add_location(error, locate_error(error))}"
        raise InputError(f"the import of {name} raised {error_text}") from error
    if not hasattr(result, attribute):
        public = [var for var in vars(result) if not var.startswith("_")]
        if not public:
            raise InputError(f"{location} has no {attribute}, as it defines no public name.")
        raise unknown_name_error(f"name in {location}", attribute, public)
    named = getattr(result, attribute)
    if isinstance(named, type) and is_dataclass(named):
        _check_decorated(name, named)
    if "<" in getattr(named, "__qualname__", ""):  # made inside a function, or a lambda
        # Other processes find it by the name that it has in its module.
        named.__module__, named.__qualname__ = module, attribute
    return method_class(named) if can_be_algorithm(named) else named


def _check_decorated(name: str, cls: type) -> None:
    """Raise if a class below a dataclass adds fields, but is not decorated as a dataclass.

    A class that sets its attributes itself needs no decorator; private names are no fields.
    """
    if vars(cls).keys() & {"__dataclass_fields__", "__init__", "__post_init__"}:
        return
    public = [field for field in inspect.get_annotations(cls) if field[0] != "_"]
    if any(isinstance(getattr(cls, field, MISSING), Field | type(MISSING)) for field in public):
        line = "@dataclass(frozen=True, kw_only=True)"
        raise InputError(f"{name} has fields, but is no dataclass: write {line} above the class.")


class _ImportTimeout(BaseException):
    """Exception raised during an import that exceeds its time limit.

    The class does not derive from `Exception`, so that the imported module does not catch it.
    """


@contextmanager
def _limit_import_time() -> Iterator[None]:
    """Interrupt the block after `IMPORT_LIMIT` seconds, in the main thread of a Unix system."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def end(*_: object) -> None:
        raise _ImportTimeout

    before = signal.signal(signal.SIGALRM, end)
    left, _ = signal.setitimer(signal.ITIMER_REAL, IMPORT_LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


def _make_module_importable(location: str, module: str) -> str:
    """Add the folder of a file or module to `sys.path`; return the checked module name."""
    path = Path(location) if location.endswith(FILE) else None
    if path is not None and path.is_dir():
        raise InputError(f"{location} is a folder: give the path of a file.")
    if path is not None and not path.is_file():
        raise InputError(f"there is no file {location}: give its path from the current folder.")
    # Not "": processes that are started later would not know which folder was meant.
    folder = os.getcwd() if path is None else str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # A file may be new.
    importlib.invalidate_caches()
    if path is not None:
        _check_importable_file(path, module)
    return module


def _check_importable_file(path: Path, module: str) -> None:
    """Raise if an import by the file's name would fail, or would import another module."""
    if not module.isidentifier() or iskeyword(module):
        raise InputError(
            f"Python cannot import {path}: rename it, using only letters, digits and underscores."
        )
    try:
        spec = find_spec(module)
    except ValueError:  # it is the program that runs
        spec = None
    origin = spec.origin if spec and spec.origin else "another"
    if module in sys.stdlib_module_names or Path(origin).resolve() != path.resolve():
        raise InputError(f"{path} clashes with the module {module} ({origin}): rename the file.")


def instantiate(selector: Selector) -> Any:
    """Load what a selector names, and call it with the parameters if it is a class or function.

    An object that is no class or function is returned as it is.

    Raises
    ------
    InputError
        If the object cannot be loaded, a parameter is unknown or missing, or the call raises.
    """
    return instantiate_class(load_user_object(selector.name), selector)


def instantiate_class(
    obj: Any,
    selector: Selector,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    remedy: str = "",
) -> Any:
    """Call a class or function with the parameters of a selector; see `instantiate`.

    Parameters
    ----------
    defaults
        Values of required parameters that the selector leaves out.
    remedy
        Further remedy for a missing parameter, as the end of a sentence.
    """
    if not isinstance(obj, type) and not inspect.isroutine(obj):
        if selector.parameters:
            raise InputError(f"{selector.name} is not a class or function: leave out the brackets.")
        return obj
    if any(base.__module__.startswith("torch.optim") for base in getattr(obj, "__mro__", ())):
        raise InputError(
            f"{selector.name} is an optimiser of torch: write "
            f"pfbench.adapters:TorchOptimizer[optimizer={selector.name},iterations=100,step=0.1]."
        )
    if lacking := sorted(getattr(obj, "__abstractmethods__", ())):
        raise InputError(f"{selector.name} lacks {', '.join(lacking)}: add this to the class.")
    arguments = _bind_arguments(obj, selector, defaults, remedy)
    with blame_user_code(str(selector)):
        return obj(**arguments)


def load_user_algorithm(selector: Selector, required_attributes: Iterable[str]) -> Algorithm:
    """Return the user-defined algorithm of a selector; raise if it lacks an attribute.

    Raises
    ------
    InputError
        If the object cannot be instantiated, or lacks one of the required attributes.
    """
    algorithm: Algorithm = instantiate(selector)
    lacks = [part for part in required_attributes if not hasattr(algorithm, part)]
    if lacks:
        raise InputError(f"{selector.name} is not an algorithm: it lacks {', '.join(lacks)}.")
    return algorithm


@contextmanager
def blame_user_code(subject: str, remedy: str = "") -> Iterator[None]:
    """Convert an exception of user code in the block to an InputError that names the code."""
    try:
        yield
    except PfbenchError:
        raise
    except Exception as error:
        error_text = f"{type(error).__name__}: {add_location(error, locate_error(error), remedy)}"
        raise InputError(f"{subject} raised {error_text}") from error


def list_required_arguments(function: Any) -> list[str] | None:
    """Return the names of a function's arguments without defaults; None if it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, which tells nothing
        return None
    listed = (p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return [p.name for p in listed if p.default is p.empty]


def _bind_arguments(
    function: Any, selector: Selector, defaults: Mapping[str, Any], remedy: str
) -> dict[str, Any]:
    """Return the named arguments with which to call a class or function for a selector.

    Raises
    ------
    InputError
        If a parameter is unknown, or a required one is missing.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # written in C, which tells nothing
        return selector.parameter_values(())
    by_name = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        check_parameter_names(selector.name, selector.parameters, by_name)
    texts = [name for name, p in by_name.items() if p.annotation in (str, "str")]
    needed = [name for name, p in by_name.items() if p.default is p.empty]
    arguments = {
        name: defaults[name] for name in needed if name in defaults
    } | selector.parameter_values(texts)
    missing = [name for name in needed if name not in arguments]
    if missing:
        how = f"write {selector.name}[{missing[0]}=...]{remedy}"
        raise InputError(f"{selector.name} needs {', '.join(missing)}: {how}.")
    return arguments
