"""``pfbench verify --power``: the smallest planted error that each claim's check finds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pfbench.cli import printing
from pfbench.cli.report import command_line
from pfbench.cli.tables import show

if TYPE_CHECKING:
    from pfbench.cli.work import Work
    from pfbench.verification.claim import Claim
    from pfbench.verification.power import Search


def measure_power(work: "Work", longest: float | None) -> None:
    """Tell the least error of each claim's method that is found; with full effort, by both.

    Checks that take longer than so many seconds are not asked.
    """
    from pfbench.claims.catalogue import selected
    from pfbench.verification.tables import power_table

    found = searched(work, selected(work.names, work.effort), longest)
    rows = [
        {
            "claim": same[0].claim.name,
            "method": same[0].claim.method,
            "parameter": same[0].parameter,
            "least": dict(zip(found, (one.least for one in same), strict=True)),
            "asked": dict(zip(found, (one.asked for one in same), strict=True)),
            "lost": dict(zip(found, (one.lost for one in same), strict=True)),
        }
        for same in zip(*found.values(), strict=True)
    ]
    work.write({"schema": 1, "power": rows})
    text = power_table(found, command_line())
    if work.table is not None:
        printing.write(text, work.table)
    elif not work.quiet:
        show(Text(text))


def searched(
    work: "Work", claims: "Sequence[Claim]", longest: float | None
) -> "dict[str, list[Search]]":
    """Return the searches for the least errors, at their end, by effort."""
    from pfbench.verification.power import SEEDS, measure, searches
    from pfbench.verification.session import of_effort

    found: dict[str, list[Search]] = {}
    for effort in ("quick", "full") if work.effort == "full" else ("quick",):
        begun = searches(claims)
        if found:
            for one, known in zip(begun, found["quick"], strict=True):
                one.begin_from(known)
        found[effort] = begun
        of_this = of_effort(claims, effort)
        for one in begun:
            takes = one.claim.seconds(effort)
            one.asked = one.claim in of_this and (longest is None or takes <= longest)
        tried = [one for one in begun if one.asked]
        with work.steps(f"power, {effort}", None) as steps:
            seeds = range(work.seeds[0], work.seeds[0] + SEEDS)
            measure(tried, [work.session(steps, seed, effort) for seed in seeds])
    return found
