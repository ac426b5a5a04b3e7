"""Check of an archive of any kind, from its bytes to a report."""

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pfbench.archive import claim_tasks
from pfbench.archive.check import FAULTS, Check, CheckOutcome, CheckTask, plan_of_stored_run
from pfbench.archive.page import describe_violation, make_archive_page_files
from pfbench.archive.reruns import TOLERANCE
from pfbench.archive.unpacking import (
    list_changed_versions,
    read_runs,
    source_digest,
    unpack_archive,
)
from pfbench.base.errors import InputError
from pfbench.kernels.libraries import use_recorded_blas_in_child_processes
from pfbench.runs.engines.engine import Engine
from pfbench.runs.planning.plan import PlannedRun, portable_identity
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.storage.archive import SCRIPT, SPEC, Archive, data_files
from pfbench.runs.storage.serialization import StoredRun

REDRAWN = frozenset({"bound", "count"})
"""Kinds of claims that must also hold with other data; others may be about a single problem."""


_STATEMENTS = "statements"
"""Subject of the tasks that return what archived code states about itself."""


def check_archive(archive: Archive, engine: Engine, *, salt: str, seconds: float) -> CheckOutcome:
    """Check an archive by recomputing part of it; only confined processes import archived code.

    Parameters
    ----------
    archive, engine
        The archive, and the engine that executes the tasks.
    salt
        Text that, with the archive's hash, determines what is recomputed first.
    seconds
        Time limit in seconds.

    Raises
    ------
    InputError
        If the archive is incomplete, or one of its files was changed.
    """
    manifest = archive.manifest
    current = dict(engine.environment())
    versions = list_changed_versions(manifest)
    notes = [f"{name}: {change}" for name, change in versions.items()]
    blas = ", ".join({environment.get("blas", "") for environment in manifest["environments"]})
    rng = random.Random(f"{archive.sha256} {salt}")
    kernels = use_recorded_blas_in_child_processes(blas, current.get("blas", ""))
    with unpack_archive(archive) as folder, kernels as loaded_kernels:
        if loaded_kernels:
            notes.append(f"OpenBLAS uses the kernels {loaded_kernels}, as on the author's machine")
        stored_runs = read_runs(folder)
        check = Check(manifest, folder, engine, rng, not versions, seconds)
        try:
            tasks = list(_all_check_tasks(check, stored_runs))
            page_files = make_archive_page_files(manifest)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            raise InputError(
                f"the archive is incomplete ({kind}{error}): request a new copy from its author."
            ) from error
        check.process_until_time_limit(tasks)
        check.outcome.record_significant_differences()
        scripts = [name for name in archive.names if name.startswith(SCRIPT)]
        for name in dict.fromkeys([*page_files, *scripts]):
            if archive.read(name) == page_files.get(name):
                continue
            if "pfbench" in versions:  # which may draw it otherwise
                notes.append(f"{name} is from another version of pfbench, and was not compared")
            else:
                check.outcome.add_deviation(f"{name} does not match the results in the archive")
    check.outcome.notes, check.outcome.is_same_environment = notes, check.is_same_environment
    return check.outcome


def _all_check_tasks(check: Check, stored_runs: Sequence[StoredRun]) -> Iterator[CheckTask]:
    """Yield the tasks that check an archive; a task comes after those on which it depends."""
    manifest = check.manifest
    if manifest["kind"] == "sweep":
        _record_missing_runs(check, stored_runs, load_spec(check.folder / SPEC).runs())
    if manifest["kind"] == "claim":
        yield from _ClaimsTasks(check, manifest).all(stored_runs)
    yield from check.rerun_and_new_seed_tasks(stored_runs)


def _record_missing_runs(
    check: Check, stored_runs: Sequence[StoredRun], plans: Sequence[PlannedRun]
) -> None:
    """Record as a deviation the number of planned runs that the archive lacks, if it is not 0."""
    stored_keys = {
        portable_identity(plan_of_stored_run(entry, data_files(check.manifest)))
        for entry in stored_runs
    }
    lacking = sum(portable_identity(plan) not in stored_keys for plan in plans)
    check.outcome.add_deviation(lacking and f"{lacking} planned runs are not in the archive")


@dataclass(frozen=True)
class _ClaimsTasks:
    """Tasks that check all claims of an archive; tasks of one kind are in random order."""

    check: Check
    fields: Mapping[str, Any]

    def ask(self, function: Any, *arguments: Any) -> Any:
        return self.check.make_confined_task(function, self.fields["theorem"], *arguments)

    @property
    def effort_and_seed(self) -> tuple[str, int]:
        """Effort and seed of the archived verification."""
        return self.fields["effort"], self.fields["seed"]

    def all(self, stored_runs: Sequence[StoredRun]) -> Iterator[CheckTask]:
        """Yield tasks that check claims, runs, counterexamples, verdicts and faults."""
        fields, fresh = self.fields, self.check.rng.randrange(2**31)
        self.check.outcome.verdicts[1] = len(fields["verdicts"])
        task = self.ask(claim_tasks.describe_claims, fields["faults"]["most"])
        yield CheckTask(task, self.compare_with_manifest, "statements", subject=_STATEMENTS)
        task = self.ask(claim_tasks.list_claim_runs, fields["seed"])
        take = partial(self.compare_planned_runs, stored_runs)
        yield CheckTask(task, take, "the plan of its runs", subject=_STATEMENTS)
        for record in fields["counterexamples"]:
            task = self.ask(claim_tasks.recompute_counterexample, record)
            take = partial(self.compare_counterexample, record)
            text = f"the counterexample to {record['claim']}"
            yield CheckTask(task, take, text, subject="counterexamples")
        yield from self.verdict_tasks_and_new_data(fresh)
        yield from self.fault_tasks()

    def verdict_tasks_and_new_data(self, new_data_seed: int) -> Iterator[CheckTask]:
        """Yield tasks that recompute verdicts, then tasks that check the claims on other data."""
        shuffle, fields, outcome = self.check.shuffle_sample, self.fields, self.check.outcome
        for k, verdict in enumerate(shuffle(fields["verdicts"])):
            name, take = verdict["claim"], partial(self.compare_verdict, verdict)
            records = [item for item in fields["counterexamples"] if item["claim"] == name]
            task = self.ask(claim_tasks.recompute_verdict, name, *self.effort_and_seed, records)
            yield CheckTask(task, take, f"verdict on {name}", not k, "verdicts")
        wrong = ("violated", "failed")
        sound = {item["claim"] for item in fields["verdicts"] if item["verdict"] not in wrong}
        redrawn = [claim["name"] for claim in fields["claims"] if claim["kind"] in REDRAWN]
        for k, name in enumerate(shuffle([name for name in redrawn if name in sound])):
            judge = claim_tasks.describe_failure_with_other_data
            task = self.ask(judge, name, fields["effort"], new_data_seed)
            note = outcome.add_deviation
            yield CheckTask(task, note, f"{name} with other data", not k, "verdicts")

    def fault_tasks(self) -> Iterator[CheckTask]:
        """Yield tasks that examine a sample of faults again."""
        faults = self.fields["faults"]
        counted = [
            *(("", item["mutant"], by) for item in faults["planted"] for by in item["caught_by"]),
            *(
                (item["method"], item["fault"], item["found_by"] or "")
                for item in faults["generated"]
                if item["found_by"] or item["equivalent"]
            ),
        ]
        self.check.outcome.faults[1] = len(counted)
        for fault in self.check.shuffle_sample(counted, FAULTS):
            task = self.ask(claim_tasks.is_fault_confirmed, fault, *self.effort_and_seed)
            take = partial(self.record_fault_unless_confirmed, *fault[1:])
            yield CheckTask(task, take, f"fault {fault[1]}", False, "faults")

    # --- what becomes of it -----------------------------------------------------------------------

    def compare_with_manifest(self, statements: Mapping[str, Any]) -> None:
        """Compare the claims and faults of the archived code with those in the manifest."""
        note, fields, faults = self.check.outcome.add_deviation, self.fields, self.fields["faults"]
        note(_difference(fields["claims"], statements["claims"], "its claims"))
        names = [claim["name"] for claim in statements["claims"]]
        if [verdict["claim"] for verdict in fields["verdicts"]] != names:
            note("the verdicts are not about the claims of the archived code")
        for kind, results in (
            ("planted", [item["mutant"] for item in faults["planted"]]),
            ("generated", [[item["fault"], item["admissible"]] for item in faults["generated"]]),
        ):
            if results != statements[kind]:
                note(f"the {kind} faults are not those that the archived code gives")

    def compare_planned_runs(self, stored_runs: Sequence[StoredRun], answer: Sequence[Any]) -> None:
        """Record a deviation for missing planned runs, and one for runs that no claim plans."""
        plans = [PlannedRun.from_json(plan) for plan in answer]
        _record_missing_runs(self.check, stored_runs, plans)
        if len(plans) < len(stored_runs):
            self.check.outcome.add_deviation("the archive has runs that its claims do not plan")

    def compare_counterexample(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """Compare a recomputed counterexample with the archived one; record the result."""
        title, outcome = f"the counterexample to {old['claim']}", self.check.outcome
        if new["verdict"] != "violated":
            outcome.add_deviation(f"{title} is not one: {new['reason'].rstrip('.')}")
            return
        left_out = {"ratio", "measured", "e_value", "runs"} if new["e_value"] else set()
        is_same_pfbench = self.fields["source"] == source_digest()
        left_out |= set() if is_same_pfbench else {"script", "script_ratio", "reason"}
        if not self.record_difference(title, old, new, (old.keys() | new.keys()) - left_out):
            script = "" if is_same_pfbench else "; its script is of another version of pfbench"
            outcome.confirmed.append(f"{title} is confirmed: {describe_violation(new)}{script}")

    def compare_verdict(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """Compare a recomputed verdict with the archived one; record deviations."""
        self.check.outcome.verdicts[0] += 1
        exact = ["measured", "reason"] if self.check.is_same_environment else []
        names = ["verdict", "kind", "source", "claimed", *exact]
        self.record_difference(f"the verdict on {old['claim']}", old, new, names)

    def record_difference(
        self, title: str, old: Mapping[str, Any], new: Mapping[str, Any], names: Collection[str]
    ) -> str:
        """Record and return the first difference of two dicts in the fields `names`; "" if none."""
        order = [name for name in dict.fromkeys([*old, *new]) if name in names]
        recorded, recomputed = ({name: item.get(name) for name in order} for item in (old, new))
        difference = _difference(recorded, recomputed, title)
        self.check.outcome.add_deviation(difference)
        return difference

    def record_fault_unless_confirmed(self, name: str, claim: str, is_confirmed: Any) -> None:
        """Record a deviation if an archived fault is not confirmed.

        A fault is confirmed if its claim catches it or, without a claim, if it is equivalent.
        """
        self.check.outcome.faults[0] += 1
        wrong = f"is not caught by {claim}" if claim else "is not equivalent"
        self.check.outcome.add_deviation(is_confirmed is not True and f"the fault {name} {wrong}")


def _difference(recorded: Any, recomputed: Any, location: str) -> str:
    """Return a description of the first difference of two values, "" if equal up to rounding."""
    if isinstance(recorded, Mapping) and isinstance(recomputed, Mapping):
        names = dict.fromkeys([*recorded, *recomputed])
        pairs = [(f": {name}", recorded.get(name), recomputed.get(name)) for name in names]
    elif isinstance(recorded, list) and isinstance(recomputed, list):
        if len(recorded) != len(recomputed):
            return f"{location}: {len(recomputed)} recomputed, {len(recorded)} in the archive"
        pairs = [(f" {k}", *pair) for k, pair in enumerate(zip(recorded, recomputed, strict=True))]
    elif _is_close(recorded, recomputed, TOLERANCE):
        return ""
    else:
        return f"{location}: {recomputed} recomputed, {recorded} in the archive"
    differences = (_difference(item, other, f"{location}{suffix}") for suffix, item, other in pairs)
    return next(filter(None, differences), "")


def _is_close(recorded: Any, recomputed: Any, tolerance: float) -> bool:
    """Return whether two values are equal; two numbers may differ by a tolerance."""
    if not all(isinstance(item, int | float) for item in (recorded, recomputed)):
        return bool(recorded == recomputed)
    both_nan = math.isnan(recorded) and math.isnan(recomputed)
    return both_nan or math.isclose(recorded, recomputed, rel_tol=tolerance, abs_tol=1e-12)
