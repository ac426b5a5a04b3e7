"""``pfbench data``."""

import dataclasses

import pytest

from pfbench.base.errors import DataError
from pfbench.problems.data import management


def test_every_set_is_listed_with_its_state(pfbench, folder):
    outcome = pfbench("data", "list", "--json")
    assert (outcome.status, outcome.err) == (0, "")
    states = {status["name"]: status["state"] for status in outcome.json}
    assert states["digits"] == states["breast-cancer"] == "embedded"
    assert {state for name, state in states.items() if name[:3] in ("a9a", "mov")} == {"absent"}
    text = pfbench("data", "list").out
    assert all(name in text for name in states)
    assert str(folder / "data") in text
    assert not (folder / "data").exists()


def test_the_embedded_sets_are_sound(pfbench):
    outcome = pfbench("data", "check", "digits", "breast-cancer", "--json")
    assert (outcome.status, outcome.err) == (0, "")
    for status in outcome.json:
        assert status["verified"]
        assert len(status["digest"]) == 64
    assert "yes" in pfbench("data", "check", "digits").out


def test_without_names_all_that_are_there_are_checked(pfbench):
    names = {status["name"] for status in pfbench("data", "check", "--json").json}
    assert names == {"digits", "breast-cancer"}


def test_a_set_that_is_not_sound_does_not_hide_the_others(pfbench):
    outcome = pfbench("data", "check", "a9a", "digits", "w8a")
    assert outcome.status == 2
    assert "digits" in outcome.out
    refusals = [line for line in outcome.err.splitlines() if line.startswith("pfbench: ")]
    assert len(refusals) == 2
    assert "pfbench data fetch a9a" in refusals[0]
    assert "pfbench data fetch w8a" in refusals[1]


@pytest.fixture
def home(monkeypatch):
    """Downloads that come from nowhere: 3 pieces, except for covertype, which does not come."""
    asked = []

    def fetch(name, *, progress):
        asked.append(name)
        for piece in range(1, 4):
            progress(1000 * piece, 3000)
        if name == "covertype":
            raise DataError("the connection broke: run `pfbench data fetch covertype` again.")
        status = management.status(name)
        return dataclasses.replace(status, state="cached", size=3000, digest=64 * "0")

    monkeypatch.setattr(management, "fetch", fetch)
    return asked


def test_what_is_named_is_fetched_once_each(pfbench, home):
    outcome = pfbench("data", "fetch", "a9a", "movielens", "a9a")
    assert outcome.status == 0
    assert home == ["a9a", "movielens-latest-small"]
    assert "3 kB" in outcome.out
    assert "a9a (1 of 2)" in outcome.err


def test_fetching_goes_on_after_a_failure(pfbench, home):
    outcome = pfbench("data", "fetch", "covertype", "aloi", "--json")
    assert outcome.status == 2
    assert home == ["covertype", "aloi"]
    assert outcome.err == (
        "pfbench: the connection broke: run `pfbench data fetch covertype` again.\n"
    )


def test_an_unknown_name_stops_it_before_any_download(pfbench, home):
    assert "'w8a'" in pfbench("data", "fetch", "a9a", "w8b").refusal
    assert home == []
