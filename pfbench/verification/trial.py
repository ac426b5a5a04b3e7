"""Argument of a claim's check, with methods that run the tested algorithm."""

import itertools
import math
import shlex
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any, Self, TypeVar

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.constants import Constants
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError, format_error_with_notes
from pfbench.base.names import find_entry
from pfbench.base.protocols import Algorithm, Measure, Problem
from pfbench.base.state import Point, State, describe_wrong_state
from pfbench.base.status import Status
from pfbench.oracles import Oracles
from pfbench.points import is_finite, keep
from pfbench.runs.loop.run import Run, Stop
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import Steps, oracle_class
from pfbench.runs.loop.trace import OUTSIDE_REASON
from pfbench.verification.claim import Claim
from pfbench.verification.instruments.enumerated_random import EnumerableGenerator, NotEnumerable
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.instruments.oracle_tally import ComponentTally, TalliedProblem
from pfbench.verification.statistics import Decision, decide_mean_sequentially, decide_uniform
from pfbench.verification.step_record import CoveredSizes, StepRecord, StepRecorder
from pfbench.verification.subject import (
    ClaimBroken,
    MethodFailed,
    NotTestable,
    Subject,
    SubjectLacksParameter,
    UnsupportedPoints,
    instantiate_with_accepted_parameters,
    make_scheduled,
    select_accepted,
)

EFFORTS = ("quick", "full")

Choice = TypeVar("Choice")

_FAILED = (Status.ERROR, Status.DIVERGED, Status.KILLED, Status.REFUSED)


@dataclass(frozen=True)
class Trial:
    """Context of one check of a claim: the tested algorithm, the effort and the seeds.

    Attributes
    ----------
    claim
        The claim.
    subject
        Algorithm or changed oracles to test in place of the claim's.
    effort
        "quick" or "full".
    seed
        Seed of the whole verification; every stream of a check derives from it.
    case_seed
        Seed of the sizes and starts of claims that draw them; 0 gives the usual ones.
    coverage
        Largest sizes of the runs so far.
    horizon_multiple
        Multiple of the horizon that the claim states; see `statements.horizons`.
    deadline
        Time on the clock `time.process_time` after which no run makes another step.
    """

    claim: Claim
    subject: Subject = field(default_factory=Subject)
    effort: str = "quick"
    seed: int = 0
    case_seed: int = 0
    coverage: CoveredSizes = field(default_factory=CoveredSizes, compare=False, repr=False)
    horizon_multiple: int = 1
    deadline: float = math.inf

    @property
    def command(self) -> str:
        """Shell command that repeats this check with the same seeds."""
        label = self.subject.label
        options = f" --algorithm {label}" if label and ":" in label else ""
        options += " --full" if self.effort == "full" else ""
        seeds = f"--seed {self.seed} --case-seed {self.case_seed}"
        return f"pfbench verify {shlex.quote(self.claim.name)}{options} {seeds}"

    def choose_by_effort(self, quick: Choice, full: Choice) -> Choice:
        """Return `quick` for quick effort, and `full` for full effort."""
        return quick if self.effort == "quick" else full

    def seeds(self, count: int, purpose: str = "") -> list[int]:
        """Return `count` seeds for runs, which depend on the claim, `purpose` and `self.seed`."""
        entropy = (self.seed, zlib.crc32(f"{self.claim.name} {purpose}".encode()))
        return [int(word) for word in np.random.SeedSequence(entropy).generate_state(count)]

    def rng(self, purpose: str) -> np.random.Generator:
        """Return a random generator that depends on the claim, `purpose` and `self.seed`."""
        return np.random.default_rng(self.seeds(4, purpose))

    def share_time(self, parts: int) -> Self:
        """Return the trial with a deadline after one of equal parts of the remaining time."""
        now = process_time()
        return replace(self, deadline=now + (self.deadline - now) / parts)

    def check_deadline(self, _: object = None) -> None:
        """Raise `NotTestable` after the deadline."""
        if self.deadline < math.inf and process_time() > self.deadline:
            raise NotTestable("the runs take longer than the time limit of this check")

    @property
    def algorithm(self) -> Any:
        """Class or object of the algorithm under test."""
        tested = self.subject.algorithm_under_test()
        return self.original_algorithm if tested is None else tested

    @property
    def original_algorithm(self) -> Any:
        """Algorithm that the claim is about, a class or an object."""
        return claim_method(self.claim)

    def make(self, **requested: Any) -> Algorithm:
        """Instantiate the algorithm under test with the requested parameters that it accepts.

        It must accept the parameters that the claim's own algorithm requires. It must also accept
        those whose values would select another method (`kinds`).

        Raises
        ------
        SubjectLacksParameter
            If the algorithm does not accept one of these, or refuses the values.
        """
        own = self.original_algorithm if self.claim.algorithm else None
        for name in getattr(own, "kinds", ()):
            usual = getattr(own, name)
            if requested.get(name, usual) != usual and not select_accepted(self.algorithm, (name,)):
                raise SubjectLacksParameter(
                    f"the method has no parameter {name}, which the claim sets to {requested[name]}"
                )
        needed: Any = getattr(own, "list_required_parameters", tuple)()
        return instantiate_with_accepted_parameters(self.algorithm, needed, **requested)

    def make_scheduled(self, epsilon: float, constants: Constants, **overrides: Any) -> Algorithm:
        """Instantiate the algorithm under test with its schedule for accuracy epsilon."""
        return make_scheduled(self.algorithm, epsilon, constants, **overrides)

    def open_oracles(self, problem: Problem) -> Any:
        """Return the oracles of a problem, or the modified oracles of the subject under test."""
        return self.subject.problem_under_test(problem).open(np.random.default_rng(0))

    def decide_if_output_is_uniform(
        self, problem: Problem | None = None, **overrides: Any
    ) -> Decision:
        """Decide whether the output is drawn uniformly among all iterates of a run but the last.

        Each seed gives a run of T = 8 iterations, and the index of the iterate that it returns. A
        method that yields no `at` can return only one of x_1 .. x_T, so uniformity among these is
        tested.

        Parameters
        ----------
        problem
            Problem on which the first coordinate of the iterates increases, or decreases, at every
            iteration; by default a forced path.
        overrides
            Further parameters that the method needs.
        """
        path = ForcedPath(4, 2, length=10.0) if problem is None else problem
        # Whatever else it lacks, its output can be looked at.
        small = {"batch": 2, "period": 2, "iterations": 8, "step": 0.1}
        algorithm = instantiate_with_accepted_parameters(self.algorithm, **{**overrides, **small})
        sample: list[int] = []
        T = 1
        for seed in self.seeds(self.choose_by_effort(100, 400), "output"):
            run = self.run(path, algorithm, seed=seed, measures=_PATH_FRACTIONS)
            columns = [run.columns.index(name) for name in _PATH_FRACTIONS]
            way, point = ([row[column] for row in run.rows] for column in columns)
            steps = np.diff(way)
            if not (len(way) > 1 and abs(np.sign(steps).sum()) == len(steps)):
                return Decision("inconclusive", "Its iterates cannot be distinguished.", {}, None)
            T = max(T, len(steps))
            sample.append(_find_index_or_minus_one(float(run.x[0]), way) - (not any(point)))
        return decide_uniform(sample, T)

    def run(
        self,
        problem: Problem,
        algorithm: Algorithm,
        *,
        seed: int = 0,
        budget: Budget | None = None,
        stop: Stop | None = None,
        measures: str | Sequence[str] | Mapping[str, Measure] = (),
        frequency: int = 1,
    ) -> Run:
        """Run an algorithm to its end as `solve` does, and return the run.

        Raises
        ------
        ClaimBroken
            If the run diverged, its output is outside the set, or the counts differ from the
            queries.
        MethodFailed
            If the run raised, was killed or refused, or queried an undeclared oracle.
        UnsupportedPoints
            If the run raised on a problem whose points are not arrays.
        NotTestable
            After the deadline.
        """
        witnessed = TalliedProblem(self.subject.problem_under_test(problem))
        limits: Any = {"budget": budget, "stop": stop, "measures": measures, "every": frequency}
        run = solve(witnessed, algorithm, seed=seed, watch=self.check_deadline, **limits)
        self.coverage.add_run(problem, run.iterations, witnessed.tally)
        if run.status in _FAILED:
            words = f"the run on {run.problem} ended as {run.status}: {run.stop_reason}"
            if OUTSIDE_REASON in run.stop_reason:
                raise _error_of_outside_point(words, algorithm)
            if run.status == Status.DIVERGED:
                raise ClaimBroken(words)
            raise _error_of_failed_run(words, problem, run.status == Status.ERROR)
        _check_counts(list(run.counts.as_dict().values()), witnessed.tally)
        _check_point(problem, run.x, algorithm)
        return run

    def follow(
        self, problem: Problem, algorithm: Algorithm, *, rng: Any = None, seed: int = 0
    ) -> Iterator[StepRecord]:
        """Run an algorithm step by step, and yield a record of each step.

        The arrays of a record are copies, so the algorithm may change its arrays in place.

        Parameters
        ----------
        problem
            The problem; its oracles answer, with the subject's changes.
        algorithm
            The algorithm with its parameters.
        rng
            Random stream of the algorithm; by default a generator with seed `seed`.
        seed
            See `rng`.

        Raises
        ------
        ClaimBroken
            If a point is not finite or outside the set, or the counts differ from the queries.
        MethodFailed
            If the algorithm raises, yields something other than a state, makes too many calls in
            one step, or queries an undeclared oracle.
        UnsupportedPoints
            If the algorithm raises on a problem whose points are not arrays.
        NotEnumerable
            If `rng` enumerates draws, and the algorithm needs a draw that it does not offer, or
            raises. A run on a NumPy generator then shows whether the algorithm is at fault.
        NotTestable
            After the deadline.
        """
        stream = np.random.default_rng(seed) if rng is None else rng
        run = Steps(
            self.subject.problem_under_test(problem),
            algorithm,
            bundle=_class_of_required_oracles(algorithm),
            wrap=StepRecorder,
            streams={"oracles": np.random.default_rng(seed), "algorithm": stream},
        )
        recorder, ledger, form = run.backend, run.ledger, run.form
        created, before = 0, tuple[Any, ...]()
        try:
            while True:
                recorder.start_step()
                try:
                    state = next(run.states)
                except StopIteration:
                    _check_counts(ledger.counts_array, recorder)
                    return
                except (NotEnumerable, ClaimBroken):
                    raise
                except Exception as error:
                    words = f"the run raised {type(error).__name__}: {error}"
                    if isinstance(stream, EnumerableGenerator):
                        raise NotEnumerable(words) from error
                    raise _error_of_failed_run(words, problem, True) from error
                if not isinstance(state, State):
                    raise MethodFailed(describe_wrong_state(state))
                if not form.is_point(state.x):
                    raise MethodFailed(
                        f"the method yields {form.describe(state.x)}, not {form.points_text}"
                    )
                _check_counts(ledger.counts_array, recorder)
                _check_point(problem, state.x, algorithm)
                if not all(is_finite(part) for part in (state.at, state.estimate, state.output)):
                    raise ClaimBroken("the method yields a State with NaN or infinite entries")
                inputs = tuple(recorder.lo_inputs)
                state = _copy_state(state)
                step = StepRecord(state, inputs, ledger.counts, before, self.coverage)
                created, before = created + 1, inputs
                self.check_deadline()
                yield step
        finally:
            self.coverage.add_run(problem, created, recorder)

    def follow_with_previous_point(
        self, problem: Problem, algorithm: Algorithm, seed: int = 0, *, rng: Any = None
    ) -> Iterator[tuple[Any, StepRecord]]:
        """Yield pairs of the iterate before a step and the record of the step; see `follow`."""
        x = problem.start()
        for step in self.follow(problem, algorithm, rng=rng, seed=seed):
            yield x, step
            x = keep(step.state.x)

    def decide_mean_sequentially(
        self,
        sample: Callable[[int], float],
        bound: float = 1.0,
        *,
        purpose: str,
        batch: int,
        limit: int,
    ) -> tuple[Decision, int]:
        """Decide a bound on the mean of random samples; return the decision and the sample size.

        Each seed gives one sample. See `statistics.decide_mean_sequentially`.
        """
        seeds = iter(self.seeds(limit, purpose))

        def draw(count: int) -> list[float]:
            return [sample(seed) for seed in itertools.islice(seeds, count)]

        decision, samples = decide_mean_sequentially(draw, bound, batch=batch, limit=limit)
        return decision, samples.size


def claim_method(claim: Claim) -> Any:
    """Return the algorithm that a claim is about, a class or an object.

    Raises
    ------
    NotTestable
        If the claim is about no algorithm.
    InputError
        If the catalogue has no algorithm of that name, or the object is not an algorithm.
    """
    algorithm = claim.algorithm
    if not algorithm:
        raise NotTestable("the claim names no algorithm to test: state `algorithm`")
    if isinstance(algorithm, str):
        return find_entry("algorithm", algorithm, ALGORITHMS)
    if not callable(getattr(algorithm, "run", None)):
        raise InputError(
            f"{claim.method} is not an algorithm: it needs a method run(ask, x, rng), which yields "
            "states; a solver must be a function or method of grad and x0."
        )
    return algorithm


_PATH_FRACTIONS: Mapping[str, Measure] = {
    "way": lambda problem, state: float(state.x[0]),
    "at": lambda problem, state: float(state.at is not None),
}
"""Measures of a state: its first coordinate, and whether it has the point `at`."""


def _find_index_or_minus_one(number: float, numbers: Sequence[float]) -> int:
    """Return the index of the entry that equals `number` up to rounding; -1 if there is none."""
    deviation = np.abs(np.array(numbers) - number)
    return int(deviation.argmin()) if deviation.min() <= 1e-9 * np.abs(numbers).max() else -1


def _error_of_failed_run(words: str, problem: Problem, has_raised: bool) -> Exception:
    """Return the exception for a run that failed: `MethodFailed` or `UnsupportedPoints`.

    On factored matrices, an error is no failure of the method: many methods only support arrays.
    """
    supported = not has_raised or isinstance(problem.start(), np.ndarray)
    return MethodFailed(words) if supported else UnsupportedPoints(words)


def _class_of_required_oracles(algorithm: Algorithm) -> type[Oracles]:
    """Return a class of oracles that has exactly the oracles that an algorithm requires."""
    try:
        return oracle_class(algorithm)
    except Exception as error:  # it may compute them of its parameters
        raise MethodFailed(f"the method raised {format_error_with_notes(error)}") from error


def _copy_state(state: State) -> State:
    """Return a copy of a state and of its arrays."""
    parts: Any = (np.array(part) if isinstance(part, np.ndarray) else part for part in state)
    return State(*parts)


def _check_counts(counts: Sequence[int], tally: ComponentTally) -> None:
    """Raise `ClaimBroken` if the counts differ from the numbers of oracle calls in a tally."""
    for kind, number, call_count in zip(COUNTED, counts, tally.charged, strict=True):
        if number != call_count:
            raise ClaimBroken(
                f"the method made {call_count} {kind.upper()} calls, but the ledger counts {number}"
            )


def _check_point(problem: Problem, x: Point, algorithm: Algorithm) -> None:
    """Raise `ClaimBroken` if a point is not finite, or is an array outside the set."""
    if not is_finite(x):
        raise ClaimBroken("the method yields a point that is not finite")
    if isinstance(x, np.ndarray) and not problem.set.contains(x):
        raise _error_of_outside_point("the method leaves the feasible set", algorithm)


def _error_of_outside_point(text: str, algorithm: Algorithm) -> ClaimBroken:
    """Return `MethodFailed` if the point may be no iterate of a plain function's run."""
    note = getattr(algorithm, "iterates_note", "")
    return MethodFailed(text + note) if note else ClaimBroken(text)
