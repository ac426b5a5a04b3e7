"""Somebody's own code, named MODULE:NAME."""

import importlib
import os
import sys
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.names import unknown


def load(name: str) -> Any:
    """Import MODULE:NAME, from the current folder too, and return what it names.

    This runs the module. Names come from the command line or a spec, and are shown before.

    Raises
    ------
    InputError
        If the name has another form, there is no such module or name, or its import fails.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InputError(f"{name!r} must have the form MODULE:NAME, as in my_methods:MySpider.")
    # Not "": processes that are started later would not know which folder was meant.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"there is no module {error.name}, which {name} needs: run the command in its folder, "
            "or install it."
        ) from error
    except Exception as error:
        raise InputError(
            f"the module of {name} fails with {type(error).__name__}: {error}."
        ) from error
    if not hasattr(found, attribute):
        public = [known for known in vars(found) if not known.startswith("_")]
        raise unknown(f"name in {module}", attribute, public)
    return getattr(found, attribute)
