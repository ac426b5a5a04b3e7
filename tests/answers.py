"""What is printed for the inputs of tests/wrong_inputs.py, and its table, reports/inputs.md."""

import bz2
import re
import shlex
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from command_line import SMALL, SVRG
from marking import cell, code
from typer.testing import CliRunner
from wrong_inputs import COMMANDS, FAILING, FILES, METHODS, OWN, PYTHON

import pfbench as pf
from pfbench.base.errors import PfbenchError
from pfbench.cli.main import app

PAGE = Path(__file__).parents[1] / "reports" / "inputs.md"


def f(x):
    return float(x @ x)


def g(x):
    return 2 * x


def lmo(g):
    return -np.sign(g)


OWN_FUNCTIONS = {"f": f, "g": g, "lmo": lmo}


def make_files(folder):
    """Make the files and folders that the commands name; w8a is there, but cut in two."""
    (folder / "folder.csv").mkdir()
    (folder / "wrong_folder.py").mkdir()
    (folder / "bad").mkdir()
    (folder / "bad" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,five,3\n")
    (folder / "data" / "w8a").mkdir(parents=True)
    whole = bz2.compress(b"-1 3:1 5:1\n" * 100_000)
    (folder / "data" / "w8a" / "w8a.bz2").write_bytes(whole[: len(whole) // 2])
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


_METHOD = """
def mine(ask, x, rng):
    for t in range(3):
        {}
        yield pf.State(x)
"""


def asked():
    """Return every input with its kind and the words that its answer must have."""
    commands = {shlex.join(words): says for words, says in COMMANDS.items()} | OWN
    kinds = {"command": commands, "failing": FAILING, "python": PYTHON, "method": METHODS}
    return [(kind, given, says) for kind, held in kinds.items() for given, says in held.items()]


@contextmanager
def workplace(folder):
    """Be in a folder that has what the inputs name, without settings; leave no module behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PFBENCH_DATA", str(folder / "data"))
        for variable in ("PFBENCH_STORE", "PFBENCH_TRACEBACK", "COLUMNS", "FORCE_COLOR"):
            patch.delenv(variable, raising=False)
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "dont_write_bytecode", True)
        make_files(folder)
        yield folder
    for name in [one for one in sys.modules if f"{one}.py" in FILES]:
        del sys.modules[name]


def printed(kind, given):
    """Return the exit status and what is printed for an input, or what a run says."""
    if kind in ("command", "failing"):
        result = CliRunner().invoke(app, shlex.split(given), prog_name="pfbench")
        assert result.exception is None or isinstance(result.exception, SystemExit)
        text = result.stderr if kind == "command" else result.stdout + result.stderr
        lines = [" ".join(one.split()) for one in text.replace(f"{Path.cwd()}/", "").splitlines()]
        if kind == "failing":
            lines = [
                one for one in lines if re.search(r"^it runs: |^pfbench: |^wrong_mine.py:", one)
            ]
        return result.exit_code, [one for one in lines if one and not one.startswith("importing ")]
    names = named()
    if kind == "method":
        exec(compile(_METHOD.format(given), "mine.py", "exec"), names)
        given = 'pf.solve(problem, mine, measures="fw_gap")'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = eval(given, names)
        except PfbenchError as error:
            return 2, [str(error)]
    assert isinstance(made, pf.Run), made
    return 1, [f"{made.status}: {made.stop_reason}", *([made.note] if made.note else [])]


def named():
    """Return the names that an expression may use."""
    problem = pf.problem("quadratic", source="synthetic", rows=20, columns=4, set="l2")
    method = pf.algorithm("frank-wolfe", iterations=3)
    run = pf.solve(problem, method, measures="fw_gap")
    return {"pf": pf, "np": np, "problem": problem, "method": method, "run": run, **OWN_FUNCTIONS}


STATUS = {"command": (2,), "failing": (1,), "python": (1, 2), "method": (1, 2)}
"""What each kind may end with; in Python, 2 stands for an error of pfbench, 1 for a run."""


def row(given, lines):
    """Return a row of the table."""
    said = "<br>".join(cell(code(one)) for one in lines)
    short = given.replace(f"'{SMALL}'", "P").replace(f"'{SVRG}'", "A")
    return f"| {cell(code(short))} | {said} |"


def table(kind, answers):
    """Return the table of a kind, from rows by its inputs."""
    rows = [answers[given] for one, given, _ in asked() if one == kind]
    return "\n".join(["| input | answer |", "| --- | --- |", *rows])


def plain(text):
    """Return a text without what changes: lists of the catalogue, and words of the system.

    What Python and the system tell stands in brackets.
    """
    return re.sub(r"\([^()]*\)|(?<=choose one of )[^`]*", "", text)
