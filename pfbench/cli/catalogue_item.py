"""A named thing as `list` and `info` show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pfbench.base.bibliography import REFERENCES
from pfbench.base.citations import find_cited_paper_keys, find_urls, format_reference
from pfbench.cli.terminal_tables import ReportedFact

NAMESAKES: Mapping[str, str] = MappingProxyType({"penalty": "set", "estimator": "algorithm"})
"""Kinds whose things share names with those of another kind, which goes before them."""


@dataclass(frozen=True)
class CatalogueItem:
    """A name with its kind, where it comes from, a line about it, and what it names.

    Of a plug-in that is broken, `error` says why.
    """

    name: str
    kind: str
    source: str
    summary: str
    object: Any = field(default=None, compare=False, repr=False)
    error: str = ""

    @property
    def display_name(self) -> str:
        """The name as `pfbench info` takes it: some kinds share names with another."""
        return f"{self.kind}:{self.name}" if self.kind in NAMESAKES else self.name

    def as_json(self) -> dict[str, Any]:
        """Return the item as ``pfbench list --json`` prints it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "source": self.source,
            "cites": self.source_citation_keys,
            "summary": self.summary,
        }

    @property
    def source_citation_keys(self) -> list[str]:
        """The keys of the papers in the bibliography that it comes from."""
        return list(getattr(self.object, "cites", ()) or find_cited_paper_keys(self.source))

    @property
    def facts(self) -> list[ReportedFact]:
        """The same as ``pfbench info`` shows it first."""
        return [
            ReportedFact("name", self.name, "name", f"{self.name} ({self.kind})"),
            ReportedFact("kind", self.kind),
            ReportedFact("summary", self.summary, "what it is"),
            ReportedFact("source", self.source, "source"),
            ReportedFact("cites", self.source_citation_keys),
            *(
                ReportedFact("", key, "cites", _format_reference(key))
                for key in self.source_citation_keys
            ),
        ]


def _format_reference(key: str) -> str:
    """Return a paper in words, with its address if one is known."""
    values = find_urls(key).values() if key in REFERENCES else ()
    return " ".join([format_reference(key) if key in REFERENCES else key, *list(values)[:1]])
