"""Checks that runs of a method with equal seeds are equal.

They fail if the method draws from a generator that it creates itself.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from pfbench.base.protocols import Algorithm, Problem
from pfbench.verification.instruments.enumerated_random import NotEnumerable, NotRepeatable
from pfbench.verification.statistics import Decision
from pfbench.verification.subject import MethodFailed
from pfbench.verification.trial import Trial

UNREPEATABLE = "unrepeatable"
"""Key among the measured values of a method whose runs cannot be repeated."""

WORDS = "Its runs cannot be repeated: it draws from a generator that it creates, not from rng"

_RUNS = 20
"""Number of runs: two fair coins in each run agree in all of them with a chance below 1e-11."""

_GENERATORS = frozenset(
    {"default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "Philox", "Random"}
)
"""Names of functions and classes that create a generator."""


def check_reproducible(
    trial: Trial, problem: Problem, algorithm: Algorithm, steps: int | None = None
) -> None:
    """Raise `NotRepeatable` if runs of a user-defined method with equal seeds differ.

    The first `steps` steps are compared, by default all. Built-in methods are not checked, because
    pfbench's tests ensure that they draw only from the passed generator.

    Raises
    ------
    NotRepeatable
        If two runs with one seed differ.
    """
    reference = trial.subject.algorithm is not None
    if not reference and type(algorithm).__module__.startswith("pfbench."):
        return
    first = range(_RUNS)
    if len({_run_fingerprint(trial, problem, algorithm, 0, steps) for _ in first}) > 1:
        raise NotRepeatable(f"{WORDS[0].lower()}{WORDS[1:]}")


def check_seed_changes_runs(trial: Trial, problem: Problem, algorithm: Algorithm) -> None:
    """Raise `MethodFailed` if a method creates its own random generator and ignores the seed.

    Raises
    ------
    MethodFailed
        If the method creates a generator, and runs with different seeds are equal.
    """
    if not _creates_random_generator(type(algorithm)):
        return
    if len({_run_fingerprint(trial, problem, algorithm, seed) for seed in range(_RUNS)}) == 1:
        raise MethodFailed(
            "the method creates and seeds a random generator, so its draws ignore the given seed "
            "and their distribution cannot be tested: draw from rng"
        )


def mark_unrepeatable(decision: Decision, error: NotEnumerable) -> Decision:
    """Return the decision, marked in its measured values if runs cannot be repeated."""
    if not isinstance(error, NotRepeatable):
        return decision
    return replace(decision, measured={**decision.measured, UNREPEATABLE: True})


def _run_fingerprint(
    trial: Trial, problem: Problem, algorithm: Algorithm, seed: int, steps: int | None = None
) -> bytes:
    """Return the bytes of all iterates and gradient estimates of a run."""
    states = (step.state for step in trial.follow(problem, algorithm, seed=seed))
    parts = (part for state in islice(states, steps) for part in (state.x, state.estimate))
    return b"".join(part.tobytes() for part in parts if isinstance(part, np.ndarray))


def _creates_random_generator(kind: type) -> bool:
    """Return whether the code of a class, or of functions that it uses, creates a generator."""
    return any(_GENERATORS & set(code.co_names) for code in _iterate_reachable_code(kind))


def _iterate_reachable_code(kind: type) -> Iterator[CodeType]:
    """Yield the code of a class's methods, and of the functions in its module that they use.

    Each object is visited once, and no code is executed.
    """
    waiting: list[Any] = [
        value
        for base in kind.__mro__
        if not base.__module__.startswith(("pfbench.", "builtins"))
        for value in vars(base).values()
    ]
    visited: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in visited:
            continue
        visited.add(id(value))
        if isinstance(value, CodeType):
            yield value
            waiting += value.co_consts
        elif isinstance(value, FunctionType):
            named = (value.__globals__.get(name) for name in value.__code__.co_names)
            home = value.__module__
            waiting += [f for f in named if isinstance(f, FunctionType) and f.__module__ == home]
            waiting += [value.__code__, vars(value).get("__wrapped__")]
        elif isinstance(value, classmethod | staticmethod):
            waiting.append(value.__func__)
        elif isinstance(value, property):
            waiting += [value.fget, value.fset]
        elif isinstance(value, partial | cached_property):
            waiting.append(value.func)
