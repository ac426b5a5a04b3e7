"""Equivalence of a faulty and the correct method on small problems: in their runs or in law.

A fault is *equivalent* if the faulty method has the same iterates, outputs, estimates, counts and
schedule parameters as the correct method. The runs are compared on several small problems, up to
rounding. A fault is also equivalent if these have the same distribution, by enumeration of all
draws. A fault whose distribution cannot be enumerated counts as not equivalent.
"""

import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.constants import Constants
from pfbench.base.counts import Budget
from pfbench.base.errors import BudgetExhausted
from pfbench.base.protocols import Problem
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.linear_models import LogCosh, RobustRegression
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.runs.loop.steps import Steps
from pfbench.sets import L1Ball, L2Ball, WholeSpace
from pfbench.verification.faults.fault import Fault
from pfbench.verification.faults.mutant_compilation import compile_faulty_algorithm
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.units import SHORT

_ACCURACY = 1e-9
"""Relative difference between numbers that counts as rounding."""

_DIGITS = 9

_MOST_STEPS = 12

_SEEDS = range(4)

_MOST_SEQUENCES = 3000
"""Maximum number of sequences of draws that are enumerated."""

_BUDGET = Budget(sfo=20_000, lo=2_000, po=2_000, fv=20_000)
"""Budget of a run; runs of the right method spend far less."""

_ALWAYS = frozenset({"iterations", "batch", "period"})
"""Parameters that are set even if they have a default, if a method has them."""

CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))
"""Parameters, sizes and constants of the compared runs and schedules, by purpose."""

Values = tuple[Any, ...]


@dataclass(frozen=True)
class RunOutcome:
    """Outcome of a run in a form that can be compared: words, and an array of numbers."""

    words: tuple[str, ...]
    numbers: np.ndarray[Any, np.dtype[np.float64]]

    def is_same(self, other: "RunOutcome") -> bool:
        """Return whether two outcomes have equal words, and numbers that agree up to rounding."""
        return (
            self.words == other.words
            and self.numbers.shape == other.numbers.shape
            and np.allclose(self.numbers, other.numbers, rtol=_ACCURACY, atol=1e-12, equal_nan=True)
        )

    @property
    def values_rounded(self) -> Values:
        """Words and rounded numbers of the outcome, as a hashable tuple."""
        return (self.words, tuple(np.round(self.numbers, _DIGITS) + 0.0))


def find_equivalence(fault: Fault) -> Literal["runs", "law", ""]:
    """Return "runs" if a fault keeps all runs, "law" if it keeps only their distribution, else "".

    The result is also empty if equivalence cannot be decided.
    """
    right = fault.algorithm
    try:
        faulty = compile_faulty_algorithm(fault)
    except Exception:  # whatever it raises: it is not even imported
        return ""
    if not _schedules_equal(faulty, right):
        return ""
    by: Literal["runs", "law"] = "runs"
    for k in range(len(_parameter_choices(right))):
        if not _runs_equal(faulty, right, k):
            by = "law"
            if not _laws_equal(faulty, right, k):
                return ""
    return by


def _schedules_equal(method: Any, reference: Any) -> bool:
    created = zip(_iterate_theory_outcomes(method), _run_cached_schedules(reference), strict=True)
    return all(a.is_same(b) for a, b in created)


def _runs_equal(method: Any, reference: Any, choice_index: int) -> bool:
    """Return whether the runs of two methods agree for one choice of parameters.

    The runs are compared on all small problems, with several seeds.
    """
    keys = [(choice_index, p, seed) for p in range(2) for seed in _SEEDS]
    return all(_run(method, reference, *key).is_same(_run_cached(reference, *key)) for key in keys)


# --- schedules ------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _run_cached_schedules(algorithm: Any) -> list[RunOutcome]:
    return list(_iterate_theory_outcomes(algorithm))


def _iterate_theory_outcomes(algorithm: Any) -> Iterator[RunOutcome]:
    """Yield, for each test input, the parameters that `theory` returns or the error it raises."""
    theory = getattr(algorithm, "theory", None)
    cases = product(CASES["constants"], CASES["epsilons"], CASES["schedule_parameters"])
    for numbers, epsilon, parameters in cases if theory else ():
        yield _schedule_outcome(theory, epsilon, Constants(**numbers), parameters)


def _schedule_outcome(theory: Any, epsilon: float, constants: Constants, value: Any) -> RunOutcome:
    try:
        created = theory(epsilon, constants, **value)
    except Exception as error:  # it refuses, or a fault makes it raise whatever it is
        return RunOutcome((type(error).__name__,), np.empty(0))
    values = get_parameters(created) or vars(created)
    numbers = {n: v for n, v in values.items() if isinstance(v, int | float)}
    words = [f"{n}={v!r}" for n, v in values.items() if n not in numbers]
    return RunOutcome((*words, *numbers), np.array([float(v) for v in numbers.values()]))


# --- runs -----------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def _run_cached(reference: Any, choice_index: int, problem_index: int, seed: int) -> RunOutcome:
    return _run(reference, reference, choice_index, problem_index, seed)


def _run(
    method: Any, reference: Any, choice_index: int, problem_index: int, seed: int
) -> RunOutcome:
    """Return the outcome of a run of `method`.

    The parameters and the problem are chosen for the correct method.
    """
    return _observe_run(
        method,
        _parameter_choices(reference)[choice_index],
        _make_small_problem(reference, problem_index),
        np.random.default_rng(seed),
    )


@lru_cache(maxsize=8)
def _parameter_choices(reference: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the combinations of parameters with which a method and its mutant are compared."""
    if not inspect.isclass(reference):
        return ({},)
    parameters = inspect.signature(reference).parameters
    required = {
        name for name, parameter in parameters.items() if parameter.default is parameter.empty
    }
    needed = required | (_ALWAYS & set(parameters))
    usual = {name: value for name, value in SHORT.items() if name in needed}
    rest = [{**usual, **change} for change in CASES["changes"] if set(change) <= set(parameters)]
    return (usual, *(item for item in rest if _can_be_made(reference, item)))


def _can_be_made(kind: Any, requested: Mapping[str, Any]) -> bool:
    try:
        kind(**requested)
    except Exception:  # InputError, or whatever a user's class raises
        return False
    return True


@lru_cache(maxsize=8)
def _make_small_problem(reference: Any, problem_index: int) -> Problem:
    """Return a small problem that meets the method's requirements.

    The objective is convex for the index 0, and not convex for the index 1.
    """
    features, labels = draw_synthetic_rows(rows=11, columns=4, seed=1 + problem_index)
    is_complete = "smooth" in getattr(reference, "requires", ())
    if problem_index == 0:
        return LogCosh(features, labels, WholeSpace(4) if is_complete else L2Ball(4, 0.6))
    return RobustRegression(features, labels, WholeSpace(4) if is_complete else L1Ball(4, 1.5))


def _observe_run(
    algorithm: Any, requested: Mapping[str, Any], problem: Problem, rng: Any
) -> RunOutcome:
    """Run an algorithm, and return its states, its counts and the error that ended it."""
    words: list[str] = []
    numbers: list[Any] = []
    ledger = Ledger(_BUDGET)
    try:
        created: Any = algorithm(**requested) if inspect.isclass(algorithm) else algorithm
        words.append(str(getattr(created, "output", "")))
        weight = getattr(created, "output_weight", None)
        # The weights of a draw matter up to a common factor.
        numbers += [float(weight(k) / weight(1)) for k in (2, 3)] if weight else []
        streams = {"oracles": np.random.default_rng(0), "algorithm": rng}
        run = Steps(problem, created, ledger=ledger, bundle=Oracles, streams=streams)
        for state in islice(run.states, _MOST_STEPS):
            words.append("".join("-" if part is None else "x" for part in state))
            numbers += [np.array(part, dtype=float) for part in state if part is not None]
            numbers.append(np.array(ledger.counts_array, dtype=float))
    except NotEnumerable:
        raise
    except (Exception, BudgetExhausted) as error:  # the run's end is what is seen of it
        words.append(type(error).__name__)
    numbers.append(np.array(ledger.counts_array, dtype=float))
    return RunOutcome(tuple(words), np.concatenate([np.ravel(number) for number in numbers]))


# --- laws -----------------------------------------------------------------------------------------


def _laws_equal(method: Any, reference: Any, choice_index: int) -> bool:
    """Return whether the outcomes of two methods' tiny runs have the same distribution."""
    try:
        for p in range(2):
            sizes, law = _enumerable_sizes_and_law(reference, choice_index, p)
            if not _has_law(_make_tiny_run(method, reference, choice_index, p, sizes), law):
                return False
        return True
    except NotEnumerable:
        return False


def _has_law(outcome: Callable[[Any], Values], law: Mapping[Values, float]) -> bool:
    """Return whether the enumerated outcomes of a run have the distribution `law`.

    Enumeration stops at the first outcome whose probability is too large.
    """
    left = dict(law)
    for chance, visited in enumerate_draws(outcome, _MOST_SEQUENCES):
        left[visited] = left.get(visited, 0.0) - chance
        if left[visited] < -_ACCURACY:
            return False
    return True


@lru_cache(maxsize=64)
def _enumerable_sizes_and_law(
    reference: Any, choice_index: int, problem_index: int
) -> tuple[Mapping[str, int], Mapping[Values, float]]:
    """Return sizes at which all outcomes of a run can be enumerated, with their probabilities.

    The sizes are the first in `CASES`. The probabilities are those of the correct method.

    Raises
    ------
    NotEnumerable
        If no sizes can be enumerated.
    """
    for sizes in CASES["tiny_sizes"]:
        with suppress(NotEnumerable):
            run = _make_tiny_run(reference, reference, choice_index, problem_index, sizes)
            law: dict[Values, float] = {}
            for chance, visited in enumerate_draws(run, _MOST_SEQUENCES):
                law[visited] = law.get(visited, 0.0) + chance
            return sizes, law
    raise NotEnumerable("even the smallest runs make too many draws to enumerate")


def _make_tiny_run(
    method: Any, reference: Any, choice_index: int, problem_index: int, sizes: Mapping[str, int]
) -> Callable[[Any], Values]:
    """Return a function that makes a tiny run with a random generator, and returns its outcome."""
    smallests = {
        name: min(value, sizes[name]) if name in sizes and value is not None else value
        for name, value in _parameter_choices(reference)[choice_index].items()
    }
    problem = _enumerable_problem(reference, problem_index, sizes["n"])
    return lambda rng: _observe_run(method, smallests, problem, rng).values_rounded


@lru_cache(maxsize=16)
def _enumerable_problem(reference: Any, problem_index: int, n: int) -> Problem:
    features, labels = draw_synthetic_rows(rows=n, columns=2, seed=5 + problem_index)
    is_complete = "smooth" in getattr(reference, "requires", ())
    return LogCosh(features, labels, WholeSpace(2) if is_complete else L2Ball(2, 0.8))
