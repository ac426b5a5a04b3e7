"""Complete description of an object as JSON, with the modules that define its parts.

The store key of a verdict contains both. A change of the claim, the tested method or their source
code thus changes the key.
"""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

from pfbench.verification.claim import Claim
from pfbench.verification.user_claims import import_module_file


class NotDescribable(Exception):
    """Exception raised if a part of an object has no complete description, e.g. a lambda."""


@dataclass(frozen=True)
class Description:
    """Description of an object as JSON, and the modules that define its classes and functions.

    Attributes
    ----------
    content
        Description as JSON, complete together with the source of `modules`; None if a part cannot
        be described.
    modules
        Modules of the classes and functions in the value.
    """

    content: Any
    modules: frozenset[str]


def describe_as_json(source: Any) -> Description:
    """Return the description of an object made of numbers, strings, functions and dataclasses."""
    modules: set[str] = set()
    try:
        content = _describe_part(source, modules)
    except NotDescribable:
        content = None
    return Description(content, frozenset(modules))


def _describe_part(part: Any, modules: set[str]) -> Any:
    """Return a part of an object as JSON, and add the modules that define it to `modules`."""
    if part is None or isinstance(part, str | bool | int | float):
        return part
    if inspect.isclass(part) or inspect.isfunction(part):
        modules.add(part.__module__)
        if "<" in part.__qualname__:  # a lambda, or one within a function
            raise NotDescribable
        return f"{part.__module__}:{part.__qualname__}"
    if isinstance(part, Mapping):
        return {str(name): _describe_part(value, modules) for name, value in part.items()}
    if isinstance(part, tuple | list):
        return [_describe_part(value, modules) for value in part]
    if isinstance(part, Claim) and part.user_source is not None:
        return _describe_user_claim(part, part.user_source.file_or_module, modules)
    if isinstance(part, partial):
        return [_describe_part(value, modules) for value in (part.func, part.args, part.keywords)]
    kind = _describe_part(type(part), modules)
    if not is_dataclass(part):
        raise NotDescribable
    return [kind, {f.name: _describe_part(getattr(part, f.name), modules) for f in fields(part)}]


def _describe_user_claim(claim: Claim, location: str, modules: set[str]) -> Any:
    """Return the description of a user-defined claim: its name and the module that defines it."""
    for item in (claim.check, claim.algorithm, *(instance.build for instance in claim.instances)):
        with suppress(NotDescribable):
            _describe_part(item, modules)
    home = import_module_file(location).__name__
    modules.add(home)
    return [_describe_part(Claim, modules), home, claim.name]
