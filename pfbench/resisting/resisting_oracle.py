"""Resisting oracle, which chooses its function while it answers (shen2019 section 7.1).

    f(x) = |x|^2/10 + H_T(V'x) on the ball of radius R = 230 sqrt T, V = [v_1 .. v_T] orthonormal

The oracle answers a gradient query with the directions drawn so far. If the answer needs another
direction, the oracle draws it then. The new direction is orthogonal to all earlier directions and
to all vectors exchanged so far, including LO outputs and yielded points. So each hidden coordinate
is 0 at each of these points, and no answer depends on a direction that is not drawn yet. The
chain's gradient reaches at most one coordinate beyond the last nonzero one. So each gradient query
at a new point reveals at most one direction. For methods whose points are determined by LO outputs
(14), each LO output reveals one: until the next one, all points lie in a span to which every later
direction is orthogonal.

The basis takes at most d^2 numbers of 8 bytes, where d = 2T + 1. A transcript takes three
vectors of length d for each iteration in addition.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, norm
from pfbench.base.checks import check_integer
from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import DivergedError, InputError
from pfbench.base.protocols import Algorithm
from pfbench.base.sample import Indices
from pfbench.base.state import State
from pfbench.base.user_code import blame_user_code
from pfbench.kernels import chain
from pfbench.kernels.libraries import single_blas_thread
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.base import index_weights
from pfbench.problems.zero_chain import ZeroChain, chain_smoothness
from pfbench.resisting.span import SPAN_TOLERANCE, QuerySpan, ball_gap
from pfbench.resisting.transcript import Transcript, TranscriptRecorder, fingerprint
from pfbench.runs.loop.steps import Steps

_REMEMBERED = 8
"""Number of recent points whose coordinates are cached: a yielded point is often queried next."""


def make_resisting_chain(
    T: int, d: int | None = None, *, L: float | None = None, mu: float = 1.0
) -> ZeroChain:
    """Return a zero chain whose directions a resisting oracle will choose during the run.

    Parameters
    ----------
    T
        The horizon.
    d
        The dimension, by default 2T + 1.
    L, mu
        Parameters of the rescaled fbar(x) = (L mu^2/l) f(x/mu); by default fbar = f.

    Raises
    ------
    InputError
        If d <= 2T: one new direction and one new point for each query do not fit.
    """
    check_integer("horizon", T, minimum=1)
    if d is not None and check_integer("dimension", d, minimum=1) <= 2 * T:
        raise InputError(
            f"the dimension {d} is too small for {T} queries: it must be above 2T = {2 * T}, as "
            "each query may use a new point, and each answer a new orthogonal direction."
        )
    return ZeroChain(T, 2 * T + 1 if d is None else d, smoothness=L, mu=mu)


class CountingBackend(ABC):
    """Base class of backends of a single function f (n = 1) that count the calls they receive."""

    n = 1
    unconstrained = False

    def __init__(self) -> None:
        self._tally = dict.fromkeys(Counts().as_dict(), 0)

    @abstractmethod
    def _gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,), without counting the call."""

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,), and count one query."""
        self.count(fo=1, sfo=1)
        return self._gradient(x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the gradient at x of the only component f_1 = f, shape (d,)."""
        index_weights(sample, self.n)
        self.count(sfo=len(sample))
        return self._gradient(x)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return grad f(x) - grad f(y), shape (d,), which counts as two queries."""
        index_weights(sample, self.n)
        self.count(sfo=2 * len(sample))
        return self._gradient(x) - self._gradient(y)

    def counts(self) -> Counts:
        """Return the counts of all calls so far."""
        return Counts(**self._tally)

    def count(self, **amounts: int) -> None:
        """Add the given numbers of calls, by kind, to the counts."""
        for name, amount in amounts.items():
            self._tally[name] += amount


class ResistingOracle(CountingBackend):
    """Oracles of a zero chain for one run, which choose its directions as late as possible.

    Parameters
    ----------
    problem
        Defines T, d, L and mu; its own directions are not used.
    rng
        Generator of the directions.
    record
        Whether to keep a transcript.
    """

    def __init__(self, problem: ZeroChain, rng: np.random.Generator, *, record: bool) -> None:
        super().__init__()
        self.problem, self.set, self._rng = problem, problem.set, rng
        self.T, self.d, self.mu = problem.horizon, problem.columns, problem.mu
        self._height = problem.L * self.mu**2 / chain_smoothness()
        self._exchange = QuerySpan(self.T, self.d)
        self._recorder = TranscriptRecorder() if record else None
        self._hash = hashlib.sha256()
        self._coordinates: dict[bytes, Floats] = {}
        self._query: tuple[Floats, Floats] | None = None
        self._vertex: tuple[Floats, Floats, float] | None = None

    # --- the oracles --------------------------------------------------------------------------

    def _gradient(self, x: Floats) -> Floats:
        """Return the gradient at x; first draw a new direction if the answer needs one."""
        x = self._vector(x)
        y, slopes, exchange = self._record_chain_coordinates(x), np.empty(self.T), self._exchange
        chain.write_chain_gradient(y, slopes)
        if exchange.direction_draw_count < self.T and slopes[exchange.direction_draw_count] != 0.0:
            exchange.draw_next_direction(self._rng)
        weights = np.zeros(exchange.basis.size)
        weights[exchange.positions] = slopes[: exchange.direction_draw_count]
        answer = (0.2 / self.mu) * x + weights @ exchange.basis.rows
        answer *= self._height / self.mu
        exchange.note_gradient_norm(answer)
        self._query = x.copy(), y
        self._record_answer("gradient", x, answer)
        self._record("gradient", point=x, answer=answer)
        return answer

    def value(self, x: Floats) -> float:
        """Return f(x); no new direction of the chain is drawn."""
        self.count(fv=1)
        x = self._vector(x)
        weight = self._weight_towards_last_vertex(x)
        if weight is None:
            y, location = self._record_chain_coordinates(x), {"point": x}
        else:
            assert self._query is not None
            assert self._vertex is not None
            y = (1.0 - weight) * self._query[1] + weight * self._vertex[1]
            location = {"point": self._query[0], "toward": self._vertex[0]}
        scaled = x / self.mu
        answer = self._height * (0.1 * float(scaled @ scaled) + chain.chain_value(y))
        self._record_answer("value", x, np.array(answer))
        self._record("value", number=answer, weight=weight or 0.0, **location)
        return answer

    def lo(self, g: Floats) -> Floats:
        """Return the point u of the ball that minimises <g, u>, shape (d,)."""
        self.count(lo=1)
        g = self._vector(g)
        u = self.set.lo(g)
        coordinates, stray = self._exchange.split_and_add_vertex(g, u)
        self._vertex = (
            u.copy(),
            self._exchange.coordinates_along_directions(coordinates) / self.mu,
            stray,
        )
        self._record_answer("lo", g, u)
        self._record("lo", answer=u)
        return u

    def prox(self, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the projection of x - lam g onto the ball, shape (d,)."""
        self.count(po=1)
        difference = self._vector(x) - lam * self._vector(g)
        answer = self.set.project(difference)
        self._record_answer("prox", difference, answer)
        self._record("prox", answer=answer)
        return answer

    def note(self, state: State) -> None:
        """Record a yielded state; directions drawn later will be orthogonal to its points."""
        for x in (state.x, state.at, state.output):
            if x is not None:
                x = self._vector(x)
                self._record_chain_coordinates(x)
                self._record_answer("yield", x)
                self._record("yield", point=x)

    # --- what the adversary knows -------------------------------------------------------------

    def gap(self, x: Floats) -> float:
        """Return the Frank-Wolfe gap at a point that the algorithm queried or yielded.

        Directions that are not drawn yet are orthogonal to such a point.
        """
        y, slopes = self._record_chain_coordinates(x), np.empty(self.T)
        chain.write_chain_gradient(y, slopes)
        square, radius = float(x @ x) / self.mu**2, self.set.radius / self.mu
        return self._height * ball_gap(square, y, slopes, radius)

    def exchange_digest(self) -> str:
        """Return a hash of all queries, answers and yielded points, bit by bit and in order."""
        return self._hash.hexdigest()

    def finish(self) -> tuple[ZeroChain, Transcript | None]:
        """Draw the remaining directions; return the function, now fixed, and the transcript."""
        while self._exchange.direction_draw_count < self.T:
            self._exchange.draw_next_direction(self._rng)
        V = self._exchange.basis.rows[self._exchange.positions]
        transcript = None if self._recorder is None else self._recorder.finish(V)
        return replace(self.problem, directions=V.T), transcript

    # --- inside -------------------------------------------------------------------------------

    def _record_chain_coordinates(self, x: Floats) -> Floats:
        """Add x to the span of queries; return <v, x>/scale for each direction v of the chain."""
        key = fingerprint(x)
        y = self._coordinates.get(key)
        if y is None:
            if len(self._coordinates) == _REMEMBERED:
                del self._coordinates[next(iter(self._coordinates))]
            y = (
                self._exchange.coordinates_along_directions(self._exchange.note_coordinates(x))
                / self.mu
            )
            self._coordinates[key] = y
        return y

    def _weight_towards_last_vertex(self, x: Floats) -> float | None:
        """Return w such that x = (1 - w) q + w u, with the last query q and last LO output u.

        The equation holds up to rounding, and q is the last query of a gradient. The result is None
        if there is no such w.
        """
        if self._query is None or self._vertex is None:
            return None
        (q, _), (u, _, stray) = self._query, self._vertex
        path = u - q
        square = float(path @ path)
        if square == 0.0:
            return None
        w = float((x - q) @ path) / square
        error = norm(x - ((1.0 - w) * q + w * u))
        return w if error + abs(w) * stray <= SPAN_TOLERANCE * norm(x) else None

    def _vector(self, x: Any) -> Floats:
        if not isinstance(x, np.ndarray) or x.shape != (self.d,) or x.dtype != np.float64:
            shape = x.shape if isinstance(x, np.ndarray) else type(x).__name__
            raise InputError(f"the oracle takes float64 arrays of shape ({self.d},), not {shape}.")
        if not math.isfinite(float(x @ x)):
            raise DivergedError("the algorithm queried a vector with NaN or infinite entries")
        return x

    def _record_answer(self, kind: str, *vectors: Floats) -> None:
        self._hash.update(kind.encode())
        for vector in vectors:
            self._hash.update(vector.tobytes())

    def _record(
        self, kind: str, *, number: float = 0.0, weight: float = 0.0, **vectors: Floats
    ) -> None:
        """Add an event to the transcript, unless the oracle records none."""
        if self._recorder is not None:
            rows = {k: self._recorder.find_or_add_row(vector) for k, vector in vectors.items()}
            count = self._exchange.direction_draw_count
            self._recorder.add(kind, number=number, weight=weight, drawn=count, **rows)


def run_against_oracle(
    algorithm: Algorithm,
    backend: Any,
    rng: np.random.Generator,
    *,
    budget: Budget | None = None,
    watch: Callable[[Oracles, State], bool] | None = None,
) -> Counts:
    """Run an algorithm from x = 0 against a resisting oracle or its replay; return the counts.

    Return the counts of the run.

    Parameters
    ----------
    algorithm
        Algorithm with its parameters.
    backend
        A `ResistingOracle`, or a replay of one.
    rng
        The algorithm's random stream.
    budget
        Maximum numbers of calls; `BudgetExhausted` passes through.
    watch
        Called with each state; the run ends once it returns True.

    Returns
    -------
    Counts
        The counts of the ledger.

    Raises
    ------
    InputError
        If the algorithm raises an exception of its own.
    """
    problem: Any = SimpleNamespace(
        name="", set=backend.set, start=lambda: np.zeros(backend.d), open=lambda rng: backend
    )
    streams = {"algorithm": rng}
    run = Steps(problem, algorithm, ledger=Ledger(budget), bundle=Oracles, streams=streams)
    backend.note(State(run.start))
    with single_blas_thread():
        while True:
            with blame_user_code(algorithm.name, ": fix it first"):
                state = next(run.states, run)  # which no algorithm yields
            if state is run:
                return run.ledger.counts()
            if not isinstance(state, State):
                raise InputError(
                    f"{algorithm.name} yields a {type(state).__name__}: let it yield a State."
                )
            backend.note(state)
            if watch is not None and watch(run.ask, state):
                return run.ledger.counts()
