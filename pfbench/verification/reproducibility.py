"""Checks that runs of a method with equal seeds are equal.

They fail if the method draws from a generator that it creates itself.
"""

import inspect
import re
from contextlib import suppress
from dataclasses import replace
from itertools import islice
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

_GENERATORS = re.compile(
    r"\b(default_rng|Generator|RandomState|SeedSequence|PCG64|Philox|Random)\("
)
"""Calls of functions and classes that create a generator."""


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
    """Return whether the source of a user-defined class creates a generator.

    The functions of its module that it names belong to this source.
    """
    source = ""
    for base in kind.__mro__:
        if not base.__module__.startswith(("pfbench.", "builtins")):
            source += _source_of_each(base, *vars(base).values())
            functions = getattr(inspect.getmodule(base), "__dict__", {}).items()
            words = set(re.findall(r"\w+", source))
            source += _source_of_each(*(f for name, f in functions if name in words))
    return _GENERATORS.search(source) is not None


def _source_of_each(*parts: Any) -> str:
    """Return the source of those classes and functions that have one."""
    source = ""
    for part in parts:
        with suppress(Exception):  # as a class that is in no file, or a wrapper of itself
            source += "" if inspect.ismodule(part) else inspect.getsource(part)
    return source
