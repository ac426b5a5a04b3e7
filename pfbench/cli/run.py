"""``pfbench run``: a sweep of many runs; what the store has is never run again."""

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
from pfbench.base.visible import visible
from pfbench.cli import options
from pfbench.cli.board import Board
from pfbench.cli.making import searched
from pfbench.cli.options import argument, flag, option
from pfbench.cli.printing import FAILURES, INTERRUPTED, announce, exit_if_failed, fail, in_brief
from pfbench.cli.progress import Steps, run_kind
from pfbench.cli.tables import Fact, columns, heading, lines, show_facts
from pfbench.cli.words import duration, known, plural, size, whole

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.engines.workers import Result
    from pfbench.runs.execute import Outcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec

_SHOWN = 12
"""So many failed runs are printed; --json and --log have them all."""

_TRIALS = 24
"""So many settings are tried for a forecast, spread over the sweep."""

_TRIAL_LIMIT = 100.0
"""Seconds that a trial may take with all its preparations."""


def run(
    spec: Path = argument("SPEC.toml", "The sweep, or the spec of a report.", default=...),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    again: str | None = option("STATUS", "Make stored runs of this status again: error, timeout."),
    dry_run: bool = options.DRY_RUN,
    as_json: bool = options.AS_JSON,
    log: Path | None = option("FILE", "Append a line for each run to this file."),
    quiet: bool = flag("No progress, no summary.", "--quiet"),
) -> None:
    """Make the many runs that a sweep plans.

    A sweep is a TOML file with problems, algorithms, measures, parameters and seeds. Problems,
    algorithms and measures may be your own, FILE.py:NAME[...]; these are printed, then imported and
    called: a spec is a program, so read one that is not yours before you run it.

    What the store has is not run again; after an interruption, or a crash, the same command goes on
    where it stopped. A run that failed for want of memory, disk or a variable is kept like any
    other: --again error makes it once more. At the end stands who needed how many calls to the
    target. Exit status 1 if a run failed, or a method was refused on every problem.
    """
    from pfbench.base.checks import choice
    from pfbench.runs.planning.spec import read_spec

    options.check_place(jobs, scheduler)
    statuses = () if again is None else (choice("--again", again, ("error", "timeout")),)
    planned = read_spec(spec)
    announce(planned.own_selectors, spec)
    with _log(log) as told, closing(options.engine_of(jobs, scheduler)) as engine:
        if dry_run:
            _dry_run(planned, store, engine, statuses, as_json=as_json)
            return
        _run(planned, store, engine, told, statuses, as_json=as_json, quiet=quiet)


Log = Callable[[str], None]
"""Is told a line."""


@contextmanager
def _log(path: Path | None) -> Iterator[Log]:
    """Give what writes a line with the time to a file, at once; nothing if there is no file."""
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
            print(now, *map(visible, text.split()), file=file, flush=True)

        yield line


# --- running --------------------------------------------------------------------------------------


def _run(
    planned: "Spec",
    folder: Path,
    engine: "Engine",
    log: Log,
    again: tuple[str, ...],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from pfbench.cli.report_text import results_as_json, results_of
    from pfbench.reporting import collect
    from pfbench.reporting.findings.ranking import essence
    from pfbench.reporting.statistics.limits import limits_by_plan
    from pfbench.runs.execute import sweep
    from pfbench.runs.loop.stop import reached
    from pfbench.runs.storage.store import Store

    kept = Store(folder)
    planned = searched(planned, kept, engine, quiet=quiet or as_json, again=again)
    plans = planned.runs()
    total, limits = len(plans), limits_by_plan(planned)
    log(f"begin {planned.name}: {plural(total, 'run')}, store {folder}")
    started = time.monotonic()
    described: dict[PlannedRun, dict[str, Any]] = {}
    outcomes: list[Outcome] = []
    failed: list[Outcome] = []
    refused: list[Outcome] = []

    board = Board(planned.name, total, engine.slots, quiet=quiet or as_json)
    problem = ""

    def begin(missing: "Iterable[PlannedRun]") -> None:
        board.begin(map(run_kind, missing))

    try:
        with board:
            for outcome in sweep(plans, kept, engine, begin, again):
                found = outcome.entry.run
                board.count(outcome.origin, found.status, run_kind(outcome.plan), found.seconds)
                _tell(log, outcome)
                if found.status in FAILURES:
                    failed.append(outcome)
                elif found.status == "refused":
                    refused.append(outcome)
                if as_json or not quiet:
                    run = essence(found, planned.targets[outcome.plan], limits[outcome.plan])
                    outcomes.append(replace(outcome, entry=replace(outcome.entry, run=run)))
                if as_json:
                    targets = reached(planned.targets[outcome.plan], found)
                    described[outcome.plan] = _describe(outcome) | {"targets": targets}
    except KeyboardInterrupt:
        problem = "interrupted"
    except PfbenchError as error:
        if not board.fresh and not isinstance(error, StorageError):
            raise
        problem = str(error).rstrip(".")
    ended = f"{board.done} of {plural(total, 'run')} done, {board.failed} failed"
    log(f"end {planned.name}: {ended}{': ' if problem else ''}{problem}")
    if problem:
        fail(
            f"{problem}; {board.done:,} of {plural(total, 'run')} are kept in {folder}, and the "
            "same command goes on from there.",
            INTERRUPTED if problem == "interrupted" else 1,
        )
    if as_json or not quiet:
        runs = [described[plan] for plan in plans] if as_json else []
        report = collect(planned, outcomes)
        counts = sorted(board.statuses.items(), key=lambda item: (-item[1], item[0]))
        statuses = ", ".join(f"{n:,} {status}" for status, n in counts)
        facts = [
            Fact("name", planned.name, "sweep"),
            Fact("store", str(folder), "store"),
            Fact("planned", total, "runs", f"{total:,}: {_told(board.origins, _ORIGINS)}"),
            *(Fact(origin, board.origins[origin]) for origin in _ORIGINS),
            Fact("failed", board.failed),
            Fact("statuses", board.statuses, "status", statuses),
            Fact("", None, "took", duration(time.monotonic() - started)),
            Fact("results", results_as_json(report) if as_json else []),
            Fact("runs", runs),
        ]
        shown = [] if as_json else results_of(report)
        show_facts(facts, *shown, _reasons(refused), _table(failed), as_json=as_json)
    exit_if_failed(failed)
    for method in _nowhere(planned, refused):
        fail(f"{method} fits no problem of {planned.name}: every run of it was refused.", 1)


def _tell(log: Log, outcome: "Outcome") -> None:
    plan, entry, found = outcome.plan, outcome.entry, outcome.entry.run
    log(
        f"{outcome.origin} {found.status} {plan.problem} {plan.algorithm} seed={plan.seed} "
        f"iterations={found.iterations} seconds={found.seconds:.3g} "
        f"retries={entry.notes.get('retries', 0)} key={entry.key[:12]} {found.stop_reason}"
    )


def _describe(outcome: "Outcome") -> dict[str, Any]:
    plan = outcome.plan
    return {
        "key": outcome.entry.key,
        "how": outcome.origin,
        "problem": plan.problem,
        "algorithm": plan.algorithm,
        "seed": plan.seed,
        **in_brief(outcome.entry.run),
        "retries": outcome.entry.notes.get("retries", 0),
    }


def _table(failed: "Sequence[Outcome]") -> RenderableType | None:
    """Return the table of the first failed runs, None if there are none."""
    if not failed:
        return None
    shown = [(outcome.plan, outcome.entry.run) for outcome in failed[:_SHOWN]]
    rows = [(str(plan.seed), run.status, plan.algorithm, run.stop_reason) for plan, run in shown]
    title = "failed" if len(failed) <= _SHOWN else f"failed (first {_SHOWN} of {len(failed):,})"
    return heading(title, columns(("seed", "status", "algorithm", "reason"), rows))


def _reasons(refused: "Sequence[Outcome]") -> RenderableType | None:
    """Return the table of why methods were refused, each reason once; None if none was."""
    if not refused:
        return None
    found = Counter((one.plan.algorithm, one.entry.run.stop_reason) for one in refused)
    rows = [(method, count, reason) for (method, reason), count in found.most_common(_SHOWN)]
    return heading("refused", columns(("algorithm", "runs", "reason"), rows, right=("runs",)))


def _nowhere(planned: "Spec", refused: "Sequence[Outcome]") -> Iterator[str]:
    """Yield the first method of a sweep that fits none of its problems."""
    plans = {one.plan for one in refused}
    for study in planned.studies:
        for one in study.algorithms:
            of = [study.every_plan(on, one, at) for on in study.problems for at in study.settings]
            if plans and plans.issuperset(plan for some in of for plan in some):
                yield one.label
                return


def _told(origins: Mapping[str, int], words: Mapping[str, str]) -> str:
    """Return how many runs have each origin."""
    return ", ".join(f"{origins[name]:,} {said}" for name, said in words.items() if origins[name])


_ORIGINS = {"made": "made now", "stored": "stored before", "cut": "cut from longer stored ones"}


# --- the dry run ----------------------------------------------------------------------------------


def _dry_run(
    planned: "Spec", folder: Path, engine: "Engine", again: tuple[str, ...], *, as_json: bool
) -> None:
    from pfbench.runs.engines.workers import Task, run_tasks
    from pfbench.runs.execute import expected
    from pfbench.runs.forecast import trial_of

    plans = list(dict.fromkeys([*planned.searches(), *planned.runs()]))
    tuned = sum(len(study.seeds) for study in planned.studies for _ in study.tuned())
    origins = expected(plans, folder, engine, again)
    lacking = [plan for plan in plans if origins[plan] == "made"]
    settings: dict[tuple[str, str], list[PlannedRun]] = {}
    for plan in lacking:
        settings.setdefault((plan.problem, plan.algorithm), []).append(plan)
    step = max(1, -(-len(settings) // _TRIALS))
    chosen = list(settings.items())[::step]
    tasks = [Task(trial_of, (same[0],), _TRIAL_LIMIT, same[0].code) for _, same in chosen]
    rows: list[dict[str, Any]] = [
        {"problem": problem, "algorithm": algorithm, "runs": len(same), **_UNKNOWN}
        for (problem, algorithm), same in chosen
    ]
    with Steps("trials", len(tasks), "trials", quiet=as_json) as steps:
        for result in run_tasks(tasks, min(engine.slots, options.cpus()) or 1):
            rows[result.index] |= _trial(result)
            steps.advance()
    timed = [row for row in rows if row["seconds"] is not None]
    tried = sum(row["runs"] for row in timed)
    total = sum(row["seconds"] * row["runs"] for row in timed)
    if tried:
        # Those that were not tried are taken to be like the others.
        total *= len(lacking) / tried
    sizes = [row["bytes"] for row in rows if row["bytes"] is not None]
    most = max(sizes) * engine.slots if sizes else None
    seconds = total / engine.slots if tried or not lacking else None
    counts = Counter(origins[plan] for plan in plans)
    kinds = (
        plural(len({plan.problem for plan in plans}), "problem"),
        plural(len({plan.algorithm for plan in plans}), "algorithm"),
    )
    facts = [
        Fact("name", planned.name, "sweep"),
        Fact("store", str(folder), "store"),
        Fact("planned", len(plans), "runs", f"{len(plans):,}: {', '.join(kinds)}"),
        *(Fact(name, counts[name]) for name in _ORIGINS),
        Fact("", None, "of these", _told(counts, _EXPECTED)),
        Fact(
            "tuned",
            tuned,
            "then" if tuned else "",
            f"at least {whole(tuned)} at what the search chooses",
        ),
        Fact("jobs", engine.slots, "jobs"),
        Fact("bytes", most, "memory", known(most, lambda count: f"about {size(count)}")),
        Fact("seconds", seconds, "time", known(seconds, lambda time: f"about {duration(time)}")),
        Fact("settings", len(settings)),
        Fact("trials", rows),
    ]
    title = f"trials of {len(rows)} of {plural(len(settings), 'setting')}"
    show_facts(facts, heading(title, _trials(rows)), as_json=as_json)


def _trial(result: "Result") -> dict[str, Any]:
    """Return what a trial tells of a setting, or why it tells nothing."""
    if result.value is None:
        return {"failed": result.reason}
    found = dict(result.value)
    status, reason = found.pop("status", ""), found.pop("stop_reason", "")
    return found | {"failed": f"{status}: {reason}" if status in FAILURES else ""}


_UNKNOWN = {"iterations": None, "seconds": None, "bytes": None, "refused": "", "failed": ""}


_EXPECTED = {
    "stored": "are stored",
    "cut": "will be cut from longer stored ones",
    "made": "will be made",
}


def _trials(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    names = "runs", "iterations", "time each", "memory", "algorithm on problem"
    words = {"iterations": whole, "seconds": duration, "bytes": size}
    shown = []
    for row in rows:
        numbers = (known(row[name], said) for name, said in words.items())
        remark = row["refused"] or row["failed"]
        setting = lines(f"{row['algorithm']} on {row['problem']}", *([remark] if remark else []))
        shown.append((row["runs"], *numbers, setting))
    return columns(names, shown, right=names[:-1])
