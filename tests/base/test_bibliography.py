"""The bibliography: every method of ours cites what it says it comes from."""

import re

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.bibliography import REFERENCES, bibtex
from pfbench.runs.planning.citing import data_sets, references

KEY = re.compile(r"\b(shen2019|qu2018|li2019|wang2019|lacoste2016)\b")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_cites_its_source(name):
    kind = ALGORITHMS[name]
    assert kind.cites
    assert set(kind.cites) <= REFERENCES.keys()
    assert set(KEY.findall(kind.source)) <= set(kind.cites)
    years = {REFERENCES[key].fields["year"] for key in kind.cites}
    assert set(re.findall(r"\b20\d\d\b", kind.source)) <= years
    # One that has a source of its own is not cited by what it inherits.
    assert ("source" in vars(kind)) == ("cites" in vars(kind))


def test_every_paper_is_cited():
    assert {key for kind in ALGORITHMS.values() for key in kind.cites} == REFERENCES.keys()


def test_an_entry_as_bibtex_reads_it():
    text = bibtex(["lan2016", "lan2016"])
    assert text == (
        "@article{lan2016,\n"
        "  author = {Lan, Guanghui and Zhou, Yi},\n"
        "  title = {Conditional Gradient Sliding for Convex Optimization},\n"
        "  journal = {SIAM Journal on Optimization},\n"
        "  year = {2016},\n"
        "  volume = {26},\n"
        "}\n"
    )


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_is_whole(key):
    text = bibtex([key])
    assert text.isascii()
    assert text.count("{") == text.count("}")
    fields = REFERENCES[key].fields
    assert {"author", "title", "year"} <= fields.keys()
    surname = fields["author"].partition(",")[0]
    assert re.sub("[^a-z]", "", surname.lower()) in key or key == "lacoste2016"


def test_what_runs_cite():
    algorithms = ["storc[iterations=1]", "own:Mine", "nfwu-svrg", "nfwu-sg", "??"]
    assert references(algorithms) == ("li2019", "hazan2016", "shen2019")
    found = data_sets(
        ["nonconvex-logistic[source=a9a]", "quadratic", "robust-regression[source=x]"]
    )
    assert list(found) == ["a9a"]
