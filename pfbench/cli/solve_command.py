"""``pfbench solve``: run an algorithm on a problem, with one or several seeds."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, check_writable
from pfbench.base.selectors import Selector
from pfbench.base.status import Status
from pfbench.cli import terminal
from pfbench.cli.formatting import (
    format_duration,
    format_number,
    format_parameters,
    format_plural,
    format_unmet,
)
from pfbench.cli.options import AS_JSON, option
from pfbench.cli.progress import StepProgress
from pfbench.cli.terminal import Line, field_table, make_table, section_with_title

if TYPE_CHECKING:
    from pfbench.runs.loop.resolved_run import ResolvedRun
    from pfbench.runs.loop.run import Run
    from pfbench.runs.planning.plan import PlannedRun

TRACED = "objective,fw_gap"
"""Default measures of a trace."""

_ROWS = 12
"""Maximum number of printed rows of a trace, spread over the run; --trace writes them all."""

_AS_IN = 'As in "{}", or your own, FILE.py:NAME[...].'


def solve(
    problem: str = option(
        "PROBLEM", _AS_IN.format("nonconvex-logistic[source=a9a]"), "--problem", "-p", default=...
    ),
    algorithm: str = option(
        "ALGORITHM", _AS_IN.format("nfwu-spiderg[epsilon=0.1]"), "--algorithm", "-a", default=...
    ),
    seed: int = option("N", "Seed of the algorithm.", default=0, minimum=0),
    repeat: int | None = option(
        "K", "Make K runs, with seeds N, N+1, ..., where N is --seed.", minimum=1
    ),
    budget: str | None = option(
        "COUNT=N,...", "Maximum numbers of oracle calls, as in sfo=1e6,lo=100."
    ),
    stop: str | None = option("MEASURE=X", "Stop a run at a target, as in fw_gap=0.01."),
    time_limit: float | None = option(
        "S",
        "Time limit in seconds, excluding measures and compilation; a late run is killed.",
        above=0.0,
    ),
    measure: str | None = option(
        "NAME,...", f"Measures in the trace (with --trace: {TRACED}); your own: FILE.py:NAME."
    ),
    every: int = option(
        "K", "Measure, and check the target, every K iterations.", default=1, minimum=1
    ),
    trace: Path | None = option("FILE", "Write the trace to this CSV file."),
    as_json: bool = AS_JSON,
) -> None:
    """Run an algorithm on a problem; print counts and measures.

    Every oracle call is counted exactly; measures are never counted. A selector is a name with
    parameters in brackets; `pfbench info NAME` shows the parameters, and a problem's measures.
    """
    from pfbench.base.counts import Budget

    Selector.parse(problem)
    Selector.parse(algorithm)
    limits = None if budget is None else Budget.parse(budget)
    measures = _parse_names(measure, TRACED if trace else "")
    if trace is not None:
        _check_trace_path(trace)

    from pfbench.runs.loop.run import Stop, list_recorded_measures
    from pfbench.runs.planning.name_resolution import unquote_selector
    from pfbench.runs.planning.plan import PlannedRun, resolve

    problem = unquote_selector(problem)
    selector = str(Selector.parse(unquote_selector(algorithm)))
    target = None if stop is None else Stop.parse(stop)
    if target is not None:
        target = replace(target, measure=unquote_selector(target.measure))
    names, target = list_recorded_measures([unquote_selector(name) for name in measures], target)
    terminal.announce_imports((problem, selector, *names))
    plan = PlannedRun(problem, selector, seed, names, every, limits, target, time_limit)
    seeds = range(seed, seed + (repeat or 1))
    with terminal.redirect_stdout_if_json(as_json):
        ready = resolve(plan).run_setup
        runs = _make_runs(ready, plan, seeds, quiet=as_json)
    if as_json:
        records = [_run_record(run, _guarantee_record(ready, [run])) for run in runs]
        terminal.print_json(records[0] if repeat is None else records)
    else:
        guarantee = _guarantee_lines(_guarantee_record(ready, runs), len(runs))
        if repeat is None:
            _show_run(runs[0], guarantee)
        else:
            _show_runs(runs, guarantee)
    if trace is not None:
        _write_trace(runs, trace, with_seed=repeat is not None)
    # The user interrupts one that is killed.
    status = terminal.INTERRUPTED if any(run.status == Status.KILLED for run in runs) else 1
    terminal.exit_if(any(run.status in terminal.FAILURES for run in runs), status)


def _parse_names(text: str | None, default: str) -> list[str]:
    names = [name.strip() for name in (default if text is None else text).split(",")]
    if text is not None and not all(names):
        raise InputError(f"cannot read --measure {text!r}: write NAME or NAME,NAME.")
    if len(set(names)) < len(names):
        raise InputError(f"--measure {text!r} names a measure twice: remove one of the two.")
    return [name for name in names if name]


def _make_runs(
    resolved_run: "ResolvedRun", plan: "PlannedRun", seeds: range, *, quiet: bool
) -> "list[Run]":
    """Execute the run once for each seed; stop early if the user interrupts."""
    name = resolved_run.algorithm.name
    runs: list[Run] = []
    for seed in seeds:
        title = name if len(seeds) == 1 else f"{name}, seed {seed}"
        with StepProgress(title, resolved_run.iteration_count, "iterations", quiet=quiet) as steps:
            run = _make_run(resolved_run, replace(plan, seed=seed), steps)
        runs.append(run)
        if run.status == Status.KILLED:
            break
    return runs


def _make_run(run: "ResolvedRun", plan: "PlannedRun", steps: StepProgress) -> "Run":
    """Execute a run in this process, or in a process that can be killed if it has a time limit."""
    from pfbench.oracles import Ledger
    from pfbench.runs.engines.engine import MultiProcessEngine
    from pfbench.runs.engines.run_task import execute_plan, make_unfinished_run, run_from_result
    from pfbench.runs.engines.workers import Task
    from pfbench.runs.loop.drive import drive

    if plan.time_limit is None:
        return drive(
            run,
            Ledger(plan.budget),
            seed=plan.seed,
            every=plan.every,
            stop=plan.stop,
            watch=lambda progress: steps.set_done(progress.iterations),
        )
    try:
        (result,) = MultiProcessEngine(1).do([Task(execute_plan, (plan,))])
    except KeyboardInterrupt:
        return make_unfinished_run(plan, Status.KILLED, "interrupted by the user")
    return run_from_result(plan, result)


# --- the trace ------------------------------------------------------------------------------------


def _check_trace_path(path: Path) -> None:
    """Raise an error if the trace file cannot be written."""
    if path.suffix != ".csv":
        raise InputError(f"--trace {path} must end in .csv.")
    check_writable(path, f"--trace {path}")


def _write_trace(runs: "Sequence[Run]", path: Path, *, with_seed: bool) -> None:
    """Write the traces of all runs to one file, which is replaced atomically."""
    import pandas as pd

    rows = pd.concat([run.trace for run in runs], ignore_index=True)
    if with_seed:
        rows.insert(0, "seed", [run.seed for run in runs for _ in run.rows])
    try:
        with atomic_write(path) as file:
            rows.to_csv(file, index=False)
    except OSError as error:
        terminal.exit_with_error(f"the trace {path} could not be written ({error.strerror}).")


# --- the guarantee --------------------------------------------------------------------------------


def _guarantee_record(resolved_run: "ResolvedRun", runs: "Sequence[Run]") -> dict[str, Any] | None:
    """Return a theorem's guarantee for the output, and the mean measured value to compare it with.

    Return None unless a theorem with a guarantee sets the parameters from epsilon.
    """
    if resolved_run.guarantee is None:
        return None
    guarantee, bound = resolved_run.guarantee
    best, values = resolved_run.problem.best_known, list[float]()
    for run in runs:
        value = run.final.get(guarantee.measure)
        if guarantee.measure == "excess":
            reached = run.final.get("objective")
            value = None if best is None or reached is None else max(0.0, reached - best[0])
        values += [] if value is None else [float(value) ** guarantee.power]
    return {
        "criterion": guarantee.criterion,
        "bound_formula": guarantee.bound_text,
        "iterate": guarantee.location,
        "bound": bound,
        "measure": guarantee.measure or None,
        "measured": statistics.fmean(values) if values else None,
        "full_schedule": all(run.status == Status.FINISHED for run in runs),
    }


def _guarantee_lines(record: dict[str, Any] | None, runs: int) -> list[Line]:
    """Return lines for the terminal on a theorem's guarantee, and on the measured values."""
    if record is None:
        return []
    from pfbench.algorithms.guarantee import WHERE

    bound = f"{record['criterion']} <= {record['bound_formula']} = {format_number(record['bound'])}"
    text = "not known" if record["measured"] is None else format_number(record["measured"])
    text += (
        " at the output"
        if runs == 1
        else (f" at the outputs, in the mean of {format_plural(runs, 'run')}")
    )
    if not record["full_schedule"]:
        text += "; the guarantee is for the full schedule, which was cut short"
    return [("promised", f"{bound}: {WHERE[record['iterate']]}"), ("measured", text)]


# --- what is shown --------------------------------------------------------------------------------


def _run_record(run: "Run", guarantee: object) -> dict[str, object]:
    location = None if run.error_location is None else run.error_location._asdict()
    record = terminal.rename_keys(run.as_json(), unmet="unmet_assumptions")
    return record | {"guarantee": guarantee, "error_location": location, "warning": run.note}


def _show_run(run: "Run", extra_lines: Sequence[Line]) -> None:
    """Print the result of one run."""
    from pfbench.base.counts import MEANING
    from pfbench.runs.loop.run import NO_RESULT

    inside = f", {run.oracle_seconds / run.seconds:.0%} inside oracles" if run.seconds else ""
    facts: list[Line] = [
        *_seed_independent_facts(run),
        ("seed", str(run.seed)),
        ("status", f"{run.status}: {run.stop_reason}"),
        ("iterations", run.iterations),
        ("time", f"{format_duration(run.seconds)}{inside}"),
        ("note", run.note),
        *extra_lines,
    ]
    counts = [(name, count, MEANING[name]) for name, count in _nonzero_counts(run).items()]
    calls = make_table(("name", "calls", "meaning"), counts, right=("calls",))
    failed = run.status in NO_RESULT
    terminal.print_parts(
        field_table(facts),
        section_with_title("oracle calls", calls if counts else "none"),
        None if failed else _final_measures(run),
        _trace_table(run) if run.iterations or not failed else None,
    )
    if failed:
        _report_failure(run)


def _show_runs(runs: "Sequence[Run]", extra_lines: Sequence[Line]) -> None:
    """Print a row for each of several runs that differ only in their seed."""
    from pfbench.runs.loop.run import NO_RESULT

    counted = dict.fromkeys(name for run in runs for name in _nonzero_counts(run))
    answered = [run for run in runs if run.status not in NO_RESULT]
    measured = _list_displayed_measures(answered)  # of a failed run they are no result
    rows = [
        [
            *(str(run.seed), run.status, f"{run.iterations:,}"),
            *(f"{getattr(run.counts, name):,}" for name in counted),
            format_duration(run.seconds),
            *(format_number(run.final[name]) if run in answered else "" for name in measured),
        ]
        for run in runs
    ]
    names = ["seed", "status", "iterations", *counted, "time", *measured]
    title = f"{format_plural(len(runs), 'run')}, measures at the output"
    terminal.print_parts(
        field_table([*_seed_independent_facts(runs[0]), *extra_lines]),
        section_with_title(title, terminal.split_wide_table(names, rows, right=names[2:])),
    )
    for run in runs:
        if run.status in terminal.FAILURES:
            _report_failure(run, f"seed {run.seed}: ")


def _report_failure(run: "Run", prefix: str = "") -> None:
    """Print why a run failed, and the line of code that raised the error."""
    after = f"after {format_plural(run.iterations, 'iteration')}"
    terminal.print_error(f"{prefix}{run.status} {after}: {run.stop_reason}")
    if (location := run.error_location) is not None:
        terminal.print_note(f"  {location.file}:{location.line}: {location.code}")


def _seed_independent_facts(run: "Run") -> list[Line]:
    """Return the facts about a run that do not depend on the seed."""
    return [
        ("problem", run.problem),
        ("algorithm", run.algorithm),
        ("schedule", f"{run.schedule}: {format_parameters(run.parameters)}"),
        ("not met", format_unmet(run.unmet_assumptions)),
    ]


def _nonzero_counts(run: "Run") -> dict[str, int]:
    return {name: count for name, count in run.counts.as_dict().items() if count}


def _final_measures(run: "Run") -> RenderableType:
    from pfbench.measures.catalogue import MEANING

    meanings = {name: meaning.summary for name, meaning in MEANING.items()}
    rows = [
        (name, format_number(run.final[name]), meanings.get(name, ""))
        for name in _list_displayed_measures([run])
    ]
    title = f"measures at the output ({run.parameters.get('output', 'last')})"
    return section_with_title(
        title, make_table(("name", "value", "meaning"), rows, right=("value",))
    )


def _list_displayed_measures(runs: "Sequence[Run]") -> list[str]:
    """Return the names of the final measures to print.

    The lower end of an interval measure is left out if the interval is a single number in all runs.
    """
    from pfbench.runs.loop.run import lower_end_columns

    exact = {
        name
        for name in (lower_end_columns(runs[0].final) if runs else ())
        if all(run.final[name] == run.final[name.removesuffix("_lower")] for run in runs)
    }
    return [name for name in (runs[0].final if runs else ()) if name not in exact]


def _trace_table(run: "Run") -> RenderableType | None:
    """Return a table of selected rows of the trace, None if nothing was measured."""
    import numpy as np

    from pfbench.runs.loop.run import TRACE_COLUMNS, lower_end_columns

    # Not `run.trace`: pandas takes longer to import than a small run does.
    trace = dict(zip(run.columns, zip(*run.rows, strict=True), strict=True))
    exact = [
        name
        for name in lower_end_columns(run.columns)
        if np.array_equal(trace[name], trace[name.removesuffix("_lower")], equal_nan=True)
    ]
    measured = [name for name in run.columns if name not in TRACE_COLUMNS and name not in exact]
    if not measured:
        return None
    counted = ["iteration", *_nonzero_counts(run)]
    last = len(run.rows) - 1
    chosen = sorted({round(k * last / (_ROWS - 1)) for k in range(_ROWS)})
    rows = []
    for k in chosen:
        values = [trace[name][k] for name in measured]
        texts = ("" if math.isnan(value) else format_number(value) for value in values)
        rows.append([*(f"{trace[name][k]:,}" for name in counted), *texts])
    names = [*counted, *map(str, measured)]
    total = format_plural(len(run.rows), "row")
    title = f"trace ({len(chosen)} of {total}; --trace FILE writes all)"
    # What does not fit beside comes below, behind the first column.
    return section_with_title(title, terminal.split_wide_table(names, rows, right=names))
