"""The runs of a spec: first the search of what is tuned, then all others."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pfbench.cli.printing import keeping, note
from pfbench.cli.progress import Steps, run_kind

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import Outcome
    from pfbench.runs.planning.plan import PlannedRun
    from pfbench.runs.planning.study import Spec
    from pfbench.runs.storage.store import Store


def searched(
    spec: "Spec",
    store: "Store",
    engine: "Engine",
    *,
    quiet: bool = False,
    again: Collection[str] = (),
) -> "Spec":
    """Return a spec with its tuned methods at what the search chooses, which is made if need be."""
    from pfbench.runs.tuning import settled

    def make(_: "Spec", plans: "Sequence[PlannedRun]") -> "Sequence[Outcome]":
        return made(f"{spec.name}, search", plans, store, engine, quiet=quiet, again=again)

    return settled(spec, make)


def made(
    title: str,
    plans: "Sequence[PlannedRun]",
    store: "Store",
    engine: "Engine",
    *,
    quiet: bool = False,
    then: str = "",
    again: Collection[str] = (),
) -> "list[Outcome]":
    """Make the runs that a store lacks, and tell how far they are; `then` says what follows.

    With `again`, as `sweep` takes it.
    """
    from pfbench.runs.execute import execute

    told = Steps(title, len(plans), "runs", quiet=quiet, slots=engine.slots)
    with keeping("run", Path(store.folder)), told as steps:
        outcomes = execute(
            plans,
            store,
            engine=engine,
            progress=steps.count_run,
            begin=lambda missing: steps.begin(map(run_kind, missing)),
            again=again,
        )
    if not quiet:
        note(f"{title}: {steps.made_in_words()}{then}")
    return outcomes
