"""Parameters and constants, as JSON and as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.cli.formatting import format_number
from pfbench.cli.terminal_tables import make_table, multiline_cell, section_with_title

if TYPE_CHECKING:
    from pfbench.base.constants import Constants
    from pfbench.base.parameters import Parameter

Description = dict[str, Any]
"""Description of an item as printed by ``--json``."""


def describe_parameters(parameters: "Mapping[str, Parameter]") -> list[Description]:
    """Describe the parameters of any item."""
    return [
        {
            "name": name,
            "default": None if parameter.is_required else parameter.default,
            "needed": parameter.is_required,
            "sources": list(parameter.sources),
            "about": parameter.description,
        }
        for name, parameter in parameters.items()
    ]


def parameter_table(parameters: "Mapping[str, Parameter]") -> RenderableType:
    """Return the table of parameters."""
    rows = [
        (
            name,
            parameter.default or "needed",
            parameter.description
            + (f" (for {', '.join(parameter.sources)})" if parameter.sources else ""),
        )
        for name, parameter in parameters.items()
    ]
    return section_with_title("parameters", make_table(("name", "default", "meaning"), rows))


def describe_constants(constants: "Constants", names: Iterable[str]) -> list[Description]:
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
        (
            c["name"],
            format_number(c["value"]),
            multiline_cell(c["meaning"], f"from: {c['derivation']}"),
        )
        for c in described
    ]
    return make_table((title, "value", "meaning, and where the value is from"), rows)
