"""Remarks on a claim before any search: what a reader would ask first."""

import re
from typing import Any

from pfbench.verification.claim import Claim
from pfbench.verification.homogeneity import check_claim
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.error_law import ErrorLaw
from pfbench.verification.statements.quantity import is_count
from pfbench.verification.trial import claim_method

_NEUTRAL = {0, 1, 2, 3, 4, 0.5}


def lint(claim: Claim) -> tuple[str, ...]:
    """Return remarks on a claim, a sentence each; none on one that is complete."""
    check: Any = claim.check
    if not isinstance(check, Bound | ErrorLaw):
        return ()
    remarks = [*_quantifiers(claim, check), *_horizon(check), *_constants(check)]
    if isinstance(check, Bound):
        remarks += [*_expectation(claim, check), *_units(claim), *_assumptions(claim, check)]
    return tuple(remarks)


def _quantifiers(claim: Claim, check: Any) -> list[str]:
    text = claim.statement.lower()
    some = re.search(r"\b(exists?|for some|there is|eventually|sufficiently|large enough)\b", text)
    if some:
        return [
            f'The statement says "{some[0]}", and the bound is searched for every T and instance.'
        ]
    return []


def _horizon(check: Any) -> list[str]:
    settings = [check.setting] if isinstance(check, ErrorLaw) else check.settings.values()
    unlimited = any(setting.horizon("quick") is None for setting in settings)
    if isinstance(check, Bound) and not is_count(check.quantity) and unlimited:
        words = "The number of steps is fixed: write `parameters` as a function of T to have every"
        return [f"{words} T searched."]
    return []


def _constants(check: Any) -> list[str]:
    """Return a remark on numbers in a bound that are probably constants without a name."""
    functions = [check.square] if isinstance(check, ErrorLaw) else list(check.bounds.values())
    numbers: set[Any] = set()
    for function in functions:
        code = getattr(function, "__code__", None)
        for value in () if code is None else code.co_consts:
            if isinstance(value, int | float) and not isinstance(value, bool):
                numbers.add(value)
    odd = sorted(v for v in numbers - _NEUTRAL if v != int(v) and abs(v) < 1e6 and _is_long(v))
    if odd:
        words = ", ".join(f"{v:g}" for v in odd)
        return [f"The bound has a constant without a name: {words}."]
    return []


def _is_long(value: float) -> bool:
    return len(repr(float(value)).replace(".", "").strip("0")) > 3


def _expectation(claim: Claim, check: Bound) -> list[str]:
    random = not getattr(claim_method(claim), "deterministic", False)
    says = re.search(r"\bE\b|E\[|\bexpect|\bmean\b", claim.statement)
    if random and says and check.statistic in ("every", "step", "least"):
        return [
            f'The statement is about an expectation, and statistic="{check.statistic}" tests single runs: '
            'use statistic="mean", "last" or "output".'
        ]
    return []


def _units(claim: Claim) -> list[str]:
    if claim.scale_dependence or not claim.instances:
        return []
    units = check_claim(claim)
    if units.homogeneous is False:
        return [f"The bound is not homogeneous in the units of f and x ({units.description})."]
    return []


def _assumptions(claim: Claim, check: Bound) -> list[str]:
    stated = " ".join((*claim.assumptions, *getattr(claim_method(claim), "assumes", ())))
    names = {name for bound in check.bounds.values() for name in _names(bound)}
    if "mu" in names and "strong" not in stated:
        return ["The bound has mu, and no assumption says that f is strongly convex."]
    if check.quantity == "suboptimality" and "convex" not in stated:
        return ["The bound is on f - min f, and no assumption says that f is convex."]
    return []


def _names(function: Any) -> set[str]:
    code = getattr(function, "__code__", None)
    return set() if code is None else set(code.co_names)
