"""A receipt of a comparison put to the test: a share of its runs made again, and new seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pfbench.base.errors import PfbenchError
from pfbench.receipts.comparison_receipt import RUNS, RecomputedReceipt, recompute
from pfbench.receipts.recheck import (
    AT_ONCE,
    CheckOutcome,
    CheckPlan,
    CheckTask,
    describe_isolated_difference,
    run_checks,
)
from pfbench.runs.engines.engine import use_single_thread
from pfbench.runs.engines.run_task import execute_plan, limit_memory
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.resolve import resolve
from pfbench.runs.rerun import BY_THE_CLOCK, MOST_MEMORY, TOLERANCE, describe_difference
from pfbench.runs.storage.archive import SPEC
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.suite_archive import SuiteArchive, read_suite_archive, thin_trace

NEW = 20
"""Runs of new seeds, of each cell."""


@dataclass(frozen=True)
class CheckedSuite:
    """A suite as the checker has it, with the runs that are shipped with it."""

    text: str
    archive: SuiteArchive


def check(
    folder: Path, fields: Mapping[str, Any], how: CheckPlan, suite: CheckedSuite | None
) -> tuple[CheckOutcome, Mapping[str, str]]:
    """Make a receipt's content again as far as the time suffices.

    Parameters
    ----------
    folder, fields
        The receipt, unpacked, and its ``comparison.json``.
    how
        See `CheckPlan`.
    suite
        The suite of that name, if pfbench has one.

    Returns
    -------
    Checked, mapping of str to str
        What became of it, and its pages, drawn anew.
    """
    outcome, read = CheckOutcome(), list[RecomputedReceipt | str]()
    seeds = [how.rng.randrange(2**31) for _ in range(NEW)]
    first = CheckTask(how.task(_recompute_pages, folder, fields, seeds), read.append, "its pages")
    run_checks([first], how, outcome)
    text = read[0] if read else ""
    if isinstance(text, str):
        outcome.deviations += [text] if text else []
        return outcome, {}
    stored_runs = read_suite_archive(folder / RUNS).runs
    unknown = list(text.other_plans)
    if suite is not None:
        if (folder / SPEC).read_text("utf-8") != suite.text:
            outcome.deviations.append(f"the suite {fields['suite']} of pfbench is another one")
        unknown = [plan for plan in text.other_plans if plan not in suite.archive.runs]
        outcome.deviations += _iterate_shipped_differences(text, stored_runs, suite.archive.runs)
        outcome.suite_runs = len(text.other_plans) - len(unknown)
    run_checks(list(_iterate_tasks(text, stored_runs, unknown, outcome, how)), how, outcome)
    return outcome, text.pages


def _iterate_shipped_differences(
    recorded: RecomputedReceipt,
    stored_runs: Mapping[PlannedRun, StoredRun],
    computed: Mapping[PlannedRun, StoredRun],
) -> Iterator[str]:
    """Yield the runs of other methods that are not those that are shipped."""
    for plan in recorded.other_plans:
        if plan in computed:
            right = _strip_run(computed[plan].run, recorded.targets, _steps(stored_runs[plan].run))
            if subject := describe_difference(stored_runs[plan].run, right, 0.0):
                yield f"the run of {_plan_label(plan)} is not the one that is shipped: {subject}"


def _iterate_tasks(
    recorded: RecomputedReceipt,
    stored_runs: Mapping[PlannedRun, StoredRun],
    unknown: Sequence[PlannedRun],
    outcome: CheckOutcome,
    how: CheckPlan,
) -> Iterator[CheckTask]:
    """Yield what is asked, what must be known of a receipt first, each in an order drawn."""
    pool = [
        plan
        for plan in (*recorded.candidate_plans, *unknown)
        if stored_runs[plan].run.status not in BY_THE_CLOCK
    ]
    outcome.runs[1] = len(pool)

    def rerun_task(plans: Sequence[PlannedRun], subject: str, *, needed: bool) -> CheckTask:
        old = [stored_runs[plan].run for plan in plans]
        task = how.task(_make_runs, plans, recorded.targets, [_steps(run) for run in old])
        return CheckTask(
            task,
            partial(_record_reruns, old, plans, outcome, how.same_environment),
            subject,
            needed,
        )

    cells = how.shuffle_sample(sorted(recorded.cells))
    first = {
        how.rng.choice([plan for plan in recorded.cells[name][0] if plan in pool] or pool): name
        for name in cells
    }
    for plan, name in first.items():
        yield rerun_task([plan], f"a run of {name}", needed=True)
    alone = {recorded.cells[name][1][0].problem: name for name in cells}
    for name in alone.values():
        plan = recorded.cells[name][1][0]
        other_subject = f"the method of {name} in a process of its own"
        yield CheckTask(how.task(_describe_isolated_difference, plan), outcome.note, other_subject)
    for k, name in enumerate(cells):
        old, new = recorded.cells[name]
        law = partial(_record_fresh_runs, [stored_runs[plan].run for plan in old], name, outcome)
        task = how.task(_make_runs, new, recorded.targets, [()] * len(new))
        yield CheckTask(task, law, f"new seeds of {name}", not k)
    rest = how.shuffle_sample([plan for plan in pool if plan not in first])
    for k in range(0, len(rest), AT_ONCE):
        yield rerun_task(rest[k : k + AT_ONCE], "further runs", needed=False)


def _record_reruns(
    recorded_runs: Sequence[Run],
    plans: Sequence[PlannedRun],
    outcome: CheckOutcome,
    same: bool,
    new_runs: Sequence[Run],
) -> None:
    """Take runs that were made again."""
    for plan, recorded_run, new_run in zip(plans, recorded_runs, new_runs, strict=True):
        outcome.runs[0] += 1
        if subject := describe_difference(recorded_run, new_run, 0.0 if same else TOLERANCE):
            now, before = (run.counts.as_dict().get(subject, "") for run in (new_run, recorded_run))
            numbers = f" {now} for {before}" if now != before else ""
            outcome.note(f"the run of {_plan_label(plan)} made again has {subject}{numbers}")


def _record_fresh_runs(
    recorded_runs: Sequence[Run], name: str, outcome: CheckOutcome, new_runs: Sequence[Run]
) -> None:
    """Take runs of new seeds, which must have the law of the old ones."""
    outcome.compare_fresh(
        name, list(map(_run_counts, recorded_runs)), list(map(_run_counts, new_runs))
    )


def _run_counts(run: Run) -> dict[str, float]:
    return {"iterations": run.iterations, **run.counts.as_dict()}


def _plan_label(plan: PlannedRun) -> str:
    return f"{plan.algorithm} on {plan.problem}, seed {plan.seed},"


# --- in a process that can be killed --------------------------------------------------------------


def _recompute_pages(
    folder: Path, fields: Mapping[str, Any], seeds: Sequence[int]
) -> RecomputedReceipt | str:
    try:
        return recompute(folder, fields, seeds)
    except PfbenchError as error:
        return str(error).rstrip(".")


def _make_runs(
    plans: Sequence[PlannedRun], targets: Sequence[Any], steps: Sequence[Sequence[int]]
) -> list[Run]:
    """Make runs; of their traces keep some steps, and what tables follow from."""
    with limit_memory(MOST_MEMORY), use_single_thread():
        return [
            _strip_run(execute_plan(plan), targets, step)
            for plan, step in zip(plans, steps, strict=True)
        ]


def _strip_run(run: Run, targets: Sequence[Any], point: Sequence[int]) -> Run:
    needed = {*_steps(thin_trace(run, targets, 0)), *point}
    step = run.columns.index("iteration")
    return replace(run, rows=[row for row in run.rows if row[step] in needed])


def _steps(run: Run) -> tuple[int, ...]:
    """Return the iterations of which the trace of a run has a row."""
    step = run.columns.index("iteration")
    return tuple(row[step] for row in run.rows)


def _describe_isolated_difference(plan: PlannedRun) -> str:
    """Return in what a method differs where nothing of the problem is in its memory."""
    resolved = resolve(plan)
    if resolved.cached_run is None:
        return ""
    problem, algorithm = resolved.built_problem.problem, resolved.cached_run.algorithm
    return describe_isolated_difference(
        lambda: (problem, algorithm), plan.seed, f"the method {plan.algorithm}"
    )
