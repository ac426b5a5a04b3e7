"""Results that asv recorded, as series of values over commits."""

import json
import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

Value = float | None


@dataclass(frozen=True)
class Commit:
    """Commit, with the number of today's benchmarks that gave no value at it."""

    hash: str
    date: str
    subject: str
    missing: int


@dataclass(frozen=True)
class Series:
    """Values of one benchmark over the commits, for one choice of its parameters."""

    benchmark: str
    chosen: tuple[str, ...]
    unit: str
    values: tuple[Value, ...]

    @property
    def exact(self) -> bool:
        """Whether the values are the same on every machine."""
        return self.benchmark.startswith("counts.")

    @property
    def changes(self) -> tuple[int, ...]:
        """Indices of the commits whose value differs from that of the commit recorded before."""
        found, before = [], None
        for place, value in enumerate(self.values):
            if value is not None:
                if before is not None and value != before:
                    found.append(place)
                before = value
        return tuple(found)


@dataclass(frozen=True)
class History:
    """Results that one machine recorded, and the commits in their order."""

    machine: Mapping[str, str]
    python: str
    commits: tuple[Commit, ...]
    series: tuple[Series, ...]


def read(folder: Path, repository: Path) -> History:
    """Return the history in a folder of asv's results, which must be of one machine.

    Values from another version of a benchmark are left out.

    Raises
    ------
    ValueError
        If there are no results of exactly one machine, or of a commit that the repository lacks.
    """
    machines = [one for one in sorted(folder.glob("*/")) if any(one.glob("????????-*.json"))]
    if len(machines) != 1:
        names = ", ".join(one.name for one in machines) or "none"
        raise ValueError(f"results of one machine are needed in {folder}, not of {names}.")
    benchmarks = _json(folder / "benchmarks.json")
    del benchmarks["version"]
    files = [_json(file) for file in sorted(machines[0].glob("????????-*.json"))]
    told = {one["commit_hash"]: _told(one["commit_hash"], repository) for one in files}
    files.sort(key=lambda one: told[one["commit_hash"]][0])
    tables = [_values(one, benchmarks) for one in files]
    series = []
    for name, benchmark in sorted(benchmarks.items()):
        for chosen in product(*benchmark["params"]):
            values = tuple(table.get((name, chosen)) for table in tables)
            if any(value is not None for value in values):
                texts = tuple(text.strip("'") for text in chosen)
                unit = {"seconds": "s"}.get(benchmark["unit"], benchmark["unit"])
                series.append(Series(name, texts, unit, values))
    commits = []
    for place, one in enumerate(files):
        missing = sum(each.values[place] is None for each in series)
        _, date, subject = told[one["commit_hash"]]
        commits.append(Commit(one["commit_hash"], date, subject, missing))
    machine = {k: v for k, v in _json(machines[0] / "machine.json").items() if k != "version"}
    return History(machine, files[-1]["python"], tuple(commits), tuple(series))


def _json(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def _told(commit: str, repository: Path) -> tuple[int, str, str]:
    """Return the index of a commit in the history of the repository, its date and its subject."""
    form = ["--no-patch", "--date=format:%Y-%m-%d %H:%M", "--format=%cd%n%s"]
    shown = _git(repository, "show", *form, commit).splitlines()
    return int(_git(repository, "rev-list", "--count", commit)), shown[0], shown[1]


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _values(
    recorded: Mapping[str, Any], benchmarks: Mapping[str, Any]
) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the values of one commit by benchmark and parameters."""
    found = {}
    for name, row in recorded["results"].items():
        of = dict(zip(recorded["result_columns"], row, strict=False))
        if name in benchmarks and of.get("version") == benchmarks[name]["version"]:
            for chosen, value in _cells(of["params"], of["result"]):
                found[name, chosen] = value
    return found


def _cells(
    params: Sequence[Sequence[str]], result: Sequence[Value] | None
) -> Iterator[tuple[tuple[str, ...], float]]:
    if result is not None:
        for chosen, value in zip(product(*params), result, strict=True):
            if value is not None and math.isfinite(value):
                yield chosen, value
