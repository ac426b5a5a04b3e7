"""Parameters and constants, for programs and for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.cli.tables import columns, heading, lines
from pfbench.cli.words import number

if TYPE_CHECKING:
    from pfbench.base.constants import Constants
    from pfbench.base.parameters import Parameter

Description = dict[str, Any]
"""Something as ``--json`` prints it."""


def parameters(known: "Mapping[str, Parameter]") -> list[Description]:
    """Describe parameters, of whatever they are."""
    return [
        {
            "name": name,
            "default": None if one.needed else one.default,
            "needed": one.needed,
            "sources": list(one.sources),
            "about": one.about,
        }
        for name, one in known.items()
    ]


def parameter_table(known: "Mapping[str, Parameter]") -> RenderableType:
    """Return the table of parameters."""
    rows = [
        (
            name,
            one.default or "needed",
            one.about + (f" (for {', '.join(one.sources)})" if one.sources else ""),
        )
        for name, one in known.items()
    ]
    return heading("parameters", columns(("name", "default", "meaning"), rows))


def described_constants(constants: "Constants", names: Iterable[str]) -> list[Description]:
    """Describe some constants of a problem."""
    from pfbench.base.constants import MEANING

    return [
        {
            "name": name,
            "value": getattr(constants, name),
            "derivation": constants.derivations.get(name, "as made"),
            "meaning": MEANING[name],
        }
        for name in names
    ]


def constant_table(title: str, described: Sequence[Description]) -> RenderableType:
    """Return the table of described constants."""
    rows = [
        (c["name"], number(c["value"]), lines(c["meaning"], f"from: {c['derivation']}"))
        for c in described
    ]
    return columns((title, "value", "meaning, and where the value is from"), rows)
