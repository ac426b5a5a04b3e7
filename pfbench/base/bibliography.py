"""Bibliography, read from `references.bib`: its entries, and citations of them in text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import groupby
from types import MappingProxyType

_ENTRY = re.compile(r"^@\w+\{(\w+),\n((?:  \w+ = \{.*\},\n)+)\}$", re.MULTILINE)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
"""Patterns of an entry and of a field on its own line; as in BibTeX, other text is a comment."""

REFERENCES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        key: MappingProxyType(dict(_FIELD.findall(lines)))
        for key, lines in _ENTRY.findall(
            (files("pfbench.base") / "references.bib").read_text("utf-8")
        )
    }
)
"""Fields of each paper, in LaTeX, by key."""

_ACCENTS: Mapping[str, str] = MappingProxyType(
    {"'": "\u0301", "`": "\u0300", "^": "\u0302", "v": "\u030c"}
)
"""Combining Unicode character of each TeX accent."""


def find_cited_paper_keys(source: str) -> tuple[str, ...]:
    """Return the keys of the papers that a text cites, by key or by authors and year.

    In ``Reddi, Sra, Poczos, Smola 2016 (NIPS)``, the word in brackets is the end of the key, which
    distinguishes papers with the same authors and year. ``et al.`` stands for all authors but the
    first.
    """
    keys = (
        key
        for part in source.split(";")
        for key in (*_citations_by_key(part), *_keys_cited_by_author_year(part))
    )
    return tuple(dict.fromkeys(keys))


def _citations_by_key(part: str) -> Iterator[str]:
    return (word for word in re.findall(r"\w+", part) if word in REFERENCES)


def _keys_cited_by_author_year(part: str) -> Iterator[str]:
    """Yield the key of one paper for each pair of first author and year that a text cites."""
    named = [key for key in REFERENCES if _cites_paper(part, key)]
    for _, group in groupby(sorted(named, key=_author_and_year), key=_author_and_year):
        keys = list(group)
        ends = {key: re.split(r"\d{4}", key)[1] for key in keys}  # what follows the year
        reported = [key for key, end in ends.items() if end and end in part.lower()]
        yield max(reported or keys, key=lambda key: len(surnames(REFERENCES[key])))


def _cites_paper(part: str, key: str) -> bool:
    """Return whether a text contains the year and the authors (or `et al.`) of a paper."""
    reference = REFERENCES[key]
    authors = [_strip_accents(surname) for surname in surnames(reference)]
    needed = authors[:1] if "et al" in part else authors
    counts = Counter(re.findall(r"[\w-]+", _strip_accents(part)))
    return Counter([*needed, reference["year"]]) <= counts


def _author_and_year(key: str) -> tuple[str, str]:
    reference = REFERENCES[key]
    return surnames(reference)[0], reference["year"]


def surnames(reference: Mapping[str, str]) -> list[str]:
    """Return the surnames of the authors of a paper."""
    authors = strip_tex(reference["author"]).split(" and ")
    return [author.partition(",")[0] for author in authors]


def strip_tex(text: str) -> str:
    """Return the text of a BibTeX field without TeX markup."""

    def replace_accent(match: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])

    text = re.sub(r"\{\\(['`^v])\{?(\w)\}?\}", replace_accent, text)
    return re.sub(r"[{}$]", "", text).replace("--", "–")


def _strip_accents(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def format_reference(key: str) -> str:
    """Return a reference in one line: authors, title, venue and year."""
    reference = REFERENCES[key]
    fields = {name: strip_tex(text) for name, text in reference.items()}
    authors = ", ".join(surnames(reference))
    booktitle = fields.get("booktitle") or fields.get("journal") or fields.get("publisher")
    volume = " ".join(filter(None, (fields.get("series"), fields.get("volume"))))
    parts = [booktitle, volume, fields.get("pages"), fields["year"]]
    return f"{authors}: {fields['title']}. {', '.join(filter(None, parts))}"


def find_urls(key: str) -> dict[str, str]:
    """Return the URLs of a paper by their labels: DOI, arXiv number, proceedings."""
    fields = REFERENCES[key]
    urls = {}
    if "doi" in fields:
        urls[f"doi:{fields['doi']}"] = f"https://doi.org/{fields['doi']}"
    if "eprint" in fields:
        urls[f"arXiv:{fields['eprint']}"] = f"https://arxiv.org/abs/{fields['eprint']}"
    if "Machine Learning Research" in fields.get("series", ""):
        urls["PMLR"] = f"https://proceedings.mlr.press/v{fields['volume']}/"
    return urls
