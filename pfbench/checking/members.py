"""Feasible set with points that its own methods return, and quantities computed from them."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.checking.findings import TimeLimit
from pfbench.checking.lines import as_dense_array

SECONDS = 0.6
"""Seconds after which each check of a set starts no further trial."""

MAX_MEMBERS = 400
"""Maximum number of random vertices of a set that are stored."""


class SetWithKnownPoints:
    """Feasible set with its known points: answers of `lo`, random vertices and the start."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.rng = np.random.default_rng(17)
        self.found_member_count = 0  # how many members, equal ones among them, `known` was found by

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the points of the set."""
        value = getattr(self.body, "shape", None)
        return tuple(np.shape(self.body.start()) if value is None else value)

    @cached_property
    def diameter_or_one(self) -> float:
        """Diameter of the set, or 1 if that is not positive and finite."""
        D = float(self.body.diameter)
        return D if 0.0 < D < math.inf else 1.0

    @cached_property
    def trial_gradients(self) -> list[Floats]:
        """Inputs to test `lo` with: normal, unit, integer, constant and slowly rotating arrays."""
        size = math.prod(self.shape)
        rows = list(self.rng.standard_normal((60, size)))
        units = self.rng.permutation(size)[:20]
        rows += [sign * np.eye(1, size, k)[0] for k in units for sign in (1.0, -1.0)]
        rows += list(self.rng.integers(-2, 3, size=(20, size)).astype(float))
        rows += [np.ones(size), -np.ones(size), np.zeros(size), np.arange(size) - size / 2.0]
        a, b = self.rng.standard_normal((2, size))
        # As in a run: each is near the last one.
        rows += [math.cos(t) * a + math.sin(t) * b for t in np.linspace(0.0, math.pi, 60)]
        return [g.reshape(self.shape) for g in rows]

    @cached_property
    def answers(self) -> list[tuple[Floats, Floats]]:
        """Pairs (g, lo(g)) for as many test inputs g as time allows."""
        patience = TimeLimit(SECONDS)
        return [
            (self.trial_gradients[k], as_dense_array(self.body.lo(self.trial_gradients[k].copy())))
            for k in patience.rounds(len(self.trial_gradients))
        ]

    @cached_property
    def member_rows(self) -> Floats:
        """Known points of the set as rows: answers of `lo`, random vertices and the start."""
        rng = np.random.default_rng(5)
        rows = [v for _, v in self.answers if self.contains(v)]
        if hasattr(self.body, "random_vertex"):
            vertices = [self.draw_vertex(rng) for _ in TimeLimit(SECONDS).rounds(MAX_MEMBERS)]
            rows += [v for v in vertices if self.contains(v)]
        if self.contains(start := self.body.start()):
            rows.append(start)
        self.found_member_count = len(rows)
        return np.unique(np.array(rows).reshape(len(rows), -1), axis=0)

    def draw_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a random vertex as an array."""
        return as_dense_array(self.body.random_vertex(rng))

    def contains(self, x: Floats, tolerance: float = 1e-9) -> bool:
        """Return whether the method `contains` of the set accepts x."""
        return bool(self.body.contains(x, tolerance))

    def random_member(self) -> Floats:
        """Return a random convex combination of a few known points of the set."""
        few = self.member_rows[
            self.rng.integers(len(self.member_rows), size=int(self.rng.integers(2, 6)))
        ]
        weights = self.rng.dirichlet(np.ones(len(few)))
        return np.asarray(weights @ few).reshape(self.shape)

    def random_member_difference(self) -> Floats:
        """Return the difference of two random known points of the set."""
        i, j = self.rng.integers(len(self.member_rows), size=2)
        return np.asarray(self.member_rows[i] - self.member_rows[j]).reshape(self.shape)

    @cached_property
    def mean_member(self) -> Floats:
        """Mean of all known points of the set."""
        return np.asarray(self.member_rows.mean(axis=0)).reshape(self.shape)
