"""A rate: the calls to a target grow at most as a power of what makes the problem hard."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import choice, finite_array, integer, real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.verdicts import Verdict
from pfbench.verification.evidence import Evidence
from pfbench.verification.instances import Instance
from pfbench.verification.stating.quantity import Quantity, at_points, calls_to
from pfbench.verification.stating.setting import (
    Case,
    Given,
    Setting,
    chance,
    check_fit,
    drawn_seeds,
    instances,
)
from pfbench.verification.statistics import (
    MOST_SEEDS,
    Decision,
    Exponent,
    Rows,
    across,
    decide_exponent,
    fit_exponent,
)
from pfbench.verification.statistics import by_schedule as follows_from_schedule
from pfbench.verification.trial import Trial

EPSILON = "1/epsilon"
"""What calls grow with where the accuracy is varied."""

NO_EVIDENCE = (
    "No evidence for the rate here: the problem is easier than the class. The hardest families "
    "known are finite-sum-chain and, over a bounded set, zero-chain."
)
"""What a rate says that holds where fewer calls than claimed are needed."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """The check of a rate; see `rate`."""

    kind: ClassVar[str] = "rate"
    takes: ClassVar[tuple[float, float]] = (30.0, 30.0)

    exponent: float
    values: tuple[float, ...]
    measure: Quantity
    grows: str
    count: str
    setting: Setting
    seeds: int
    decades: float
    by_schedule: bool

    def __call__(self, trial: Trial) -> Evidence:
        """Fit the exponent on every instance, one slope a seed."""
        parts, runs = dict[str, Decision](), 0
        x = np.array(self.values) if self.grows != EPSILON else 1.0 / np.array(self.values)
        for name, one in instances(trial):
            drawn = chance(trial, one)

            def row(pair: tuple[int, int], one: Instance = one) -> list[float]:
                return [self.calls(trial, one, at, *pair) for at in self.values]

            rows = Rows(row, drawn_seeds(trial, one, max(self.seeds, MOST_SEEDS)))

            def fit(count: int, rows: Rows[Any, Any] = rows, drawn: bool = drawn) -> Exponent:
                calls = rows(count)
                return fit_exponent(x, calls if drawn else calls[0], least_decades=self.decades)

            parts[name] = decide_exponent(fit, self.exponent, seeds=self.seeds)
            runs += len(rows.made) * len(self.values)
        decision = across(parts)
        if self.by_schedule:
            decision = follows_from_schedule(decision)
        elif decision.verdict == Verdict.HOLDS:
            decision = replace(decision, reason=f"{decision.reason} {NO_EVIDENCE}")
        return Evidence(decision, {f"exponent of {self.grows}": self.exponent}, runs)

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run; errors are those of `Bound.check`."""
        for _, one in instances(trial):
            case = self.case(trial, one, self.values[0], 0)
            check_fit(case)
            at_points(case.problem, self.measure)(case.problem.start())

    def case(self, trial: Trial, one: Instance, value: float, seed: int) -> Case:
        """Return the case of a value and a seed."""
        if self.grows == EPSILON:
            told = {"epsilon": value} if "epsilon" in one.takes else {}
            return self.setting.on(trial, one.of_seed(seed, **told), epsilon=value)
        whole = int(value) if float(value).is_integer() else value
        return self.setting.on(trial, one.of_seed(seed, **{self.grows: whole}))

    def calls(self, trial: Trial, one: Instance, value: float, data: int, seed: int) -> float:
        """Return the calls until the measure is at most epsilon; infinite if it never is."""
        case = self.case(trial, one, value, data)
        asked = self.count, self.measure, case.parameters.epsilon
        return calls_to(trial, case, case.algorithm, seed, *asked)


def rate(
    exponent: float,
    values: Sequence[float],
    *,
    measure: Quantity,
    grows: str = EPSILON,
    count: str = "sfo",
    parameters: Given | None = None,
    seeds: int = 20,
    decades: float = 2.0,
    by_schedule: bool = False,
) -> Rate:
    """Return the check that the calls to a target grow with an exponent at most.

    One slope of log calls is fitted for each seed, and the exponent is their median over seeds; see
    `decide_exponent`. An easy problem is no
    evidence for a rate: take instances on which every method needs that many calls.

    Parameters
    ----------
    exponent
        The claimed exponent.
    values
        The accuracies epsilon, or the values of what `grows`; at least 4, over `decades`.
    measure
        What is to be at most epsilon, as `of` in `bound`.
    grows
        "1/epsilon", or a parameter of the instances; then epsilon stands among `parameters`. An
        instance that takes `epsilon` is made for it.
    count
        The kind of calls.
    parameters
        As of `bound`, for a method that has no theorem's schedule, or beside that.
    seeds
        Number of seeds at first: of the method, and of the data of an instance that takes one.
        With fewer than 6 nothing is said at first. Where `EARLY_SEEDS` decide, no more are made;
        where these do not, `MOST_SEEDS` are.
    decades
        Least decades of a usable fit.
    by_schedule
        Whether the exponent follows from the schedule whatever the method does: then the verdict
        is *holds* at best.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    real("exponent", exponent)
    found = finite_array("values", values)
    if found.ndim != 1 or found.size == 0 or (found <= 0.0).any():
        raise InputError("values must be a list of positive numbers.")
    return Rate(
        exponent=exponent,
        values=tuple(found.tolist()),
        measure=measure,
        grows=grows,
        count=choice("count", count, COUNTED),
        setting=Setting(parameters=parameters or {}),
        seeds=integer("seeds", seeds, least=1),
        decades=real("decades", decades, above=0.0),
        by_schedule=by_schedule,
    )
