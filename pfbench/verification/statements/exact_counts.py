"""Exact counts: what runs cost is a function of constants and parameters, to the unit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.names import check_names
from pfbench.verification.evidence import Evidence
from pfbench.verification.statements.horizons import decide_at_growing_horizons
from pfbench.verification.statements.setting import (
    ClaimSetting,
    Given,
    MethodOnProblem,
    check_fit,
    check_function,
    enumerate_outcomes,
    iterate_problems,
    label_settings,
)
from pfbench.verification.statistics import Decision, combine_all, decide_equality, decide_exact
from pfbench.verification.subject import UnsupportedPoints
from pfbench.verification.trial import Trial

ROUNDING = 1e-9
"""Relative size of rounding in a mean over all draws."""

Formula = Callable[[Any, Any], Counts | Mapping[str, float]]
"""Constants, parameters -> counts by kind; a kind that is not named is 0, FO is not compared."""


@dataclass(frozen=True, kw_only=True)
class ExactCounts:
    """The check of counts; see `counts`."""

    kind: ClassVar[str] = "count"
    takes: ClassVar[tuple[float, float]] = (0.2, 0.2)

    formula: Formula
    settings: Mapping[str, ClaimSetting]
    expected: bool

    def __call__(self, trial: Trial) -> Evidence:
        """Compare the counts of runs on every instance, with every setting and on longer runs.

        Means over all draws are for few steps.
        """
        settings = () if self.expected else self.settings.values()
        return decide_at_growing_horizons(trial, settings, self._decide)

    def _decide(self, trial: Trial) -> Evidence:
        parts: dict[str, Decision] = {}
        claimed: dict[str, float] = {}
        for name, problem in iterate_problems(trial):
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
                parts[location] = _decide_counts(right, counts, self.expected)
                claimed |= {f"{location}: {kind}": number for kind, number in right.items()}
        return Evidence(combine_all(parts), claimed, len(parts))

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run; errors are those of `Bound.check`."""
        for _, problem in iterate_problems(trial):
            for setting in self.settings.values():
                case = setting.make_case(trial, problem)
                check_fit(case)
                self._compute_claimed_counts(case)

    def _compute_claimed_counts(self, case: MethodOnProblem) -> dict[str, float]:
        """Return the counts that are claimed, by kind."""
        formula = self.formula(case.constants, case.parameters)
        statement = formula.as_dict() if isinstance(formula, Counts) else dict(formula)
        check_names("kind of call", statement, COUNTED)
        asked_in_full = isinstance(formula, Counts) or "fo" not in statement
        kinds = [kind for kind in COUNTED if not (kind == "fo" and asked_in_full)]
        return {kind: statement.get(kind, 0) for kind in kinds}

    def _measure_counts(self, trial: Trial, case: MethodOnProblem) -> dict[str, float]:
        """Return the counts of one run, or their means over all draws."""
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


def _decide_counts(
    right: Mapping[str, float], result: Mapping[str, float], expected: bool
) -> Decision:
    """Decide that counts are those claimed; a mean over all draws up to rounding."""
    if not expected:
        return decide_equality(right, result)
    wrong = [
        f"The mean of {kind.upper()} over all draws is {result[kind]:g}, not {number:g}."
        for kind, number in right.items()
        if abs(result[kind] - number) > ROUNDING * max(1.0, abs(number))
    ]
    measured = {kind: result[kind] for kind in right}
    return decide_exact(not wrong, "Every mean is exact.", "".join(wrong[:1]), measured)


def counts(
    formula: Formula,
    *,
    parameters: Given | Mapping[str, Given] | None = None,
    constants: Callable[[Any], Any] | None = None,
    expected: bool = False,
) -> ExactCounts:
    """Return the check that a run costs exactly what a formula says.

    Parameters
    ----------
    formula
        A function of the constants of the problem and the parameters that are set here, which
        returns numbers of calls by kind: ``{"sfo": ..., "lo": ...}``. A kind that is not named must
        be 0, but for FO: a full gradient may be asked as a batch of all components.
    parameters
        Of the method: by name, or a function of the constants that returns them so; or several of
        these, each under a label.
    constants
        As of `bound`.
    expected
        Whether the formula is one of means: these are taken over all draws, which are enumerated,
        so that the instances must be small.

    Raises
    ------
    InputError
        If the formula takes another number of arguments, or parameters are neither.
    """
    check_function("the formula", formula, "c, a")
    settings = label_settings(parameters, constants=constants)
    return ExactCounts(formula=formula, settings=settings, expected=expected)
