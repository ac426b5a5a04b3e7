"""Growing horizons: a statement for every T is tested at T, 4T, 16T, ... as time allows."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from time import process_time

from pfbench.base.verdicts import Verdict
from pfbench.verification.evidence import Evidence
from pfbench.verification.faults.fault import Fault
from pfbench.verification.stating.setting import FACTOR, Setting
from pfbench.verification.statistics import Decision, across, doubtful
from pfbench.verification.subject import Broken, Subject
from pfbench.verification.trial import Trial

LARGEST = {"quick": FACTOR**3, "full": FACTOR**6}
"""The largest horizon over the stated one, by effort."""

SECONDS = {"quick": 10.0, "full": 60.0}
"""Seconds for horizons beyond the stated one, by effort."""

SHORT = 1.0
"""Those of a claim of the catalogue, and of a fault, in a quick verification."""

LEFT_OUT = "is left out: shorter runs took too long"

_PATIENCE, _LEAST = 6.0, 30.0
"""A horizon that would take this multiple of these seconds of the processor, and so many at least,
is left out."""


def along_horizons(
    trial: Trial, settings: Iterable[Setting], check: Callable[[Trial], Evidence]
) -> Evidence:
    """Return the evidence of a check at the stated horizon, and at longer ones while it holds.

    The horizons follow from the work that was counted, not from the clock, so that they are the
    same on every machine; only a problem that is far slower than that ends them by the clock, and
    the reason says so. A horizon that is undecided, with nothing against the claim, ends them, and
    is no part of what was tested.
    """
    begun, evidence = process_time(), check(trial)
    stated = [setting.horizon(trial.effort) for setting in settings]
    if None in stated or not stated or not Verdict(evidence.decision.verdict).is_kept:
        return evidence
    first, seconds = max(T for one in stated if one for T in one[1:]), _seconds(trial)
    parts, horizons, runs = {"": evidence.decision}, [first], evidence.repetitions
    work, spent, factor, late = trial.seen.work, 0.0, FACTOR, ""
    while factor <= LARGEST[trial.effort] and spent + FACTOR * work <= seconds:
        before, started = copy(trial.seen), process_time()
        if FACTOR * (started - begun) > max(_LEAST, _PATIENCE * seconds):
            late = f" T = {first * factor} {LEFT_OUT}."
            break
        begun, name = started, f"T = {first * factor}"
        try:
            found = check(replace(trial, stretch=factor))
        except Broken as error:
            raise type(error)(f"with {name} {error}") from error
        except Exception:  # the author's functions, or the method, have no such horizon
            trial.seen.reset(before)
            break
        if _is_undecided(found.decision):
            trial.seen.reset(before)
            break
        parts[name], runs = found.decision, runs + found.repetitions
        horizons.append(first * factor)
        if not Verdict(found.decision.verdict).is_kept:
            break
        work = trial.seen.work - before.work
        spent, factor = spent + work, factor * FACTOR
    trial.seen.horizons = tuple(horizons) if len(horizons) > 1 else ()
    decision = across(parts) if len(parts) > 1 else evidence.decision
    reason = f"{decision.reason}{late}"
    return replace(evidence, decision=replace(decision, reason=reason), repetitions=runs)


def _seconds(trial: Trial) -> float:
    """Return the seconds for longer horizons."""
    subject = trial.subject
    is_fault = type(subject) is not Subject or isinstance(subject.algorithm, Fault)
    if trial.effort == "quick" and (is_fault or trial.claim.home is None):
        return SHORT
    return SECONDS[trial.effort]


def _is_undecided(decision: Decision) -> bool:
    """Return whether too few runs were made, and nothing speaks against the claim."""
    against = decision.p_value is not None and doubtful(decision.p_value)
    above = any(value > 1.0 for name, value in decision.measured.items() if name.endswith("ratio"))
    return decision.verdict == Verdict.INCONCLUSIVE and not (against or above)
