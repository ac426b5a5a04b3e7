"""``pfbench new``: each file works as it stands, and so does its test."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from forged_archives import THEOREM
from inner_pytest import run_pytest
from processes import run_python

import pfbench as package
from pfbench.cli import new

KINDS = [kind for kind, item in new.KINDS.items() if "folder" not in item]
LONG = ("compare", "run", "report", "check", "verify", "archive", "faults")
"""Commands that the written tests or test_docs.py make in their own way, or that take long."""


@pytest.fixture
def written(pfbench, folder):
    """A folder with one of each kind."""
    for kind in KINDS:
        assert pfbench("new", kind, f"my-{kind}").status == 0
    assert pfbench("new", "benchopt", "my-benchmark").status == 0
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_the_tests_that_are_written_pass(written):
    # Claims like those of my_claim.py are verified by test_docs.py.
    printed = run_pytest(written, "-q", "-k", "not no_claim", ".")
    assert "22 passed, 1 deselected" in printed


def test_what_is_written_is_formatted_and_without_lint(written):
    pytest.importorskip("ruff")
    chosen = ("--select", "B,D,E,F,I,PT,UP,W", "--ignore", "D1,D205,D2", "--line-length", "100")
    for command in (("check", *chosen), ("format", "--check", "--line-length", "100")):
        run_python("-m", "ruff", command[0], "--isolated", "--no-cache", *command[1:])


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_that_are_named_work(pfbench, folder, kind):
    told = pfbench("new", kind, f"Our{kind.capitalize()}")
    module = f"our_{kind}"
    first, *commands, test = told.out.splitlines()
    file = f"{module}.toml" if kind in ("sweep", "suite") else f"{module}.py"
    assert first == f"wrote {file} and test_{module}.py; next:"
    assert test == f"  pytest test_{module}.py"
    assert (folder / f"test_{module}.py").exists()
    assert len([*commands, test]) == len(new.KINDS[kind]["next"])
    for command in commands:
        pfbench_, verb, *arguments = shlex.split(command)
        assert pfbench_ == "pfbench"
        if verb in LONG and "--dry-run" not in arguments:
            continue
        outcome = pfbench(verb, *arguments, "--json")
        assert outcome.status == 0, outcome.err
        if verb == "solve":
            assert outcome.json["status"] == "finished"
            assert outcome.json["final"]["fw_gap"] < 0.5
        elif verb == "info":
            assert outcome.json["summary"]


def test_a_fault_that_is_planted_in_what_is_written_is_found(pfbench, written):
    """Its check is no mere decoration: a wrong sign in the linear minimisation is named."""
    path = written / "my_set.py"
    text = path.read_text().replace("np.maximum(-check_gradient(", "np.maximum(check_gradient(")
    path.write_text(text.replace("class MySet", "class Wrong"))
    found = pfbench("check", "my_set.py:Wrong", "--json")
    assert found.status == 1
    assert any(
        one["status"] == "failed" and "lo" in json.dumps(one) for one in found.json["findings"]
    )


@pytest.mark.parametrize("there", ["mine_too.py", "test_mine_too.py"])
def test_nothing_is_overwritten(pfbench, folder, there):
    (folder / there).write_text("# mine\n")
    assert f"{there} exists" in pfbench("new", "set", "mine-too").refusal
    assert [path.name for path in folder.iterdir() if path.is_file()] == [there]
    assert (folder / there).read_text() == "# mine\n"


# --- a benchmark of benchopt ----------------------------------------------------------------------


def test_the_folder_for_benchopt_works(pfbench, folder, monkeypatch):
    """All that benchopt calls, in its order; without benchopt, whose base classes do not matter."""
    told = pfbench("new", "benchopt", "my-thing")
    assert "benchopt run benchmark_my_thing" in told.out
    assert "exists" in pfbench("new", "benchopt", "my-thing").refusal
    bases = {name: type(name, (), {}) for name in ("BaseObjective", "BaseDataset", "BaseSolver")}
    monkeypatch.setitem(sys.modules, "benchopt", SimpleNamespace(**bases))
    read = {}
    for path in (folder / "benchmark_my_thing").rglob("*.py"):
        exec(compile(path.read_text(), str(path), "exec"), read)
    data, objective, solver = read["Dataset"](), read["Objective"](), read["Solver"]()
    for chosen in product(data.parameters["problem"], solver.parameters["algorithm"]):
        data.problem, solver.algorithm = chosen
        solver.seed = 0
        objective.set_data(**data.get_data())
        assert objective.evaluate_result(**objective.get_one_result())["lo"] == 0
        assert solver.skip(**objective.get_objective()) == (False, None)
        solver.set_objective(**objective.get_objective())
        values = []
        for n_iter in (0, 1, 40):
            solver.run(n_iter)
            found = objective.evaluate_result(**solver.get_result())
            assert found["lo"] == n_iter
            values.append(found["value"])
        assert values[0] > values[2]
    solver.algorithm = "gradient-descent[step=0.1]"
    assert solver.skip(**objective.get_objective())[0]


# --- an action, whose script makes an archive, and all around it ----------------------------------


@pytest.fixture
def action(pfbench, folder):
    told = pfbench("new", "action", "lazy-descent")
    assert "pfbench new theorem lazy-descent    # if there is no lazy_descent.py yet" in told.out
    assert "sh lazy_descent_action/verify.sh lazy_descent.py" in told.out
    assert "exists" in pfbench("new", "action", "lazy-descent").refusal
    return folder / "lazy_descent_action"


def test_the_action_runs_the_script_and_is_told_the_theorem_by_the_environment(action):
    """What a pull request names is never part of a command."""
    read = pytest.importorskip("yaml").safe_load((action / "action.yml").read_text())
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
    assert len(names) == len(new.KINDS["repository"]["files"])
    for name in names:
        assert "thing" not in name
        text = (repository / name).read_text()
        assert "thing" not in text.replace("anything", "").replace("nothing", "").lower(), name
    read = pytest.importorskip("yaml").safe_load(
        (repository / ".github/workflows/verify.yml").read_text()
    )
    used = [step["uses"] for step in read["jobs"]["verify"]["steps"]]
    assert "./my_rate_action" in used
