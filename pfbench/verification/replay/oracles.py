"""Oracles for a reference implementation, which match its queries to those of a recorded run."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Never

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import IndexSampling, Indices, Sample
from pfbench.points import FactoredMatrix
from pfbench.points.atoms import Factors
from pfbench.verification.replay.draws import (
    DeferredDraw,
    DrawNeededNowError,
    ReplayGenerator,
    ResolvedDraws,
)
from pfbench.verification.replay.matching import VALUE_TOLERANCE, PendingQuery, QueryWindow
from pfbench.verification.replay.recorded_run import (
    COMPONENT_KINDS,
    RecordedQuery,
    Transcript,
    copy_dense,
    expand_sample,
)
from pfbench.verification.replay.replay_decisions import ReadingDecisions

_FULL = ("gradient", "table")
"""Kinds of queries that use all components."""


class MismatchError(Exception):
    """Exception raised if a recorded run differs from its reference implementation.

    Attributes
    ----------
    step
        The step of the mismatch.
    reason
        Text on what the reference does there, and on what was recorded.
    query
        The recorded query that differs; None if no query does.
    """

    def __init__(self, step: int, reason: str, query: RecordedQuery | None = None) -> None:
        super().__init__(step, reason)
        self.step, self.reason, self.query = step, reason, query


class ReplayOracles(IndexSampling):
    """Oracles and random draws of a reference that is compared with a recorded run.

    Parameters
    ----------
    transcript
        The recorded run.
    forced
        Options that the first decisions take; see `ReadingDecisions`.
    eager
        Whether the draws of a batch are inferred before its first query.
    noise
        Random stream of perturbations of the answers; None for no perturbation.
    dense
        Whether the reference takes points, vertices and gradients as dense arrays.

    Attributes
    ----------
    rng
        The stream of the reference.
    log
        The draws so far.
    notes
        Observations that are no mismatch.
    """

    def __init__(
        self,
        transcript: Transcript,
        forced: Any = (),
        *,
        eager: bool = False,
        noise: np.random.Generator | None = None,
        dense: bool = False,
    ) -> None:
        problem = transcript.problem
        self.transcript, self.window = transcript, QueryWindow(transcript)
        self.decisions = ReadingDecisions(forced)
        self.eager, self.dense, self.noise = eager, dense, noise
        self.backend: Any = problem.open(np.random.default_rng(transcript.seed))
        self.n, self.D = problem.n, problem.set.diameter
        self.log, self.notes = ResolvedDraws(), list[str]()
        self.rng = ReplayGenerator(self)
        self.step = 0
        self.position: Floats = transcript.start
        self.previous: Floats = transcript.start
        self.snapshot: Floats | None = None
        self.is_searching = False
        self.has_search = False
        self._queries_by_step = defaultdict[int, list[RecordedQuery]](list)
        for query in transcript.queries:
            self._queries_by_step[query.step].append(query)

    def begin_step(self, step: int, x: Floats) -> None:
        """Start a step at the iterate x, and make the step's recorded queries available."""
        self.step = step
        self.previous, self.position = self.position, x
        self.window.admit_queries_until(step)

    # --- oracles ----------------------------------------------------------------------------------

    def gradient(self, x: Any) -> Any:
        """Return the full gradient at x, and mark its recorded query as matched."""
        point = self._dense_array(x)
        self._consume_full_gradient(point, "the full gradient")
        self.snapshot = point
        return self._as_backend_gradient(self.backend.gradient(self._as_backend_point(x)))

    def batch(self, sample: Indices, x: Any) -> Any:
        """Return the mean of the sampled component gradients at x.

        Mark the recorded queries of these components as matched.
        """
        point = self._dense_array(x)
        if self._is_unresolved(sample):
            self._resolve_draw(sample, self.window.pending_gradients_at_point(point), point)
        else:
            self._consume_batch(expand_sample(sample), point)
        return self._as_backend_gradient(
            self.backend.batch(_as_indices(sample), self._as_backend_point(x))
        )

    def difference(self, sample: Any, x: Any, y: Any) -> Any:
        """Return the mean over a sample of grad f_i(x) - grad f_i(y).

        Mark the recorded queries of these components as matched.
        """
        a, b = self._dense_array(x), self._dense_array(y)
        if self.window.are_points_equal(a, b):
            coincide = self._consume_difference_of_equal_points(a, b, len(sample))
            if coincide is None:
                return 0.0 * self._as_backend_gradient(
                    self.backend.gradient(self._as_backend_point(x))
                )
            if self._is_unresolved(sample):
                sample.whole_draw.log = None
                sample.resolve(coincide)
        elif self._is_unresolved(sample):
            pieces = self.window.pending_gradients_at_point(a)
            both = [piece for piece in pieces if self.window.is_part_of_difference(piece, a, b)]
            if sum(len(pending.unexplained[position]) for pending, position in both) >= len(sample):
                pieces = both
            self._resolve_draw(sample, pieces, a)
            self._consume_batch(expand_sample(sample), b)
        else:
            self._consume_batch(expand_sample(sample), a)
            self._consume_batch(expand_sample(sample), b)
        coincide = _as_indices(sample)
        return self._as_backend_gradient(
            self.backend.difference(coincide, self._as_backend_point(x), self._as_backend_point(y))
        )

    def value(self, x: Any) -> float:
        """Return f(x); whether the recorded run queries f there does not matter."""
        if not self.is_searching:
            point = self._dense_array(x)
            pending = self.window.find(
                ("value",), lambda q: self.window.are_points_equal(q.points[0], point)
            )
            if pending is not None:
                self.window.consume_query(pending)
        return float(self.backend.value(self._as_backend_point(x)))

    def lo(self, g: Any) -> Any:
        """Return the recorded vertex that minimises <g, v>, and mark its query as matched."""
        direction = self._dense_array(g)
        pending = self.find_minimisation(direction)
        if pending is None and float(np.linalg.norm(direction)) <= self.window.tolerance:
            # A direction that is rounding alone may have been normalised.
            pending = self.window.find(("lo",), lambda query: True)
        if pending is None:
            self.raise_mismatch(f"asks lo along {_format_entries(direction)}", "lo")
        return self._as_backend_vertex(self.window.consume_query(pending))

    def prox(self, x: Any, g: Any, lam: float) -> Any:
        """Return the proximal point of x - lam g, and mark its recorded query as matched.

        On the whole space without a penalty, return x - lam g.
        """
        if self.backend.unconstrained:
            return x - lam * g
        expected = self._dense_array(x) - lam * self._dense_array(g)
        penalised = getattr(self.transcript.problem, "penalty", None) is not None
        limit = max(VALUE_TOLERANCE * float(np.abs(expected).max()), self.window.point_tolerance)

        def fits(query: RecordedQuery) -> bool:
            if penalised and abs(query.length - lam) > VALUE_TOLERANCE * abs(lam):
                return False
            assert query.direction is not None
            moved = query.points[0] - query.length * query.direction
            return bool(np.abs(moved - expected).max() <= limit)

        pending = self.window.find(("prox",), fits)
        if pending is None:
            location = self.describe_point(self._dense_array(x))
            direction = _format_entries(self._dense_array(g))
            self.raise_mismatch(f"asks prox at {location} along {direction}", "prox")
        self.window.consume_query(pending)
        return self.backend.prox(x, g, lam)

    def local_lo(self, x: Any, g: Any, radius: float) -> Any:
        """Return the minimiser of <g, z> within the radius of x; mark its query as matched."""
        point, direction = self._dense_array(x), self._dense_array(g)

        def is_near(query: RecordedQuery) -> bool:
            is_radius = abs(query.length - radius) <= VALUE_TOLERANCE * abs(radius)
            return is_radius and self.window.are_points_equal(query.points[0], point)

        pending = self.find_minimisation(direction, "local_lo", is_near)
        if pending is None:
            location = self.describe_point(point)
            self.raise_mismatch(
                f"asks local_lo at {location} along {_format_entries(direction)}, radius "
                f"{radius:.6g}",
                "local_lo",
            )
        self.window.consume_query(pending)
        return self.backend.local_lo(x, g, radius)

    def hessian(self, s: Any) -> "ReplayHessianAtPoint":
        """Return the component Hessians at s, which the recorded run may query later."""
        return ReplayHessianAtPoint(self, s)

    def table(self, x: Any) -> "ReplayTable":
        """Return a table of all component gradients at x, and mark its query as matched."""
        self._consume_full_gradient(self._dense_array(x), "a table of all component gradients")
        return ReplayTable(self, self.backend.table(self._as_backend_point(x)))

    def component_smoothness(self) -> Floats:
        """Return the smoothness constants L_i of the components, shape (n,)."""
        return np.array(self.backend.component_smoothness(), dtype=np.float64)

    # --- draws ------------------------------------------------------------------------------------

    def draw(self, size: int, log: list[tuple[int, Integers]]) -> Integers:
        """Return a batch of `size` indices that are inferred when the batch is first queried.

        If `eager`, the indices are inferred at once.
        """
        return (
            self.draw_now(size, log)
            if self.eager
            else DeferredDraw.make_unresolved(size, log, self.step)
        )

    def draw_now(self, size: int, log: list[tuple[int, Integers]]) -> Integers:
        """Return a batch of `size` indices, inferred from the first unmatched queries.

        The queries of these components remain unmatched.
        """
        for pending in self.window.pending:
            for index, point in enumerate(pending.query.points):
                if pending.query.kind in COMPONENT_KINDS and len(pending.unexplained[index]):
                    # A difference of equal points has its batch at both, which is one draw.
                    pieces = [
                        piece
                        for piece in self.window.pending_gradients_at_point(point)
                        if piece[1] == 0
                        or not self.window.is_part_of_difference(piece, point, point)
                    ]
                    chosen = self.window.choose_components(pieces, size)
                    if chosen is not None:
                        now = np.concatenate([part for _, part in chosen])
                        log.append((self.step, now))
                        return now
        # Nothing may be queried where the points of a difference coincide.
        return np.zeros(size, dtype=np.int64)

    def coin(self) -> bool:
        """Return whether the coin showed heads, i.e. a full gradient was queried at the iterate."""
        window, x = self.window, self.position
        full = window.find(_FULL, lambda q: window.are_points_equal(q.points[0], x))
        pieces = window.pending_gradients_at_point(x)
        covers = window.starts_with_each_component_once(pieces)
        coin = self.transcript.states[self.step].coin if self._is_known(self.step) else None
        if (full is None) == (not pieces) or covers:
            if coin is not None:
                likely = coin
            elif full is not None and pieces:
                likely = full.query.number < pieces[0][0].query.number
            else:
                # As many as there are components make a full gradient, more or fewer a batch.
                left = sum(len(pending.unexplained[position]) for pending, position in pieces)
                likely = covers and left == self.n
            heads = likely == (self.decisions.choose_option(self.step, 2) == 0)
        else:
            heads = full is not None
        self.log.coins.append((self.step, heads))
        return heads

    def pick(self, count: int) -> int:
        """Return the index of the point that was picked among the next `count` points.

        The picked point is recognised by the next query of a full gradient.
        """
        transcript, last = self.transcript, self.step + count - 1
        points = [
            transcript.estimate_point(step)
            for step in range(self.step, last + 1)
            if self._is_known(step)
        ]
        queries = [query for step in (last, last + 1) for query in self._queries_by_step[step]]
        targets = [query.points[0] for query in queries if query.kind in _FULL]
        ends = [
            query.points[0]
            for query in queries
            if query.kind == "batch"
            and query.indices is not None
            and len(np.unique(query.indices)) == self.n
        ]
        targets = [*reversed(targets), *ends]
        if self._is_known(last) and transcript.states[last].output is not None:
            targets.append(transcript.states[last].output)
        options = list[int]()
        for target in targets:  # the nearest point first: a run that converges has many like it
            distances = [float(np.abs(point - target).max()) for point in points]
            options += [
                k
                for k in sorted(range(len(points)), key=distances.__getitem__)
                if k not in options and self.window.are_points_equal(points[k], target)
            ]
        if not options:
            self.decisions.choose_option(self.step, 1)
            return 0
        chosen = options[self.decisions.choose_option(self.step, len(options), count)]
        self.log.picks.append((self.step, chosen, count))
        return chosen

    # --- what judges use --------------------------------------------------------------------------

    def find_minimisation(
        self,
        direction: Floats,
        verb: str = "lo",
        is_allowed: Callable[[RecordedQuery], bool] | None = None,
    ) -> PendingQuery | None:
        """Return the first unmatched `lo` query whose input is a multiple of `direction`.

        The multiple must be positive. Return None if there is no such query. Another verb is
        `local_lo`, whose other arguments `is_allowed` compares.
        """
        size = float(np.linalg.norm(direction))
        limit = VALUE_TOLERANCE * max(
            self.transcript.max_gradient_entry, float(np.abs(direction).max())
        )

        def fits(query: RecordedQuery) -> bool:
            assert query.direction is not None
            if is_allowed is not None and not is_allowed(query):
                return False
            other = float(np.linalg.norm(query.direction))
            if other == 0.0 or size <= limit:
                return max(other, size) <= limit
            return bool(np.abs(query.direction * (size / other) - direction).max() <= limit)

        return self.window.find((verb,), fits)

    def consume_minimisation(self, pending: PendingQuery) -> Any:
        """Mark a recorded query of `lo` as matched, and return its vertex."""
        return self._as_backend_vertex(self.window.consume_query(pending))

    def raise_mismatch(self, action: str, *kinds: str) -> Never:
        """Raise `MismatchError`, because the recorded run lacks a query of the reference.

        The text names the first unmatched query of one of the `kinds`, or else of any kind.
        """
        displayed = self.window.find(kinds, lambda _: True) or next(iter(self.window.pending), None)
        query = displayed.query if displayed else None
        then = f"recorded is {self.describe(query)}" if query else "no further query was recorded"
        raise MismatchError(self.step, f"the reference {action}, {then}", query)

    def describe(self, query: RecordedQuery) -> str:
        """Return a text on a recorded query: kind, components, points, direction and number."""
        points = " and ".join(self.describe_point(x) for x in query.points)
        batch = "" if query.indices is None else f" of {_format_indices(query.indices)}"
        location = f" at {points}" if points else ""
        path = ""
        if query.direction is not None:
            path = f" along {_format_entries(query.direction)}"
        return f"{query.kind}{batch}{location}{path} (query {query.number})"

    def describe_point(self, x: Floats) -> str:
        """Return a text on a point: its role in the run, and its first three entries."""
        same, t = self.window.are_points_equal, self.step
        roles = [(f"x_{t}", self.position), (f"x_{t - 1}", self.previous)]
        roles += [("the snapshot", self.snapshot)] if self.snapshot is not None else []
        roles += [("the start", self.transcript.start)]
        states = self.transcript.states
        roles += [
            (f"x_{k + 1}", states[k].x) for k in range(max(0, t - 3), min(len(states), t + 2))
        ]
        for name, point in roles:
            if same(x, point):
                return f"{name} = {_format_entries(x)}"
        return _format_entries(x)

    # --- helpers ----------------------------------------------------------------------------------

    def _is_known(self, step: int) -> bool:
        return step < len(self.transcript.states)

    def _dense_array(self, x: Any) -> Floats:
        return np.asarray(copy_dense(x, self.transcript.pattern))

    def _as_backend_point(self, x: Any) -> Any:
        """Return a point as the problem represents it, as an array or a factored matrix."""
        pattern = self.transcript.pattern
        if not self.dense or pattern is None:
            return x
        u, s, vt = np.linalg.svd(np.asarray(x), full_matrices=False)
        return FactoredMatrix.from_factors(pattern, Factors(s, u.T, vt))

    def _as_backend_gradient(self, g: Floats) -> Any:
        if self.noise is not None:
            g = g * (1.0 + 1e-13 * self.noise.standard_normal(g.shape))
        return copy_dense(g, self.transcript.pattern) if self.dense else g

    def _as_backend_vertex(self, query: RecordedQuery) -> Any:
        answer = query.answer
        return copy_dense(answer) if self.dense else answer

    def _is_unresolved(self, sample: Any) -> bool:
        if isinstance(sample, Sample) or not len(sample) or int(sample[0]) >= 0:
            return False
        if not isinstance(sample, DeferredDraw):
            raise DrawNeededNowError
        return True

    def _resolve_draw(self, sample: Any, pieces: Any, x: Floats) -> None:
        chosen = self.window.choose_components(pieces, len(sample))
        if chosen is None:
            total = sum(len(item.unexplained[location]) for item, location in pieces)
            words = f"a batch of {len(sample)} components, of which {total} were recorded,"
            self.raise_mismatch(f"queries {words} at {self.describe_point(x)}", *COMPONENT_KINDS)
        sample.resolve(self.window.consume_components(chosen))

    def _consume_batch(self, expected: Integers, x: Floats) -> None:
        if self.window.consume_exactly(self.window.pending_gradients_at_point(x), expected):
            return
        if len(expected) == self.n == len(np.unique(expected)):
            self._consume_full_gradient(x, "a batch of all components")
            return
        batch, location = _format_indices(expected), self.describe_point(x)
        self.raise_mismatch(f"queries the same batch of {batch} at {location}", *COMPONENT_KINDS)

    def _consume_full_gradient(self, x: Floats, subject: str) -> None:
        window = self.window
        pending = window.find(_FULL, lambda q: window.are_points_equal(q.points[0], x))
        if pending is not None:
            window.consume_query(pending)
        elif not window.consume_exactly(window.pending_gradients_at_point(x), np.arange(self.n)):
            self.raise_mismatch(f"queries {subject} at {self.describe_point(x)}", *_FULL)

    def _consume_difference_of_equal_points(
        self, x: Floats, y: Floats, size: int
    ) -> Integers | None:
        """Return the components of a recorded gradient difference whose two points are equal.

        Mark these components as matched. Return None if the recorded run has no such query.
        """
        window = self.window
        both = [
            (pending, index)
            for pending in window.pending
            if pending.query.kind == "difference" and window.is_at_both_points(pending.query, x, y)
            for index in range(2)
            if len(pending.unexplained[index])
        ]
        pieces = [piece for piece in both if piece[1] == 0]
        chosen = window.choose_components(pieces, size)
        if chosen is not None:
            coincide = window.consume_components(chosen)
            window.consume_exactly(
                [(pending, 1) for pending, _ in pieces if len(pending.unexplained[1])], coincide
            )
            return coincide
        pieces = window.pending_gradients_at_point(x, frozenset({"batch"}))
        chosen = window.choose_components(pieces, 2 * size)
        coincide = np.concatenate([part for _, part in chosen or []] or [np.arange(0)])
        order = np.argsort(coincide, kind="stable")
        firsts, seconds = order[::2], order[1::2]
        if chosen is None or not np.array_equal(coincide[firsts], coincide[seconds]):
            return None
        window.consume_components(chosen)
        return coincide[np.sort(firsts)]


class ReplayHessianAtPoint:
    """Component Hessians at one point, whose products must match recorded queries."""

    def __init__(self, replay: ReplayOracles, s: Any) -> None:
        self._replay, self._base = replay, replay._dense_array(s)
        self._hessian = replay.backend.hessian(replay._as_backend_point(s))
        self._is_explained = False
        self._try_explain()

    def _try_explain(self) -> bool:
        window = self._replay.window
        if not self._is_explained:
            pending = window.find(
                ("hessian",), lambda q: window.are_points_equal(q.points[0], self._base)
            )
            if pending is not None:
                window.consume_query(pending)
                self._is_explained = True
        return self._is_explained

    def product(self, x: Any, y: Any) -> Any:
        """Return the product of the Hessian of f with x - y."""
        replay, window = self._replay, self._replay.window
        a, b = replay._dense_array(x), replay._dense_array(y)
        pending = window.find(
            ("hessian.product",),
            lambda q: (
                q.base is not None
                and window.are_points_equal(q.base, self._base)
                and window.is_at_both_points(q, a, b)
            ),
        )
        if pending is not None:
            window.consume_query(pending)
        elif not window.consume_exactly(
            window.pending_hessian_products(self._base, a, b), np.arange(replay.n)
        ) and not window.are_points_equal(a, b):
            self._raise_mismatch("multiplies the mean Hessian", a, b)
        self._require_explained()
        own = replay._as_backend_point(x), replay._as_backend_point(y)
        return replay._as_backend_gradient(self._hessian.product(*own))

    def batch(self, sample: Indices, x: Any, y: Any) -> Any:
        """Return the product of the mean of the sampled component Hessians with x - y."""
        replay, window = self._replay, self._replay.window
        a, b = replay._dense_array(x), replay._dense_array(y)
        pieces = window.pending_hessian_products(self._base, a, b)
        if window.are_points_equal(a, b) and not pieces:
            own = replay._as_backend_point(x), replay._as_backend_point(y)
            return 0.0 * replay._as_backend_gradient(self._hessian.product(*own))
        if replay._is_unresolved(sample):
            replay._resolve_draw(sample, pieces, self._base)
        elif not window.consume_exactly(pieces, expand_sample(sample)):
            batch = _format_indices(expand_sample(sample))
            self._raise_mismatch(f"multiplies the Hessians of the same batch of {batch}", a, b)
        self._require_explained()
        own = replay._as_backend_point(x), replay._as_backend_point(y)
        return replay._as_backend_gradient(self._hessian.batch(_as_indices(sample), *own))

    def _require_explained(self) -> None:
        if not self._try_explain():
            location = self._replay.describe_point(self._base)
            self._replay.raise_mismatch(f"queries all component Hessians at {location}")

    def _raise_mismatch(self, action: str, x: Floats, y: Floats) -> Never:
        base, a, b = map(self._replay.describe_point, (self._base, x, y))
        words = f"{action} at {base} by the difference of {a} and {b}"
        self._replay.raise_mismatch(words, "hessian.product", "hessian.batch")


class ReplayTable:
    """Table of component gradients, whose queries must match recorded queries.

    The recorded run may also keep a table itself, and query component gradients for it.
    """

    def __init__(self, replay: ReplayOracles, table: Any) -> None:
        self._replay, self._table = replay, table
        self._swapped = False

    @property
    def mean(self) -> Any:
        """Mean of the stored gradients over all components."""
        return self._replay._as_backend_gradient(self._table.mean)

    def difference(self, sample: Indices, x: Any) -> Any:
        """Return the mean over a sample of grad f_i(x) - a_i, where a_i is the stored gradient."""
        self._consume_batch_or_table("table.difference", sample, x)
        return self._replay._as_backend_gradient(
            self._table.difference(_as_indices(sample), self._replay._as_backend_point(x))
        )

    def replace(self, sample: Indices, x: Any) -> Any:
        """Store grad f_i(x) for the sample, and return the mean change of its stored gradients."""
        self._consume_batch_or_table("table.replace", sample, x)
        return self._replay._as_backend_gradient(
            self._table.replace(_as_indices(sample), self._replay._as_backend_point(x))
        )

    def _consume_batch_or_table(self, kind: str, sample: Any, x: Any) -> None:
        replay, window = self._replay, self._replay.window
        point = replay._dense_array(x)
        pieces = window.pending_gradients_at_point(point)
        own = [piece for piece in pieces if piece[0].query.kind == kind]
        size = len(sample)
        if not replay._is_unresolved(sample):
            if not (own and window.consume_exactly(own, expand_sample(sample))):
                replay._consume_batch(expand_sample(sample), point)
            return
        if sum(len(pending.unexplained[position]) for pending, position in own) >= size:
            pieces = own
        elif kind == "table.difference" and pieces:
            self._resolve_table_draw(sample, pieces, point)
            return
        total = sum(len(pending.unexplained[position]) for pending, position in pieces)
        if kind == "table.replace" and 0 < total < size:
            stored = np.concatenate([pending.unexplained[position] for pending, position in pieces])
            if len(np.unique(stored)) == len(stored):
                window.consume_components(window.choose_components(pieces, total) or [])
                replay.notes.append("a component that is stored once is queried once")
                sample.whole_draw.log = None
                sample.resolve(np.resize(stored, size))
                return
        replay._resolve_draw(sample, pieces, point)

    def _resolve_table_draw(self, sample: Any, pieces: Any, x: Floats) -> None:
        """Infer a batch drawn at x as the first or the last of the components recorded there.

        Which of the two is tried depends on the current decision.
        """
        replay, window, size = self._replay, self._replay.window, len(sample)
        total = sum(len(item.unexplained[location]) for item, location in pieces)
        if total > size and replay.decisions.choose_option(replay.step, 2, 0) == 1:
            other_sample = np.concatenate(
                [item.unexplained[location] for item, location in pieces]
            )[-size:]
            rest = np.concatenate([item.unexplained[location] for item, location in pieces])[:-size]
            window.consume_exactly(pieces, np.concatenate([rest, other_sample]))
            first = pieces[0][0]
            first.unexplained[pieces[0][1]] = rest
            if first not in window.pending:
                window.pending.insert(0, first)
            sample.resolve(other_sample)
            return
        replay._resolve_draw(sample, pieces, x)


def _as_indices(sample: Any) -> Any:
    """Return a sample as a plain index array, or unchanged if it is a `Sample`."""
    return sample if isinstance(sample, Sample) else np.array(sample, dtype=np.int64, subok=False)


def _format_indices(indices: Integers) -> str:
    """Return the indices of a small batch as text, or the number of them."""
    count = len(indices)
    return f"components {indices.tolist()}" if count <= 3 else f"{count} components"


def _format_entries(x: Floats) -> str:
    """Return the first three entries of an array as text."""
    flat = np.ravel(x)
    extra = ", ..." if flat.size > 3 else ""
    return f"({', '.join(f'{entry:.6g}' for entry in flat[:3])}{extra})"
