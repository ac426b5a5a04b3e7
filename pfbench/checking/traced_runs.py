"""Step-by-step runs of an algorithm, and detection of evaluations that its oracles do not count."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Self

import numpy as np

from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import BudgetExhausted, StalePoint
from pfbench.base.protocols import Problem
from pfbench.base.state import Point, State
from pfbench.checking.findings import CheckFailed, CheckSkipped, TimeLimit, format_location
from pfbench.oracles import Ledger, bundle
from pfbench.oracles.bundle import ORACLES, Oracles
from pfbench.points import infer_format
from pfbench.problems import FiniteSum
from pfbench.problems.base import BackendWithStatefulLmo
from pfbench.problems.catalogue import problem
from pfbench.runs.loop.steps import Steps
from pfbench.sets.body import ConvexBody
from pfbench.sets.penalties import NormPenalty
from pfbench.verification.instruments.overrides import OverriddenOracles

MAX_STATES = 100
"""Maximum number of recorded iterations, at which a run of an endless method is stopped."""

_SECONDS, _FEWEST = 0.3, 3
"""Seconds and iterations after which the first run is stopped: once both are exceeded."""

CALLS = Budget(sfo=10**6, lo=10**4, po=10**4, fv=10**6, hvp=10**6)
"""Oracle calls after which a recorded run is stopped."""


def record_private_reads(
    problem: Any, algorithm: Any, *, seed: int = 0, budget: Budget = CALLS, **options: Any
) -> Steps:
    """Return an iterator over a run's steps, with oracles that record private attribute reads.

    Other options are those of `Steps`.
    """
    streams = {"oracles": np.random.default_rng(0), "algorithm": np.random.default_rng(seed)}
    return Steps(
        problem,
        algorithm,
        ledger=Ledger(budget),
        bundle=PrivateAccessRecordingOracles,
        streams=streams,
        **options,
    )


@dataclass(frozen=True)
class RunRecord:
    """Record of one run: the states, and the oracle counts after each state.

    Attributes
    ----------
    states
        Copies of the yielded states.
    counts
        The counts after each state.
    total
        The counts at the end.
    exhausted_budget
        Whether a call was refused because the budget was spent.
    """

    states: tuple[State, ...]
    counts: tuple[Counts, ...]
    total: Counts
    exhausted_budget: bool

    def has_same_iterates(self, other: "RunRecord", limit: int | None = None) -> bool:
        """Return whether the first `limit` iterates of two runs are identical bit for bit.

        By default all iterates are compared.
        """
        states, its = self.states[:limit], other.states[:limit]
        return len(states) == len(its) and all(
            points_identical(a.x, b.x) for a, b in zip(states, its, strict=True)
        )


@dataclass
class RunRecords:
    """Several recorded runs of one algorithm on one problem.

    Attributes
    ----------
    algorithm, problem
        The algorithm and the problem.
    max_states
        Maximum number of recorded iterations: as many as the first run if time stopped it.
    accessed_privates
        Private attributes of the oracles that the last run read, each with the line that read it.
    """

    algorithm: Any
    problem: Any

    def __post_init__(self) -> None:
        self.accessed_privates: dict[str, str] = {}
        self.max_states = MAX_STATES
        self._seed_zero_run: RunRecord | None = None

    def record_run(
        self,
        *,
        seed: int = 0,
        budget: Budget = CALLS,
        wrap_backend: Callable[[Any], Any] = lambda backend: backend,
        algorithm: Any = None,
    ) -> RunRecord:
        """Run the algorithm, and return the record of the run.

        If time stopped the first run, the run has at most as many iterations.
        """
        run = record_private_reads(
            self.problem, algorithm or self.algorithm, seed=seed, budget=budget, wrap=wrap_backend
        )
        ledger, self.accessed_privates = run.ledger, run.ask.accessed_privates
        states, counts, patience = [], [], TimeLimit(_SECONDS)
        try:
            for state in islice(run.states, self.max_states):
                if not isinstance(state, State):
                    raise CheckFailed("run must yield States", f"a {type(state).__name__}")
                states.append(_copy_state(state))
                counts.append(ledger.counts())
                if len(states) == 1:  # in which loops are compiled
                    patience = TimeLimit(_SECONDS)
                if self._seed_zero_run is None and patience.is_over and len(states) >= _FEWEST:
                    self.max_states = len(states)
                    break
        except BudgetExhausted:
            pass
        return RunRecord(tuple(states), tuple(counts), ledger.counts(), bool(ledger.end_reason))

    def record_equally_long_run(self, other: "RunRecords") -> RunRecord:
        """Record a run with seed 0 that has as many iterations as the first run of `other`."""
        self._seed_zero_run, self.max_states = other.seed_zero_run, other.max_states
        return self.record_run()

    @property
    def seed_zero_run(self) -> RunRecord:
        """Record of the run with seed 0."""
        if self._seed_zero_run is None:
            self._seed_zero_run = self.record_run()
        return self._seed_zero_run


def _copy_state(state: State) -> State:
    parts: Any = state
    return State(*(part.copy() if hasattr(part, "copy") else part for part in parts))


def point_entries(x: Point) -> Any:
    """Return all entries of an array, or the observed entries of a factored matrix.

    They correspond to the entries of the gradient.
    """
    return x if isinstance(x, np.ndarray) else x.values()


def points_identical(x: Point, y: Point) -> bool:
    """Return whether two points are identical bit for bit."""
    return np.array_equal(point_entries(x), point_entries(y))


_ORACLES = frozenset({*ORACLES, "component", "minimum", "project"})


def _codes(*classes: type) -> frozenset[CodeType]:
    functions = (var for cls in classes for var in vars(cls).values())
    return frozenset(
        function.__code__ for function in functions if isinstance(function, FunctionType)
    )


_BUNDLE = _codes(Oracles, bundle.CountedHessian, bundle.CountedSagaTable)


class UncountedCallDetector:
    """Context manager that records calls of problem or set methods that no counter counts.

    Attributes
    ----------
    uncounted_calls
        Number of calls, by oracle and calling line.
    """

    def __init__(self, problem: Problem) -> None:
        h = problem.penalty
        self._kinds = (
            FiniteSum,
            ConvexBody,
            NormPenalty,
            BackendWithStatefulLmo,
            type(problem.set),
            type(h or problem),
        )
        self._depth = 0
        self.uncounted_calls: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> Self:
        self._previous_tracer: Callable[..., Any] | None = sys.getprofile()
        self._thread_tracers = threading.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        point: TracebackType | None,
    ) -> None:
        sys.setprofile(self._previous_tracer)
        threading.setprofile(self._thread_tracers)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code in _BUNDLE:
            self._depth += (event == "call") - (event == "return")
            return
        caller = frame.f_back
        if event != "call" or self._depth or caller is None:
            return
        if called := self._name_of_called_oracle(frame, caller):
            self.uncounted_calls[called, _line_of_frame(caller)] += 1

    def _name_of_called_oracle(self, frame: FrameType, caller: FrameType) -> str:
        """Return the name of the called oracle or compiled loop; "" for any other function."""
        code = frame.f_code
        if code.co_name in _ORACLES and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if isinstance(owner, self._kinds):
                return f"{type(owner).__name__}.{code.co_name}"
        module, asking = (str(item.f_globals.get("__name__", "")) for item in (frame, caller))
        if module.startswith("pfbench.kernels") and not asking.startswith("pfbench."):
            return f"a loop of {module}"
        return ""


def _line_of_frame(frame: FrameType) -> str:
    """Return the file, line and function of a frame as text."""
    return format_location(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class PrivateAccessRecordingOracles(Oracles):
    """Oracles that record which of their private attributes the tested code reads.

    Attributes
    ----------
    accessed_privates
        The first line that read each attribute, by attribute.
    """

    __slots__ = ("accessed_privates",)

    accessed_privates: dict[str, str]

    def __init__(self, *arguments: Any) -> None:
        self.accessed_privates = {}
        super().__init__(*arguments)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            caller = sys._getframe(1)
            if caller.f_code not in _BUNDLE:
                line = _line_of_frame(caller)
                object.__getattribute__(self, "accessed_privates").setdefault(name, line)
        return super().__getattribute__(name)


# So that an error of Python names the class that a method knows.
PrivateAccessRecordingOracles.__name__ = Oracles.__name__


def guard_oracles(
    problem: Problem, backend: Any, ledger: Ledger | None = None
) -> PrivateAccessRecordingOracles:
    """Wrap a backend in counting oracles that record reads of their private attributes."""
    form = infer_format(problem.start(), problem.name)
    return PrivateAccessRecordingOracles(backend, ledger or Ledger(), problem.set.diameter, form)


def format_counts(counts: Counts) -> str:
    """Return the nonzero oracle counts as text, e.g. "4 FO, 92 SFO"."""
    texts = (f"{number} {name.upper()}" for name, number in counts.as_dict().items() if number)
    return ", ".join(texts) or "no calls"


def refuse_uncounted_calls(
    detector: UncountedCallDetector,
    accessed_privates: Mapping[str, str],
    tallied_counts: Counts,
    ledger_counts: Counts,
) -> None:
    """Raise `CheckFailed` if some evaluations bypassed the counting oracles.

    Parameters
    ----------
    detector, accessed_privates
        The recorded calls and attributes.
    tallied_counts, ledger_counts
        Oracle calls that were actually made, and those that the ledger counted.
    """
    if detector.uncounted_calls:
        (requested, line), times = next(iter(detector.uncounted_calls.items()))
        raise CheckFailed(
            "every oracle call must go through `ask`, which counts it",
            f"the code calls {requested} directly, {times} times: use `ask` instead",
            {},
            (line,),
        )
    if accessed_privates:
        name, line = next(iter(accessed_privates.items()))
        raise CheckFailed(
            "of `ask`, the code may use only n, D and the oracles, and no private attribute",
            f"the code reads ask.{name}",
            {},
            (line,),
        )
    if ledger_counts != tallied_counts:
        raise CheckFailed(
            f"the ledger must show the oracle calls made: {format_counts(tallied_counts)}",
            format_counts(ledger_counts),
        )


class NegatedBackend(OverriddenOracles):
    """Oracles that return values and gradients of -f, to test whether a run depends on them."""

    def __getattr__(self, name: str) -> Any:
        result = super().__getattr__(name)
        if name in ("gradient", "batch", "difference", "value"):
            return lambda *value: -result(*value)
        return (lambda x: _NegatedObject(result(x))) if name in ("hessian", "table") else result


class _NegatedObject(OverriddenOracles):
    """Component Hessians, or a table of gradients, of -f in place of f."""

    def __getattr__(self, name: str) -> Any:
        result = super().__getattr__(name)
        return -result if isinstance(result, np.ndarray) else lambda *value: -result(*value)


@contextmanager
def fail_on_expired_point(verb: str) -> Iterator[None]:
    """Context manager that fails a check if its block reads a point that is no longer valid.

    It raises `CheckFailed` for `StalePoint`, and `CheckSkipped` for any other exception.
    """
    try:
        yield
    except StalePoint as error:
        raise CheckFailed(
            "code must call keep(x) on each point that it still reads after the next step",
            "the code reads a factored matrix that is no longer valid",
        ) from error
    except Exception as error:
        raise CheckSkipped(
            f"the checked code cannot {verb} factored matrices ({type(error).__name__})"
        ) from error


@cache
def make_expiring_points_problem() -> FiniteSum:
    """Return a small problem on which only the two newest points of a run can be read."""
    return problem("robust-matrix-recovery", rows=6, columns=5, rank=1, density=0.5)
