"""What a source says of a method, and what a run tells of itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm
from pfbench.verification.followed import Step, is_direction
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.subject import Broken, Lacks, Untestable, taken, takes_any
from pfbench.verification.trial import Trial


@dataclass(frozen=True)
class Told:
    """What a run told of one step, copied: the method may move its arrays afterwards.

    Attributes
    ----------
    x, at, estimate, output
        As `pfbench.base.state.State`; the estimate is what reached the linear minimisation, where
        that was asked once.
    counts
        What the run had spent then.
    made
        The linear minimisations since the step before.
    coin
        Whether the coin that was flipped for the estimate fell heads; None if none was told.
    """

    x: Floats
    at: Floats | None
    estimate: Floats
    output: Floats | None
    counts: Counts
    made: int
    coin: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Formed:
    """How a source forms an estimate, given the past.

    It is ``known`` plus `weight` times the mean over a batch of d_i = grad f_i(at) - kept grad
    f_i(against); with `hessians` a snapshot s, d_i has H_i(s)(at - against) less, and H(s)(at -
    against) is known. With the chance `refresh` it is the full gradient instead. Where a component
    is drawn with a chance of its own, d_i is divided by n times that.

    Attributes
    ----------
    at
        Where the gradient is estimated.
    batch
        Size of the batch; None for all components.
    against
        The point of the difference; None for none.
    known
        What the past determines of it.
    hessians
        Where component Hessians correct the difference; None for no correction.
    replace
        Whether the batch is drawn with replacement.
    bounded
        Whether the mean square follows from what was told; not with a table of stored gradients.
    weight, kept
        The two factors; 1 but of momentum.
    refresh
        The chance of a coin; 0 where none is flipped.
    chances
        With what chance each component is drawn, shape (n,); None for uniformly.
    """

    at: Floats
    batch: int | None = None
    against: Floats | None = None
    known: Floats | float = 0.0
    hessians: Floats | None = None
    replace: bool = True
    bounded: bool = True
    weight: float = 1.0
    kept: float = 1.0
    refresh: float = 0.0
    chances: Floats | None = None

    def mean(self, problem: Waves) -> Floats:
        """Return its mean, given the past."""
        right = problem.gradient(self.at)
        return self.refresh * right + (1.0 - self.refresh) * self._from_batch(problem, right)

    def _from_batch(self, problem: Waves, right: Floats) -> Floats:
        """Return its mean where it is formed from a batch; `right` is the gradient."""
        mean = self.known + self.weight * right
        if self.against is None:
            return mean
        return np.asarray(mean - self.weight * self.kept * problem.gradient(self.against))

    def square(self, problem: Waves) -> float:
        """Return its mean square distance from that mean, given the past."""
        if self.batch is None:
            return 0.0
        d = problem.components(self.at)
        if self.against is not None:
            d = d - self.kept * problem.components(self.against)
            if self.hessians is not None:
                d = d - problem.curvatures(self.hessians) @ (self.at - self.against)
        q = np.full(problem.n, 1.0 / problem.n) if self.chances is None else self.chances
        off = d / (problem.n * q)[:, None] - d.mean(axis=0)
        variance = self.weight**2 * float(q @ (off**2).sum(axis=1)) / self.batch
        if not self.replace:
            variance *= (problem.n - self.batch) / max(1, problem.n - 1)
        if self.refresh == 0.0:
            return variance
        right, p = problem.gradient(self.at), self.refresh
        off = self._from_batch(problem, right) - right
        return (1.0 - p) * (variance + p * float(off @ off))


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a source says of one step, given what was told before it and its estimate.

    Attributes
    ----------
    formed
        How the estimate is formed.
    x
        Where the step leads; what was told where `ratios` decide that.
    output
        The output of its own that the source has then; None if it has none.
    ratios
        Inequalities that the step must satisfy, each a number that is at most 1.
    minimisations
        The linear minimisations that it needs, if it goes where the source goes; None if that is
        not determined.
    pick
        From which of how many points it goes on, where the source draws one uniformly.
    """

    formed: Formed
    x: Floats
    output: Floats | None = None
    ratios: tuple[float, ...] = ()
    minimisations: int | None = None
    strays: bool = False
    pick: tuple[int, int] | None = None


Parameters = Mapping[str, Any]

Referee = Callable[[Waves, Parameters, Sequence[Told]], Iterator[Place]]
"""A source's recursion: problem, parameters and what was told; a place for each step."""

Chances = list[tuple[float, Floats]]
"""A law of a point: chances, and where it is."""

Outputs = Callable[[Waves, Parameters, Sequence[Place]], Chances]
"""The law of the output, given the places of a run of one or two components."""

Ends = Callable[[Parameters, Sequence[Floats], Floats], Chances]
"""The law of the output, given the points of a long run, and the last."""


@dataclass(frozen=True)
class Setting:
    """A problem and the parameters with which a method runs on it.

    Attributes
    ----------
    problem
        The problem.
    parameters
        The parameters, by their common names.
    """

    problem: Instance
    parameters: Parameters

    def __str__(self) -> str:
        build = self.problem.name.removeprefix("on_").removeprefix("with_")
        given = " ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{build} {given}"


def setting(problem: Instance, **parameters: Any) -> Setting:
    """Return a setting."""
    return Setting(problem, parameters)


@dataclass(frozen=True)
class Wanted:
    """What a schedule is asked for: accuracy, constants of a problem, parameters given with them.

    Attributes
    ----------
    epsilon, constants, given
        As `Algorithm.theory` takes them.
    practical
        Whether the practical schedule is asked for.
    """

    epsilon: float
    constants: Constants
    given: Parameters = field(default_factory=dict)
    practical: bool = False


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method as its source states it.

    Attributes
    ----------
    name
        The catalogue's name.
    source
        Paper and number.
    referee
        The recursion.
    counts
        Returns the exact counts of a run from the parameters and n; several may be right. Among the
        parameters is `heads`, how many coins that were told fell so.
    enumerated, enumerated_in_full
        Settings in which all draws are enumerated, and those at full effort only.
    followed
        Settings in which runs are followed step by step.
    counted
        Settings in which runs are counted.
    chosen
        Settings with one or two components, in which the law of the output is enumerated; the first
        has the output that the source declares.
    outputs
        Returns the law of the output, given the places of a run.
    step_power
        The power of a factor of f by which a real `step` goes: -1; 0 of a weight or a length.
    length
        Returns the number of steps; None if the run may end before.
    sized
        Settings at the size of use, in which a run is followed with all that it asks.
    long
        Settings with few components and a long run, in which the output is looked at, one for each
        that the source knows; the first has that which it declares.
    at_end
        Returns the law of the output given the points of a long run, `at` of each estimate and the
        last x; that of the declared output if None.
    extreme, extreme_in_full
        Settings at values that are extreme and legal, and those at full effort only.
    stored_squares
        Returns for each step the mean square error over all draws, where a place does not say it.
    schedules
        Accuracies and constants for which the schedule is compared.
    schedule
        Returns the schedule, by parameter.
    whose
        Whose schedule it is: source and theorem, what was changed, and by whom.
    """

    name: str
    source: str
    referee: Referee
    counts: Callable[[Parameters, int], tuple[Counts, ...]]
    enumerated: tuple[Setting, ...]
    followed: tuple[Setting, ...]
    counted: tuple[Setting, ...]
    chosen: tuple[Setting, ...]
    enumerated_in_full: tuple[Setting, ...] = ()
    outputs: Outputs | None = None
    step_power: int = -1
    length: Callable[[Parameters], int | None] | None = None
    sized: tuple[Setting, ...] = ()
    long: tuple[Setting, ...] = ()
    at_end: Ends | None = None
    extreme: tuple[Setting, ...] = ()
    extreme_in_full: tuple[Setting, ...] = ()
    stored_squares: Callable[[Waves, Parameters], Sequence[float]] | None = None
    schedules: tuple[Wanted, ...] = ()
    schedule: Callable[[Wanted], dict[str, float | None]] | None = None
    whose: str = ""

    def __post_init__(self) -> None:
        if (self.schedule is None) != (not self.whose):
            raise InputError(f"whose is the schedule of {self.name}?")

    @property
    def problems(self) -> tuple[Instance, ...]:
        """The problems of all settings, each once."""
        every = (*self.enumerated, *self.followed, *self.counted, *self.chosen)
        return tuple(dict.fromkeys(one.problem for one in every))


def runnable(trial: Trial, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Algorithm]]:
    """Yield the settings that the algorithm can be made with, and the algorithm so made.

    Where its output is no parameter, or nobody knows, it is the first setting's that it must have;
    so it is in place of a weighted one where it has no `output_weight`.

    Raises
    ------
    Lacks
        If there is none.
    """
    runs, lacked = 0, set[str]()
    for one in settings:
        known = taken(trial.algorithm, (*one.parameters,), trial.needed)
        lacking = {name for name in one.parameters if name not in known}
        lacked |= lacking
        other = one.parameters.get("output") != settings[0].parameters.get("output")
        fixed = "output" in lacking or takes_any(trial.algorithm)
        if lacking - {"output"} or (other and fixed):
            continue
        try:
            made = trial.make(**one.parameters)
        except Untestable:  # it has the parameter, and not this value of it
            continue
        weighted = one.parameters.get("output") == "weighted"
        if other and weighted and not hasattr(made, "output_weight"):
            continue
        runs += 1
        yield one, made
    if not runs:
        names = " or ".join(sorted(lacked)) or "what is set"
        raise Lacks(f"it cannot be made with {names}")


def follow(
    trial: Trial, method: Method, where: Setting, algorithm: Algorithm, problem: Waves, **how: Any
) -> list[Told]:
    """Follow a run to its end and return what it told of each step.

    Raises
    ------
    Untestable
        If it tells no estimate, or less than a state a step.
    Broken
        If it makes another number of steps.
    """
    told = [told_of(step) for step in trial.follow(problem, algorithm, **how)]
    check_length(method, where.parameters, problem.n, [one.counts for one in told])
    return told


def told_of(step: Step) -> Told:
    """Return what a run told of one step; errors are those of `follow`."""
    state = step.state
    try:
        estimate = step.estimate
    except Untestable as error:
        if not step.minimised:
            raise Untestable("it tells no estimate: yield State(x, at, estimate)") from error
        estimate = step.minimised[0]  # an inner loop begins with the estimate itself
    if state.estimate is None and is_direction(estimate):
        raise Untestable("it minimises a direction of length 1, and does not yield its estimate")
    copies = [None if part is None else np.array(part) for part in (state.at, state.output)]
    x, made = np.array(state.x), len(step.minimised)
    coin = None if state.coin is None else bool(state.coin)
    return Told(x, copies[0], np.array(estimate), copies[1], step.counts(), made, coin)


def check_length(method: Method, parameters: Parameters, n: int, spent: Sequence[Counts]) -> None:
    """Refuse a run of another number of steps, on n components; it had spent so much after each.

    Raises
    ------
    Broken
        If it is another one.
    Untestable
        If it costs what it should: then it only tells less, e.g. a state an epoch.
    """
    wanted = method.length(parameters) if method.length else parameters["iterations"]
    if spent and (wanted is None or len(spent) == wanted):
        return
    words = f"it makes {len(spent)} steps, not {wanted}"
    if spent and wanted is not None and len(spent) < wanted:
        last, accepted = spent[-1], method.counts({**parameters, "heads": 0}, n)
        if any((last.sfo, last.lo) == (one.sfo, one.lo) for one in accepted):
            raise Untestable(f"{words}, for all calls that these cost: yield a state after each")
    raise Broken(words)
