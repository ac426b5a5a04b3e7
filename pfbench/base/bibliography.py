"""The papers that all comes from, read from `references.bib`; keys are those of `source`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n((?:  \w+ = \{.*\},\n)+)\}$", re.MULTILINE)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
"""An entry, and a field of it on a line of its own; what is no entry is a remark, as in BibTeX."""


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
    """Return the entries of a file of BibTeX, by key.

    Raises
    ------
    ValueError
        If an entry is not laid out as `format_bibtex` writes it, or a key or a field is given
        twice.
    """
    publications: dict[str, Publication] = {}
    for kind, key, lines in _ENTRY.findall(text):
        fields = _FIELD.findall(lines)
        if key in publications or len(dict(fields)) < len(fields):
            raise ValueError(f"{key} is there twice, or has a field twice.")
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
    """Return BibTeX's entries of papers, each once.

    Raises
    ------
    KeyError
        If one is not in `REFERENCES`.
    """
    return "\n".join(_format_bibtex_entry(key, REFERENCES[key]) for key in dict.fromkeys(keys))


def _format_bibtex_entry(key: str, reference: Publication) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in reference.fields.items()]
    return "\n".join([f"@{reference.kind}{{{key},", *lines, "}", ""])
