"""Matching of recorded oracle queries to the queries of a reference implementation.

A recorded query is matched as a whole, or by the components at each of its points. Their grouping
into queries, and the order of queries, do not matter.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.verification.replay.recorded_run import COMPONENT_KINDS, RecordedQuery, Transcript

POINT_TOLERANCE = 1e-11
"""Tolerance of equal points, entry by entry, relative to the largest entry of an iterate."""

VALUE_TOLERANCE = 1e-9
"""Relative tolerance of gradients, directions, and the iterates compared after a step."""

FULL_KINDS = ("gradient", "table")
"""Kinds of queries that use all components."""

_WHOLE = np.zeros(1, dtype=np.int64)


@dataclass(slots=True, eq=False)
class PendingPart:
    """Part of a recorded query that is not matched yet.

    Attributes
    ----------
    query
        The recorded query.
    index
        Index of the point to which the part belongs.
    left
        The unmatched components at this point; one dummy for a query without components.
    """

    query: RecordedQuery
    index: int
    left: Integers

    @property
    def point(self) -> Floats:
        """Point of the query to which this part belongs."""
        return self.query.points[self.index]


Chosen = tuple[Sequence[PendingPart], Integers]
"""Some queries, and those of their unmatched components that are chosen."""


def count_components(parts: Sequence[PendingPart]) -> int:
    """Return the total number of unmatched components in the given parts of queries."""
    return sum(len(part.left) for part in parts)


def concatenate_components(parts: Sequence[PendingPart]) -> Integers:
    """Return the unmatched components in the given parts of queries as one array."""
    return np.concatenate([part.left for part in parts] or [_WHOLE[:0]])


class QueryWindow:
    """Recorded oracle queries that are available for matching in the current step.

    Attributes
    ----------
    pending
        The unmatched parts of queries up to this step, in recorded order.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.pending: list[PendingPart] = []
        self.point_tolerance = POINT_TOLERANCE * transcript.max_point_entry
        self.tolerance = VALUE_TOLERANCE * max(transcript.max_gradient_entry, 1e-300)
        self.has_penalty = getattr(transcript.problem, "penalty", None) is not None
        self._next = 0

    def admit_queries_until(self, step: int) -> None:
        """Make the recorded queries up to a step available for matching."""
        queries = self.transcript.queries
        while self._next < len(queries) and queries[self._next].step <= step:
            query = queries[self._next]
            left = _WHOLE if query.indices is None else query.indices
            points = len(query.points) if query.kind in COMPONENT_KINDS else 1
            if query.kind == "hessian":
                points = 0  # its products are matched, with its point
            self.pending += [PendingPart(query, index, left) for index in range(points)]
            self._next += 1

    # --- equal queries ----------------------------------------------------------------------------

    def are_points_equal(self, x: Floats, y: Floats) -> bool:
        """Return whether two points are equal up to rounding."""
        return x is y or bool(np.abs(x - y).max() <= self.point_tolerance)

    def is_at_both_points(self, query: RecordedQuery, x: Floats, y: Floats) -> bool:
        """Return whether the points of a query are x and y, in either order."""
        a, b = query.points[0], query.points[-1]
        return (self.are_points_equal(a, x) and self.are_points_equal(b, y)) or (
            self.are_points_equal(a, y) and self.are_points_equal(b, x)
        )

    def are_equal(self, query: RecordedQuery, target: RecordedQuery) -> bool:
        """Return whether two queries of equivalent kinds must have the same answer.

        The base and the points must be equal, and so must the lengths and the directions, up to a
        positive factor of a direction. Two queries of `prox` must have the same x - lam g.
        """
        if query.kind == "prox":
            return self._are_proximal_points_equal(query, target)
        if query.base is not None and not self.are_points_equal(query.base, target.base):  # type: ignore[arg-type]
            return False
        if abs(query.length - target.length) > VALUE_TOLERANCE * abs(target.length):
            return False
        if len(query.points) == 2:
            return self.is_at_both_points(query, *target.points)
        pairs = zip(query.points, target.points, strict=True)
        return all(self.are_points_equal(x, y) for x, y in pairs) and (
            query.direction is None or self._are_directions_equal(query.direction, target.direction)
        )

    def _are_proximal_points_equal(self, query: RecordedQuery, target: RecordedQuery) -> bool:
        lam = target.length
        if self.has_penalty and abs(query.length - lam) > VALUE_TOLERANCE * abs(lam):
            return False
        moved, expected = (
            q.points[0] - q.length * np.asarray(q.direction) for q in (query, target)
        )
        limit = max(VALUE_TOLERANCE * float(np.abs(expected).max()), self.point_tolerance)
        return bool(np.abs(moved - expected).max() <= limit)

    def _are_directions_equal(self, recorded: Floats, expected: Floats | None) -> bool:
        assert expected is not None
        size, other = float(np.linalg.norm(expected)), float(np.linalg.norm(recorded))
        largest = max(self.transcript.max_gradient_entry, float(np.abs(expected).max()))
        limit = VALUE_TOLERANCE * largest
        if other == 0.0 or size <= limit:
            return max(other, size) <= limit
        return bool(np.abs(recorded * (size / other) - expected).max() <= limit)

    # --- whole queries ----------------------------------------------------------------------------

    def find_kind(self, *kinds: str) -> PendingPart | None:
        """Return the first unmatched query that is of one of the `kinds`, or None."""
        return next((part for part in self.pending if part.query.kind in kinds), None)

    def find(self, target: RecordedQuery) -> PendingPart | None:
        """Return the first unmatched query that is equal to a query of the reference, or None."""
        kinds = FULL_KINDS if target.kind in FULL_KINDS else (target.kind,)
        same = (part for part in self.pending if part.query.kind in kinds)
        return next((part for part in same if self.are_equal(part.query, target)), None)

    def consume_query(self, part: PendingPart) -> RecordedQuery:
        """Mark a recorded query as matched, and return it."""
        self.pending.remove(part)
        return part.query

    def consume_first_equal(self, target: RecordedQuery) -> RecordedQuery | None:
        """Mark the first recorded query that is equal to `target` as matched, and return it."""
        part = self.find(target)
        return None if part is None else self.consume_query(part)

    # --- components -------------------------------------------------------------------------------

    def pending_gradients(
        self, x: Floats, kinds: frozenset[str] = COMPONENT_KINDS
    ) -> list[PendingPart]:
        """Return the unmatched queries of component gradients at x, in recorded order."""
        return [
            part
            for part in self.pending
            if part.query.kind in kinds and self.are_points_equal(part.point, x)
        ]

    def pending_hessian_times_difference(
        self, base: Floats, x: Floats, y: Floats
    ) -> list[PendingPart]:
        """Return the unmatched products of Hessians at `base` with x - y or y - x."""
        target = RecordedQuery("hessian.batch", (x, y), base=base)
        return [
            part
            for part in self.pending
            if part.query.kind == target.kind and self.are_equal(part.query, target)
        ]

    def choose_pending_components(self, parts: Sequence[PendingPart], size: int) -> Chosen | None:
        """Choose `size` unmatched components of some queries; return None if there are fewer.

        Complete queries are preferred to parts of a query.
        """
        complete, total = list[PendingPart](), 0
        for part in parts:
            if total < size and total + len(part.left) <= size:
                complete.append(part)
                total += len(part.left)
        if total == size:
            return complete, concatenate_components(complete)
        return (
            (parts, concatenate_components(parts)[:size])
            if count_components(parts) >= size
            else None
        )

    def consume_components(self, parts: Sequence[PendingPart], expected: Integers) -> bool:
        """Mark the expected components as matched; return whether all of them were recorded.

        If one is missing, nothing is marked.
        """
        missing = Counter(expected.tolist())
        same = (part for part in parts if Counter(part.left.tolist()) == missing)
        parts = [*islice(same, 1)] or parts  # a query of just these components is preferred
        if missing - Counter(concatenate_components(parts).tolist()):
            return False
        for part in parts:
            left = Counter(part.left.tolist())
            used = left & missing
            missing -= used
            part.left = np.array([*(left - used).elements()], dtype=np.int64)
        self.pending = [part for part in self.pending if len(part.left)]
        return True

    def starts_with_each_component_once(self, parts: Sequence[PendingPart]) -> bool:
        """Return whether the first n components of some queries are a permutation of all n."""
        n = self.transcript.problem.n
        chosen = self.choose_pending_components(parts, n)
        return chosen is not None and len(np.unique(chosen[1])) == n
