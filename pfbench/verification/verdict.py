"""The verdict on a claim: what the evidence of a check becomes, in JSON and in a store."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any, Self

from pfbench.base.failures import ended
from pfbench.base.notebook import html_fields
from pfbench.base.verdicts import NEAR
from pfbench.base.verdicts import Verdict as VerdictName
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.repeats import UNREPEATABLE, WORDS
from pfbench.verification.scaled_instances import in_other_units
from pfbench.verification.scales import CRITERIA, Complexity
from pfbench.verification.seen import sizes_in_words
from pfbench.verification.statistics import Decision
from pfbench.verification.subject import Broken, Lacks, Raised, Untestable
from pfbench.verification.summaries import in_short
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one claim.

    Attributes
    ----------
    claim
        The claim.
    verdict
        A `pfbench.base.verdicts.Verdict`, by its name.
    reason
        One sentence.
    measured, claimed
        Numbers by name. `measured` also says of a claim that is within ten of its bound, or
        attains it, on which instances or terms ("tight_on") and by which share of the bound or
        which exponent ("tight_ratio"), how many tests it rests on ("tests"), and of a disputed
        claim the measured verdict.
    repetitions
        Number of runs or independent cases.
    p_value
        The least of the tests that say *violated*, times their number, at most 1; None where no
        chance enters.
    seconds
        What the check took.
    lost
        Whether the check could not be made (the method lacks what it needs, or tells too little)
        or was killed: it catches no fault.
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
    def wrong(self) -> bool:
        """Whether the statement was measured false, the method failed, or its check was lost."""
        return self.lost or self.verdict.is_wrong

    @property
    def catches(self) -> bool:
        """Whether a fault of the method would be noticed by it: violated, or the method raised."""
        raised = self.verdict is VerdictName.FAILED and not self.lost
        return raised or VerdictName.VIOLATED in (self.verdict, self.measured.get("verdict"))

    @property
    def tested(self) -> dict[str, int]:
        """The largest T, n and d of its runs; empty where none was counted."""
        sizes = {name: self.measured.get(f"largest {name}") for name in ("T", "n", "d")}
        return {name: int(size) for name, size in sizes.items() if size}

    @property
    def line(self) -> str:
        """The verdict with what it rests on, in a line."""
        runs = f"{self.repetitions} run{'' if self.repetitions == 1 else 's'}"
        numbers = in_short(self.measured) or ("" if self.lost else runs)
        parts = (self.verdict.value, numbers, sizes_in_words(self.measured))
        return " · ".join(filter(None, parts))

    def __str__(self) -> str:
        return f"{self.claim.name}: {self.line}"

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as ``pfbench verify --json`` writes it; what is not finite is None."""
        told = {"claim": self.claim.name, "source": self.claim.source, "kind": self.claim.kind}
        own = [one.name for one in fields(self) if one.name not in ("claim", "lost")]
        numbers = {name: plain(getattr(self, name)) for name in own}
        return {**told, **numbers, "tested": self.tested}

    def _repr_html_(self) -> str:
        """Return the verdict as Jupyter shows it."""
        told = {
            "claim": self.claim.name,
            "source": self.claim.source,
            "says": self.claim.statement,
            "verdict": self.line,
            "why": self.reason,
        }
        return html_fields(told) + html_fields(self.measured, "measured")

    @classmethod
    def of(cls, claim: Claim, stored: Mapping[str, Any]) -> Self:
        """Return the verdict that a store has; what stands there beside it is left out."""
        fields = {name: stored[name] for name in FIELDS}
        if "verdict" in fields["measured"]:
            name = VerdictName(fields["measured"]["verdict"])
            fields["measured"] = {**fields["measured"], "verdict": name}
        return cls(claim=claim, **fields)


FIELDS = frozenset(one.name for one in fields(Verdict)) - {"claim"}
"""What a stored verdict must have, beside what it is the verdict on."""


_OTHER_DIRECTION = (
    "The estimate is State.estimate; lo is queried along something else, as with momentum."
)


def judged(trial: Trial) -> Verdict:
    """Put the trial's claim to the test; add how large the runs were on which it rests."""
    found = _judged(trial)
    other = f" {_OTHER_DIRECTION}" if trial.seen.has_other_direction else ""
    measured = {**found.measured, **trial.seen.measured}
    return replace(found, reason=f"{found.reason}{other}", measured=measured)


def _judged(trial: Trial) -> Verdict:
    started = perf_counter()
    try:
        evidence = in_other_units(trial, trial.claim.check(trial))
    except Broken as error:
        verdict = VerdictName.FAILED if isinstance(error, Raised) else VerdictName.VIOLATED
        evidence = _nothing(verdict, ended(error))
        return _verdict(trial.claim, evidence, perf_counter() - started, broken=True)
    except Untestable as error:
        verdict = VerdictName.FAILED if isinstance(error, Lacks) else VerdictName.INCONCLUSIVE
        return _lost(trial.claim, verdict, ended(error), perf_counter() - started)
    return _verdict(trial.claim, evidence, perf_counter() - started)


def unfinished(tested: Claim, reason: str, seconds: float) -> Verdict:
    """Return the verdict of a check that hung, died or raised."""
    return _lost(tested, VerdictName.FAILED, f"The check ended as {reason}.", seconds)


def _lost(tested: Claim, verdict: VerdictName, reason: str, seconds: float) -> Verdict:
    found = _verdict(tested, _nothing(verdict, reason), seconds, broken=True)
    return replace(found, lost=True)


def _nothing(verdict: VerdictName, reason: str) -> Evidence:
    return Evidence(decision=Decision(verdict, reason, {}, None), repetitions=0)


def _verdict(tested: Claim, evidence: Evidence, seconds: float, broken: bool = False) -> Verdict:
    """Return the verdict; of a disputed claim it stands among what was measured, unless broken."""
    decision = evidence.decision
    shown = VerdictName(decision.verdict)
    reason, measured = decision.reason, {**decision.measured, **_resting_on(tested, decision)}
    if tested.disputed and not broken:
        measured["verdict"] = decision.verdict
        shown, reason = VerdictName.DISPUTED, f"{tested.disputed} (measured: {decision.verdict})."
    if any(name.rpartition(": ")[2] == UNREPEATABLE for name in measured):
        reason = f"{reason} {WORDS}."
    return Verdict(
        claim=tested,
        verdict=shown,
        reason=reason,
        measured=measured,
        claimed={**evidence.claimed, **_on_one_scale(tested.orders)},
        repetitions=evidence.repetitions,
        p_value=decision.corrected_p_value,
        seconds=seconds,
    )


def _resting_on(tested: Claim, decision: Decision) -> dict[str, Any]:
    """Return how many tests a decision rests on, and where it is near the bound and by how much."""
    told: dict[str, Any] = {} if decision.p_value is None else {"tests": decision.tests}
    if decision.verdict not in NEAR:
        return told
    only = [one.name for one in tested.instances][:1]
    places = [place or ", ".join(only) for place in decision.tight_on]
    return {**told, "tight_on": places, "tight_ratio": list(decision.tight_on.values())}


def _on_one_scale(stated: Complexity | None) -> dict[str, str]:
    """Return the complexity that a rate states, under every criterion."""
    if stated is None:
        return {}
    return {
        criterion: ", ".join(f"{kind} {order}" for kind, order in told.orders.items())
        for criterion in CRITERIA
        if stated.known_under(criterion)
        for told in (stated.under(criterion),)
    }


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers, text, lists; null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    number = float(value)
    return number if math.isfinite(number) else None
