"""Verdict on a claim, made from the evidence of its check, for JSON and the store."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any, Self

import numpy as np

from pfbench.base.errors import PfbenchError, add_location, end_sentence, locate_error
from pfbench.base.escaping import html_fields
from pfbench.base.status import NEAR
from pfbench.base.status import Verdict as VerdictName
from pfbench.verification.claim import CRITERIA, Claim, Complexity
from pfbench.verification.homogeneity import recheck_inhomogeneous_bound
from pfbench.verification.reproducibility import UNREPEATABLE, WORDS
from pfbench.verification.statistics import Decision, Evidence
from pfbench.verification.step_record import sizes_in_words
from pfbench.verification.subject import (
    ClaimBroken,
    MethodFailed,
    NotTestable,
    SubjectLacksParameter,
)
from pfbench.verification.summaries import format_ratio_or_exponents
from pfbench.verification.trial import Trial, claim_method


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict on a claim, with its reason, measured values and duration.

    Attributes
    ----------
    claim
        The claim.
    verdict
        Member, or name of a member, of `pfbench.base.status.Verdict`.
    reason
        One sentence.
    measured, claimed
        Numbers by name. `measured` also has the number of tests ("tests"). For *within-10* and
        *attained* it has the instances or terms ("tight_on"), and the shares of the bound or the
        exponents ("tight_ratio"). For a disputed claim it has the measured verdict ("verdict").
    repetitions
        Number of runs or independent cases.
    p_value
        Smallest p-value of the tests for *violated*, times their number, at most 1; None if nothing
        is random.
    seconds
        Duration of the check.
    lost
        Whether the check could not run (the method lacks something that it needs) or was killed. A
        lost check catches no fault.
    """

    claim: Claim
    verdict: VerdictName
    reason: str
    measured: Mapping[str, Any]
    claimed: Mapping[str, Any]
    repetitions: int
    p_value: float | None
    seconds: float
    lost: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", VerdictName(self.verdict))

    @property
    def is_violated_or_lost(self) -> bool:
        """Whether the verdict is *violated* or *failed*, or the check was killed or impossible."""
        return self.lost or self.verdict.is_wrong

    @property
    def catches_fault(self) -> bool:
        """Whether the verdict catches a planted fault: it is *violated*, or the method failed."""
        raised = self.verdict is VerdictName.FAILED and not self.lost
        return raised or VerdictName.VIOLATED in (self.verdict, self.measured.get("verdict"))

    @property
    def max_sizes(self) -> dict[str, int]:
        """Largest sizes of the runs: iterations T, components n and entries d of a point, by name.

        Sizes that were not counted are missing.
        """
        sizes = {name: self.measured.get(f"largest {name}") for name in ("T", "n", "d")}
        return {name: int(size) for name, size in sizes.items() if size}

    @property
    def line(self) -> str:
        """Verdict, main number and largest sizes of the runs, in one line."""
        runs = f"{self.repetitions} run{'' if self.repetitions == 1 else 's'}"
        numbers = format_ratio_or_exponents(self.measured) or ("" if self.lost else runs)
        parts = (self.verdict.value, numbers, sizes_in_words(self.measured))
        return " · ".join(filter(None, parts))

    def __str__(self) -> str:
        return f"{self.claim.name}: {self.line}"

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON object, as ``pfbench verify --json`` writes it.

        Infinite values and NaN become None.
        """
        report = {"claim": self.claim.name, "source": self.claim.source, "kind": self.claim.kind}
        own = [field.name for field in fields(self) if field.name not in ("claim", "lost")]
        numbers = {name: as_json_value(getattr(self, name)) for name in own}
        return {**report, **numbers, "tested": self.max_sizes}

    def _repr_html_(self) -> str:
        """Return the verdict as HTML for Jupyter."""
        claim = self.claim
        report = {"claim": claim.name, "source": claim.source, "says": claim.statement}
        report |= {"verdict": self.line, "why": self.reason}
        return html_fields(report) + html_fields(self.measured, "measured")

    @classmethod
    def from_stored(cls, claim: Claim, stored: Mapping[str, Any]) -> Self:
        """Return the verdict on a claim from a stored row; other fields of the row are ignored."""
        fields = {name: stored[name] for name in FIELDS}
        if "verdict" in fields["measured"]:
            name = VerdictName(fields["measured"]["verdict"])
            fields["measured"] = {**fields["measured"], "verdict": name}
        return cls(claim=claim, **fields)


FIELDS = frozenset(field.name for field in fields(Verdict)) - {"claim"}
"""Fields that a stored verdict must have, in addition to its claim."""


_OTHER_DIRECTION = (
    "The tested estimate is State.estimate; lo gets something else, as with momentum."
)


def judge(trial: Trial) -> Verdict:
    """Check the claim of a trial, and return the verdict with the largest sizes of its runs."""
    started, is_broken, is_lost = perf_counter(), False, False
    try:
        evidence = _run_check(trial)
    except (ClaimBroken, NotTestable) as error:
        is_broken, is_lost = True, isinstance(error, NotTestable)
        evidence = _empty_evidence(_verdict_of_error(error), end_sentence(error))
    seconds = perf_counter() - started
    verdict = _make_verdict(trial.claim, evidence, seconds, is_broken, is_lost)
    other = f" {_OTHER_DIRECTION}" if trial.coverage.has_other_direction else ""
    measured = {**verdict.measured, **trial.coverage.as_measured}
    return replace(verdict, reason=f"{verdict.reason}{other}", measured=measured)


def _verdict_of_error(error: ClaimBroken | NotTestable) -> VerdictName:
    """Return the verdict on a claim whose check ended with an error."""
    if isinstance(error, MethodFailed | SubjectLacksParameter):
        return VerdictName.FAILED
    return VerdictName.VIOLATED if isinstance(error, ClaimBroken) else VerdictName.INCONCLUSIVE


@np.errstate(all="ignore")  # as in a run
def _run_check(trial: Trial) -> Evidence:
    """Execute the check of a claim, and return the evidence.

    Raises
    ------
    NotTestable
        If an instance of a user-defined claim cannot be built or does not fit the method, or the
        code of the claim raises.
    """
    claim = trial.claim
    if claim.user_source is None:
        return recheck_inhomogeneous_bound(trial, claim.check(trial))
    try:
        getattr(claim.check, "check_testable", _check_method_and_instances)(trial)
        return recheck_inhomogeneous_bound(trial, claim.check(trial))
    except (ClaimBroken, NotTestable):
        raise
    except PfbenchError as error:
        raise NotTestable(str(error)) from error
    except Exception as error:
        error_text = add_location(f"{type(error).__name__}: {error}", locate_error(error))
        raise NotTestable(f"the code of the claim raised {error_text}") from error


def _check_method_and_instances(trial: Trial) -> None:
    """Raise an error if the method or an instance of a claim cannot be built."""
    if trial.claim.algorithm:
        claim_method(trial.claim)
    for instance in trial.claim.instances:
        instance.example()


def make_unfinished_verdict(claim: Claim, reason: str, seconds: float) -> Verdict:
    """Return the verdict *failed* for a check that was killed, crashed or raised an exception."""
    evidence = _empty_evidence(VerdictName.FAILED, end_sentence(f"The check ended as {reason}"))
    return _make_verdict(claim, evidence, seconds, is_broken=True, is_lost=True)


def _empty_evidence(verdict: VerdictName, reason: str) -> Evidence:
    return Evidence(decision=Decision(verdict, reason, {}, None), repetitions=0)


def _make_verdict(
    claim: Claim, evidence: Evidence, seconds: float, is_broken: bool, is_lost: bool
) -> Verdict:
    """Return the verdict on a claim from its evidence.

    It is *disputed* for a claim with a broken proof, unless a run contradicts the claim.
    """
    decision = evidence.decision
    verdict = VerdictName(decision.verdict)
    reason = decision.reason
    measured = {**decision.measured, **_test_count_and_tight_instances(claim, decision)}
    if claim.disputed and not is_broken:
        measured["verdict"] = decision.verdict
        verdict, reason = VerdictName.DISPUTED, f"{claim.disputed} (measured: {decision.verdict})."
    if any(name.rpartition(": ")[2] == UNREPEATABLE for name in measured):
        reason = f"{reason} {WORDS}."
    return Verdict(
        claim=claim,
        verdict=verdict,
        reason=reason,
        measured=measured,
        claimed={**evidence.claimed, **_complexity_by_criterion(claim.complexity)},
        repetitions=evidence.repetitions,
        p_value=decision.corrected_p_value,
        seconds=seconds,
        lost=is_lost,
    )


def _test_count_and_tight_instances(claim: Claim, decision: Decision) -> dict[str, Any]:
    """Return a decision's number of tests, and the instances that nearly attain the bound.

    Each of these instances has its ratio of measured value to bound.
    """
    details: dict[str, Any] = {} if decision.p_value is None else {"tests": decision.test_count}
    if decision.verdict in NEAR:
        only = [instance.name for instance in claim.instances][:1]
        details["tight_on"] = [location or ", ".join(only) for location in decision.tight_on]
        details["tight_ratio"] = list(decision.tight_on.values())
    return details


def _complexity_by_criterion(complexity: Complexity | None) -> dict[str, str]:
    """Return a complexity as text, under each stationarity criterion for which it is known."""
    if complexity is None:
        return {}
    return {
        criterion: ", ".join(f"{kind} {order}" for kind, order in reported.orders.items())
        for criterion in CRITERIA
        if complexity.is_known_under(criterion)
        for reported in (complexity.convert(criterion),)
    }


def as_json_value(value: Any) -> Any:
    """Convert a value to JSON types; infinite numbers and NaN become None."""
    if isinstance(value, Mapping):
        return {str(name): as_json_value(item) for name, item in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, Sequence):
        return [as_json_value(item) for item in value]
    number = float(value)
    return number if math.isfinite(number) else None
