"""A receipt put to the test: what is in it made again, and beside it runs of new seeds.

What is made again first is drawn by the hash of the receipt and the checker's salt: its author can
choose neither. Nothing of his is imported here, but in processes that can be killed.
"""

import math
import multiprocessing
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.errors import in_words
from pfbench.oracles import Ledger, Oracles
from pfbench.points import form_of
from pfbench.receipts.content import described
from pfbench.receipts.runs import Cell, Row, bits_of, cells, tried
from pfbench.reporting.statistics.significance import rank_test
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Result, Task
from pfbench.runs.loop.isolated import apart
from pfbench.runs.rerun import TOLERANCE
from pfbench.verification.faults.generate import faults_of
from pfbench.verification.own import stated
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject
from pfbench.verification.trial import method_of

LEVEL = 1e-4
"""The chance that the runs of an honest receipt are told from those of new seeds, all tests
together."""

FAULTS = 4
"""So many of the faults that were found are held to their claims again."""

STEPS = 20
"""Steps of a run that is made with its method in a process of its own."""

AT_ONCE = 5
"""Runs of a cell that are made in one task."""


@dataclass
class Checked:
    """What became of a receipt.

    Attributes
    ----------
    off
        What is not as the receipt says, a sentence each.
    runs, verdicts, faults
        How many were made again, of how many.
    new
        Runs of new seeds.
    laws
        Tests that compare them with the old ones: what differs if they do, and the p-value. A test
        of equal numbers is none.
    unreached
        What time did not suffice for, or could not be made again, and must have been.
    """

    off: list[str] = field(default_factory=list)
    runs: list[int] = field(default_factory=lambda: [0, 0])
    verdicts: list[int] = field(default_factory=lambda: [0, 0])
    faults: list[int] = field(default_factory=lambda: [0, 0])
    new: int = 0
    laws: list[tuple[str, float]] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)

    @property
    def least(self) -> float:
        """The least p-value."""
        return min((p for _, p in self.laws), default=1.0)

    def compare(self) -> None:
        """Note which laws are others than the old ones, at `LEVEL` all together."""
        self.off += [text for text, p in self.laws if p <= LEVEL / len(self.laws)]


@dataclass(frozen=True)
class _Asked:
    """A task, what its outcome is given to, and what it is about; without it nothing is checked."""

    task: Task
    take: Callable[[Any], object]
    what: str
    needed: bool = True


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
    ends = monotonic() + seconds
    reached = set()
    with closing(engine.do([one.task for one in asked])) as results:  # type: ignore[type-var]
        for result in results:
            one = asked[result.index]
            reached.add(result.index)
            _take(one, result, found)
            if monotonic() > ends:
                break
    found.compare()
    found.unreached += [
        f"{one.what}: no time"
        for index, one in enumerate(asked)
        if one.needed and index not in reached
    ]
    return found


def _take(one: _Asked, result: Result, found: Checked) -> None:
    if result.status == "done":
        one.take(result.value)
    elif one.needed:
        found.unreached.append(f"{one.what}: {result.status}: {result.reason}")


def _asked(
    about: Mapping[str, Any],
    rows: Sequence[Row],
    rng: random.Random,
    found: Checked,
    *,
    same: bool,
    seconds: float,
) -> Iterator[_Asked]:
    """Yield what is asked, what must be known of a receipt first, each in an order drawn."""
    theorem, fresh = about["theorem"], rng.randrange(2**31)
    numbers = range(len(about["cells"]))
    old = {at: [row for row in rows if row["cell"] == at] for at in numbers}
    found.runs[1], found.verdicts[1] = len(rows), len(about["verdicts"])

    def of(function: Callable[..., Any], *given: Any) -> Task:
        return Task(function, (theorem, *given), seconds)

    yield _Asked(
        of(_described, about["seed"]),
        lambda said: found.off.extend(_otherwise(about, old, said)),
        "statements",
    )
    first: list[_Asked] = []
    later: list[_Asked] = []
    for at in numbers:
        drawn = rng.sample(old[at], len(old[at]))
        parts = [drawn[:1], *(drawn[k : k + AT_ONCE] for k in range(1, len(drawn), AT_ONCE))]
        for k, part in enumerate(one for one in parts if one):
            seeds = [(int(row["data"]), int(row["seed"])) for row in part]
            take = _Runs(part, about["cells"][at], found, same)
            what = f"runs of {about['cells'][at]}"
            (later if k else first).append(_Asked(of(_made, at, seeds), take, what, not k))
    yield from rng.sample(first, len(first))
    for at in rng.sample(numbers, len(numbers)):
        if old[at]:
            law = _Law(old[at], about["cells"][at], found)
            what = f"new seeds of {about['cells'][at]}"
            yield _Asked(of(_new, at, fresh), law, what)
            what = f"{about['cells'][at]} with its method in a process of its own"
            yield _Asked(of(_alone, at, fresh), partial(_differ, found), what)
    verdicts = rng.sample(about["verdicts"], len(about["verdicts"]))
    for k, one in enumerate(verdicts):
        effort = about["effort"]
        take_verdict = _Verdict(one, found, same)
        task = of(_judged, one["claim"], effort, about["seed"])
        yield _Asked(task, take_verdict, f"verdict on {one['claim']}", not k)
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
        yield _Asked(task, _Fault(name, claim, found), f"fault {name}", needed=False)
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
    return None if _near(there, here) else (place, there, here)


def _near(there: Any, here: Any) -> bool:
    numbers = all(isinstance(one, int | float) for one in (there, here))
    if not numbers:
        return bool(there == here)
    close = math.isclose(there, here, rel_tol=TOLERANCE, abs_tol=1e-12)
    return close or (math.isnan(there) and math.isnan(here))


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
            off = [name for name in exact if not _equal(there[name], here[name])]
            if not self.same and not _near(there["measured"], here["measured"]):
                off.append("measured")
            if off:
                what = ", ".join(f"{name} {here[name]:g} for {there[name]:g}" for name in off)
                seed = f"seed {there['seed']:.0f}"
                self.found.off.append(f"a run of {self.name} ({seed}) made again has {what}")


def _equal(there: float, here: float) -> bool:
    return there == here or (math.isnan(there) and math.isnan(here))


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
            there, here = (np.array([row[kind] for row in rows]) for rows in (self.old, made))
            both = np.concatenate([there, here])
            if np.isnan(both).any() or np.ptp(both) == 0.0:
                continue
            p, middle = rank_test(there, here), (np.median(here), np.median(there))
            text = f"median {middle[0]:g} for {middle[1]:g}, p = {p:.1g}"
            self.found.laws.append((f"{kind} of {self.name} has another law now ({text})", p))


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
    # A worker is a daemon, which may start none; what is started here ends with it all the same.
    multiprocessing.current_process().daemon = False
    cell = _cells(theorem)[at]
    data, drawn = cell.seeds(seed)[0]
    ways = []
    for isolated in (False, True):
        case, ledger = cell.case(data), Ledger()
        problem = case.problem
        backend = problem.open(np.random.default_rng(drawn))
        ask = Oracles(backend, ledger, problem.set.diameter, form_of(problem.start(), problem.name))
        begin = partial(apart, case.algorithm, ledger) if isolated else case.algorithm.run
        states = begin(ask, problem.start(), np.random.default_rng(drawn))
        try:
            seen = [(bits_of(problem, one.x), ledger.counts()) for one in islice(states, STEPS)]
        except Exception as error:
            if not isolated:
                return ""  # which its runs tell
            return f"the method of {cell.name} fails in a process of its own: {in_words(error)}"
        finally:
            getattr(states, "close", int)()
        ways.append(seen)
    same = ways[0] == ways[1]
    return "" if same else f"the method of {cell.name} does other things in a process of its own"


def _judged(theorem: str, name: str, effort: str, seed: int) -> Mapping[str, Any]:
    claim = next(one for one in stated(theorem).claims if one.name == name)
    return judge(claim, effort=effort, seed=seed).as_json()


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
