"""One bound of a claim on one instance: what is measured over the bound, in any arithmetic."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.bodies import Skip
from pfbench.verification.falsify.conditions import comparison_of, holds, predicate_of
from pfbench.verification.falsify.leaves import leaves
from pfbench.verification.instruments.enumerated_random import NotEnumerable
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.error_law import ErrorLaw, Past
from pfbench.verification.statements.quantity import SUBOPTIMALITY, is_count
from pfbench.verification.statements.setting import ClaimSetting, ParameterNamespace, has_schedule
from pfbench.verification.subject import instantiate_with_parameters
from pfbench.verification.trial import claim_method

_NOISE = 1e-10
"""Share of the first value below which a number in floats is rounding."""


@dataclass(frozen=True)
class Ratio:
    """What is measured over its bound: the largest over t."""

    ratio: Any
    measured: Any
    bound: Any
    t: int
    growth: float = 0.0
    work: int = 1


class Unsearchable(InputError):
    """A claim that cannot be searched, with the reason."""


@dataclass(frozen=True)
class Statement:
    """A bound, or an error law, of a claim, under one label and setting."""

    claim: Claim
    label: str
    setting: ClaimSetting
    bound: Callable[..., Any] | None
    allowed: tuple[str, ...] = ()

    @property
    def check(self) -> Any:
        """The claim's check."""
        return self.claim.check

    @property
    def statistic(self) -> str:
        """Over which points the bound is stated; "law" for an error law."""
        return "law" if self.bound is None else str(self.check.statistic)

    @property
    def method(self) -> Any:
        """The method, a class or an object."""
        return claim_method(self.claim)

    @property
    def is_deterministic(self) -> bool:
        """Whether the method draws nothing."""
        return bool(getattr(self.method, "deterministic", False))

    @property
    def in_expectation(self) -> bool:
        """Whether the bound is on a mean over draws."""
        return self.statistic in ("mean", "last", "output") and not self.is_deterministic

    @property
    def horizon(self) -> tuple[str, int] | None:
        """The name and the value of the parameter that sets the number of steps."""
        return self.setting.horizon("quick")

    @property
    def requires(self) -> frozenset[str]:
        """The oracles that the method queries."""
        return frozenset(getattr(self.method, "requires", ()))

    @property
    def conditions(self) -> tuple[str, ...]:
        """All that claim and method assume."""
        return tuple(dict.fromkeys((*self.claim.assumptions, *getattr(self.method, "assumes", ()))))

    def unknown_conditions(self) -> tuple[str, ...]:
        """Return the assumptions that are neither in the vocabulary nor comparisons."""
        return tuple(
            text
            for text in self.conditions
            if not (predicate_of(text) or comparison_of(text) or text in self.allowed)
        )

    def wants(self, word: str) -> bool:
        """Return whether an assumption in words is made: "convex", "strongly", "component"."""
        return any(word in text for text in self.conditions)


def statements(claim: Claim, allowed: tuple[str, ...] = ()) -> list[Statement]:
    """Return each bound of a claim with each setting.

    Raises
    ------
    Unsearchable
        If it is no bound or error law, or bounds counts of calls.
    """
    check = claim.check
    if isinstance(check, ErrorLaw):
        return [Statement(claim, "", check.setting, None, allowed)]
    if not isinstance(check, Bound):
        raise Unsearchable(
            f"{claim.name} is a {claim.kind}: only bounds and error laws are searched."
        )
    if is_count(check.quantity):
        raise Unsearchable(f"{claim.name} bounds counts of calls, which follow from the schedule.")
    method = claim_method(claim)
    if getattr(method, "output", "last") not in ("last", "uniform") and check.statistic == "output":
        raise Unsearchable(f"{claim.name} has a weighted output.")
    return [
        Statement(claim, ", ".join(filter(None, (of, label))), setting, bound, allowed)
        for label, setting in check.settings.items()
        for of, bound in check.bounds.items()
    ]


class Ask:
    """The oracles of a searched instance."""

    def __init__(self, problem: Any) -> None:
        self.n, self.D = problem.n, problem.set.diameter
        self.gradient, self.value = problem.gradient, problem.value
        self.batch, self.difference = problem.batch, problem.difference
        self.lo, self.prox = problem.lo, problem.prox


@dataclass(frozen=True)
class Trajectory:
    """A method on a problem, made for a horizon: its constants, parameters and states."""

    statement: Statement
    problem: Any
    constants: Any
    parameters: Any
    algorithm: Any

    @property
    def steps(self) -> int | None:
        """The number of steps that the claim sets."""
        steps: int | None = vars(self.parameters).get("iterations")
        return steps

    def states(self, rng: Any) -> Iterator[tuple[Any, State]]:
        """Yield each state with the iterate before it."""
        x = self.problem.start()
        states = self.algorithm.run(Ask(self.problem), x.copy(), rng)
        for state in islice(states, self.steps):
            if not isinstance(state, State) or np.shape(state.x) != np.shape(x):
                raise Skip("the method yields no state")
            yield x, state
            x = np.array(state.x)

    def limit(self, t: int | None = None) -> Any:
        """Return the bound, refused where it is not positive."""
        bound = self.statement.bound
        assert bound is not None
        value = bound(self.constants, self.parameters, *(() if t is None else (t,)))
        if not value > 0 or value == math.inf:
            raise Skip("the bound is not positive")
        return value


def trajectory(statement: Statement, problem: Any, T: int | None) -> Trajectory:
    """Return the method made for a problem and a horizon.

    Raises
    ------
    Skip
        If the instance does not meet an assumption, or a constant is unknown.
    """
    setting, horizon = statement.setting, statement.horizon
    for text in statement.conditions:
        predicate = predicate_of(text)
        if predicate is not None and not predicate(problem):
            raise Skip(f"not: {text}")
    stated = problem.constants(problem.start())
    constants = stated if setting.constants is None else setting.constants(problem)
    longer = {} if horizon is None or T is None else {horizon[0]: T}
    if callable(setting.parameters):
        parameters = dict(setting.parameters(constants, **longer))
    else:
        parameters = {**setting.parameters, **longer}
    method, epsilon = statement.method, parameters.pop("epsilon", None)
    if epsilon is not None and has_schedule(method):
        algorithm = method.theory(epsilon, constants, **parameters)
        parameters = {**vars(algorithm), "epsilon": epsilon}
    else:
        algorithm = instantiate_with_parameters(method, **parameters)
        parameters |= {} if epsilon is None else {"epsilon": epsilon}
    names = {**parameters, **{k: v for k, v in problem._constants.items() if v is not None}}
    for text in statement.conditions:
        if predicate_of(text) is None and (tree := comparison_of(text)) is not None:
            if "R" in text or "delta" in text:
                names |= {"R": stated.R, "delta": stated.delta}
            if not holds(tree, names):
                raise Skip(f"not: {text}")
    return Trajectory(statement, problem, constants, ParameterNamespace(**parameters), algorithm)


def evaluate(
    statement: Statement,
    problem: Any,
    T: int | None,
    *,
    seed: int = 0,
    most: int = 600,
    runs: int = 8,
) -> Ratio:
    """Return the ratio of measured to bound, the largest over t, on an instance.

    Expectations are enumerated up to `most` sequences of draws; else a mean over runs, which only
    screens. A `runs` of 0 forbids that.
    """
    path = trajectory(statement, problem, T)
    if statement.statistic == "law":
        return _of_law(path, most)
    if statement.statistic in ("every", "step", "least"):
        return _of_every_run(path, seed)
    limit, number = path.limit(), problem.number
    if statement.is_deterministic:
        value = _of_run(path, np.random.default_rng(seed))
        count = 1
    else:
        try:
            drawn = leaves(lambda stream: _of_run(path, stream), most, number)
            value, count = sum(chance * one for chance, one in drawn), len(drawn)
        except NotEnumerable:
            if not runs:
                raise
            streams = (np.random.default_rng((seed, k)) for k in range(runs))
            value, count = sum(_of_run(path, one) for one in streams) / runs, runs
    return _ratio(value, limit, path.steps or 1, 0.0, count * (path.steps or 1))


def sample_ratio(path: Trajectory, seed: Any) -> float:
    """Return what one run measures over the bound."""
    return float(_of_run(path, np.random.default_rng(seed)) / path.limit())


def _is_noise(value: Any, first: Any) -> bool:
    """Return whether a float is rounding beside what was measured first."""
    return isinstance(value, float) and abs(value) < _NOISE * abs(first)


def _ratio(value: Any, limit: Any, t: int, growth: float, work: int) -> Ratio:
    ratio = value / limit
    if isinstance(ratio, float) and not math.isfinite(ratio):
        raise Skip("a number is not finite")
    return Ratio(ratio, value, limit, t, growth, work)


def _measure(path: Trajectory) -> Callable[[Any], Any]:
    """Return what is measured of a point."""
    of, problem = path.statement.check.quantity, path.problem
    if not isinstance(of, str):
        return lambda x: of(problem, x)
    if of == "objective":
        return problem.objective  # type: ignore[no-any-return]
    if of == SUBOPTIMALITY:
        least = problem.best_known[0]
        return lambda x: problem.objective(x) - least
    if of == "fw_gap" and problem.set.kind != "none":
        return lambda x: problem.gradient(x) @ (x - problem.set.lo(problem.gradient(x)))
    if of == "gradient_mapping_sq" and problem.set.kind == "none" and problem.penalty is None:
        return lambda x: problem.gradient(x) @ problem.gradient(x)
    raise Skip(f"{of} is not defined")


def _of_every_run(path: Trajectory, seed: int) -> Ratio:
    over, best, least, work = path.statement.statistic, None, None, 0
    measured = None if over == "step" else _measure(path)
    of, ratios = path.statement.check.quantity, []
    first: Any = None
    for t, (x, state) in enumerate(path.states(np.random.default_rng(seed))):
        work += 1
        if measured is None:
            moved = max(abs(state.x - x))
            first = moved if first is None else first
            if _is_noise(moved, first):
                break
            value, at = of(path.problem, x, state.x), t
        elif over == "every":
            value, at = measured(state.x), t + 1
        else:
            value, at = measured(x), t
            value = least = value if least is None or value < least else least
        if measured is not None:
            first = measured(path.problem.start()) if first is None else first
            if _is_noise(value, first):
                break
        found = _ratio(value, path.limit(at), at, 0.0, work)
        ratios.append(found.ratio)
        if best is None or found.ratio > best.ratio:
            best = found
    if best is None:
        raise Skip("the method makes no step")
    growth = 0.0
    if len(ratios) > 8 and isinstance(ratios[-1], float) and ratios[len(ratios) // 2] > 0:
        growth = ratios[-1] / ratios[len(ratios) // 2]
    return Ratio(best.ratio, best.measured, best.bound, best.t, growth, work)


def _of_run(path: Trajectory, rng: Any) -> Any:
    """Return what is measured of one run, for a bound in expectation."""
    over, measured, output = path.statement.statistic, _measure(path), None
    uniform = over == "output" and getattr(path.algorithm, "output", "last") == "uniform"
    values, count, last = [], 0, None
    for x, state in path.states(rng):
        count, last, output = count + 1, state.x, state.output
        if over == "mean" or uniform:
            values.append(measured(x if state.at is None else np.array(state.at)))
    if not count or (path.steps and count < path.steps):
        raise Skip("the method makes too few steps")
    if over == "output" and output is not None:
        return measured(output)
    value = sum(values) / len(values) if values else measured(last)
    if isinstance(value, float) and _is_noise(value, measured(path.problem.start())):
        return 0.0
    return value


def _of_law(path: Trajectory, most: int) -> Ratio:
    """Return the largest ratio of a mean square to its law; of a wrong mean, 1 + its size."""
    problem, check = path.problem, path.statement.check
    number = problem.number
    groups: dict[Any, list[Any]] = {}

    def key(point: Any) -> Any:
        return tuple(round(v, 9) if isinstance(v, float) else v for v in point)

    def run(rng: Any) -> list[Any]:
        before, told = problem.start(), list[Any]()
        known: tuple[Any, ...] = ()
        error = 0 * before
        for t, (x, state) in enumerate(path.states(rng)):
            at = np.array(x if state.at is None else state.at)
            if state.estimate is None:
                raise Skip("the method yields no estimate")
            known = (*known, key(at))
            past = Past(t=t, x=at, error=error, step=at - before, problem=problem)
            estimate = np.array(state.estimate)
            error = estimate - problem.gradient(at)
            told.append((known, past, error))
            known, before = (*known, key(estimate)), at
        return told

    drawn = leaves(run, most, number)
    for chance, told in drawn:
        for known, past, error in told:
            group = groups.setdefault(known, [past, 0, 0, 0])
            group[1] += chance
            group[2] = group[2] + chance * error
            group[3] = group[3] + chance * (error @ error)
    best = None
    work = len(drawn) * (path.steps or 1)
    start = problem.gradient(problem.start())
    scale = max([1, *map(abs, start)])
    for past, chance, mean, square in groups.values():
        past = _ExactPast(past)
        law = check.square(path.constants, path.parameters, past)
        value = square / chance
        found = []
        if law > 0:
            found.append(_ratio(value, law, past.t, 0.0, work))
            if check.exact and value > 0:
                found.append(_ratio(law, value, past.t, 0.0, work))
        if check.mean is not None:
            off = mean / chance - check.mean(path.constants, path.parameters, past)
            away = max(map(abs, off)) / scale
            if away > (1e-9 if isinstance(away, float) else 0):
                found.append(Ratio(1 + away, 1 + away, 1, past.t, 0.0, work))
        for one in found:
            if best is None or one.ratio > best.ratio:
                best = one
    if best is None:
        raise Skip("the law is 0")
    return best


class _ExactPast:
    """A `Past` whose squares stay in the arithmetic of the replay."""

    def __init__(self, past: Past) -> None:
        self.t, self.x, self.error, self.step = past.t, past.x, past.error, past.step
        self.problem = past.problem
        self.error_sq, self.step_sq = past.error @ past.error, past.step @ past.step
