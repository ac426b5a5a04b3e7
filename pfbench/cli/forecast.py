"""``pfbench solve --dry-run``: what would run, its memory and its time, from a short trial."""

from typing import TYPE_CHECKING, Any

from pfbench.cli.printing import (
    FAILURES,
    duration,
    in_words,
    known,
    parameters_in_words,
    plural,
    show_fields,
    size,
    unmet_in_words,
    whole,
)

if TYPE_CHECKING:
    from pfbench.base.counts import Budget
    from pfbench.runs.loop.ready import Ready


def expected_run(
    ready: "Ready", *, seeds: range, budget: "Budget | None", time_limit: float | None
) -> dict[str, Any]:
    """Return what would run, as ``--dry-run --json`` prints it; nothing is stored."""
    from pfbench.algorithms import parameters_of
    from pfbench.base.selectors import Selector
    from pfbench.runs.forecast import forecast

    problem, algorithm = ready.problem, ready.algorithm
    found = forecast(ready, seed=seeds[0], budget=budget, time_limit=time_limit)
    trial = found.trial
    return {
        "schema": 1,
        "problem": str(Selector(problem.name, problem.parameters)),
        "algorithm": ready.selector,
        "parameters": parameters_of(algorithm),
        "schedule": ready.schedule,
        "unmet": list(ready.unmet),
        "seeds": list(seeds),
        "n": problem.n,
        "shape": list(problem.shape),
        "counts": getattr(algorithm, "counts", "not stated"),
        "iterations": found.iterations,
        "bytes": found.bytes,
        "seconds": found.seconds,
        "trial": {
            "status": trial.status,
            "stop_reason": trial.stop_reason,
            "iterations": trial.iterations,
            "counts": trial.counts.as_dict(),
            "seconds": trial.seconds,
        },
    }


def show_forecast(expected: dict[str, Any]) -> None:
    """Print what would run."""
    seeds, trial = expected["seeds"], expected["trial"]
    several = f"{len(seeds):,}, seeds {seeds[0]} to {seeds[-1]}"
    ended = ""
    if trial["status"] in FAILURES:
        ended = f", which ended: {trial['status']}, {trial['stop_reason']}"
    schedule = f"{expected['schedule']}: {parameters_in_words(expected['parameters'])}"
    show_fields(
        [
            ("problem", expected["problem"]),
            ("size", f"{in_words(expected['shape'])}, {expected['n']:,} components"),
            ("algorithm", expected["algorithm"]),
            ("schedule", schedule),
            ("not met", unmet_in_words(expected["unmet"])),
            ("counts", expected["counts"]),
            ("runs", several if len(seeds) > 1 else f"1, seed {seeds[0]}"),
            ("iterations", known(expected["iterations"], lambda count: f"at most {whole(count)}")),
            ("memory", known(expected["bytes"], lambda count: f"about {size(count)}")),
            ("time", known(expected["seconds"], lambda number: _time(number, len(seeds)))),
            (
                "from",
                f"a trial of {plural(trial['iterations'], 'iteration')} in "
                f"{duration(trial['seconds'])}{ended}; measures and compilation not included",
            ),
        ]
    )


def _time(seconds: float, runs: int) -> str:
    each = f"about {duration(seconds)}"
    return each if runs == 1 else f"{each} a run, {duration(seconds * runs)} for all"
