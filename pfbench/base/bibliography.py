"""Bibliography, read from `references.bib`; its keys are the values of `source`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n((?:  \w+ = \{.*\},\n)+)\}$", re.MULTILINE)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
"""Patterns of an entry and of a field on its own line; as in BibTeX, other text is a comment."""


@dataclass(frozen=True)
class Publication:
    """A paper.

    Attributes
    ----------
    kind
        BibTeX's type of the entry.
    fields
        BibTeX's fields, in LaTeX.
    """

    kind: str
    fields: Mapping[str, str]


def parse_bibtex(text: str) -> Mapping[str, Publication]:
    """Return the entries of a BibTeX file, by key.

    Raises
    ------
    ValueError
        If an entry is not laid out as `format_bibtex` writes it, or a key or a field is repeated.
    """
    publications: dict[str, Publication] = {}
    for kind, key, lines in _ENTRY.findall(text):
        fields = _FIELD.findall(lines)
        if key in publications or len(dict(fields)) < len(fields):
            raise ValueError(f"{key} is repeated, or has a repeated field.")
        publications[key] = Publication(kind, MappingProxyType(dict(fields)))
    if text.count("@") != len(publications):
        raise ValueError(
            f"{text.count('@')} entries begin, and {len(publications)} can be read: write each field on a "  # noqa: E501
            "line of its own, as in `  year = {2020},`."
        )
    return MappingProxyType(publications)


REFERENCES = parse_bibtex((files("pfbench.base") / "references.bib").read_text("utf-8"))
"""The papers, by key."""


def format_bibtex(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of papers, each once.

    Raises
    ------
    KeyError
        If a key is not in `REFERENCES`.
    """
    return "\n".join(_format_bibtex_entry(key, REFERENCES[key]) for key in dict.fromkeys(keys))


def _format_bibtex_entry(key: str, reference: Publication) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in reference.fields.items()]
    return "\n".join([f"@{reference.kind}{{{key},", *lines, "}", ""])
