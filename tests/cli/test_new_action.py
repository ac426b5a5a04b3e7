"""``pfbench new action``: what is written is an action, and its script makes a receipt."""

import os
import subprocess
from pathlib import Path

import pytest
from forged_receipts import THEOREM

import pfbench as package


@pytest.fixture
def action(pfbench, folder):
    told = pfbench("new", "action", "lazy-descent")
    assert "sh lazy_descent_action/verify.sh lazy_descent.py" in told.out
    assert "is there" in pfbench("new", "action", "lazy-descent").refusal
    return folder / "lazy_descent_action"


def test_the_action_runs_the_script_and_is_told_the_theorem_by_the_environment(action):
    """What a pull request names is never part of a command."""
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load((action / "action.yml").read_text())
    assert read["runs"]["using"] == "composite"
    commands = [step["run"] for step in read["runs"]["steps"] if "run" in step]
    assert any("verify.sh" in one for one in commands)
    assert not any("${{" in one for one in commands)
    assert all(step.get("shell") == "bash" for step in read["runs"]["steps"] if "run" in step)


@pytest.mark.slow
def test_the_script_makes_a_receipt_and_checks_it(action, folder):
    (folder / "lazy_descent.py").write_text(THEOREM)
    here, root = folder / "bin", Path(package.__file__).parents[1]
    here.mkdir()
    (here / "pfbench").write_text('#!/bin/sh\nexec python -m pfbench "$@"\n')
    (here / "pfbench").chmod(0o755)
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", action / "verify.sh", "lazy_descent.py"],
        env=os.environ | {"PYTHONPATH": str(root), "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "# Receipt of lazy_descent" in (folder / "receipt.md").read_text()
    assert "runs made again       40 of 40" in done.stdout
