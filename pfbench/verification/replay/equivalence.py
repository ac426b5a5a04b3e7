"""Equivalence of a faulty and the correct method: equal runs and schedules, up to rounding.

A fault is *equivalent* if the faulty method has the same iterates, outputs, estimates, counts and
schedule parameters as the correct method. Short runs are compared on small problems. Late faults
are compared in long runs, on the cases on which methods are compared with their references.
"""

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.catalogue import ALGORITHMS
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
from pfbench.verification.replay.draw_streams import draw_cases_and_run_counts
from pfbench.verification.replay.replay_instances import ReplayCase, iterate_replay_cases
from pfbench.verification.units import SHORT

_ACCURACY = 1e-9
"""Relative difference between numbers that counts as rounding."""

_SHORT_STEPS = 12

_LONG = 300
"""Number of iterations from which a run counts as long."""

_SEEDS = range(4)

_ALWAYS = frozenset({"iterations", "batch", "period"})
"""Parameters that are set even if they have a default, if a method has them."""

CASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Parameters and constants of the compared runs and schedules, by purpose."""


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


def find_equivalence(fault: Fault) -> Literal["runs", "at size", ""]:
    """Return "runs" for an equivalent fault, "at size" for an equivalent late one, else "".

    Late faults of methods that are not built-in count as not equivalent.
    """
    try:
        faulty = compile_faulty_algorithm(fault)
    except Exception:  # whatever it raises: it is not even imported
        return ""
    if fault.is_late:
        return "at size" if _long_runs_equal(faulty, fault.correct_algorithm_class) else ""
    right = fault.algorithm
    choices = range(len(_parameter_choices(right)))
    is_same = _schedules_equal(faulty, right) and all(
        _runs_equal(faulty, right, k) for k in choices
    )
    return "runs" if is_same else ""


# --- schedules ------------------------------------------------------------------------------------


def _schedules_equal(method: Any, reference: Any) -> bool:
    pairs = zip(_iterate_theory_outcomes(method), _iterate_theory_outcomes(reference), strict=True)
    return all(a.is_same(b) for a, b in pairs)


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


def _runs_equal(method: Any, reference: Any, choice_index: int) -> bool:
    """Return whether the runs of two methods agree for one choice of parameters.

    The runs are compared on all small problems, with several seeds.
    """
    parameters = _parameter_choices(reference)[choice_index]
    return all(
        _is_same_run(method, reference, parameters, _make_small_problem(reference, index), seed)
        for index in range(2)
        for seed in _SEEDS
    )


def _long_runs_equal(method: Any, reference: Any) -> bool:
    """Return whether the long runs of a faulty and a built-in method agree."""
    return reference in ALGORITHMS.values() and all(
        _is_same_run(method, reference, case.parameters, case.problem(), 1, case.max_recorded_steps)
        for case in _long_cases(reference)
    )


def _long_cases(method: Any) -> Iterator[ReplayCase]:
    """Yield the problems and parameters of the long runs on which a fault is tested."""
    # What changes large indices alone shows where draws are tested, among many components.
    draw_cases = (case for case, _ in draw_cases_and_run_counts(method))
    for case in (*draw_cases, *iterate_replay_cases(method, "full")):
        if case.horizon >= (_LONG // 2 + 1 if case.is_extreme else _LONG):
            yield case


def _is_same_run(
    method: Any,
    reference: Any,
    parameters: Mapping[str, Any],
    problem: Problem,
    seed: int,
    max_steps: int = _SHORT_STEPS,
) -> bool:
    ledger = Ledger()
    right = _observe_run(reference, parameters, problem, seed, max_steps, ledger)
    # A run that spends more differs, and may be endless.
    budget = {name: number + 1 for name, number in ledger.counts().as_dict().items()}
    limited = Ledger(Budget(**budget))
    return _observe_run(method, parameters, problem, seed, max_steps, limited).is_same(right)


def _observe_run(
    algorithm: Any,
    parameters: Mapping[str, Any],
    problem: Problem,
    seed: int,
    max_steps: int,
    ledger: Ledger,
) -> RunOutcome:
    """Run an algorithm, and return its states, its counts and the error that ended it."""
    words: list[str] = []
    numbers: list[Any] = []
    try:
        created: Any = algorithm(**parameters) if inspect.isclass(algorithm) else algorithm
        words.append(str(getattr(created, "output", "")))
        weight = getattr(created, "output_weight", None)
        # The weights of a draw matter up to a common factor.
        numbers += [float(weight(k) / weight(1)) for k in (2, 3)] if weight else []
        streams = {"oracles": np.random.default_rng(0), "algorithm": np.random.default_rng(seed)}
        run = Steps(problem, created, ledger=ledger, bundle=Oracles, streams=streams)
        for state in islice(run.states, max_steps):
            words.append("".join("-" if part is None else "x" for part in state))
            numbers += [np.array(part, dtype=float) for part in state if part is not None]
            numbers.append(np.array(ledger.counts_array, dtype=float))
    except (Exception, BudgetExhausted) as error:  # the run's end is what is seen of it
        words.append(type(error).__name__)
    numbers.append(np.array(ledger.counts_array, dtype=float))
    return RunOutcome(tuple(words), np.concatenate([np.ravel(number) for number in numbers]))


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


def _make_small_problem(reference: Any, problem_index: int) -> Problem:
    """Return a small problem that meets the method's requirements.

    The objective is convex for the index 0, and not convex for the index 1.
    """
    features, labels = draw_synthetic_rows(rows=11, columns=4, seed=1 + problem_index)
    is_complete = "smooth" in getattr(reference, "requires", ())
    if problem_index == 0:
        return LogCosh(features, labels, WholeSpace(4) if is_complete else L2Ball(4, 0.6))
    return RobustRegression(features, labels, WholeSpace(4) if is_complete else L1Ball(4, 1.5))
