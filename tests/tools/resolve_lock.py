"""Resolve what `constraints.txt` locks for each supported Python, whether it is there or not.

python tests/tools/resolve_lock.py [3.11 3.12 ...]

pip looks for wheels of that Python and installs nothing. Markers of dependencies are read as of the
Python that is running. Exit status 1 if one cannot be resolved, or what is chosen is not locked.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

EXTRAS = ("report", "data", "cluster", "certify")
"""Those of `all`, and `certify`."""


def locked(python):
    """Return the pins that are for a Python, by name."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    chosen = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(here)]
    found = {pin.name: str(pin.specifier).removeprefix("==") for pin in chosen}
    assert len(found) == len(chosen), f"something is locked twice for {python}"
    return found


def required():
    """Return what the package and its extras require."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]


def wrong(python):
    """Yield a sentence for everything that is wrong with the lock for a Python."""
    pins = locked(python)
    with tempfile.TemporaryDirectory() as folder:
        limits, report = Path(folder, "constraints.txt"), Path(folder, "report.json")
        limits.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        # pip holds Requires-Python to the Python that is running: it is looked at below.
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--quiet", "--ignore-requires-python", "--only-binary=:all:"]
        command += ["--python-version", python, "--target", folder, "--report", report]
        done = subprocess.run([*command, "-c", limits, *required()], capture_output=True, text=True)
        if done.returncode:
            yield from (line for line in done.stderr.splitlines() if line.startswith("ERROR"))
            return
        chosen = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    for one in chosen:
        name = canonicalize_name(one["name"])
        if not SpecifierSet(one.get("requires_python") or "").contains(f"{python}.0"):
            yield f"{name} {one['version']} is not for Python {python}"
        if name not in pins and name not in locked(PYTHONS[0]):
            yield f"{name} {one['version']} is not locked"


def main():
    pythons = sys.argv[1:] or PYTHONS
    with ThreadPoolExecutor() as each:  # pip waits for the network most of the time
        found = dict(zip(pythons, each.map(lambda one: list(wrong(one)), pythons), strict=True))
    for python, sentences in found.items():
        print(f"{python}: {'; '.join(sentences) or 'resolved'}")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
