"""The search: pools of the best genomes at growing horizons, with counted effort."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from time import process_time
from typing import Any

import numpy as np

from pfbench.verification.falsify.bodies import Genome, Skip
from pfbench.verification.falsify.genomes import InstanceClass, draw, mutate, places, repair
from pfbench.verification.falsify.numbers import Inexact
from pfbench.verification.falsify.problems import build
from pfbench.verification.falsify.statement import Ratio, Statement, evaluate
from pfbench.verification.instruments.enumerated_random import NotEnumerable
from pfbench.verification.subject import SubjectLacksParameter

RUNGS = (16, 128, 1024, 8192)
"""The horizons: the largest of each rung."""

_SHARES = (0.34, 0.26, 0.24, 0.16)
_POOL, _OF_A_KIND = 24, 3

WORK = 25_000
"""Steps of a method a second: how minutes are counted."""

MARGIN = 1e-7
"""Excess of a ratio above 1 that makes an instance a candidate in floats."""

_OVERHEAD = 25
"""Steps that the making of an instance counts."""


@dataclass(eq=False)
class Entry:
    """A genome with its horizon and what was measured on it."""

    genome: Genome
    T: int
    seed: int
    found: Ratio

    @property
    def ratio(self) -> float:
        """Measured over bound."""
        return float(self.found.ratio)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What makes two genomes of a kind."""
        g = self.genome
        return g["family"], g["set"], g["d"], g["n"], sum(1 for _ in places(g)) // 4


@dataclass
class Search:
    """The state of a search of one statement."""

    statement: Statement
    seed: int = 0
    horizon: int = 8192
    size: int = 200
    families: tuple[str, ...] | None = None
    pools: dict[int, list[Entry]] = field(default_factory=dict)
    work: int = 0
    evaluations: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unconfirmed: int = 0
    largest: dict[int, float] = field(default_factory=dict)
    by_family: dict[str, float] = field(default_factory=dict)
    errors: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(np.random.SeedSequence((self.seed, 52)))
        self.refused: set[str] = set()
        self.classes = self._classes()
        known = self.statement.horizon
        self.rungs = [0] if known is None else [T for T in RUNGS if max(self.horizon, 16) >= T]

    def _classes(self) -> InstanceClass:
        requires, wants = self.statement.requires, self.statement.wants
        if "lo" in requires:
            sets: tuple[str, ...] = ("box", "hull", "hull", "ball")
        elif "prox" in requires and "smooth" not in requires:
            sets = ("none", "box", "ball")
        else:
            sets = ("none",)
        if self.families:
            sets = tuple(one for one in sets if one in self.families) or sets
        strong = wants("strongly")
        return InstanceClass(
            sets=sets,
            convex=strong
            or (wants("convex") and not any("non" in c for c in self.statement.conditions)),
            strong=strong,
            components=wants("component") or wants("f_i"),
            sums=not self.statement.is_deterministic,
            bounded_variance=True,
            penalty="prox" in requires and "smooth" not in requires,
            size=self.size,
        )

    @property
    def best(self) -> Entry | None:
        """The entry with the largest ratio."""
        every = [one for pool in self.pools.values() for one in pool]
        return max(every, key=lambda one: one.ratio, default=None)

    def run(
        self, budget: int, deadline: float, pause: Callable[[], None] = lambda: None
    ) -> Iterator[Entry]:
        """Yield candidates, whose ratio is above 1 by more than the margin.

        The search goes on where the consumer does; what it removed from the pools stays away.
        Each so many steps it pauses: then its state may be saved, and a search goes on from there.
        """
        if not self.evaluations:
            for entry in self._systematic(budget, deadline):
                if entry.ratio > 1.0 + MARGIN:
                    yield entry
        paused = self.work
        while self.work < budget and process_time() < deadline:
            entry = self._step(fresh=0.7 if self.evaluations < 500 else 0.2)
            if entry is not None and entry.ratio > 1.0 + MARGIN:
                yield entry
            if self.evaluations > 300 and not self.pools:
                return
            if self.work - paused > 10 * WORK:
                paused = self.work
                pause()

    def _systematic(self, budget: int, deadline: float) -> Iterator[Entry]:
        """Yield a few simple instances at short horizons."""
        rng = np.random.default_rng(0)
        horizons = [0] if self.statement.horizon is None else [1, 2, 3, 6, 12]
        for T, _ in product(horizons, range(24)):
            if self.work > budget / 20 or process_time() > deadline:
                return
            genome = draw(rng, self.classes, max(T, 1))
            if genome["d"] <= 3 and genome["n"] <= 3:
                for container, key in list(places(genome)):
                    container[key] = float(round(2 * container[key]) / 2)
                entry = self._try(repair(genome, self.classes), T, 0, self.rungs[0])
                if entry is not None:
                    yield entry

    def _step(self, fresh: float) -> Entry | None:
        rng = self.rng
        shares = np.array(_SHARES[: len(self.rungs)])
        level = int(rng.choice(len(self.rungs), p=shares / shares.sum()))
        rung, T = self.rungs[level], self._draw_horizon(level)
        pool, below = self.pools.get(rung, []), self.pools.get(self.rungs[max(level - 1, 0)], [])
        how = rng.random()
        if how < fresh or not (pool or below):
            genome = draw(rng, self.classes, max(T, 1))
            if self.statement.is_deterministic and level > 1 and genome["d"] > 10:
                return None
            return self._try(genome, T, int(rng.integers(2**31)), rung)
        promote = (how > 0.65 or not pool) and below
        source = below if promote else pool
        if promote and rng.random() < 0.4:
            parent = max(source, key=lambda one: (one.found.growth, one.ratio))
        else:
            parent = source[min(int(rng.exponential(len(source) / 4)), len(source) - 1)]
        if not promote and rng.random() < 0.5:
            T = parent.T
        genome = deepcopy(parent.genome)
        if not promote or how > 0.9:
            genome = mutate(rng, genome, self.classes)
        return self._try(genome, T, parent.seed, rung)

    def _draw_horizon(self, level: int) -> int:
        rung = self.rungs[level]
        if rung == 0:
            return 0
        low = 1 if level == 0 else self.rungs[level - 1]
        if self.statement.statistic in ("every", "step", "least") and self.rng.random() < 0.6:
            return rung
        return max(1, round(math.exp(self.rng.uniform(math.log(low), math.log(rung)))))

    def _try(self, genome: Genome, T: int, seed: int, rung: int) -> Entry | None:
        found = self.measure(genome, T, seed)
        if found is None:
            return None
        entry = Entry(genome, T, seed, found)
        self.largest[rung] = max(self.largest.get(rung, 0.0), entry.ratio)
        name = f"{genome['family']}, {genome['set']}"
        self.by_family[name] = max(self.by_family.get(name, 0.0), entry.ratio)
        pool = self.pools.setdefault(rung, [])
        pool.append(entry)
        pool.sort(key=lambda one: -one.ratio)
        kinds: Counter[Any] = Counter()
        kept = []
        for one in pool:
            kinds[one.kind] += 1
            if kinds[one.kind] <= _OF_A_KIND:
                kept.append(one)
        self.pools[rung] = kept[:_POOL]
        return entry

    def measure(self, genome: Genome, T: int, seed: int, runs: int = 8) -> Ratio | None:
        """Return the ratio on a genome in floats; None where it says nothing."""
        self.evaluations += 1
        before = self.work
        self.work += _OVERHEAD
        try:
            with np.errstate(all="ignore"):
                found = evaluate(self.statement, build(genome), T or None, seed=seed, runs=runs)
        except Skip as reason:
            self.skipped[str(reason)] += 1
            return None
        except (Inexact, NotEnumerable, SubjectLacksParameter) as reason:
            self.skipped[str(reason)[:80]] += 1
            return None
        except ArithmeticError:
            self.skipped["overflow or division by 0"] += 1
            return None
        except Exception as error:
            self.errors += 1
            self.skipped[f"{type(error).__name__}: {error}"[:120]] += 1
            return None
        self.work = before + _OVERHEAD + int(found.work * (1 + genome["d"] / 8))
        if not math.isfinite(float(found.ratio)):
            return None
        return found

    def drop(self, entry: Entry) -> None:
        """Remove one entry from the pools."""
        for rung, pool in self.pools.items():
            self.pools[rung] = [one for one in pool if one is not entry]

    def forget(self, entry: Entry) -> None:
        """Remove what is like an unconfirmed candidate from the pools."""
        self.unconfirmed += 1
        for rung, pool in self.pools.items():
            self.pools[rung] = [
                one for one in pool if one.ratio <= 1.0 + MARGIN or one.kind != entry.kind
            ]
