"""Expected counts of each case, by the version of the case: ``benchmarks/counts.json``.

A version keeps its counts for ever. So a count that changes needs a new version, and the reader of
a change sees the new counts beside the old ones.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

FILE = Path(__file__).parents[1] / "counts.json"

Expected = dict[str, dict[str, dict[str, int]]]
"""Counts by kind, by version, by the name of a case."""

_ALWAYS = ("iterations",)


def read(file: Path = FILE) -> Expected:
    """Return the expected counts in a file; empty if the file does not exist."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(expected: Expected, file: Path = FILE) -> None:
    """Write the expected counts, one line for each version."""
    cases = []
    for name, versions in sorted(expected.items()):
        lines = [f"    {json.dumps(version)}: {json.dumps(c)}" for version, c in versions.items()]
        cases.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }")
    file.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")


def calls_of(name: str) -> tuple[str, ...]:
    """Return the kinds of oracle calls that a case makes, according to its last version."""
    versions = read().get(name, {})
    counts = list(versions.values())[-1] if versions else {}
    made = tuple(kind for kind, number in counts.items() if number and kind not in _ALWAYS)
    return (*made, *_ALWAYS)


def complaints(
    found: Mapping[str, Mapping[str, int]], versions: Mapping[str, int], expected: Expected
) -> Iterator[str]:
    """Yield a sentence for each case whose counts differ from those stored for its version.

    Parameters
    ----------
    found
        The counts of now, by case.
    versions
        The version that each case states.
    """
    for name, counts in found.items():
        version = str(versions[name])
        known = expected.get(name, {})
        if version not in known:
            yield (
                f"{name}: version {version} has no counts yet: "
                "`python -m benchmarks.history accept` writes them."
            )
        elif version != list(known)[-1]:
            yield (
                f"{name}: version {version} is not the last of {', '.join(known)}: versions rise."
            )
        elif changes := _changes(known[version], counts):
            yield (
                f"{name}: {changes}; if that is meant, raise its version "
                "in benchmarks/cases.py and run `python -m benchmarks.history accept`."
            )
    for name in expected.keys() - found.keys():
        yield f"{name}: no such case any more: take it out of benchmarks/counts.json."


def accepted(
    found: Mapping[str, Mapping[str, int]], versions: Mapping[str, int], expected: Expected
) -> Expected:
    """Return the expected counts with those of new versions added; older versions stay."""
    result = {name: dict(known) for name, known in expected.items() if name in found}
    for name, counts in found.items():
        known = result.setdefault(name, {})
        if all(int(version) < versions[name] for version in known):
            known[str(versions[name])] = dict(counts)
    return result


def rewritten(before: Expected, now: Expected) -> Iterator[str]:
    """Yield a sentence for each version whose stored counts have changed."""
    for name, versions in before.items():
        for version, counts in versions.items():
            given = now.get(name, {}).get(version, counts)
            if given != counts:
                yield (
                    f"{name}: the counts of version {version} were written anew "
                    f"({_changes(counts, given)}): give a new version its own."
                )


def _changes(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the counts that differ, as text; a count that was not recorded is 0."""
    kinds = [kind for kind in {**before, **after} if before.get(kind, 0) != after.get(kind, 0)]
    return ", ".join(f"{kind} {before.get(kind, 0)} became {after.get(kind, 0)}" for kind in kinds)
