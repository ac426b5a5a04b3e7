"""The command ``python -m benchmarks.history``."""

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from benchmarks.history import recording, stored
from benchmarks.history.recording import ROOT


def check(given: argparse.Namespace) -> int:
    """Run all cases, and compare their counts with those stored for their versions."""
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
    """Return the present counts and the stated version of each case."""
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
    """Return the counts that a commit expected; empty if it has no file of expected counts."""
    name = stored.FILE.relative_to(ROOT).as_posix()
    shown = subprocess.run(
        ["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, text=True
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else {}


def accept(given: argparse.Namespace) -> int:
    """Write the counts of cases with a raised version; other counts remain unchanged."""
    found, versions = _counts()
    expected = stored.accepted(found, versions, stored.read())
    stored.write(expected)
    wrong = list(stored.complaints(found, versions, expected))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def record(given: argparse.Namespace) -> int:
    """Run the benchmarks on past commits, then write the page of the history."""
    commits = recording.spread(recording.past(given.since), given.commits)
    # The newest first: it is the one that knows all benchmarks.
    recording.record(commits[::-1], given.machine, given.bench, quick=given.quick)
    return publish(given)


def publish(given: argparse.Namespace) -> int:
    """Write the page of the recorded history."""
    from benchmarks.history import page, results

    try:
        history = results.read(recording.RESULTS, ROOT)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    given.output.mkdir(parents=True, exist_ok=True)
    file = given.output / "index.html"
    file.write_text(page.page(history, "python -m benchmarks.history record"), encoding="utf-8")
    print(f"{len(history.commits)} commits, {len(history.series)} series: {file}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the requested subcommand, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    added = {}
    for verb in (check, accept, record, publish):
        added[verb] = verbs.add_parser(verb.__name__, help=verb.__doc__, description=verb.__doc__)
        added[verb].set_defaults(verb=verb)
    added[check].add_argument(
        "--since",
        metavar="COMMIT",
        help="also check that the counts of no old version were changed since this commit",
    )
    option = added[record].add_argument
    option(
        "--commits", type=int, default=14, metavar="N", help="number of commits (14), evenly spread"
    )
    option(
        "--since",
        metavar="COMMIT",
        help="first commit (default: the first one that can be installed)",
    )
    option("--machine", default="machine", metavar="NAME", help="what asv calls this machine")
    option("--bench", default=recording.SHORT, metavar="REGEX", help="these benchmarks")
    option("--quick", action="store_true", help="one sample of each time")
    for verb in (record, publish):
        added[verb].add_argument(
            "-o", "--output", type=Path, default=ROOT / "reports/history", metavar="DIR"
        )
    given = parser.parse_args(arguments)
    return given.verb(given)


if __name__ == "__main__":
    sys.exit(main())
