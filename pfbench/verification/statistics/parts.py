"""How the decisions of parts become one."""

from collections.abc import Mapping
from dataclasses import replace

from pfbench.verification.statistics.decisions import Decision

_WORST_FIRST = ("violated", "inconclusive", "holds", "tight")


def by_schedule(part: Decision) -> Decision:
    """Return the decision on what follows from a schedule whatever the method does: never tight."""
    return _never_tight(part, "by_schedule")


def by_own_constant(part: Decision) -> Decision:
    """Return the decision on a bound with a constant that no paper states: never tight."""
    return _never_tight(part, "by_own_constant")


def _never_tight(part: Decision, mark: str) -> Decision:
    measured = {**part.measured, mark: True}
    return replace(
        part, measured=measured, verdict=part.verdict if part.verdict != "tight" else "holds"
    )


def all_of(parts: Mapping[str, Decision]) -> Decision:
    """Return the decision on a claim that says several things: all must hold, all be tight."""
    return _joined(parts, min(parts, key=lambda name: _WORST_FIRST.index(parts[name].verdict)))


def given(parts: Mapping[str, Decision], conditions: Mapping[str, Decision]) -> Decision:
    """Return the decision on a claim together with conditions, which need only hold.

    What was measured of a condition stands under "condition NAME".
    """
    met = {
        f"condition {name}": replace(part, verdict="tight") if part.verdict == "holds" else part
        for name, part in conditions.items()
    }
    return all_of({**parts, **met})


def across(parts: Mapping[str, Decision]) -> Decision:
    """Return the decision on a claim tested on several families: tight if it binds on one."""
    verdicts = {name: _WORST_FIRST.index(decision.verdict) for name, decision in parts.items()}
    bad = [name for name in parts if verdicts[name] < _WORST_FIRST.index("holds")]
    deciding = min(bad, key=verdicts.__getitem__) if bad else max(parts, key=verdicts.__getitem__)
    return _joined(parts, deciding)


def _joined(parts: Mapping[str, Decision], deciding: str) -> Decision:
    """Return the deciding part's verdict with all that was measured, by part."""
    decision = parts[deciding]
    measured = {
        f"{name}: {key}" if name else key: value
        for name, part in parts.items()
        for key, value in part.measured.items()
    }
    levels = [part.p_value for part in parts.values() if part.p_value is not None]
    reason = f"{deciding}: {decision.reason}" if deciding else decision.reason
    return Decision(decision.verdict, reason, measured, min(levels, default=None))
