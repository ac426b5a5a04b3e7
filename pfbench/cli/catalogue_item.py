"""Named item as shown by `list` and `info`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pfbench.base.bibliography import REFERENCES
from pfbench.base.citations import find_cited_paper_keys, find_urls, format_reference
from pfbench.cli.terminal_tables import ReportedFact

NAMESAKES: Mapping[str, str] = MappingProxyType({"penalty": "set", "estimator": "algorithm"})
"""Kinds that share names with another kind, which takes precedence."""


@dataclass(frozen=True)
class CatalogueItem:
    """Name with its kind, source, one-line description, and the object it names.

    For a plug-in that is broken, `error` has the reason.
    """

    name: str
    kind: str
    source: str
    summary: str
    object: Any = field(default=None, compare=False, repr=False)
    error: str = ""

    @property
    def display_name(self) -> str:
        """Name for `pfbench info`: KIND:NAME if another kind may have the same name."""
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
        """Keys of its source's papers in the bibliography."""
        return list(getattr(self.object, "cites", ()) or find_cited_paper_keys(self.source))

    @property
    def facts(self) -> list[ReportedFact]:
        """Facts at the top of ``pfbench info``."""
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
    """Return a reference in words, with its address if known."""
    values = find_urls(key).values() if key in REFERENCES else ()
    return " ".join([format_reference(key) if key in REFERENCES else key, *list(values)[:1]])
