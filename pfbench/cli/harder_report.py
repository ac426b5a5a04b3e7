"""Report on harder instances for user-defined bounds, after their verdicts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.escaping import escape_text
from pfbench.base.verdicts import Verdict as VerdictName
from pfbench.cli import terminal
from pfbench.cli.verification_job import VerificationJob

if TYPE_CHECKING:
    from pfbench.claims.harder_instances import HardestInstance
    from pfbench.verification.verdict import Verdict


def try_harder_instances_of_user_claims(
    work: VerificationJob, verdicts: "Sequence[Verdict]", include_held_bounds: bool
) -> "list[HardestInstance]":
    """Search harder instances for user-defined bounds that are inconclusive, and for rates."""
    from pfbench.base.verdicts import Verdict as VerdictName
    from pfbench.claims.harder_instances import (
        SECONDS,
        bounds_quantity_other_than_calls,
        find_hardest_instance,
        is_refutable_rate,
    )
    from pfbench.runs.engines.workers import Task
    from pfbench.verification.session import time_limit

    undecided = (VerdictName.INCONCLUSIVE, *((VerdictName.HOLDS,) if include_held_bounds else ()))
    claims = [
        row.claim
        for row in verdicts
        if row.claim.user_source and not row.lost
        if (row.verdict in undecided and bounds_quantity_other_than_calls(row.claim))
        or (row.verdict is VerdictName.HOLDS and is_refutable_rate(row.claim))
    ]
    tasks = [
        Task(
            find_hardest_instance,
            (claim, work.effort, work.seeds[0]),
            SECONDS + time_limit(claim, work.effort),
        )
        for claim in claims
    ]
    if claims and not work.is_quiet:
        names = ", ".join(claim.name for claim in claims)
        terminal.print_note(f"searching harder instances for {SECONDS:g} s each: {names}")
    instances: dict[int, HardestInstance] = {}
    for result in work.engine.do(tasks) if tasks else ():
        if result.status == "done":
            instances[result.index] = result.value
        else:
            name = claims[result.index].name
            terminal.print_error(f"{name}: no harder instance: {result.status}: {result.reason}.")
    return [instances[index] for index in sorted(instances)]


def harder_results_as_json(results: "Sequence[HardestInstance]") -> dict[str, Any]:
    """Return the results for ``pfbench verify --json``; empty if nothing was tried."""
    names = {"tried": "tried_count", "lacks": "unmet_assumptions"}
    instances = [terminal.dataclass_as_dict(instance, **names) for instance in results]
    return {"harder_instances": instances} if instances else {}


def render_harder_results(
    results: "Sequence[HardestInstance]", rows: "Sequence[Verdict]"
) -> RenderableType | None:
    """Return the results for the terminal, with a hint on loose bounds that were not tried."""
    from pfbench.claims.harder_instances import bounds_quantity_other_than_calls

    claims = {instance.claim for instance in results}
    easy = [
        row.claim.name
        for row in rows
        if row.claim.user_source
        and row.verdict == VerdictName.HOLDS
        and row.claim.name not in claims
        if bounds_quantity_other_than_calls(row.claim)
    ]
    lines = [instance.format() for instance in results]
    if easy:
        lines.append(
            f"far from their bound: {', '.join(easy)}; --harder-instances tries harder ones"
        )
    return Group(*(Text(escape_text(line)) for line in lines)) if lines else None
