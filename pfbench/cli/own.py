"""Somebody's own things as `list` and `info` show them: FILE.py:NAME, MODULE:NAME and plug-ins."""

import inspect
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.plugins import plugins
from pfbench.base.user_code import load
from pfbench.cli.item import Item
from pfbench.cli.words import first_line

if TYPE_CHECKING:
    from pfbench.base.parameters import Parameter

_OWN = "somebody's own"


def kind_of(name: str, thing: Any) -> str:
    """Return what kind of thing somebody's own is: a class, an object, or a function.

    Raises
    ------
    InputError
        If it is none.
    """
    from pfbench.algorithms import Algorithm
    from pfbench.estimators import Estimator
    from pfbench.problems import FiniteSum
    from pfbench.sets.body import Body
    from pfbench.sets.penalties import Penalty
    from pfbench.verification.claim import Claim

    cls = thing if isinstance(thing, type) else type(thing)
    bases = (Algorithm, FiniteSum, Body, Penalty, Estimator, Claim)
    kinds = ("algorithm", "problem", "set", "penalty", "estimator", "claim")
    for kind, base in zip(kinds, bases, strict=True):
        if issubclass(cls, base):
            return kind
    if hasattr(thing, "run") and hasattr(thing, "requires"):
        return "algorithm"
    if inspect.isroutine(thing):
        needed = [one for one in parameters_of(thing).values() if one.needed]
        return "measure" if len(needed) == 2 else "problem"
    raise InputError(
        f"{name} is {cls.__name__}, and no algorithm, problem, set, penalty, estimator, claim or "
        "measure."
    )


def about(thing: Any) -> tuple[str, str]:
    """Return where a thing says that it is from, and a line about it."""
    said = getattr(thing, "source", "")
    summary = getattr(thing, "statement", "") or getattr(thing, "summary", "")
    line = summary if isinstance(summary, str) and summary else first_line(thing)
    return said if isinstance(said, str) and said else _OWN, line or "it has no docstring"


def parameters_of(thing: Any) -> "dict[str, Parameter]":
    """Return the parameters that a class declares, else those that a class or function takes."""
    from pfbench.base.parameters import Parameter, in_words

    if isinstance(thing, type) and callable(getattr(thing, "parameters", None)):
        return dict(thing.parameters())  # type: ignore[attr-defined]
    try:
        known = inspect.signature(thing).parameters.values() if callable(thing) else ()
    except ValueError:  # written in C, which tells nothing
        return {}
    return {
        one.name: Parameter("", "" if one.default is one.empty else in_words(one.default))
        for one in known
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }


def own_item(name: str, thing: Any, package: str = "") -> Item:
    """Return somebody's own thing as `list` shows it, under a name."""
    source, summary = about(thing)
    return Item(name, kind_of(name, thing), package or source, summary, thing)


def plugged(kind: str, ours: Collection[str] = ()) -> Iterator[Item]:
    """Yield the plug-ins of a kind; one that is broken says why, and harms no other."""
    for one in plugins(kind):
        try:
            item = own_item(one.name, load(one.place), one.package)
            if item.kind != kind and (kind, item.kind) != ("set", "penalty"):
                raise InputError(f"{one.place} is no {kind}, but a {item.kind}.")
            if one.name in ours:
                raise InputError(f"{one.name} is one of ours: name it {one.place}.")
            yield item
        except InputError as error:
            why = str(error)
            yield Item(one.name, kind, one.package, f"broken: {why}", broken=why)
