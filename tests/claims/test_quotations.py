"""What stands in quotation marks is printed in the paper; what is not, has none."""

import re
from pathlib import Path

import pytest
from printed import TITLES, WHY, letters, printed, printed_at, text_of

from pfbench.claims.catalogue import ERRATA, PAPERS
from pfbench.runs.planning.spec import load_spec
from pfbench.verification.claim import CONCLUSIONS, MOST_LINES

WITH = {name: erratum for name, erratum in ERRATA.items() if erratum.dossier}
QUOTED = [(name, quote) for name, erratum in WITH.items() for quote in erratum.dossier.quotes]
REPORTS = Path(__file__).parents[2] / "reports"
SPECS = {
    str(path.relative_to(REPORTS)): path
    for key in TITLES
    for path in (*REPORTS.glob(f"{key}*.toml"), *(REPORTS / "paper").glob(f"{key}*.toml"))
}
PAGES = {path.name: path for key in TITLES for path in (REPORTS / "paper").glob(f"{key}*.md")}
MARKS = re.compile('[“”„«»"]')


def paper_of(name):
    """Return the paper of what has this name; skip the test if its text is not here."""
    key = next(key for key in PAPERS if name.startswith(key))
    if text_of(key) is None:
        pytest.skip(WHY)
    return key


def published_in(spec):
    return [one for study in spec.studies for one in study.orderings if one.is_published]


def quoted_in(spec):
    """Return the words that the specs of a paper's figure quote."""
    for study in spec.studies:
        for one in study.orderings:
            if one.is_published:
                yield from filter(None, (one.quotation, one.stated_settings))
            else:
                yield from re.findall("“([^”]+)”", one.quotation)
        yield from (unit.quotation for unit in study.units if unit.quotation)


@pytest.mark.parametrize(("name", "quote"), QUOTED, ids=[f"{n}, {q.location}" for n, q in QUOTED])
def test_quotations_are_printed(name, quote):
    key = paper_of(name)
    assert printed(key, quote.text), (key, quote.text)


@pytest.mark.parametrize("key", TITLES)
def test_a_quotation_that_is_not_printed_is_found_out(key):
    assert printed(paper_of(key), TITLES[key])
    assert not printed(key, "the step of these experiments is the one of the theorem")
    first, second = TITLES[key].split()[:2]
    assert printed(key, f"{first} … {second}")
    assert not printed(key, f"{second}{first} … {first}{first}{second}")


@pytest.mark.parametrize("name", SPECS)
def test_orders_and_units_are_quoted_as_printed(name):
    key, spec = paper_of(SPECS[name].name), load_spec(SPECS[name])
    quotes = set(quoted_in(spec))
    assert quotes
    assert [one for one in quotes if not printed(key, one)] == []
    assert all(one.location for one in published_in(spec))


def judged_in(spec):
    """Return the units that a spec calls the paper's, each with the orders judged in it."""
    for study in spec.studies:
        for unit in study.units:
            orders = [one for one in study.orderings if unit.has_unit_statement(one)]
            if orders:
                yield unit, orders


@pytest.mark.parametrize("name", SPECS)
def test_the_papers_unit_is_printed_in_the_section_of_the_order_or_at_its_figure(name):
    key, spec = paper_of(SPECS[name].name), load_spec(SPECS[name])
    for unit, orders in judged_in(spec):
        assert printed_at(key, unit.location, unit.quotation), (unit.location, unit.quotation)
        for one in orders:
            assert printed_at(key, one.location, one.quotation), (one.location, one.quotation)
    judged = [one for _, orders in judged_in(spec) for one in orders]
    silent = any("the text names no unit" in text for text in spec.studies[0].assumed_settings)
    printed_orders = [] if silent else published_in(spec)
    assert {one.quotation for one in judged} == {one.quotation for one in printed_orders}


ALSO_CALLED = {"seconds": "time"}
"""What a paper may call a unit."""


def is_named(name, says):
    """Whether words name a unit: each word of its name that is not short begins a word of them."""
    words = letters(says)
    stems = [re.sub("(es|s)$", "", word) for word in name.lower().split() if len(word) > 3]
    return all(stem in words for stem in stems) or ALSO_CALLED.get(name, name) in words


@pytest.mark.parametrize("name", SPECS)
def test_the_papers_unit_is_named_by_its_quotation(name):
    spec = load_spec(SPECS[name])
    assert [u.name for u, _ in judged_in(spec) if not is_named(u.name, u.quotation)] == []


def test_words_that_count_something_else_name_no_unit():
    assert not is_named("iterations", "The number of epoch T is set to 20 for all cases")
    passes = "the number of passes that are taken over the data"
    assert is_named("passes over the data", passes)
    assert not is_named("passes, those of full gradients among them", passes)
    assert is_named("seconds", "versus computation time")


def test_words_of_another_section_are_found_out():
    key, quote = paper_of("wang2019"), "the number of passes that are taken over the data"
    assert printed_at(key, "section 5.1", quote)
    assert not printed_at(key, "section 5.2", quote)
    assert not printed_at(key, "figure 2", quote)


@pytest.mark.parametrize("name", PAGES)
def test_the_papers_unit_of_a_page_is_that_of_its_spec(name, tmp_path):
    """What a page calls the paper's is called so by the spec that stands in it."""
    page = PAGES[name].read_text(encoding="utf-8")
    (tmp_path / "spec.toml").write_text(page.rpartition("```toml\n")[2].partition("\n```")[0])
    stated = {unit.name for unit, _ in judged_in(load_spec(tmp_path / "spec.toml"))}
    called = set(re.findall(r"\| ([^|]+) \(the paper's\) \|", page))
    assert called <= stated
    flips = [line for line in page.splitlines() if "| flips |" in line]
    assert [line for line in flips if "(the paper's) | flips |" not in line] == []


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_quotes_is_printed(name):
    key = paper_of(name)
    quotes = set(re.findall("“([^”]+)”", PAGES[name].read_text(encoding="utf-8")))
    assert quotes
    assert [one for one in quotes if not printed(key, one)] == []


def test_letters_are_what_no_extraction_spoils():
    assert letters("signi\\ufb01cantly  out-\nperforms η = 0.05") == "significantlyoutperformsη005"
    assert letters("signiﬁcantlyoutperformsη=0.05") == "significantlyoutperformsη005"


def test_every_erratum_has_a_dossier():
    assert set(ERRATA) == set(WITH)


@pytest.mark.parametrize("erratum", WITH.values(), ids=list(WITH))
def test_words_of_ours_have_no_quotation_marks(erratum):
    dossier = erratum.dossier
    ours = (erratum.as_printed, erratum.corrected, dossier.assumption, dossier.instance)
    for text in (*ours, *dossier.derivation, *dossier.readings.values()):
        assert not MARKS.search(text), text


@pytest.mark.parametrize("erratum", WITH.values(), ids=list(WITH))
def test_dossiers_are_whole(erratum):
    dossier = erratum.dossier
    assert dossier.conclusion in CONCLUSIONS
    assert 0 < len(dossier.derivation) <= MOST_LINES
    assert len(dossier.instance) > 20
    assert dossier.readings or dossier.conclusion == "ours"
