"""``pfbench list``."""

import json
from itertools import chain

import pytest
from typer.testing import CliRunner

from pfbench.cli.main import app

KINDS = (
    *("algorithms", "problems", "sets", "estimators", "measures", "claims"),
    *("reports", "suites", "data"),
)


@pytest.fixture(scope="module")
def listed():
    """What is listed as JSON, by kind."""
    outcomes = {kind: CliRunner().invoke(app, ["list", kind, "--json"]) for kind in KINDS}
    assert all(outcome.exit_code == 0 and not outcome.stderr for outcome in outcomes.values())
    return {kind: json.loads(outcome.stdout) for kind, outcome in outcomes.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_json_conforms_to_the_published_schema(listed, conforms, kind):
    conforms(listed[kind], "list.json")


def test_every_item_has_a_source_and_a_summary_of_one_line(listed):
    for item in chain.from_iterable(listed.values()):
        assert item["source"].strip(), item
        assert item["summary"].strip(), item
        assert "\n" not in item["summary"]


def test_away_from_a_terminal_each_item_is_one_line(pfbench):
    items = pfbench("list", "data", "--json").json
    lines = pfbench("list", "data").out.splitlines()[1:]
    assert len(lines) == len(items)
    for line, item in zip(lines, items, strict=True):
        assert line.split()[0] == item["name"]
        assert item["summary"] in line
        assert item["source"] in line
        assert line == line.rstrip()


def test_in_a_narrow_terminal_nothing_is_cut(pfbench, listed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = pfbench("list").out
    assert max(map(len, text.splitlines())) <= 60
    assert "…" not in text
    words = set(text.split())
    for item in chain.from_iterable(listed.values()):
        prefix = f"{item['kind']}:" if item["kind"] in ("penalty", "estimator") else ""
        assert prefix + item["name"] in words


def test_reports_of_the_current_folder_come_first(pfbench, folder):
    (folder / "reports").mkdir()
    (folder / "reports" / "gradient-estimators.toml").write_text('title = "mine"\n')
    listed = pfbench("list", "reports", "--json").json
    (found,) = (one for one in listed if one["name"] == "gradient-estimators")
    assert found["source"] == "reports/gradient-estimators.toml"
    assert found["summary"].startswith("damaged: ")
