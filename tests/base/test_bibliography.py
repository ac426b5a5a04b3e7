"""The bibliography: every method of ours cites what it says it comes from."""

import re
import unicodedata

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.bibliography import (
    REFERENCES,
    find_cited_paper_keys,
    find_urls,
    format_bibtex,
    format_reference,
    parse_bibtex,
    strip_tex,
)
from pfbench.cli.catalogue import list_items


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_cites_its_source(name):
    source = ALGORITHMS[name].source
    keys = find_cited_paper_keys(source)
    years = {REFERENCES[key].fields["year"] for key in keys}
    assert keys
    assert set(re.findall(r"\b20\d\d\b", source)) <= years


UNPUBLISHED = ("the ", "pfbench", "calibration: ", "separable: ")


def test_every_source_is_in_the_bibliography_and_every_paper_is_cited():
    kinds = ("algorithms", "problems", "sets", "estimators", "measures", "claims")
    items = [item for kind in kinds for item in list_items(kind)]
    for item in items:
        assert bool(item.source_citation_keys) != item.source.startswith(UNPUBLISHED), item
        assert set(item.source_citation_keys) <= REFERENCES.keys()
    assert {key for item in items for key in item.source_citation_keys} == REFERENCES.keys()


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("Fang, Li, Lin, Zhang 2018, algorithm 1", ("fang2018",)),
        ("Li & Li 2018; wang2019 (3)", ("li2018", "wang2019")),
        ("Ghadimi & Lan, Math. Prog. 2016", ("ghadimi2016accelerated",)),
        ("Ghadimi, Lan, Zhang 2016", ("ghadimi2016minibatch",)),
        ("Reddi, Sra, Poczos, Smola 2016 (CDC)", ("reddi2016cdc",)),
        ("Zhang et al. 2012, Dudik et al. 2012", ("dudik2012", "zhang2012")),
        ("Jaggi 2014", ()),
        ("shen2019b", ()),
    ],
)
def test_papers_are_told_by_key_or_by_authors_and_year(source, keys):
    assert find_cited_paper_keys(source) == keys


def test_a_paper_in_words():
    assert format_reference("nguyen2017").startswith(
        "Nguyen, Liu, Scheinberg, Takáč: Stochastic Recursive"
    )
    assert format_reference("yuan2006").endswith(
        "Journal of the Royal Statistical Society, Series B, 68, 49–67, 2006"
    )
    assert find_urls("qu2018") == {
        "arXiv:1708.04783": "https://arxiv.org/abs/1708.04783",
        "PMLR": "https://proceedings.mlr.press/v80/",
    }
    for key in REFERENCES:
        assert not set("{}\\$") & set(format_reference(key))


def test_an_entry_as_bibtex_reads_it():
    text = format_bibtex(["lan2016", "lan2016"])
    assert text == (
        "@article{lan2016,\n"
        "  author = {Lan, Guanghui and Zhou, Yi},\n"
        "  title = {Conditional Gradient Sliding for Convex Optimization},\n"
        "  journal = {SIAM Journal on Optimization},\n"
        "  year = {2016},\n"
        "  volume = {26},\n"
        "  doi = {10.1137/140992382},\n"
        "}\n"
    )


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_is_whole(key):
    text = format_bibtex([key])
    assert text.isascii()
    assert text.count("{") == text.count("}")
    fields = REFERENCES[key].fields
    assert {"author", "title", "year"} <= fields.keys()
    surname = fields["author"].partition(",")[0]
    letters = unicodedata.normalize("NFKD", strip_tex(surname)).lower()
    surname = re.sub("[^a-z]", "", letters)
    assert surname in key or (surname, key[:7]) == ("lacostejulien", "lacoste")


def test_entries_are_read_as_they_are_written():
    assert parse_bibtex(f"Some words.\n\n{format_bibtex(REFERENCES)}") == REFERENCES


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text * 2, "key qu2018 or a field"),
        (
            lambda text: text.replace("  year", "  title"),
            "key qu2018 or a field of its entry is repeated",
        ),
        (
            lambda text: text.replace("},\n  year", "}\n  year"),
            "1 BibTeX entries begin with @, but only 0",
        ),
        (lambda text: text.rstrip("}\n"), "1 BibTeX entries begin with @, but only 0 can be read"),
    ],
)
def test_an_entry_that_is_spoilt_is_refused(spoil, words):
    with pytest.raises(ValueError, match=words):
        parse_bibtex(spoil(format_bibtex(["qu2018"])))
