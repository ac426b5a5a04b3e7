"""The command as a process of its own: exit statuses, streams, signals, start-up, options."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import INTERRUPTIBLE, SMALL, SVRG, Outcome
from processes import run_python
from typer.main import get_command

import pfbench as package
from pfbench.cli import catalogue
from pfbench.cli.main import _is_output_closed, app


@pytest.fixture
def start(folder, monkeypatch):
    """Start the command in the folder; it inherits the environment that these fixtures set."""
    monkeypatch.setenv("PYTHONPATH", str(Path(package.__file__).parents[1]))

    def popen(*arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        return subprocess.Popen([*INTERRUPTIBLE, *map(str, arguments)], **options)

    return popen


@pytest.fixture
def finish(start):
    def run(*arguments, **options):
        process = start(*arguments, **options)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    return run


def test_help_and_version_need_no_numerics(start):
    code = (
        "import sys\n"
        "sys.argv = ['pfbench', *sys.argv[1:]]\n"
        "from pfbench.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        "heavy = {'numpy', 'scipy', 'numba', 'pandas', 'pyarrow', 'sklearn', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    for arguments in (("--help",), ("--version",), ("solve", "--help"), ("data", "--help")):
        assert run_python("-c", code, *arguments)[1] == ""


def test_help_names_every_verb(pfbench, finish):
    status, out, err = finish("--help")
    assert (status, err) == (0, "")
    for verb in ("list", "info", "solve", "data", "report"):
        assert f"\n  {verb} " in out
        assert pfbench(verb, "--help").status == 0
    assert "..." not in out.split("Commands:")[1]
    assert pfbench().out == pfbench("--help").out


@pytest.mark.slow
def test_what_ones_own_code_prints_is_not_among_the_json(finish, pfbench):
    """Of a worker, too."""
    text = (Path(__file__).parents[1] / "claims" / "own_theorem.py").read_text()
    loud = text.replace("g = ask.gradient(x)\n", "g = ask.gradient(x); print('in a run')\n")
    Path("mine.py").write_text(loud + "\nprint('at import')\n")
    verify = ("verify", "mine.py:COUNT", "--json", "--jobs")
    given = ("-p", "quadratic[set=none]", "-a", "mine.py:Descent[iterations=2,step=0.1]")
    outcomes = [Outcome(*finish(*verify, "1"))]
    for arguments in (("solve", *given, "--json"), (*verify, "0", "--store", "other")):
        outcomes.append(pfbench(*arguments))
        sys.modules.pop("mine", None)
    for outcome in outcomes:
        assert (outcome.status, outcome.json["schema"]) == (0, 2)
        assert {"at import", "in a run"} <= {*outcome.err.splitlines()}


def test_a_reader_that_stops_early_is_no_error(start):
    with start("list", "data", "--json") as process:
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_told_in_one_line(finish):
    with open("/dev/full", "w") as full:
        status, _, err = finish("list", "sets", stdout=full)
    assert status == 1
    assert "No space left on device" in err.splitlines()[0]
    assert "Traceback" not in err


def test_no_escape_codes_away_from_a_terminal(finish):
    _, out, err = finish("solve", "-p", SMALL, "-a", SVRG, "--repeat", 2)
    assert "\x1b" not in out + err


def test_a_traceback_is_shown_on_request(pfbench, monkeypatch):
    monkeypatch.setenv("PFBENCH_TRACEBACK", "1")
    outcome = pfbench("info", "nope")
    assert outcome.status == 2
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("pfbench: unknown name 'nope'")


def test_an_unexpected_error_is_called_a_bug(pfbench, monkeypatch):
    monkeypatch.setattr(catalogue, "_find_specs", lambda *_: 1 / 0)
    outcome = pfbench("list", "reports")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == (
        "pfbench: ZeroDivisionError: division by zero (this is a bug in pfbench: please report "
        "it, with what PFBENCH_TRACEBACK=1 prints).\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.long
def test_an_interrupted_run_shows_how_far_it_came(start, folder):
    endless = "nfwu-sg[batch=5,iterations=1000000000000,step=0.1]"
    given = ("--trace", "t.csv", "--every", 10**12)
    process = start("solve", "-p", SMALL, "-a", endless, *given)
    assert "iterations" in process.stderr.readline()  # after five seconds
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, "")
    assert "killed: interrupted by the user" in out
    assert "fw_gap" in out
    assert len((folder / "t.csv").read_text().splitlines()) == 3


def test_a_reader_that_is_gone_is_told_from_a_process_that_was_ended(monkeypatch):
    """Both are a broken pipe; of the second a sentence must tell."""
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert not _is_output_closed()
        os.close(read)
        assert _is_output_closed()


# --- The options that messages name are options that there are ------------------------------------


PACKAGE = Path(__file__).parents[2] / "pfbench"
OF_OTHERS = {
    "--help",
    "--map-current-user",  # unshare
    "--max-runs",  # benchopt
    "--net",  # unshare
    "--porcelain",  # git
    "--update-counts",  # pytest
}


def iterate_options(command):
    for parameter in command.params:
        yield from parameter.opts
    for verb in getattr(command, "commands", {}).values():
        yield from iterate_options(verb)


def test_every_option_that_a_text_names_exists():
    options = {*iterate_options(get_command(app))} | OF_OTHERS
    unknown = {
        f"{path.relative_to(PACKAGE)}: {option}"
        for path in PACKAGE.rglob("*.py")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+\b", path.read_text("utf-8"))
        if option not in options
    }
    assert not unknown
