"""Executing the runs of a spec: first the search for tuned methods, then all others."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pfbench.cli.formatting import format_plural
from pfbench.cli.progress import StepProgress, run_kind
from pfbench.cli.terminal import exit_on_interrupt, print_note

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.storage.store import Store


def resolve_search(
    spec: "Spec",
    store: "Store",
    engine: "Engine",
    *,
    quiet: bool = False,
    recomputed_statuses: Collection[str] = (),
) -> "Spec":
    """Return a spec with the parameters that its search chooses; execute missing search runs."""
    from pfbench.runs.tuning import resolve_tuning

    def make(_: "Spec", plans: "Sequence[PlannedRun]") -> "Sequence[PlanOutcome]":
        return make_runs(
            f"{spec.name}, search",
            plans,
            store,
            engine,
            quiet=quiet,
            recomputed_statuses=recomputed_statuses,
        )

    return resolve_tuning(spec, make)


def make_runs(
    title: str,
    plans: "Sequence[PlannedRun]",
    store: "Store",
    engine: "Engine",
    *,
    quiet: bool = False,
    next_phase: str = "",
    recomputed_statuses: Collection[str] = (),
) -> "list[PlanOutcome]":
    """Execute the runs that a store lacks, and show progress; return all outcomes.

    `next_phase` is a text on the next phase. For `recomputed_statuses`, see `execute`.
    """
    from pfbench.runs.execute import execute

    def start(missing: "Sequence[PlannedRun]") -> None:
        if not quiet:  # names and parameters are right, and nothing is run yet
            print_note(f"{title}: {format_plural(len(plans), 'run')} planned")
        steps.start_clock(map(run_kind, missing))

    progress = StepProgress(title, len(plans), "runs", quiet=quiet, slots=engine.slots)
    with exit_on_interrupt("run", Path(store.folder)), progress as steps:
        outcomes = execute(
            plans,
            store,
            engine=engine,
            progress=steps.count_run,
            on_missing=start,
            recomputed_statuses=recomputed_statuses,
        )
    if not quiet:
        print_note(f"{title}: {steps.format_step_counts()}{next_phase}")
    return outcomes
