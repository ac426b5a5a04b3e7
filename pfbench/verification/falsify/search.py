"""The search: pools of the best genomes for growing horizons, and shrinking of a candidate.

A genome describes a test problem, and a horizon is a number of steps. A candidate is an instance
on which the measured quantity exceeds its bound in floats.
"""

import inspect
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from pfbench.base.errors import StorageError
from pfbench.base.files import atomic_write
from pfbench.problems.base import content_digest
from pfbench.verification.falsify import genomes
from pfbench.verification.falsify.confirmation import describe_error
from pfbench.verification.falsify.genomes import MARGIN, Entry
from pfbench.verification.falsify.reports import Counterexample, SearchReport
from pfbench.verification.falsify.searched_problem import UNKNOWN_CONSTANT, Genome, build_problem
from pfbench.verification.falsify.statement import Ratio, SearchedStatement

STEPS_PER_SECOND = 25_000
"""Steps of a method that count as a second, so that results do not depend on the machine."""

_RUNGS, _SHARES = (16, 128, 1024, 8192), (0.34, 0.26, 0.24, 0.16)
"""The largest horizon of each rung, and the share of evaluations of each."""

_FIRST, _FIRST_SHARES = 500, (0.75, 0.21, 0.03, 0.01)
"""Number of early evaluations, which prefer short runs, and the share of each rung."""

_ENUMERATED = 600
"""Largest number of draw sequences that the search enumerates to compute an expectation."""

_FIRST_ENUMERATED = 64
"""Largest number of sequences of draws of an early evaluation of an error law, once one succeeds.

An error law needs all sequences, which cost most of the effort; a few steps often suffice.
"""

_SMALL, _SMALL_WORK, _LARGEST_HARD = 250, 30_000, 1024
"""Evaluations or steps before those of `list_hard_genomes`, and the largest horizon of these."""

_POOL, _SAME_KIND = 24, 3
_OVERHEAD, _EVALUATION_SECONDS = 25, 10.0
_HORIZONS = sorted({1, 3, 5, 10, *(k << j for j in range(12) for k in (2, 3))})


_PLAIN = ("work", "evaluations", "tried", "unconfirmed", "reason", "dropped", "largest")
"""Attributes of a search that JSON reads back as they were written."""

_INTERVAL = 2.0
"""Seconds from one save to the next."""


def estimate_method_steps(seconds: float) -> int:
    """Return the number of steps that a method is assumed to make in the given seconds."""
    return int(seconds * STEPS_PER_SECOND)


@dataclass
class Search:
    """State of the search for a counterexample to one statement.

    The search ends at `deadline`, a time of `time.monotonic`.
    """

    statement: SearchedStatement
    seed: int = 0
    horizon: int = 8192
    size: int = 200
    families: tuple[str, ...] = genomes.SETS
    pools: dict[int, list[Entry]] = field(default_factory=dict)
    work: int = 0
    evaluations: int = 0
    tried: int = 0
    unconfirmed: int = 0
    deadline: float = math.inf
    patience: float = 1.0
    start: float = field(default_factory=monotonic)
    dropped: Entry | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    largest: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(np.random.SeedSequence((self.seed, 52)))
        self.instance_class = genomes.InstanceClass(self.statement, self.families, self.size)
        is_fixed = self.statement.horizon is None
        self.rungs = [0] if is_fixed else [T for T in _RUNGS if max(self.horizon, 16) >= T]
        rungs, hard = [T for T in self.rungs if T <= _LARGEST_HARD], genomes.list_hard_genomes
        self.hard = [(g, T) for T in rungs for g in hard(self.instance_class, max(T, 1))]

    @property
    def entries(self) -> list[Entry]:
        """All entries of the search's pools, in descending order of their ratio measured/bound."""
        entries = [entry for pool in self.pools.values() for entry in pool]
        return sorted(entries, key=lambda entry: -entry.ratio)

    def try_next_genome(self) -> Entry | None:
        """Measure another problem (genome): a hard, a random, a mutated or a longer-running one.

        The known hard ones come after some small ones, whose counterexamples are simpler. The
        result is an entry, or None if the genome cannot be measured.
        """
        is_due = self.evaluations >= _SMALL or self.work >= _SMALL_WORK
        if is_due and self.tried < len(self.hard):
            (genome, rung), self.tried = self.hard[self.tried], self.tried + 1
            return self._try(genome, rung, self.seed, rung)
        rng, is_early = self.rng, self.evaluations < _FIRST
        self.instance_class.bounded_variance |= UNKNOWN_CONSTANT.format("sigma2") in self.skipped
        shares = np.array((_FIRST_SHARES if is_early else _SHARES)[: len(self.rungs)])
        level = int(rng.choice(len(self.rungs), p=shares / shares.sum()))
        rung, T = self.rungs[level], self._draw_horizon(level)
        pool, lower = self.pools.get(rung, []), self.pools.get(self.rungs[max(level - 1, 0)], [])
        share = rng.random()
        if share < (0.7 if is_early else 0.2) or not (pool or lower):
            genome = genomes.draw_genome(rng, self.instance_class, max(T, 1))
            if is_early and genome["d"] <= 3 and rng.random() < 0.5:  # a simple instance
                genome = genomes.convert_numbers(genome, float, lambda x: round(2 * x) / 2)
                genome = genomes.repair_genome(genome, self.instance_class)
            if self.statement.is_deterministic and level > 1 and genome["d"] > 10:
                return None
            if self.statement.is_expectation and level == 0 and rung:
                T = int(rng.integers(1, rung + 1))
            return self._try(genome, T, int(rng.integers(2**31)), rung)
        promote = bool(share > 0.65 or not pool) and bool(lower)
        source, nonconvex = lower if promote else pool, rng.random() < 0.5
        source = [entry for entry in source if entry.is_nonconvex == nonconvex] or source
        if promote and rng.random() < 0.4:
            parent = max(source, key=lambda entry: (entry.result.growth, entry.score))
        else:
            parent = source[min(int(rng.exponential(len(source) / 4)), len(source) - 1)]
        if not promote and rng.random() < 0.5:
            T = parent.T
        genome = deepcopy(parent.genome)
        if not promote or share > 0.9:
            genome = genomes.mutate_genome(rng, genome, self.instance_class)
        return self._try(genome, T, parent.seed, rung)

    def _draw_horizon(self, level: int) -> int:
        rung = self.rungs[level]
        if rung == 0 or (self.statement.is_for_each_run and self.rng.random() < 0.6):
            return rung
        low = 1 if level == 0 else self.rungs[level - 1]
        return max(1, round(math.exp(self.rng.uniform(math.log(low), math.log(rung)))))

    def _try(self, genome: Genome, T: int, seed: int, rung: int) -> Entry | None:
        if self.statement.is_expectation and rung == _RUNGS[0] and genome["n"] > 1:
            T = min(T, int(math.log(_ENUMERATED) / math.log(genome["n"])))  # then it is exact
        entry = self.measure(genome, T, seed)
        if entry is None:
            return None
        for key in (str(rung), f"{genome['family']}, {genome['set']}"):
            self.largest[key] = max(self.largest.get(key, 0.0), entry.ratio)
        pool = [entry, *self.pools.get(rung, [])]  # of equal ones, an earlier entry remains
        different = {(member.kind, member.score, member.ratio): member for member in pool}
        pool = sorted(different.values(), key=lambda entry: -entry.score)
        same = [member for member in pool if member.kind == entry.kind]
        best = max(pool, key=lambda entry: entry.ratio)
        pool = [member for member in pool if member not in same[_SAME_KIND:]]
        parts = [[m for m in pool if m.is_nonconvex == flag][:_POOL] for flag in (False, True)]
        self.pools[rung] = list(dict.fromkeys([*parts[0], *parts[1], best]))
        return entry

    def measure(self, genome: Genome, T: int, seed: int, runs: int = 8) -> Entry | None:
        """Return an entry with the genome's ratio measured/bound; None if it cannot be computed."""
        self.evaluations += 1
        self.work += _OVERHEAD
        deadline = min(self.deadline, monotonic() + _EVALUATION_SECONDS)
        is_early_law = self.statement.statistic == "law" and self.evaluations < _FIRST
        limit = _FIRST_ENUMERATED if is_early_law and self.pools else _ENUMERATED
        try:
            with np.errstate(all="ignore"):
                case = self.statement.prepare_run(build_problem(genome), T, deadline)
                entry = Entry(genome, T, seed, case.evaluate_ratio(seed, runs, limit))
                is_finite = math.isfinite(entry.ratio)
        except Exception as error:  # user code may raise anything
            self.skipped[describe_error(error)[:300]] += 1
            return None
        self.work += int(entry.result.work * (1 + genome["d"] / 8))
        return entry if is_finite else None

    def drop(self, entry: Entry, drops_similar: bool = False) -> None:
        """Remove an entry from the pools; with `drops_similar`, also remove similar candidates.

        A candidate is an entry whose ratio clearly exceeds 1; similar ones have the same kind.
        """
        self.dropped, kind = entry, entry.kind if drops_similar else None
        for rung, pool in self.pools.items():
            remaining = (item for item in pool if item is not entry)
            self.pools[rung] = [e for e in remaining if e.ratio <= 1.0 + MARGIN or e.kind != kind]

    def shrink(self, candidate: Entry, seconds: float, min_ratio: float | None) -> Entry:
        """Return an entry with a simpler genome whose ratio measured/bound is at least `min_ratio`.

        Parameters
        ----------
        candidate
            The entry to shrink.
        seconds
            Seconds that shrinking may take, but at most five seconds' steps of the method.
        min_ratio
            The ratio to keep; None for 1 and a third of the excess of the candidate's ratio.
        """
        if min_ratio is None:  # expectations are exact where T is small
            largest_gap = 0.04 if self.statement.is_expectation else 0.5
            min_ratio = 1.0 + min((candidate.ratio - 1.0) / 3, largest_gap)
        best, limit = candidate, self.work + estimate_method_steps(min(seconds, 5.0))
        deadline = min(self.deadline, monotonic() + seconds * self.patience)
        cost = genomes.genome_complexity

        def apply_first(changes: Iterable[tuple[Genome, int]]) -> bool:
            """Apply the first change that keeps measured/bound; return whether there is one."""
            nonlocal best
            for genome, T in changes:
                if self.work >= limit or monotonic() >= deadline:
                    break
                simpler = genomes.repair_genome(genome, self.instance_class)
                if T == best.T and cost(simpler) >= cost(best.genome):
                    continue
                entry = self.measure(simpler, T, best.seed, runs=16)
                if entry is not None and entry.ratio >= min_ratio:
                    best = entry
                    return True
            return False

        before = None
        while best is not before:
            before = best
            if self.statement.horizon is not None:
                t = best.result.t + (self.statement.statistic != "every")
                apply_first((best.genome, T) for T in (*_HORIZONS, t) if T < best.T)
            while apply_first((new, best.T) for new in genomes.simplify_structure(best.genome)):
                pass
            numbers = genomes.list_number_positions(best.genome)
            for k in [k for k, (container, key) in enumerate(numbers) if container[key]]:
                apply_first((new, best.T) for new in genomes.simplify_number(best.genome, k))
        return best


class SavedSearch:
    """Finished reports on a claim's statements, and the state of the search that is under way.

    Reports and state are saved in a file whose name has a digest of the claim's source and of
    `options`, in a folder; `saved` is the folder, and whether to resume the search saved there.
    Nothing is saved if `saved` is None.
    """

    def __init__(self, first: SearchedStatement, options: Any, saved: Any) -> None:
        self.path: Path | None = None
        self.state: dict[str, Any] | None = None
        self.reports, self.time = list[SearchReport](), monotonic()
        if saved is None:
            return
        folder, is_resumed = saved
        version = sys.modules[__name__.partition(".")[0]].__version__
        name, source = first.claim.name, inspect.getsource(first.module)
        digest = content_digest((version, name, options, source))
        self.path = path = folder / f"{name}-{digest[:16]}.json"
        if is_resumed and path.exists():
            try:
                record = json.loads(path.read_text(encoding="utf-8"), object_hook=_decode)
                self.state, self.reports = record["state"], record["reports"]
            except (ValueError, TypeError, KeyError) as error:
                raise StorageError(f"{path} is damaged: delete it, or omit --resume.") from error

    def save(self, search: Search, elapsed: float) -> None:
        """Save the state of a search, unless it was saved a short time ago."""
        if self.path is None or monotonic() < self.time + _INTERVAL:
            return
        state = {name: getattr(search, name) for name in (*_PLAIN, "skipped", "pools")}
        self.write_with_reports(state | {"elapsed": elapsed, "rng": search.rng.bit_generator.state})

    def restore(self, search: Search) -> None:
        """Restore the saved state and elapsed time of a search; do nothing if none was saved."""
        if self.state is None:
            return
        state, self.state = self.state, None
        vars(search).update({name: state[name] for name in _PLAIN})
        search.rng.bit_generator.state = state["rng"]
        search.skipped = Counter(state["skipped"])
        search.pools = {int(T): pool for T, pool in state["pools"].items()}
        search.start -= state["elapsed"]

    def write_with_reports(self, state: dict[str, Any] | None) -> None:
        """Write the finished reports, and the given state of an unfinished search, to the file."""
        self.time = monotonic()
        if self.path is not None:
            record = {"reports": self.reports, "state": state}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                file.write(json.dumps(record, default=_encode).encode())


def _encode(value: Any) -> Any:
    if not isinstance(value, Entry | Ratio | SearchReport):
        return float(value)
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _decode(record: dict[str, Any]) -> Any:
    """Return the object that `_encode` wrote; its attributes tell the class of the object."""
    kinds = {"growth": Ratio, "result": Entry, "script": Counterexample, "verdict": SearchReport}
    return next((kind(**record) for key, kind in kinds.items() if key in record), record)
