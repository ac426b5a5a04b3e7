"""``pfbench run``: a sweep of many runs; what the store has is never run again."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from pfbench.base.errors import InputError, PfbenchError, StorageError
from pfbench.cli.board import Board
from pfbench.cli.options import (
    STORE,
    DryRun,
    Jobs,
    Scheduler,
    StoreFolder,
    check_place,
    cpus,
    engine_of,
)
from pfbench.cli.printing import (
    FAILURES,
    AsJson,
    columns,
    complain,
    duration,
    fields,
    heading,
    plural,
    print_json,
    show,
    size,
)
from pfbench.cli.progress import Steps

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import Outcome
    from pfbench.runs.planning.study import PlannedRun
    from pfbench.runs.planning.sweep import Sweep

_SHOWN = 12
"""So many failed runs are printed; --json and --log have them all."""

_TRIALS = 24
"""So many settings are tried for a forecast, spread over the sweep."""

_TRIAL_LIMIT = 100.0
"""Seconds that a trial may take with all its preparations."""


def run(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="The sweep, or the spec of a report.")
    ],
    store: StoreFolder = STORE,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append a line for each run to this file.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")] = False,
) -> None:
    """Make the many runs that a sweep plans.

    A sweep is a TOML file with problems, algorithms, measures, parameters and seeds. Problems,
    algorithms and measures may be your own, MODULE:NAME; these names are printed, then imported.

    What the store has is not run again; after an interruption, or a crash, the same command goes on
    where it stopped. Exit status 1 if a run failed.
    """
    from pfbench.runs.planning.sweep import read_sweep

    check_place(jobs, scheduler)
    planned = read_sweep(spec)
    for name in planned.own:
        complain(f"importing {name}, which {spec} names.")
    with _log(log) as lines, closing(engine_of(jobs, scheduler)) as engine:
        if dry_run:
            _dry_run(planned, store, engine, as_json=as_json)
            return
        _run(planned, store, engine, lines, as_json=as_json, quiet=quiet)


class _Log:
    """Lines with a time, in a file or nowhere."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def __enter__(self) -> "_Log":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file:
            self._file.close()

    def line(self, *words: object) -> None:
        """Write one line, at once."""
        if self._file:
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            text = " ".join(" ".join(str(word).split()) for word in words)
            print(now, text, file=self._file, flush=True)


def _log(path: Path | None) -> _Log:
    if path is None:
        return _Log(None)
    try:
        return _Log(path.open("a", encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--log {path} cannot be written ({error.strerror}).") from error


# --- running --------------------------------------------------------------------------------------


def _run(
    planned: "Sweep", folder: Path, engine: "Engine", log: _Log, *, as_json: bool, quiet: bool
) -> None:
    from pfbench.runs.execute import sweep
    from pfbench.runs.planning.sweep import reached
    from pfbench.runs.storage.store import Store

    kept = Store(folder)
    total = len(planned.plans)
    log.line(f"begin {planned.name}: {plural(total, 'run')}, store {folder}")
    started = time.monotonic()
    described: dict[PlannedRun, dict[str, Any]] = {}
    failed: list[Outcome] = []
    board = Board(planned.name, total, engine.slots, quiet=quiet or as_json)
    problem = ""
    try:
        with board:
            for outcome in sweep(planned.plans, kept, engine):
                found = outcome.entry.run
                board.count(outcome.how, found.status)
                _tell(log, outcome)
                if found.status in FAILURES:
                    failed.append(outcome)
                if as_json:
                    one = _describe(outcome)
                    one["targets"] = reached(planned.targets, found.columns, found.rows)
                    described[outcome.plan] = one
    except KeyboardInterrupt:
        problem = "interrupted"
    except PfbenchError as error:
        if not board.fresh and not isinstance(error, StorageError):
            raise
        problem = str(error).rstrip(".")
    ended = f"{board.done} of {plural(total, 'run')} done, {board.failed} failed"
    log.line(f"end {planned.name}: {ended}{': ' if problem else ''}{problem}")
    if problem:
        complain(
            f"{problem}; {board.done:,} of {plural(total, 'run')} are kept in {folder}, and the "
            "same command goes on from there."
        )
        raise typer.Exit(1)
    if as_json:
        print_json(_summary(planned, folder, board, [described[plan] for plan in planned.plans]))
    elif not quiet:
        _show(planned, folder, board, failed, time.monotonic() - started)
    if failed:
        first = failed[0]
        complain(
            f"{plural(len(failed), 'run')} failed; the first: {first.plan.algorithm}, seed "
            f"{first.plan.seed}: {first.entry.run.status}: {first.entry.run.stop_reason}."
        )
        raise typer.Exit(1)


def _tell(log: _Log, outcome: "Outcome") -> None:
    found, plan = outcome.entry.run, outcome.plan
    log.line(
        outcome.how,
        found.status,
        plan.problem,
        plan.algorithm,
        f"seed={plan.seed}",
        f"iterations={found.iterations}",
        f"seconds={found.seconds:.3g}",
        f"retries={outcome.entry.notes.get('retries', 0)}",
        f"key={outcome.entry.key[:12]}",
        found.stop_reason,
    )


def _describe(outcome: "Outcome") -> dict[str, Any]:
    found, plan = outcome.entry.run, outcome.plan
    return {
        "key": outcome.entry.key,
        "how": outcome.how,
        "problem": plan.problem,
        "algorithm": plan.algorithm,
        "seed": plan.seed,
        "status": found.status,
        "stop_reason": found.stop_reason,
        "iterations": found.iterations,
        "counts": found.counts.as_dict(),
        "seconds": found.seconds,
        "retries": outcome.entry.notes.get("retries", 0),
    }


def _summary(
    planned: "Sweep", folder: Path, board: Board, runs: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": planned.name,
        "store": str(folder),
        "planned": len(planned.plans),
        **{how: board.how[how] for how in _HOW},
        "failed": board.failed,
        "statuses": dict(board.statuses),
        "runs": list(runs),
    }


def _show(
    planned: "Sweep", folder: Path, board: Board, failed: "Sequence[Outcome]", seconds: float
) -> None:
    how = [f"{board.how[name]:,} {words}" for name, words in _HOW.items() if board.how[name]]
    parts: list[Any] = [
        fields(
            [
                ("sweep", planned.name),
                ("store", str(folder)),
                ("runs", f"{len(planned.plans):,}: {', '.join(how)}"),
                ("status", ", ".join(f"{n:,} {s}" for s, n in board.statuses.most_common())),
                ("took", duration(seconds)),
            ]
        )
    ]
    if failed:
        rows = [
            (
                str(outcome.plan.seed),
                outcome.entry.run.status,
                outcome.plan.algorithm,
                outcome.entry.run.stop_reason,
            )
            for outcome in failed[:_SHOWN]
        ]
        title = "failed" if len(failed) <= _SHOWN else f"failed (first {_SHOWN} of {len(failed):,})"
        parts.append(heading(title, columns(("seed", "status", "algorithm", "reason"), rows)))
    show(*parts)


_HOW = {
    "made": "made now",
    "extended": "extended from shorter stored ones",
    "stored": "stored before",
    "cut": "cut from longer stored ones",
}


# --- the dry run ----------------------------------------------------------------------------------


def _dry_run(planned: "Sweep", folder: Path, engine: "Engine", *, as_json: bool) -> None:
    from pfbench.runs.engines.workers import Task, run_tasks
    from pfbench.runs.execute import FRESH, expected

    how = expected(planned.plans, folder, engine)
    lacking = [plan for plan in planned.plans if how[plan] in FRESH]
    settings: dict[tuple[str, str], list[PlannedRun]] = {}
    for plan in lacking:
        settings.setdefault((plan.problem, plan.algorithm), []).append(plan)
    step = max(1, -(-len(settings) // _TRIALS))
    chosen = list(settings.values())[::step]
    tasks = [Task(trial_of, (plans[0],), _TRIAL_LIMIT) for plans in chosen]
    described: dict[int, dict[str, Any]] = {}
    with Steps("trials", len(tasks), "trials", quiet=as_json) as steps:
        for result in run_tasks(tasks, min(engine.slots, cpus()) or 1):
            described[result.index] = result.value or {"failed": result.reason}
            steps.advance()
    rows = [
        {
            "problem": plans[0].problem,
            "algorithm": plans[0].algorithm,
            "runs": len(plans),
            **_UNKNOWN,
            **described[k],
        }
        for k, plans in enumerate(chosen)
    ]
    known = [(row["seconds"], row["runs"]) for row in rows if row["seconds"] is not None]
    tried = sum(runs for _, runs in known)
    total = sum(seconds * runs for seconds, runs in known)
    if tried:
        # Those that were not tried are taken to be like the others.
        total *= len(lacking) / tried
    sizes = [row["bytes"] for row in rows if row["bytes"] is not None]
    content = {
        "schema": 1,
        "name": planned.name,
        "store": str(folder),
        "planned": len(planned.plans),
        **{name: sum(how[plan] == name for plan in planned.plans) for name in _HOW},
        "jobs": engine.slots,
        "bytes": max(sizes) * engine.slots if sizes else None,
        "seconds": total / engine.slots if tried or not lacking else None,
        "settings": len(settings),
        "trials": rows,
    }
    if as_json:
        print_json(content)
    else:
        _show_plan(planned, content)


_UNKNOWN = {"iterations": None, "seconds": None, "bytes": None, "refused": "", "failed": ""}


def trial_of(plan: "PlannedRun") -> dict[str, Any]:
    """Return what a short trial of a run lets expect; made in a worker."""
    from pfbench.cli.forecast import memory, tried
    from pfbench.runs.engines.making import resolve

    there = resolve(plan)
    if there.chosen is None:
        return {"refused": there.refusal, "seconds": 0.0}
    trial, iterations, seconds = tried(
        there.problem,
        there.chosen,
        seed=plan.seed,
        budget=plan.budget,
        time_limit=plan.time_limit,
    )
    ended = f"{trial.status}: {trial.stop_reason}" if trial.status in FAILURES else ""
    return {
        "iterations": iterations,
        "seconds": plan.time_limit if seconds is None else seconds,
        "bytes": memory(list(there.problem.shape), iterations),
        "failed": ended,
    }


_EXPECTED = {
    "stored": "are stored",
    "cut": "will be cut from longer stored ones",
    "extended": "will be extended from shorter stored ones",
    "made": "will be made",
}


def _show_plan(planned: "Sweep", content: dict[str, Any]) -> None:
    def known(value: Any, words: Any) -> str:
        return "not known" if value is None else str(words(value))

    def about(value: Any, words: Any) -> str:
        return known(value, lambda found: f"about {words(found)}")

    counts = Counter(plan.algorithm for plan in planned.plans)
    problems = len({plan.problem for plan in planned.plans})
    table = columns(
        ("runs", "iterations", "time each", "memory", "algorithm on problem"),
        [
            (
                f"{row['runs']:,}",
                known(row["iterations"], "{:,}".format),
                known(row["seconds"], duration),
                known(row["bytes"], size),
                _setting(row),
            )
            for row in content["trials"]
        ],
        right=("runs", "iterations", "time each", "memory"),
    )
    show(
        fields(
            [
                ("sweep", planned.name),
                ("store", content["store"]),
                (
                    "runs",
                    f"{content['planned']:,}: {plural(problems, 'problem')}, "
                    f"{plural(len(counts), 'algorithm')}",
                ),
                (
                    "of these",
                    ", ".join(
                        f"{content[name]:,} {words}"
                        for name, words in _EXPECTED.items()
                        if content[name]
                    ),
                ),
                ("jobs", f"{content['jobs']:,}"),
                ("memory", about(content["bytes"], size)),
                ("time", about(content["seconds"], duration)),
            ]
        ),
        heading(
            f"trials of {len(content['trials'])} of {plural(content['settings'], 'setting')}",
            table,
        ),
    )


def _setting(row: dict[str, Any]) -> str:
    remark = row["refused"] or row["failed"]
    return f"{row['algorithm']} on {row['problem']}" + (f"\n{remark}" if remark else "")
