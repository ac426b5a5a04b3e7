"""Check of exact counts: the oracle calls of a run equal a function of constants and parameters."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import InputError
from pfbench.base.names import check_names
from pfbench.base.status import Verdict
from pfbench.verification import statistics
from pfbench.verification.statements.horizons import decide_at_growing_horizons
from pfbench.verification.statements.setting import (
    MethodOnProblem,
    StatementCheck,
    check_signature,
    enumerate_outcomes,
    iterate_titled_problems,
)
from pfbench.verification.subject import NotTestable, UnsupportedPoints
from pfbench.verification.trial import Trial

_MORE_STEPS = (-1, 1, 2, 3)

ROUNDING = 1e-9
"""Relative size of rounding in a mean over all draws."""

Formula = Callable[[Any, Any], Counts | Mapping[str, float]]
"""Function of constants and parameters: counts by kind. Other kinds are 0; FO is not compared."""


@dataclass(frozen=True)
class ExactCounts(StatementCheck):
    """Check that the oracle calls of a run are exactly those of a formula.

    Parameters
    ----------
    formula
        A function of the constants of the problem and the claim's parameters that returns numbers
        of calls by kind: ``{"sfo": ..., "lo": ...}``. Kinds that are not named must be 0, except
        FO: a full gradient may be queried as a batch of all components.
    expected
        Whether the formula gives means over all draws. These are enumerated, so the instances must
        be small.
    parameters, full, constants
        See `StatementCheck`.

    Raises
    ------
    InputError
        If the formula takes another number of arguments, or `parameters` is invalid.
    """

    kind: ClassVar[str] = "count"
    takes: ClassVar[tuple[float, float]] = (0.2, 0.2)

    formula: Formula
    _: KW_ONLY
    expected: bool = False

    def __post_init__(self) -> None:
        check_signature("the formula", self.formula, "c, a")
        _ = self.settings  # raises an error if `parameters` is invalid

    def __call__(self, trial: Trial) -> statistics.Evidence:
        """Test the counts of runs on every instance with every setting, and on longer runs.

        Means over all draws are not tested on longer runs, since they can be enumerated for few
        steps.
        """
        settings = () if self.expected else self.settings.values()
        evidence = decide_at_growing_horizons(trial, settings, self._decide)
        return self._check_next_horizons(trial, evidence)

    def _check_next_horizons(
        self, trial: Trial, evidence: statistics.Evidence
    ) -> statistics.Evidence:
        """Test a few steps more or fewer; if counts are wrong there, the evidence is inconclusive.

        The other horizons are multiples of the stated one, so they share its divisors.
        """
        horizons = {
            label: horizon
            for label, item in self.settings.items()
            if (horizon := item.horizon(trial.effort))
        }
        keeps_bound = Verdict(evidence.decision.verdict).keeps_bound
        extras = _MORE_STEPS[:1] if self.expected else _MORE_STEPS  # more draws are too many
        for extra in extras if keeps_bound and horizons else ():
            longer = {
                label: self.settings[label].with_horizon(name, max(steps + extra, 1)).parameters
                for label, (name, steps) in horizons.items()
            }
            try:
                decision = replace(self, parameters=longer)._decide(trial).decision
            except (InputError, NotTestable, ValueError):  # no such number of steps
                continue
            if not Verdict(decision.verdict).keeps_bound:
                reason = (
                    f"It holds for the stated number T of steps, but not for T{extra:+d}: "
                    f"{decision.reason} If the formula is for some numbers of steps only, let "
                    "`parameters` round T."
                )
                decision = replace(decision, verdict=Verdict.INCONCLUSIVE, reason=reason)
                return replace(evidence, decision=decision)
        return evidence

    def _decide(self, trial: Trial) -> statistics.Evidence:
        parts: dict[str, statistics.Decision] = {}
        claimed: dict[str, float] = {}
        means = (ROUNDING, "the mean over all draws of ") if self.expected else ()
        for name, problem in iterate_titled_problems(trial):
            for label, setting in self.settings.items():
                case = setting.make_case(trial, problem)
                right = self._compute_claimed_counts(case)
                try:
                    counts = self._measure_counts(trial, case)
                except UnsupportedPoints:
                    if not parts:
                        raise
                    continue  # it is held to its counts where points are arrays
                location = f"{name} {label}".strip()
                parts[location] = statistics.decide_equality(right, counts, *means)
                claimed |= {f"{location}: {kind}": number for kind, number in right.items()}
        return statistics.Evidence(statistics.combine_all(parts), claimed, len(parts))

    def check_case(self, case: MethodOnProblem) -> None:
        """Raise an error if the formula cannot be evaluated for a case."""
        self._compute_claimed_counts(case)

    def _compute_claimed_counts(self, case: MethodOnProblem) -> dict[str, float]:
        """Return the claimed counts by oracle kind."""
        formula = self.formula(case.constants, case.parameters)
        statement = formula.as_dict() if isinstance(formula, Counts) else dict(formula)
        check_names("kind of call", statement, COUNTED)
        asked_in_full = isinstance(formula, Counts) or "fo" not in statement
        kinds = [kind for kind in COUNTED if not (kind == "fo" and asked_in_full)]
        return {kind: statement.get(kind, 0) for kind in kinds}

    def _measure_counts(self, trial: Trial, case: MethodOnProblem) -> dict[str, float]:
        """Return the oracle counts of a run or, if `self.expected`, their means over all draws."""
        if not self.expected:
            seed = trial.seeds(1)[0]
            return dict(trial.run(case.problem, case.algorithm, seed=seed).counts.as_dict())

        def run_counts(rng: Any) -> dict[str, int]:
            last = None
            for step in trial.follow(case.problem, case.algorithm, rng=rng):
                last = step.counts()
            return last.as_dict() if last else dict.fromkeys(COUNTED, 0)

        means = dict.fromkeys(COUNTED, 0.0)
        for chance, results in enumerate_outcomes(trial, case, run_counts):
            means = {kind: means[kind] + chance * results[kind] for kind in COUNTED}
        return means


counts = ExactCounts  # name in claims
