"""Expansion of plug-in names to MODULE:NAME in planned runs.

With this name a plug-in is user-defined code like any other: the name is printed before the import,
keys cover the source, and workers find it.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError
from pfbench.base.plugins import find_plugin
from pfbench.base.selectors import FILE, USER_PARTS, Selector, strip_quotes
from pfbench.base.user_code import name_format_error
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
"""Built-in names, by kind."""


@lru_cache(maxsize=4096)
def expand_plugin_name(kind: str, text: str) -> str:
    """Return a selector with MODULE:NAME for the name of a plug-in; any other unchanged.

    Parameters
    ----------
    kind
        "algorithm" or "problem".

    Raises
    ------
    InputError
        If the selector cannot be read, or several packages have a plug-in of the name.
    """
    text = strip_quotes(text)
    selector = Selector.parse(text)
    name = _plugin_target(kind, selector.name)
    parts = {
        part: str(selector.parameters[part]) for part in USER_PARTS & selector.parameters.keys()
    }
    plugin_targets = (
        {part: _plugin_target(part, own) for part, own in parts.items()}
        if kind == "problem"
        else {}
    )
    if name == selector.name and all(
        plugin_targets[part] == parts[part] for part in plugin_targets
    ):
        return text
    return str(Selector(name, {**selector.texts, **plugin_targets}))


def expand_measure_name(name: str) -> str:
    """Return MODULE:NAME for a measure that is a plug-in; any other name unchanged."""
    return _plugin_target("measure", name)


def expand_any_plugin_name(text: str) -> str:
    """Return a selector with MODULE:NAME for a plug-in of any kind; any other unchanged."""
    selector = Selector.parse(text)
    if any(selector.name in computed for computed in _OURS.values()):
        return expand_plugin_name("problem", text) if selector.name in PROBLEMS else text
    plugin_targets = (_plugin_target(kind, selector.name) for kind in _OURS)
    plugin_target = next(
        (plugin_target for plugin_target in plugin_targets if plugin_target != selector.name),
        selector.name,
    )
    return text if plugin_target == selector.name else str(Selector(plugin_target, selector.texts))


def _plugin_target(kind: str, name: str) -> str:
    """Return MODULE:NAME of a name that is a plug-in; else the name."""
    if ":" in name or name in _OURS[kind]:
        return name
    result = find_plugin(kind, name)
    if result is not None:
        return result.target
    if name.endswith(FILE):
        raise name_format_error(name)
    other = next(
        (key for key, computed in _OURS.items() if name in computed and key != "measure"), None
    )
    if other is not None:
        kinds = kind.replace("penalty", "set")
        an, article = ("an" if word[0] in "ae" else "a" for word in (other, kind))
        raise InputError(
            f"{name} is {an} {other}, not {article} {kind}: see `pfbench list {kinds}s`."
        )
    return name
