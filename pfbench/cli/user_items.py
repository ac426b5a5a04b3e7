"""User-defined items in `list` and `info`: FILE.py:NAME, MODULE:NAME and plug-ins."""

import inspect
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.plugins import list_plugins
from pfbench.cli.catalogue_item import CatalogueItem
from pfbench.cli.formatting import docstring_summary

if TYPE_CHECKING:
    from pfbench.base.parameters import Parameter

_OWN = "user-defined"


def infer_kind(name: str, obj: Any) -> str:
    """Return the kind of a user-defined class, object or function.

    Raises
    ------
    InputError
        If the object is of no known kind.
    """
    from pfbench.checking.resolver import infer_kind as answers
    from pfbench.problems import FiniteSum
    from pfbench.verification.claim import Claim

    cls = obj if isinstance(obj, type) else type(obj)
    for kind, base in (("claim", Claim), ("problem", FiniteSum)):
        if issubclass(cls, base):
            return kind
    if inspect.isroutine(obj):
        needed = [parameter for parameter in get_parameters(obj).values() if parameter.is_required]
        return "measure" if len(needed) == 2 else "problem"
    try:
        return answers(obj, name)
    except InputError:
        raise InputError(
            f"{name} is {cls.__name__}, not an algorithm, problem, set, penalty, estimator, claim "
            "or measure."
        ) from None


def describe_source(obj: Any) -> tuple[str, str]:
    """Return the stated source of an item, and a one-line description."""
    statement = getattr(obj, "source", "")
    summary = getattr(obj, "statement", "") or getattr(obj, "summary", "")
    line = summary if isinstance(summary, str) and summary else docstring_summary(obj)
    return statement if isinstance(
        statement, str
    ) and statement else _OWN, line or "it has no docstring"


def get_parameters(obj: Any) -> "dict[str, Parameter]":
    """Return the declared parameters of a class, else the arguments of a class or function."""
    from pfbench.base.parameters import Parameter, format_value

    if isinstance(obj, type) and callable(getattr(obj, "parameters", None)):
        return dict(obj.parameters())  # type: ignore[attr-defined]
    try:
        values = inspect.signature(obj).parameters.values() if callable(obj) else ()
    except ValueError:  # written in C, which tells nothing
        return {}
    return {
        parameter.name: Parameter(
            "", "" if parameter.default is parameter.empty else format_value(parameter.default)
        )
        for parameter in values
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def make_user_item(location: str, name: str = "", package: str = "") -> CatalogueItem:
    """Return the catalogue entry of a user-defined item, which is imported.

    Parameters
    ----------
    location
        FILE.py:NAME or MODULE:NAME.
    name, package
        Name and package of a plug-in.

    Raises
    ------
    InputError
        If the item cannot be loaded, or is of no known kind.
    """
    from pfbench.base.user_code import load_user_object
    from pfbench.verification.user_claims import load_claims

    data = load_user_object(location)
    kind = infer_kind(location, data)
    if kind == "claim":  # which knows there in which file it stands
        (data,) = load_claims(location).claims
    source, summary = describe_source(data)
    return CatalogueItem(name or location, kind, package or source, summary, data)


def iterate_plugins(kind: str, builtin_names: Collection[str] = ()) -> Iterator[CatalogueItem]:
    """Yield the plug-ins of a kind; the item of a broken plug-in has its error."""
    for plugin in list_plugins(kind):
        try:
            item = make_user_item(plugin.target, plugin.name, plugin.package)
            if item.kind != kind and (kind, item.kind) != ("set", "penalty"):
                raise InputError(
                    f"{plugin.target} is of kind {item.kind}, but is registered as {kind}: move "
                    "its entry point."
                )
            if plugin.name in builtin_names:
                raise InputError(f"{plugin.name} is a built-in name, too: use {plugin.target}.")
            yield item
        except InputError as error:
            why = str(error)
            yield CatalogueItem(plugin.name, kind, plugin.package, f"broken: {why}", error=why)
