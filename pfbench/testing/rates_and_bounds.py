"""Checks that any solver has a convergence rate or keeps a bound, with pfbench's verdicts."""

import math
import warnings
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.function_methods import can_be_algorithm, method_class
from pfbench.testing.failure_messages import fail, format_call

if TYPE_CHECKING:
    from pfbench.verification.verdict import Verdict

__tracebackhide__ = True  # of pytest

_TARGETS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.003)


def rate(
    solver: Any,
    exponent: float,
    *,
    on: Any,
    targets: Sequence[float] = _TARGETS,
    count: str = "sfo",
    measure: Any = "fw_gap",
    parameters: Any = MappingProxyType({}),
    effort: str = "quick",
    seed: int = 0,
) -> "Verdict":
    """Check that a solver's oracle calls until a target grow at most like target^-exponent.

    The exponent is the median over seeds of least-squares slopes, from 7, 20 or 41 seeds. A rate
    states no constant, so finite runs never confirm it beyond their largest horizon. The verdict on
    an easy problem may also be *holds* although the rate is false for the problem class.

    Parameters
    ----------
    solver
        A plain function for `pfbench.adapters.method_class`, or any method of pfbench.
    exponent
        The claimed exponent.
    on
        The problem: a name, an object, or a function that returns a problem.
    targets
        Values of the measure, over 1.5 decades at least.
    count
        Kind of calls: "sfo", "fo", "lo", "po", "hvp", "sso", "fv".
    measure
        A measure by name, or a function of (problem, x).
    parameters
        Parameters of the solver, or a function of the problem's constants that returns them.
    effort, seed
        As in `pfbench.verify`.

    Returns
    -------
    Verdict
        The verdict, with its evidence; an inconclusive one also issues a warning.

    Raises
    ------
    AssertionError
        If the rate is violated, or the method failed.
    InputError
        If an argument is out of range.
    """
    from pfbench.verification.statements.rate import rate as stated

    if not (len(set(targets)) > 1 and 0.0 < min(targets) <= max(targets) < math.inf):
        raise InputError(f"targets={targets} must be different positive numbers, two at least.")
    check = stated(
        exponent,
        targets,
        measure=measure,
        count=count,
        parameters=parameters if callable(parameters) else dict(parameters),
        decades=min(1.5, 0.99 * math.log10(max(targets) / min(targets))),
    )
    statement = f"calls ({count}) to a target of {measure} are of order target^-{exponent:g}"
    verification: Any = {"effort": effort, "seed": seed}
    request = {"targets": targets, "count": count, "measure": measure, "parameters": parameters}
    call = format_call(rate, solver, exponent, on=on, **request, **verification)
    return _decide(check, statement, solver, on, call, **verification)


def bound(
    solver: Any,
    formula: Callable[..., float],
    measure: Any = "fw_gap",
    *,
    on: Any,
    statistic: str = "every",
    parameters: Any = MappingProxyType({}),
    effort: str = "quick",
    seed: int = 0,
) -> "Verdict":
    """Check that a measure of a solver's run is at most the value of a formula.

    The formula depends on the problem's constants and on the solver's parameters.

    Parameters
    ----------
    solver, on, effort, seed
        As in `rate`.
    formula
        Function ``formula(c, a)`` of constants such as `c.L_f` and parameters such as
            `a.iterations`; also of the iteration t if the bound is on every iterate.
    measure
        A measure by name, a kind of calls, or a function of (problem, x).
    statistic
        "every" iterate, "least", or in expectation "mean", "last", "output"; see
        `pfbench.claims.bound`.
    parameters
        As in `rate`. If they include `iterations`, longer horizons are tested, too.

    Returns
    -------
    Verdict
        As in `rate`.

    Raises
    ------
    AssertionError
        If the bound is violated, or the method failed.
    InputError
        If an argument is out of range.
    """
    from pfbench.verification.statements.bound import bound as stated

    arguments = parameters if callable(parameters) else dict(parameters)
    check = stated(formula, measure, statistic=statistic, parameters=arguments)
    verification: Any = {"effort": effort, "seed": seed}
    request = {"statistic": statistic, "parameters": parameters}
    call = format_call(bound, solver, formula, measure, on=on, **request, **verification)
    return _decide(check, f"{measure} is at most its bound", solver, on, call, **verification)


def _decide(
    check: Any, statement: str, solver: Any, on: Any, call: str, **options: Any
) -> "Verdict":
    """Test a statement about a solver; return the verdict, or raise AssertionError if it fails.

    `options` are the effort and the seed of the verification.
    """
    from pfbench.verification.claim import Claim
    from pfbench.verification.session import judge

    claim = Claim(
        name=getattr(solver, "__name__", "solver"),
        statement=statement,
        algorithm=method_class(solver) if can_be_algorithm(solver) else solver,
        instances=(on,) if isinstance(on, str) or callable(on) else (lambda: on,),
        check=check,
    )
    verdict = judge(claim, **options)
    if verdict.verdict in ("violated", "failed"):
        fail([f"{verdict.verdict}: {statement}", f"{verdict}", verdict.reason or "no reason"], call)
    if not verdict.verdict.keeps_bound:
        warnings.warn(f"{verdict.verdict}: {verdict} {verdict.reason}", stacklevel=3)
    return verdict
