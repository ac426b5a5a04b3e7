"""What a release says of itself: its version, how it is cited, what it is verified with."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from tools.resolve_lock import PYTHONS, locked, required

import pfbench

ROOT = Path(__file__).parents[1]
if not (ROOT / "pyproject.toml").exists():
    pytest.skip("there is no checkout", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_one_version_everywhere():
    cited = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M))
    assert PROJECT["version"] == pfbench.__version__ == cited["version"]
    assert (cited["title"], cited["license"]) == (PROJECT["name"], PROJECT["license"])
    assert cited["cff-version"] == "1.2.0"


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_has_one_pin_within_its_bounds(python):
    pins = locked(python)
    for requirement in map(Requirement, required()):
        assert requirement.specifier.contains(pins[requirement.name]), (python, requirement)


def test_the_oldest_versions_that_are_tested_are_the_bounds():
    tox = (ROOT / "tox.ini").read_text("utf-8")
    oldest = tox.split("[testenv:oldest]")[1].split("set_env")[0]
    tested = dict(re.findall(r"^    ([a-z]+)==([0-9.]+)$", oldest, re.M))
    for one in map(Requirement, PROJECT["dependencies"]):
        (bound,) = (spec.version for spec in one.specifier if spec.operator == ">=")
        assert Version(tested[one.name]) == Version(bound)


def test_a_pin_that_lacks_or_is_doubled_is_seen(monkeypatch):
    lines = (ROOT / "constraints.txt").read_text("utf-8")
    assert locked("3.11")["numpy"] != locked("3.12")["numpy"]
    doubled = lines.replace(' ; python_version >= "3.12"', "")
    monkeypatch.setattr(Path, "read_text", lambda *_: doubled)
    with pytest.raises(AssertionError, match="locked twice"):
        locked("3.11")


def test_locked_versions_are_exact_and_sorted():
    text = (ROOT / "constraints.txt").read_text("utf-8")
    marker = r"(?: ; python_version (?:<|>=) \"3\.\d+\")?"
    names = re.findall(rf"^([a-z0-9-]+)==[0-9][0-9a-z.]*{marker}$", text, re.M)
    assert len(names) == len([line for line in text.splitlines() if not line.startswith("#")])
    assert names == sorted(names)


def test_every_python_that_is_supported_is_resolved():
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    tox = (ROOT / "tox.ini").read_text("utf-8")
    assert "python tests/tools/resolve_lock.py" in tox
