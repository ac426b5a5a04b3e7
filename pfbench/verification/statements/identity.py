"""Check of an identity: two methods have the same iterates, or the same values of a quantity."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import check_integer, check_real
from pfbench.verification.evidence import Evidence
from pfbench.verification.statements.quantity import Quantity, as_function
from pfbench.verification.statements.setting import (
    ClaimSetting,
    Given,
    MethodOnProblem,
    check_required_oracles,
    iterate_problems,
    make_other_method,
    resolve_method,
)
from pfbench.verification.statistics import Decision, combine_all, decide_exact
from pfbench.verification.subject import ClaimBroken
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class IdentityCheck:
    """Check that two methods have equal iterates, or equal values of a quantity; see `identity`."""

    kind: ClassVar[str] = "identity"
    takes: ClassVar[tuple[float, float]] = (0.5, 0.5)

    other_method: Any
    setting: ClaimSetting
    other_parameters: Given | None
    quantity: Quantity | None
    tolerance: float
    seeds: int

    def __call__(self, trial: Trial) -> Evidence:
        """Compare the runs of the two methods step by step on every instance."""
        parts = dict[str, Decision]()
        for name, problem in iterate_problems(trial):
            case = self.setting.make_case(trial, problem)
            differences = [
                difference
                for seed in trial.seeds(self.seeds, name or "runs")
                for difference in self._iterate_relative_differences(trial, case, seed)
            ]
            parts[name] = decide_exact(
                max(differences) <= self.tolerance,
                "The two methods coincide.",
                f"The two methods differ by {max(differences):.3g}.",
                {"checks": float(len(differences)), "difference": max(differences)},
            )
        claimed = {"difference": 0.0, "tolerance": self.tolerance}
        return Evidence(combine_all(parts), claimed, len(parts) * self.seeds)

    def check(self, trial: Trial) -> None:
        """Raise an error, before any run, if the claim cannot be tested."""
        for _, problem in iterate_problems(trial):
            case = self.setting.make_case(trial, problem)
            check_required_oracles(case)
            make_other_method(self.other_method, self.other_parameters, case)

    def _iterate_relative_differences(
        self, trial: Trial, case: MethodOnProblem, seed: int
    ) -> Iterator[float]:
        """Yield, for each step, the relative difference between the runs of the two methods."""
        values = [
            self._values(trial, case, algorithm, seed)
            for algorithm in (
                case.algorithm,
                make_other_method(self.other_method, self.other_parameters, case),
            )
        ]
        for value, two in zip_longest(*values):
            if value is None or two is None:
                raise ClaimBroken("one of the two compared methods makes more steps than the other")
            size = max(float(np.abs(value).max()), float(np.abs(two).max()))
            yield float(np.abs(value - two).max()) / size if size > 0.0 else 0.0

    def _values(
        self, trial: Trial, case: MethodOnProblem, algorithm: Any, seed: int
    ) -> Iterator[Any]:
        """Yield the iterates of a run, or the quantity's value at each iterate, as arrays."""
        measured = (
            as_function(case.problem, self.quantity) if self.quantity is not None else np.array
        )
        for step in islice(trial.follow(case.problem, algorithm, seed=seed), case.steps):
            yield np.asarray(measured(step.state.x))


def identity(
    other_method: Any,
    *,
    parameters: Given | None = None,
    other_parameters: Given | None = None,
    quantity: Quantity | None = None,
    tolerance: float = 1e-9,
    seeds: int = 5,
) -> IdentityCheck:
    """Return a check that the claim's method and another one coincide step by step.

    Both methods run with equal random streams, so equal draws give equal runs.

    Parameters
    ----------
    other_method
        The other method: a name of the catalogue, or a class.
    parameters
        Parameters of the claim's method; see `bound`.
    other_parameters
        Parameters of the other method; by default those of the claim that it accepts.
    quantity
        Quantity that must coincide, as in `bound`; by default the iterates.
    tolerance
        Largest difference, relative to the size of the values.
    seeds
        Number of seeds.

    Raises
    ------
    InputError
        If the other method is unknown, or a number is out of range.
    """
    return IdentityCheck(
        other_method=resolve_method(other_method),
        setting=ClaimSetting(parameters=parameters or {}),
        other_parameters=other_parameters,
        quantity=quantity,
        tolerance=check_real("tolerance", tolerance, minimum=0.0),
        seeds=check_integer("seeds", seeds, minimum=1),
    )
