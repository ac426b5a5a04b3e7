"""Commands about claims: ``pfbench explain``, ``power``, ``units`` and ``worst-case``."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.selectors import is_user_defined
from pfbench.cli import options, terminal
from pfbench.cli.catalogue import CatalogueItem
from pfbench.cli.info import describe_claim, describe_erratum
from pfbench.cli.options import argument, flag, option
from pfbench.cli.terminal import make_table
from pfbench.cli.verification_job import VerificationJob, announce_claims, open_job
from pfbench.cli.verify import (
    check_all_homogeneity,
    report_results_and_exit_if_unexpected,
    show_claims,
)

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim
    from pfbench.verification.power import PowerSearch
    from pfbench.verification.worst_case.requests import WorstCaseCheck


def explain(
    name: str = argument("NAME", "A claim or an erratum.", default=...),
    as_json: bool = options.AS_JSON,
) -> None:
    """Explain a claim or an erratum."""
    from pfbench.claims.catalogue import ERRATA, claim

    (name,) = announce_claims([name], as_json)
    if name in ERRATA:
        terminal.show_record(describe_erratum(ERRATA[name]), as_json=as_json)
        return
    explained = claim(name)
    item = CatalogueItem(name, "claim", explained.source, explained.statement)
    terminal.show_record(item.record | describe_claim(explained), as_json=as_json)


# --- power ----------------------------------------------------------------------------------------


def power(
    claims: list[str] | None = argument("CLAIM"),
    full: bool = options.FULL,
    max_check_seconds: float | None = option(
        "SECONDS", "Skip checks that take longer than this.", above=0.0
    ),
    seed: int = options.SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = options.TABLE,
    as_json: bool = options.AS_JSON,
) -> None:
    """Find the smallest error that each check detects."""
    from pfbench.claims.catalogue import select_claims
    from pfbench.verification.verdict_tables import power_table

    limit = math.inf if max_check_seconds is None else max_check_seconds
    output: dict[str, Any] = {"store": store, "jobs": jobs, "scheduler": scheduler}
    with open_job(claims, as_json, table, full=full, seed=seed, **output) as work:
        efforts = _run_power_searches_by_effort(work, select_claims(work.names, work.effort), limit)
        rows = [
            {
                "claim": same[0].claim.name,
                "method": same[0].claim.method,
                "parameter": same[0].parameter,
                "least_factor": dict(zip(efforts, (item.min_factor for item in same), strict=True)),
                "was_run": dict(zip(efforts, (item.was_run for item in same), strict=True)),
                "lost_checks": dict(zip(efforts, (item.lost_trials for item in same), strict=True)),
            }
            for same in zip(*efforts.values(), strict=True)
        ]
        work.write({"power": rows}, lambda command: power_table(efforts, command))
        if table is None:
            work.print(power_table(efforts, terminal.current_command_line()))


def _run_power_searches_by_effort(
    work: VerificationJob, claims: "Sequence[Claim]", limit: float
) -> "dict[str, list[PowerSearch]]":
    """Search for the smallest error that each claim detects; return the searches by effort.

    With full effort, the searches with quick effort are included, too. Checks that take longer
    than `limit` seconds are skipped.
    """
    from pfbench.verification.power import SEEDS, complete_searches, list_searches
    from pfbench.verification.session import select_by_effort

    efforts: dict[str, list[PowerSearch]] = {}
    for effort in ("quick", "full") if work.effort == "full" else ("quick",):
        searches = list_searches(claims)
        for search, quick in zip(searches, efforts.get("quick", ()), strict=False):
            search.skip_larger_errors(quick)
        efforts[effort] = searches
        selected = select_by_effort(claims, effort)
        for search in searches:
            claim = search.claim
            search.was_run = claim in selected and claim.seconds(effort) <= limit
        with work.progress_of_checks(f"power, {effort}", None) as steps:
            seeds = range(work.seeds[0], work.seeds[0] + SEEDS)
            sessions = [work.make_session(steps, seed, effort) for seed in seeds]
            complete_searches([search for search in searches if search.was_run], sessions)
    return efforts


# --- units ----------------------------------------------------------------------------------------


def units(
    claims: list[str] | None = argument("CLAIM"),
    table: Path | None = options.TABLE,
    as_json: bool = options.AS_JSON,
) -> None:
    """Check that bounds and schedules have consistent units."""
    from pfbench.algorithms.catalogue import ALGORITHMS
    from pfbench.claims.catalogue import ERRATA, load_user_papers, select_claims
    from pfbench.verification.homogeneity import check_schedule
    from pfbench.verification.verdict_tables import units_table

    with open_job(claims, as_json, table) as work:
        errata = [] if work.names else list(ERRATA.values())
        errata += [error for paper in load_user_papers(work.names) for error in paper.errata]
        checked = check_all_homogeneity(select_claims(work.names, "full"), errata)
        if not work.names:
            checked += filter(None, map(check_schedule, ALGORITHMS.values()))
        content = {"units": [homogeneity.as_json() for homogeneity in checked]}
        work.write(content, lambda command: units_table(checked, command))
        work.print(units_table(checked, terminal.current_command_line()))


# --- worst cases ----------------------------------------------------------------------------------


def compute_worst_cases(
    claims: list[str] | None = argument("CASE"),
    function_class: str | None = option(
        "TEXT", "With FILE.py:NAME: function class, as in n=4,L=2,delta=1,convex=true."
    ),
    listing: bool = flag("List the cases and the expected time.", "--list"),
    seed: int = options.SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = options.TABLE,
    as_json: bool = options.AS_JSON,
) -> None:
    """Compute the worst cases of methods over a class of functions.

    The methods make a few steps; bounds are compared with the worst cases.
    """
    from pfbench.verification.worst_case.cases import select_cases
    from pfbench.verification.worst_case.estimation import check_installed

    if listing:
        show_claims(select_cases(claims or []), "quick", as_json=as_json)
        return
    output: dict[str, Any] = {"store": store, "jobs": jobs, "scheduler": scheduler}
    with open_job(claims, as_json, table, seed=seed, **output) as work:
        if function_class or any(map(is_user_defined, work.names)):
            if len(work.names) != 1 or not is_user_defined(work.names[0]):
                raise InputError("name either a single FILE.py:NAME, or only built-in worst cases.")
            check_installed()
            _show_user_worst_cases(work, work.names[0], function_class or "")
            return
        cases = select_cases(work.names)
        check_installed()
        with work.progress_of_checks("worst cases", len(cases)) as steps:
            done = work.make_session(steps).verify(cases)
        report_results_and_exit_if_unexpected(done, [], work)


def _show_user_worst_cases(work: VerificationJob, reference: str, function_class: str) -> None:
    """Compute and print worst cases of a user-defined method.

    The command ends with exit status 1 if a worst case exceeds the method's bound.
    """
    from pfbench.verification.worst_case.requests import iterate_user_worst_cases

    checks = list(iterate_user_worst_cases(reference, function_class))
    work.write({"name": reference, "worst_cases": [check.as_json() for check in checks]})
    work.print(*_render_worst_cases(checks, reference))
    terminal.exit_if(any(check.is_violated for check in checks))


def _render_worst_cases(checks: "list[WorstCaseCheck]", reference: str) -> Iterator[RenderableType]:
    worst = checks[0].worst_case
    claimed = () if checks[0].bound is None else ("bound", "share")
    rows = []
    for check in checks:
        steps, value, bound = check.worst_case.steps, check.worst_case.value, check.bound
        limits = () if bound is None else (f"{bound:.6g}", f"{value / bound:.4f}")
        rows.append((str(steps), f"{value:.6g}", *limits, f"{check.run_value:.6g}"))
    limits = checks[0].as_json()["function_class"].items()
    among = ", ".join(f"{name}={value}" for name, value in limits if value is not None)
    yield f"{reference}: {worst.statistic} {worst.measure}, the largest over functions with {among}"
    yield make_table(("steps", "worst case", *claimed, "a run on it"), rows)
    if any(check.is_violated for check in checks):
        yield Text("the worst case exceeds the bound: the claim is violated", "bold red")
