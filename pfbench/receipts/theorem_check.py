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
from pfbench.receipts import worker_tasks
from pfbench.receipts.receipt_runs import Row, group_by_cell
from pfbench.receipts.recheck import (
    AT_ONCE,
    CheckOutcome,
    CheckPlan,
    CheckTask,
    approximately_equal,
    equal,
    run_checks,
)
from pfbench.runs.engines.workers import Task

FAULTS = 4
"""So many of the faults that were found, or said to change nothing, are looked at again."""

OF_WORST = 1e-4
"""How far a worst case that is computed again may be from the first, relative to it."""

REDRAWN = frozenset({"bound", "count"})
"""Kinds of claims that must hold on every problem of a family; others may be of one alone."""


def check(fields: Mapping[str, Any], rows: Sequence[Row], plan: CheckPlan) -> CheckOutcome:
    """Make a receipt's content, ``receipt.json`` and the runs, again as far as time suffices."""
    outcome = CheckOutcome()
    old = group_by_cell(fields["cells"], rows)
    outcome.runs[1], outcome.verdicts[1] = len(rows), len(fields["verdicts"])
    run_checks(list(_TheoremTasks(fields, old, plan, outcome).all()), plan, outcome)
    return outcome


@dataclass(frozen=True)
class _TheoremTasks:
    """What is asked of a receipt, each kind in an order that is drawn."""

    receipt_fields: Mapping[str, Any]
    recorded_rows: Mapping[str, Sequence[Row]]
    check_plan: CheckPlan
    outcome: CheckOutcome

    def make_task(self, function: Callable[..., Any], *args: Any) -> Task:
        return self.check_plan.task(function, self.receipt_fields["theorem"], *args)

    def all(self) -> Iterator[CheckTask]:
        """Yield what is asked, what must be known of a receipt first."""
        subject, fresh = self.receipt_fields, self.check_plan.rng.randrange(2**31)
        yield CheckTask(
            self.make_task(
                worker_tasks.statements, subject["seed"], subject["faults"].get("most", 0)
            ),
            lambda statement: self.outcome.deviations.extend(
                _statement_differences(subject, self.recorded_rows, statement)
            ),
            "statements",
        )
        first, later = self.runs()
        yield from self.check_plan.shuffle_sample(first)
        yield from self.iterate_fresh_runs(fresh)
        yield from self.verdicts(fresh)
        yield from self.findings()
        yield from self.check_plan.shuffle_sample(later)

    def runs(self) -> tuple[list[CheckTask], list[CheckTask]]:
        """Return what is asked of each cell first, and later."""
        tasks: tuple[list[CheckTask], list[CheckTask]] = [], []
        for index, name in enumerate(self.receipt_fields["cells"]):
            rows = self.check_plan.shuffle_sample(self.recorded_rows[name])
            parts = [rows[:1], *(rows[k : k + AT_ONCE] for k in range(1, len(rows), AT_ONCE))]
            for k, part in enumerate(part for part in parts if part):
                seeds = [(int(row["data"]), int(row["seed"])) for row in part]
                take = partial(
                    _record_reruns, part, name, self.outcome, self.check_plan.same_environment
                )
                task = self.make_task(worker_tasks.rerun_cell, index, seeds)
                tasks[k > 0].append(CheckTask(task, take, f"runs of {name}", not k))
        return tasks

    def iterate_fresh_runs(self, fresh: int) -> Iterator[CheckTask]:
        """Yield runs of new seeds, and a run with its method apart."""
        for point in self.check_plan.shuffle_sample(range(len(self.receipt_fields["cells"]))):
            name, note = self.receipt_fields["cells"][point], self.outcome.note
            if not self.recorded_rows[name]:
                statement = self.receipt_fields["without"].get(name, "")
                yield CheckTask(
                    self.make_task(
                        worker_tasks.explain_missing_runs,
                        point,
                        self.receipt_fields["seed"],
                        statement,
                    ),
                    note,
                    name,
                    False,
                )
                continue
            law = partial(_record_fresh_runs, self.recorded_rows[name], name, self.outcome)
            yield CheckTask(
                self.make_task(worker_tasks.run_cell_with_new_seed, point, fresh),
                law,
                f"new seeds of {name}",
            )
            row = (
                self.check_plan.rng.choice(self.recorded_rows[name])
                if self.check_plan.same_environment
                else None
            )
            subject = f"{name} with its method in a process of its own"
            yield CheckTask(
                self.make_task(worker_tasks.describe_isolated_difference, point, fresh, row),
                note,
                subject,
            )

    def verdicts(self, fresh: int) -> Iterator[CheckTask]:
        """Yield verdicts to be made again, and claims to be judged on problems drawn anew."""
        subject, verdicts = (
            self.receipt_fields,
            self.check_plan.shuffle_sample(self.receipt_fields["verdicts"]),
        )
        how = subject["effort"], subject["seed"]
        for k, verdict in enumerate(verdicts):
            take = partial(_record_verdict, verdict, self.outcome, self.check_plan.same_environment)
            other_subject = f"verdict on {verdict['claim']}"
            yield CheckTask(
                self.make_task(worker_tasks.recompute_verdict, verdict["claim"], *how),
                take,
                other_subject,
                not k,
            )
        sound = {item["claim"] for item in verdicts if not Verdict(item["verdict"]).is_wrong}
        names = [claim["name"] for claim in subject["claims"] if claim["kind"] in REDRAWN]
        for k, name in enumerate(
            self.check_plan.shuffle_sample([name for name in names if name in sound])
        ):
            task = self.make_task(worker_tasks.recheck_redrawn, name, subject["effort"], fresh)
            other_subject = f"{name} on problems drawn anew"
            yield CheckTask(task, self.outcome.note, other_subject, not k)

    def findings(self) -> Iterator[CheckTask]:
        """Yield errata, faults and worst cases to be found again."""
        subject, faults = self.receipt_fields, self.receipt_fields["faults"]
        how = subject["effort"], subject["seed"]
        for k, item in enumerate(self.check_plan.shuffle_sample(subject["errata"])):
            take = partial(_record_erratum, item, self.outcome, self.check_plan.same_environment)
            other_subject = f"erratum {item['erratum']}"
            yield CheckTask(
                self.make_task(worker_tasks.recompute_erratum, item["erratum"], *how),
                take,
                other_subject,
                not k,
            )
        full_list = [
            *(
                ("", other_item["mutant"], source)
                for other_item in faults["planted"]
                for source in other_item["caught_by"][:1]
            ),
            *(
                (other_item["method"], other_item["fault"], other_item["found_by"] or "")
                for other_item in faults["generated"]
                if other_item["found_by"] or other_item["equivalent"]
            ),
        ]
        self.outcome.faults[1] = len(full_list)
        for method, name, claim in self.check_plan.shuffle_sample(full_list, FAULTS):
            task = self.make_task(worker_tasks.fault_is_caught, method, name, claim, *how)
            take = partial(_record_fault, name, claim, self.outcome)
            yield CheckTask(task, take, f"fault {name}", is_required=False)
        bounded = [
            other_item["claim"]
            for other_item in subject["worst"]
            if other_item.get("worst_case") is not None
        ]
        for name in self.check_plan.shuffle_sample(list(dict.fromkeys(bounded)), 1):
            worst = [other_item for other_item in subject["worst"] if other_item["claim"] == name]
            take = partial(_record_worst_cases, worst, self.outcome)
            yield CheckTask(
                self.make_task(worker_tasks.recompute_worst_cases, name),
                take,
                f"worst case of {name}",
                False,
            )


# --- what becomes of it ---------------------------------------------------------------------------


def _statement_differences(
    fields: Mapping[str, Any],
    recorded_rows: Mapping[str, Sequence[Row]],
    statements: Mapping[str, Any],
) -> Iterator[str]:
    """Yield where what a theorem states is not what its receipt says."""
    for stated_here, claim in zip(statements["claims"], fields["claims"], strict=False):
        if differ := _difference(claim, stated_here, claim.get("name", "a claim")):
            yield differ
    if (
        len(statements["claims"]) != len(fields["claims"])
        or list(statements["seeds"]) != fields["cells"]
    ):
        yield "its claims or their instances are others than the receipt names"
        return
    names = [claim["name"] for claim in statements["claims"]]
    if [verdict["claim"] for verdict in fields["verdicts"]] != names:
        yield "its verdicts are on other claims than it states"
    faults = fields["faults"]
    for subject, claim, current in (
        ("planted faults", [item["mutant"] for item in faults["planted"]], statements["planted"]),
        ("errata", [erratum["erratum"] for erratum in fields["errata"]], statements["errata"]),
        (
            "generated faults",
            [[item["fault"], item["admissible"] or ""] for item in faults["generated"]],
            statements["generated"],
        ),
    ):
        if claim != current:
            yield f"its {subject} are others than follow from its code"
    for name, seeds in statements["seeds"].items():
        claim = [(int(row["data"]), int(row["seed"])) for row in recorded_rows[name]]
        if claim != [tuple(pair) for pair in seeds] and name not in fields["without"]:
            yield f"the runs of {name} have other seeds than those of seed {fields['seed']}"


def _difference(recorded: Any, recomputed: Any, location: str) -> str:
    """Return the first place where two values differ, in words; numbers up to rounding."""
    if isinstance(recorded, Mapping) and isinstance(recomputed, Mapping):
        names = dict.fromkeys([*recorded, *recomputed])
        pairs = (
            (f": {name}", *(source.get(name, "nothing") for source in (recorded, recomputed)))
            for name in names
        )
    elif (
        isinstance(recorded, list)
        and isinstance(recomputed, list)
        and len(recorded) == len(recomputed)
    ):
        pairs = ((f" {k}", *pair) for k, pair in enumerate(zip(recorded, recomputed, strict=True)))
    else:
        return (
            ""
            if approximately_equal(recorded, recomputed)
            else f"{location} is {recomputed}, and {recorded} by the receipt"
        )
    differences = (_difference(item, other, f"{location}{point}") for point, item, other in pairs)
    return next(filter(None, differences), "")


def _record_reruns(
    recorded_rows: Sequence[Row], name: str, outcome: CheckOutcome, same: bool, algorithm: Any
) -> None:
    """Take runs that were made again."""
    if isinstance(algorithm, str):
        outcome.deviations.append(f"runs of {name} cannot be made again: {algorithm}")
        return
    for recorded_row, current in zip(recorded_rows, algorithm, strict=True):
        outcome.runs[0] += 1
        exact = ("iteration", *COUNTED, *(("measured", "iterates") if same else ()))
        deviation = [kind for kind in exact if not equal(recorded_row[kind], current[kind])]
        if not same and not approximately_equal(recorded_row["measured"], current["measured"]):
            deviation.append("measured")
        if deviation:
            subject = ", ".join(
                f"{kind} {current[kind]:g} for {recorded_row[kind]:g}" for kind in deviation
            )
            outcome.note(
                f"a run of {name} (seed {recorded_row['seed']:.0f}) made again has {subject}"
            )


def _record_fresh_runs(
    recorded_rows: Sequence[Row], name: str, outcome: CheckOutcome, algorithm: Any
) -> None:
    """Take runs of new seeds, which must have the law of the old ones."""
    if isinstance(algorithm, str):
        outcome.deviations.append(f"runs of {name} with new seeds come to no end: {algorithm}")
        return
    kinds = ("iteration", *COUNTED, "measured")
    recorded, current = (
        [{kind: row[kind] for kind in kinds} for row in rows] for rows in (recorded_rows, algorithm)
    )
    outcome.compare_fresh(name, recorded, current)


def _record_verdict(
    old: Mapping[str, Any], outcome: CheckOutcome, same: bool, new: Mapping[str, Any]
) -> None:
    """Take a verdict that was made again."""
    outcome.verdicts[0] += 1
    parts = ["verdict", "kind", "source", "claimed", *(["measured", "reason"] if same else ())]
    verdicts, current = ({part: source.get(part) for part in parts} for source in (old, new))
    if old["verdict"] not in tuple(Verdict) and Verdict(new["verdict"]) in NEAR:
        verdicts["verdict"] = current["verdict"]  # a former name: *attained* had none of its own
    outcome.note(_difference(verdicts, current, f"the verdict on {old['claim']}"))


def _record_erratum(
    old: Mapping[str, Any], outcome: CheckOutcome, same: bool, new: Mapping[str, Any]
) -> None:
    """Take the examination of an erratum that was made again."""
    name = f"the erratum {old['erratum']}"
    without: set[str] = set() if same else {"evidence"}
    if "objection" not in old:  # a receipt that was made before there were any
        without.add("objection")
    parts = [name for name in new if name not in without]
    recorded, current = ({part: source.get(part) for part in parts} for source in (old, new))
    outcome.note(_difference(recorded, current, name))
    displayed = [item["evidence"]["shown"] for item in (old, new)]
    if displayed[0] != displayed[1]:
        outcome.note(f"{name} is {'' if displayed[1] else 'not '}shown, and not so there")


def _record_fault(name: str, claim: str, outcome: CheckOutcome, right: bool) -> None:
    """Take whether a fault is found again, or changes nothing as was said."""
    outcome.faults[0] += 1
    if not right:
        how = f"is not found by {claim}" if claim else "changes something"
        outcome.note(f"the fault {name} {how}")


def _record_worst_cases(
    recorded: Sequence[Mapping[str, Any]], outcome: CheckOutcome, recomputed: Any
) -> None:
    """Take worst cases of few steps; where none can be computed here nothing is said."""
    for item, other in zip(recorded, recomputed, strict=False):
        for part in ("worst_case", "bound") if "steps" in other else ():
            a, b = item.get(part), other[part]
            if a != b and not (a and b and abs(a - b) <= OF_WORST * abs(b)):
                outcome.deviations.append(
                    f"the {part.replace('_', ' ')} of {item['claim']} after {other['steps']} steps "
                    f"is {b}, and {a} by the receipt"
                )
