"""Parameter combinations of the built-in methods that reach different branches of their code."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError

Parameters = Mapping[str, Any]

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

NEEDED: Parameters = _TABLES["needed"]
"""Values of required parameters."""


UNUSED: Mapping[Any, Sequence[str]] = _TABLES["unused"]
"""Parameters without effect on a step rule, which a method of this rule may lack."""


def format_parameters(parameters: Parameters) -> str:
    """Return parameters as text, such as "iterations=40 step=0.1"."""
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def list_method_forms(kind: Any) -> list[Parameters]:
    """Return the tested parameter combinations of a built-in method, with the required ones."""
    defaults = {f.name: f.default for f in fields(kind)}
    needed = {
        name: NEEDED[name]
        for name, default in defaults.items()
        if name in NEEDED and (default is MISSING or name == "iterations")
    }
    if "restarts" in needed or kind.name in ("cgs", "storc"):
        needed |= {"restarts": 4, "period": 10}
    forms = list[Parameters]()
    for options in _iterate_options(kind.name, defaults):
        parameters = {**needed, **options}
        with suppress(InputError):
            kind(**parameters)
            if parameters not in forms:
                forms.append(parameters)
    return forms


def _iterate_options(method: str, defaults: Mapping[str, Any]) -> Iterator[Parameters]:
    """Yield each tested combination of a method's optional parameters, as a dict by name."""
    if method in _TABLES["every"]:
        yield from _TABLES["every"][method]
        return
    yield {}
    for name, default in defaults.items():
        values = _TABLES["optional"].get(name, ())
        if name == "step" and isinstance(default, str):
            values = ["line-search"]
        for value in values:
            if default is not MISSING and value != default:
                yield {name: value}
                if name in _TABLES["together"]:
                    yield {name: value, **_TABLES["together"][name]}
    yield from _TABLES["further"].get(method, ())
