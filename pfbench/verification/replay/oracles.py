"""Oracles for a reference implementation, which match its queries to those of a recorded run."""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Never
from zlib import crc32

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.points import FactoredMatrix
from pfbench.points.atoms import Factors
from pfbench.verification.replay.draws import DrawLog, ReadingDecision, ResolvedDraws
from pfbench.verification.replay.matching import (
    FULL_KINDS,
    PendingPart,
    QueryWindow,
    concatenate_components,
    count_components,
)
from pfbench.verification.replay.recorded_run import (
    COMPONENT_KINDS,
    RecordedQuery,
    Transcript,
    copy_dense,
)


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


class ReplayOracles:
    """Oracles and random stream of a reference that is compared with a recorded run.

    The stream's methods are called like those of a NumPy generator. A drawn batch is an array whose
    indices are -1. They are inferred, and set in place, when the batch is first queried.

    Parameters
    ----------
    transcript
        The recorded run.
    forced
        Options that the first decisions take; all later ones take option 0, the likeliest.
    noise
        Random stream of perturbations of gradients and vertices; None for no perturbation.

    Attributes
    ----------
    log
        The draws so far.
    decisions
        The choices so far between possible draws.
    notes
        Observations that are no mismatch.
    searched_points
        The points of `value` in a line search, whose queries are not matched; None outside.
    value_points
        The points of `value` outside line searches.
    """

    def __init__(
        self,
        transcript: Transcript,
        forced: Sequence[int] = (),
        *,
        noise: np.random.Generator | None = None,
    ) -> None:
        problem = transcript.problem
        self.transcript, self.window = transcript, QueryWindow(transcript)
        self._forced, self.decisions = forced, list[ReadingDecision]()
        self._habits = dict[str, int]()
        self.noise = noise
        self._vertex_seed = 0 if noise is None else int(noise.integers(2**32))
        self.backend: Any = problem.open(np.random.default_rng(transcript.seed))
        self.n, self.D = problem.n, problem.set.diameter
        self.log, self.notes = ResolvedDraws(), list[str]()
        self.step = 0
        self.position: Floats = transcript.start
        self.previous: Floats = transcript.start
        self.snapshot: Floats | None = None
        self.searched_points: list[Floats] | None = None
        self.value_points = list[Floats]()

    def begin_step(self, step: int, x: Floats) -> None:
        """Start a step at the iterate x, and make the step's recorded queries available."""
        self.step = step
        self.previous, self.position = self.position, x
        self.window.admit_queries_until(step)

    # --- oracles ----------------------------------------------------------------------------------

    def gradient(self, x: Floats) -> Any:
        """Return the full gradient at x, and mark its recorded query as matched."""
        self._match_full_gradient(x, "the full gradient")
        self.snapshot = x
        return self.query_problem(self.backend.gradient, x)

    def batch(self, sample: Integers, x: Floats) -> Any:
        """Return the mean of the sampled component gradients at x.

        Mark the recorded queries of these components as matched.
        """
        self.match_batch(sample, x)
        return self.query_problem(self.backend.batch, sample, x)

    def difference(self, sample: Integers, x: Floats, y: Floats) -> Any:
        """Return the mean over a sample of grad f_i(x) - grad f_i(y).

        Mark the recorded queries of these components as matched.
        """
        window = self.window
        if window.are_points_equal(x, y):
            components = self._match_difference_of_equal_points(x, len(sample))
            if components is None:
                return 0.0 * self.query_problem(self.backend.gradient, x)
            return self.query_problem(self.backend.difference, components, x, y)
        parts = window.pending_gradients(x)
        both = [part for part in parts if window.is_at_both_points(part.query, x, y)]
        is_whole = self.is_unresolved(sample) and count_components(both) >= len(sample)
        self.match_batch(sample, x, both if is_whole else parts)
        self.match_batch(sample, y)
        return self.query_problem(self.backend.difference, sample, x, y)

    def value(self, x: Floats) -> float:
        """Return f(x): the recorded answer, as the last digits of a decrease depend on it.

        If the recorded run does not query f at x, or searches a line, return the problem's answer.
        """
        if self.searched_points is not None:
            self.searched_points.append(x)
        else:
            self.value_points.append(x)
            if query := self.window.consume_first_equal(RecordedQuery("value", (x,))):
                return float(query.answer)
        return float(self.backend.value(self.for_backend(x)))

    def lo(self, g: Floats) -> Any:
        """Return the recorded vertex v that minimises <g, v>, and mark its query as matched."""
        target = RecordedQuery("lo", direction=g)
        pending = self.window.find(target)
        if pending is None and float(np.linalg.norm(g)) <= self.window.tolerance:
            # A direction that is rounding alone may have been normalised.
            pending = self.window.find_kind("lo")
        if pending is None:
            self.raise_mismatch(target, "lo")
        v = copy_dense(self.window.consume_query(pending).answer)
        if self.noise is None:
            return v
        # Equal vertices have equal errors, so that active sets recognise them.
        seed = [self._vertex_seed, crc32((v + 0.0).tobytes())]
        return v + _draw_errors(v, np.random.default_rng(seed))

    def prox(self, x: Floats, g: Floats, lam: float) -> Any:
        """Return the proximal point of x - lam g, and mark its recorded query as matched.

        On the whole space without a penalty, return x - lam g.
        """
        if self.backend.unconstrained:
            return x - lam * g
        self._match_query(RecordedQuery("prox", (x,), direction=g, length=lam))
        return self.backend.prox(x, g, lam)

    def local_lo(self, x: Floats, g: Floats, radius: float) -> Any:
        """Return the z within `radius` of x that minimises <g, z>; mark the query as matched."""
        self._match_query(RecordedQuery("local_lo", (x,), direction=g, length=radius))
        return self.backend.local_lo(x, g, radius)

    def hessian(self, s: Floats) -> "ReplayHessianAtPoint":
        """Return the component Hessians at s, which the recorded run may query later."""
        return ReplayHessianAtPoint(self, s)

    def table(self, x: Floats) -> "ReplayTable":
        """Return a table of all component gradients at x, and mark its query as matched."""
        self._match_full_gradient(x, "a table of all component gradients")
        return ReplayTable(self, self.backend.table(self.for_backend(x)))

    def component_smoothness(self) -> Floats:
        """Return the smoothness constants L_i of the components, shape (n,)."""
        return np.array(self.backend.component_smoothness(), dtype=np.float64)

    # --- draws ------------------------------------------------------------------------------------

    def integers(self, high: int, size: int | None = None) -> Any:
        """Return the indices of a batch; if `size` is None, the index of a picked iterate."""
        return self._pick(high) if size is None else self._draw(size, self.log.batches)

    def choice(
        self, n: int, size: int, *, replace: bool = True, p: Floats | None = None
    ) -> Integers:
        """Return a batch drawn with or without replacement, or with the probabilities p."""
        if p is not None:
            self.log.chances = p
            return self._draw(size, self.log.weighted)
        return self._draw(size, self.log.batches if replace else self.log.subsets)

    def choose_option(self, option_count: int, revisable_steps: int = 2, subject: str = "") -> int:
        """Return the index of the option to take, and log it; the likeliest option is tried first.

        It is option 0 or, if a `subject` is given, the option last taken on the same subject.
        """
        position = len(self.decisions)
        subject = subject or str(position)
        chosen = self._forced[position] if position < len(self._forced) else 0
        self.decisions.append(ReadingDecision(self.step, revisable_steps, option_count, chosen))
        self._habits[subject] = (self._habits.get(subject, 0) + chosen) % option_count
        return self._habits[subject]

    def _draw(self, size: int, log: DrawLog) -> Integers:
        batch = np.full(size, -1, dtype=np.int64)
        log.append((self.step, batch))
        return batch

    def random(self) -> float:
        """Return 0 if a coin showed heads, i.e. a full gradient was queried; else return 1."""
        window, x = self.window, self.position
        full = window.find(RecordedQuery("gradient", (x,)))
        parts = window.pending_gradients(x)
        covers = window.starts_with_each_component_once(parts)
        coin = (
            self.transcript.states[self.step].coin if self.has_recorded_state(self.step) else None
        )
        if (full is None) == (not parts) or covers:
            if coin is not None:
                likely = coin
            elif full is not None and parts:
                likely = bool(window.pending.index(full) < window.pending.index(parts[0]))
            else:
                # As many as there are components make a full gradient, more or fewer a batch.
                is_difference = covers and len(parts[0].query.points) > 1
                likely = covers and not is_difference and count_components(parts) == self.n
            heads = likely == (self.choose_option(2) == 0)
        else:
            heads = full is not None
        self.log.coins.append((self.step, heads))
        return 0.0 if heads else 1.0

    def _pick(self, count: int) -> int:
        """Return the index, from 0 to `count` - 1, of the point that the recorded run picked.

        The picked point is recognised by the next query of a full gradient, or by the output. If
        the run ends before `last`, its last output tells as much; such a pick is not logged, as
        later points cannot be seen.
        """
        transcript, last = self.transcript, self.step + count - 1
        end = min(last, len(transcript.states) - 1)
        points = [
            transcript.estimate_point(step)
            for step in range(self.step, last + 1)
            if self.has_recorded_state(step)
        ]
        begin, stop = (
            bisect_left(transcript.queries, step, key=attrgetter("step"))
            for step in (last, last + 2)
        )
        queries = transcript.queries[begin:stop]
        targets = [query.points[0] for query in reversed(queries) if query.kind in FULL_KINDS]
        targets += [
            query.points[0]
            for query in queries
            if query.kind == "batch" and len(np.unique(query.indices)) == self.n  # type: ignore[arg-type]
        ]
        if end >= self.step and transcript.states[end].output is not None:
            targets.append(transcript.states[end].output)
        options = dict[int, None]()
        rng = np.random.default_rng([transcript.seed, self.step, count])
        for target in targets:  # the nearest point first: a run that converges has many like it
            # Points at one distance come in random order, so that no index is favoured.
            distances = [float(np.abs(point - target).max()) for point in points]
            groups = np.rint(np.array(distances) / (1e-15 * transcript.max_point_entry))
            order = np.lexsort((rng.random(len(points)), groups)).tolist()
            options |= {k: None for k in order if self.window.are_points_equal(points[k], target)}
        if not options:
            return 0
        chosen = list(options)[self.choose_option(len(options), count)]
        if end == last:
            self.log.picks.append((self.step, chosen, count))
        return chosen

    # --- matching, for judges, Hessians and tables ------------------------------------------------

    def has_recorded_state(self, step: int) -> bool:
        """Return whether the recorded run has a state after this step."""
        return step < len(self.transcript.states)

    @staticmethod
    def is_unresolved(sample: Integers) -> bool:
        """Return whether a sample is drawn, but not inferred yet."""
        return len(sample) > 0 and int(sample[0]) < 0

    def match_sample(self, sample: Integers, x: Floats, parts: Sequence[PendingPart]) -> bool:
        """Mark a sample's components as matched; infer them first if they are unknown.

        Return whether all components of a known sample were recorded in the queries `parts` at x.
        """
        if not self.is_unresolved(sample):
            return self.window.consume_components(parts, sample)
        chosen = self.window.choose_pending_components(parts, len(sample))
        if chosen is None:
            total = count_components(parts)
            words = f"a batch of {len(sample)} components, of which {total} were recorded,"
            self.raise_mismatch(f"queries {words} at {self.describe_point(x)}", *COMPONENT_KINDS)
        alternate, is_split = concatenate_components(parts)[::2], len(chosen[0]) > 1
        # The queries of two batches at one point may alternate.
        if is_split and len(alternate) == len(sample) and self.choose_option(2, 0, "mixed"):
            chosen = parts, alternate
        self.window.consume_components(*chosen)
        sample[:] = chosen[1]
        return True

    def match_batch(
        self, sample: Integers, x: Floats, parts: Sequence[PendingPart] | None = None
    ) -> None:
        """Match a sample of component gradients at x with recorded queries; see `match_sample`."""
        if self.match_sample(
            sample, x, self.window.pending_gradients(x) if parts is None else parts
        ):
            return
        if len(sample) == self.n == len(np.unique(sample)):
            self._match_full_gradient(x, "a batch of all components")
            return
        words = f"queries the same batch of {_format_indices(sample)} at {self.describe_point(x)}"
        self.raise_mismatch(words, *COMPONENT_KINDS)

    def raise_mismatch(self, action: str | RecordedQuery, *kinds: str) -> Never:
        """Raise `MismatchError`, because the recorded run lacks a query of the reference.

        The text names the first unmatched query of one of the `kinds`, or else of any kind.
        """
        displayed = self.window.find_kind(*kinds) or next(iter(self.window.pending), None)
        query = displayed.query if displayed else None
        if isinstance(action, RecordedQuery):
            action = f"asks {self.describe(action)}"
        then = f"recorded is {self.describe(query)}" if query else "no further query was recorded"
        raise MismatchError(self.step, f"the reference {action}, {then}", query)

    def query_problem(self, verb: Any, *arguments: Any) -> Any:
        """Query an oracle of the problem, and return its gradient as a dense array."""
        g = copy_dense(verb(*map(self.for_backend, arguments)), self.transcript.pattern)
        return g if self.noise is None else g + _draw_errors(g, self.noise)

    def for_backend(self, argument: Any) -> Any:
        """Return a point or sample in the form that the problem takes: factored or plain array."""
        pattern = self.transcript.pattern
        if pattern is None or argument.dtype.kind == "i":
            return argument
        u, s, vt = np.linalg.svd(argument, full_matrices=False)
        return FactoredMatrix.from_factors(pattern, Factors(s, u.T, vt))

    # --- texts ------------------------------------------------------------------------------------

    def describe(self, query: RecordedQuery) -> str:
        """Describe a query: kind, components, points, direction, radius, query number."""
        points = " and ".join(self.describe_point(x) for x in query.points)
        words = query.kind
        words += "" if query.indices is None else f" of {_format_indices(query.indices)}"
        words += f" at {points}" if points else ""
        words += "" if query.direction is None else f" along {self._format(query.direction)}"
        length = {"local_lo": "radius", "prox": "lambda"}.get(query.kind)
        words += f", {length} {query.length:.6g}" if length else ""
        return words if query.number is None else f"{words} (query {query.number})"

    def describe_point(self, x: Floats) -> str:
        """Describe a point: its role in the run, and its first three entries."""
        t, states = self.step, self.transcript.states
        roles = [(f"x_{t}", self.position), (f"x_{t - 1}", self.previous)]
        roles += [("the snapshot", self.snapshot)] if self.snapshot is not None else []
        roles += [("the start", self.transcript.start)]
        roles += [
            (f"x_{k + 1}", states[k].x) for k in range(max(0, t - 3), min(len(states), t + 2))
        ]
        for name, point in roles:
            if self.window.are_points_equal(x, point):
                return f"{name} = {self._format(x)}"
        return self._format(x)

    def _format(self, x: Floats) -> str:
        """Return the first three entries of an array as text."""
        flat = np.ravel(x)
        extra = ", ..." if flat.size > 3 else ""
        return f"({', '.join(f'{entry:.10g}' for entry in flat[:3])}{extra})"

    # --- helpers ----------------------------------------------------------------------------------

    def _match_query(self, target: RecordedQuery) -> None:
        if self.window.consume_first_equal(target) is None:
            self.raise_mismatch(target, target.kind)

    def _match_full_gradient(self, x: Floats, subject: str) -> None:
        window = self.window
        is_matched = window.consume_first_equal(RecordedQuery("gradient", (x,))) is not None
        if not (
            is_matched or window.consume_components(window.pending_gradients(x), np.arange(self.n))
        ):
            self.raise_mismatch(f"queries {subject} at {self.describe_point(x)}", *FULL_KINDS)

    def _match_difference_of_equal_points(self, x: Floats, size: int) -> Integers | None:
        """Return the components of a recorded gradient difference both of whose points are x.

        Mark these components as matched at both points, which may be in two batches. Return None
        if the recorded run has no such query.
        """
        parts = self.window.pending_gradients(x, frozenset({"batch", "difference"}))
        chosen = self.window.choose_pending_components(parts, 2 * size)
        if chosen is None:
            return None
        ordered = np.sort(chosen[1])
        if not np.array_equal(ordered[::2], ordered[1::2]):
            return None
        self.window.consume_components(*chosen)
        return ordered[::2]


class ReplayHessianAtPoint:
    """Component Hessians at one point, whose products must match recorded queries."""

    def __init__(self, replay: ReplayOracles, s: Floats) -> None:
        self._replay, self._base = replay, s
        self._hessian = replay.backend.hessian(replay.for_backend(s))

    def product(self, x: Floats, y: Floats) -> Any:
        """Return the product of the Hessian of f with x - y."""
        replay, window = self._replay, self._replay.window
        target = RecordedQuery("hessian.product", (x, y), base=self._base)
        if not (
            window.consume_first_equal(target) is not None
            or window.consume_components(
                window.pending_hessian_times_difference(self._base, x, y), np.arange(replay.n)
            )
            or window.are_points_equal(x, y)
        ):
            self._raise_mismatch("multiplies the mean Hessian", x, y)
        return replay.query_problem(self._hessian.product, x, y)

    def batch(self, sample: Integers, x: Floats, y: Floats) -> Any:
        """Return the product of the mean of the sampled component Hessians with x - y."""
        replay, window = self._replay, self._replay.window
        parts = window.pending_hessian_times_difference(self._base, x, y)
        if window.are_points_equal(x, y) and not parts:
            return 0.0 * replay.query_problem(self._hessian.product, x, y)
        if not replay.match_sample(sample, self._base, parts):
            batch = _format_indices(sample)
            self._raise_mismatch(f"multiplies the Hessians of the same batch of {batch}", x, y)
        return replay.query_problem(self._hessian.batch, sample, x, y)

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

    @property
    def mean(self) -> Any:
        """Mean of the stored gradients over all components."""
        return self._replay.query_problem(lambda: self._table.mean)

    def difference(self, sample: Integers, x: Floats) -> Any:
        """Return the mean over a sample of grad f_i(x) - a_i, where a_i is the stored gradient."""
        indices = self._match_sample("table.difference", sample, x)
        return self._replay.query_problem(self._table.difference, indices, x)

    def replace(self, sample: Integers, x: Floats) -> Any:
        """Store grad f_i(x) of the sampled components; return the mean change of the gradients."""
        indices = self._match_sample("table.replace", sample, x)
        return self._replay.query_problem(self._table.replace, indices, x)

    def _match_sample(self, kind: str, sample: Integers, x: Floats) -> Integers:
        """Match a sample at x with recorded queries of the table or else of component gradients.

        Return its indices. The sample itself remains unknown if repeated components were queried
        once, as the queries do not show then which components were drawn repeatedly.
        """
        replay, window, size = self._replay, self._replay.window, len(sample)
        parts = window.pending_gradients(x)
        own = [part for part in parts if part.query.kind == kind]
        total = count_components(parts)
        if not replay.is_unresolved(sample):
            if not (own and window.consume_components(own, sample)):
                replay.match_batch(sample, x, parts)
        elif count_components(own) >= size:
            replay.match_batch(sample, x, own)
        elif kind == "table.difference":
            # The batch of `replace` may have been queried first.
            if total > size and replay.choose_option(2, 0, "order"):
                sample[:] = concatenate_components(parts)[-size:]
            replay.match_batch(sample, x, parts)
        else:
            stored = concatenate_components(parts)
            if 0 < total <= size and len(np.unique(stored)) == total:
                window.consume_components(parts, stored)
                if total < size:
                    replay.notes.append("a component that is stored once is queried once")
                replay.log.stored.append((replay.step, stored, sample))
                return np.resize(stored, size)
            replay.match_batch(sample, x, parts)
        return sample


def _draw_errors(answer: Floats, rng: np.random.Generator) -> Floats:
    """Return random errors of an answer, somewhat larger than rounding errors."""
    # Entries that are small by cancellation have errors of the size of the largest entry's.
    sizes = 1e-13 * np.abs(answer) + 1e-14 * np.abs(answer).max(initial=0.0)
    return np.asarray(sizes * rng.standard_normal(answer.shape))


def _format_indices(indices: Integers) -> str:
    """Return the indices of a batch as text or, if there are many, their number."""
    count = len(indices)
    return f"components {indices.tolist()}" if count <= 3 else f"{count} components"
