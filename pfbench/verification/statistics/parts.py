"""Combination of the decisions on the parts of a claim into one decision."""

from collections.abc import Mapping
from dataclasses import replace

from pfbench.base.status import NEAR, Verdict
from pfbench.verification.statistics.decisions import Decision

Part = Decision | Mapping[str, Decision]
"""Decision on a part of a claim, or decisions on it by instance."""

_CONDITION = "condition "

_NEVER_NEAR = ("by_schedule", "by_own_constant")


def cap_at_holds_by_schedule_alone(part: Decision) -> Decision:
    """Cap a decision at *holds*, because the schedule alone determines the measured result.

    `measured` gets "by_schedule": True.
    """
    return _cap_at_holds(part, "by_schedule", "it follows from the schedule")


def cap_at_holds_by_own_constant(part: Decision) -> Decision:
    """Cap a decision at *holds*, because a constant of the bound is not from a paper.

    `measured` gets "by_own_constant": True.
    """
    return _cap_at_holds(part, "by_own_constant", "the constant is not from a paper")


def combine_all(parts: Mapping[str, Part]) -> Decision:
    """Return the worst of the decisions on the parts of a claim, all of which must hold.

    Decisions on the instances of a part are combined by `best_if_all_hold_else_worst`.
    """
    combined = {name: _combine_instances(part) for name, part in parts.items()}
    return _deciding_part(combined, min(combined, key=lambda name: _rank(combined[name])))


def combine_parts_and_conditions(
    parts: Mapping[str, Part], conditions: Mapping[str, Part]
) -> Decision:
    """Return the decision on a claim whose parts and conditions must all hold.

    A condition that holds does not change the verdict on the claim. Measured values of a condition
    get the prefix "condition NAME".
    """
    combined = {name: _combine_instances(part) for name, part in conditions.items()}
    met = {
        f"{_CONDITION}{name}": replace(
            part,
            verdict=Verdict.ATTAINED if Verdict(part.verdict).keeps_bound else part.verdict,
            tight_on={},
        )
        for name, part in combined.items()
    }
    return combine_all({**parts, **met})


def best_if_all_hold_else_worst(parts: Mapping[str, Decision]) -> Decision:
    """Combine decisions on instances: the worst if the bound is not kept on all, else the best.

    The best decision is one with the bound most nearly attained. `tight_on` names the instance with
    the largest ratio among these.
    """
    bad = [name for name, part in parts.items() if not Verdict(part.verdict).keeps_bound]
    if bad:
        return _deciding_part(parts, min(bad, key=lambda name: _rank(parts[name])))
    best = max(
        parts,
        key=lambda name: (_rank(parts[name]), max(parts[name].tight_on.values(), default=0.0)),
    )
    return replace(
        _deciding_part(parts, best), tight_on=_merge_tight_ratios_by_part({best: parts[best]})
    )


def _combine_instances(part: Part) -> Decision:
    return part if isinstance(part, Decision) else best_if_all_hold_else_worst(part)


def _rank(part: Decision) -> int:
    return Verdict(part.verdict).rank_from_worst


def _cap_at_holds(part: Decision, mark: str, why: str) -> Decision:
    """Return a decision with a verdict of at most *holds*, and set `mark` in its `measured`."""
    measured = {**part.measured, mark: True}
    if part.verdict not in NEAR:
        return replace(part, measured=measured)
    reason = f"{part.reason} It never counts as near its bound: {why}."
    return replace(part, verdict=Verdict.HOLDS, reason=reason, measured=measured, tight_on={})


def _deciding_part(parts: Mapping[str, Decision], deciding: str) -> Decision:
    """Return the decision of the part `deciding`, with the measured values of all parts."""
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
    """Return the `tight_on` entries of all parts, keyed by the names of part and instance."""
    return {
        ": ".join(filter(None, (name, key))): number
        for name, part in parts.items()
        for key, number in part.tight_on.items()
    }
