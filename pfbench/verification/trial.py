"""One claim put to the test: what a check is given, and how it runs the subject."""

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from pfbench.algorithms.base import Algorithm as CatalogueAlgorithm
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.constants import Constants
from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.protocols import Algorithm, Measure, Problem
from pfbench.base.state import Point, State
from pfbench.oracles import Ledger, Oracles
from pfbench.points import is_finite, keep
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.stop import Stop
from pfbench.verification.claim import Claim
from pfbench.verification.instruments.changed import Changed
from pfbench.verification.instruments.draws import Unscripted
from pfbench.verification.instruments.witness import Witness, WitnessedProblem
from pfbench.verification.statistics import Decision, decide_exact, sequential
from pfbench.verification.subject import Broken, Subject, make, scheduled

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
    """

    claim: Claim
    subject: Subject = field(default_factory=Subject)
    effort: str = "quick"
    seed: int = 0

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
        if self.subject.algorithm is not None:
            return self.subject.algorithm
        return ALGORITHMS[self.claim.algorithm]

    @staticmethod
    def other(name: str) -> type[CatalogueAlgorithm]:
        """Return an algorithm of the catalogue that is not under test."""
        return ALGORITHMS[name]

    def make(self, **wanted: Any) -> Algorithm:
        """Return the algorithm under test with those of the wanted parameters that it has."""
        return make(self.algorithm, **wanted)

    def scheduled(self, epsilon: float, constants: Constants, **given: Any) -> Algorithm:
        """Return the algorithm under test with its theorem's schedule."""
        return scheduled(self.algorithm, epsilon, constants, **given)

    def draws_uniformly(self) -> Decision:
        """See that the output is drawn uniformly, as a theorem's is."""
        declared = self.make(batch=2, period=2, iterations=2, step=0.1).output
        return decide_exact(
            declared == "uniform",
            "The output is drawn uniformly.",
            f"It declares output={declared}, where the theorem draws an iterate uniformly.",
            {},
        )

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
            If the run raised, diverged or was refused, its output is outside the set, or the
            counts are not those of what was asked.
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
        if run.status in _FAILED:
            raise Broken(f"the run on {run.problem} ended as {run.status}: {run.stop_reason}")
        _check_counts(list(run.counts.as_dict().values()), witnessed.witness)
        _check_point(problem, run.x)
        return run

    def follow(
        self, problem: Problem, algorithm: Algorithm, *, rng: Any = None, seed: int = 0
    ) -> Iterator["Step"]:
        """Run an algorithm step by step, with what it asked; the lightest way to look inside.

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
            If the algorithm raises, yields a point that is not finite or outside the set, or the
            counts are not those of what was asked.
        Unscripted
            If it draws what a scripted stream does not have.
        """
        witness = Witness(self.subject.answering(problem).open(np.random.default_rng(seed)))
        recorder = Recorder(witness)
        ledger = Ledger()
        ask = Oracles(recorder, ledger, problem.set.diameter)
        stream = np.random.default_rng(seed) if rng is None else rng
        states = algorithm.run(ask, problem.start(), stream)
        while True:
            recorder.minimised = []
            try:
                state = next(states)
            except StopIteration:
                _check_counts(ledger.spent, witness)
                return
            except Unscripted:
                raise
            except Exception as error:
                raise Broken(f"it raised {type(error).__name__}: {error}") from error
            _check_counts(ledger.spent, witness)
            _check_point(problem, state.x)
            yield Step(state, tuple(recorder.minimised), ledger.counts)

    def moves(
        self, problem: Problem, algorithm: Algorithm, seed: int = 0
    ) -> Iterator[tuple[Any, "Step"]]:
        """As `follow`; yield each step with a copy of the iterate before it, first the start."""
        x = problem.start()
        for step in self.follow(problem, algorithm, seed=seed):
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


@dataclass(frozen=True, slots=True)
class Step:
    """One update of an algorithm, and what it asked for it.

    Attributes
    ----------
    state
        What it yielded.
    minimised
        What reached the linear minimisation since the last update, in order.
    counts
        Returns the counts so far.
    """

    state: State
    minimised: tuple[Any, ...]
    counts: Callable[[], Counts]

    @property
    def estimate(self) -> Any:
        """The gradient estimate: what reached the one `lo` of this step, else what was yielded."""
        if len(self.minimised) == 1 and isinstance(self.minimised[0], np.ndarray):
            return self.minimised[0]
        return self.state.estimate


class Recorder(Changed):
    """A backend that notes what reaches `lo` and passes everything on."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.minimised: list[Any] = []

    def lo(self, g: Any) -> Point:
        """Note g and return the backend's vertex."""
        self.minimised.append(g)
        return self._right.lo(g)
