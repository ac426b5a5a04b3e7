"""A receipt of a theorem put to the test: its content made again, and beside it new seeds.

What is made again first is drawn by the hash of the receipt and the checker's salt: its author can
choose neither. Nothing of his is imported here, but in processes that can be killed.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.receipts import redone
from pfbench.receipts.again import Asked, Checked, answered, equal, near, untouched
from pfbench.receipts.runs import Row
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.verification.verdict import WRONG

FAULTS = 4
"""So many of the faults that were found, or said to change nothing, are looked at again."""

OF_WORST = 1e-4
"""How far a worst case that is computed again may be from the first, relative to it."""

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
    numbers = range(len(about["cells"]))
    old = {at: [row for row in rows if row["cell"] == at] for at in numbers}
    found.runs[1], found.verdicts[1] = len(rows), len(about["verdicts"])
    asking = _Asking(about, old, rng, found, same, seconds)
    answered(list(asking.all()), engine, found, seconds)
    return found


@dataclass(frozen=True)
class _Asking:
    """What is asked of a receipt, each kind in an order that is drawn."""

    about: Mapping[str, Any]
    old: Mapping[int, Sequence[Row]]
    rng: random.Random
    found: Checked
    same: bool
    seconds: float

    def of(self, function: Callable[..., Any], *given: Any) -> Task:
        return Task(untouched, (function, self.about["theorem"], *given), self.seconds)

    def mixed(self, what: Sequence[Any], most: int = 10**9) -> list[Any]:
        return self.rng.sample(what, min(most, len(what)))

    def all(self) -> Iterator[Asked]:
        """Yield what is asked, what must be known of a receipt first."""
        about, fresh = self.about, self.rng.randrange(2**31)
        yield Asked(
            self.of(redone.statements, about["seed"], about["faults"].get("most", 0)),
            lambda said: self.found.off.extend(_otherwise(about, self.old, said)),
            "statements",
        )
        first, later = self.runs()
        yield from self.mixed(first)
        yield from self.fresh_runs(fresh)
        yield from self.verdicts(fresh)
        yield from self.findings()
        yield from self.mixed(later)

    def runs(self) -> tuple[list[Asked], list[Asked]]:
        """Return what is asked of each cell first, and later."""
        asked: tuple[list[Asked], list[Asked]] = [], []
        for at, name in enumerate(self.about["cells"]):
            rows = self.mixed(self.old[at])
            parts = [rows[:1], *(rows[k : k + AT_ONCE] for k in range(1, len(rows), AT_ONCE))]
            for k, part in enumerate(one for one in parts if one):
                seeds = [(int(row["data"]), int(row["seed"])) for row in part]
                take = _Runs(part, name, self.found, self.same)
                asked[k > 0].append(
                    Asked(self.of(redone.runs_of, at, seeds), take, f"runs of {name}", not k)
                )
        return asked

    def fresh_runs(self, fresh: int) -> Iterator[Asked]:
        """Yield runs of new seeds, and a run with its method apart."""
        for at in self.mixed(range(len(self.about["cells"]))):
            name, note = self.about["cells"][at], self.found.note
            if not self.old[at]:
                said = self.about["without"].get(name, "")
                yield Asked(
                    self.of(redone.none_of, at, self.about["seed"], said), note, name, False
                )
                continue
            law = partial(_fresh, self.old[at], name, self.found)
            yield Asked(self.of(redone.new_runs, at, fresh), law, f"new seeds of {name}")
            row = self.rng.choice(self.old[at]) if self.same else None
            what = f"{name} with its method in a process of its own"
            yield Asked(self.of(redone.alone, at, fresh, row), note, what)

    def verdicts(self, fresh: int) -> Iterator[Asked]:
        """Yield verdicts to be made again, and claims to be judged on problems drawn anew."""
        about, verdicts = self.about, self.mixed(self.about["verdicts"])
        how = about["effort"], about["seed"]
        for k, one in enumerate(verdicts):
            take = _Verdict(one, self.found, self.same)
            what = f"verdict on {one['claim']}"
            yield Asked(self.of(redone.verdict_on, one["claim"], *how), take, what, not k)
        sound = {one["claim"] for one in verdicts if one["verdict"] not in WRONG}
        names = [one["name"] for one in about["claims"] if one["kind"] in ANEW]
        for k, name in enumerate(self.mixed([one for one in names if one in sound])):
            task = self.of(redone.anew, name, about["effort"], fresh)
            what = f"{name} on problems drawn anew"
            yield Asked(task, self.found.note, what, not k)

    def findings(self) -> Iterator[Asked]:
        """Yield errata, faults and worst cases to be found again."""
        about, faults = self.about, self.about["faults"]
        how = about["effort"], about["seed"]
        for k, one in enumerate(self.mixed(about["errata"])):
            take = _Erratum(one, self.found, self.same)
            what = f"erratum {one['erratum']}"
            yield Asked(self.of(redone.erratum_again, one["erratum"], *how), take, what, not k)
        every = [
            *(("", one["mutant"], of) for one in faults["planted"] for of in one["caught_by"][:1]),
            *(
                (one["method"], one["fault"], one["found_by"] or "")
                for one in faults["generated"]
                if one["found_by"] or one["equivalent"]
            ),
        ]
        self.found.faults[1] = len(every)
        for method, name, claim in self.mixed(every, FAULTS):
            task = self.of(redone.is_found, method, name, claim, *how)
            yield Asked(task, _Fault(name, claim, self.found), f"fault {name}", needed=False)
        bounded = [one["claim"] for one in about["worst"] if one.get("worst_case") is not None]
        for name in self.mixed(list(dict.fromkeys(bounded)), 1):
            there = [one for one in about["worst"] if one["claim"] == name]
            take_worst = partial(_worse, there, self.found)
            yield Asked(
                self.of(redone.worst_again, name), take_worst, f"worst case of {name}", needed=False
            )


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
    faults = about["faults"]
    for what, there, here in (
        ("planted faults", [one["mutant"] for one in faults["planted"]], said["planted"]),
        ("errata", [one["erratum"] for one in about["errata"]], said["errata"]),
        (
            "generated faults",
            [[one["fault"], one["admissible"] or ""] for one in faults["generated"]],
            said["generated"],
        ),
    ):
        if there != here:
            yield f"its {what} are others than follow from its code"
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


def _fresh(old: Sequence[Row], name: str, found: Checked, made: Any) -> None:
    """Take runs of new seeds, which must have the law of the old ones."""
    if isinstance(made, str):
        found.off.append(f"runs of {name} with new seeds come to no end: {made}")
        return
    kinds = ("iteration", *COUNTED, "measured")
    there, here = ([{kind: row[kind] for kind in kinds} for row in rows] for rows in (old, made))
    found.fresh(name, there, here)


@dataclass
class _Verdict:
    """Takes a verdict that was made again."""

    old: Mapping[str, Any]
    found: Checked
    same: bool

    def __call__(self, made: Mapping[str, Any]) -> None:
        self.found.verdicts[0] += 1
        exact = ("verdict", "kind", "source", "claimed")
        parts = (*exact, *(("measured", "reason") if self.same else ()))
        _compare(f"the verdict on {self.old['claim']}", self.old, made, parts, self.found)


@dataclass
class _Erratum:
    """Takes the examination of an erratum that was made again."""

    old: Mapping[str, Any]
    found: Checked
    same: bool

    def __call__(self, made: Mapping[str, Any]) -> None:
        name = f"the erratum {self.old['erratum']}"
        parts = [one for one in made if self.same or one != "evidence"]
        _compare(name, self.old, made, parts, self.found)
        shown = [one["evidence"]["shown"] for one in (self.old, made)]
        if shown[0] != shown[1]:
            self.found.off.append(f"{name} is {'' if shown[1] else 'not '}shown, and not so there")


def _compare(
    name: str,
    there: Mapping[str, Any],
    here: Mapping[str, Any],
    parts: Sequence[str],
    found: Checked,
) -> None:
    """Note the first of some parts in which two tables differ."""
    old, new = ({one: of.get(one) for one in parts} for of in (there, here))
    if place := _difference(old, new, name):
        found.off.append(f"{place[0]} is {place[2]}, and {place[1]} by the receipt")


@dataclass
class _Fault:
    """Takes whether a fault is found again, or changes nothing as was said."""

    name: str
    claim: str
    found: Checked

    def __call__(self, right: bool) -> None:
        self.found.faults[0] += 1
        if not right:
            how = f"is not found by {self.claim}" if self.claim else "changes something"
            self.found.off.append(f"the fault {self.name} {how}")


def _worse(there: Sequence[Mapping[str, Any]], found: Checked, here: Any) -> None:
    """Take worst cases of few steps; where none can be computed here nothing is said."""
    for one, other in zip(there, here, strict=False):
        for part in ("worst_case", "bound") if "steps" in other else ():
            a, b = one.get(part), other[part]
            if a != b and not (a and b and abs(a - b) <= OF_WORST * abs(b)):
                found.off.append(
                    f"the {part.replace('_', ' ')} of {one['claim']} after {other['steps']} steps "
                    f"is {b}, and {a} by the receipt"
                )
