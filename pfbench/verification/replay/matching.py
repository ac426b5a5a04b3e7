"""Matching of recorded oracle queries to the queries of a reference implementation."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.verification.replay.recorded_run import COMPONENT_KINDS, RecordedQuery, Transcript

POINT_TOLERANCE = 1e-11
"""Tolerance of equal points, entry by entry, relative to the largest entry of an iterate."""

VALUE_TOLERANCE = 1e-9
"""Relative tolerance of gradients, directions, and the iterates compared after a step."""


class PendingQuery:
    """Recorded oracle query, with those of its components that are not matched yet.

    Attributes
    ----------
    query
        The recorded query.
    unexplained
        Unmatched components for each of the points of the query; a single array for Hessians.
    """

    __slots__ = ("query", "unexplained")

    def __init__(self, query: RecordedQuery) -> None:
        self.query = query
        self.unexplained: list[Integers] = []
        if query.indices is not None:
            points = 1 if query.base is not None else len(query.points)
            self.unexplained = [query.indices] * points

    @property
    def is_explained(self) -> bool:
        """Whether all queried components are matched by queries of the reference implementation."""
        return not any(len(item) for item in self.unexplained)


QueryAtPoint = tuple[PendingQuery, int]
"""A pending query, and the index of one of its points."""


class QueryWindow:
    """Recorded oracle queries that are available for matching in the current step.

    Attributes
    ----------
    pending
        The unmatched queries up to this step, in recorded order.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.pending: list[PendingQuery] = []
        self.point_tolerance = POINT_TOLERANCE * transcript.max_point_entry
        self.tolerance = VALUE_TOLERANCE * max(transcript.max_gradient_entry, 1e-300)
        self._next = 0

    def admit_queries_until(self, step: int) -> None:
        """Make the recorded queries up to a step available for matching."""
        queries = self.transcript.queries
        while self._next < len(queries) and queries[self._next].step <= step:
            self.pending.append(PendingQuery(queries[self._next]))
            self._next += 1

    def are_points_equal(self, x: Floats, y: Floats) -> bool:
        """Return whether two points are equal up to rounding."""
        return x is y or bool(np.abs(x - y).max() <= self.point_tolerance)

    # --- whole queries ----------------------------------------------------------------------------

    def find(
        self, kinds: tuple[str, ...], fits: Callable[[RecordedQuery], bool]
    ) -> PendingQuery | None:
        """Return the first unmatched query that is of one of the `kinds` and satisfies `fits`.

        Return None if there is none.
        """
        for pending in self.pending:
            if pending.query.kind in kinds and fits(pending.query):
                return pending
        return None

    def consume_query(self, pending: PendingQuery) -> RecordedQuery:
        """Mark a recorded query as matched, and return its record."""
        self.pending.remove(pending)
        return pending.query

    # --- components -------------------------------------------------------------------------------

    def pending_gradients_at_point(
        self, x: Floats, kinds: frozenset[str] = COMPONENT_KINDS
    ) -> list[QueryAtPoint]:
        """Return the unmatched queries of component gradients at x, in recorded order."""
        return [
            (pending, index)
            for pending in self.pending
            if pending.query.kind in kinds
            for index, point in enumerate(pending.query.points)
            if len(pending.unexplained[index]) and self.are_points_equal(point, x)
        ]

    def pending_hessian_products(self, base: Floats, x: Floats, y: Floats) -> list[QueryAtPoint]:
        """Return the unmatched products of Hessians at `base` with x - y or y - x."""
        return [
            (pending, 0)
            for pending in self.pending
            if pending.query.kind == "hessian.batch"
            and pending.query.base is not None
            and len(pending.unexplained[0])
            and self.are_points_equal(pending.query.base, base)
            and self.is_at_both_points(pending.query, x, y)
        ]

    def is_at_both_points(self, query: RecordedQuery, x: Floats, y: Floats) -> bool:
        """Return whether the two points of a query are x and y, in either order."""
        a, b = query.points
        return (self.are_points_equal(a, x) and self.are_points_equal(b, y)) or (
            self.are_points_equal(a, y) and self.are_points_equal(b, x)
        )

    def is_part_of_difference(self, piece: QueryAtPoint, x: Floats, y: Floats) -> bool:
        """Return whether a recorded query asks for gradient differences between x and y."""
        query = piece[0].query
        return len(query.points) > 1 and self.is_at_both_points(query, x, y)

    def choose_components(
        self, pieces: list[QueryAtPoint], size: int
    ) -> list[tuple[QueryAtPoint, Integers]] | None:
        """Choose `size` unmatched components of some queries; return None if there are fewer.

        Complete queries are preferred to parts of a query.
        """
        chosen, total = list[tuple[QueryAtPoint, Integers]](), 0
        for piece in pieces:
            left = piece[0].unexplained[piece[1]]
            if total + len(left) <= size:
                chosen.append((piece, left))
                total += len(left)
            if total == size:
                return chosen
        chosen, total = [], 0
        for piece in pieces:
            left = piece[0].unexplained[piece[1]][: size - total]
            chosen.append((piece, left))
            total += len(left)
            if total == size:
                return chosen
        return None

    def consume_components(self, chosen: list[tuple[QueryAtPoint, Integers]]) -> Integers:
        """Mark the chosen components as matched, and return their indices."""
        for (pending, lefts), part in chosen:
            left = pending.unexplained[lefts]
            pending.unexplained[lefts] = left[len(part) :] if left is not part else left[:0]
        self._remove_explained([item for (item, _), _ in chosen])
        return np.concatenate([part for _, part in chosen])

    def consume_exactly(self, pieces: list[QueryAtPoint], expected: Integers) -> bool:
        """Mark the expected components as matched; return whether all of them were recorded.

        If one is missing, nothing is marked.
        """
        ordered = np.sort(expected)
        for pending, position in pieces:
            left = pending.unexplained[position]
            if len(left) == len(ordered) and np.array_equal(np.sort(left), ordered):
                pending.unexplained[position] = left[:0]
                self._remove_explained([pending])
                return True
        missing, rests = Counter(ordered.tolist()), list[Integers]()
        if sum(len(item.unexplained[location]) for item, location in pieces) < len(ordered):
            return False
        for pending, position in pieces:
            rest = []
            for i in pending.unexplained[position].tolist():
                if missing[i] > 0:
                    missing[i] -= 1
                else:
                    rest.append(i)
            rests.append(np.array(rest, dtype=np.int64))
        if any(missing.values()):
            return False
        touched = list[PendingQuery]()
        for (pending, position), other_rest in zip(pieces, rests, strict=True):
            touched += [pending] if len(other_rest) < len(pending.unexplained[position]) else []
            pending.unexplained[position] = other_rest
        self._remove_explained(touched)
        return True

    def starts_with_each_component_once(self, pieces: list[QueryAtPoint]) -> bool:
        """Return whether the first n components of some queries are a permutation of all n."""
        n = self.transcript.problem.n
        chosen = self.choose_components(pieces, n)
        if chosen is None:
            return False
        result = np.concatenate([part for _, part in chosen])
        return len(np.unique(result)) == n

    def _remove_explained(self, touched: list[PendingQuery]) -> None:
        done = {id(pending) for pending in touched if pending.is_explained}
        if done:
            self.pending = [pending for pending in self.pending if id(pending) not in done]
