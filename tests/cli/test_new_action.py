"""``pfbench new action`` and ``repository``: an action, whose script makes an archive, and
all around it.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from forged_archives import THEOREM

import pfbench as package
from pfbench.cli.new import KINDS


@pytest.fixture
def action(pfbench, folder):
    told = pfbench("new", "action", "lazy-descent")
    assert "sh lazy_descent_action/verify.sh lazy_descent.py" in told.out
    assert "exists" in pfbench("new", "action", "lazy-descent").refusal
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


def verified(folder, script, file):
    """Run the script of an action; return what it printed."""
    here, root = folder / "bin", Path(package.__file__).parents[1]
    here.mkdir()
    (here / "pfbench").write_text('#!/bin/sh\nexec python -m pfbench "$@"\n')
    (here / "pfbench").chmod(0o755)
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", script, file],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(root), "PATH": path},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_script_makes_an_archive_and_checks_it(action, folder):
    """Of a theorem about a method that never rests, so that there are few runs."""
    falls = THEOREM.partition("COUNT = ")[0].replace("if rng.random() < 0.5", "if True")
    steady = falls.replace('"lazy"', '"lazy"\n    deterministic = True')
    (folder / "lazy_descent.py").write_text(steady)
    printed = verified(folder, action / "verify.sh", "lazy_descent.py")
    assert "# lazy-falls" in (folder / "page.md").read_text()
    assert re.search(r"runs recomputed +(\d+) of \1\n", printed)


def test_without_an_archive_of_the_theorem_the_script_fails(action, folder):
    """Its code ends the process with status 0; an archive that was committed is not taken."""
    (folder / "lazy_descent.py").write_text("import os\n\nos._exit(0)\n")
    (folder / "archive.zip").write_bytes(b"of another theorem")
    with pytest.raises(AssertionError, match="no archive was made"):
        verified(folder, action / "verify.sh", "lazy_descent.py")
    assert not (folder / "archive.zip").exists()


def test_everything_of_others_is_pinned_and_no_token_is_kept(action, folder, pfbench):
    pfbench("new", "repository", "MyRate")
    workflow = (folder / "my-rate" / ".github" / "workflows" / "verify.yml").read_text()
    texts = [(action / "action.yml").read_text(), workflow]
    used = [line for text in texts for line in text.splitlines() if "uses: actions/" in line]
    assert len(used) == 3
    assert all(re.search("@[0-9a-f]{40} # v", line) for line in used)
    assert f"default: pfbench=={package.__version__}" in texts[0]
    assert "token" not in texts[0]
    assert "persist-credentials: false" in workflow
    assert "write" not in workflow


@pytest.fixture
def repository(pfbench, folder):
    assert (
        "cd my-rate && sh my_rate_action/verify.sh my_rate.py"
        in pfbench("new", "repository", "MyRate").out
    )
    return folder / "my-rate"


def test_a_repository_names_its_theorem_everywhere(repository):
    names = {str(path.relative_to(repository)) for path in repository.rglob("*") if path.is_file()}
    assert len(names) == len(KINDS["repository"]["files"])
    for name in names:
        assert "thing" not in name
        text = (repository / name).read_text()
        assert "thing" not in text.replace("anything", "").replace("nothing", "").lower(), name
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load((repository / ".github/workflows/verify.yml").read_text())
    used = [step["uses"] for step in read["jobs"]["verify"]["steps"]]
    assert "./my_rate_action" in used
