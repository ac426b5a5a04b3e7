"""``pfbench solve --dry-run``: what would run, its memory and its time, from a short trial."""

from typing import TYPE_CHECKING

from pfbench.cli import words
from pfbench.cli.printing import FAILURES, in_brief
from pfbench.cli.tables import Fact, show_facts

if TYPE_CHECKING:
    from pfbench.base.counts import Budget
    from pfbench.runs.loop.ready import Ready


def show_expected(
    ready: "Ready",
    *,
    seeds: range,
    budget: "Budget | None",
    time_limit: float | None,
    as_json: bool,
) -> None:
    """Print what would run; nothing is stored."""
    from pfbench.algorithms import parameters_of
    from pfbench.base.selectors import Selector
    from pfbench.runs.forecast import forecast

    problem, algorithm = ready.problem, ready.algorithm
    found = forecast(ready, seed=seeds[0], budget=budget, time_limit=time_limit)
    trial, parameters = found.trial, parameters_of(algorithm)
    shape = f"{words.in_words(problem.shape)}, {problem.n:,} components"
    several = f"{len(seeds):,}, seeds {seeds[0]} to {seeds[-1]}"
    most = words.known(found.iterations, lambda count: f"at most {words.whole(count)}")
    memory = words.known(found.bytes, lambda count: f"about {words.size(count)}")
    time = words.known(found.seconds, lambda seconds: _time(seconds, len(seeds)))
    schedule = f"{ready.schedule}: {words.parameters_in_words(parameters)}"
    ended = f", which ended: {trial.status}, {trial.stop_reason}"
    made = words.plural(trial.iterations, "iteration")
    source = (
        f"a trial of {made} in {words.duration(trial.seconds)}"
        f"{ended if trial.status in FAILURES else ''}; measures and compilation not included"
    )
    facts = [
        Fact("problem", str(Selector(problem.name, problem.parameters)), "problem"),
        Fact("shape", list(problem.shape), "size", shape),
        Fact("n", problem.n),
        Fact("algorithm", ready.selector, "algorithm"),
        Fact("parameters", parameters),
        Fact("schedule", ready.schedule, "schedule", schedule),
        Fact("unmet", list(ready.unmet), "not met", words.unmet_in_words(ready.unmet)),
        Fact("counts", getattr(algorithm, "counts", "not stated"), "counts"),
        Fact("seeds", list(seeds), "runs", several if len(seeds) > 1 else f"1, seed {seeds[0]}"),
        Fact("iterations", found.iterations, "iterations", most),
        Fact("bytes", found.bytes, "memory", memory),
        Fact("seconds", found.seconds, "time", time),
        Fact("trial", in_brief(trial), "from", source),
    ]
    show_facts(facts, as_json=as_json)


def _time(seconds: float, runs: int) -> str:
    each = f"about {words.duration(seconds)}"
    return each if runs == 1 else f"{each} a run, {words.duration(seconds * runs)} for all"
