"""The verdict on a claim: what the evidence of a check becomes, in JSON and in a store."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any, Self

from pfbench.base.notebook import html_fields
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.scales import CRITERIA, Complexity
from pfbench.verification.statistics import Decision
from pfbench.verification.subject import Broken, Untestable
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one claim.

    Attributes
    ----------
    claim
        The claim.
    verdict
        "holds", "tight", "violated", "disputed" or "inconclusive".
    reason
        One sentence.
    measured, claimed
        Numbers by name. `measured` also says of a tight claim on which instances or terms it is
        tight ("tight_on") and by which share of the bound or which exponent ("tight_ratio"), how
        many tests it rests on ("tests"), and of a disputed claim the measured verdict.
    repetitions
        Number of runs or independent cases.
    p_value
        The least of the tests that say *violated*, times their number, at most 1; None where no
        chance enters.
    seconds
        What the check took.
    failed
        Whether the check did not come to its end: the algorithm raised, hung or died.
    """

    claim: Claim
    verdict: str
    reason: str
    measured: Mapping[str, Any]
    claimed: Mapping[str, Any]
    repetitions: int
    p_value: float | None
    seconds: float
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as ``pfbench verify --json`` writes it; what is not finite is None."""
        told = {"claim": self.claim.name, "source": self.claim.source, "kind": self.claim.kind}
        own = [one.name for one in fields(self) if one.name not in ("claim", "failed")]
        return {**told, **{name: plain(getattr(self, name)) for name in own}}

    def _repr_html_(self) -> str:
        """Return the verdict as Jupyter shows it."""
        told = {
            "claim": self.claim.name,
            "source": self.claim.source,
            "says": self.claim.statement,
            "verdict": self.verdict,
            "why": self.reason,
        }
        return html_fields(told) + html_fields(self.measured, "measured")

    @classmethod
    def of(cls, claim: Claim, stored: Mapping[str, Any]) -> Self:
        """Return the verdict that a store has; what stands there beside it is left out."""
        return cls(claim=claim, **{name: stored[name] for name in FIELDS})


FIELDS = frozenset(one.name for one in fields(Verdict)) - {"claim"}
"""What a stored verdict must have, beside what it is the verdict on."""


def judged(trial: Trial) -> Verdict:
    """Put the trial's claim to the test."""
    started = perf_counter()
    try:
        evidence = trial.claim.check(trial)
    except Broken as error:
        decision = Decision("violated", f"{error}.", {}, None)
    except Untestable as error:
        decision = Decision("inconclusive", f"{error}.", {}, None)
    else:
        return _verdict(trial.claim, evidence, perf_counter() - started)
    return _failed(trial.claim, decision, perf_counter() - started)


def unfinished(tested: Claim, reason: str, seconds: float) -> Verdict:
    """Return the verdict of a check that hung, died or raised."""
    decision = Decision("inconclusive", f"The check ended as {reason}.", {}, None)
    return _failed(tested, decision, seconds)


def _failed(tested: Claim, decision: Decision, seconds: float) -> Verdict:
    return _verdict(tested, Evidence(decision=decision, repetitions=0), seconds, failed=True)


def _verdict(tested: Claim, evidence: Evidence, seconds: float, failed: bool = False) -> Verdict:
    """Return the verdict; of a disputed claim the verdict stands among what was measured."""
    decision = evidence.decision
    shown: str = decision.verdict
    reason, measured = decision.reason, {**decision.measured, **_resting_on(tested, decision)}
    if tested.disputed and not failed:
        measured["verdict"] = decision.verdict
        shown, reason = "disputed", f"{tested.disputed} (measured: {decision.verdict})."
    return Verdict(
        claim=tested,
        verdict=shown,
        reason=reason,
        measured=measured,
        claimed={**evidence.claimed, **_on_one_scale(tested.orders)},
        repetitions=evidence.repetitions,
        p_value=decision.corrected_p_value,
        seconds=seconds,
        failed=failed,
    )


def _resting_on(tested: Claim, decision: Decision) -> dict[str, Any]:
    """Return how many tests a decision rests on, and where it is tight and by how much."""
    told: dict[str, Any] = {} if decision.p_value is None else {"tests": decision.tests}
    if decision.verdict != "tight":
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
