"""Plug-ins: components that an installed package declares by entry points.

In the `pyproject.toml` of the package::

    [project.entry-points."pfbench.algorithms"]
    my-spider = "my_package.methods:MySpider"

This module imports no plug-in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from pfbench.base.errors import InputError

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "algorithm": "pfbench.algorithms",
        "problem": "pfbench.problems",
        "set": "pfbench.sets",
        "penalty": "pfbench.sets",
        "estimator": "pfbench.estimators",
        "measure": "pfbench.measures",
        "claim": "pfbench.claims",
    }
)
"""Group of entry points of each kind of component; penalties belong to the sets."""


@dataclass(frozen=True)
class Plugin:
    """Name of a plug-in with its target, MODULE:NAME, and its package."""

    name: str
    target: str
    package: str


def list_plugins(kind: str) -> list[Plugin]:
    """Return the plug-ins of a kind, by name."""
    plugins = (_make_plugin(point) for point in entry_points(group=GROUPS[kind]))
    return sorted(plugins, key=lambda plugin: (plugin.name, plugin.package))


def find_plugin(kind: str, name: str) -> Plugin | None:
    """Return the plug-in of a name, None if there is none.

    Raises
    ------
    InputError
        If several packages declare the name.
    """
    results = [plugin for plugin in list_plugins(kind) if plugin.name == name]
    if len(results) > 1:
        both = " and ".join(f"{plugin.package} ({plugin.target})" for plugin in results)
        raise InputError(f"the {kind} {name} is in {both}: name one of them as MODULE:NAME.")
    return results[0] if results else None


def _make_plugin(point: EntryPoint) -> Plugin:
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
    return Plugin(point.name, point.value.partition("[")[0].strip(), package)
