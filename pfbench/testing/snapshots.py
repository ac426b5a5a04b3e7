"""Snapshots of the oracle calls in tests, compared with a file under version control."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write
from pfbench.oracles import Ledger, Oracles

_HEAD = (
    "# Oracle calls of tests, with hashes of the calls up to 1, 2, 4, ...: pytest --update-counts"
)


class CountedOracles(Oracles):
    """Oracles of a problem that count their calls, with a start point and a random generator."""

    start: Any
    rng: np.random.Generator


class OracleCallSnapshot:
    """Record of the oracle calls of one run of a solver; it is compared with a stored entry.

    Parameters
    ----------
    problem
        A name, as in "quadratic[rows=40,columns=8]", or an object.
    seed
        Seed of the problem's and the solver's random streams.
    tolerance
        Relative difference allowed in counts, e.g. between two libraries of linear algebra. If
            positive, the sequence of calls is not compared.
    """

    def __init__(self, problem: Any, seed: int = 0, tolerance: float = 0.0) -> None:
        from pfbench.adapters.solve_interface import as_problem
        from pfbench.points import infer_format
        from pfbench.runs.loop.steps import ObservedBackend

        on = as_problem(problem)
        self.name = f"{problem if isinstance(problem, str) else on.name} seed={seed}"
        self._tolerance, self._ledger, self._number = tolerance, Ledger(), 0
        self._hash, self._hashes = hashlib.sha256(), list[str]()
        start = on.start()
        backend: Any = ObservedBackend(on.open(np.random.default_rng((seed, 0))), self._note)
        self.oracles = CountedOracles(backend, self._ledger, on.set.diameter, infer_format(start))
        self.oracles.start, self.oracles.rng = start, np.random.default_rng((seed, 1))

    def _note(self, verb: str, value: Any, answer: Any) -> None:
        self._number += 1
        self._hash.update(f"{verb} {self._ledger.counts_array};".encode())
        if self._number.bit_count() == 1:
            self._hashes.append(self._hash.hexdigest()[:6])

    def entry(self) -> str:
        """Return this run's entry for the counts file: counts by oracle kind, hashes of calls."""
        ends = [
            (round(c * (1 - self._tolerance)), round(c * (1 + self._tolerance)))
            for c in self._ledger.counts_array
        ]
        counts = [
            f"{name}={low}" if low == high else f"{name}={low}..{high}"
            for name, (low, high) in zip(COUNTED, ends, strict=True)
            if high
        ]
        return " ".join(counts if self._tolerance else [*counts, f"calls={':'.join(self._hashes)}"])

    def difference(self, stored: str) -> str:
        """Return text on how this run's calls differ from a stored entry; '' if they do not."""
        parts = dict(part.split("=", 1) for part in stored.split())
        statement, differs = [], False
        for name, count in zip(COUNTED, self._ledger.counts_array, strict=True):
            low, _, high = parts.get(name, "0").partition("..")
            if not int(low) <= count <= int(high or low):
                sign = f" ({count - int(low):+d})" if not high else ""
                statement.append(f"{name.upper()} {count}, was {parts.get(name, '0')}{sign}")
                differs = True
            elif count:
                statement.append(f"{name.upper()} equal")
        before = parts.get("calls", "").split(":")
        if "calls" in parts and before != self._hashes:
            agree = [a == b for a, b in zip(before, self._hashes, strict=False)]
            first = agree.index(False) if False in agree else len(agree)
            location = f"the first {2 ** (first - 1)} calls agree, " if first else ""
            statement.append(
                f"{location}the first {2**first} do not" if location else "the first call differs"
            )
            differs = True
        return "; ".join(statement) if differs else ""


class CountsFile:
    """Text file of snapshots, with one line ``KEY: counts`` for each test and problem."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        pairs = [line.rpartition(": ") for line in lines if line and line[0] != "#"]
        if any(not key for key, _, _ in pairs):
            raise InputError(
                f"{path} has a line without the form KEY: COUNTS: restore or delete the file."
            )
        self._entries = {key: entry for key, _, entry in pairs}

    def differences(self, test: str, snapshots: Mapping[str, OracleCallSnapshot]) -> list[str]:
        """Return a line for each changed count, each new key and each unused key of a test."""
        current = {f"{test} {name}": snapshot for name, snapshot in snapshots.items()}
        lines = []
        for key, snapshot in current.items():
            stored = self._entries.get(key)
            now = "not in the file: " + snapshot.entry()
            if difference := now if stored is None else snapshot.difference(stored):
                lines.append(f"{key}: {difference}")
        lines += [f"{key}: no longer used" for key in self._list_keys(test) if key not in current]
        return lines

    def update(self, test: str, snapshots: Mapping[str, OracleCallSnapshot]) -> None:
        """Replace the entries of a test in the file by the entries of the given snapshots."""
        for key in self._list_keys(test):
            del self._entries[key]
        self._entries |= {
            f"{test} {name}": snapshot.entry() for name, snapshot in snapshots.items()
        }
        lines = [_HEAD, *(f"{key}: {self._entries[key]}" for key in sorted(self._entries))]
        with atomic_write(self._path) as target:
            target.write(("\n".join(lines) + "\n").encode())

    def _list_keys(self, test: str) -> list[str]:
        return [key for key in self._entries if key.startswith(f"{test} ")]
