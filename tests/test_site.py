"""What the site's pages are made of: names that are there, claims that have verdicts, commands."""

import re
import shlex
from functools import cache
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import figures
import formulas
import pages
import papers
import pytest
from marking import cell, code, linked, safe
from typer.testing import CliRunner

import pfbench
from pfbench import testing
from pfbench.claims.catalogue import CLAIMS, ERRATA, PAPERS
from pfbench.cli.main import app
from pfbench.reporting.tables import column_meaning
from pfbench.reporting.wording import WORDS as OURS

ROOT = Path(__file__).parents[1]


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def test_every_public_name_is_in_the_api():
    named = set(re.findall(r"^\.\. auto\w+:: (?:[\w.]+\.)?(\w+)$", read("docs/api.rst"), re.M))
    rooms = {"adapters", "claims"}
    public = (getattr(pfbench, room).__all__ for room in rooms)
    assert named >= {*pfbench.__all__, *testing.__all__, *chain(*public)} - rooms


def test_every_page_asks_for_what_there_is():
    asked = [
        one
        for path in sorted((ROOT / "docs").rglob("*.md"))
        for one in re.findall(r"<!-- site: (\w+) ?(.*?) -->", path.read_text("utf-8"))
    ]
    assert {what for what, _ in asked} == pages.WRITERS.keys()
    assert {of for what, of in asked if what == "claims"} == PAPERS.keys()


def test_a_page_of_theory_has_claims_with_verdicts_and_problems_with_constants():
    text = pages.filled("<!-- site: claims jaggi2013 -->")
    assert "### jaggi2013-thm1" in text
    bound = formulas.typeset("f convex: f(x_t) - min f <= 2 C_f/(t+2) for all t >= 1")
    assert f"### jaggi2013-thm1\n\n{bound}\n" in text
    assert "exact_lo_suboptimality_bound(C, parameters, t)`: Return 2 C/(t+2)" in text
    assert "frank-wolfe-half-step (Takes 1/(t+2), half the step)" in text
    assert "[`frank-wolfe`](#method-frank-wolfe)" in text
    assert "[passed(slope=-0.01)](#problem-jaggi2013-2)" in text
    assert "### passed\n" in text
    assert "(problem-jaggi2013-2)=\n`passed(slope=-0.01)`" in text
    assert re.search(r"\| `D` \| 1.41421 \| ", text)


def test_no_two_places_of_the_theory_have_one_label():
    """Where a paper has very many claims they are tables by method, as are those of methods."""
    made = [pages.filled(f"<!-- site: claims {key} -->") for key in ("methods", "relatives")]
    labels = re.findall(r"^\((.+)\)=$", "\n".join(made), re.M)
    assert len(labels) == len(set(labels)) > 60


def test_the_table_of_papers_has_no_empty_cell():
    rows = papers.verdicts().splitlines()[2:]
    assert len(rows) == len(PAPERS)
    for row in rows:
        _, number, errata = (one.strip() for one in row.strip("|").rsplit("|", 2))
        assert re.fullmatch(r"1 claim( \(.+\))?|\d+ claims( \(.+\))?", number)
        assert not number.startswith("1 claims")
        assert re.fullmatch(r"none|\d+ \(.+\)", errata)


def test_every_claim_and_erratum_stands_in_a_page():
    """Where it does not build problems: each is in one file of its paper."""
    stated = [
        one.name
        for paper in PAPERS.values()
        for module in papers._files(paper)
        for one in (*papers._claims_of(module), *papers._errata_of(module, paper))
    ]
    assert sorted(stated) == sorted([*CLAIMS, *ERRATA])


def test_most_claims_have_a_verdict_and_errata_are_shown():
    known = [name for name in CLAIMS if name in papers.measured()]
    assert len(known) > 0.95 * len(CLAIMS)
    assert {papers.measured()[name]["verdict"] for name in known} <= {
        "within-10",
        "attained",
        "holds",
        "disputed",
    }
    assert set(papers.shown()) >= set(ERRATA)
    assert papers.power()["shen2019-mse-svrg"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (safe("|x|_2 <= a*b `c*d`"), r"\|x\|\_2 \<= a\*b `c*d`"),
        (code("E|g|"), "`E|g|`"),
        (cell("`E|g|` \\| x"), "`E\\|g\\|` \\| x"),
        (linked("qu2018 (8)"), "[qu2018](#paper-qu2018) (8)"),
        (linked("Jaggi 2013"), "Jaggi 2013 [jaggi2013](#paper-jaggi2013)"),
    ],
)
def test_texts_as_markdown(made, expected):
    assert made == expected


# --- formulas -------------------------------------------------------------------------------------

STATEMENTS = {
    *(claim.statement for claim in CLAIMS.values()),
    *chain(*((erratum.as_printed, erratum.corrected) for erratum in ERRATA.values())),
}


def signs_of(text):
    """Return the letters and digits of a statement, typeset or not, with one sign for a letter."""
    named = re.sub(r"[A-Za-z]+", lambda one: formulas.LETTERS.get(one[0], one[0]), text)
    plain = re.sub(r"sqrt|ceil|_hat|hat(?=<|$)", "", named).replace("𝔼", "E")
    return re.sub(r"[\W_]", "", plain)


def without_tags(made):
    return re.sub(r"&\w+;", "", re.sub(r"<[^>]*>", "<>", made))


def test_no_letter_of_a_statement_is_lost_when_it_is_typeset():
    assert len(STATEMENTS) > 150
    for statement in STATEMENTS:
        made = formulas.typeset(statement)
        for one in re.findall(r"<math>.*?</math>", made):
            ElementTree.fromstring(one)
        assert signs_of(without_tags(made)) == signs_of(statement), statement


@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        ("for all t >= 1", ["for all <math>", "<mo stretchy='false'>≥</mo><mn>1</mn>"]),
        ("|g|^2 <= eps^2/4", ["<msup><mi>ε</mi><mn>2</mn></msup><mo", ">/</mo><mn>4</mn>"]),
        (
            "after eps^-10/3 SFO",
            ["<mo stretchy='false'>−</mo><mn>10</mn>", "<mn>3</mn></mrow></msup>"],
        ),
        ("f(theta_hat) <= 1", ["<mover><mi>θ</mi><mo>^</mo></mover>"]),
        ("x_t^2", ["<msubsup><mi>x</mi><mi>t</mi><mn>2</mn></msubsup>"]),
        ("E|g| while E = n", ["<mi>𝔼</mi>", "while", "<mi>E</mi>"]),
        ("sqrt(alpha/2)", ["<msqrt><mi>α</mi>", "<mn>2</mn></msqrt>"]),
        ("b = 1 (ours)", ["</math> (ours)"]),
        ("a finite sum", ["a finite sum"]),
    ],
)
def test_formulas_are_typeset(statement, parts):
    made = formulas.typeset(statement)
    at = 0
    for part in parts:
        at = made.find(part, at)
        assert at >= 0, made


# --- the guide for coding agents ------------------------------------------------------------------


def test_what_the_guide_names_is_there():
    text = read("AGENTS.md")
    for name in re.findall(r"`([\w./-]+/[\w./-]*|[\w-]+\.md)`", text):
        assert (ROOT / name).exists() or name.startswith(("build/", ".venv/")), name
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


def test_the_guide_gives_the_commands_of_tox():
    text, tox = read("AGENTS.md"), read("tox.ini")
    assert re.search(r"`(sphinx-build .*?)`", text)[1] in tox
    for command in ("ruff format", "ruff check", "lint-imports --no-logo", "mypy"):
        assert f"`{command}`" in text
        assert re.search(rf"^    {command}\b", tox, re.M), command
    assert "`python -m benchmarks.history check`" in text


@cache
def help_of(*verbs):
    shown = CliRunner().invoke(app, [*verbs, "--help"], env={"COLUMNS": "200"})
    return shown.stdout if shown.exit_code == 0 else ""


def unknown_in(text):
    """Yield the verbs and options of pfbench that a page names and the command does not have."""
    fenced = "".join(re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.M | re.S))
    plain = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    commands = re.findall(r"`pfbench (.*?)`", plain, re.S)
    commands += re.findall(r"^pfbench (.*)$", fenced.replace("\\\n", " "), re.M)
    for command in commands:
        words = [one for one in shlex.split(command, comments=True) if one not in ("…", "...")]
        verbs = words[:2] if words[0] in ("data", "store", "archive") else words[:1]
        if words[0] == "--help":
            continue
        shown = help_of(*verbs)
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        yield from (command for one in options if not re.search(rf"{one}\b", shown))
        if not shown:
            yield command


PAGES = [
    "README.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
]


def test_the_verbs_and_options_that_pages_name_exist():
    assert {page: found for page in sorted(PAGES) if (found := list(unknown_in(read(page))))} == {}


def test_verbs_and_options_that_do_not_exist_are_found():
    text = "`pfbench verify --slowly x`, `pfbench verify --quick`\n```\npfbench sovle -p q\n```\n"
    assert list(unknown_in(text)) == ["verify --slowly x", "sovle -p q"]


# --- the gallery ----------------------------------------------------------------------------------


def test_a_program_of_the_gallery_is_run_and_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    program = "```python\nimport matplotlib.pyplot as plt\n\nfigure = plt.figure()\n```\n\n"
    page = figures.drawn(f"{program}<!-- figure: An empty figure -->\n\n```python\n1 / 0\n```\n")
    assert "![An empty figure](/build/figures/an-empty-figure.svg)" in page
    assert (tmp_path / "an-empty-figure.svg").read_text().count("<svg") == 1
    with pytest.raises(ZeroDivisionError):
        figures.drawn("```python\n1 / 0\n```\n\n<!-- figure: None -->")


def test_every_program_of_the_gallery_asks_for_its_figure():
    text = read("docs/gallery.md")
    assert text.count("```python") == text.count("<!-- figure: ") == 5


# --- the page of words: each is there once, and pages link to it where they first use it ----------


WORDS = read("docs/glossary.md")
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


def words_of(page):
    return re.findall(r"glossary\.md#([\w-]+)", read(page))


@pytest.mark.parametrize("page", FIRST)
def test_pages_link_to_words_that_are_there(page):
    assert {*FIRST[page]} <= {*words_of(page)} <= {*ANCHORS}


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
    table = read("reports/errata.md").split("## Orders")[1]
    results = [line.split(" | ")[-1] for line in table.splitlines() if line.startswith("| ")]
    in_calls = re.compile(r"\b(?:flips|reproduced)(?: (?!by|holds|and)\w+){0,4} by (?:SFO|LO|PO)\b")
    assert [match[0] for match in map(in_calls.search, results) if match] == []
    assert any("holds by SFO" in result for result in results)
