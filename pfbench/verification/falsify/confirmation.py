"""Confirmation of a candidate: exact rationals, else 50 digits, else an e-process."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from pfbench.verification.falsify.evaluation import Ratio, evaluate_ratio, measure_run
from pfbench.verification.falsify.exact_numbers import Digits, Inexact, Number, RationalOrRoot
from pfbench.verification.falsify.genomes import list_positions
from pfbench.verification.falsify.search import Entry, describe_error
from pfbench.verification.falsify.searched_problem import Skip, build_problem
from pfbench.verification.falsify.sources import claim_module, load_exact_module
from pfbench.verification.falsify.statement import SearchedStatement, list_statements, prepare_run
from pfbench.verification.instruments.enumerated_random import MOST_BRANCHES
from pfbench.verification.statistics import LEVEL, EProcess
from pfbench.verification.user_claims import collect_paper

_MIN_EXCESS, _ERROR_FACTOR = 1e-15, 1e6
_REPLAY_SECONDS, _TREE_STEPS = 30.0, 20_000
_RATIONAL_STEPS, _RATIONAL_NUMBERS = 64, 1000


@dataclass(frozen=True)
class Confirmation:
    """A ratio above 1 in an arithmetic; `reason` says why it is not confirmed.

    `record` has the fields of a `Counterexample` that say how it is confirmed.
    """

    reason: str = ""
    result: Ratio = field(default_factory=Ratio)
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_confirmed(self) -> bool:
        """Whether the bound is violated."""
        return not self.reason


def load_exact_statement(statement: SearchedStatement, number: type[Number]) -> SearchedStatement:
    """Return the statement from its module, loaded with another arithmetic."""
    name, module = statement.claim.name, claim_module(statement.claim)
    twin = load_exact_module(module, number)
    claims = [claim for claim in collect_paper(vars(twin).values()).claims if claim.name == name]
    if not claims:
        raise Inexact(f"{module.__name__} states no claim {name} at its top")
    claim = claims[0]
    if isinstance(claim.algorithm, str):
        home = load_exact_module(sys.modules[statement.method.__module__], number)
        claim = replace(claim, algorithm=getattr(home, statement.method.__name__))
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
    Exception
        Whatever user code raises.
    """
    problem = build_problem(entry.genome, number.from_value)
    exact = load_exact_statement(statement, number)
    limit = min(MOST_BRANCHES, int(_TREE_STEPS / max(entry.T, 1) / (1 + problem.d / 4)))
    path = prepare_run(exact, problem, entry.T, deadline)
    result = evaluate_ratio(path, entry.seed, 0, limit)
    if not isinstance(result.ratio, Number):
        raise Inexact("the ratio is a float")
    if not problem.has_optimal_minimiser:
        raise Skip("the minimiser of the instance is not optimal")
    return result, problem


def confirm_entry(
    statement: SearchedStatement, entry: Entry, deadline: float, mean_test: Any = None
) -> Confirmation:
    """Return whether the bound is violated on an instance, in rationals or in digits.

    With `mean_test`, the entropy of its seeds and the number of its runs, by an e-process.
    """
    deadline, reason = min(deadline, monotonic() + _REPLAY_SECONDS), statement.refusal
    methods: list[Callable[..., Confirmation]] = [_confirm_in_rationals, _confirm_in_digits]
    methods = [partial(_confirm_mean, *mean_test)] if mean_test else methods
    for confirm in methods if not reason else ():
        try:
            return confirm(statement, entry, deadline)
        except Skip as error:
            return Confirmation(str(error))
        except Exception as error:  # user code may raise anything
            reason = describe_error(error)
    return Confirmation(reason)


def _confirm_in_rationals(
    statement: SearchedStatement, entry: Entry, deadline: float
) -> Confirmation:
    if entry.T > _RATIONAL_STEPS or len(list_positions(entry.genome)) > _RATIONAL_NUMBERS:
        raise Inexact("too many steps or numbers")
    result, problem = replay_entry(statement, entry, RationalOrRoot, deadline)
    reason = "" if result.ratio > 1 else "the exact ratio is at most 1"
    record = {"arithmetic": "rational", "ratio_exact": str(result.ratio)}
    return Confirmation(reason, result, record | _list_constants(problem))


def _confirm_in_digits(statement: SearchedStatement, entry: Entry, deadline: float) -> Confirmation:
    low, high = (Digits.make_type(digits) for digits in (50, 100))
    result, problem = replay_entry(statement, entry, low, deadline)
    finer, _ = replay_entry(statement, entry, high, deadline)
    error = abs(float(finer.ratio.value - result.ratio.value))
    excess = float(finer.ratio.value - 1)
    reason = "" if excess > max(_MIN_EXCESS, _ERROR_FACTOR * error) else f"{excess:.3g} is rounding"
    if not Digits.comparisons_agree(low, high):
        reason = "rounding decides a comparison"
    record = {"arithmetic": "50 digits", "ratio_exact": f"{result.ratio.value:.50f}"}
    record |= {"error_bound": error} | _list_constants(problem)
    return Confirmation(reason, result, record)


def _list_constants(problem: Any) -> dict[str, Any]:
    values, read = problem.constants(), sorted(problem.read - {"L", "n", "d"})
    upper = {name: " (upper bound)" for name in read if name[0] == "L" and problem.is_chain}
    constants = {name: f"{getattr(values, name)}{upper.get(name, '')}" for name in read}
    return {"constants": constants}


def _confirm_mean(
    entropy: Any, limit: int, statement: SearchedStatement, entry: Entry, deadline: float
) -> Confirmation:
    """Test the mean over runs by an e-process, on seeds that are used nowhere else."""
    path = prepare_run(statement, build_problem(entry.genome), entry.T, deadline)
    process = EProcess(1.0, 1 / LEVEL)
    bound, total, runs = float(path.limit()), 0.0, 0
    for child in np.random.SeedSequence(entropy).spawn(limit):
        ratio = float(measure_run(path, np.random.default_rng(child)) / bound)
        total, runs = total + ratio, runs + 1
        process.add(max(ratio * (1.0 - 1e-9), 0.0))
        mean = total / runs
        if process.has_rejected:
            e_value = float(np.exp(min(process.log_largest, 700.0)))
            record = {"arithmetic": "e-process", "e_value": e_value, "runs": runs}
            result = Ratio(mean, mean * bound, bound, path.steps or 1)
            return Confirmation("", result, record | _list_constants(path.problem))
        if monotonic() > deadline or (runs >= 200 and mean < 1.0):
            break
    return Confirmation(f"{runs} runs do not decide (mean {total / max(runs, 1):.3g})")
