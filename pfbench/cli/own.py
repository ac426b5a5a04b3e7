"""Somebody's own things as `list` and `info` show them: FILE.py:NAME, MODULE:NAME and plug-ins."""

import inspect
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.plugins import plugins
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
    from pfbench.checking.door import kind_of as answers
    from pfbench.problems import FiniteSum
    from pfbench.verification.claim import Claim

    cls = thing if isinstance(thing, type) else type(thing)
    for kind, base in (("claim", Claim), ("problem", FiniteSum)):
        if issubclass(cls, base):
            return kind
    if inspect.isroutine(thing):
        needed = [one for one in parameters_of(thing).values() if one.needed]
        return "measure" if len(needed) == 2 else "problem"
    try:
        return answers(thing, name)
    except InputError:
        raise InputError(
            f"{name} is {cls.__name__}, and no algorithm, problem, set, penalty, estimator, claim "
            "or measure."
        ) from None


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


def own_item(place: str, name: str = "", package: str = "") -> Item:
    """Return somebody's own thing as `list` shows it; it is imported.

    Parameters
    ----------
    place
        FILE.py:NAME or MODULE:NAME.
    name, package
        Those of a plug-in.

    Raises
    ------
    InputError
        If it cannot be loaded, or is nothing that pfbench knows.
    """
    from pfbench.base.user_code import load
    from pfbench.verification.own import stated

    thing = load(place)
    kind = kind_of(place, thing)
    if kind == "claim":  # which knows there in which file it stands
        (thing,) = stated(place).claims
    source, summary = about(thing)
    return Item(name or place, kind, package or source, summary, thing)


def plugged(kind: str, ours: Collection[str] = ()) -> Iterator[Item]:
    """Yield the plug-ins of a kind; one that is broken says why, and harms no other."""
    for one in plugins(kind):
        try:
            item = own_item(one.place, one.name, one.package)
            if item.kind != kind and (kind, item.kind) != ("set", "penalty"):
                raise InputError(f"{one.place} is no {kind}, but a {item.kind}.")
            if one.name in ours:
                raise InputError(f"{one.name} is one of ours: name it {one.place}.")
            yield item
        except InputError as error:
            why = str(error)
            yield Item(one.name, kind, one.package, f"broken: {why}", broken=why)
