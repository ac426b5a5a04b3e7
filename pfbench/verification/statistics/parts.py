"""Combination of the decisions on parts into one decision."""

from collections.abc import Mapping
from dataclasses import replace

from pfbench.base.verdicts import NEAR, Verdict
from pfbench.verification.statistics.decisions import Decision

_CONDITION = "condition "

_NEVER_NEAR = ("by_schedule", "by_own_constant")


def mark_by_schedule(part: Decision) -> Decision:
    """Cap a decision that the schedule alone determines at *holds*, with a mark of why.

    Where it is why a row says *holds*, `measured` has "by_schedule": true.
    """
    return _cap_at_holds(part, "by_schedule", "it follows from the schedule")


def mark_by_own_constant(part: Decision) -> Decision:
    """Cap a decision on a bound with a constant of ours at *holds*, with a mark of why.

    Where it is why a row says *holds*, `measured` has "by_own_constant": true.
    """
    return _cap_at_holds(part, "by_own_constant", "the constant is our own")


def combine_all(parts: Mapping[str, Decision]) -> Decision:
    """Return the decision on a claim that says several things: that on the worst of them."""
    return _join_parts(parts, min(parts, key=lambda name: _rank(parts[name])))


def combine_with_conditions(
    parts: Mapping[str, Decision], conditions: Mapping[str, Decision]
) -> Decision:
    """Return the decision on a claim together with conditions, which need only hold.

    What was measured of a condition stands under "condition NAME".
    """
    met = {
        f"{_CONDITION}{name}": replace(
            part,
            verdict=Verdict.ATTAINED if Verdict(part.verdict).keeps_bound else part.verdict,
            tight_on={},
        )
        for name, part in conditions.items()
    }
    return combine_all({**parts, **met})


def combine_families(parts: Mapping[str, Decision]) -> Decision:
    """Combine decisions on several families: the worst if one is not kept, else the tightest.

    Of those on which it is, the one with the largest number is named.
    """
    bad = [name for name, part in parts.items() if not Verdict(part.verdict).keeps_bound]
    if bad:
        return _join_parts(parts, min(bad, key=lambda name: _rank(parts[name])))
    best = max(
        parts,
        key=lambda name: (_rank(parts[name]), max(parts[name].tight_on.values(), default=0.0)),
    )
    return replace(
        _join_parts(parts, best), tight_on=_merge_tight_ratios_by_part({best: parts[best]})
    )


def _rank(part: Decision) -> int:
    return Verdict(part.verdict).rank_from_worst


def _cap_at_holds(part: Decision, mark: str, why: str) -> Decision:
    """Return a decision that says *holds* where it would say more, with a mark of why."""
    measured = {**part.measured, mark: True}
    if part.verdict not in NEAR:
        return replace(part, measured=measured)
    reason = f"{part.reason} It is never counted as near its bound: {why}."
    return replace(part, verdict=Verdict.HOLDS, reason=reason, measured=measured, tight_on={})


def _join_parts(parts: Mapping[str, Decision], deciding: str) -> Decision:
    """Return the deciding part's verdict with all that was measured, by part."""
    decision = parts[deciding]
    measured = {
        f"{name}: {key}" if name else key: value
        for name, part in parts.items()
        for key, value in part.measured.items()
    }
    if decision.verdict not in NEAR:
        own = [part for name, part in parts.items() if not name.startswith(_CONDITION)]
        marks = [m for m in _NEVER_NEAR if any(part.measured.get(m) for part in own)]
        measured.update(dict.fromkeys(marks, True))
    tested = [part for part in parts.values() if part.p_value is not None]
    if decision.verdict == Verdict.VIOLATED and decision.p_value is None:
        tested = []  # one case beyond rounding: no chance enters that verdict
    return Decision(
        decision.verdict,
        f"{deciding}: {decision.reason}" if deciding else decision.reason,
        measured,
        min((part.p_value for part in tested if part.p_value is not None), default=None),
        sum(part.test_count for part in tested),
        _merge_tight_ratios_by_part(parts) if decision.verdict in NEAR else {},
    )


def _merge_tight_ratios_by_part(parts: Mapping[str, Decision]) -> dict[str, float]:
    """Return the ratios near their bound of all parts, keyed by part name and location."""
    return {
        ": ".join(filter(None, (name, key))): number
        for name, part in parts.items()
        for key, number in part.tight_on.items()
    }
