"""``pfbench run``: execute a sweep of many runs, and reuse results in the store."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import RenderableType

from pfbench.base.errors import PfbenchError, StorageError
from pfbench.base.escaping import escape_hidden
from pfbench.base.files import check_writable
from pfbench.base.status import Status
from pfbench.cli import options, terminal
from pfbench.cli.catalogue import report_spec_paths, resolve_spec_path
from pfbench.cli.formatting import format_duration, format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.progress import StepProgress
from pfbench.cli.report_command import result_tables, results_as_json
from pfbench.cli.report_sources import RunExecution
from pfbench.cli.terminal import Line, field_table, make_table, section_with_title

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec

_SHOWN = 12
"""Maximum number of printed failed runs; the output of --json and --log has all of them."""

ORIGINS = {"made": "executed", "stored": "cached", "cut": "truncated"}
"""Origins of a run, with their names in JSON."""

_DONE = {"made": "executed", "stored": "cached", "cut": "cut from longer stored runs"}


def run(
    spec: Path = argument("SPEC.toml", "Path of a spec, or name of a report.", default=...),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    recomputed_status: str | None = option(
        "STATUS", "Re-run stored runs with this status: error, timeout.", "--again"
    ),
    dry_run: bool = flag(
        "Show which runs are planned, and which are stored; run nothing.", "--dry-run"
    ),
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
    reach the target; of more than 2,000 runs, `pfbench report` shows them. Exit status 1 if a run
    failed, or a method was refused on every problem.
    """
    from pfbench.base.checks import check_choice
    from pfbench.runs.planning.spec import load_spec

    options.check_engine_options(jobs, scheduler)
    statuses: tuple[str, ...] = ()
    if recomputed_status is not None:
        choices = (Status.ERROR, Status.TIMEOUT)
        statuses = (check_choice("--again", recomputed_status, choices),)
    spec = resolve_spec_path("report", str(spec), report_spec_paths())
    planned = load_spec(spec)
    if log is not None:
        check_writable(log, f"--log {log}")
    terminal.announce_imports(planned.user_selectors, spec)
    with ExitStack() as stack:
        lines = None if log is None else stack.enter_context(log.open("a", encoding="utf-8"))
        engine = stack.enter_context(closing(options.make_engine(jobs, scheduler)))
        if dry_run:
            _show_plan(planned, store, engine, statuses, as_json=as_json)
            return
        _run_sweep(planned, store, engine, lines, statuses, as_json=as_json, quiet=quiet)


def _show_plan(
    spec: "Spec", folder: Path, engine: "Engine", recomputed: tuple[str, ...], *, as_json: bool
) -> None:
    """Print the planned runs of a sweep, with those that are stored; nothing is executed."""
    from pfbench.runs.execute import predict_origins

    plans = [*spec.search_runs(), *spec.runs()]
    origins = predict_origins(plans, folder, engine, recomputed)
    counts = Counter(origins.values())
    settings = Counter(
        (plan.problem, plan.algorithm) for plan in origins if origins[plan] == "made"
    )
    rows = [
        {"problem": problem, "algorithm": algorithm, "runs": number}
        for (problem, algorithm), number in settings.items()
    ]
    tuned = sum(len(study.seeds) for study in spec.studies for _ in study.iterate_tuned_methods())
    record = {
        "name": spec.name,
        "store": str(folder),
        "planned": len(origins),
        **{name: counts[origin] for origin, name in ORIGINS.items()},
        "tuned_runs": tuned,
        "settings": rows,
    }
    terminal.show_record(record, "planned runs", as_json=as_json)


# --- running --------------------------------------------------------------------------------------


def _run_sweep(
    planned: "Spec",
    folder: Path,
    engine: "Engine",
    log: TextIO | None,
    recomputed: tuple[str, ...],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Execute a sweep; print its results if it has few runs, and else only numbers of runs."""
    from pfbench.reporting import collect_report
    from pfbench.reporting.tables import MANY
    from pfbench.runs.execute import count_if_completed, iterate_plan_outcomes
    from pfbench.runs.loop.run import calls_to_targets
    from pfbench.runs.storage.store import Store

    store, is_hidden, started = Store(folder), quiet or as_json, time.monotonic()
    planned = RunExecution(store, engine, is_hidden, recomputed).tune(planned)
    plans = planned.runs()
    has_many, problem = len(plans) > MANY and not as_json, ""
    is_countable = has_many and not planned.user_selectors
    if is_countable and (counts := count_if_completed(plans, store, engine, recomputed)):
        if not quiet:
            _show_sweep(planned, folder, Counter(stored=len(plans)), counts, started)
        return
    total = format_plural(len(plans), "run")
    _write_log(log, f"begin {planned.name}: {total}, store {folder}")
    records: dict[PlannedRun, dict[str, Any]] = {}
    outcomes: list[PlanOutcome] = []
    origins, statuses = Counter[str](), Counter[str]()
    board = StepProgress(planned.name, len(plans), "runs", slots=engine.slots, hidden=is_hidden)
    try:
        with board:
            for outcome in iterate_plan_outcomes(
                plans, store, engine, lambda _: board.start_clock(), recomputed
            ):
                plan, result = outcome.plan, outcome.entry.run
                board.count_run(outcome)
                origins[outcome.origin] += 1
                statuses[result.status] += 1
                if log is not None:
                    _write_log(log, _outcome_line(outcome))
                if as_json:
                    targets = calls_to_targets(planned.targets[plan], result)
                    records[plan] = _outcome_record(outcome) | {"targets": targets}
                if not has_many or result.status in (*terminal.FAILURES, Status.REFUSED):
                    outcomes.append(outcome)
    except KeyboardInterrupt:
        problem = "interrupted"
    except PfbenchError as error:
        if not origins["made"] and not isinstance(error, StorageError):
            raise
        problem = str(error).rstrip(".")
    ended = f"{board.done_count} of {total} done, {board.failure_count} failed"
    _write_log(log, f"end {planned.name}: {ended}{': ' if problem else ''}{problem}")
    if problem:
        terminal.exit_with_error(
            f"{problem}; {board.done_count:,} of {total} are stored in {folder}; the "
            "same command continues.",
            terminal.INTERRUPTED if problem == "interrupted" else 1,
        )
    failed = _select_by_status(outcomes, terminal.FAILURES)
    if as_json:
        numbers = _sweep_numbers(planned, folder, origins, statuses)
        results = results_as_json(collect_report(planned, outcomes))
        runs = [records[plan] for plan in plans]
        terminal.print_json({**numbers, "results": results, "runs": runs})
    elif not quiet:
        tables = [] if has_many else result_tables(collect_report(planned, outcomes))
        parts = (*tables, _refusal_table(outcomes), _failure_table(failed))
        _show_sweep(planned, folder, origins, statuses, started, *parts)
    terminal.exit_if_failed(failed)
    _exit_if_a_method_fits_no_problem(planned, outcomes)


def _write_log(log: TextIO | None, text: str) -> None:
    """Append a line with the current time to the log, if there is one."""
    if log is not None:
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        print(now, *map(escape_hidden, text.split()), file=log, flush=True)


def _select_by_status(
    outcomes: "Sequence[PlanOutcome]", statuses: Sequence[Status]
) -> "list[PlanOutcome]":
    return [outcome for outcome in outcomes if outcome.entry.run.status in statuses]


def _outcome_line(outcome: "PlanOutcome") -> str:
    plan, entry, run = outcome.plan, outcome.entry, outcome.entry.run
    return (
        f"{outcome.origin} {run.status} {plan.problem} {plan.algorithm} seed={plan.seed} "
        f"iterations={run.iterations} seconds={run.seconds:.3g} "
        f"retries={entry.notes.get('retries', 0)} key={entry.key[:12]} {run.stop_reason}"
    )


def _outcome_record(outcome: "PlanOutcome") -> dict[str, Any]:
    plan = outcome.plan
    return {
        "key": outcome.entry.key,
        "origin": ORIGINS[outcome.origin],
        "problem": plan.problem,
        "algorithm": plan.algorithm,
        "seed": plan.seed,
        **terminal.brief_json(outcome.entry.run),
        "retries": outcome.entry.notes.get("retries", 0),
    }


def _sweep_numbers(
    planned: "Spec", folder: Path, origins: Counter[str], statuses: Counter[str]
) -> dict[str, Any]:
    """Return the numbers of runs of each origin and of each status for JSON."""
    return {
        "name": planned.name,
        "store": str(folder),
        "planned": origins.total(),
        **{name: origins[origin] for origin, name in ORIGINS.items()},
        "failed": sum(statuses[status] for status in terminal.FAILURES),
        "statuses": statuses,
    }


def _show_sweep(
    planned: "Spec",
    folder: Path,
    origins: Counter[str],
    statuses: Counter[str],
    started: float,
    *parts: RenderableType | None,
) -> None:
    """Print the numbers of runs of each origin and of each status, then further parts."""
    from pfbench.reporting.tables import MANY

    total, counts = origins.total(), sorted(statuses.items(), key=lambda item: (-item[1], item[0]))
    done = [f"{origins[name]:,} {word}" for name, word in _DONE.items() if origins[name]]
    lines: list[Line] = [
        ("sweep", planned.name),
        ("store", str(folder)),
        ("runs", f"{total:,}: {', '.join(done)}"),
        ("status", ", ".join(f"{number:,} {status}" for status, number in counts)),
        ("took", format_duration(time.monotonic() - started)),
    ]
    if total > MANY:
        advice = f"`pfbench report` with the same spec shows more than {MANY:,} runs"
        lines.append(("results", advice))
    terminal.print_parts(field_table(lines), *parts)


def _failure_table(failed: "Sequence[PlanOutcome]") -> RenderableType | None:
    """Return a table of the first failed runs, None if no run failed."""
    if not failed:
        return None
    displayed = [(outcome.plan, outcome.entry.run) for outcome in failed[:_SHOWN]]
    rows = [(str(p.seed), run.status, p.algorithm, run.stop_reason) for p, run in displayed]
    title = "failed" if len(failed) <= _SHOWN else f"failed (first {_SHOWN} of {len(failed):,})"
    return section_with_title(title, make_table(("seed", "status", "algorithm", "reason"), rows))


def _refusal_table(outcomes: "Sequence[PlanOutcome]") -> RenderableType | None:
    """Return a table of the algorithms that were refused, with reasons; None if none was."""
    refused = _select_by_status(outcomes, [Status.REFUSED])
    counts = Counter((outcome.plan.algorithm, outcome.entry.run.stop_reason) for outcome in refused)
    rows = [(method, count, reason) for (method, reason), count in counts.most_common(_SHOWN)]
    table = make_table(("algorithm", "runs", "reason"), rows, right=("runs",))
    return section_with_title("refused", table) if refused else None


def _exit_if_a_method_fits_no_problem(planned: "Spec", outcomes: "Sequence[PlanOutcome]") -> None:
    """Exit with a message on the first method that all problems of a sweep refused."""
    refused = {outcome.plan for outcome in _select_by_status(outcomes, [Status.REFUSED])}
    for study in planned.studies if refused else ():
        for entry in study.algorithms:
            pairs = product(study.problems, study.settings)
            runs = (study.all_target_plans(problem, entry, setting) for problem, setting in pairs)
            if refused.issuperset(chain.from_iterable(runs)):
                terminal.exit_with_error(
                    f"{entry.label} fits no problem of {planned.name}: all its runs were refused."
                )
