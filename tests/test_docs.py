"""The code in the documentation runs as it is printed."""

import json
import os
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pfbench as pf
from pfbench.base.status import Verdict
from pfbench.cli.main import app
from pfbench.runs.planning.spec import PAGE, STUDY_FIELDS

ROOT = Path(__file__).parents[1]


SUITE = """
[candidate]
iterations = 50
"""


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page):
    """Return the blocks of Python, without those that need PyTorch where that is missing."""
    found = re.findall(r"```python\n(.*?)```", read(page), flags=re.DOTALL)
    return [one for one in found if "import torch" not in one or find_spec("torch")]


def executed(page):
    """Run the blocks of a page; return the names that they leave."""
    names = {}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)
    return names


def printed(arguments):
    """Return what a command prints that ends well; after `>` comes the file that it is put in."""
    *words, _, file = arguments if ">" in arguments else (*arguments, ">", os.devnull)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    Path(file).write_text(result.stdout)
    return result.stdout


def test_readme(capsys):
    names = executed("README.md")
    assert "finished Counts(fo=4, sfo=688896, sso=230016" in capsys.readouterr().out
    assert names["run"].counts.lo == 960


def test_adding_an_algorithm(capsys):
    names = executed("docs/adding-an-algorithm.md")
    said = "Counts(fo=0, sfo=8000, sso=0, hvp=0, lo=200, po=0, fv=0, llo=0)"
    assert said in capsys.readouterr().out
    problem = pf.problem("nonconvex-logistic", source="synthetic", rows=53, columns=7)
    ours = names["AveragedSFW"](iterations=11, step=0.1, batch=5)
    rng, x, d = np.random.default_rng(3), problem.start(), np.zeros(7)
    for t, state in enumerate(ours.run(problem, problem.start(), np.random.default_rng(3))):
        S = rng.integers(53, size=5)
        g = np.mean([problem.batch(np.array([i]), x) for i in S], axis=0)
        d += min(1.0, 4 / (t + 8) ** (2 / 3)) * (g - d)
        x = x + 0.1 * (problem.set.lo(d) - x)
        np.testing.assert_allclose(state.x, x, atol=1e-12)


def test_samplers(capsys):
    executed("docs/samplers.md")
    counts, *report = capsys.readouterr().out.splitlines()
    assert counts == "1592"
    assert any(line.startswith("passed   mean of the draws") for line in report)
    assert not [line for line in report if line.startswith("failed")]


@pytest.mark.slow
def test_whether_the_rate_of_muon_is_true(capsys):
    names = executed("docs/muon.md")
    names["plt"].close("all")
    assert "sfo=240, sso=0, hvp=0, lo=60" in capsys.readouterr().out
    assert names["steps_of_muon"](101) <= 17
    assert (names["steps_of_descent"](101), names["steps_of_descent"](1001)) == (38, 351)


@pytest.mark.long
def test_comparing_your_method(folder):
    """The method and the spec of the page as files, and every command of it."""
    text = read("docs/compare.md")
    Path("my_methods.py").write_text(text.split("```python\n")[1].split("```")[0])
    spec = text.split("```toml\n")[1].split("```")[0]
    Path("mine.toml").write_text(spec)
    Path("other.toml").write_text(spec.replace("seeds = 3", "seeds = 2"))
    Path("suite.toml").write_text(spec + SUITE)  # the same, on a suite of one problem
    out = []
    for arguments in commands_of("docs/compare.md"):
        own = ["--jobs", "0"] if {"mine.toml", "compare"} & {*arguments} else []
        own += ["--suite", "suite.toml"] if "compare" in arguments else []
        out.append(printed([*arguments, *own]))
    compared, run, page, text, stored, both = out
    assert re.search(r"mine +1", run)
    assert "≤ 0.05" in run
    assert page.startswith("build/report/mine.html")
    assert "SFO to each target" in text
    assert stored.startswith("build/report/store.html")
    assert both.startswith("build/report/both.html")
    assert Path("build/report/both-other.svg").is_file()
    assert "mine is first on" in compared


@pytest.mark.parametrize("file", ["descent.py", pytest.param("page.py", marks=pytest.mark.long)])
def test_your_own_theorem(folder, file):
    """The two files of the page, and every command of it."""
    descent, page = blocks("docs/your-theorem.md")
    text = read("docs/your-theorem.md")
    assert len(page.splitlines()) < 80
    Path("descent.py").write_text(descent)
    Path("page.py").write_text(page)
    commands = commands_of("docs/your-theorem.md")
    assert len(commands) == 10
    out = []
    for arguments in (one for one in commands if file in " ".join(one)):
        own = [] if arguments[0] in ("solve", "explain", "units") else ["--jobs", "0"]
        own += ["--max-faults", "1"] if arguments[0] == "faults" else []
        out.append(printed([arguments[0], *own, *arguments[1:]]))
    if file == "page.py":
        of_page, stale = out
        assert "3 holds, 2 within-10" in of_page
        assert "[page-thm1, page-lemma]" in stale
        return
    told, faults, rate, explained, worst, _, other, again = out
    assert text.split("```text\n")[2].split("```")[0] in worst
    assert "a run on it" in other
    assert "gradient_mapping_sq" in again
    assert "1 holds, 2 within-10" in told
    assert "[descent-mean]" in faults
    assert json.loads(rate)["results"][0]["measured"]["slope"] == pytest.approx(2, abs=0.1)
    assert "\nquadratic\n" in explained


def test_is_it_true(folder):
    """The claim of the page is violated as it is printed there."""
    Path("cyclic.py").write_text(blocks("docs/is-it-true.md")[0])
    (command,) = commands_of("docs/is-it-true.md")
    done = CliRunner().invoke(app, [*command, "--jobs", "0"])
    assert done.exit_code == 1, done.stderr
    text = read("docs/is-it-true.md")
    assert text.split("```text\n")[1].split("```")[0] in done.stdout
    assert Path("cyclic-rate-counterexample.py").is_file()


def test_the_fields_of_a_spec_are_all_told():
    table = read("docs/compare.md").partition("## Fields of a spec")[2].partition("##")[0]
    for field in (*PAGE, *STUDY_FIELDS):
        assert f"`{field}`" in table or f"[{field}]" in table, field


def test_your_own_problem_and_measure(folder):
    """The last block of the page as a module, with the command and the sweep below it."""
    section = read("docs/adding-an-algorithm.md").partition("## Your own problem and measure")[2]
    Path("my_problems.py").write_text(section.split("```python\n")[1].split("```")[0])
    Path("sweep.toml").write_text(section.split("```toml\n")[1].split("```")[0])
    command = section.split("```\npfbench ")[1].split("```")[0].replace("\\\n", "")
    run = json.loads(printed([*shlex.split(command), "--json"]))
    assert (run["status"], run["counts"]["lo"]) == ("finished", 20)
    assert 0.0 < run["final"]["distance_to_best"] < 0.01
    (run,) = json.loads(printed(["run", "sweep.toml", "--jobs", "0", "--json"]))["runs"]
    assert run["status"] == "target"
    assert run["targets"][0]["measure"] == "distance_to_best"


def commands_of(page):
    """Return the commands of a page; those in blocks called `sh` take long, and are not run."""
    text = read(page).replace("\\\n", "")
    found = re.findall(r"^```\n(pfbench .*?)```", text, flags=re.DOTALL | re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for one in found for line in one.splitlines()]


@pytest.mark.usefixtures("folder", "in_this_process")
def test_verifying_a_claim(capsys):
    (block,) = blocks("docs/verify-a-claim.md")
    exec(compile(block, "verify-a-claim.md", "exec"), {})
    assert block.splitlines()[-1].removeprefix("# ") in capsys.readouterr().out
    for command, told in zip(
        commands_of("docs/verify-a-claim.md"),
        ("lacoste2016-thm1", "mutants", "1 within-10"),
        strict=False,
    ):
        assert told in printed(command)


@pytest.mark.long
def test_what_the_check_of_a_claim_notices(folder):
    (command,) = (one for one in commands_of("docs/verify-a-claim.md") if "faults" in one)
    assert "frank-wolfe-half-step" in printed(command)


@pytest.mark.slow
def test_setting_the_adversary_on_a_method(folder):
    Path("my_methods.py").write_text(*blocks("docs/adversary.md"))
    for command in commands_of("docs/adversary.md"):
        own = ["--jobs", "0"] if not {"--jobs", "--check", "solve"} & {*command} else []
        told = printed([*command, *own])
        if "--horizon" in command:
            floor = float(re.search(r"min_gap_over_diameter +([\d.]+)", told)[1])
            assert floor > (0.04 if "my_methods" in str(command) else 20 * 0.04)


def test_reading_a_stored_run(folder):
    Path("one.toml").write_text(
        'problems = "simplex-norm"\nalgorithms = "frank-wolfe[iterations=3]"\n'
    )
    printed(["run", "one.toml", "--jobs", "0", "--store", "store"])
    (reading,) = blocks("docs/store.md")
    names = {}
    exec(compile(reading.replace("DIR", "store"), "store.md", "exec"), names)
    assert names["own"]["run"]["counts"]["lo"] == names["trace"]["lo"][-1] == 3
    assert {"run", "environment", "notes", "trace"} == {*names["own"], *names["shared"]}
    assert names["trace"]["seconds"].dtype == float


def test_blocks_that_need_a_cluster_are_python():
    for block in blocks("docs/clusters.md"):
        assert "_jobqueue" in block
        compile(block, "clusters.md", "exec")


ELSEWHERE = {
    "docs/gallery.md",  # when the site is built
    "docs/optimizer-and-paper.md",  # tests/testing/test_pages.py, and so are the next three
    "docs/reviewing-a-rate.md",
    "docs/testing-your-solver.md",
    "docs/watch.md",
}
"""Pages whose blocks of Python are run, but not by these tests."""


def test_no_page_is_left_out():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    found = {one.relative_to(ROOT).as_posix() for one in pages if "```python" in read(one)}
    run = set(re.findall(r"(?:blocks|executed)\(\"(.*?)\"\)", Path(__file__).read_text("utf-8")))
    assert found - run - {"docs/compare.md"} == ELSEWHERE  # that one is a file of its own


@pytest.fixture
def four_files(folder):
    """Return what writes the files of the page, with a fault, and gives a command of it."""
    names = re.findall(r"[Aa]s\s+`(my_\w+\.py)`:", read("docs/four-files.md"))
    files = dict(zip(names, blocks("docs/four-files.md"), strict=True))

    def command(line, within="", right="", wrong=""):
        for name, code in files.items():
            assert sum(map(bool, code.splitlines())) <= 40, name
            assert name != within or right in code
            Path(name).write_text(code.replace(right, wrong) if name == within else code)
            sys.modules.pop(name.removesuffix(".py"), None)
        return CliRunner().invoke(app, line)

    return command


@pytest.mark.slow
def test_four_files(four_files):
    """Every command of the page."""
    out = []
    for line in commands_of("docs/four-files.md"):
        result = four_files(line)
        assert result.exit_code == 0, result.stdout + result.stderr
        out.append(result.stdout)
    *checked, solved, gap, cost, law = out
    assert all("0 failed" in one for one in checked)
    assert "fw_gap" in solved
    assert [re.findall(r"1 ([\w-]+)$", one.strip())[0] for one in (gap, cost, law)] == [
        "within-10",
        "holds",
        "within-10",
    ]


def test_a_fault_in_each_of_four_files(four_files, all_search_time):
    row = r"^\| `(\w+\.py)` \| `(.+?)` \| `(.+?)` \| (.+?) \|$"
    rows = re.findall(row, read("docs/four-files.md"), re.MULTILINE)
    assert {row[0] for row in rows} == {
        f"my_{n}.py" for n in ("sets", "problems", "spider", "theorem")
    }
    for name, right, wrong, found_by in rows:
        if "`pfbench" in found_by:
            line = shlex.split(found_by.split("`")[1])[1:]
        result = four_files(line, name, right, wrong)
        assert result.exit_code == 1, (right, result.stdout)
        assert "violated" in result.stdout or " failed" in result.stdout


@pytest.mark.long
def test_the_rate_of_four_files(four_files):
    result = four_files(["verify", "my_theorem.py", "--jobs", "0"])
    assert "2 holds, 2 within-10" in result.stdout
    assert "[largest=0.2]: inconclusive there: the runs take longer" in result.stdout


def test_counting(capsys):
    """What is printed is what the page says, and where the counter goes wrong is told in full."""
    names = executed("docs/counting.md")
    told = re.findall(r"^# (.*)$", "".join(blocks("docs/counting.md")), flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == told
    run, hand = names["run"], dict(names["hand"])
    assert hand == {"fo": 8, "lo": 40, "sfo": 320}  # of both runs
    assert run.counts.lo == sum(range(1, 21)) == 210
    assert run.counts.sfo == 4 * 50 + 16 * 2 * 10 == 520


def test_where_to_put_a_file_by_hand(tmp_path, monkeypatch):
    """A file that is put where the page says is found, packed or not."""
    from pages import files

    from pfbench.problems.data.cache import find_file
    from pfbench.problems.data.catalogue import DATA_SETS

    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| (.*?) \|$", files(), re.MULTILINE)
    assert {row[0] for row in rows} == {name for name, one in DATA_SETS.items() if one.file}
    for name, folder, file, unpacked in rows:
        for one in filter(None, (file, unpacked.strip("`"))):
            path = tmp_path / one / folder / one
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            monkeypatch.setenv("PFBENCH_DATA", str(tmp_path / one))
            assert find_file(DATA_SETS[name]) == path


def test_checking_what_you_bring(capsys):
    names = executed("docs/checking.md")
    assert capsys.readouterr().out.startswith("False\nlo minimises expected:")
    body = names["MyBall"](5, 2.0)
    assert names["g"] @ body.lo(names["g"]) > body.minimum(names["g"])[0]


@pytest.mark.slow
def test_your_own_tools(capsys):
    """Every block of the page prints what it says; that of PyTorch, where it is installed."""
    pytest.importorskip("copt")
    pytest.importorskip("sklearn")
    executed("docs/adapters.md")
    text = "".join(blocks("docs/adapters.md"))
    promised = re.findall(r"^print\(.*\)  # (.*)$", text, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    assert len(promised) >= 6


# --- the commands of SKILL.md, in their order, and what the deposit says --------------------------


SKILL = read("SKILL.md")


@pytest.mark.usefixtures("in_this_process")
def test_the_commands_of_the_skill_work(folder):
    commands = re.findall(r"```\n +(pfbench .*)\n", SKILL)
    assert len(commands) == 4
    for command in commands:
        printed(shlex.split(command)[1:])
    found = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert all(one["homogeneous"] is not False for one in found["units"]["units"])
    assert {one["verdict"] for one in found["verdicts"]["results"]} <= {
        "holds",
        "within-10",
        "attained",
    }
    assert all(one["caught_by"] for one in found["faults"]["mutants"])


def test_the_table_of_the_skill_has_every_verdict():
    told = set(re.findall(r"^\| `([\w-]+)` \|", SKILL, flags=re.MULTILINE))
    assert told == set(Verdict)


def test_the_deposit_says_what_the_citation_says():
    deposit, cited = json.loads(read(".zenodo.json")), read("CITATION.cff")
    assert f"title: {deposit['title']}\nabstract: {deposit['description']}\n" in cited
    assert f"license: {deposit['license']}\n" in cited
    assert all(f"  - {word}\n" in cited for word in deposit["keywords"])


# --- the notebooks to teach with: every cell runs, and shows what the text beside it says ---------


FOLDER = ROOT / "docs" / "notebooks"


def run_notebook(name):
    """Run the cells of a notebook in an empty folder; return the names that they leave."""
    notebook = json.loads((FOLDER / name).read_text("utf-8"))
    assert notebook["nbformat"] == 4
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without what they print"
            exec(compile("".join(cell["source"]), name, "exec"), names)
    return names


@pytest.mark.usefixtures("folder", "in_this_process")
def test_a_claimed_rate_put_to_the_test():
    names = run_notebook("claimed-rate.ipynb")
    assert names["easy"].verdict.keeps_bound
    assert names["easy"].measured["ratio"] < 0.1
    verdicts = {name: row.verdict for name, row in names["both"].items()}
    assert verdicts == {"colleague": "violated", "textbook": "within-10"}


@pytest.mark.usefixtures("folder")
def test_where_hand_counting_goes_wrong():
    names = run_notebook("hand-counting.ipynb")
    assert names["exact"] == names["right"] != names["by_hand"]
    assert names["open_loop"].fo == names["searching"].fo - 1 == names["T"]
    assert names["open_loop"].fv == 0 < names["searching"].fv
    assert names["sliding"].lo > 2 * names["sliding"].fo


def test_all_notebooks_are_run():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == {
        "claimed-rate.ipynb",
        "hand-counting.ipynb",
    }
