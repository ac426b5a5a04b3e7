"""What the catalogue's instances say of a bound of somebody's own, after its verdict."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.visible import visible
from pfbench.cli import printing
from pfbench.cli.work import Work

if TYPE_CHECKING:
    from pfbench.claims.harder import Hardest
    from pfbench.verification.verdict import Verdict


def tried_on_harder(work: Work, rows: "Sequence[Verdict]", every: bool) -> "list[Hardest]":
    """Try harder instances on bounds that are inconclusive, on all of them, and on rates."""
    from pfbench.base.verdicts import Verdict as VerdictName
    from pfbench.claims.harder import SECONDS, can_be_tried, hardest, is_rate
    from pfbench.runs.engines.workers import Task
    from pfbench.verification.session import time_limit

    undecided = (VerdictName.INCONCLUSIVE, *((VerdictName.HOLDS,) if every else ()))
    asked = [
        row.claim
        for row in rows
        if row.claim.home and not row.lost
        if (row.verdict in undecided and can_be_tried(row.claim))
        or (row.verdict is VerdictName.HOLDS and is_rate(row.claim))
    ]
    tasks = [
        Task(hardest, (one, work.effort, work.seeds[0]), SECONDS + time_limit(one, work.effort))
        for one in asked
    ]
    if asked and not work.quiet:
        names = ", ".join(one.name for one in asked)
        printing.note(f"harder instances are tried for {SECONDS:g} s each: {names}")
    found: dict[int, Hardest] = {}
    for result in work.engine.do(tasks) if tasks else ():
        if result.status == "done":
            found[result.index] = result.value
        else:
            name = asked[result.index].name
            printing.complain(f"{name}: no harder instance: {result.status}: {result.reason}.")
    return [found[index] for index in sorted(found)]


def harder_as_json(found: "Sequence[Hardest]") -> dict[str, Any]:
    """Return it as ``pfbench verify --json`` has it: nothing where nothing was tried."""
    return {"harder": [asdict(one) for one in found]} if found else {}


def harder_in_words(found: "Sequence[Hardest]", rows: "Sequence[Verdict]") -> RenderableType | None:
    """Return it as people read it; of bounds that hold with room, how they are tried."""
    from pfbench.claims.harder import can_be_tried

    told = {one.claim for one in found}
    easy = [
        row.claim.name
        for row in rows
        if row.claim.home and row.verdict == "holds" and row.claim.name not in told
        if can_be_tried(row.claim)
    ]
    lines = [one.in_words() for one in found]
    if easy:
        lines.append(f"with room to spare: {', '.join(easy)}; --harder tries other instances")
    return Group(*(Text(visible(line)) for line in lines)) if lines else None
