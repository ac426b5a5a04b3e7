"""``--dry-run`` of ``pfbench solve`` and ``run``: estimate memory and time from short runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfbench.cli import terminal
from pfbench.cli.formatting import (
    format_bytes,
    format_component_count,
    format_count,
    format_duration,
    format_if_known,
    format_parameters,
    format_plural,
    format_shape,
    format_unmet,
)
from pfbench.cli.options import cpu_count
from pfbench.cli.progress import StepProgress
from pfbench.cli.terminal import Fact, make_table, section_with_title

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.engines.workers import TaskResult
    from pfbench.runs.loop.resolved_run import ResolvedRun
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec

ORIGINS = {"made": "executed", "stored": "cached", "cut": "truncated"}
"""Origins of a run, with their names in JSON."""

_EXPECTED = {
    "stored": "are cached",
    "cut": "will be cut from longer stored runs",
    "made": "will be executed",
}

_TRIALS = 24
"""Maximum number of settings tried for a forecast, spread over the sweep."""

_TRIAL_LIMIT = 100.0
"""Time limit in seconds of a trial, including its preparation."""

_UNKNOWN = {"iterations": None, "seconds": None, "bytes": None, "refused": "", "failed": ""}


def show_run_forecast(
    run: "ResolvedRun", plan: "PlannedRun", seeds: range, *, as_json: bool
) -> None:
    """Print a planned run with estimates of its memory and time; nothing is stored."""
    from pfbench.algorithms import get_parameters
    from pfbench.base.selectors import Selector
    from pfbench.runs.engines.run_task import forecast

    problem, algorithm, number = run.problem, run.algorithm, len(seeds)
    result = forecast(run, seed=plan.seed, budget=plan.budget, time_limit=plan.time_limit)
    trial, parameters = result.trial, get_parameters(algorithm)
    unmet, schedule = run.unmet_assumptions, f"{run.schedule}: {format_parameters(parameters)}"
    size = f"{format_shape(problem.shape)}, {format_component_count(problem.n)}"
    runs = f"{number:,}, seeds {seeds[0]} to {seeds[-1]}" if number > 1 else f"1, seed {seeds[0]}"
    iterations = format_if_known(result.iterations, lambda count: f"at most {format_count(count)}")
    memory = _format_estimate(result.bytes, format_bytes)
    time = _format_estimate(result.seconds, format_duration)
    if number > 1 and result.seconds is not None:
        time = f"{time} a run, {format_duration(result.seconds * number)} for all"
    length, duration = format_plural(trial.iterations, "iteration"), format_duration(trial.seconds)
    failed = trial.status in terminal.FAILURES
    ended = f", which ended: {trial.status}, {trial.stop_reason}" if failed else ""
    source = f"a trial of {length} in {duration}{ended}; measures and compilation not included"
    facts = [
        Fact("problem", str(Selector(problem.name, problem.parameters)), "problem"),
        Fact("shape", list(problem.shape), "size", size),
        Fact("n", problem.n),
        Fact("algorithm", run.selector, "algorithm"),
        Fact("parameters", parameters),
        Fact("schedule", run.schedule, "schedule", schedule),
        Fact("unmet_assumptions", list(unmet), "not met", format_unmet(unmet)),
        Fact("counts", getattr(algorithm, "counts", "not stated"), "counts"),
        Fact("seeds", list(seeds), "runs", runs),
        Fact("iterations", result.iterations, "iterations", iterations),
        Fact("bytes", result.bytes, "memory", memory),
        Fact("seconds", result.seconds, "time", time),
        Fact("trial", terminal.brief_json(trial), "from", source),
    ]
    terminal.show_facts(facts, as_json=as_json)


def _format_estimate(value: Any, words: Any) -> str:
    return format_if_known(value, lambda value: f"about {words(value)}")


def show_sweep_forecast(
    spec: "Spec", folder: Path, engine: "Engine", recomputed: tuple[str, ...], *, as_json: bool
) -> None:
    """Print the planned runs of a sweep with estimates of memory and time; nothing is stored."""
    from pfbench.runs.execute import predict_origins

    plans = list(dict.fromkeys([*spec.search_runs(), *spec.runs()]))
    tuned = sum(len(study.seeds) for study in spec.studies for _ in study.iterate_tuned_methods())
    origins = predict_origins(plans, folder, engine, recomputed)
    lacking = [plan for plan in plans if origins[plan] == "made"]
    settings: dict[tuple[str, str], list[PlannedRun]] = {}
    for plan in lacking:
        settings.setdefault((plan.problem, plan.algorithm), []).append(plan)
    step = max(1, -(-len(settings) // _TRIALS))
    rows = _estimate_by_trial_runs(list(settings.values())[::step], engine.slots, quiet=as_json)
    timed = [row for row in rows if row["seconds"] is not None]
    tried = sum(row["runs"] for row in timed)
    # Those that were not tried are taken to be like the others.
    total = sum(row["seconds"] * row["runs"] for row in timed) * len(lacking) / max(1, tried)
    seconds = total / engine.slots if tried or not lacking else None
    sizes = [row["bytes"] for row in rows if row["bytes"] is not None]
    upper = max(sizes) * engine.slots if sizes else None
    counts = Counter(origins[plan] for plan in plans)
    problems = format_plural(len({plan.problem for plan in plans}), "problem")
    algorithms = format_plural(len({plan.algorithm for plan in plans}), "algorithm")
    then = f"at least {format_count(tuned)} with the parameters that the search chooses"
    facts = [
        Fact("name", spec.name, "sweep"),
        Fact("store", str(folder), "store"),
        Fact("planned", len(plans), "runs", f"{len(plans):,}: {problems}, {algorithms}"),
        *(Fact(name, counts[origin]) for origin, name in ORIGINS.items()),
        Fact("", None, "of these", format_origins(counts, _EXPECTED)),
        Fact("tuned_runs", tuned, "then" if tuned else "", then),
        Fact("jobs", engine.slots, "jobs"),
        Fact("bytes", upper, "memory", _format_estimate(upper, format_bytes)),
        Fact("seconds", seconds, "time", _format_estimate(seconds, format_duration)),
        Fact("settings", len(settings)),
        Fact("trials", rows),
    ]
    title = f"trials of {len(rows)} of {format_plural(len(settings), 'setting')}"
    trials = section_with_title(title, _trial_table(rows)) if rows else None
    terminal.show_facts(facts, trials, as_json=as_json)


def format_origins(origins: Mapping[str, int], words: Mapping[str, str]) -> str:
    """Return the number of runs from each origin as text, such as "2 cached"."""
    return ", ".join(f"{origins[name]:,} {word}" for name, word in words.items() if origins[name])


def _estimate_by_trial_runs(
    settings: "Sequence[Sequence[PlannedRun]]", slots: int, *, quiet: bool
) -> list[dict[str, Any]]:
    """Execute a short trial of the first run of each setting; return memory and time estimates.

    A setting is one problem with one algorithm, given as the list of its planned runs.
    """
    from pfbench.runs.engines.run_task import forecast_as_json
    from pfbench.runs.engines.workers import Task, run_tasks

    plans = [(runs[0], len(runs)) for runs in settings]
    rows: list[dict[str, Any]] = [
        {"problem": plan.problem, "algorithm": plan.algorithm, "runs": number, **_UNKNOWN}
        for plan, number in plans
    ]
    tasks = [
        Task(forecast_as_json, (plan,), _TRIAL_LIMIT, plan.user_code_name) for plan, _ in plans
    ]
    with StepProgress("trials", len(tasks), "trials", quiet=quiet) as steps:
        for result in run_tasks(tasks, min(slots, cpu_count()) or 1):
            rows[result.index] |= _trial_record(result)
            steps.advance()
    return rows


def _trial_record(result: "TaskResult") -> dict[str, Any]:
    """Return the estimates from a trial run, or the reason why the trial failed."""
    if result.value is None:
        return {"failed": result.reason}
    value = dict(result.value)
    status, reason = value.pop("status", ""), value.pop("stop_reason", "")
    return value | {"failed": f"{status}: {reason}" if status in terminal.FAILURES else ""}


def _trial_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    names = "runs", "iterations", "time each", "memory", "algorithm on problem"
    words = {"iterations": format_count, "seconds": format_duration, "bytes": format_bytes}
    displayed = []
    for row in rows:
        numbers = (format_if_known(row[name], word) for name, word in words.items())
        lines = [f"{row['algorithm']} on {row['problem']}", row["refused"] or row["failed"]]
        displayed.append((row["runs"], *numbers, terminal.multiline_cell(*filter(None, lines))))
    return make_table(names, displayed, right=names[:-1])
