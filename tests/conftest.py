"""What all tests share: how hypothesis searches, what is ended, two problems to enumerate."""

import gc
import json
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path

import jsonschema
import psutil
import pytest
from helpers import tiny_logistic, tiny_recovery
from hypothesis import settings
from typer import testing

from pfbench.checking.findings import TimeLimit
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.runs.engines import engine
from pfbench.verification import added_searches
from pfbench.verification.statements import horizons

# The same examples on every run and machine: a test either fails for everyone or for no one.
settings.register_profile("pfbench", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("pfbench")


@pytest.fixture(scope="session")
def conforms():
    """Check a value against one of the published schemas, and return it."""

    def check(value, name):
        schema = json.loads((Path(str(files("pfbench.cli"))) / "schemas" / name).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)
        return value

    return check


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage, neither now nor later: all lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as long the cases that `thin(k)` leaves out: all but each k-th; skip what needs signals.

    k must have no common factor with the number of values of the topmost parametrisation, which
    varies fastest: some of its values would never be tried.
    """
    positions = Counter()
    for item in items:
        if sys.platform == "win32" and item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.skip(reason="needs signals"))
        if thin := item.get_closest_marker("thin"):
            name = item.nodeid.partition("[")[0]
            if positions[name] % thin.args[0]:
                item.add_marker(pytest.mark.long)
            positions[name] += 1


HORIZONS, SHORT, SEARCHES = horizons.SECONDS["quick"], horizons.SHORT, added_searches.SECONDS
BEGIN_LIMIT = TimeLimit.__init__


def limit_searches(patch, share, share_of_searches):
    """Let claims at longer horizons, and searches, take these shares of their time."""

    def begin_limit(limit, seconds):
        BEGIN_LIMIT(limit, share_of_searches * seconds)

    patch.setattr(horizons, "SHORT", share * SHORT)
    patch.setitem(horizons.SECONDS, "quick", share * HORIZONS)
    patch.setattr(
        added_searches, "SECONDS", {k: share_of_searches * v for k, v in SEARCHES.items()}
    )
    patch.setattr(TimeLimit, "__init__", begin_limit)


@pytest.fixture(scope="session", autouse=True)
def searches_are_brief():
    """Search a tenth and a fifth of the time: of what is right, a search takes all its time."""
    with pytest.MonkeyPatch.context() as patch:
        limit_searches(patch, 0.1, 0.2)
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once():
    """Build the subcommands of `pfbench` once, as a process does, and not at every call of one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", cache(testing._get_command))
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which is empty; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def in_this_process(monkeypatch):
    """Verify claims without workers, whose imports take long, and whose searches are not brief."""
    monkeypatch.setattr(engine, "MultiProcessEngine", lambda *_, **__: engine.SingleProcessEngine())


@pytest.fixture
def all_search_time(monkeypatch):
    """Search as long as a user would: for faults that a short search may miss."""
    limit_searches(monkeypatch, 1.0, 1.0)


@pytest.fixture(autouse=True)
def long_tests_search_all_their_time(request):
    """So do the tests of longer horizons."""
    if request.node.get_closest_marker("long") or request.path.name == "test_horizons.py":
        request.getfixturevalue("all_search_time")


@pytest.fixture(autouse=True)
def nothing_is_left_running(monkeypatch):
    """End the processes that a test started, and those below them, even when it failed."""
    started, begin = [], subprocess.Popen.__init__

    def begun(self, *arguments, **options):
        begin(self, *arguments, **options)
        started.append(self)

    monkeypatch.setattr(subprocess.Popen, "__init__", begun)
    yield
    for process in started:
        if process.poll() is not None:
            continue
        with suppress(psutil.NoSuchProcess):
            for below in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    below.kill()
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            stream.close()


@pytest.fixture(scope="session")
def recovery() -> RobustMatrixRecovery:
    """Matrix recovery on 11 entries of a 5 x 4 matrix; no test can change it."""
    return tiny_recovery()


@pytest.fixture(scope="session")
def logistic() -> NonconvexLogistic:
    """Logistic regression on 7 rows of 4 features over the l1 ball."""
    return tiny_logistic()
