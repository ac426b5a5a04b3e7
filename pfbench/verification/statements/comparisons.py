"""Checks that compare two methods: that they coincide, or that one needs fewer calls.

An identity compares iterates, or values of a quantity, step by step. A separation compares the
calls to a target.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import islice, zip_longest
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.verification import statistics
from pfbench.verification.instances import Instance
from pfbench.verification.statements import setting
from pfbench.verification.statements.quantity import Quantity, as_function, count_calls_to_target
from pfbench.verification.subject import ClaimBroken, NotTestable
from pfbench.verification.trial import Trial


@dataclass(frozen=True)
class IdentityCheck(setting.StatementCheck):
    """Check that the claim's method and another one coincide step by step.

    Both methods run with equal random streams, so equal draws give equal runs.

    Parameters
    ----------
    other_method
        The other method: a name of the catalogue, or a class.
    other_parameters
        Parameters of the other method; by default those of the claim that it accepts.
    quantity
        Quantity that must coincide, as in `bound`; by default the iterates.
    tolerance
        Largest difference, relative to the size of the values.
    seeds
        Number of seeds.
    parameters, full, constants
        See `StatementCheck`.

    Raises
    ------
    InputError
        If the other method is unknown, or a number is out of range.
    """

    kind: ClassVar[str] = "identity"
    takes: ClassVar[tuple[float, float]] = (0.5, 0.5)

    other_method: Any
    _: KW_ONLY
    other_parameters: setting.Given | None = None
    quantity: Quantity | None = None
    tolerance: float = 1e-9
    seeds: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "other_method", setting.resolve_method(self.other_method))
        check_real("tolerance", self.tolerance, minimum=0.0)
        check_integer("seeds", self.seeds, minimum=1)

    def __call__(self, trial: Trial) -> statistics.Evidence:
        """Compare the runs of the two methods step by step on every instance."""
        parts = dict[str, statistics.Decision]()
        for name, problem in setting.iterate_titled_problems(trial):
            case = self.setting.make_case(trial, problem)
            differences = [
                difference
                for seed in trial.seeds(self.seeds, name or "runs")
                for difference in self._iterate_relative_differences(trial, case, seed)
            ]
            parts[name] = statistics.decide_exact(
                max(differences) <= self.tolerance,
                f"The two methods differ by {max(differences):.3g}.",
                {"checks": float(len(differences)), "difference": max(differences)},
            )
        claimed = {"difference": 0.0, "tolerance": self.tolerance}
        return statistics.Evidence(statistics.combine_all(parts), claimed, len(parts) * self.seeds)

    def check_case(self, case: setting.MethodOnProblem) -> None:
        """Raise an error if the other method refuses its parameters."""
        setting.make_compared_method(self.other_method, self.other_parameters, case)

    def _iterate_relative_differences(
        self, trial: Trial, case: setting.MethodOnProblem, seed: int
    ) -> Iterator[float]:
        """Yield the relative difference of the two methods' runs at each step."""
        other = setting.make_compared_method(self.other_method, self.other_parameters, case)
        values = (
            self._iterate_values_of_run(trial, case, each, seed) for each in (case.algorithm, other)
        )
        for value, two in zip_longest(*values):
            if value is None or two is None:
                raise ClaimBroken("one of the two compared methods makes more steps than the other")
            size = max(float(np.abs(value).max()), float(np.abs(two).max()))
            yield float(np.abs(value - two).max()) / size if size > 0.0 else 0.0

    def _iterate_values_of_run(
        self, trial: Trial, case: setting.MethodOnProblem, algorithm: Any, seed: int
    ) -> Iterator[Any]:
        """Yield the iterates of a run, or the quantity's value at each iterate, as arrays."""
        quantity = self.quantity
        measured = np.array if quantity is None else as_function(case.problem, quantity)
        for step in islice(trial.follow(case.problem, algorithm, seed=seed), case.steps):
            value = np.asarray(measured(step.state.x))
            if not np.isfinite(value).all():
                raise NotTestable(
                    "the method's iterates, or the quantity of them, are not finite on "
                    f"{case.problem.name}"
                )
            yield value


identity = IdentityCheck  # name in claims


@dataclass(frozen=True)
class Separation(setting.StatementCheck):
    """Check that the claim's method reaches a target with fewer calls than another.

    The check decides the median over seeds of the ratio of calls of paired runs. A run that does
    not reach the target counts as infinitely many calls, so the parameters must let both methods
    run long enough.

    Parameters
    ----------
    other_method
        The other method: a name of the catalogue, or a class.
    measure
        Quantity that must become at most the target; see `quantity` of `bound`.
    target
        A number, or a function of the constants of the problem.
    count
        The kind of calls.
    other_parameters
        Parameters of the other method; see `identity`.
    factor
        Claimed upper bound of the median ratio.
    seeds
        Number of pairs of runs at the second look; see `seeds` of `rate`.
    parameters, full, constants
        See `StatementCheck`.

    Raises
    ------
    InputError
        If the other method is unknown, or an argument is out of range.
    """

    kind: ClassVar[str] = "separation"
    takes: ClassVar[tuple[float, float]] = (10.0, 10.0)

    other_method: Any
    _: KW_ONLY
    measure: Quantity
    target: float | Callable[[Any], float]
    count: str = "sfo"
    other_parameters: setting.Given | None = None
    factor: float = 1.0
    seeds: int = 20

    def __post_init__(self) -> None:
        if callable(self.target):
            setting.check_signature("target", self.target, "c")
        object.__setattr__(self, "other_method", setting.resolve_method(self.other_method))
        check_choice("count", self.count, COUNTED)
        check_real("factor", self.factor, above=0.0)
        check_integer("seeds", self.seeds, minimum=1)

    def __call__(self, trial: Trial) -> statistics.Evidence:
        """Compare the two methods' calls to reach the target, in paired runs on every instance."""
        parts, runs = dict[str, statistics.Decision](), 0
        for name, item in setting.iterate_instances(trial):

            def ratio(pair: tuple[int, int], instance: Instance = item) -> float:
                case = self.setting.make_case(trial, instance.build_seeded(pair[0]))
                request = pair[1], self.count, self.measure, self._target(case)
                calls = count_calls_to_target(trial, case, case.algorithm, *request)
                other = setting.make_compared_method(self.other_method, self.other_parameters, case)
                reference = count_calls_to_target(trial, case, other, *request)
                if calls == reference == 0.0:
                    raise NotTestable(
                        f"both methods reach the target without {self.count.upper()} calls: take "
                        "a smaller target, or another count"
                    )
                return calls / reference if reference and math.isfinite(calls) else math.inf

            rows = statistics.SeedRows(
                ratio, setting.draw_seeds(trial, item, max(self.seeds, statistics.MOST_SEEDS))
            )
            if setting.is_run_random(trial, item):
                parts[name] = statistics.decide_median(rows, self.factor, self.seeds)
            else:
                parts[name] = statistics.decide_inequality(np.array(rows(1)) / self.factor)
            runs += 2 * len(rows.computed)
        return statistics.Evidence(
            statistics.best_if_all_hold_else_worst(parts),
            {"calls over the other's": self.factor},
            runs,
        )

    def check_case(self, case: setting.MethodOnProblem) -> None:
        """Raise an error if the other method, the target or the measure does not fit a case."""
        setting.make_compared_method(self.other_method, self.other_parameters, case)
        self._target(case)
        as_function(case.problem, self.measure)(case.problem.start())

    def _target(self, case: setting.MethodOnProblem) -> float:
        """Return the value of `measure` that both methods must reach on a problem."""
        target = self.target(case.constants) if callable(self.target) else self.target
        if not 0.0 < target < math.inf:
            raise InputError(f"the target on {case.problem.name} must be positive, not {target:g}.")
        return float(target)


separation = Separation  # name in claims
