"""Recording of a run: copies of its oracle queries and states."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.counts import COUNTED
from pfbench.base.protocols import Problem
from pfbench.base.sample import Sample
from pfbench.base.state import State, describe_wrong_state
from pfbench.points import FactoredMatrix, Pattern, RankOne, SparseOperator
from pfbench.runs.loop.steps import ObservedBackend, steps
from pfbench.verification.instruments.oracle_tally import CALL_COSTS, sample_of_call
from pfbench.verification.subject import ClaimBroken, MethodFailed

MAX_QUERIES = 200_000
"""Maximum number of minimisations and values in one step; a longer step counts as endless."""

COMPONENT_KINDS = frozenset({"batch", "difference", "table.difference", "table.replace"})
"""Kinds of queries of component gradients."""


@dataclass(slots=True, eq=False)
class RecordedQuery:
    """One oracle query: its kind, arguments and answer.

    Attributes
    ----------
    kind
        The verb, or ``verb.part`` for a query of the object that the verb returned.
    points
        The points, as dense arrays.
    indices
        The components, repeated as drawn; None if the query has no components.
    base
        The point of the Hessians; None for other queries.
    direction, length
        The direction and length of a `prox` or `local_lo`; the direction of an `lo`.
    answer
        The answer itself, not a copy.
    step
        Number of states yielded before the query.
    number
        Its position in the run; None for a query of a reference.
    """

    kind: str
    points: tuple[Floats, ...] = ()
    indices: Integers | None = None
    base: Floats | None = None
    direction: Floats | None = None
    length: float = 0.0
    answer: Any = None
    step: int = 0
    number: int | None = None


def copy_dense(x: Any, pattern: Pattern | None = None) -> Any:
    """Return a copy of a point, vertex or gradient as a dense array.

    A gradient with respect to observed matrix entries becomes a matrix that is 0 elsewhere.
    """
    if isinstance(x, np.ndarray):
        observed = pattern is not None and x.shape == (pattern.n,)
        return SparseOperator(pattern, x).dense() if observed and pattern else np.array(x)
    if isinstance(x, FactoredMatrix | RankOne):
        return np.array(x.matrix())
    return np.array(x.dense()) if hasattr(x, "dense") else x


def expand_sample(sample: Any) -> Integers:
    """Return the drawn indices of a sample as a new array, each as often as it was drawn."""
    if isinstance(sample, Sample):
        return np.repeat(sample.indices, sample.counts)
    return np.array(sample, dtype=np.int64)


@dataclass(eq=False)
class Transcript:
    """Record of the oracle queries and states of one run.

    Attributes
    ----------
    problem
        The problem.
    seed
        The seed of the run.
    queries, states
        The queries and states in order; points, gradients and outputs of states are dense copies.
    output_rule
        The declared rule of the output.
    max_point_entry, max_gradient_entry
        The largest modulus of an entry of an iterate, and of a gradient.
    error
        The exception that ended the run; None if there was none.
    is_complete
        Whether the run ended, instead of being stopped after `max_steps`.
    """

    problem: Problem
    seed: int = 0
    output_rule: str = "last"
    queries: list[RecordedQuery] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    max_point_entry: float = 0.0
    max_gradient_entry: float = 0.0
    error: BaseException | None = None
    is_complete: bool = True

    def __post_init__(self) -> None:
        self.pattern: Pattern | None = getattr(self.problem.start(), "pattern", None)
        self.start: Floats = copy_dense(self.problem.start())
        self.max_point_entry = max(float(np.abs(self.start).max()), 1e-300)
        self.charged = [0] * len(COUNTED)
        self._inner = 0

    def add_query(self, verb: str, arguments: tuple[Any, ...], answer: Any) -> None:
        """Append an oracle query to the record."""
        self._inner += verb in ("lo", "value")
        if self._inner > MAX_QUERIES:
            raise MethodFailed(f"a step of the method did not end in {MAX_QUERIES} queries")
        sample = sample_of_call(verb, arguments)
        base, indices, direction, length = None, None, None, 0.0
        if verb.startswith("hessian."):
            base, *arguments = map(self._copy_dense, arguments)  # type: ignore[assignment]
        elif verb.startswith("table."):
            arguments = arguments[1:]
        if sample is not None:
            indices = expand_sample(sample)
            arguments = arguments[1:]
        if verb == "lo":
            direction, arguments = self._copy_dense(arguments[0]), ()
        elif verb in ("prox", "local_lo"):
            direction, length = self._copy_dense(arguments[1]), float(arguments[2])
            arguments = arguments[:1]
        elif verb in ("gradient", "batch"):
            self.max_gradient_entry = max(self.max_gradient_entry, float(np.abs(answer).max()))
        points = tuple(self._copy_dense(x) for x in arguments)
        size = 0 if indices is None else len(indices)
        for kind, amount in CALL_COSTS[verb](self.problem.n, size):
            self.charged[kind] += amount
        step, number = len(self.states), len(self.queries)
        self.queries.append(
            RecordedQuery(verb, points, indices, base, direction, length, answer, step, number)
        )

    def add_state(self, state: State) -> None:
        """Append a copy of a state to the record."""
        self._inner = 0
        point, estimate, output = (
            None if part is None else self._copy_dense(part)
            for part in (state.at, state.estimate, state.output)
        )
        coin = None if state.coin is None else bool(state.coin)
        copied = State(self._copy_dense(state.x), point, estimate, output, coin)
        self.max_point_entry = max(self.max_point_entry, float(np.abs(copied.x).max()))
        if copied.estimate is not None:
            self.max_gradient_entry = max(
                self.max_gradient_entry, float(np.abs(copied.estimate).max())
            )
        self.states.append(copied)

    @property
    def distinct_components(self) -> int:
        """Number of distinct components that were queried."""
        if any(query.kind in ("gradient", "table") for query in self.queries):
            return self.problem.n or 0
        indices = [query.indices for query in self.queries if query.indices is not None]
        return len(np.unique(np.concatenate(indices))) if indices else 0

    def _copy_dense(self, x: Any) -> Any:
        return copy_dense(x, self.pattern)

    def estimate_point(self, step: int) -> Floats:
        """Return the point at which a step's gradient estimate was formed.

        It is the state's `at`, or else the previous iterate.
        """
        point, before = self.states[step].at, self.states[step - 1].x if step else self.start
        return np.asarray(before if point is None else point)


def record_run(
    problem: Problem, algorithm: Any, *, seed: int = 0, max_steps: int | None = None
) -> Transcript:
    """Run a method and return the record of its queries and states.

    An exception that ends the run is stored in the record.

    Parameters
    ----------
    problem, algorithm, seed
        As for `pfbench.runs.loop.steps.steps`.
    max_steps
        Number of states after which the run is stopped.
    """
    transcript = Transcript(problem, seed, getattr(algorithm, "output", "last"))
    try:
        observe = partial(ObservedBackend, listener=transcript.add_query)
        run = steps(problem, algorithm, seed=seed, wrap=observe)
        for state in run.states:
            _check_counts(run.ledger.counts_array, transcript.charged)
            if not isinstance(state, State):
                raise TypeError(describe_wrong_state(state))
            if not run.form.is_point(state.x):
                raise TypeError(
                    f"the method yields {run.form.describe(state.x)}, not {run.form.points_text}"
                )
            transcript.add_state(state)
            if len(transcript.states) == max_steps:
                transcript.is_complete = False
                return transcript
        _check_counts(run.ledger.counts_array, transcript.charged)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        transcript.error = error
    return transcript


def _check_counts(counted: list[int], recorded: list[int]) -> None:
    """Raise `ClaimBroken` if the counted and the recorded calls of an oracle kind differ."""
    for kind, number, true in zip(COUNTED, counted, recorded, strict=True):
        if number != true:
            raise ClaimBroken(
                f"the method made {true} {kind.upper()} calls, but the ledger counts {number}"
            )
