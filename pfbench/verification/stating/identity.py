"""An identity: two methods make the same iterates, or what is measured of them is the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import integer, real
from pfbench.verification.evidence import Evidence
from pfbench.verification.stating.quantity import Quantity, at_points
from pfbench.verification.stating.setting import (
    Case,
    Given,
    Setting,
    beside,
    check_fit,
    method_named,
    problems,
)
from pfbench.verification.statistics import Decision, all_of, decide_exact
from pfbench.verification.subject import Broken
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The check of an identity; see `identity`."""

    kind: ClassVar[str] = "identity"
    takes: ClassVar[tuple[float, float]] = (0.5, 0.5)

    other: Any
    setting: Setting
    others: Given | None
    of: Quantity | None
    tolerance: float
    seeds: int

    def __call__(self, trial: Trial) -> Evidence:
        """Compare runs step by step on every instance."""
        parts = dict[str, Decision]()
        for name, problem in problems(trial):
            case = self.setting.on(trial, problem)
            differences = [
                difference
                for seed in trial.seeds(self.seeds, name or "runs")
                for difference in self._differences(trial, case, seed)
            ]
            parts[name] = decide_exact(
                max(differences) <= self.tolerance,
                "They coincide.",
                f"They come apart by {max(differences):.3g}.",
                {"checks": float(len(differences)), "difference": max(differences)},
            )
        claimed = {"difference": 0.0, "tolerance": self.tolerance}
        return Evidence(all_of(parts), claimed, len(parts) * self.seeds)

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run; errors are those of `Bound.check`."""
        for _, problem in problems(trial):
            case = self.setting.on(trial, problem)
            check_fit(case)
            beside(self.other, self.others, case)

    def _differences(self, trial: Trial, case: Case, seed: int) -> Iterator[float]:
        """Yield by how much each step of two runs differs, relative to its size."""
        values = [
            self._values(trial, case, algorithm, seed)
            for algorithm in (case.algorithm, beside(self.other, self.others, case))
        ]
        for one, two in zip_longest(*values):
            if one is None or two is None:
                raise Broken("one of the two makes more steps than the other")
            size = max(float(np.abs(one).max()), float(np.abs(two).max()))
            yield float(np.abs(one - two).max()) / size if size > 0.0 else 0.0

    def _values(self, trial: Trial, case: Case, algorithm: Any, seed: int) -> Iterator[Any]:
        """Yield each iterate, or what is measured there."""
        measured = at_points(case.problem, self.of) if self.of is not None else np.array
        for step in islice(trial.follow(case.problem, algorithm, seed=seed), case.steps):
            yield np.asarray(measured(step.state.x))


def identity(
    other: Any,
    *,
    parameters: Given | None = None,
    others: Given | None = None,
    of: Quantity | None = None,
    tolerance: float = 1e-9,
    seeds: int = 5,
) -> Identity:
    """Return the check that the claim's method and another one coincide step by step.

    Both run with the same random stream, so that they coincide where they draw the same.

    Parameters
    ----------
    other
        The other method: a name of the catalogue, or a class.
    parameters
        Of the claim's method, as of `bound`.
    others
        Of the other one; those of the claim's that it has, if not given.
    of
        What is to be the same, as of `bound`; the iterates themselves if not given.
    tolerance
        By how much they may differ, relative to their size.
    seeds
        Number of seeds.

    Raises
    ------
    InputError
        If the other method is unknown, or a number is out of range.
    """
    return Identity(
        other=method_named(other),
        setting=Setting(parameters=parameters or {}),
        others=others,
        of=of,
        tolerance=real("tolerance", tolerance, least=0.0),
        seeds=integer("seeds", seeds, least=1),
    )
