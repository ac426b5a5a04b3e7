"""Confirmation of a candidate: exact rationals, else 50 digits, else an e-process."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time
from types import ModuleType
from typing import Any

import numpy as np

from pfbench.verification.claim import Claim
from pfbench.verification.falsify.bodies import Genome, Skip
from pfbench.verification.falsify.exact_module import load_exact
from pfbench.verification.falsify.numbers import Digits, Exact, Inexact, Number, comparisons_agree
from pfbench.verification.falsify.problems import build, exact_number
from pfbench.verification.falsify.statement import (
    Ratio,
    Statement,
    evaluate,
    sample_ratio,
    statements,
    trajectory,
)
from pfbench.verification.instruments.enumerated_random import MOST_BRANCHES, NotEnumerable
from pfbench.verification.statistics import LEVEL, EProcess

DIGITS = (50, 100)

_LEAST_EXCESS, _ERRORS = 1e-15, 1e6


@dataclass(frozen=True)
class Confirmation:
    """A ratio that is above 1 in an arithmetic; `reason` says why it is not confirmed."""

    found: Ratio | None = None
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


def exact_statement(statement: Statement, number: type[Number]) -> Statement:
    """Return the statement from its module, loaded with another arithmetic."""
    module = module_of(statement.claim)
    twin = load_exact(module, number)
    claim = _find(vars(twin).values(), statement.claim.name)
    if claim is None:
        raise Inexact(f"{module.__name__} states no claim {statement.claim.name} at its top")
    algorithm = claim.algorithm
    if isinstance(algorithm, str):
        known = statement.method
        home = load_exact(sys.modules[known.__module__], number)
        claim = replace(claim, algorithm=getattr(home, known.__name__))
    return next(one for one in statements(claim, statement.allowed) if one.label == statement.label)


def module_of(claim: Claim) -> ModuleType:
    """Return the module that states a claim."""
    check: Any = claim.check
    functions = [getattr(check, "square", None), *getattr(check, "bounds", {}).values()]
    name = next(one.__module__ for one in functions if one is not None)
    module = sys.modules.get(name)
    return importlib.import_module(name) if module is None else module


def _find(values: Any, name: str) -> Claim | None:
    for value in list(values):
        if isinstance(value, Claim) and value.name == name:
            return value
        parts = value.values() if isinstance(value, dict) else value
        if (isinstance(value, list | tuple | dict) and value is not parts) or isinstance(
            value, list | tuple
        ):
            found = _find(
                [one for one in parts if isinstance(one, Claim | list | tuple | dict)], name
            )
            if found is not None:
                return found
    return None


def replay(
    statement: Statement, genome: Genome, T: int, seed: int, number: type[Number]
) -> tuple[Ratio, Any]:
    """Return the ratio in another arithmetic, and the problem.

    Raises
    ------
    Inexact
        If the computation leaves the arithmetic, or a draw cannot be enumerated.
    """
    try:
        problem = build(genome, exact_number(number))
        found = evaluate(
            exact_statement(statement, number),
            problem,
            T or None,
            seed=seed,
            most=min(MOST_BRANCHES, 200_000 // max(T, 1)),
            runs=0,
        )
    except (Skip, Inexact, NotEnumerable):
        raise
    except Exception as error:
        raise Inexact(f"{type(error).__name__}: {error}") from error
    if not isinstance(found.ratio, Number):
        raise Inexact("the ratio is a float")
    return found, problem


def confirm(statement: Statement, genome: Genome, T: int, seed: int) -> Confirmation:
    """Return whether the bound is violated on an instance, in rationals or in digits."""
    unknown = statement.unknown_conditions()
    if unknown:
        return Confirmation(reason=f"assumptions that are not understood: {'; '.join(unknown)}")
    try:
        if T <= 64:
            found, problem = replay(statement, genome, T, seed, Exact)
            if not found.ratio > 1:
                return Confirmation(found=found, reason="the exact ratio is at most 1")
            return Confirmation(found, "rational", str(found.ratio), constants=_constants(problem))
    except Skip as error:
        return Confirmation(reason=str(error))
    except (Inexact, NotEnumerable):
        pass
    try:
        return _in_digits(statement, genome, T, seed)
    except (Skip, Inexact, NotEnumerable, ArithmeticError) as error:
        return Confirmation(reason=str(error) or type(error).__name__)


def _in_digits(statement: Statement, genome: Genome, T: int, seed: int) -> Confirmation:
    kinds = [Digits.kind(digits) for digits in DIGITS]
    found, problems = zip(
        *(replay(statement, genome, T, seed, kind) for kind in kinds), strict=True
    )
    low, high = (one.ratio.value for one in found)
    error = abs(float(high - low))
    excess = float(high - 1)
    first = found[0]
    if not comparisons_agree(kinds[0].differences, kinds[1].differences):
        return Confirmation(found=first, reason="rounding decides a comparison")
    if not excess > max(_LEAST_EXCESS, _ERRORS * error):
        return Confirmation(found=first, reason=f"the excess {excess:.3g} is rounding")
    return Confirmation(first, "50 digits", f"{low:.50f}", error, constants=_constants(problems[0]))


def _constants(problem: Any) -> tuple[tuple[str, str], ...]:
    stated = problem.constants(problem.start())
    upper = " (upper bound)" if getattr(problem, "is_chain", False) else ""
    return tuple(
        (name, f"{getattr(stated, name)}{upper if name.startswith('L') else ''}")
        for name in sorted(problem.read - {"L", "n", "d"})
    )


def test_mean(
    statement: Statement, genome: Genome, T: int, entropy: tuple[int, ...], most: int, until: float
) -> Confirmation:
    """Test the mean over runs by an e-process, on seeds that are used nowhere else."""
    if unknown := statement.unknown_conditions():
        return Confirmation(reason=f"assumptions that are not understood: {'; '.join(unknown)}")
    path = trajectory(statement, build(genome), T or None)
    process = EProcess(1.0, 1 / LEVEL)
    seeds = np.random.SeedSequence(entropy)
    total, runs = 0.0, 0
    for child in seeds.spawn(most):
        ratio = sample_ratio(path, child)
        total, runs = total + ratio, runs + 1
        process.add(max(ratio * (1.0 - 1e-9), 0.0))
        if process.has_rejected:
            mean = total / runs
            value = Ratio(mean, mean * float(path.limit()), float(path.limit()), path.steps or 1)
            return Confirmation(
                value,
                "e-process",
                e_value=float(np.exp(min(process.log_largest, 700.0))),
                runs=runs,
                constants=_constants(path.problem),
            )
        if process_time() > until or (runs >= 200 and total / runs < 1.0):
            break
    return Confirmation(reason=f"{runs} runs do not decide (mean {total / max(runs, 1):.3g})")


Confirm = Callable[[Genome, int, int], Confirmation]
