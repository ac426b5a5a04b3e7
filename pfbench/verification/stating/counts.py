"""Exact counts: what runs cost is a function of constants and parameters, to the unit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.names import check_names
from pfbench.verification.evidence import Evidence
from pfbench.verification.stating.horizons import along_horizons
from pfbench.verification.stating.setting import (
    Case,
    Given,
    Setting,
    check_fit,
    check_function,
    enumerated,
    labelled,
    problems,
)
from pfbench.verification.statistics import Decision, all_of, decide_exact, equal
from pfbench.verification.subject import Unfit
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
    settings: Mapping[str, Setting]
    expected: bool

    def __call__(self, trial: Trial) -> Evidence:
        """Compare the counts of runs on every instance, with every setting and on longer runs.

        Means over all draws are for few steps.
        """
        settings = () if self.expected else self.settings.values()
        return along_horizons(trial, settings, self._at_one_horizon)

    def _at_one_horizon(self, trial: Trial) -> Evidence:
        parts: dict[str, Decision] = {}
        claimed: dict[str, float] = {}
        for name, problem in problems(trial):
            for label, setting in self.settings.items():
                case = setting.on(trial, problem)
                right = self._right(case)
                try:
                    found = self._found(trial, case)
                except Unfit:
                    if not parts:
                        raise
                    continue  # it is held to its counts where points are arrays
                where = f"{name} {label}".strip()
                parts[where] = _compared(right, found, self.expected)
                claimed |= {f"{where}: {kind}": number for kind, number in right.items()}
        return Evidence(all_of(parts), claimed, len(parts))

    def check(self, trial: Trial) -> None:
        """Refuse what cannot be tested, before any run; errors are those of `Bound.check`."""
        for _, problem in problems(trial):
            for setting in self.settings.values():
                case = setting.on(trial, problem)
                check_fit(case)
                self._right(case)

    def _right(self, case: Case) -> dict[str, float]:
        """Return the counts that are claimed, by kind."""
        told = self.formula(case.constants, case.parameters)
        stated = told.as_dict() if isinstance(told, Counts) else dict(told)
        check_names("kind of call", stated, COUNTED)
        asked_in_full = isinstance(told, Counts) or "fo" not in stated
        kinds = [kind for kind in COUNTED if not (kind == "fo" and asked_in_full)]
        return {kind: stated.get(kind, 0) for kind in kinds}

    def _found(self, trial: Trial, case: Case) -> dict[str, float]:
        """Return the counts of one run, or their means over all draws."""
        if not self.expected:
            seed = trial.seeds(1)[0]
            return dict(trial.run(case.problem, case.algorithm, seed=seed).counts.as_dict())

        def spent(rng: Any) -> dict[str, int]:
            last = None
            for step in trial.follow(case.problem, case.algorithm, rng=rng):
                last = step.counts()
            return last.as_dict() if last else dict.fromkeys(COUNTED, 0)

        means = dict.fromkeys(COUNTED, 0.0)
        for chance, found in enumerated(trial, case, spent):
            means = {kind: means[kind] + chance * found[kind] for kind in COUNTED}
        return means


def _compared(right: Mapping[str, float], found: Mapping[str, float], expected: bool) -> Decision:
    """Decide that counts are those claimed; a mean over all draws up to rounding."""
    if not expected:
        return equal(right, found)
    wrong = [
        f"The mean of {kind.upper()} over all draws is {found[kind]:g}, not {number:g}."
        for kind, number in right.items()
        if abs(found[kind] - number) > ROUNDING * max(1.0, abs(number))
    ]
    measured = {kind: found[kind] for kind in right}
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
    check_function("the formula", formula, 2)
    settings = labelled(parameters, constants=constants)
    return ExactCounts(formula=formula, settings=settings, expected=expected)
