"""The search of one claim in a worker, and the short searches of ``pfbench verify --falsify``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.verification.claim import Claim
    from pfbench.verification.falsify.reports import SearchReport
    from pfbench.verification.verdict import Verdict

_BRIEF_SECONDS = 3.0
"""Processor seconds of the search of a claim in `verify --falsify`."""


def search_briefly(work: "VerificationJob", rows: "Sequence[Verdict]") -> "list[SearchReport]":
    """Search a user's bounds that hold for a few seconds each, at short horizons."""
    from pfbench.runs.engines.workers import Task
    from pfbench.verification.falsify.falsify import falsify as search
    from pfbench.verification.statements.bound import Bound
    from pfbench.verification.statements.error_law import ErrorLaw

    claims = [
        row.claim
        for row in rows
        if row.claim.user_source and not row.lost and isinstance(row.claim.check, Bound | ErrorLaw)
    ]
    brief = (_BRIEF_SECONDS / 60.0, work.seeds[0], 128, 3, None, (), False, None)
    tasks = [Task(search_claim, (search, one, *brief), 120.0) for one in claims]
    found = {r.index: r.value for r in work.engine.do(tasks) if r.status == "done"} if tasks else {}
    return [found[index] for index in sorted(found)]


def search_claim(
    search: Any,
    claim: "Claim",
    minutes: float,
    seed: int,
    horizon: int,
    size: int,
    families: list[str] | None,
    allow: tuple[str, ...],
    largest: bool,
    folder: Path | None,
) -> "SearchReport":
    """Search one claim in a worker."""
    report: SearchReport = search(
        claim,
        minutes=minutes,
        seed=seed,
        horizon=horizon,
        size=size,
        families=families,
        allow=allow,
        largest=largest,
        folder=folder,
    )
    return report
