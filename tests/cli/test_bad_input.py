"""Wrong input as a new user gives it: a sentence, an exit status, no traceback, nothing left.

What is given stands in tests/wrong_inputs.py, and what was printed for each in reports/inputs.md.
"""

import os
import re

import pytest
from answers import PAGE, STATUS, asked, make_files, plain, printed, row, workplace
from command_line import SMALL, SVRG

P, A = ("-p", SMALL), ("-a", SVRG)
WRONG = asked()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder that has what the inputs name."""
    with workplace(tmp_path_factory.mktemp("wrong")) as folder:
        yield folder


@pytest.fixture
def files(folder):
    make_files(folder)
    return folder


@pytest.fixture(scope="module")
def page():
    """The rows of the table, without what Python and the system tell."""
    if not PAGE.exists():
        pytest.skip("there is no checkout")
    return {plain(line) for line in PAGE.read_text(encoding="utf-8").splitlines()}


def contents(folder):
    return {path: path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.parametrize(("kind", "given", "says"), WRONG, ids=[given for _, given, _ in WRONG])
def test_a_wrong_input_is_told_as_the_table_says_and_leaves_nothing(place, page, kind, given, says):
    before = contents(place)
    status, lines = printed(kind, given)
    assert status in STATUS[kind]
    assert says in " ".join(lines)
    assert "Traceback" not in str(lines)
    assert "this is a bug" not in str(lines)
    if kind == "command":
        assert all(re.fullmatch(r"pfbench: .*[.?]", line) for line in lines)
    assert contents(place) == before
    assert plain(row(given, lines)) in page, "python tests/tools/print_inputs.py --write"


def test_the_table_has_no_more(page):
    assert len([line for line in page if line.startswith("| `")]) == len(WRONG)


@pytest.mark.parametrize(
    "arguments", [("solve", *P, *A, "--trace", "t.txt"), ("solve", *P, "-a", "nope")]
)
def test_json_makes_no_difference(pfbench, arguments):
    assert pfbench(*arguments, "--json").refusal == pfbench(*arguments).refusal


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody can write")
def test_a_folder_that_nobody_can_write_is_refused(pfbench, monkeypatch):
    assert "cannot be written" in pfbench("solve", *P, *A, "--trace", "/proc/t.csv").refusal
    assert "-o" in pfbench("report", "gradient-estimators", "-o", "/proc/out").refusal
    assert "--store" in pfbench("report", "gradient-estimators", "--store", "/proc/s").refusal
    monkeypatch.setenv("PFBENCH_STORE", "/proc/s")
    assert "--store" in pfbench("report", "gradient-estimators").refusal
    monkeypatch.setenv("PFBENCH_DATA", "/proc/data")
    assert "PFBENCH_DATA" in pfbench("data", "fetch", "a9a").refusal


def test_a_data_folder_that_is_a_file_is_refused(pfbench, files, monkeypatch):
    monkeypatch.setenv("PFBENCH_DATA", "file")
    assert "PFBENCH_DATA=file is not a folder" in pfbench("data", "list").refusal
    assert "PFBENCH_DATA=file is not a folder" in pfbench("data", "fetch", "a9a").refusal
