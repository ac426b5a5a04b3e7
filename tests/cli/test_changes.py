"""`pfbench report --compare`: what changed between two stores."""

from dataclasses import replace

import pytest
from stored import ENVIRONMENT, key_of, made_run

from pfbench.runs.storage.store import Store


@pytest.fixture
def stores(folder):
    """Two stores of two runs; one has another count in the second."""
    for name, more in (("a", 0), ("b", 5)):
        store = Store(folder / name)
        store.put(key_of(f"{name} 0"), made_run(0), ENVIRONMENT)
        run = made_run(1)
        run = replace(run, counts=replace(run.counts, lo=run.counts.lo + more))
        store.put(key_of(f"{name} 1"), run, ENVIRONMENT)


def test_a_table_of_what_changed(pfbench, stores):
    outcome = pfbench("report", "--compare", "a", "b")
    assert outcome.status == 0
    (line,) = [line for line in outcome.out.splitlines() if " lo " in line]
    assert line.split()[-5:] == ["1", "lo", "3", "8", "2.667"]


def test_json(pfbench, stores, conforms):
    found = pfbench("report", "--compare", "a", "b", "--json").json
    conforms(found, "changes.json")
    assert (found["identical"], found["changed"]) == (1, 1)
    assert found["changes"][0]["field"] == "lo"


@pytest.mark.parametrize("arguments", [("a", "none"), ("none", "a"), ("a",)])
def test_two_stores_are_needed(pfbench, stores, arguments):
    assert pfbench("report", "--compare", *arguments).refusal
