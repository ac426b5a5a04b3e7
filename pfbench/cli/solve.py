"""``pfbench solve``: one run, or the same run with several seeds."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

from pfbench.base.errors import InputError
from pfbench.base.files import check_writable, whole
from pfbench.base.selectors import Selector
from pfbench.cli import printing
from pfbench.cli.options import AS_JSON, DRY_RUN, flag, option
from pfbench.cli.progress import Steps
from pfbench.cli.promised import promised, promised_lines
from pfbench.cli.tables import Line, columns, fields, folded, heading, show
from pfbench.cli.words import duration, number, parameters_in_words, plural, unmet_in_words
from pfbench.cli.words import whole as whole_number

if TYPE_CHECKING:
    from pfbench.runs.loop.ready import Ready
    from pfbench.runs.loop.run import Run
    from pfbench.runs.planning.plan import PlannedRun

TRACED = "objective,fw_gap"
"""What a trace records if nothing else is asked for."""

_SUFFIXES = (".csv", ".parquet")

_LONG = 1e8
"""A schedule of more iterations needs a limit, or a yes: nobody waits for it unawares."""

_AS_IN = 'As in "{}", or your own, FILE.py:NAME[...].'


def solve(
    problem: str = option(
        "PROBLEM", _AS_IN.format("nonconvex-logistic[source=a9a]"), "--problem", "-p", default=...
    ),
    algorithm: str = option(
        "ALGORITHM", _AS_IN.format("nfwu-spiderg[epsilon=0.1]"), "--algorithm", "-a", default=...
    ),
    seed: int = option("N", "Seed of the algorithm.", default=0),
    repeat: int | None = option("K", "Run K seeds, from --seed on."),
    budget: str | None = option(
        "COUNT=N,...", "Most oracle calls, as in sfo=1e6,lo=100: no call exceeds them."
    ),
    stop: str | None = option("MEASURE=X", "Stop at a target, as in fw_gap=0.01."),
    time_limit: float | None = option(
        "S", "Most seconds, without measures and compilation; a run that does not stop is killed."
    ),
    measure: str | None = option(
        "NAME,...",
        f"What the trace records ({TRACED}, if there is a trace); your own: FILE.py:NAME.",
    ),
    every: int = option("K", "Record, and look at the target, every K iterations.", default=1),
    trace: Path | None = option("FILE", "Write the trace to this .csv or .parquet file."),
    yes: bool = flag(
        f"Begin a schedule of more than {_LONG:.0e} iterations without a limit.", "--yes"
    ),
    dry_run: bool = DRY_RUN,
    as_json: bool = AS_JSON,
) -> None:
    """Run an algorithm on a problem: counts and measures.

    Every oracle call is counted, exactly; measures are never counted. A selector is a name with
    parameters in brackets; `pfbench info NAME` shows them, and a problem's measures.
    """
    from pfbench.base.checks import integer, real
    from pfbench.base.counts import Budget

    Selector.parse(problem)
    Selector.parse(algorithm)
    integer("--seed", seed, least=0)
    seeds = range(seed, seed + (1 if repeat is None else integer("--repeat", repeat, least=1)))
    integer("--every", every, least=1)
    if time_limit is not None:
        real("--time-limit", time_limit, above=0.0)
    limits = None if budget is None else Budget.parse(budget)
    measures = _names(measure, TRACED if trace else "")
    if trace is not None:
        _check_trace(trace)

    from pfbench.cli.forecast import show_expected
    from pfbench.runs.loop.stop import Stop, recorded
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.plugged import measure_spelled_out, spelled_out
    from pfbench.runs.planning.resolve import resolve

    problem = spelled_out("problem", problem)
    selector = str(Selector.parse(spelled_out("algorithm", algorithm)))
    target = None if stop is None else Stop.parse(stop)
    if target is not None:
        target = replace(target, measure=measure_spelled_out(target.measure))
    names, target = recorded([measure_spelled_out(name) for name in measures], target)
    printing.announce((problem, selector, *names))
    plan = PlannedRun(problem, selector, seed, names, every, limits, target, time_limit)
    with printing.alone(as_json):
        ready = resolve(plan).ready
    if dry_run:
        show_expected(ready, seeds=seeds, budget=limits, time_limit=time_limit, as_json=as_json)
        return
    if limits is None and time_limit is None and not yes:
        _check_length(ready, seeds)
    with printing.alone(as_json):
        runs = _run_all(ready, plan, seeds, quiet=as_json)
    if as_json:
        described = [_described(run, promised(ready, [run])) for run in runs]
        printing.print_json(described[0] if repeat is None else described)
    elif repeat is None:
        show_run(runs[0], promised_lines(promised(ready, runs), 1))
    else:
        show_runs(runs, promised_lines(promised(ready, runs), len(runs)))
    if trace is not None:
        _write_trace(runs, trace, with_seed=repeat is not None)
    # The user interrupts one that is killed.
    status = printing.INTERRUPTED if any(run.status == "killed" for run in runs) else 1
    printing.exit_if(any(run.status in printing.FAILURES for run in runs), status)


def _check_length(ready: "Ready", seeds: range) -> None:
    """Refuse a schedule of very many iterations, and say how long it would take."""
    length = ready.length
    if length is None or length <= _LONG:
        return
    from pfbench.runs.forecast import forecast

    found = forecast(ready, seed=seeds[0], budget=None, time_limit=None)
    if found.iterations is None or found.iterations <= _LONG:
        return
    time = f", about {duration(found.seconds)}" if found.seconds else ""
    raise InputError(
        f"{ready.selector} would make {whole_number(length)} iterations{time} a run: give it "
        "--budget or --time-limit, other parameters, or --yes."
    )


def _described(run: "Run", promise: object) -> dict[str, object]:
    place = None if run.place is None else run.place._asdict()
    return run.as_json() | {"promised": promise, "place": place, "note": run.note}


def _names(given: str | None, default: str) -> list[str]:
    names = [name.strip() for name in (default if given is None else given).split(",")]
    if given is not None and not all(names):
        raise InputError(f"cannot read --measure {given!r}: write NAME or NAME,NAME.")
    if len(set(names)) < len(names):
        raise InputError(f"--measure {given!r} names a measure twice.")
    return [name for name in names if name]


def _run_all(ready: "Ready", plan: "PlannedRun", seeds: range, *, quiet: bool) -> "list[Run]":
    """Run each seed, up to the one that the user interrupts."""
    name = ready.algorithm.name
    runs: list[Run] = []
    for seed in seeds:
        title = name if len(seeds) == 1 else f"{name}, seed {seed}"
        with Steps(title, ready.length, "iterations", quiet=quiet) as steps:
            run = _run(ready, plan, seed, steps)
        runs.append(run)
        if len(seeds) > 1 and not quiet and not printing.console(error=True).is_terminal:
            took = f"{plural(run.iterations, 'iteration')}, {duration(run.seconds)}"
            printing.note(f"{title}: {run.status}, {took}")
        if run.status == "killed":
            break
    return runs


def _run(ready: "Ready", plan: "PlannedRun", seed: int, steps: Steps) -> "Run":
    """Make a run here; one with a time limit in a process that can be killed."""
    from pfbench.oracles import Ledger
    from pfbench.runs.engines.engine import LocalProcesses
    from pfbench.runs.engines.making import make, run_of, unfinished_run
    from pfbench.runs.engines.workers import Task
    from pfbench.runs.loop.drive import drive

    if plan.time_limit is None:
        return drive(
            ready,
            Ledger(plan.budget),
            seed=seed,
            every=plan.every,
            stop=plan.stop,
            watch=lambda at: steps.reach(at.iterations),
        )
    plan = replace(plan, seed=seed)
    try:
        (result,) = LocalProcesses(1).do([Task(make, (plan,))])
    except KeyboardInterrupt:
        return unfinished_run(plan, "killed", "interrupted by the user")
    return run_of(plan, result)


# --- the trace ------------------------------------------------------------------------------------


def _check_trace(path: Path) -> None:
    """Refuse a trace file that could not be written, before anything runs."""
    if path.suffix not in _SUFFIXES:
        raise InputError(f"--trace {path}: the name must end in {' or '.join(_SUFFIXES)}.")
    check_writable(path, f"--trace {path}")


def _write_trace(runs: "Sequence[Run]", path: Path, *, with_seed: bool) -> None:
    """Write the traces of all runs to one file; an interruption leaves the file as it was."""
    import pandas as pd

    rows = pd.concat([run.trace for run in runs], ignore_index=True)
    if with_seed:
        rows.insert(0, "seed", [run.seed for run in runs for _ in run.rows])
    try:
        with whole(path) as file:
            if path.suffix == ".csv":
                rows.to_csv(file, index=False)
            else:
                rows.to_parquet(file, index=False)
    except OSError as error:
        printing.fail(f"the trace {path} could not be written ({error.strerror}).")


# --- what people read -----------------------------------------------------------------------------


def show_run(run: "Run", beside: Sequence[Line] = ()) -> None:
    """Print one run."""
    from pfbench.runs.loop.run import NO_RESULT

    inside = f", {run.oracle_seconds / run.seconds:.0%} inside oracles" if run.seconds else ""
    about: list[Line] = [
        *_what(run),
        ("seed", str(run.seed)),
        ("status", f"{run.status}: {run.stop_reason}"),
        ("iterations", run.iterations),
        ("time", f"{duration(run.seconds)}{inside}"),
        ("note", run.note),
        *beside,
    ]
    output = run.parameters.get("output", "last")
    failed = run.status in NO_RESULT
    final = None if failed else heading(f"measures at the output ({output})", _final(run))
    trace = _trace(run) if run.iterations or not failed else None
    show(fields(about), heading("oracle calls", _counts(run)), final, trace)
    if failed:
        complain_of(run)


def complain_of(run: "Run", whose: str = "") -> None:
    """Say on the standard error why a run failed, in which line, and what the line is."""
    after = f"after {plural(run.iterations, 'iteration')}"
    printing.complain(f"{whose}{run.status} {after}: {run.stop_reason}")
    if run.place is not None:
        printing.note(f"  {run.place.file}:{run.place.line}: {run.place.code}")


def _what(run: "Run") -> list[tuple[str, str]]:
    """Return what is run on what, which no seed changes."""
    return [
        ("problem", run.problem),
        ("algorithm", run.algorithm),
        ("schedule", f"{run.schedule}: {parameters_in_words(run.parameters)}"),
        ("not met", unmet_in_words(run.unmet)),
    ]


def _counts(run: "Run") -> RenderableType:
    from pfbench.base.counts import MEANING

    rows = [(name, count, MEANING[name]) for name, count in _made(run).items()]
    return columns(("name", "calls", "meaning"), rows, right=("calls",)) if rows else "none"


def _made(run: "Run") -> dict[str, int]:
    """Return the oracle calls of the kinds that the run made."""
    return {name: count for name, count in run.counts.as_dict().items() if count}


def _final(run: "Run") -> Table:
    from pfbench.measures import MEANING

    rows = [
        (name, number(run.final[name]), MEANING[name].summary if name in MEANING else "")
        for name in _shown([run])
    ]
    return columns(("name", "value", "meaning"), rows, right=("value",))


_ROWS = 12
"""So many rows of a trace are printed, spread over the run; --trace writes them all."""


def _trace(run: "Run") -> RenderableType | None:
    """Return the trace of what was measured, None if nothing was."""
    import numpy as np

    from pfbench.runs.loop.run import TRACE_COLUMNS, lower_ends

    # Not `run.trace`: pandas takes longer to import than a small run does.
    trace = dict(zip(run.columns, zip(*run.rows, strict=True), strict=True))
    exact = [
        name
        for name in lower_ends(run.columns)
        if np.array_equal(trace[name], trace[name.removesuffix("_lower")], equal_nan=True)
    ]
    measured = [name for name in run.columns if name not in TRACE_COLUMNS and name not in exact]
    if not measured:
        return None
    counts = _made(run)
    last = len(run.rows) - 1
    chosen = sorted({round(k * last / (_ROWS - 1)) for k in range(_ROWS)})
    rows = [
        (
            *(f"{trace[name][k]:,}" for name in ("iteration", *counts)),
            *("" if math.isnan(trace[name][k]) else number(trace[name][k]) for name in measured),
        )
        for k in chosen
    ]
    names = ["iteration", *counts, *map(str, measured)]
    title = f"trace ({len(chosen)} of {plural(len(run.rows), 'row')}; --trace FILE writes all)"
    # What does not fit beside comes below, behind the first column.
    return heading(title, folded(names, rows, right=names))


def _shown(runs: "Sequence[Run]") -> list[str]:
    """Return the final measures without the lower ends of intervals that are exact in all runs."""
    from pfbench.runs.loop.run import lower_ends

    lower = lower_ends(runs[0].final)
    return [
        name
        for name in runs[0].final
        if name not in lower
        or any(run.final[name] != run.final[name.removesuffix("_lower")] for run in runs)
    ]


def show_runs(runs: "Sequence[Run]", beside: Sequence[Line] = ()) -> None:
    """Print several runs that differ by their seed: medians and ranges."""
    from pfbench.runs.loop.run import NO_RESULT

    first = runs[0]
    statuses = Counter(run.status for run in runs)
    spread: dict[str, list[float | None]] = {"iterations": [run.iterations for run in runs]}
    for name in first.counts.as_dict():
        if any(name in _made(run) for run in runs):
            spread[name] = [_made(run).get(name, 0) for run in runs]
    spread["seconds"] = [run.seconds for run in runs]
    answered = [run for run in runs if run.status not in NO_RESULT]
    if answered:  # what is measured of a failed run is no result
        spread |= {name: [run.final.get(name) for run in answered] for name in _shown(answered)}
    names = "name", "median", "least", "largest"
    rows = [(name, *_range(values)) for name, values in spread.items()]
    seeds = "seeds", f"{first.seed} to {runs[-1].seed}"
    ended = "status", ", ".join(f"{count} {status}" for status, count in statuses.items())
    failed = f", {len(runs) - len(answered)} failed" if len(answered) < len(runs) else ""
    title = f"{plural(len(runs), 'run')}{failed}, measures at the output"
    table = columns(names, rows, right=names[1:])
    show(fields([*_what(first), seeds, ended, *beside]), heading(title, table))
    for run in runs:
        if run.status in printing.FAILURES:
            complain_of(run, f"seed {run.seed}: ")


def _range(values: list[float | None]) -> tuple[str, str, str]:
    known = [value for value in values if value is not None]
    if not known:
        return ("not defined", "", "")
    found = (statistics.median(known), min(known), max(known))
    whole = all(isinstance(value, int) for value in known)
    return tuple(f"{v:,.10g}" if whole else number(v) for v in found)  # type: ignore[return-value]
