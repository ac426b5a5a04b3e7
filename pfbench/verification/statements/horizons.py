"""Growing horizons: a statement for every T is tested at T, 4T, 16T, ... as far as time allows."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from itertools import compress
from time import process_time

from pfbench.base.status import Verdict
from pfbench.verification.claim import Claim
from pfbench.verification.faults.fault import Fault
from pfbench.verification.statements.setting import (
    FACTOR,
    ClaimSetting,
    adapt_instance_to_longer_horizon,
)
from pfbench.verification.statistics import (
    Decision,
    Evidence,
    best_if_all_hold_else_worst,
    is_doubtful,
)
from pfbench.verification.subject import ClaimBroken, Subject
from pfbench.verification.trial import Trial

LARGEST = {"quick": FACTOR**3, "full": FACTOR**6}
"""Largest multiple of the stated horizon that is tested, by effort."""

SECONDS = {"quick": 10.0, "full": 60.0}
"""Seconds for horizons beyond the stated one, by effort."""

SHORT = 1.0
"""Seconds for longer horizons of catalogue claims and of faults, with quick effort."""

LEFT_OUT = "is left out: shorter runs took too long"

_PATIENCE, _LEAST = 6.0, 30.0
"""Multiple of the seconds for longer horizons, and minimum processor seconds, above which a horizon
is left out."""


def decide_at_growing_horizons(
    trial: Trial, settings: Iterable[ClaimSetting], check: Callable[[Trial], Evidence]
) -> Evidence:
    """Return the evidence at the stated horizon and, while the claim holds, at longer ones.

    The horizon is the number of steps of a run. Some instances depend on the horizon. These
    instances are tested at longer horizons even if the other instances take too long. Remaining
    seconds go to runs on the instances of shorter horizons, the longest runs first.

    Counted work, not the clock, determines the horizons, so they are the same on every machine.
    Only a problem that is far slower than its counted work is stopped by the clock, and the reason
    says so. If the result at a horizon is inconclusive, without evidence against the claim, no
    longer horizon is tested, and this one is not reported as tested.
    """
    other_process_time, evidence = process_time(), check(trial)
    horizons = [setting.horizon(trial.effort) for setting in settings]
    if None in horizons or not horizons or not Verdict(evidence.decision.verdict).keeps_bound:
        return evidence
    first = max(T for horizon in horizons if horizon for T in horizon[1:])
    seconds = _max_seconds_for_longer_horizons(trial)
    tried = _HorizonTests(check, seconds, {"": evidence.decision}, evidence.repetitions)
    groups, factor, late = split_instances_by_horizon_dependence(trial.claim), FACTOR, ""
    work, reached = [trial.coverage.work] * len(groups), [1] * len(groups)
    going = [*range(len(groups))]
    while going and factor <= LARGEST[trial.effort]:
        started = process_time()
        if FACTOR * (started - other_process_time) > max(_LEAST, _PATIENCE * seconds):
            late = f" T = {first * factor} {LEFT_OUT}."
            break
        other_process_time = started
        for k in [*going]:
            stretched = replace(trial, horizon_multiple=factor, claim=groups[k])
            name = f"T = {first * factor}{name_instances(groups[k]) if len(groups) > 1 else ''}"
            if tried.record_if_decided(name, stretched, FACTOR * work[k]):
                work[k], reached[k] = tried.last, factor
            else:
                going.remove(k)
        factor *= FACTOR
    factors = [1, *_horizon_multiples(max(reached))]
    for high in [] if late else reversed(_horizon_multiples(reached[0])):
        for low in [f for f in factors if f < high]:
            claim = instances_that_differ_between_horizons(groups[0], high, low)
            name = f"T = {first * high} on instances for T = {first * low}"
            cost = work[0] * high / reached[0]
            tried.record_if_decided(name, replace(trial, horizon_multiple=high, claim=claim), cost)
    trial.coverage.horizons = tuple(first * f for f in factors) if len(factors) > 1 else ()
    decision = (
        best_if_all_hold_else_worst(tried.parts) if len(tried.parts) > 1 else evidence.decision
    )
    if min(reached) < max(reached):
        shortest = groups[reached.index(min(reached))]
        late += f" T <= {first * min(reached)}{name_instances(shortest)}."
    reason = f"{decision.reason}{late}"
    return replace(evidence, decision=replace(decision, reason=reason), repetitions=tried.runs)


@dataclass
class _HorizonTests:
    """Results of testing a claim at longer horizons: decisions, runs, and estimated seconds."""

    check: Callable[[Trial], Evidence]
    seconds: float
    parts: dict[str, Decision]
    runs: int
    spent: float = 0.0
    last: float = 0.0

    def record_if_decided(self, name: str, trial: Trial, cost: float) -> bool:
        """Test a claim at a longer horizon; return whether the result is recorded.

        The result is not recorded in any of these cases: the cost exceeds the remaining seconds; a
        tested horizon already violates the claim; the result is undecided; the method or the
        claim's functions raise an error; there is no instance.
        """
        holds = all(Verdict(part.verdict).keeps_bound for part in self.parts.values())
        if not holds or self.spent + cost > self.seconds or not trial.claim.instances:
            return False
        before = copy(trial.coverage)
        try:
            evidence = self.check(trial)
        except ClaimBroken as error:
            raise type(error)(f"with {name} {error}") from error
        except Exception:
            trial.coverage.reset(before)
            return False
        self.last = trial.coverage.work - before.work
        self.spent += self.last
        if _is_undecided(evidence.decision):
            trial.coverage.reset(before)
            return False
        self.parts[name], self.runs = evidence.decision, self.runs + evidence.repetitions
        return True


def _horizon_multiples(limit: int) -> list[int]:
    """Return the multiples of the stated horizon, above 1 and up to `limit`, that are tested."""
    return [FACTOR**k for k in range(1, limit.bit_length()) if FACTOR**k <= limit]


def split_instances_by_horizon_dependence(claim: Claim) -> list[Claim]:
    """Split a claim by its instances: those that depend on the horizon, and the others.

    If all instances are of one kind, the list has only the claim itself.
    """
    grows = [
        adapt_instance_to_longer_horizon(item, FACTOR**2) is not item for item in claim.instances
    ]
    if len(set(grows)) == 1:
        return [claim]
    return [
        replace(claim, instances=tuple(compress(claim.instances, chosen)))
        for chosen in (grows, [not grown for grown in grows])
    ]


def name_instances(claim: Claim) -> str:
    """Return a text such as " on NAME, NAME" with the names of a claim's instances."""
    return f" on {', '.join(instance.name for instance in claim.instances)}"


def instances_that_differ_between_horizons(
    claim: Claim, longer_multiple: int, shorter_multiple: int
) -> Claim:
    """Return the claim on those of its instances that change between the two horizons."""
    instances = []
    for instance in claim.instances:
        multiples = (1, shorter_multiple, longer_multiple)
        adapted = (adapt_instance_to_longer_horizon(instance, multiple) for multiple in multiples)
        first, at_shorter, at_longer = (each.parameters for each in adapted)
        if at_shorter != at_longer and (shorter_multiple == 1 or at_shorter != first):
            instances.append(replace(instance, parameters=at_shorter))
    return replace(claim, instances=tuple(instances))


def _max_seconds_for_longer_horizons(trial: Trial) -> float:
    """Return the number of seconds that the tests at longer horizons may take."""
    subject = trial.subject
    is_fault = type(subject) is not Subject or isinstance(subject.algorithm, Fault)
    if trial.effort == "quick" and (is_fault or trial.claim.user_source is None):
        return SHORT
    return SECONDS[trial.effort]


def _is_undecided(decision: Decision) -> bool:
    """Return whether a decision is inconclusive, but with no evidence against the claim."""
    against = decision.p_value is not None and is_doubtful(decision.p_value)
    above = any(value > 1.0 for name, value in decision.measured.items() if name.endswith("ratio"))
    return decision.verdict == Verdict.INCONCLUSIVE and not (against or above)
