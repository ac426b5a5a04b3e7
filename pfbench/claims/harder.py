"""Harder instances for a bound of somebody's own: those of the catalogue's claims, tried briefly.

An easy instance decides little. The worst cases and hard families on which published bounds bind
are tried in place of a claim's own, and the one on which most of the bound is measured is put to
the claim's own test, on other seeds. That changes no verdict: whether the theorem speaks of that
instance only its author knows.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.assumptions import ASSUMPTIONS, known_of
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.claims.hard_families import FAMILIES, families
from pfbench.verification.claim import Claim
from pfbench.verification.instances import Instance, instance
from pfbench.verification.session import judge
from pfbench.verification.stating.bound import RUNS, Bound
from pfbench.verification.stating.quantity import is_count
from pfbench.verification.stating.rate import Rate
from pfbench.verification.stating.setting import chance, check_fit
from pfbench.verification.summaries import main_numbers
from pfbench.verification.trial import Trial, method_of

SECONDS, EACH = 10.0, 1.0
"""Seconds of processor for all instances, and for one of them."""

_PILOTS = 3
"""Runs on an instance, where chance enters."""


@dataclass(frozen=True)
class Hardest:
    """The instance of the catalogue on which most of a bound was measured.

    Attributes
    ----------
    claim
        The name of the claim whose bound it is.
    tried
        On how many instances it could be tried; the rest is empty if on none.
    seconds
        How long that took.
    instance
        The hardest, as `Claim.instances` and ``-p`` take it.
    of
        A claim of the catalogue that is tested on it.
    lacks
        What the claim assumes in words of its own, and what all of its own instances are known to
        be and this one is not.
    mean
        Whether the mean over the iterates stood for a uniform output, which varies more.
    verdict, reason, numbers
        What the claim's check says of it with this instance in place of its own, and with as many
        runs as a bound has that says nothing of them.
    tests
        On how many tests that rests, in which chance enters: they share the level of all.
    """

    claim: str
    tried: int
    seconds: float
    instance: str = ""
    of: str = ""
    lacks: tuple[str, ...] = ()
    mean: bool = False
    verdict: str = ""
    reason: str = ""
    numbers: str = ""
    tests: int = 0

    def in_words(self) -> str:
        """Return it as people read it."""
        if not self.tried:
            return f"{self.claim}: no instance of the catalogue's claims fits it."
        known = f" (not known of it: {', '.join(self.lacks)})" if self.lacks else ""
        over = ', with over="mean"' if self.mean else ""
        if self.verdict == "violated":
            end = f"If the theorem speaks of it, put it among the claim's instances{over}."
        else:
            end = f"Put it among the claim's instances to have it tested there, too{over}."
        if self.of in FAMILIES:
            return (
                f"{self.claim}: {self.of}, the hardest family known, as {self.instance}{known}: "
                f"{self.verdict} there, {self.numbers}. {end}"
            )
        return (
            f"{self.claim}: of {self.tried} instances of the catalogue's claims, tried for "
            f"{self.seconds:.2g} s, the hardest is {self.instance} of {self.of}{known}: "
            f"{self.verdict} there, {self.numbers}. {end}"
        )


class _Candidate(NamedTuple):
    """An instance of the catalogue: a claim of it, its selector, its size, and what it lacks."""

    of: str
    selector: str
    one: Instance
    size: int
    lacks: tuple[str, ...]


class _TooLong(Exception):
    """An instance takes more than its share of the time."""


@dataclass(frozen=True)
class _Brief(Trial):
    """A trial whose runs end after a while."""

    until: float = 0.0

    def moves(self, problem: Any, algorithm: Any, seed: int = 0, **more: Any) -> Iterator[Any]:
        """As a trial's, as long as there is time."""
        for move in super().moves(problem, algorithm, seed, **more):
            if process_time() > self.until:
                raise _TooLong
            yield move


def can_be_tried(claim: Claim) -> bool:
    """Return whether a claim bounds something else than calls, which follow from a schedule."""
    return isinstance(claim.check, Bound) and not is_count(claim.check.of)


def is_rate(claim: Claim) -> bool:
    """Return whether a claim is a rate that a hard family of problems can refute."""
    return isinstance(claim.check, Rate) and not claim.check.by_schedule


def hardest(claim: Claim, effort: str = "quick", seed: int = 0) -> Hardest:
    """Return the catalogue's instance on which most of a claim's bound is measured.

    Those are tried that have a set, a penalty and a norm as an instance of the claim has, meet all
    that claim and method assume, and have the constants that the bound asks for. Of those that are
    above the bound one that lacks nothing of the claim's own instances is preferred.

    A rate is put to its own test on the hardest family known that fits; see `hard_families`.

    Raises
    ------
    InputError
        If the claim has no such bound.
    """
    if is_rate(claim):
        return _hardest_of_rate(claim, effort, seed)
    if not can_be_tried(claim):
        raise InputError(f"{claim.name} has no bound that other instances could be nearer to.")
    begun, found = process_time(), list[tuple[float, _Candidate]]()
    sharp = _sharper(claim)
    for candidate in sorted(_fitting(claim), key=lambda one: one.size):  # most of them in that time
        if process_time() - begun > SECONDS:
            break
        ratio = _pilot(replace(sharp, instances=(candidate.one,)), effort, seed)
        if ratio is not None:
            found.append((ratio, candidate))
    seconds = process_time() - begun
    if not found:
        return Hardest(claim.name, 0, seconds)
    _, one = max(found, key=lambda pair: (pair[0] > 1.0 and not pair[1].lacks, pair[0]))
    seen = judge(replace(sharp, instances=(one.selector,)), effort=effort, seed=seed)
    tests = int(seen.measured.get("tests", 0))
    told = (seen.verdict, seen.reason, main_numbers(seen.measured), tests)
    mean = sharp.check.over != claim.check.over  # type: ignore[attr-defined]
    return Hardest(claim.name, len(found), seconds, one.selector, one.of, one.lacks, mean, *told)


def _hardest_of_rate(claim: Claim, effort: str, seed: int) -> Hardest:
    begun = process_time()
    for candidate in _fitting(claim, families(claim.check.values)):  # type: ignore[attr-defined]
        seen = judge(replace(claim, instances=(candidate.one,)), effort=effort, seed=seed)
        return Hardest(
            claim=claim.name,
            tried=1,
            seconds=process_time() - begun,
            instance=candidate.selector,
            of=candidate.of,
            lacks=candidate.lacks,
            verdict=seen.verdict,
            reason=seen.reason,
            numbers=main_numbers(seen.measured),
            tests=int(seen.measured.get("tests", 0)),
        )
    return Hardest(claim.name, 0, process_time() - begun)


def _sharper(claim: Claim) -> Claim:
    """Return the claim with as many runs as are usual, and the mean for a uniform output."""
    check: Bound = claim.check  # type: ignore[assignment]
    uniform = check.over == "output" and getattr(method_of(claim), "output", "") == "uniform"
    runs = max(check.runs[0], RUNS[0]), max(check.runs[1], RUNS[1])
    return replace(claim, check=replace(check, runs=runs, over="mean" if uniform else check.over))


@cache
def catalogue() -> tuple[tuple[str, str, Instance], ...]:
    """Return the instances of the catalogue's claims: a claim of each, its selector, itself."""
    from pfbench.claims.catalogue import CLAIMS

    found: dict[str, tuple[str, str, Instance]] = {}
    for claim in CLAIMS.values():
        for one in claim.instances:
            if selector := selector_of(one):
                found.setdefault(selector, (claim.name, selector, one))
    return tuple(found.values())


def selector_of(one: Instance) -> str:
    """Return the selector by which an instance is made again; empty if there is none."""
    place = f"{getattr(one.build, '__module__', '')}:{getattr(one.build, '__qualname__', '')}"
    selector = str(Selector(place, dict(one.parameters)))
    try:
        again = instance(selector)
    except InputError:  # it stands in a function, or has parameters that a selector cannot write
        return ""
    same = again.build is one.build and dict(again.parameters) == dict(one.parameters)
    return selector if same else ""


def _fitting(
    claim: Claim, among: Iterable[tuple[str, str, Instance]] | None = None
) -> Iterator[_Candidate]:
    """Yield the instances that have the parts of the claim's own, and meet what it assumes.

    What is assumed in other words than those of `ASSUMPTIONS` is known of no problem.
    """
    own = [one.example() for one in claim.instances]
    parts = {_parts(problem) for problem in own}
    stated = {*claim.assumptions, *getattr(method_of(claim), "assumes", ())}
    named = {text: _assumptions_in(text) for text in stated}
    assumed = {word for words in named.values() for word in words}
    others = sorted(text for text, words in named.items() if not words)
    shared = frozenset.intersection(*map(_known, own)) - assumed
    mine = set(map(selector_of, claim.instances))
    for of, selector, one in catalogue() if among is None else among:
        problem: Any = None if selector in mine else one.example()
        if not hasattr(problem, "set") or _parts(problem) not in parts:
            continue
        known, size = _known(problem), problem.n * int(np.prod(problem.start().shape))
        if assumed <= known:
            yield _Candidate(of, selector, one, size, (*others, *sorted(shared - known)))


def _known(problem: Any) -> frozenset[str]:
    """Return what a problem is known to meet: convex, too, where its curvature is at least 0."""
    convex = problem.constants(problem.start()).ell <= 0.0
    return known_of(problem) | {"convex"} if convex else known_of(problem)


def _assumptions_in(text: str) -> list[str]:
    """Return the assumptions that a text names: "f convex" one, "f non-convex" none."""
    return [word for word in ASSUMPTIONS if re.search(rf"(?<![\w-]){word}\b", text)]


def _parts(problem: Any) -> tuple[bool, ...]:
    """Return what kind of problem one is: bounded, with a penalty, with a norm, on arrays."""
    bounded = bool(np.isfinite(problem.set.diameter))
    norm = getattr(problem, "norm", None) is not None
    return bounded, problem.penalty is not None, norm, isinstance(problem.start(), np.ndarray)


def _pilot(claim: Claim, effort: str, seed: int) -> float | None:
    """Return about how much of the bound is measured on a claim's instance; None if nothing is."""
    trial = _Brief(claim, effort=effort, seed=seed, until=process_time() + EACH)
    check: Bound = claim.check  # type: ignore[assignment]
    (one,) = claim.instances
    ratios = []
    try:
        for setting in check.settings.values():
            for drawn in trial.seeds(_PILOTS if chance(trial, one) else 1, "pilot"):
                case = setting.on(trial, one.of_seed(drawn))
                check_fit(case)
                ratios.append(check.largest(trial, case, drawn))
    except Exception:  # the method, its parameters or the bound may be made for other problems
        return None
    found = float(np.mean(ratios))
    return found if np.isfinite(found) else None
