"""What a release says of itself: its version, how it is cited, what it is verified with."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import pfbench

ROOT = Path(__file__).parents[1]
if not (ROOT / "pyproject.toml").exists():
    pytest.skip("there is no checkout", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def test_one_version_everywhere():
    cited = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M))
    assert PROJECT["version"] == pfbench.__version__ == cited["version"]
    assert (cited["title"], cited["license"]) == (PROJECT["name"], PROJECT["license"])
    assert cited["cff-version"] == "1.2.0"


def locked():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_every_dependency_is_locked_within_its_bounds():
    extras = PROJECT["optional-dependencies"]
    named = chain(PROJECT["dependencies"], *(extras[e] for e in ("report", "data", "cluster")))
    for requirement in chain(named, extras["certify"]):
        name, least = re.fullmatch(r"([a-z0-9-]+)>=([0-9.]+)", requirement).groups()
        assert numbers(locked()[name]) >= numbers(least), requirement


def test_locked_versions_are_exact_sorted_and_there_once():
    text = (ROOT / "constraints.txt").read_text("utf-8")
    names = re.findall(r"^([a-z0-9-]+)==[0-9][0-9a-z.]*$", text, re.M)
    assert len(names) == len([line for line in text.splitlines() if not line.startswith("#")])
    assert names == sorted(set(names))
