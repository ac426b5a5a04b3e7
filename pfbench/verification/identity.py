"""What something is, in full: as JSON, with the modules that it is written in.

The key of a stored verdict covers both, so that another claim, subject or source is another
verdict.
"""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

from pfbench.verification.claim import Claim
from pfbench.verification.own import module_of


class Unsaid(Exception):
    """A part cannot be said in full: an array, a function without a name, an object of no kind."""


@dataclass(frozen=True)
class Identity:
    """What something is.

    Attributes
    ----------
    content
        As JSON, which together with the source of the modules says it in full; None if that cannot
        be said.
    modules
        The modules of the classes and functions in it.
    """

    content: Any
    modules: frozenset[str]


def identity(of: Any) -> Identity:
    """Return the identity of a value: numbers, texts, functions, classes, dataclasses of these."""
    modules: set[str] = set()
    try:
        content = _said(of, modules)
    except Unsaid:
        content = None
    return Identity(content, frozenset(modules))


def _said(part: Any, modules: set[str]) -> Any:
    """Return a part as JSON, and note its modules."""
    if part is None or isinstance(part, str | bool | int | float):
        return part
    if inspect.isclass(part) or inspect.isfunction(part):
        modules.add(part.__module__)
        if "<" in part.__qualname__:  # a lambda, or one within a function
            raise Unsaid
        return f"{part.__module__}:{part.__qualname__}"
    if isinstance(part, Mapping):
        return {str(name): _said(value, modules) for name, value in part.items()}
    if isinstance(part, tuple | list):
        return [_said(value, modules) for value in part]
    if isinstance(part, Claim) and part.home is not None:
        return _stated(part, part.home.place, modules)
    if isinstance(part, partial):
        return [_said(value, modules) for value in (part.func, part.args, part.keywords)]
    kind = _said(type(part), modules)
    if not is_dataclass(part):
        raise Unsaid
    return [kind, {f.name: _said(getattr(part, f.name), modules) for f in fields(part)}]


def _stated(claim: Claim, place: str, modules: set[str]) -> Any:
    """Return a claim of somebody's own: its name, in a file whose source says it in full."""
    for one in (claim.check, claim.algorithm, *(made.build for made in claim.instances)):
        with suppress(Unsaid):
            _said(one, modules)
    home = module_of(place).__name__
    modules.add(home)
    return [_said(Claim, modules), home, claim.name]
