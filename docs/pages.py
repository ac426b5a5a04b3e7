"""What the site's pages do not hold themselves, as Markdown: made when the site is built.

A page asks for it by a comment, ``<!-- site: WHAT ARGUMENTS -->``, which is not seen where the page
is read as it is.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from marking import code, linked, safe
from papers import about_method, claims, verdicts

from pfbench.base.bibliography import REFERENCES, find_urls, format_reference
from pfbench.cli.catalogue import CatalogueItem, list_items
from pfbench.problems.data.catalogue import DATA_SETS


def filled(text: str) -> str:
    """Return a page with what it asks for."""
    return re.sub(r"<!-- site: (\w+) ?(.*?) -->", lambda m: WRITERS[m[1]](*m[2].split()), text)


def bibliography() -> str:
    """Return every paper, by its key."""
    return "\n".join(f"(paper-{key})=\n**{key}** {_paper(key)}\n" for key in sorted(REFERENCES))


def _paper(key: str) -> str:
    links = [f"[{name}]({url})" for name, url in find_urls(key).items()]
    return f"{format_reference(key)}. {' '.join(links)}"


def catalogue(kinds: str) -> str:
    """Return a table of all things of a kind, with what they come from."""
    rows = [_row(item) for item in list_items(kinds)]
    return "\n".join(["| name | what it is | source |", "| --- | --- | --- |", *rows])


def _row(item: CatalogueItem) -> str:
    name = about_method(item.name) if item.kind == "algorithm" else code(item.name_for_info)
    return f"| {name} | {safe(item.summary)} | {linked(item.source, item.source_citation_keys)} |"


def files() -> str:
    """Return where the file of each data set is looked for."""
    lines = ["| data set | folder | file | or unpacked |", "| --- | --- | --- | --- |"]
    for name, record in DATA_SETS.items():
        if (file := record.file) is not None:
            unpacked = "" if file.member == file.filename else f"`{file.member}`"
            lines.append(f"| `{name}` | `{file.folder}` | `{file.filename}` | {unpacked} |")
    return "\n".join(lines)


WRITERS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "bibliography": bibliography,
        "catalogue": catalogue,
        "claims": claims,
        "files": files,
        "verdicts": verdicts,
    }
)
"""What a page may ask for."""
