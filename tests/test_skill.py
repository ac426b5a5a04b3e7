"""The commands of SKILL.md work in their order, and its verdicts are those that there are."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pfbench.base.status import Verdict
from pfbench.cli.main import app

TEXT = (Path(__file__).parents[1] / "SKILL.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("in_this_process")
def test_its_commands_work(folder):
    commands = re.findall(r"```\n +(pfbench .*)\n", TEXT)
    assert len(commands) == 4
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="pfbench")
        assert done.exit_code == 0, done.output
    found = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert all(one["homogeneous"] is not False for one in found["units"]["units"])
    assert {one["verdict"] for one in found["verdicts"]["results"]} <= {
        "holds",
        "within-10",
        "attained",
    }
    assert all(one["caught_by"] for one in found["faults"]["mutants"])


def test_its_table_has_every_verdict():
    told = set(re.findall(r"^\| `([\w-]+)` \|", TEXT, flags=re.MULTILINE))
    assert told == set(Verdict)


def test_the_deposit_says_what_the_citation_says():
    root = Path(__file__).parents[1]
    deposit = json.loads((root / ".zenodo.json").read_text())
    cited = (root / "CITATION.cff").read_text()
    assert f"title: {deposit['title']}\nabstract: {deposit['description']}\n" in cited
    assert f"license: {deposit['license']}\n" in cited
    assert all(f"  - {word}\n" in cited for word in deposit["keywords"])
