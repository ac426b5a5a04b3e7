"""Confirmation of a candidate: exact rationals, else 50 digits, else an e-process."""

import importlib
import sys
from dataclasses import dataclass, replace
from time import monotonic
from types import ModuleType
from typing import Any

import numpy as np

from pfbench.verification.claim import Claim
from pfbench.verification.falsify.evaluation import Ratio, evaluate_ratio, sample_ratio
from pfbench.verification.falsify.exact_module import load_exact_module
from pfbench.verification.falsify.exact_numbers import (
    Digits,
    Exact,
    Inexact,
    Number,
    comparisons_agree,
)
from pfbench.verification.falsify.search import Entry
from pfbench.verification.falsify.searched_problem import build_problem, number_maker
from pfbench.verification.falsify.searched_set import Skip
from pfbench.verification.falsify.statement import SearchedStatement, list_statements, prepare_run
from pfbench.verification.instruments.enumerated_random import MOST_BRANCHES, NotEnumerable
from pfbench.verification.statistics import LEVEL, EProcess
from pfbench.verification.user_claims import collect_paper

_MIN_EXCESS, _ERROR_FACTOR = 1e-15, 1e6
_REPLAY_SECONDS, _RATIONAL_STEPS, _TREE_STEPS = 30.0, 64, 20_000


@dataclass(frozen=True)
class Confirmation:
    """A ratio above 1 in an arithmetic; `reason` says why it is not confirmed."""

    result: Ratio | None = None
    arithmetic: str = ""
    exact: str = ""
    error_bound: float = 0.0
    e_value: float = 0.0
    runs: int = 0
    reason: str = ""
    constants: tuple[tuple[str, str], ...] = ()

    @property
    def is_confirmed(self) -> bool:
        """Whether the bound is violated."""
        return not self.reason


def claim_module(claim: Claim) -> ModuleType:
    """Return the module that states a claim."""
    check: Any = claim.check
    functions = [getattr(check, "square", None), *getattr(check, "bounds", {}).values()]
    name = next(function.__module__ for function in functions if function is not None)
    return sys.modules.get(name) or importlib.import_module(name)


def load_exact_statement(statement: SearchedStatement, number: type[Number]) -> SearchedStatement:
    """Return the statement from its module, loaded with another arithmetic."""
    module = claim_module(statement.claim)
    twin = load_exact_module(module, number)
    named = (c for c in collect_paper(vars(twin).values()).claims if c.name == statement.claim.name)
    claim = next(named, None)
    if claim is None:
        raise Inexact(f"{module.__name__} states no claim {statement.claim.name} at its top")
    if isinstance(claim.algorithm, str):
        method = statement.method
        home = load_exact_module(sys.modules[method.__module__], number)
        claim = replace(claim, algorithm=getattr(home, method.__name__))
    candidates = list_statements(claim, statement.allowed)
    return next(item for item in candidates if item.label == statement.label)


def replay_entry(
    statement: SearchedStatement, entry: Entry, number: type[Number], deadline: float
) -> tuple[Ratio, Any]:
    """Return the ratio in another arithmetic, and the problem.

    Raises
    ------
    Inexact
        If the computation leaves the arithmetic.
    NotEnumerable
        If draws cannot be enumerated.
    """
    try:
        problem = build_problem(entry.genome, number_maker(number))
        exact = load_exact_statement(statement, number)
        size = max(entry.T, 1) * (1 + problem.d / 4)
        limit = min(MOST_BRANCHES, int(_TREE_STEPS / size))
        result = evaluate_ratio(
            exact, problem, entry.T, seed=entry.seed, limit=limit, runs=0, deadline=deadline
        )
    except (Skip, Inexact, NotEnumerable):
        raise
    except Exception as error:  # user code may raise anything
        raise Inexact(f"{type(error).__name__}: {error}") from error
    if not isinstance(result.ratio, Number):
        raise Inexact("the ratio is a float")
    if not problem.is_consistent:
        raise Skip("the minimiser of the instance is not optimal")
    return result, problem


def confirm_entry(statement: SearchedStatement, entry: Entry, deadline: float) -> Confirmation:
    """Return whether the bound is violated on an instance, in rationals or in digits."""
    deadline = min(deadline, monotonic() + _REPLAY_SECONDS)
    if unknown := statement.unknown_conditions():
        return Confirmation(reason=f"assumptions that are not understood: {'; '.join(unknown)}")
    try:
        if entry.T <= _RATIONAL_STEPS:
            result, problem = replay_entry(statement, entry, Exact, deadline)
            constants = _list_constants(problem)
            reason = "" if result.ratio > 1 else "the exact ratio is at most 1"
            exact = str(result.ratio)
            return Confirmation(result, "rational", exact, reason=reason, constants=constants)
    except Skip as error:
        return Confirmation(reason=str(error))
    except (Inexact, NotEnumerable):
        pass
    try:
        return _confirm_in_digits(statement, entry, deadline)
    except (Skip, Inexact, NotEnumerable, ArithmeticError) as error:
        return Confirmation(reason=str(error) or type(error).__name__)


def _confirm_in_digits(statement: SearchedStatement, entry: Entry, deadline: float) -> Confirmation:
    low, high = (Digits.make_type(digits) for digits in (50, 100))
    result, problem = replay_entry(statement, entry, low, deadline)
    finer, _ = replay_entry(statement, entry, high, deadline)
    error = abs(float(finer.ratio.value - result.ratio.value))
    excess = float(finer.ratio.value - 1)
    reason = ""
    if not comparisons_agree(low.differences, high.differences):
        reason = "rounding decides a comparison"
    elif not excess > max(_MIN_EXCESS, _ERROR_FACTOR * error):
        reason = f"the excess {excess:.3g} is rounding"
    exact, constants = f"{result.ratio.value:.50f}", _list_constants(problem)
    return Confirmation(result, "50 digits", exact, error, reason=reason, constants=constants)


def _list_constants(problem: Any) -> tuple[tuple[str, str], ...]:
    values = problem.constants()
    upper = " (upper bound)" if problem.is_chain else ""
    return tuple(
        (name, f"{getattr(values, name)}{upper if name.startswith('L') else ''}")
        for name in sorted(problem.read - {"L", "n", "d"})
    )


def test_mean(
    statement: SearchedStatement,
    entry: Entry,
    seeds: np.random.SeedSequence,
    limit: int,
    deadline: float,
) -> Confirmation:
    """Test the mean over runs by an e-process, on seeds that are used nowhere else."""
    if unknown := statement.unknown_conditions():
        return Confirmation(reason=f"assumptions that are not understood: {'; '.join(unknown)}")
    path = prepare_run(statement, build_problem(entry.genome), entry.T, deadline)
    process = EProcess(1.0, 1 / LEVEL)
    bound, constants = float(path.limit()), _list_constants(path.problem)
    total, runs = 0.0, 0
    for child in seeds.spawn(limit):
        ratio = sample_ratio(path, child)
        total, runs = total + ratio, runs + 1
        process.add(max(ratio * (1.0 - 1e-9), 0.0))
        mean = total / runs
        if process.has_rejected:
            result = Ratio(mean, mean * bound, bound, path.steps or 1)
            e_value = float(np.exp(min(process.log_largest, 700.0)))
            return Confirmation(
                result, "e-process", e_value=e_value, runs=runs, constants=constants
            )
        if monotonic() > deadline or (runs >= 200 and mean < 1.0):
            break
    return Confirmation(reason=f"{runs} runs do not decide (mean {total / max(runs, 1):.3g})")
