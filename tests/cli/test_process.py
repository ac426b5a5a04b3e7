"""The command as a process of its own: exit statuses, streams, signals, start-up."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import INTERRUPTIBLE, SMALL, SVRG, Outcome
from stored import stored_runs

import pfbench as package
from pfbench.cli import catalogue
from pfbench.cli.main import _is_output_closed

COMMAND = (sys.executable, "-m", "pfbench")


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
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""


def test_help_names_every_verb(pfbench, finish):
    status, out, err = finish("--help")
    assert (status, err) == (0, "")
    for verb in ("list", "info", "solve", "data", "report"):
        assert f"\n  {verb} " in out
        assert pfbench(verb, "--help").status == 0
    assert "..." not in out.split("Commands:")[1]
    assert pfbench().out == pfbench("--help").out


@pytest.mark.slow
def test_what_ones_own_code_prints_is_not_among_the_json(finish, pfbench, monkeypatch):
    """Of a worker, too."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = (Path(__file__).parents[1] / "claims" / "own_theorem.py").read_text()
    loud = text.replace("g = ask.gradient(x)\n", "g = ask.gradient(x); print('in a run')\n")
    Path("mine.py").write_text(loud + "\nprint('at import')\n")
    verify = ("verify", "mine.py:COUNT", "--json", "-", "--jobs")
    given = ("-p", "quadratic[set=none]", "-a", "mine.py:Descent[iterations=2,step=0.1]")
    outcomes = [Outcome(*finish(*verify, "1"))]
    for arguments in (("solve", *given, "--json"), (*verify, "0", "--store", "other")):
        outcomes.append(pfbench(*arguments))
        sys.modules.pop("mine", None)
    for outcome in outcomes:
        assert (outcome.status, outcome.json["schema"]) == (0, 2)
        assert {"at import", "in a run"} <= {*outcome.err.splitlines()}


def test_version(pfbench):
    outcome = pfbench("--version")
    assert outcome.status == 0
    assert outcome.out.startswith("pfbench ")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("list", "sets"), 0),
        (("solve", "-p", SMALL, "-a", "nfwu-sg[batch=1000000000000000,iterations=1,step=1]"), 1),
        (("nope",), 2),
    ],
)
def test_exit_statuses(finish, arguments, status):
    assert finish(*arguments)[0] == status


def test_of_wrong_arguments_the_status_is_2(pfbench):
    for arguments in (("solve", "-p", SMALL, "-a", "nope"), ("solve", "--nope")):
        assert pfbench(*arguments).status == 2


def test_json_stands_alone_on_the_standard_output(pfbench):
    outcome = pfbench("solve", "-p", SMALL, "-a", SVRG, "--repeat", 2, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    assert len(outcome.json) == 2


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
    monkeypatch.setattr(catalogue, "report_spec_paths", lambda: 1 / 0)
    outcome = pfbench("list", "reports")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == (
        "pfbench: ZeroDivisionError: division by zero (this is a bug in pfbench: please report "
        "it, with what PFBENCH_TRACEBACK=1 prints).\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.slow
def test_an_interrupted_run_shows_how_far_it_came(start, folder):
    endless = "nfwu-sg[batch=5,iterations=1000000000000,step=0.1]"
    given = ("--trace", "t.csv", "--every", 10**12, "--yes")
    process = start("solve", "-p", SMALL, "-a", endless, *given)
    assert "iterations" in process.stderr.readline()  # after five seconds
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, "")
    assert "killed: interrupted by the user" in out
    assert "fw_gap" in out
    assert len((folder / "t.csv").read_text().splitlines()) == 3


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupted_report_goes_on_where_it_stopped(start, finish, folder):
    (folder / "long.toml").write_text(
        f"""
title = "Long"
[[study]]
key = "long"
title = "Long"
problems = "{SMALL}"
seeds = 30
measures = ["value"]
every = 100000
[study.algorithms]
SG = "nfwu-sg[batch=5,iterations=3000,step=0.1,output=last]"
[[study.setting]]
title = "S = 5"
"""
    )

    def stored():
        return stored_runs(folder)

    process = start("report", "long.toml", "--jobs", 2, start_new_session=True)
    deadline = time.monotonic() + 300
    while stored() < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.count("\n") <= 2
    assert "interrupted; every finished run is stored in .pfbench/store" in err.splitlines()[-1]
    before = stored()
    assert 3 <= before < 30
    status, _, err = finish("report", "long.toml", "--jobs", 2)
    assert status == 0, err
    assert f"long: 30 runs ({30 - before} run, {before} cached); drawing" in err
    assert stored() == 30


def test_a_reader_that_is_gone_is_told_from_a_process_that_was_ended(monkeypatch):
    """Both are a broken pipe; of the second a sentence must tell."""
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert not _is_output_closed()
        os.close(read)
        assert _is_output_closed()
