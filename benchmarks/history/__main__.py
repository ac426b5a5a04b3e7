"""The command ``python -m benchmarks.history``."""

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from benchmarks.history import stored

ROOT = Path(__file__).parents[2]


def check(given: argparse.Namespace) -> int:
    """Run all cases, and compare their counts with those of their versions."""
    expected = stored.read()
    found, versions = _counts()
    wrong = [*_without_case(found), *stored.complaints(found, versions, expected)]
    if given.since:
        wrong += stored.rewritten(_at(given.since), expected)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"counts of {len(found)} algorithms: {f'{len(wrong)} wrong' if wrong else 'as expected'}")
    return 1 if wrong else 0


def _counts() -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Return the counts of now and the stated version of each case."""
    from benchmarks.cases import CASES, counted

    return (
        {name: counted(case) for name, case in CASES.items()},
        {name: case.version for name, case in CASES.items()},
    )


def _without_case(names: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each algorithm of the catalogue that has no case."""
    from pfbench.algorithms.catalogue import ALGORITHMS

    for name in ALGORITHMS.keys() - names:
        yield f"{name}: no counts are taken of it: add a case to benchmarks/cases.py."


def _at(commit: str) -> stored.Expected:
    """Return what a commit expected; nothing, if it has no such file."""
    name = stored.FILE.relative_to(ROOT).as_posix()
    shown = subprocess.run(
        ["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, text=True
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else {}


def accept(given: argparse.Namespace) -> int:
    """Write the counts of raised versions; others stay as they are."""
    found, versions = _counts()
    expected = stored.accepted(found, versions, stored.read())
    stored.write(expected)
    wrong = list(stored.complaints(found, versions, expected))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def main(arguments: list[str] | None = None) -> int:
    """Do what is asked; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for verb in (check, accept):
        added = verbs.add_parser(verb.__name__, help=verb.__doc__, description=verb.__doc__)
        added.set_defaults(verb=verb)
        if verb is check:
            added.add_argument(
                "--since", metavar="COMMIT", help="also see that no old version was written anew"
            )
    given = parser.parse_args(arguments)
    return given.verb(given)


if __name__ == "__main__":
    sys.exit(main())
