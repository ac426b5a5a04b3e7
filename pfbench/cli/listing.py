"""``pfbench list``: all named items."""

from rich.console import RenderableType

from pfbench.base.names import unknown_name_error
from pfbench.cli.catalogue import KINDS, list_items
from pfbench.cli.catalogue_item import CatalogueItem
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.terminal import console, print_json
from pfbench.cli.terminal_tables import make_table, multiline_cell, print_parts, section_with_title


def list_all(kind: str | None = argument("|".join(KINDS)), as_json: bool = AS_JSON) -> None:
    """List the available items, with their sources.

    Without a kind, everything is listed.
    """
    if kind is not None and kind not in KINDS:
        raise unknown_name_error("kind", kind, KINDS)
    kinds = list(KINDS) if kind is None else [kind]
    results = {name: list_items(name) for name in kinds}
    if as_json:
        print_json([item.as_json() for items in results.values() for item in items])
        return
    for name, items in results.items():
        content = _item_table(items) if items else f"There are no {name} yet."
        print_parts(content if kind else section_with_title(name, content))


def _item_table(items: list[CatalogueItem]) -> RenderableType:
    rows = [(item.display_name, item.summary, item.source) for item in items]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    if sum(widths) <= console().width:
        return make_table(("name", "what it is", "source"), rows)
    both = [(name, multiline_cell(summary, f"[{source}]")) for name, summary, source in rows]
    return make_table(("name", "what it is [source]"), both)
