"""The page of words: each is there once, and pages link to it where they first use it."""

import re
from pathlib import Path

import pytest

from pfbench.reporting.tables import column_meaning
from pfbench.reporting.wording import WORDS as OURS

ROOT = Path(__file__).resolve().parents[1]
WORDS = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ANCHORS = re.findall(r'<a id="([\w-]+)"></a>', WORDS)

FIRST = {
    "README.md": ["within-10"],
    "docs/claims.md": ["within-10"],
    "docs/compare.md": ["expected", "charged", "class", "significant", "candidate"],
    "docs/four-files.md": ["within-10"],
    "docs/theory.md": ["within-10"],
    "docs/verify-a-claim.md": ["within-10", "attained"],
    "docs/your-theorem.md": ["within-10"],
}
"""Which words a page links to."""


def test_each_word_has_one_place():
    assert len(ANCHORS) == len(set(ANCHORS)) > 20
    for line in WORDS.splitlines():
        assert line.count('<a id="') <= 1


def linked(page):
    return re.findall(r"glossary\.md#([\w-]+)", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", FIRST)
def test_pages_link_to_words_that_are_there(page):
    assert {*FIRST[page]} <= {*linked(page)} <= {*ANCHORS}


@pytest.mark.parametrize(("word", "pages_with_it"), [("within-10", 4), ("attained", 3)])
def test_a_verdict_is_linked_where_a_page_first_says_it(word, pages_with_it):
    """So it is defined once: whoever reads it is led to the same place."""
    said = re.compile(rf"(\[)?\*{{1,2}}{word}\*{{1,2}}(\]\()?")
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name != "glossary.md"]
    first = {path.name: said.search(path.read_text(encoding="utf-8")) for path in pages}
    unlinked = [name for name, match in first.items() if match and not all(match.groups())]
    assert unlinked == []
    assert sum(match is not None for match in first.values()) >= pages_with_it


def test_what_a_page_says_of_its_words_is_what_the_docs_say():
    """One text for each, letter by letter, but for links and marks."""
    rows = [re.split(r" \| ", line.strip("| ")) for line in WORDS.splitlines() if "<a id=" in line]
    links = re.compile(r" \(\[[^\]]*\]\([^)]*\)\)|[*`]")
    told = {links.sub("", meant) for _, meant in rows}
    assert len(OURS) > 15
    assert {*OURS.values()} <= told, {*OURS.values()} - told


def test_heads_of_tables_say_what_they_mean():
    for head in ("place", "significant", "ratio", "at an end", "cost", "SFO", "LO"):
        assert column_meaning(head), head
    assert column_meaning("algorithm") == ""


def test_an_order_flips_or_is_reproduced_in_the_unit_of_its_paper_alone():
    """No paper whose orders are on this page counts oracle calls."""
    table = (ROOT / "reports/errata.md").read_text(encoding="utf-8").split("## Orders")[1]
    results = [line.split(" | ")[-1] for line in table.splitlines() if line.startswith("| ")]
    in_calls = re.compile(r"\b(?:flips|reproduced)(?: (?!by|holds|and)\w+){0,4} by (?:SFO|LO|PO)\b")
    assert [match[0] for match in map(in_calls.search, results) if match] == []
    assert any("holds by SFO" in result for result in results)
