"""Known members, vertices and size of a feasible set, from its own answers."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.checking.findings import TimeLimit
from pfbench.checking.lines import as_dense_array

SECONDS = 0.6
"""Seconds for each check."""

MAX_MEMBERS = 400
"""Maximum number of stored members."""


class SetSampler:
    """Set with its known members: answers of `lo`, random vertices, the start, and mixtures."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.rng = np.random.default_rng(17)
        self.found_member_count = 0  # how many members, equal ones among them, `known` was found by

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""
        value = getattr(self.body, "shape", None)
        return tuple(np.shape(self.body.start()) if value is None else value)

    @cached_property
    def diameter_or_one(self) -> float:
        """Diameter, or 1 if that is not a positive number."""
        D = float(self.body.diameter)
        return D if 0.0 < D < math.inf else 1.0

    @cached_property
    def trial_gradients(self) -> list[Floats]:
        """Gradients to minimise against: normal, unit, integer, with ties, and slowly turning."""
        size = math.prod(self.shape)
        standard_normal = list(self.rng.standard_normal((60, size)))
        units = self.rng.permutation(size)[:20]
        standard_normal += [sign * np.eye(1, size, k)[0] for k in units for sign in (1.0, -1.0)]
        standard_normal += list(self.rng.integers(-2, 3, size=(20, size)).astype(float))
        standard_normal += [
            np.ones(size),
            -np.ones(size),
            np.zeros(size),
            np.arange(size) - size / 2.0,
        ]
        a, b = self.rng.standard_normal((2, size))
        # As in a run: each is near the last one.
        standard_normal += [
            math.cos(t) * a + math.sin(t) * b for t in np.linspace(0.0, math.pi, 60)
        ]
        return [g.reshape(self.shape) for g in standard_normal]

    @cached_property
    def answers(self) -> list[tuple[Floats, Floats]]:
        """Pairs (g, lo(g)) for as many trial gradients as time allows."""
        patience = TimeLimit(SECONDS)
        return [
            (self.trial_gradients[k], as_dense_array(self.body.lo(self.trial_gradients[k].copy())))
            for k in patience.rounds(len(self.trial_gradients))
        ]

    @cached_property
    def member_rows(self) -> Floats:
        """Known members, one in a row: answers, random vertices, the start."""
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
        """Return whether the set says that it contains x."""
        return bool(self.body.contains(x, tolerance))

    def random_member(self) -> Floats:
        """Return a random mixture of some known members."""
        few = self.member_rows[
            self.rng.integers(len(self.member_rows), size=int(self.rng.integers(2, 6)))
        ]
        weights = self.rng.dirichlet(np.ones(len(few)))
        return np.asarray(weights @ few).reshape(self.shape)

    def random_member_difference(self) -> Floats:
        """Return the difference of two known members."""
        i, j = self.rng.integers(len(self.member_rows), size=2)
        return np.asarray(self.member_rows[i] - self.member_rows[j]).reshape(self.shape)

    @cached_property
    def centre(self) -> Floats:
        """Mean of all known members."""
        return np.asarray(self.member_rows.mean(axis=0)).reshape(self.shape)
