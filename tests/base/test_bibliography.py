"""The bibliography: every method of ours cites what it says it comes from."""

import re
import unicodedata
from importlib.resources import files

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.bibliography import (
    REFERENCES,
    find_cited_paper_keys,
    find_urls,
    format_reference,
    strip_tex,
)
from pfbench.cli.catalogue import list_items


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_cites_its_source(name):
    source = ALGORITHMS[name].source
    keys = find_cited_paper_keys(source)
    years = {REFERENCES[key]["year"] for key in keys}
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


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_is_whole(key):
    fields = REFERENCES[key]
    text = "".join(fields.values())
    assert text.isascii()
    assert text.count("{") == text.count("}")
    assert {"author", "title", "year"} <= fields.keys()
    surname = fields["author"].partition(",")[0]
    letters = unicodedata.normalize("NFKD", strip_tex(surname)).lower()
    surname = re.sub("[^a-z]", "", letters)
    assert surname in key or (surname, key[:7]) == ("lacostejulien", "lacoste")


def test_every_entry_of_the_file_is_read_with_all_its_fields():
    text = (files("pfbench.base") / "references.bib").read_text("utf-8")
    assert text.count("@") == len(REFERENCES)
    assert text.count(" = {") == sum(map(len, REFERENCES.values()))
