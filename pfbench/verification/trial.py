"""One claim put to the test: what a check is given, and how it runs the subject."""

import itertools
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from pfbench.algorithms.base import Algorithm as CatalogueAlgorithm
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.constants import Constants
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError, with_notes
from pfbench.base.names import named
from pfbench.base.protocols import Algorithm, Asked, Measure, Problem
from pfbench.base.state import Point, State
from pfbench.oracles import Ledger, Oracles
from pfbench.points import form_of, is_finite, keep
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import oracle_bundle
from pfbench.runs.loop.stop import Stop
from pfbench.runs.loop.trace import OUTSIDE
from pfbench.verification.claim import Claim
from pfbench.verification.followed import Recorder, Step
from pfbench.verification.instruments.draws import Chosen, Unscripted
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.instruments.witness import Witness, WitnessedProblem
from pfbench.verification.seen import Seen
from pfbench.verification.statistics import Decision, decide_uniform, sequential
from pfbench.verification.subject import (
    Broken,
    Lacks,
    Raised,
    Subject,
    Unfit,
    Untestable,
    make,
    scheduled,
    taken,
)

EFFORTS = ("quick", "full")

Choice = TypeVar("Choice")

_FAILED = ("error", "diverged", "killed", "refused")


@dataclass(frozen=True)
class Trial:
    """What a check is given.

    Attributes
    ----------
    claim
        The claim.
    subject
        What is tested in place of the claim's algorithm.
    effort
        "quick" or "full".
    seed
        Seed of the whole verification; every stream of a check derives from it.
    at_seed
        Draws where a claim looks that has no fixed place: sizes and start; 0 the usual ones.
    seen
        How large its runs were so far.
    stretch
        Multiple of the horizon that a claim states; see `stating.horizons`.
    """

    claim: Claim
    subject: Subject = field(default_factory=Subject)
    effort: str = "quick"
    seed: int = 0
    at_seed: int = 0
    seen: Seen = field(default_factory=Seen, compare=False, repr=False)
    stretch: int = 1

    @property
    def command(self) -> str:
        """The command that repeats this check with its seeds."""
        label = self.subject.label
        options = f" --algorithm {label}" if label and ":" in label else ""
        options += " --full" if self.effort == "full" else ""
        seeds = f"--seed {self.seed} --at-seed {self.at_seed}"
        return f"pfbench verify {self.claim.name}{options} {seeds}"

    def pick(self, quick: Choice, full: Choice) -> Choice:
        """Return the first for a quick verification, else the second."""
        return quick if self.effort == "quick" else full

    def seeds(self, count: int, purpose: str = "") -> list[int]:
        """Return seeds for runs, different for each claim and purpose."""
        entropy = (self.seed, zlib.crc32(f"{self.claim.name} {purpose}".encode()))
        return [int(word) for word in np.random.SeedSequence(entropy).generate_state(count)]

    def rng(self, purpose: str) -> np.random.Generator:
        """Return a random stream of this check."""
        return np.random.default_rng(self.seeds(4, purpose))

    @property
    def algorithm(self) -> Any:
        """The class (or object) under test."""
        tested = self.subject.tested()
        return self.own if tested is None else tested

    @property
    def own(self) -> Any:
        """The claim's own algorithm, a class or an object."""
        return method_of(self.claim)

    @staticmethod
    def other(name: str) -> type[CatalogueAlgorithm]:
        """Return an algorithm of the catalogue that is not under test."""
        return ALGORITHMS[name]

    def make(self, **wanted: Any) -> Algorithm:
        """Return the algorithm under test with those of the wanted parameters that it has.

        It must have those that the claim's own algorithm needs, and those that make another method
        of it.

        Raises
        ------
        Lacks
            If it lacks one of these, or refuses what it is given.
        """
        own = self.own if self.claim.algorithm else None
        for name in getattr(own, "kinds", ()):
            usual = getattr(own, name)
            if wanted.get(name, usual) != usual and not taken(self.algorithm, (name,)):
                raise Lacks(f"it has no parameter {name}, which the claim sets to {wanted[name]}")
        return make(self.algorithm, self.needed, **wanted)

    @property
    def needed(self) -> Collection[str]:
        """The parameters that the claim's own algorithm needs."""
        needed = getattr(self.own if self.claim.algorithm else None, "needed", tuple)
        found: Collection[str] = needed()
        return found

    def scheduled(self, epsilon: float, constants: Constants, **given: Any) -> Algorithm:
        """Return the algorithm under test with its theorem's schedule."""
        return scheduled(self.algorithm, epsilon, constants, **given)

    def draws_uniformly(self, problem: Problem | None = None, **given: Any) -> Decision:
        """Decide that the output is drawn uniformly among x_0 .. x_{T-1}, as a theorem's is.

        Runs of T = 8 iterations, each with another seed; in each it is found which of the run's
        iterates was returned. A method that yields no `at` can only have one of x_1 .. x_T
        returned, and is held to that.

        Parameters
        ----------
        problem
            On which the first coordinate of the iterates grows or falls at each iteration; a forced
            path, unless given.
        given
            Parameters that the method needs besides.
        """
        asked = ForcedPath(4, 2, length=10.0) if problem is None else problem
        # Whatever else it lacks, its output can be looked at.
        small = {"batch": 2, "period": 2, "iterations": 8, "step": 0.1}
        algorithm = make(self.algorithm, **{**given, **small})
        drawn: list[int] = []
        T = 1
        for seed in self.seeds(self.pick(100, 400), "output"):
            run = self.run(asked, algorithm, seed=seed, measures=_WAY)
            way, at = ([row[run.columns.index(name)] for row in run.rows] for name in _WAY)
            steps = np.diff(way)
            if not (len(way) > 1 and abs(np.sign(steps).sum()) == len(steps)):
                return Decision("inconclusive", "Its iterates cannot be told apart.", {}, None)
            T = max(T, len(steps))
            drawn.append(_position(float(run.x[0]), way) - (not any(at)))
        return decide_uniform(drawn, T)

    def run(
        self,
        problem: Problem,
        algorithm: Algorithm,
        *,
        seed: int = 0,
        budget: Budget | None = None,
        stop: Stop | None = None,
        measures: str | Sequence[str] | Mapping[str, Measure] = (),
        every: int = 1,
    ) -> Run:
        """Run an algorithm to its end, as `solve` does.

        Raises
        ------
        Broken
            If the run diverged, its output is outside the set, or the counts are not those of what
            was asked.
        Raised
            If it raised, was killed or refused, or asked what it does not declare.
        Unfit
            If it raised where points are no arrays.
        """
        witnessed = WitnessedProblem(self.subject.answering(problem))
        run = solve(
            witnessed,
            algorithm,
            seed=seed,
            budget=budget,
            stop=stop,
            measures=measures,
            every=every,
        )
        self.seen.add(problem, run.iterations, witnessed.witness)
        if run.status in _FAILED:
            words = f"the run on {run.problem} ended as {run.status}: {run.stop_reason}"
            measured = run.status == "diverged" or OUTSIDE in run.stop_reason
            raise Broken(words) if measured else _at_fault(problem, run.status == "error")(words)
        _check_counts(list(run.counts.as_dict().values()), witnessed.witness)
        _check_point(problem, run.x)
        return run

    def follow(
        self, problem: Problem, algorithm: Algorithm, *, rng: Any = None, seed: int = 0
    ) -> Iterator[Step]:
        """Run an algorithm step by step, with what it asked; the lightest way to look inside.

        The arrays of a step are copies, so that the algorithm may go on in place.

        Parameters
        ----------
        problem
            The problem, which answers the oracles unless the subject changes that.
        algorithm
            The algorithm with its parameters.
        rng
            Its random stream; a generator of `seed` if not given.
        seed
            See `rng`.

        Raises
        ------
        Broken
            If it yields no finite point of the set, or the counts are not those of what was asked.
        Raised
            If it raises, yields what is no state, asks too much in one step, or asks what it does
            not declare.
        Unfit
            If it raises where points are no arrays.
        Unscripted
            If it draws what a stream whose draws are chosen does not have, or raises on such a
            stream: whether that is its own fault is seen on a generator of numpy.
        """
        recorder = Recorder(self.subject.answering(problem).open(np.random.default_rng(seed)))
        ledger = Ledger()
        form = form_of(problem.start(), problem.name)
        ask = _bundle(algorithm)(recorder, ledger, problem.set.diameter, form)
        stream = np.random.default_rng(seed) if rng is None else rng
        states = _states(algorithm, ask, problem.start(), stream)
        made, before = 0, tuple[Any, ...]()
        try:
            while True:
                recorder.begin()
                try:
                    state = next(states)
                except StopIteration:
                    _check_counts(ledger.spent, recorder)
                    return
                except (Unscripted, Broken):
                    raise
                except Exception as error:
                    words = f"it raised {type(error).__name__}: {error}"
                    if isinstance(stream, Chosen):
                        raise Unscripted(words) from error
                    raise _at_fault(problem, True)(words) from error
                if not isinstance(state, State):
                    raise Raised(f"it yields a {type(state).__name__}, not a State")
                if not form.is_point(state.x):
                    raise Raised(f"it yields {form.said(state.x)}, and points are {form.points}")
                _check_counts(ledger.spent, recorder)
                _check_point(problem, state.x)
                if not all(is_finite(part) for part in (state.at, state.estimate, state.output)):
                    raise Broken("it yields a State with a part that is not finite")
                asked = tuple(recorder.minimised)
                step = Step(_copied(state), asked, ledger.counts, before, self.seen)
                made, before = made + 1, step.minimised
                yield step
        finally:
            self.seen.add(problem, made, recorder)

    def moves(
        self, problem: Problem, algorithm: Algorithm, seed: int = 0, *, rng: Any = None
    ) -> Iterator[tuple[Any, Step]]:
        """As `follow`; yield each step with a copy of the iterate before it, first the start."""
        x = problem.start()
        for step in self.follow(problem, algorithm, rng=rng, seed=seed):
            yield x, step
            x = keep(step.state.x)

    def sequential(
        self,
        sample: Callable[[int], float],
        bound: float = 1.0,
        *,
        purpose: str,
        batch: int,
        most: int,
    ) -> tuple[Decision, int]:
        """Decide a bound of the mean of samples, one a seed; return how many were needed, too.

        See `statistics.sequential`.
        """
        seeds = iter(self.seeds(most, purpose))

        def draw(count: int) -> list[float]:
            return [sample(seed) for seed in itertools.islice(seeds, count)]

        decision, samples = sequential(draw, bound, batch=batch, most=most)
        return decision, samples.size


def method_of(claim: Claim) -> Any:
    """Return the algorithm that a claim is about, a class or an object.

    Raises
    ------
    Untestable
        If it is about none.
    InputError
        If the catalogue has none of that name, or what is given is no algorithm.
    """
    found = claim.algorithm
    if not found:
        raise Untestable("it is about no algorithm: name one in the claim")
    if isinstance(found, str):
        return named("algorithm", found, ALGORITHMS)
    if not callable(getattr(found, "run", None)):
        raise InputError(
            f"{claim.method} is no algorithm: it needs a method run(ask, x, rng), which yields "
            "states."
        )
    return found


_WAY: Mapping[str, Measure] = {
    "way": lambda problem, state: float(state.x[0]),
    "at": lambda problem, state: float(state.at is not None),
}
"""How far a state is on its way, and whether it says where its estimate was formed."""


def _position(r: float, way: Sequence[float]) -> int:
    """Return which of the numbers is r, up to rounding; -1 if none is."""
    off = np.abs(np.array(way) - r)
    return int(off.argmin()) if off.min() <= 1e-9 * np.abs(way).max() else -1


def _at_fault(problem: Problem, raised: bool) -> type[Exception]:
    """Return what an end is that no run should have.

    Where points are factored matrices an error says little: many methods can move arrays only.
    """
    return Unfit if raised and not isinstance(problem.start(), np.ndarray) else Raised


def _bundle(algorithm: Algorithm) -> type[Oracles]:
    """Return the bundle that answers what a method requires."""
    try:
        return oracle_bundle(algorithm)
    except Exception as error:  # it may compute them of its parameters
        raise Raised(f"it raised {with_notes(error)}") from error


def _states(algorithm: Algorithm, ask: Asked, x: Point, rng: Any) -> Iterator[State]:
    """Yield what a run yields; what raises before its first state raises here."""
    yield from algorithm.run(ask, x, rng)


def _copied(state: State) -> State:
    """Return a state with copies of its arrays."""
    parts: Any = (np.array(part) if isinstance(part, np.ndarray) else part for part in state)
    return State(*parts)


def _check_counts(counted: Sequence[int], witness: Witness) -> None:
    """Refuse counts that are not those of what was asked."""
    for kind, number, asked in zip(COUNTED, counted, witness.spent, strict=True):
        if number != asked:
            raise Broken(
                f"it asked beside the ledger: {asked} {kind.upper()} were asked, {number} counted"
            )


def _check_point(problem: Problem, x: Point) -> None:
    """Refuse a point that is not finite, or an array outside the set."""
    if not is_finite(x):
        raise Broken("it yields a point that is not finite")
    if isinstance(x, np.ndarray) and not problem.set.contains(x):
        raise Broken("it leaves the feasible set")
