"""``pfbench new``: create a working file from a template, with its test."""

import keyword
import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pfbench import __version__
from pfbench.base.errors import InputError
from pfbench.base.files import as_storage_errors, atomic_write
from pfbench.base.names import unknown_name_error
from pfbench.cli.options import argument
from pfbench.cli.terminal import print_parts

_TEMPLATES = files("pfbench.cli") / "templates"

KINDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    tomllib.loads((_TEMPLATES / "kinds.toml").read_text("utf-8"))
)
"""For each kind, its files with their templates, and the next commands to try."""

_FORM = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*")


def create_files(
    kind: str = argument("KIND", f"One of {', '.join(KINDS)}.", default=...),
    name: str = argument("NAME", default=...),
) -> None:
    """Create a working file from a template, with its test.

    NAME.py, which works unchanged, and its test test_NAME.py are written to the current folder. For
    sweep and suite the file is NAME.toml; a suite has the methods of the suite quick. For test the
    file has three solvers. benchopt writes the folder benchmark_NAME for `benchopt run`. action
    writes the folder NAME_action with an action for GitHub workflows, and its shell script.
    repository writes the folder NAME with a theorem, its test, the action and a workflow. No file
    is overwritten.
    """
    if kind not in KINDS:
        raise unknown_name_error("kind", kind, KINDS)
    if not _FORM.fullmatch(name):
        raise InputError(
            f"NAME={name!r} must be words of letters and digits, joined by hyphens, and "
            "begin with a letter."
        )
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().replace("_", "-").split("-")
    names = {
        "my_thing": "_".join(words),
        "my-thing": "-".join(words),
        "MyThing": "".join(word.capitalize() for word in words),
        "THIS_VERSION": __version__,
    }

    def fill(text: str) -> str:
        return re.sub("|".join(names), lambda match: names[match[0]], text)

    folder = fill(KINDS[kind].get("folder", ""))
    templates = {fill(path): template for path, template in KINDS[kind]["files"].items()}
    written = f"{folder}: {', '.join(templates)}" if folder else " and ".join(templates)
    _check_not_existing(*([folder] if folder else templates))
    if not folder:
        _check_module_name(names["my_thing"])
    for path, template in templates.items():
        target = Path(folder, path)
        with as_storage_errors(str(target)):
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(target) as file:
                file.write(fill(_read_template(template)).encode())
    print_parts("\n  ".join([f"wrote {written}; next:", *map(fill, KINDS[kind]["next"])]))


def _check_not_existing(*paths: str) -> None:
    """Raise an error if one of the paths to be written exists already."""
    for path in map(Path, paths):
        if path.exists() or path.is_symlink():
            raise InputError(f"{path} exists already: choose another NAME, or move the file away.")


def _check_module_name(module: str) -> None:
    """Raise an error if the name is that of an existing module or of a Python keyword."""
    is_reserved = module in sys.stdlib_module_names or keyword.iskeyword(module)
    if is_reserved or module in sys.modules or find_spec(module) is not None:
        raise InputError(f"{module} is a Python module or keyword: choose another NAME.")


def _read_template(name: str) -> str:
    """Return a template; a suite's template has the methods of the built-in suite ``quick``."""
    if name != "suite":
        return (_TEMPLATES / f"{name}.txt").read_text("utf-8")
    from pfbench.cli.catalogue import suite_spec_paths
    from pfbench.runs.planning.suite import adapt_suite_text

    problem = "nonconvex-logistic[source=synthetic,rows=200,columns=10,seed={seed}]"
    description = (
        "The methods of the suite quick on other problems; docs/compare.md has all fields."
    )
    text = adapt_suite_text(
        suite_spec_paths()["quick"].read_text("utf-8"), "MyThing", description, {"mine": problem}
    )
    hint = (
        "# Your own: FILE.py:NAME, relative to this file's folder; {seed} is the seed of the run."
    )
    return text.replace("[problems]\n", f"{hint}\n[problems]\n")
