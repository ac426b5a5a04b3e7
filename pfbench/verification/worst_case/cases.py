"""Published bounds on N steps of a method, each with a function that computes the worst case."""

import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pfbench.base.names import check_names
from pfbench.base.status import Verdict
from pfbench.verification.claim import Claim
from pfbench.verification.statistics import Decision, Evidence, combine_all
from pfbench.verification.statistics.decisions import grade_bound_that_holds
from pfbench.verification.trial import Trial
from pfbench.verification.worst_case import methods
from pfbench.verification.worst_case.estimation import TOLERANCE


@dataclass(frozen=True)
class WorstCase:
    """Check that a bound for N steps of a method is not below the computed worst case.

    Attributes
    ----------
    bound
        Function of N that returns the bound.
    compute
        Function of N that returns the computed worst case; NaN if the solver does not find it. Its
        second argument is the smoothness of f, which is 1 in the claim; a planted fault changes it.
    min_bound_share
        The worst case is at least this fraction of the bound for all N up to `max_steps`.
    quick_steps, max_steps
        Largest N of a quick and of a full verification, which take seconds and minutes.
    """

    bound: Callable[[int], float]
    compute: Callable[..., float]
    min_bound_share: float
    quick_steps: int = 4
    max_steps: int = 8

    def __call__(self, trial: Trial) -> Evidence:
        """Test the bound against the computed worst cases for N = 1, 2, ..."""
        last = trial.choose_by_effort(self.quick_steps, self.max_steps)
        parts = {f"N={N}": self.decide(N) for N in range(1, last + 1)}
        claimed = {f"N={N}: worst case": self.bound(N) for N in range(1, last + 1)}
        return Evidence(combine_all(parts), claimed, last)

    def decide(self, N: int) -> Decision:
        """Return the verdict on the bound for the worst case of N steps.

        *violated*: the worst case exceeds the bound. *inconclusive*: the solver finds no worst
        case. *within-10* or *attained*: the worst case is at least `min_bound_share` times the
        bound. *holds*: it is smaller than that.
        """
        worst, bound = self.compute(N), self.bound(N)
        measured = {"worst case": worst, "ratio": worst / bound}
        if math.isnan(worst):
            verdict, reason = Verdict.INCONCLUSIVE, "The solver finds no worst case."
        elif worst > bound * (1.0 + TOLERANCE):
            verdict, reason = Verdict.VIOLATED, "The worst case exceeds the bound."
        elif worst >= self.min_bound_share * bound:
            verdict = max(
                grade_bound_that_holds(worst / bound),
                Verdict.WITHIN_10,
                key=lambda verdict: verdict.rank_from_worst,
            )
            reason = f"The worst case is at least {self.min_bound_share:g} of the bound."
        else:
            verdict, reason = Verdict.HOLDS, "The worst case is at most the bound."
        return Decision(verdict, reason, measured, None)


def _read_case(
    name: str,
    *,
    statement: str,
    source: str,
    compute: str,
    expected_seconds: Sequence[float] = (2.0, 3.0),
    **options: Any,
) -> Claim:
    """Return the claim that a table of ``cases.toml`` describes."""
    return Claim(
        name=name,
        source=source,
        kind="computed",
        statement=statement,
        check=WorstCase(partial(methods.bound, name), getattr(methods, compute), **options),
        schedule="of its theorem, for each N",
        expected_seconds=tuple(expected_seconds),  # type: ignore[arg-type]
    )


_TABLE = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))

WORST_CASES = tuple(_read_case(name, **fields) for name, fields in _TABLE.items())
"""All cases. Steps that depend on products of unknowns (line search, g/C) and Hessians (CASVRG,
CASPIDERG) cannot be expressed."""


def select_cases(names: Iterable[str] = ()) -> list[Claim]:
    """Return the worst-case checks with the given names, or all of them if no name is given.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    claims = {case.name: case for case in WORST_CASES}
    check_names("worst case", names, claims)
    return [claims[name] for name in dict.fromkeys(names)] or list(WORST_CASES)
