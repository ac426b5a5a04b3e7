"""The row of a verdict: what the evidence of a check becomes, on a screen, in JSON, in a store."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any, Self

from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.scales import COMPLEXITIES, CRITERIA
from pfbench.verification.statistics import Decision
from pfbench.verification.subject import Broken, Untestable
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Row:
    """The verdict on one claim.

    Attributes
    ----------
    claim, source, kind
        The claim's name, its source, its kind.
    verdict
        "holds", "tight", "violated", "disputed" or "inconclusive".
    reason
        One sentence.
    measured, claimed
        Numbers by name; of a disputed claim `measured` holds the measured verdict too.
    repetitions
        Number of runs or independent cases.
    p_value
        Of the test that says *violated*; None where no chance enters.
    seconds
        What the check took.
    failed
        Whether the check did not come to its end: the algorithm raised, hung or died.
    """

    claim: str
    source: str
    kind: str
    verdict: str
    reason: str
    measured: Mapping[str, Any]
    claimed: Mapping[str, Any]
    repetitions: int
    p_value: float | None
    seconds: float
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the row as ``pfbench verify --json`` writes it."""
        return {name: value for name, value in self.stored().items() if name != "failed"}

    def stored(self) -> dict[str, Any]:
        """Return the row as a store keeps it; what is not finite is None."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return the row that a store has; what stands there beside it is left out."""
        return cls(**{field.name: stored[field.name] for field in fields(cls)})


def judged(trial: Trial, check: Callable[[Trial], Evidence]) -> Row:
    """Put the trial's claim to the test by its check."""
    started = perf_counter()
    failed = False
    try:
        evidence = check(trial)
    except Broken as error:
        failed = True
        evidence = Evidence(decision=Decision("violated", f"{error}.", {}, None), repetitions=0)
    except Untestable as error:
        failed = True
        evidence = Evidence(decision=Decision("inconclusive", f"{error}.", {}, None), repetitions=0)
    return _row(trial.claim, evidence, perf_counter() - started, failed=failed)


def unfinished(tested: Claim, reason: str, seconds: float) -> Row:
    """Return the row of a check that hung, died or raised."""
    decision = Decision("inconclusive", f"The check ended as {reason}.", {}, None)
    return _row(tested, Evidence(decision=decision, repetitions=0), seconds, failed=True)


def _row(tested: Claim, evidence: Evidence, seconds: float, *, failed: bool) -> Row:
    """Return the row; of a disputed claim the verdict stands among what was measured."""
    decision = evidence.decision
    shown: str = decision.verdict
    reason, measured = decision.reason, dict[str, Any](decision.measured)
    if tested.disputed and not failed:
        measured["verdict"] = decision.verdict
        shown, reason = "disputed", f"{tested.disputed} (measured: {decision.verdict})."
    return Row(
        claim=tested.name,
        source=tested.source,
        kind=tested.kind,
        verdict=shown,
        reason=reason,
        measured=measured,
        claimed={**evidence.claimed, **_on_one_scale(tested.name)},
        repetitions=evidence.repetitions,
        p_value=decision.p_value,
        seconds=seconds,
        failed=failed,
    )


def _on_one_scale(name: str) -> dict[str, str]:
    """Return the complexity that a rate states, under every criterion."""
    if name not in COMPLEXITIES:
        return {}
    return {
        criterion: ", ".join(f"{kind} {order}" for kind, order in told.orders.items())
        for criterion in CRITERIA
        for told in (COMPLEXITIES[name].under(criterion),)
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
