"""``pfbench power``: the smallest planted error that each claim's check detects."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pfbench.cli import terminal
from pfbench.cli.report_command import current_command_line
from pfbench.cli.terminal_tables import print_parts

if TYPE_CHECKING:
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.verification.claim import Claim
    from pfbench.verification.power import PowerSearch


def measure_power(work: "VerificationJob", max_check_seconds: float | None) -> None:
    """Report the smallest error in each claim's method that its check detects.

    With full effort, quick checks are reported, too. Checks that take longer than
    `max_check_seconds` seconds are skipped.
    """
    from pfbench.claims.catalogue import select_claims
    from pfbench.verification.verdict_tables import power_table

    searches = power_searches_by_effort(
        work, select_claims(work.names, work.effort), max_check_seconds
    )
    rows = [
        {
            "claim": same[0].claim.name,
            "method": same[0].claim.method,
            "parameter": same[0].parameter,
            "least_factor": dict(zip(searches, (item.min_factor for item in same), strict=True)),
            "was_run": dict(zip(searches, (item.was_run for item in same), strict=True)),
            "lost_checks": dict(zip(searches, (item.lost_trials for item in same), strict=True)),
        }
        for same in zip(*searches.values(), strict=True)
    ]
    work.write_json({"power": rows})
    text = power_table(searches, current_command_line())
    if work.table is not None:
        terminal.write_text(text, work.table)
    elif not work.is_quiet:
        print_parts(Text(text))


def power_searches_by_effort(
    work: "VerificationJob", claims: "Sequence[Claim]", max_check_seconds: float | None
) -> "dict[str, list[PowerSearch]]":
    """Return the completed searches for the smallest errors, by effort."""
    from pfbench.verification.power import SEEDS, complete_searches, list_searches
    from pfbench.verification.session import select_by_effort

    starteds: dict[str, list[PowerSearch]] = {}
    for effort in ("quick", "full") if work.effort == "full" else ("quick",):
        started = list_searches(claims)
        if starteds:
            for search, existing in zip(started, starteds["quick"], strict=True):
                search.skip_larger_errors(existing)
        starteds[effort] = started
        of_this = select_by_effort(claims, effort)
        for search in started:
            takes = search.claim.seconds(effort)
            search.was_run = search.claim in of_this and (
                max_check_seconds is None or takes <= max_check_seconds
            )
        tried = [item for item in started if item.was_run]
        with work.step_progress(f"power, {effort}", None) as steps:
            seeds = range(work.seeds[0], work.seeds[0] + SEEDS)
            complete_searches(tried, [work.make_session(steps, seed, effort) for seed in seeds])
    return starteds
