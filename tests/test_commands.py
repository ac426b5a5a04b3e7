"""Every command that a document gives is run at its smallest size, or stands here with the reason.

Commands are those in blocks of the pages, and ``python ...`` anywhere; scripts are those of
`benchmarks`. What is new in a document is in none of the tables below, and a test fails.
"""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from processes import run_python
from typer.testing import CliRunner

from pfbench.cli.main import app

ROOT = Path(__file__).parents[1]
if not (ROOT / "README.md").exists():
    pytest.skip("there is no checkout", allow_module_level=True)
DOCUMENTS = ["README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md"]
DOCUMENTS += sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))

SMALLEST = {
    "pfbench list algorithms": "",
    "pfbench info robust-matrix-recovery[source=digits]": "",
    "pfbench solve -p nonconvex-logistic -a nfwu-spiderg[epsilon=0.1]": (
        "solve -p nonconvex-logistic -a nfwu-spiderg[epsilon=0.1] --measure fw_gap --every 10 "
        "--budget sfo=2000"
    ),
    "pfbench verify --quick": "verify shen2019-count-sg --quick --jobs 0",
    "pfbench verify wang2019-thm1 --full": "verify shen2019-count-sg --full --jobs 0",
    "pfbench new algorithm my-spider": "new algorithm other-spider",
    "pfbench check my_spider.py:MySpider": "check my_spider.py:MySpider[iterations=5,batch=2]",
    "pfbench solve -p quadratic[source=synthetic,set=l2] -a my_spider.py:MySpider": "",
    "pfbench new sweep sweep": "new sweep other",
    "pfbench report sweep.toml -o page": "report other.toml --jobs 0 -o page",
    "pfbench run sweep.toml": "run sweep.toml --jobs 0",
    "pfbench store list": "",
    "pfbench store export csv-long -o tables": "",
    "pfbench archive make sweep.toml -o sweep.zip": "archive make sweep.toml -o s.zip --jobs 0",
    "pfbench solve -p log-cosh[rows=200,columns=10,set=none] -a pfbench.adapters:Scipy": "",
    "pfbench new benchopt my-study": "",
    "pfbench check l1": "",
    "pfbench check penalty:nuclear": "",
    "pfbench check quadratic[rows=30,columns=4] --json": "",
    "pfbench run epochs.toml --dry-run": "run sweep.toml --dry-run",
    "pfbench run epochs.toml --jobs 8": "run sweep.toml --jobs 0",
    "pfbench data list": "",
    "pfbench data check": "",
}
"""What is run in place of the commands that begin so: themselves where nothing is given.

In this order, in one folder, which has what ``pfbench new`` writes.
"""

OF_A_TEST = {
    "docs/adding-an-algorithm.md": "test_your_own_problem_and_measure",
    "docs/adversary.md": "test_setting_the_adversary_on_a_method",
    "docs/compare.md": "test_comparing_your_method",
    "docs/four-files.md": "test_four_files",
    "docs/is-it-true.md": "test_is_it_true",
    "docs/verify-a-claim.md": "test_verifying_a_claim",
    "docs/your-theorem.md": "test_your_own_theorem",
}
"""Pages whose commands a test of tests/test_docs.py runs, but for those in blocks called `sh`."""

SCRIPTS = {
    "benchmarks.scale": "--sizes 100k --runs 10",
    "benchmarks.profile": "svfw --seconds 0.1",
    "benchmarks.beside": ". --seconds 0.1",
    "benchmarks.many": "{folder} --runs 20 --only written,listed",
    "benchmarks.pages": "--help",
    "benchmarks.first_minutes": "--help",
    "benchmarks.strangers": "--help",
    "benchmarks/peers": "--help",
    "benchmarks.history": "--help",
}
"""Scripts of `benchmarks` at their smallest; those with --help take minutes, or clone."""

LONG = ("benchmarks.beside", "benchmarks.many", "benchmarks.profile", "benchmarks.scale")
"""Scripts that are run by long tests alone."""

LEFT_OUT = {
    "benchmarks.watching": "needs PyTorch: tests/watching",
    "benchmarks.arrays": "needs PyTorch: tests/problems hold array libraries to ours",
    "python -m benchmarks.history check": "tests/benchmarks/test_counts.py, and tox -e tests",
    "python tools/check_words.py": "tests/tools/test_tools.py, and tox -e check",
    "python -m benchmarks.watching": "times a loop; tests/watching tests the watch",
    "python tools/size.py": "tests/tools/test_tools.py, and tox -e check",
    "python -m pytest": "this is it",
    "python -m build": "tox -e wheel builds all twice",
    "python3 -m venv": "makes an environment",
    "python3 run.py": "starts tox, which starts this",
    "python tests/tools/": "tests/tools is used by hand, as its pages say",
    "pip install": "installs: tests/test_release.py resolves what is locked",
    "asv ": "times commits, by clones of them: tests/benchmarks/test_history.py",
    "pfbench faults": "all planted faults: each claim's own tests catch them",
    "pfbench compare my_spider.py:MySpider": "docs/compare.md, by a test of tests/test_docs.py",
    "pfbench verify --algorithm my_spider.py:MySpider": "is `pfbench check`: it names no claims",
    "pfbench run epochs.toml --scheduler": "needs a cluster: tests/runs/engines",
    "pfbench data fetch": "downloads",
    "pfbench archive check": "tests/archive checks one",
    "pfbench archive collect": "tests/archive/test_collection.py",
    "pfbench check pfbench.adapters:CoptFrankWolfe": "needs copt: tests/adapters",
    "pfbench info robust-matrix-recovery[source=movielens,edition=my/ratings.csv]": (
        "needs that file: test_where_to_put_a_file_by_hand"
    ),
    "pfbench solve -p multitask-sigmoid[arrays=torch:cuda]": "needs PyTorch and a GPU",
    "pfbench check my_problems.py:Centres": "test_checking_what_you_bring",
    "pfbench check my_methods.py:MySpider[batch=8]": "test_checking_what_you_bring",
    "pfbench falsify my_theorem.py": "docs/is-it-true.md, by a test of tests/test_docs.py",
    "pfbench new test my-solver": "tests/cli/test_new.py runs the tests that it writes",
    "pfbench check my_solvers.py": "tests/cli/test_own.py, by functions of its own",
    "pfbench verify jaggi2013-thm1 --algorithm my_solvers.py": "the same",
    "pfbench verify my_rate.py": "tests/cli/test_new.py verifies what `pfbench new theorem` writes",
}
"""Beginnings of commands that are not run here, and why."""


def bare(command):
    """Return a command without quotation marks and remark."""
    return " ".join(shlex.split(command, comments=True))


def written():
    """Yield each command with its document; those in blocks called `sh` take long, by that name."""
    for document in DOCUMENTS:
        text = (ROOT / document).read_text(encoding="utf-8").replace("\\\n", " ")
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
            lines = [" ".join(line.split()) for line in block.splitlines() if language == ""]
            commands = [line for line in lines if re.match(r"pfbench |pip |asv |python3? ", line)]
            yield from ((document, bare(one)) for one in commands)
        plain = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        yield from ((document, one) for one in re.findall(r"`(python3? [^`]*)`", plain))


def is_known(document, command):
    if any(command.startswith(one) for one in (*SMALLEST, *LEFT_OUT)):
        return True
    if script := re.match(r"python3? (?:-m )?(benchmarks[./]\w+)", command):
        return script[1] in {**SCRIPTS, **LEFT_OUT}
    return command.startswith("pfbench ") and document in OF_A_TEST


def test_every_command_of_a_document_is_run_or_has_a_reason():
    unknown = [(page, one) for page, one in written() if not is_known(page, one)]
    assert not unknown, "run each in tests/test_commands.py, or say there why not"


def test_a_new_command_is_seen():
    assert not is_known("README.md", "pfbench verify --all-at-once")
    assert not is_known("docs/scale.md", "python -m benchmarks.unheard_of")
    assert not is_known("docs/scale.md", "python tests/unheard_of.py")


def test_nothing_stands_here_that_no_document_gives():
    commands = [command for _, command in written()]
    named = [one for one in (*SMALLEST, *LEFT_OUT) if not one.startswith("benchmarks")]
    assert [one for one in named if not any(c.startswith(one) for c in commands)] == []
    tests = (ROOT / "tests/test_docs.py").read_text(encoding="utf-8")
    for page, name in OF_A_TEST.items():
        body = tests.partition(f"def {name}(")[2].partition("\ndef ")[0]
        assert page in body or page in tests.partition("def four_files")[2], page


def test_every_script_of_the_benchmarks_is_run():
    """Those of asv are classes, and a module with `__main__` is a script."""
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for path in ROOT.glob("benchmarks/**/*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    named = {one.replace("/", ".") for one in (*SCRIPTS, *LEFT_OUT)}
    assert found
    assert found <= named


@pytest.mark.slow
def test_commands_run_at_their_smallest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path / "data"))  # the real sets take long to check
    monkeypatch.setattr(sys, "path", [*sys.path])
    run = CliRunner()
    for kind, name in (("algorithm", "my-spider"), ("sweep", "sweep")):
        made = run.invoke(app, ["new", kind, name])
        assert made.exit_code == 0, made.stderr
    commands = [command for _, command in written()]
    for beginning, smallest in SMALLEST.items():
        given = next(one for one in commands if one.startswith(beginning))
        words = (smallest or given.removeprefix("pfbench ")).split()
        result = run.invoke(app, words)
        assert result.exit_code == 0, (words, result.stdout[-500:], result.stderr)


HELP = """
import runpy, sys
for script in sys.argv[1:]:
    sys.argv = [script, "--help"]
    try:
        (runpy.run_module if "." in script else runpy.run_path)(script, run_name="__main__")
    except SystemExit as end:
        assert not end.code, script
"""


def output(*arguments):
    """Return what a Python process prints at the root of the checkout."""
    return run_python(*arguments, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, marks=pytest.mark.long if script in LONG else ())
        for script, words in SCRIPTS.items()
        if words != "--help"
    ],
)
def test_scripts_run_at_their_smallest(script, tmp_path):
    assert output("-m", script, *shlex.split(SCRIPTS[script].format(folder=tmp_path)))


@pytest.mark.long
def test_scripts_say_what_they_take():
    scripts = [script for script, words in SCRIPTS.items() if words == "--help"]
    assert output("-c", HELP, *scripts).count("usage:") == len(scripts)
