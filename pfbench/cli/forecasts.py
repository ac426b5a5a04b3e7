"""``pfbench run --dry-run``: estimate memory and time from short runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.cli import terminal
from pfbench.cli.options import cpu_count
from pfbench.cli.progress import StepProgress

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.engines.workers import TaskResult
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec

ORIGINS = {"made": "executed", "stored": "cached", "cut": "truncated"}
"""Origins of a run, with their names in JSON."""

_TRIALS = 24
"""Maximum number of settings tried for a forecast, spread over the sweep."""

_TRIAL_LIMIT = 100.0
"""Time limit in seconds of a trial, including its preparation."""

_UNKNOWN = {"iterations": None, "seconds": None, "bytes": None, "refused": "", "failed": ""}


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
    sizes = [row["bytes"] for row in rows if row["bytes"] is not None]
    counts = Counter(origins[plan] for plan in plans)
    record = {
        "name": spec.name,
        "store": str(folder),
        "planned": len(plans),
        **{name: counts[origin] for origin, name in ORIGINS.items()},
        "tuned_runs": tuned,
        "jobs": engine.slots,
        "bytes": max(sizes) * engine.slots if sizes else None,
        "seconds": total / engine.slots if tried or not lacking else None,
        "settings": len(settings),
        "trials": rows,
    }
    terminal.show_record(record, "estimates from trial runs", as_json=as_json)


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
