"""The command line run inside the test's process, in an empty folder and a clean environment."""

from contextlib import contextmanager

import pytest
from command_line import Outcome
from typer.testing import CliRunner

from pfbench.cli.main import app
from pfbench.runs import execute


@pytest.fixture
def folder(folder, monkeypatch):
    """The current folder: empty, and with an empty data folder in it."""
    monkeypatch.setenv("PFBENCH_DATA", str(folder / "data"))
    for variable in ("PFBENCH_STORE", "PFBENCH_TRACEBACK", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture
def pfbench(folder):
    """Run the command line with these arguments."""

    def run(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="pfbench")
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def interrupted_at(folder, monkeypatch):
    """Return a context in which the user interrupts once so many runs are stored."""

    @contextmanager
    def interrupted(number):
        make, stored = execute.execute_and_digest_files, []

        def made(*arguments):
            if len(stored) == number:
                raise KeyboardInterrupt
            stored.append(arguments)
            return make(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(execute, "execute_and_digest_files", made)
            yield

    return interrupted


@pytest.fixture
def written(pfbench, conforms):
    """Run a command, then with --json; return the first outcome, and what is printed as JSON."""

    def run(*arguments, status=0, schema="verify.json"):
        outcome = pfbench(*arguments)
        assert outcome.status == status, outcome.err
        return outcome, conforms(pfbench(*arguments, "--json").json, schema)

    return run
