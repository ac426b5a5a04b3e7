"""Versions with which a result was computed, and hashes of the installed packages.

A package's hash is computed from the package's own record of its files, so that a wheel has one
hash, whatever program installed it. The hash of pfbench is that of its source files.
"""

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.metadata import packages_distributions as distributions
from pathlib import Path

_INSTALLERS = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")
_PACKAGE = Path(__file__).parents[1]
_OWN = _PACKAGE.name


def collect_loaded_distributions() -> dict[str, dict[str, str]]:
    """Return version and hash of each distribution that this process has loaded, by name."""
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    packages = distributions()
    names = sorted({name for top in loaded & packages.keys() for name in packages[top]} | {_OWN})
    distribution_records = {name: _distribution_record(name) for name in names}
    return {
        name: distribution_record
        for name, distribution_record in distribution_records.items()
        if distribution_record
    }


def _distribution_record(name: str) -> dict[str, str]:
    if name == _OWN:
        return {"version": str(sys.modules[_OWN].__version__), "content": source_digest()}
    try:
        existing = distribution(name)
    except PackageNotFoundError:
        return {}
    return {"version": existing.version, "content": _digest_distribution_files(existing)}


def _digest_distribution_files(distribution: Distribution) -> str:
    """Return the hash of the files of a distribution; empty if it does not record them."""
    rows = sorted(
        f"{path.as_posix()} {path.hash.mode}={path.hash.value}"
        for path in distribution.files or ()
        if path.hash and ".." not in path.parts and path.name not in _INSTALLERS
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest() if rows else ""


@cache
def source_digest() -> str:
    """Return the hash of the source of pfbench."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def format_requirements(versions: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return a lock as a requirements file of pip, with the hashes in comments."""
    lines = ["# pip install -r lock.txt; `content` is the hash of the installed files."]
    for name, version in versions.items():
        lines.append(f"{name}=={version['version']}  # content {version['content'] or 'unknown'}")
    return "\n".join([*lines, ""]).encode()


def list_changed_versions(versions: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the installed packages that differ from a lock, each with a description."""
    changed_versions = {}
    for name, version in versions.items():
        distribution_record = _distribution_record(name)
        if not distribution_record:
            changed_versions[name] = f"{version['version']}, not installed here"
        elif distribution_record["version"] != version["version"]:
            changed_versions[name] = f"{version['version']}, here {distribution_record['version']}"
        elif distribution_record["content"] != version["content"]:
            changed_versions[name] = f"{version['version']}, here with other files"
    return changed_versions
