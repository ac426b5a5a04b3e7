"""A receipt of a theorem put to the test: its content made again, and beside it new seeds.

What is made again first is drawn by the hash of the receipt and the checker's salt: its author can
choose neither. Nothing of his is imported here, but in processes that can be killed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.verdicts import NEAR, Verdict
from pfbench.receipts import redone
from pfbench.receipts.again import AT_ONCE, Asked, Checked, How, answered, equal, near
from pfbench.receipts.runs import Row, by_cell
from pfbench.runs.engines.workers import Task

FAULTS = 4
"""So many of the faults that were found, or said to change nothing, are looked at again."""

OF_WORST = 1e-4
"""How far a worst case that is computed again may be from the first, relative to it."""

ANEW = frozenset({"bound", "count"})
"""Kinds of claims that must hold on every problem of a family; others may be of one alone."""


def check(about: Mapping[str, Any], rows: Sequence[Row], how: How) -> Checked:
    """Make a receipt's content, ``receipt.json`` and the runs, again as far as time suffices."""
    found = Checked()
    old = by_cell(about["cells"], rows)
    found.runs[1], found.verdicts[1] = len(rows), len(about["verdicts"])
    answered(list(_Asking(about, old, how, found).all()), how, found)
    return found


@dataclass(frozen=True)
class _Asking:
    """What is asked of a receipt, each kind in an order that is drawn."""

    about: Mapping[str, Any]
    old: Mapping[str, Sequence[Row]]
    how: How
    found: Checked

    def of(self, function: Callable[..., Any], *given: Any) -> Task:
        return self.how.task(function, self.about["theorem"], *given)

    def all(self) -> Iterator[Asked]:
        """Yield what is asked, what must be known of a receipt first."""
        about, fresh = self.about, self.how.rng.randrange(2**31)
        yield Asked(
            self.of(redone.statements, about["seed"], about["faults"].get("most", 0)),
            lambda said: self.found.off.extend(_otherwise(about, self.old, said)),
            "statements",
        )
        first, later = self.runs()
        yield from self.how.mixed(first)
        yield from self.fresh_runs(fresh)
        yield from self.verdicts(fresh)
        yield from self.findings()
        yield from self.how.mixed(later)

    def runs(self) -> tuple[list[Asked], list[Asked]]:
        """Return what is asked of each cell first, and later."""
        asked: tuple[list[Asked], list[Asked]] = [], []
        for at, name in enumerate(self.about["cells"]):
            rows = self.how.mixed(self.old[name])
            parts = [rows[:1], *(rows[k : k + AT_ONCE] for k in range(1, len(rows), AT_ONCE))]
            for k, part in enumerate(one for one in parts if one):
                seeds = [(int(row["data"]), int(row["seed"])) for row in part]
                take = partial(_again, part, name, self.found, self.how.same)
                task = self.of(redone.runs_of, at, seeds)
                asked[k > 0].append(Asked(task, take, f"runs of {name}", not k))
        return asked

    def fresh_runs(self, fresh: int) -> Iterator[Asked]:
        """Yield runs of new seeds, and a run with its method apart."""
        for at in self.how.mixed(range(len(self.about["cells"]))):
            name, note = self.about["cells"][at], self.found.note
            if not self.old[name]:
                said = self.about["without"].get(name, "")
                yield Asked(
                    self.of(redone.none_of, at, self.about["seed"], said), note, name, False
                )
                continue
            law = partial(_fresh, self.old[name], name, self.found)
            yield Asked(self.of(redone.new_runs, at, fresh), law, f"new seeds of {name}")
            row = self.how.rng.choice(self.old[name]) if self.how.same else None
            what = f"{name} with its method in a process of its own"
            yield Asked(self.of(redone.alone, at, fresh, row), note, what)

    def verdicts(self, fresh: int) -> Iterator[Asked]:
        """Yield verdicts to be made again, and claims to be judged on problems drawn anew."""
        about, verdicts = self.about, self.how.mixed(self.about["verdicts"])
        how = about["effort"], about["seed"]
        for k, one in enumerate(verdicts):
            take = partial(_verdict, one, self.found, self.how.same)
            what = f"verdict on {one['claim']}"
            yield Asked(self.of(redone.verdict_on, one["claim"], *how), take, what, not k)
        sound = {one["claim"] for one in verdicts if not Verdict(one["verdict"]).is_wrong}
        names = [one["name"] for one in about["claims"] if one["kind"] in ANEW]
        for k, name in enumerate(self.how.mixed([one for one in names if one in sound])):
            task = self.of(redone.anew, name, about["effort"], fresh)
            what = f"{name} on problems drawn anew"
            yield Asked(task, self.found.note, what, not k)

    def findings(self) -> Iterator[Asked]:
        """Yield errata, faults and worst cases to be found again."""
        about, faults = self.about, self.about["faults"]
        how = about["effort"], about["seed"]
        for k, one in enumerate(self.how.mixed(about["errata"])):
            take = partial(_erratum, one, self.found, self.how.same)
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
        for method, name, claim in self.how.mixed(every, FAULTS):
            task = self.of(redone.is_found, method, name, claim, *how)
            take = partial(_fault, name, claim, self.found)
            yield Asked(task, take, f"fault {name}", needed=False)
        bounded = [one["claim"] for one in about["worst"] if one.get("worst_case") is not None]
        for name in self.how.mixed(list(dict.fromkeys(bounded)), 1):
            there = [one for one in about["worst"] if one["claim"] == name]
            take = partial(_worse, there, self.found)
            yield Asked(self.of(redone.worst_again, name), take, f"worst case of {name}", False)


# --- what becomes of it ---------------------------------------------------------------------------


def _otherwise(
    about: Mapping[str, Any], old: Mapping[str, Sequence[Row]], said: Mapping[str, Any]
) -> Iterator[str]:
    """Yield where what a theorem states is not what its receipt says."""
    for stated_here, there in zip(said["claims"], about["claims"], strict=False):
        if differ := _difference(there, stated_here, there.get("name", "a claim")):
            yield differ
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
    for name, seeds in said["seeds"].items():
        there = [(int(row["data"]), int(row["seed"])) for row in old[name]]
        if there != [tuple(pair) for pair in seeds] and name not in about["without"]:
            yield f"the runs of {name} have other seeds than those of seed {about['seed']}"


def _difference(there: Any, here: Any, place: str) -> str:
    """Return the first place where two values differ, in words; numbers up to rounding."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        names = dict.fromkeys([*there, *here])
        pairs = ((f": {one}", *(of.get(one, "nothing") for of in (there, here))) for one in names)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = ((f" {k}", *pair) for k, pair in enumerate(zip(there, here, strict=True)))
    else:
        return "" if near(there, here) else f"{place} is {here}, and {there} by the receipt"
    found = (_difference(one, other, f"{place}{at}") for at, one, other in pairs)
    return next(filter(None, found), "")


def _again(old: Sequence[Row], name: str, found: Checked, same: bool, made: Any) -> None:
    """Take runs that were made again."""
    if isinstance(made, str):
        found.off.append(f"runs of {name} cannot be made again: {made}")
        return
    for there, here in zip(old, made, strict=True):
        found.runs[0] += 1
        exact = ("iteration", *COUNTED, *(("measured", "iterates") if same else ()))
        off = [kind for kind in exact if not equal(there[kind], here[kind])]
        if not same and not near(there["measured"], here["measured"]):
            off.append("measured")
        if off:
            what = ", ".join(f"{kind} {here[kind]:g} for {there[kind]:g}" for kind in off)
            found.note(f"a run of {name} (seed {there['seed']:.0f}) made again has {what}")


def _fresh(old: Sequence[Row], name: str, found: Checked, made: Any) -> None:
    """Take runs of new seeds, which must have the law of the old ones."""
    if isinstance(made, str):
        found.off.append(f"runs of {name} with new seeds come to no end: {made}")
        return
    kinds = ("iteration", *COUNTED, "measured")
    there, here = ([{kind: row[kind] for kind in kinds} for row in rows] for rows in (old, made))
    found.fresh(name, there, here)


def _verdict(old: Mapping[str, Any], found: Checked, same: bool, made: Mapping[str, Any]) -> None:
    """Take a verdict that was made again."""
    found.verdicts[0] += 1
    parts = ["verdict", "kind", "source", "claimed", *(["measured", "reason"] if same else ())]
    there, here = ({one: of.get(one) for one in parts} for of in (old, made))
    if old["verdict"] not in tuple(Verdict) and Verdict(made["verdict"]) in NEAR:
        there["verdict"] = here["verdict"]  # a former name: *attained* had none of its own
    found.note(_difference(there, here, f"the verdict on {old['claim']}"))


def _erratum(old: Mapping[str, Any], found: Checked, same: bool, made: Mapping[str, Any]) -> None:
    """Take the examination of an erratum that was made again."""
    name = f"the erratum {old['erratum']}"
    without: set[str] = set() if same else {"evidence"}
    if "objection" not in old:  # a receipt that was made before there were any
        without.add("objection")
    parts = [one for one in made if one not in without]
    there, here = ({one: of.get(one) for one in parts} for of in (old, made))
    found.note(_difference(there, here, name))
    shown = [one["evidence"]["shown"] for one in (old, made)]
    if shown[0] != shown[1]:
        found.note(f"{name} is {'' if shown[1] else 'not '}shown, and not so there")


def _fault(name: str, claim: str, found: Checked, right: bool) -> None:
    """Take whether a fault is found again, or changes nothing as was said."""
    found.faults[0] += 1
    if not right:
        how = f"is not found by {claim}" if claim else "changes something"
        found.note(f"the fault {name} {how}")


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
