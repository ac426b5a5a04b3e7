"""``pfbench solve --dry-run``: planned run, memory and time, from a short trial."""

from typing import TYPE_CHECKING

from pfbench.cli import formatting
from pfbench.cli.terminal import FAILURES, brief_json
from pfbench.cli.terminal_tables import ReportedFact, show_facts

if TYPE_CHECKING:
    from pfbench.base.counts import Budget
    from pfbench.runs.loop.resolved_run import ResolvedRun


def show_forecast(
    run: "ResolvedRun",
    *,
    seeds: range,
    budget: "Budget | None",
    time_limit: float | None,
    as_json: bool,
) -> None:
    """Print the planned run with its estimates; nothing is stored."""
    from pfbench.algorithms import get_parameters
    from pfbench.base.selectors import Selector
    from pfbench.runs.forecast import forecast

    problem, algorithm = run.problem, run.algorithm
    result = forecast(run, seed=seeds[0], budget=budget, time_limit=time_limit)
    trial, parameters = result.trial, get_parameters(algorithm)
    shape = f"{formatting.format_shape(problem.shape)}, {formatting.format_size(problem.n)}"
    group = f"{len(seeds):,}, seeds {seeds[0]} to {seeds[-1]}"
    if_known = formatting.format_if_known(
        result.iterations, lambda count: f"at most {formatting.format_count(count)}"
    )
    memory = formatting.format_if_known(
        result.bytes, lambda count: f"about {formatting.format_bytes(count)}"
    )
    time = formatting.format_if_known(
        result.seconds, lambda seconds: _format_total_time(seconds, len(seeds))
    )
    schedule = f"{run.schedule}: {formatting.format_parameters(parameters)}"
    ended = f", which ended: {trial.status}, {trial.stop_reason}"
    plural = formatting.format_plural(trial.iterations, "iteration")
    source = (
        f"a trial of {plural} in {formatting.format_duration(trial.seconds)}"
        f"{ended if trial.status in FAILURES else ''}; measures and compilation not included"
    )
    facts = [
        ReportedFact("problem", str(Selector(problem.name, problem.parameters)), "problem"),
        ReportedFact("shape", list(problem.shape), "size", shape),
        ReportedFact("n", problem.n),
        ReportedFact("algorithm", run.selector, "algorithm"),
        ReportedFact("parameters", parameters),
        ReportedFact("schedule", run.schedule, "schedule", schedule),
        ReportedFact(
            "unmet_assumptions",
            list(run.unmet_assumptions),
            "not met",
            formatting.format_unmet(run.unmet_assumptions),
        ),
        ReportedFact("counts", getattr(algorithm, "counts", "not stated"), "counts"),
        ReportedFact(
            "seeds", list(seeds), "runs", group if len(seeds) > 1 else f"1, seed {seeds[0]}"
        ),
        ReportedFact("iterations", result.iterations, "iterations", if_known),
        ReportedFact("bytes", result.bytes, "memory", memory),
        ReportedFact("seconds", result.seconds, "time", time),
        ReportedFact("trial", brief_json(trial), "from", source),
    ]
    show_facts(facts, as_json=as_json)


def _format_total_time(seconds: float, runs: int) -> str:
    each = f"about {formatting.format_duration(seconds)}"
    return (
        each if runs == 1 else f"{each} a run, {formatting.format_duration(seconds * runs)} for all"
    )
