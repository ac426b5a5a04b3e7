"""Builds source archive and wheel twice, from two copies of the checkout: the bytes are the same.

The wheel is built from the source archive, so that both are whole; `tox -e wheel` runs this.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

IN_WHEEL = (
    "pfbench/py.typed",
    "pfbench/cli/schemas/solve.json",
    "pfbench/cli/templates/algorithm.txt",
    "pfbench/reporting/templates/report.html.j2",
    "pfbench/reporting/specs/suites/quick.toml",
    "pfbench/reporting/specs/suites/quick.sqlite.xz",
    "pfbench/reporting/specs/suites/standard.sqlite.xz",
    "pfbench/reporting/specs/suites/norms.sqlite.xz",
)
IN_SOURCE = (
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "README.md",
    "constraints.txt",
    "docs/architecture.md",
    "pyproject.toml",
    "tests/conftest.py",
    "tox.ini",
)


def built(source: Path, target: Path) -> dict[str, str]:
    """Build both from a copy of a checkout; return the hash of each file by its name."""
    copy = target / "checkout"
    ignored = shutil.ignore_patterns(".git", ".tox", ".mypy_cache", ".ruff_cache", "__pycache__")
    shutil.copytree(source, copy, ignore=ignored, copy_function=shutil.copy)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target / "dist")]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([*command, str(copy)], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"the build failed:\n{done.stdout}{done.stderr}")
    files = sorted((target / "dist").iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def inside(folder: Path) -> tuple[set[str], set[str]]:
    """Return the names of the files in the wheel, and in the source archive below its folder."""
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as tar:
        below = {name.partition("/")[2] for name in tar.getnames()}
        return set(archive.namelist()), below


def main() -> None:
    """Build twice and compare; end with a sentence if something is wrong."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first, second = built(ROOT, Path(one)), built(ROOT, Path(two))
        if first != second:
            sys.exit(f"two builds of one checkout differ: {first} and {second}.")
        wheel, source = inside(Path(one) / "dist")
    missing = [name for name in IN_WHEEL if name not in wheel]
    missing += [name for name in IN_SOURCE if name not in source]
    strange = [name for name in wheel if not name.startswith(("pfbench/", "pfbench-"))]
    if missing or strange:
        sys.exit(f"missing in the build: {missing}; not of the package: {strange}.")
    print(
        "the same bytes twice:", *(f"{name} {digest}" for name, digest in first.items()), sep="\n"
    )


if __name__ == "__main__":
    main()
