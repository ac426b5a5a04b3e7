"""Whether a fault changes anything: on small problems, the same runs, or the same in law.

A fault is *equivalent* if on every fixture all iterates, outputs, estimates and counts, and all
parameters of its schedules, are those of the right method, up to rounding; or else if they are so
in law, by the enumeration of all draws. What cannot be decided is not equivalent.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from pfbench.algorithms.base import parameters_of
from pfbench.base.constants import Constants
from pfbench.base.counts import Budget
from pfbench.base.errors import BudgetExhausted
from pfbench.base.protocols import Problem
from pfbench.oracles import Ledger
from pfbench.problems.linear_models import LogCosh, RobustRegression
from pfbench.problems.rows import synthetic_rows
from pfbench.runs.loop.asking import oracles_of
from pfbench.sets import L1Ball, L2Ball, WholeSpace
from pfbench.verification.faults.compiled import compiled
from pfbench.verification.faults.fault import Fault
from pfbench.verification.instruments.draws import Unscripted, branches
from pfbench.verification.parameters import SHORT

_ACCURACY = 1e-9
"""Relative difference of numbers that rounding explains."""

_DIGITS = 9

_MOST_STEPS = 12

_SEEDS = range(4)

_MOST_SEQUENCES = 3000
"""So many sequences of draws are enumerated at most."""

_BUDGET = Budget(sfo=20_000, lo=2_000, po=2_000, fv=20_000)
"""What a run may spend; the right ones spend far less."""

_ALWAYS = frozenset({"iterations", "batch", "period"})
"""Parameters that are set though they have a default, where a method has them."""

_VARIED: tuple[Mapping[str, Any], ...] = (
    {"output": "last"},
    {"output": "uniform"},
    {"batch": 1, "period": 2},
    {"batch": 40},
    {"period": 1},
    {"iterations": 1},
    {"option": 1},
    {"option": 2},
    {"option": 1, "tolerance": 0.05},
    {"option": "claimed"},
    {"restarts": 2, "iterations": 3},
    {"restarts": 3, "iterations": 3},
    {"restarts": 3, "iterations": 3, "output": "last"},
    {"probability": 0.3, "iterations": 2},
    {"snapshot": 4},
    {"snapshot": 11},
    {"momentum": "convex"},
    {"alpha": 0.6},
    {"alpha": 0.6, "begin": "zero"},
    {"decay": 0.4},
    {"tolerance": 0.3},
    {"tolerance": 1e-3},
    {"smoothness": 0.2},
    {"lam": 0.05},
    {"sampling": "importance"},
    {"step": "open-loop"},
    {"step": "adaptive", "curvature": 2.0},
    {"step": "short", "smoothness": 0.5},
    {"step": "line-search", "curvature": 2.0},
    {"step": "backtracking"},
    {"step": "backtracking", "smoothness": 0.01},
    {"subepochs": 1, "batch": 2},
)
"""Changes of these; one that a method does not take is left out."""

_GIVEN: tuple[Mapping[str, Any], ...] = (
    {},
    {"option": 2},
    {"option": "claimed"},
    {"online": True},
    {"batch": 5},
    {"step": "backtracking"},
    {"step": "backtracking", "smoothness": 9.0},
    {"curvature": 0.4},
    {"sigma": 0.3},
    {"sampling": "importance"},
)
"""What is given to a schedule beside the accuracy."""

_CONSTANTS = (
    Constants(
        n=1000, D=2.0, L_f=1.0, L_ms=1.5, L_max=3.0, L2_ms=0.7, sigma2=0.9, delta=0.8, M=1.2,
        sigma_hat=0.05, ell=0.3, L_mean=1.2,
    ),
    Constants(
        n=19, D=0.7, L_f=2.0, L_ms=2.5, L_max=4.0, L2_ms=2.0, sigma2=30.0, delta=11.0, M=0.5,
        sigma_hat=0.4, ell=0.0, L_mean=2.2,
    ),
    Constants(
        n=10**6, D=30.0, L_f=0.3, L_ms=0.4, L_max=0.9, L2_ms=0.01, sigma2=1e-3, delta=0.01, M=19.0,
        sigma_hat=0.2, ell=5.0, L_mean=0.35,
    ),
)  # fmt: skip

_EPSILONS = (0.9, 0.1, 0.013, 1e-3, 2e-5)

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Seen:
    """What a run shows: an array of numbers or a word for each thing that can be compared."""

    words: tuple[str, ...]
    numbers: np.ndarray[Any, np.dtype[np.float64]]

    def is_same(self, other: "Seen") -> bool:
        """Whether another shows the same, up to rounding."""
        return (
            self.words == other.words
            and self.numbers.shape == other.numbers.shape
            and np.allclose(self.numbers, other.numbers, rtol=_ACCURACY, atol=1e-12, equal_nan=True)
        )

    @property
    def rounded(self) -> Values:
        """The words and the numbers to some digits, which can be counted."""
        return (self.words, tuple(np.round(self.numbers, _DIGITS) + 0.0))


def equivalent(fault: Fault) -> str:
    """Return why a fault changes nothing: "runs" or "law"; empty if it does, or is not decided."""
    right = fault.algorithm
    try:
        faulty = compiled(fault)
    except Exception:  # whatever it raises: it is not even imported
        return ""
    if not _same_schedules(faulty, right):
        return ""
    by = "runs"
    for k in range(len(_settings(right))):
        if not _same_runs(faulty, right, k):
            by = "law"
            if not _same_law(faulty, right, k):
                return ""
    return by


def _same_schedules(one: Any, right: Any) -> bool:
    made = zip(_schedules(one), _kept_schedules(right), strict=True)
    return all(a.is_same(b) for a, b in made)


def _same_runs(one: Any, right: Any, k: int) -> bool:
    """Whether runs with the parameters k are the same."""
    keys = [(k, p, seed) for p in range(2) for seed in _SEEDS]
    return all(_run(one, right, *key).is_same(_kept_run(right, *key)) for key in keys)


# --- schedules ------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _kept_schedules(algorithm: Any) -> list[Seen]:
    return list(_schedules(algorithm))


def _schedules(algorithm: Any) -> Iterator[Seen]:
    """Yield the parameters of a theorem's schedules, or the name of what it raises."""
    theory = getattr(algorithm, "theory", None)
    for constants in _CONSTANTS if theory else ():
        for epsilon in _EPSILONS:
            for given in _GIVEN:
                yield _parameters(theory, epsilon, constants, given)


def _parameters(theory: Any, epsilon: float, constants: Constants, given: Any) -> Seen:
    try:
        made = theory(epsilon, constants, **given)
    except Exception as error:  # it refuses, or a fault makes it raise whatever it is
        return Seen((type(error).__name__,), np.empty(0))
    values = parameters_of(made) or vars(made)
    numbers = {n: v for n, v in values.items() if isinstance(v, int | float)}
    words = [f"{n}={v!r}" for n, v in values.items() if n not in numbers]
    return Seen((*words, *numbers), np.array([float(v) for v in numbers.values()]))


# --- runs -----------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def _kept_run(right: Any, k: int, p: int, seed: int) -> Seen:
    return _run(right, right, k, p, seed)


def _run(one: Any, right: Any, k: int, p: int, seed: int) -> Seen:
    """Run with the parameters k on problem p; which they are depends on the right method."""
    rng = np.random.default_rng(seed)
    return _shown(one, _settings(right)[k], _problem(right, p), rng)


@lru_cache(maxsize=8)
def _settings(right: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the parameters with which a method is run."""
    if not inspect.isclass(right):
        return ({},)
    known = inspect.signature(right).parameters
    needed = {n for n, p in known.items() if p.default is p.empty} | (_ALWAYS & set(known))
    usual = {name: value for name, value in SHORT.items() if name in needed}
    others = [{**usual, **change} for change in _VARIED if set(change) <= set(known)]
    return (usual, *(one for one in others if _can_be_made(right, one)))


def _can_be_made(kind: Any, wanted: Mapping[str, Any]) -> bool:
    try:
        kind(**wanted)
    except Exception:  # InputError, or whatever somebody's class raises
        return False
    return True


@lru_cache(maxsize=8)
def _problem(right: Any, p: int) -> Problem:
    """Return a small problem that offers what the algorithm requires, convex or not."""
    features, labels = synthetic_rows(rows=11, columns=4, seed=1 + p)
    whole = "smooth" in getattr(right, "requires", ())
    if p == 0:
        return LogCosh(features, labels, WholeSpace(4) if whole else L2Ball(4, 0.6))
    return RobustRegression(features, labels, WholeSpace(4) if whole else L1Ball(4, 1.5))


def _shown(algorithm: Any, wanted: Mapping[str, Any], problem: Problem, rng: Any) -> Seen:
    """Return the states and counts of a run, and its end."""
    words: list[str] = []
    numbers: list[Any] = []
    ledger = Ledger(_BUDGET)
    try:
        made: Any = algorithm(**wanted) if inspect.isclass(algorithm) else algorithm
        words.append(str(getattr(made, "output", "")))
        weight = getattr(made, "output_weight", None)
        # The weights of a draw matter up to a common factor.
        numbers += [float(weight(k) / weight(1)) for k in (2, 3)] if weight else []
        ask = oracles_of(problem, problem.open(np.random.default_rng(0)), ledger)
        for state in islice(made.run(ask, problem.start(), rng), _MOST_STEPS):
            words.append("".join("-" if part is None else "x" for part in state))
            numbers += [np.array(part, dtype=float) for part in state if part is not None]
            numbers.append(np.array(ledger.spent, dtype=float))
    except Unscripted:
        raise
    except (Exception, BudgetExhausted) as error:  # the run's end is what is seen of it
        words.append(type(error).__name__)
    numbers.append(np.array(ledger.spent, dtype=float))
    return Seen(tuple(words), np.concatenate([np.ravel(one) for one in numbers]))


# --- laws -----------------------------------------------------------------------------------------

_TINY: tuple[Mapping[str, int], ...] = (
    {"n": 3, "iterations": 3, "batch": 2, "snapshot": 2, "restarts": 2},
    {"n": 2, "iterations": 3, "batch": 2, "snapshot": 2, "restarts": 2},
    {"n": 2, "iterations": 2, "batch": 2, "snapshot": 1, "restarts": 2},
)
"""What n is, and parameters are at most, where all draws are enumerated: the first that can be."""


def _same_law(one: Any, right: Any, k: int) -> bool:
    """Whether runs with the parameters k, made small, have the same law on small sums."""
    try:
        for p in range(2):
            sizes, law = _law(right, k, p)
            if not _has_law(_tiny(one, right, k, p, sizes), law):
                return False
        return True
    except Unscripted:
        return False


def _has_law(outcome: Callable[[Any], Values], law: Mapping[Values, float]) -> bool:
    """Whether runs have a law; the first outcome that is too likely decides that they have not."""
    left = dict(law)
    for chance, seen in branches(outcome, _MOST_SEQUENCES):
        left[seen] = left.get(seen, 0.0) - chance
        if left[seen] < -_ACCURACY:
            return False
    return True


@lru_cache(maxsize=64)
def _law(right: Any, k: int, p: int) -> tuple[Mapping[str, int], Mapping[Values, float]]:
    """Return the first of `_TINY` whose draws can be enumerated, and the law of the right method.

    Raises
    ------
    Unscripted
        If there is none.
    """
    for sizes in _TINY:
        with suppress(Unscripted):
            return sizes, _enumerated(_tiny(right, right, k, p, sizes))
    raise Unscripted("it draws too much, however small it is made")


def _enumerated(outcome: Callable[[Any], Values]) -> Mapping[Values, float]:
    law: dict[Values, float] = {}
    for chance, seen in branches(outcome, _MOST_SEQUENCES):
        law[seen] = law.get(seen, 0.0) + chance
    return law


def _tiny(
    one: Any, right: Any, k: int, p: int, sizes: Mapping[str, int]
) -> Callable[[Any], Values]:
    """Return what a run of a method shows with given draws."""
    wanted = {
        name: min(value, sizes[name]) if name in sizes and value is not None else value
        for name, value in _settings(right)[k].items()
    }
    problem = _tiny_problem(right, p, sizes["n"])
    return lambda rng: _shown(one, wanted, problem, rng).rounded


@lru_cache(maxsize=16)
def _tiny_problem(right: Any, p: int, n: int) -> Problem:
    features, labels = synthetic_rows(rows=n, columns=2, seed=5 + p)
    whole = "smooth" in getattr(right, "requires", ())
    return LogCosh(features, labels, WholeSpace(2) if whole else L2Ball(2, 0.8))
