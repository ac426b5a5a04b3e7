"""Selectors with plug-ins: each is spelled out as MODULE:NAME where a run is planned.

From there on a plug-in is somebody's own thing like any other: it is printed before it is imported,
keys cover its source, and workers find it.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.base.plugins import plugin
from pfbench.base.selectors import FILE, OWN_PARTS, Selector, unquoted
from pfbench.base.user_code import formless
from pfbench.estimators.catalogue import ESTIMATORS
from pfbench.measures import MEANING
from pfbench.problems.catalogue import PROBLEMS
from pfbench.sets.catalogue import PENALTIES, SETS

_OURS: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "algorithm": ALGORITHMS,
        "problem": PROBLEMS,
        "measure": MEANING,
        "set": frozenset({*SETS, "none"}),
        "penalty": PENALTIES,
        "estimator": ESTIMATORS,
    }
)
"""The names that are ours, by kind."""


@lru_cache(maxsize=4096)
def spelled_out(kind: str, text: str) -> str:
    """Return a selector with MODULE:NAME for the name of a plug-in; any other as it is.

    Parameters
    ----------
    kind
        "algorithm" or "problem".

    Raises
    ------
    InputError
        If the selector cannot be read, or several packages have a plug-in of the name.
    """
    text = unquoted(text)
    selector = Selector.parse(text)
    name = _place(kind, selector.name)
    parts = {
        part: str(selector.parameters[part]) for part in OWN_PARTS & selector.parameters.keys()
    }
    places = {part: _place(part, own) for part, own in parts.items()} if kind == "problem" else {}
    if name == selector.name and all(places[part] == parts[part] for part in places):
        return text
    return str(Selector(name, {**selector.texts, **places}))


def measure_spelled_out(name: str) -> str:
    """Return MODULE:NAME for a measure that is a plug-in; any other name as it is."""
    return _place("measure", name)


def whatever_spelled_out(text: str) -> str:
    """Return a selector with MODULE:NAME for a plug-in of whatever kind; any other as it is."""
    selector = Selector.parse(text)
    if any(selector.name in ours for ours in _OURS.values()):
        return spelled_out("problem", text) if selector.name in PROBLEMS else text
    places = (_place(kind, selector.name) for kind in _OURS)
    place = next((one for one in places if one != selector.name), selector.name)
    return text if place == selector.name else str(Selector(place, selector.texts))


def _place(kind: str, name: str) -> str:
    """Return where the thing of a name is, if it is a plug-in; else the name."""
    if ":" in name or name in _OURS[kind]:
        return name
    found = plugin(kind, name)
    if found is not None:
        return found.place
    if name.endswith(FILE):
        raise formless(name)
    other = next((one for one, ours in _OURS.items() if name in ours and one != "measure"), None)
    if other is not None:
        an, kinds = "an" if other[0] in "ae" else "a", kind.replace("penalty", "set")
        raise InputError(f"{name} is {an} {other}, and no {kind}: see `pfbench list {kinds}s`.")
    return name
