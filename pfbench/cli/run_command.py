"""``pfbench run``: execute a sweep of many runs, and reuse results in the store."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from itertools import chain, groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import InputError, PfbenchError, StorageError
from pfbench.base.escaping import escape_hidden
from pfbench.base.status import Status
from pfbench.cli import options, terminal
from pfbench.cli.catalogue import report_spec_paths, resolve_spec_path
from pfbench.cli.forecasts import ORIGINS, format_origins, show_sweep_forecast
from pfbench.cli.formatting import format_duration, format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.progress import StepProgress
from pfbench.cli.report_command import result_tables, results_as_json
from pfbench.cli.report_sources import RunExecution
from pfbench.cli.terminal import Fact, make_table, section_with_title

if TYPE_CHECKING:
    from pfbench.reporting.results import Limits
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec

_AT_ONCE = 10_000  # rows of traces that are shortened together
_SHOWN = 12
"""Maximum number of printed failed runs; the output of --json and --log has all of them."""

_DONE = {"made": "executed", "stored": "cached", "cut": "cut from longer stored runs"}


def run(
    spec: Path = argument("SPEC.toml", "Path of a spec, or name of a report.", default=...),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    recomputed_status: str | None = option(
        "STATUS", "Re-run stored runs with this status: error, timeout.", "--again"
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
    statuses: tuple[str, ...] = ()
    if recomputed_status is not None:
        choices = (Status.ERROR, Status.TIMEOUT)
        statuses = (check_choice("--again", recomputed_status, choices),)
    spec = resolve_spec_path("report", str(spec), report_spec_paths())
    planned = load_spec(spec)
    terminal.announce_imports(planned.user_selectors, spec)
    with _open_log(log) as reported, closing(options.make_engine(jobs, scheduler)) as engine:
        if dry_run:
            show_sweep_forecast(planned, store, engine, statuses, as_json=as_json)
            return
        _run_sweep(planned, store, engine, reported, statuses, as_json=as_json, quiet=quiet)


Log = Callable[[Callable[[], str]], None]
"""Function that logs the line that a function returns."""


@contextmanager
def _open_log(path: Path | None) -> Iterator[Log]:
    """Yield a function that appends a line with the current time to a file.

    Without a path, the function does nothing.
    """
    if path is None:
        yield lambda make_text: None
        return
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--log {path} cannot be written ({error.strerror}).") from error
    with file:

        def line(make_text: Callable[[], str]) -> None:
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            print(now, *map(escape_hidden, make_text().split()), file=file, flush=True)

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
    from pfbench.reporting.results import truncation_limits_by_plan
    from pfbench.reporting.tables import MANY
    from pfbench.runs.execute import count_if_completed, iterate_plan_outcomes
    from pfbench.runs.loop.run import calls_to_targets
    from pfbench.runs.storage.store import Store

    store, is_hidden, started = Store(folder), quiet or as_json, time.monotonic()
    planned = RunExecution(store, engine, is_hidden, recomputed).tune(planned)
    plans = planned.runs()
    is_countable = len(plans) > MANY and not (as_json or planned.user_selectors)
    if is_countable and (counts := count_if_completed(plans, store, engine, recomputed)):
        facts = _sweep_facts(planned, folder, Counter(stored=len(plans)), counts, started)
        advice = f"`pfbench report` with the same spec shows more than {MANY:,} runs"
        if not quiet:
            terminal.show_facts([*facts, Fact("", None, "results", advice)], as_json=False)
        return
    limits, problem = truncation_limits_by_plan(planned), ""
    total = format_plural(len(plans), "run")
    log(lambda: f"begin {planned.name}: {total}, store {folder}")
    records: dict[PlannedRun, dict[str, Any]] = {}
    outcomes: list[PlanOutcome] = []
    waiting, rows = list["PlanOutcome"](), 0
    board = StepProgress(planned.name, len(plans), "runs", slots=engine.slots, hidden=is_hidden)
    try:
        with board:
            for outcome in iterate_plan_outcomes(
                plans, store, engine, lambda _: board.start_clock(), recomputed
            ):
                plan, result = outcome.plan, outcome.entry.run
                board.count_run(outcome)
                log(partial(_outcome_line, outcome))
                if as_json:
                    targets = calls_to_targets(planned.targets[plan], result)
                    records[plan] = _outcome_record(outcome) | {"targets": targets}
                waiting.append(outcome)
                rows += len(result.rows)
                if rows >= _AT_ONCE or outcome.origin != "stored":
                    outcomes += _shorten(waiting, planned, limits)
                    waiting, rows = [], 0
    except KeyboardInterrupt:
        problem = "interrupted"
    except PfbenchError as error:
        is_begun = any(outcome.origin == "made" for outcome in [*outcomes, *waiting])
        if not is_begun and not isinstance(error, StorageError):
            raise
        problem = str(error).rstrip(".")
    ended = f"{board.done_count} of {total} done, {board.failure_count} failed"
    log(lambda: f"end {planned.name}: {ended}{': ' if problem else ''}{problem}")
    if problem:
        terminal.exit_with_error(
            f"{problem}; {board.done_count:,} of {total} are stored in {folder}; the "
            "same command continues.",
            terminal.INTERRUPTED if problem == "interrupted" else 1,
        )
    outcomes += _shorten(waiting, planned, limits)
    if not quiet or as_json:
        runs = [records[plan] for plan in plans] if as_json else []
        _show_sweep(planned, folder, outcomes, runs, started, as_json=as_json)
    terminal.exit_if_failed(_select_by_status(outcomes, terminal.FAILURES))
    _exit_if_a_method_fits_no_problem(planned, outcomes)


def _shorten(
    outcomes: "Sequence[PlanOutcome]", spec: "Spec", limits: "Mapping[PlannedRun, Sequence[Limits]]"
) -> "Iterator[PlanOutcome]":
    """Yield outcomes with only the rows and notes that tables need, as very many fill memory."""
    from pfbench.reporting.ranking import keep_ranking_rows
    from pfbench.reporting.stores import keep_notes
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.storage.serialization import StoredRun

    for (targets, run_limits), group in groupby(
        outcomes, key=lambda outcome: (spec.targets[outcome.plan], limits[outcome.plan])
    ):
        some = [*group]
        runs = keep_ranking_rows([each.entry.run for each in some], targets, run_limits)
        for outcome, run in zip(some, runs, strict=True):
            entry = outcome.entry
            entry = StoredRun(entry.key, run, entry.environment, keep_notes(entry.notes))
            yield PlanOutcome(outcome.plan, entry, outcome.origin)


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


def _show_sweep(
    planned: "Spec",
    folder: Path,
    outcomes: "Sequence[PlanOutcome]",
    runs: Sequence[dict[str, Any]],
    started: float,
    *,
    as_json: bool,
) -> None:
    """Print the number of runs, the results, and tables of refused and failed runs."""
    from pfbench.reporting import collect_report

    report = collect_report(planned, outcomes)
    origins = Counter(outcome.origin for outcome in outcomes)
    statuses = Counter(outcome.entry.run.status for outcome in outcomes)
    failed = _select_by_status(outcomes, terminal.FAILURES)
    facts = [
        *_sweep_facts(planned, folder, origins, statuses, started),
        Fact("results", results_as_json(report) if as_json else []),
        Fact("runs", runs),
    ]
    parts = [] if as_json else [*result_tables(report), _refusal_table(outcomes)]
    terminal.show_facts(facts, *parts, _failure_table(failed), as_json=as_json)


def _sweep_facts(
    planned: "Spec", folder: Path, origins: Counter[str], statuses: Counter[str], started: float
) -> list[Fact]:
    """Return the numbers of runs of each origin and of each status, as facts to print."""
    total = origins.total()
    counts = sorted(statuses.items(), key=lambda item: (-item[1], item[0]))
    return [
        Fact("name", planned.name, "sweep"),
        Fact("store", str(folder), "store"),
        Fact("planned", total, "runs", f"{total:,}: {format_origins(origins, _DONE)}"),
        *(Fact(name, origins[origin]) for origin, name in ORIGINS.items()),
        Fact("failed", sum(statuses[status] for status in terminal.FAILURES)),
        Fact("statuses", statuses, "status", ", ".join(f"{n:,} {status}" for status, n in counts)),
        Fact("", None, "took", format_duration(time.monotonic() - started)),
    ]


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
