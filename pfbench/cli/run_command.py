"""``pfbench run``: a sweep of many runs; results in the store are reused."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import InputError, PfbenchError, StorageError
from pfbench.base.escaping import escape_text
from pfbench.base.status import Status
from pfbench.cli import options
from pfbench.cli.catalogue import report_spec_paths, resolve_spec_path
from pfbench.cli.formatting import (
    format_bytes,
    format_count,
    format_duration,
    format_if_known,
    format_plural,
)
from pfbench.cli.options import argument, flag, option
from pfbench.cli.progress import StepProgress, run_kind
from pfbench.cli.spec_runs import resolve_search
from pfbench.cli.sweep_progress import SweepProgress
from pfbench.cli.terminal import (
    FAILURES,
    INTERRUPTED,
    announce_imports,
    brief_json,
    exit_if_failed,
    exit_with_error,
)
from pfbench.cli.terminal_tables import (
    ReportedFact,
    make_table,
    multiline_cell,
    section_with_title,
    show_facts,
)

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.engines.workers import TaskResult
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec

_SHOWN = 12
"""Maximum number of failed runs that are printed; --json and --log have them all."""

_TRIALS = 24
"""Maximum number of settings tried for a forecast, spread over the sweep."""

_TRIAL_LIMIT = 100.0
"""Time limit in seconds of a trial, including its preparation."""


def run(
    spec: Path = argument("SPEC.toml", "The sweep, or a report's spec or name.", default=...),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    recomputed_status: str | None = option(
        "STATUS", "Re-run stored runs of this status: error, timeout.", "--again"
    ),
    dry_run: bool = options.DRY_RUN,
    as_json: bool = options.AS_JSON,
    log: Path | None = option("FILE", "Append a line for each run to this file."),
    quiet: bool = flag("Suppress progress and summary.", "--quiet"),
) -> None:
    """Execute the many runs that a sweep plans.

    A sweep is a TOML file with problems, algorithms, measures, parameters and seeds. Problems,
    algorithms and measures may be your own, FILE.py:NAME[...]; these are printed, then imported and
    called. A spec is a program: read a spec from others before you run it.

    Results in the store are reused; after an interruption, or a crash, the same command continues.
    A failed run is stored like any other, even if only memory, disk space or a variable was
    missing: --again error re-runs it. The output ends with the calls that each method needed to
    reach the target. Exit
    status 1 if a run failed, or a method was refused on every problem.
    """
    from pfbench.base.checks import check_choice
    from pfbench.runs.planning.spec import load_spec

    options.check_engine_options(jobs, scheduler)
    statuses = (
        ()
        if recomputed_status is None
        else (check_choice("--again", recomputed_status, (Status.ERROR, Status.TIMEOUT)),)
    )
    spec = resolve_spec_path("report", str(spec), report_spec_paths())
    planned = load_spec(spec)
    announce_imports(planned.user_selectors, spec)
    with _open_log(log) as reported, closing(options.make_engine(jobs, scheduler)) as engine:
        if dry_run:
            _dry_run(planned, store, engine, statuses, as_json=as_json)
            return
        _run_sweep(planned, store, engine, reported, statuses, as_json=as_json, quiet=quiet)


Log = Callable[[str], None]
"""Function that logs a line."""


@contextmanager
def _open_log(path: Path | None) -> Iterator[Log]:
    """Yield a function that appends a line with the time to a file, or does nothing."""
    if path is None:
        yield lambda text: None
        return
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--log {path} cannot be written ({error.strerror}).") from error
    with file:

        def line(text: str) -> None:
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            print(now, *map(escape_text, text.split()), file=file, flush=True)

        yield line


# --- running --------------------------------------------------------------------------------------


def _run_sweep(
    planned: "Spec",
    folder: Path,
    engine: "Engine",
    log: Log,
    recomputed: tuple[str, ...],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from pfbench.cli.report_text import result_tables, results_as_json_unless_large
    from pfbench.reporting import collect_report
    from pfbench.reporting.ranking import keep_ranking_rows
    from pfbench.reporting.results import limits_by_plan
    from pfbench.runs.execute import iterate_plan_outcomes
    from pfbench.runs.loop.stop import first_rows_reaching
    from pfbench.runs.storage.store import Store

    store = Store(folder)
    planned = resolve_search(
        planned, store, engine, quiet=quiet or as_json, recomputed_statuses=recomputed
    )
    plans = planned.runs()
    total, limits = len(plans), limits_by_plan(planned)
    log(f"begin {planned.name}: {format_plural(total, 'run')}, store {folder}")
    started = time.monotonic()
    described: dict[PlannedRun, dict[str, Any]] = {}
    outcomes: list[PlanOutcome] = []
    failed: list[PlanOutcome] = []
    refused: list[PlanOutcome] = []

    board = SweepProgress(planned.name, total, engine.slots, quiet=quiet or as_json)
    problem = ""

    def report_missing(missing: "Iterable[PlannedRun]") -> None:
        board.start_clock(map(run_kind, missing))

    try:
        with board:
            for outcome in iterate_plan_outcomes(plans, store, engine, report_missing, recomputed):
                result = outcome.entry.run
                board.count(outcome.origin, result.status, run_kind(outcome.plan), result.seconds)
                _log_outcome(log, outcome)
                if result.status in FAILURES:
                    failed.append(outcome)
                elif result.status == Status.REFUSED:
                    refused.append(outcome)
                if as_json or not quiet:
                    run = keep_ranking_rows(
                        result, planned.targets[outcome.plan], limits[outcome.plan]
                    )
                    outcomes.append(replace(outcome, entry=replace(outcome.entry, run=run)))
                if as_json:
                    targets = first_rows_reaching(planned.targets[outcome.plan], result)
                    described[outcome.plan] = _outcome_record(outcome) | {"targets": targets}
    except KeyboardInterrupt:
        problem = "interrupted"
    except PfbenchError as error:
        if not board.new_runs and not isinstance(error, StorageError):
            raise
        problem = str(error).rstrip(".")
    ended = (
        f"{board.done_count} of {format_plural(total, 'run')} done, {board.failure_count} failed"
    )
    log(f"end {planned.name}: {ended}{': ' if problem else ''}{problem}")
    if problem:
        exit_with_error(
            f"{problem}; {board.done_count:,} of {format_plural(total, 'run')} are stored in {folder}; the "  # noqa: E501
            "same command continues.",
            INTERRUPTED if problem == "interrupted" else 1,
        )
    if as_json or not quiet:
        runs = [described[plan] for plan in plans] if as_json else []
        report = collect_report(planned, outcomes)
        counts = sorted(board.statuses.items(), key=lambda item: (-item[1], item[0]))
        statuses = ", ".join(f"{n:,} {status}" for status, n in counts)
        facts = [
            ReportedFact("name", planned.name, "sweep"),
            ReportedFact("store", str(folder), "store"),
            ReportedFact(
                "planned", total, "runs", f"{total:,}: {_format_origins(board.origins, _DONE)}"
            ),
            *(ReportedFact(name, board.origins[origin]) for origin, name in _ORIGINS.items()),
            ReportedFact("failed", board.failure_count),
            ReportedFact("statuses", board.statuses, "status", statuses),
            ReportedFact("", None, "took", format_duration(time.monotonic() - started)),
            ReportedFact("results", results_as_json_unless_large(report) if as_json else []),
            ReportedFact("runs", runs),
        ]
        displayed = [] if as_json else result_tables(report)
        show_facts(
            facts, *displayed, _refusal_table(refused), _failure_table(failed), as_json=as_json
        )
    exit_if_failed(failed)
    for method in _first_method_refused_everywhere(planned, refused):
        exit_with_error(
            f"{method} fits no problem of {planned.name}: all its runs were refused.", 1
        )


def _log_outcome(log: Log, outcome: "PlanOutcome") -> None:
    plan, entry, run = outcome.plan, outcome.entry, outcome.entry.run
    log(
        f"{outcome.origin} {run.status} {plan.problem} {plan.algorithm} seed={plan.seed} "
        f"iterations={run.iterations} seconds={run.seconds:.3g} "
        f"retries={entry.notes.get('retries', 0)} key={entry.key[:12]} {run.stop_reason}"
    )


def _outcome_record(outcome: "PlanOutcome") -> dict[str, Any]:
    plan = outcome.plan
    return {
        "key": outcome.entry.key,
        "origin": _ORIGINS[outcome.origin],
        "problem": plan.problem,
        "algorithm": plan.algorithm,
        "seed": plan.seed,
        **brief_json(outcome.entry.run),
        "retries": outcome.entry.notes.get("retries", 0),
    }


def _failure_table(failed: "Sequence[PlanOutcome]") -> RenderableType | None:
    """Return the table of the first failed runs, None if no run failed."""
    if not failed:
        return None
    displayed = [(outcome.plan, outcome.entry.run) for outcome in failed[:_SHOWN]]
    rows = [
        (str(plan.seed), run.status, plan.algorithm, run.stop_reason) for plan, run in displayed
    ]
    title = "failed" if len(failed) <= _SHOWN else f"failed (first {_SHOWN} of {len(failed):,})"
    return section_with_title(title, make_table(("seed", "status", "algorithm", "reason"), rows))


def _refusal_table(refused: "Sequence[PlanOutcome]") -> RenderableType | None:
    """Return the table of refused algorithms with reasons, None if no run was refused."""
    if not refused:
        return None
    counts = Counter((outcome.plan.algorithm, outcome.entry.run.stop_reason) for outcome in refused)
    rows = [(method, count, reason) for (method, reason), count in counts.most_common(_SHOWN)]
    return section_with_title(
        "refused", make_table(("algorithm", "runs", "reason"), rows, right=("runs",))
    )


def _first_method_refused_everywhere(
    planned: "Spec", refused: "Sequence[PlanOutcome]"
) -> Iterator[str]:
    """Yield the first method of a sweep that fits none of its problems."""
    plans = {outcome.plan for outcome in refused}
    for study in planned.studies:
        for entry in study.algorithms:
            planned_runs = [
                study.all_plans(on, entry, setting)
                for on in study.problems
                for setting in study.settings
            ]
            if plans and plans.issuperset(plan for some in planned_runs for plan in some):
                yield entry.label
                return


def _format_origins(origins: Mapping[str, int], words: Mapping[str, str]) -> str:
    """Return the number of runs of each origin as text."""
    return ", ".join(f"{origins[name]:,} {word}" for name, word in words.items() if origins[name])


_ORIGINS = {"made": "executed", "stored": "cached", "cut": "truncated"}
"""Origins of a run, with their names in JSON."""

_DONE = {"made": "executed", "stored": "cached", "cut": "cut from longer stored runs"}


# --- the dry run ----------------------------------------------------------------------------------


def _dry_run(
    planned: "Spec", folder: Path, engine: "Engine", recomputed: tuple[str, ...], *, as_json: bool
) -> None:
    from pfbench.runs.engines.workers import Task, run_tasks
    from pfbench.runs.execute import predict_origins
    from pfbench.runs.forecast import run_trial

    plans = list(dict.fromkeys([*planned.search_runs(), *planned.runs()]))
    tuned = sum(len(study.seeds) for study in planned.studies for _ in study.iterate_tuned())
    origins = predict_origins(plans, folder, engine, recomputed)
    lacking = [plan for plan in plans if origins[plan] == "made"]
    settings: dict[tuple[str, str], list[PlannedRun]] = {}
    for plan in lacking:
        settings.setdefault((plan.problem, plan.algorithm), []).append(plan)
    step = max(1, -(-len(settings) // _TRIALS))
    chosen = list(settings.items())[::step]
    tasks = [
        Task(run_trial, (same[0],), _TRIAL_LIMIT, same[0].user_code_name) for _, same in chosen
    ]
    rows: list[dict[str, Any]] = [
        {"problem": problem, "algorithm": algorithm, "runs": len(same), **_UNKNOWN}
        for (problem, algorithm), same in chosen
    ]
    with StepProgress("trials", len(tasks), "trials", quiet=as_json) as steps:
        for result in run_tasks(tasks, min(engine.slots, options.cpu_count()) or 1):
            rows[result.index] |= _trial_record(result)
            steps.advance()
    timed = [row for row in rows if row["seconds"] is not None]
    tried = sum(row["runs"] for row in timed)
    total = sum(row["seconds"] * row["runs"] for row in timed)
    if tried:
        # Those that were not tried are taken to be like the others.
        total *= len(lacking) / tried
    sizes = [row["bytes"] for row in rows if row["bytes"] is not None]
    upper = max(sizes) * engine.slots if sizes else None
    seconds = total / engine.slots if tried or not lacking else None
    counts = Counter(origins[plan] for plan in plans)
    kinds = (
        format_plural(len({plan.problem for plan in plans}), "problem"),
        format_plural(len({plan.algorithm for plan in plans}), "algorithm"),
    )
    facts = [
        ReportedFact("name", planned.name, "sweep"),
        ReportedFact("store", str(folder), "store"),
        ReportedFact("planned", len(plans), "runs", f"{len(plans):,}: {', '.join(kinds)}"),
        *(ReportedFact(name, counts[origin]) for origin, name in _ORIGINS.items()),
        ReportedFact("", None, "of these", _format_origins(counts, _EXPECTED)),
        ReportedFact(
            "tuned_runs",
            tuned,
            "then" if tuned else "",
            f"at least {format_count(tuned)} with the parameters that the search chooses",
        ),
        ReportedFact("jobs", engine.slots, "jobs"),
        ReportedFact(
            "bytes",
            upper,
            "memory",
            format_if_known(upper, lambda count: f"about {format_bytes(count)}"),
        ),
        ReportedFact(
            "seconds",
            seconds,
            "time",
            format_if_known(seconds, lambda time: f"about {format_duration(time)}"),
        ),
        ReportedFact("settings", len(settings)),
        ReportedFact("trials", rows),
    ]
    title = f"trials of {len(rows)} of {format_plural(len(settings), 'setting')}"
    show_facts(facts, section_with_title(title, _trial_table(rows)), as_json=as_json)


def _trial_record(result: "TaskResult") -> dict[str, Any]:
    """Return the trial's estimates of a setting, or the reason of its failure."""
    if result.value is None:
        return {"failed": result.reason}
    value = dict(result.value)
    status, reason = value.pop("status", ""), value.pop("stop_reason", "")
    return value | {"failed": f"{status}: {reason}" if status in FAILURES else ""}


_UNKNOWN = {"iterations": None, "seconds": None, "bytes": None, "refused": "", "failed": ""}


_EXPECTED = {
    "stored": "are cached",
    "cut": "will be cut from longer stored runs",
    "made": "will be executed",
}


def _trial_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    names = "runs", "iterations", "time each", "memory", "algorithm on problem"
    words = {"iterations": format_count, "seconds": format_duration, "bytes": format_bytes}
    displayed = []
    for row in rows:
        numbers = (format_if_known(row[name], word) for name, word in words.items())
        remark = row["refused"] or row["failed"]
        setting = multiline_cell(
            f"{row['algorithm']} on {row['problem']}", *([remark] if remark else [])
        )
        displayed.append((row["runs"], *numbers, setting))
    return make_table(names, displayed, right=names[:-1])
