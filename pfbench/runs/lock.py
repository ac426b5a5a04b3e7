"""The versions that a result was made with, and hashes of what was installed of them.

A hash is that of the files of a distribution, from its own record of them: whatever installed it,
the same wheel has the same hash. That of pfbench is of its source as it lies, installed or not.
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


def lock() -> dict[str, dict[str, str]]:
    """Return version and content of each distribution that this process has loaded, by name."""
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    packages = distributions()
    names = sorted({one for top in loaded & packages.keys() for one in packages[top]} | {_OWN})
    found = {name: _of(name) for name in names}
    return {name: one for name, one in found.items() if one}


def _of(name: str) -> dict[str, str]:
    if name == _OWN:
        return {"version": str(sys.modules[_OWN].__version__), "content": source()}
    try:
        known = distribution(name)
    except PackageNotFoundError:
        return {}
    return {"version": known.version, "content": _content(known)}


def _content(known: Distribution) -> str:
    """Return the hash of the files of a distribution; empty if it has no record of them."""
    rows = sorted(
        f"{path.as_posix()} {path.hash.mode}={path.hash.value}"
        for path in known.files or ()
        if path.hash and ".." not in path.parts and path.name not in _INSTALLERS
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest() if rows else ""


@cache
def source() -> str:
    """Return the hash of the source of pfbench."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def requirements(versions: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return a lock as a file that pip reads; the hashes of contents stand in its comments."""
    lines = ["# pip install -r lock.txt; `content` is the hash of the installed files."]
    for name, one in versions.items():
        lines.append(f"{name}=={one['version']}  # content {one['content'] or 'unknown'}")
    return "\n".join([*lines, ""]).encode()


def other(versions: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return what of a lock is not the same here, in words by its name."""
    found = {}
    for name, there in versions.items():
        here = _of(name)
        if not here:
            found[name] = f"{there['version']}, not installed here"
        elif here["version"] != there["version"]:
            found[name] = f"{there['version']}, here {here['version']}"
        elif here["content"] != there["content"]:
            found[name] = f"{there['version']}, here of other content"
    return found
