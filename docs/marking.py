"""Texts as Markdown."""

import re
from collections.abc import Iterable

from pfbench.base.bibliography import find_cited_paper_keys


def safe(text: str) -> str:
    """Return a text in which Markdown sees no marks, but for `code`."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\`*_\[\]<>|#$~])", r"\\\1", part)
        for part in parts
    )


def code(text: str) -> str:
    """Return a text as code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def cell(text: str) -> str:
    """Return Markdown as a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def words(docstring: str) -> str:
    """Return a docstring without the breaks of its lines."""
    return "\n\n".join(" ".join(one.split()) for one in docstring.strip().split("\n\n"))


def linked(source: str, keys: Iterable[str] | None = None) -> str:
    """Return a source with links to the bibliography: a key becomes one, others follow."""
    text, links = (
        safe(source),
        {key: f"[{key}](#paper-{key})" for key in keys or find_cited_paper_keys(source)},
    )
    there = [key for key in links if re.search(rf"\b{key}\b", text)]
    for key in there:
        text = re.sub(rf"\b{key}\b", links[key], text, count=1)
    return " ".join([text, *(link for key, link in links.items() if key not in there)])
