"""A receipt of a theorem put to the test: its content made again, and beside it new seeds.

What is made again first is drawn by the hash of the receipt and the checker's salt: its author can
choose neither. Nothing of his is imported here, but in processes that can be killed.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.receipts.again import Asked, Checked, answered, equal, near, other_apart
from pfbench.receipts.content import described
from pfbench.receipts.runs import Cell, Row, cells, tried
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.verification.faults.generate import faults_of
from pfbench.verification.instances import redrawn
from pfbench.verification.own import stated
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject
from pfbench.verification.trial import method_of
from pfbench.verification.verdict import WRONG

FAULTS = 4
"""So many of the faults that were found are held to their claims again."""

ANEW = frozenset({"bound", "count"})
"""Kinds of claims that must hold on every problem of a family; others may be of one alone."""

AT_ONCE = 5
"""Runs of a cell that are made in one task."""


def check(
    about: Mapping[str, Any],
    rows: Sequence[Row],
    engine: Engine,
    rng: random.Random,
    *,
    same: bool,
    seconds: float,
) -> Checked:
    """Make a receipt's content again as far as the time suffices.

    Parameters
    ----------
    about, rows
        ``receipt.json``, and the runs.
    engine
        Where the code of its author is run; its modules must be at hand.
    rng
        Draws what is made again first, and the new seeds.
    same
        Whether versions and machine are those of its author: then bits must agree.
    seconds
        The time.
    """
    found = Checked()
    asked = list(_asked(about, rows, rng, found, same=same, seconds=seconds))
    answered(asked, engine, found, seconds)
    return found


def _asked(
    about: Mapping[str, Any],
    rows: Sequence[Row],
    rng: random.Random,
    found: Checked,
    *,
    same: bool,
    seconds: float,
) -> Iterator[Asked]:
    """Yield what is asked, what must be known of a receipt first, each in an order drawn."""
    theorem, fresh = about["theorem"], rng.randrange(2**31)
    numbers = range(len(about["cells"]))
    old = {at: [row for row in rows if row["cell"] == at] for at in numbers}
    found.runs[1], found.verdicts[1] = len(rows), len(about["verdicts"])

    def of(function: Callable[..., Any], *given: Any) -> Task:
        return Task(function, (theorem, *given), seconds)

    yield Asked(
        of(_described, about["seed"]),
        lambda said: found.off.extend(_otherwise(about, old, said)),
        "statements",
    )
    first: list[Asked] = []
    later: list[Asked] = []
    for at in numbers:
        drawn = rng.sample(old[at], len(old[at]))
        parts = [drawn[:1], *(drawn[k : k + AT_ONCE] for k in range(1, len(drawn), AT_ONCE))]
        for k, part in enumerate(one for one in parts if one):
            seeds = [(int(row["data"]), int(row["seed"])) for row in part]
            take = _Runs(part, about["cells"][at], found, same)
            what = f"runs of {about['cells'][at]}"
            (later if k else first).append(Asked(of(_made, at, seeds), take, what, not k))
    yield from rng.sample(first, len(first))
    for at in rng.sample(numbers, len(numbers)):
        if old[at]:
            law = _Law(old[at], about["cells"][at], found)
            what = f"new seeds of {about['cells'][at]}"
            yield Asked(of(_new, at, fresh), law, what)
            what = f"{about['cells'][at]} with its method in a process of its own"
            yield Asked(of(_alone, at, fresh), partial(_differ, found), what)
    verdicts = rng.sample(about["verdicts"], len(about["verdicts"]))
    for k, one in enumerate(verdicts):
        effort = about["effort"]
        take_verdict = _Verdict(one, found, same)
        task = of(_judged, one["claim"], effort, about["seed"])
        yield Asked(task, take_verdict, f"verdict on {one['claim']}", not k)
    sound = [one["claim"] for one in verdicts if one["verdict"] not in WRONG]
    sound = [one["name"] for one in about["claims"] if one["name"] in sound and one["kind"] in ANEW]
    for k, name in enumerate(rng.sample(sound, len(sound))):
        task = of(_anew, name, about["effort"], fresh)
        yield Asked(task, partial(_differ, found), f"{name} on problems drawn anew", not k)
    planted = [
        ("", one["mutant"], name) for one in _planted(about) for name in one["caught_by"][:1]
    ]
    generated = [
        (one["method"], one["fault"], one["found_by"])
        for one in about["faults"]["generated"]
        if one["found_by"]
    ]
    every = [*planted, *generated]
    found.faults[1] = len(every)
    for method, name, claim in rng.sample(every, min(FAULTS, len(every))):
        task = of(_fault, method, name, claim, about["effort"], about["seed"])
        yield Asked(task, _Fault(name, claim, found), f"fault {name}", needed=False)
    yield from rng.sample(later, len(later))


def _planted(about: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    every: Sequence[Mapping[str, Any]] = about["faults"]["planted"]
    return every


# --- what becomes of it ---------------------------------------------------------------------------


def _otherwise(
    about: Mapping[str, Any], old: Mapping[int, Sequence[Row]], said: Mapping[str, Any]
) -> Iterator[str]:
    """Yield where what a theorem states is not what its receipt says."""
    for stated_here, there in zip(said["claims"], about["claims"], strict=False):
        place = _difference(there, stated_here, there.get("name", "a claim"))
        if place:
            yield f"{place[0]} is {place[2]}, and {place[1]} by the receipt"
    if len(said["claims"]) != len(about["claims"]) or list(said["seeds"]) != about["cells"]:
        yield "its claims or their instances are others than the receipt names"
        return
    names = [one["name"] for one in said["claims"]]
    if [one["claim"] for one in about["verdicts"]] != names:
        yield "its verdicts are on other claims than it states"
    for at, (name, seeds) in enumerate(said["seeds"].items()):
        there = [(int(row["data"]), int(row["seed"])) for row in old[at]]
        if there != [tuple(pair) for pair in seeds] and name not in about["without"]:
            yield f"the runs of {name} have other seeds than those of seed {about['seed']}"


def _difference(there: Any, here: Any, place: str) -> tuple[str, Any, Any] | None:
    """Return the first place where two values differ, with both; numbers up to rounding."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys([*there, *here]):
            one, other = there.get(name, "nothing"), here.get(name, "nothing")
            if found := _difference(one, other, f"{place}: {name}"):
                return found
        return None
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for k, pair in enumerate(zip(there, here, strict=True)):
            if found := _difference(*pair, f"{place} {k}"):
                return found
        return None
    return None if near(there, here) else (place, there, here)


@dataclass
class _Runs:
    """Takes runs that were made again."""

    old: Sequence[Row]
    name: str
    found: Checked
    same: bool

    def __call__(self, made: Any) -> None:
        if isinstance(made, str):
            self.found.off.append(f"runs of {self.name} cannot be made again: {made}")
            return
        for there, here in zip(self.old, made, strict=True):
            self.found.runs[0] += 1
            exact = ("iteration", *COUNTED, *(("measured", "iterates") if self.same else ()))
            off = [name for name in exact if not equal(there[name], here[name])]
            if not self.same and not near(there["measured"], here["measured"]):
                off.append("measured")
            if off:
                what = ", ".join(f"{name} {here[name]:g} for {there[name]:g}" for name in off)
                seed = f"seed {there['seed']:.0f}"
                self.found.off.append(f"a run of {self.name} ({seed}) made again has {what}")


@dataclass
class _Law:
    """Takes runs of new seeds, which must have the law of the old ones."""

    old: Sequence[Row]
    name: str
    found: Checked

    def __call__(self, made: Any) -> None:
        if isinstance(made, str):
            self.found.off.append(f"runs of {self.name} with new seeds come to no end: {made}")
            return
        self.found.new += len(made)
        for kind in ("iteration", *COUNTED, "measured"):
            there, here = ([row[kind] for row in rows] for rows in (self.old, made))
            self.found.law(f"{kind} of {self.name}", there, here)


@dataclass
class _Verdict:
    """Takes a verdict that was made again."""

    old: Mapping[str, Any]
    found: Checked
    same: bool

    def __call__(self, made: Mapping[str, Any]) -> None:
        self.found.verdicts[0] += 1
        words = [one for one in ("verdict", "kind", "source") if self.old[one] != made[one]]
        if words:
            one = words[0]
            self.found.off.append(
                f"the {one} of {self.old['claim']} is {made[one]}, by the receipt {self.old[one]}"
            )
        elif self.same and (
            place := _difference(self.old["measured"], made["measured"], self.old["claim"])
        ):
            self.found.off.append(f"{place[0]} is {place[2]}, and {place[1]} by the receipt")


@dataclass
class _Fault:
    """Takes whether a fault is found again."""

    name: str
    claim: str
    found: Checked

    def __call__(self, caught: bool) -> None:
        self.found.faults[0] += 1
        if not caught:
            self.found.off.append(f"the fault {self.name} is not found by {self.claim}")


def _differ(found: Checked, text: str) -> None:
    """Take in what a method that has nothing of the problem differs from itself."""
    found.off += [text] if text else []


# --- in a process that can be killed --------------------------------------------------------------


def _cells(theorem: str) -> list[Cell]:
    return [cell for claim in stated(theorem).claims for cell in cells(claim)]


def _described(theorem: str, seed: int) -> dict[str, Any]:
    claims = stated(theorem).claims
    return {
        "claims": [described(one) for one in claims],
        "seeds": {cell.name: cell.seeds(seed) for one in claims for cell in cells(one)},
    }


def _made(theorem: str, at: int, seeds: Sequence[tuple[int, int]]) -> Any:
    return tried(_cells(theorem)[at], seeds, at)


def _new(theorem: str, at: int, seed: int) -> Any:
    cell = _cells(theorem)[at]
    return tried(cell, cell.seeds(seed), at)


def _alone(theorem: str, at: int, seed: int) -> str:
    """Return in what a method differs where nothing of the problem is in its memory."""
    cell = _cells(theorem)[at]
    data, drawn = cell.seeds(seed)[0]

    def made() -> tuple[Any, Any]:
        case = cell.case(data)
        return case.problem, case.algorithm

    return other_apart(made, drawn, f"the method of {cell.name}")


def _judged(theorem: str, name: str, effort: str, seed: int) -> Mapping[str, Any]:
    claim = next(one for one in stated(theorem).claims if one.name == name)
    return judge(claim, effort=effort, seed=seed).as_json()


def _anew(theorem: str, name: str, effort: str, seed: int) -> str:
    """Return how a claim is wrong on problems drawn anew, under another name; empty if not."""
    claim = next(one for one in stated(theorem).claims if one.name == name)
    called = f"problem-{seed:x}"
    drawn = tuple(redrawn(one, seed, called) for one in claim.instances)
    found = judge(replace(claim, instances=drawn, home=None), effort=effort, seed=seed)
    if not found.wrong:
        return ""
    return (
        f"on problems of the same families drawn anew, under another name, {name} is "
        f"{found.verdict}: {found.reason.rstrip('.')}"
    )


def _fault(theorem: str, method: str, name: str, claim: str, effort: str, seed: int) -> bool:
    """Return whether a claim finds a fault: a planted one by its name, else one of a method."""
    there = stated(theorem)
    held = next(one for one in there.claims if one.name == claim)
    if method:
        fault = next(one for one in faults_of(method_of(held)) if one.name == name)
        subject = Subject(fault)
    else:
        subject = next(one for one in there.mutants if one.name == name).subject
    return judge(held, subject, effort, seed).catches
