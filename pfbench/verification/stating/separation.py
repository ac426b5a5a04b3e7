"""A separation: to a target one method needs fewer calls than another."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import choice, integer, real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.verification.evidence import Evidence
from pfbench.verification.instances import Instance
from pfbench.verification.stating.quantity import Quantity, at_points, calls_to
from pfbench.verification.stating.setting import (
    Case,
    Given,
    Setting,
    beside,
    chance,
    check_fit,
    check_function,
    drawn_seeds,
    instances,
    method_named,
    problems,
)
from pfbench.verification.statistics import (
    MOST_SEEDS,
    Decision,
    Rows,
    across,
    decide_inequality,
    decide_median,
)
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Separation:
    """The check of a separation; see `separation`."""

    kind: ClassVar[str] = "separation"
    takes: ClassVar[tuple[float, float]] = (10.0, 10.0)

    other: Any
    measure: Quantity
    target: float | Callable[[Any], float]
    count: str
    setting: Setting
    others: Given | None
    factor: float
    seeds: int

    def __call__(self, trial: Trial) -> Evidence:
        """Compare the calls of paired runs on every instance."""
        parts, runs = dict[str, Decision](), 0
        for name, one in instances(trial):

            def ratio(pair: tuple[int, int], one: Instance = one) -> float:
                case = self.setting.on(trial, one.of_seed(pair[0]))
                asked = pair[1], self.count, self.measure, self._target(case)
                ours = calls_to(trial, case, case.algorithm, *asked)
                theirs = calls_to(trial, case, beside(self.other, self.others, case), *asked)
                return ours / theirs if math.isfinite(ours) else math.inf

            rows = Rows(ratio, drawn_seeds(trial, one, max(self.seeds, MOST_SEEDS)))
            if chance(trial, one):
                parts[name] = decide_median(rows, self.factor, self.seeds)
            else:
                parts[name] = decide_inequality(np.array(rows(1)) / self.factor)
            runs += 2 * len(rows.made)
        return Evidence(across(parts), {"calls over the other's": self.factor}, runs)

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run; errors are those of `Bound.check`."""
        for _, problem in problems(trial):
            case = self.setting.on(trial, problem)
            check_fit(case)
            beside(self.other, self.others, case)
            self._target(case)
            at_points(problem, self.measure)(problem.start())

    def _target(self, case: Case) -> float:
        """Return the target on a problem."""
        found = self.target(case.constants) if callable(self.target) else self.target
        if not 0.0 < found < math.inf:
            raise InputError(
                f"the target on {case.problem.name} is {found:g}: it must be positive."
            )
        return float(found)


def separation(
    other: Any,
    *,
    measure: Quantity,
    target: float | Callable[[Any], float],
    count: str = "sfo",
    parameters: Given | None = None,
    others: Given | None = None,
    factor: float = 1.0,
    seeds: int = 20,
) -> Separation:
    """Return the check that the claim's method reaches a target with fewer calls than another.

    The median over seeds of the ratio of calls of paired runs is decided; one that does not arrive
    has needed infinitely many. Both are given their parameters, which leave them time to arrive.

    Parameters
    ----------
    other
        The other method: a name of the catalogue, or a class.
    measure
        What is to be at most the target, as `of` in `bound`.
    target
        A number, or a function of the constants of the problem.
    count
        The kind of calls.
    parameters, others
        Of the claim's method and of the other one, as of `identity`.
    factor
        The claimed largest median ratio.
    seeds
        Number of pairs at first; `EARLY_SEEDS` where these decide, `MOST_SEEDS` where they do not.

    Raises
    ------
    InputError
        If the other method is unknown, or an argument is out of range.
    """
    if callable(target):
        check_function("target", target, 1)
    return Separation(
        other=method_named(other),
        measure=measure,
        target=target,
        count=choice("count", count, COUNTED),
        setting=Setting(parameters=parameters or {}),
        others=others,
        factor=real("factor", factor, above=0.0),
        seeds=integer("seeds", seeds, least=1),
    )
