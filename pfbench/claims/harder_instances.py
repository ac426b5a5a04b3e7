"""Harder instances for user-defined bounds: the catalogue's instances, each tested briefly.

An easy instance is little evidence for a bound. So pfbench tests a user's claim on worst cases and
hard families, on which published bounds are nearly attained. On each instance, the ratio of the
measured quantity to the bound is measured. On the instance with the largest ratio, the claim's own
check runs with other seeds. The result changes no verdict on the claim, because only the author
knows whether the theorem covers that instance.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.protocols import ASSUMPTIONS, list_known_assumptions
from pfbench.base.selectors import Selector
from pfbench.base.status import Verdict
from pfbench.claims.hard_families import FAMILIES, list_hard_instances
from pfbench.verification.claim import Claim
from pfbench.verification.instances import Instance, make_instance
from pfbench.verification.statements.bound import RUNS, Bound
from pfbench.verification.statements.quantity import is_count
from pfbench.verification.statements.rate import RateCheck
from pfbench.verification.statements.setting import check_required_oracles, is_run_random
from pfbench.verification.summaries import summarise_main_numbers
from pfbench.verification.trial import Trial, claim_method
from pfbench.verification.verdict import judge

SECONDS: Mapping[str, float] = {"quick": 100.0, "full": 600.0}
"""Limit of processor time for the searches of all claims together, in seconds, by effort."""

_PILOT_SHARE, _PILOT_SECONDS = 0.1, 1.0
"""Share of a search's time for pilot runs, and limit for those on one instance, in seconds."""

_PILOTS = 3
"""Number of pilot runs on an instance, if the runs are random."""


@dataclass(frozen=True)
class HardestInstance:
    """Catalogue instance on which the measured quantity is largest relative to a claim's bound.

    Attributes
    ----------
    claim
        Name of the claim that states the bound.
    tried
        Number of instances on which the claim could be tested; if 0, the later fields are empty.
    seconds
        Duration.
    instance
        Selector of the hardest instance, as in `Claim.instances` and ``-p``.
    source_claim
        A claim of the catalogue that is tested on that instance.
    lacks
        What the instance is not known to have: assumptions of the claim in its author's words, and
        properties that all of the claim's own instances have.
    mean
        Whether the mean over the iterates replaced a uniform output, which varies more.
    verdict, reason, numbers
        Result of the claim's check on this instance, with the default number of runs of a bound.
    tests
        Number of random tests in that check; they share the family-wise error rate.
    """

    claim: str
    tried: int
    seconds: float
    instance: str = ""
    source_claim: str = ""
    lacks: tuple[str, ...] = ()
    mean: bool = False
    verdict: str = ""
    reason: str = ""
    numbers: str = ""
    tests: int = 0

    def format(self) -> str:
        """Return a sentence on the hardest instance and its verdict, or that there is none."""
        if not self.tried:
            return f"{self.claim}: no instance of the catalogue's claims meets its assumptions."
        text = f" (not known to satisfy: {', '.join(self.lacks)})" if self.lacks else ""
        over = ', with statistic="mean"' if self.mean else ""
        result = f"{self.verdict} there"
        result += f", {self.numbers}." if self.numbers else f": {self.reason}"
        if self.verdict == Verdict.VIOLATED:
            result += f" If the theorem covers it, add it to the claim's instances{over}."
        elif self.numbers:
            result += f" Add it to the claim's instances to test it there, too{over}."
        hardest = f"on {self.source_claim}, the hardest family known, as {self.instance}"
        if self.source_claim not in FAMILIES:
            hardest = (
                f"of {self.tried} instances of the catalogue's claims, tried for "
                f"{self.seconds:.2g} s, the hardest is {self.instance} of {self.source_claim}"
            )
        return f"{self.claim}: {hardest}{text}: {result}"


class _Candidate(NamedTuple):
    """Catalogue instance to be tried, with its selector, its size and unmet assumptions."""

    claim_name: str
    selector: str
    instance: Instance
    size: int
    lacks: tuple[str, ...]


def bounds_quantity_other_than_calls(claim: Claim) -> bool:
    """Return whether a claim bounds a measured quantity rather than a number of oracle calls.

    Numbers of calls are excluded because they follow from a schedule.
    """
    return isinstance(claim.check, Bound) and not is_count(claim.check.quantity)


def is_refutable_rate(claim: Claim) -> bool:
    """Return whether a claim is a rate that a hard problem family can refute.

    The number of calls of such a rate does not follow from the schedule alone.
    """
    return isinstance(claim.check, RateCheck) and not claim.check.by_schedule


def find_hardest_instance(
    claim: Claim, effort: str = "quick", seed: int = 0, seconds: float = SECONDS["quick"]
) -> HardestInstance:
    """Return the catalogue instance with the largest ratio of a claim's quantity to its bound.

    A tested instance has a set, a penalty and a norm if an instance of the claim has them. A
    tested instance also meets all assumptions of the claim and the method, and has the constants
    that the bound needs. If instances exceed the bound, those with all known properties of the
    claim's instances are preferred.

    A rate is tested on the hardest known family that fits; see `hard_families`. The runs end after
    `seconds` seconds of processor time; a check that has not decided by then is *inconclusive*.

    Raises
    ------
    InputError
        If the claim is neither a bound on a quantity other than calls nor a rate.
    """
    started = process_time()
    trial = Trial(claim, effort=effort, seed=seed, deadline=started + seconds)
    if is_refutable_rate(claim):
        families = list_hard_instances(claim.check.values)  # type: ignore[attr-defined]
        hardest = [*islice(_iterate_fitting_instances(claim, families), 1)]
        fields = _judge_on_candidate(trial, claim, *hardest) if hardest else {}
        return HardestInstance(claim.name, len(hardest), process_time() - started, **fields)
    if not bounds_quantity_other_than_calls(claim):
        raise InputError(
            f"{claim.name} cannot be tested on harder instances: name a bound on a quantity other "
            "than oracle calls, or a rate that depends on the instance."
        )
    sharp = _with_means_for_drawn_outputs(claim)
    candidates = sorted(_iterate_fitting_instances(claim), key=lambda candidate: candidate.size)
    results, limit = list[tuple[float, _Candidate]](), process_time() + _PILOT_SHARE * seconds
    for candidate in candidates:  # most of them in that time
        if process_time() > limit:
            break
        deadline = min(limit, process_time() + _PILOT_SECONDS)
        narrowed = replace(sharp, instances=(candidate.instance,))
        ratio = _measure_pilot_ratio(replace(trial, claim=narrowed, deadline=deadline))
        if ratio is not None:
            results.append((ratio, candidate))
    seconds = process_time() - started
    if not results:
        return HardestInstance(claim.name, 0, seconds)
    _, item = max(results, key=lambda pair: (pair[0] > 1.0 and not pair[1].lacks, pair[0]))
    mean = sharp.check.statistic != claim.check.statistic  # type: ignore[attr-defined]
    fields = _judge_on_candidate(trial, sharp, item)
    return HardestInstance(claim.name, len(results), seconds, mean=mean, **fields)


def _judge_on_candidate(trial: Trial, claim: Claim, candidate: _Candidate) -> dict[str, Any]:
    """Judge a claim on a candidate's instance; return the fields of a `HardestInstance` for it."""
    verdict = judge(replace(trial, claim=replace(claim, instances=(candidate.selector,))))
    return {
        "instance": candidate.selector,
        "source_claim": candidate.claim_name,
        "lacks": candidate.lacks,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "numbers": summarise_main_numbers(verdict.measured),
        "tests": int(verdict.measured.get("tests", 0)),
    }


def _with_means_for_drawn_outputs(claim: Claim) -> Claim:
    """Return the claim with means instead of uniformly drawn outputs, and enough runs.

    A claim on an output drawn uniformly from the iterates becomes a claim on the mean over them.
    """
    check: Bound = claim.check  # type: ignore[assignment]
    uniform = (
        check.statistic == "output" and getattr(claim_method(claim), "output", "") == "uniform"
    )
    runs = max(check.runs[0], RUNS[0]), max(check.runs[1], RUNS[1])
    return replace(
        claim, check=replace(check, runs=runs, statistic="mean" if uniform else check.statistic)
    )


@cache
def list_instances_of_claims() -> tuple[tuple[str, str, Instance], ...]:
    """Return all instances of the catalogue's claims as tuples (claim name, selector, instance)."""
    from pfbench.claims.catalogue import CLAIMS

    instances: dict[str, tuple[str, str, Instance]] = {}
    for claim in CLAIMS.values():
        for instance in claim.instances:
            if selector := instance_selector(instance):
                instances.setdefault(selector, (claim.name, selector, instance))
    return tuple(instances.values())


def instance_selector(item: Instance) -> str:
    """Return the selector from which an instance can be built again; empty if there is none."""
    location = f"{getattr(item.build, '__module__', '')}:{getattr(item.build, '__qualname__', '')}"
    selector = str(Selector(location, dict(item.parameters)))
    try:
        recomputed = make_instance(selector)
    except InputError:  # it stands in a function, or has parameters that a selector cannot write
        return ""
    same = recomputed.build is item.build and dict(recomputed.parameters) == dict(item.parameters)
    return selector if same else ""


def _iterate_fitting_instances(
    claim: Claim, among: Iterable[tuple[str, str, Instance]] | None = None
) -> Iterator[_Candidate]:
    """Yield catalogue instances that resemble a claim's instances and meet its assumptions.

    The features are those of the claim's own instances: set, penalty and norm. An assumption that
    names no word of `ASSUMPTIONS` counts as one that no catalogue instance satisfies.
    """
    own = [instance.example() for instance in claim.instances]
    parts = {_has_penalty_norm_and_bounded_set(problem) for problem in own}
    statement = {*claim.assumptions, *getattr(claim_method(claim), "assumes", ())}
    named = {text: _find_mentioned_assumptions(text) for text in statement}
    assumed = {word for words in named.values() for word in words}
    rest = sorted(text for text, words in named.items() if not words)
    shared = frozenset.intersection(*map(_list_known_assumptions, own)) - assumed
    instances = set(map(instance_selector, claim.instances))
    for subject, selector, item in list_instances_of_claims() if among is None else among:
        problem: Any = None if selector in instances else item.example()
        if not hasattr(problem, "set") or _has_penalty_norm_and_bounded_set(problem) not in parts:
            continue
        known_assumptions = _list_known_assumptions(problem)
        size = (problem.n or 1) * int(np.prod(problem.start().shape))
        if assumed <= known_assumptions:
            yield _Candidate(
                subject, selector, item, size, (*rest, *sorted(shared - known_assumptions))
            )


def _list_known_assumptions(problem: Any) -> frozenset[str]:
    """Return the names of those assumptions that a problem is known to satisfy.

    "convex" is among them also where the constant ell is not positive.
    """
    names, ell = list_known_assumptions(problem), problem.constants(problem.start()).ell
    return names | {"convex"} if ell <= 0.0 else names


def _find_mentioned_assumptions(text: str) -> list[str]:
    """Return the names of those assumptions in `ASSUMPTIONS` that a text mentions."""
    return [word for word in ASSUMPTIONS if re.search(rf"(?<![\w-]){word}\b", text)]


def _has_penalty_norm_and_bounded_set(problem: Any) -> tuple[bool, ...]:
    """Return whether a problem has a bounded set, a penalty, a norm, and arrays as points."""
    bounded = bool(np.isfinite(problem.set.diameter))
    norm = getattr(problem, "norm", None) is not None
    return bounded, problem.penalty is not None, norm, isinstance(problem.start(), np.ndarray)


def _measure_pilot_ratio(trial: Trial) -> float | None:
    """Return the mean ratio of measured quantity and bound in pilot runs on a claim's instance.

    The result is None if a run, its parameters or the bound raises an error, if the mean is
    infinite, or after the deadline.
    """
    check: Bound = trial.claim.check  # type: ignore[assignment]
    (item,) = trial.claim.instances
    ratios = []
    try:
        for setting in check.settings.values():
            for sample in trial.seeds(_PILOTS if is_run_random(trial, item) else 1, "pilot"):
                case = setting.make_case(trial, item.build_seeded(sample))
                check_required_oracles(case)
                ratios.append(check.max_ratio(trial, case, sample))
    except Exception:  # the method, its parameters or the bound may be made for other problems
        return None
    mean = float(np.mean(ratios))
    return mean if np.isfinite(mean) else None
