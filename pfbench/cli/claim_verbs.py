"""Commands on claims besides ``pfbench verify``."""

from pathlib import Path

from pfbench.base.errors import InputError
from pfbench.cli import options
from pfbench.cli.mutants import show_fault_detection
from pfbench.cli.options import argument, flag, option
from pfbench.cli.power_command import measure_power
from pfbench.cli.units_command import show_units
from pfbench.cli.verification_job import open_job
from pfbench.cli.verify import (
    expand_claim_names_and_announce,
    explain_named,
    list_worst_cases,
    verify_worst_cases,
)

_FULL = flag("All claims, with full effort.", "--full")
_SEED = option("N", "Seed of every random stream.", default=0)
_TABLE = option("FILE.md", "Write the report as Markdown.")
_JSON = option("FILE", "Write all as JSON; - to print.", "--json")


def faults(
    claims: list[str] | None = argument("CLAIM"),
    full: bool = _FULL,
    planted_only: bool = flag("Use only the planted faults.", "--planted-only"),
    max_faults: int | None = option(
        "N", "Maximum number of generated faults per method (12; with --full, all)."
    ),
    late_faults: int | None = option(
        "N", "Maximum number of late generated faults per method (0)."
    ),
    algorithm: str | None = option("FILE.py:NAME", "Generate faults from your own algorithm."),
    seed: int = _SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Report which faults each claim catches.

    Faults are planted by hand, or generated from the method's source.
    """
    from pfbench.base.checks import check_integer
    from pfbench.runs.planning.plugin_names import expand_plugin_name

    if planted_only and (
        max_faults is not None or late_faults is not None or algorithm is not None
    ):
        raise InputError("--planted-only excludes options for generated faults: remove them.")
    if max_faults is not None:
        check_integer("--max-faults", max_faults, minimum=1)
    if late_faults is not None:
        check_integer("--late-faults", late_faults, minimum=0)
    algorithm = algorithm and expand_plugin_name("algorithm", algorithm)
    names, seeds = expand_claim_names_and_announce(claims, as_json), range(seed, seed + 1)
    with open_job(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        show_fault_detection(work, algorithm, 0 if planted_only else max_faults, late_faults or 0)


def power(
    claims: list[str] | None = argument("CLAIM"),
    full: bool = _FULL,
    max_check_seconds: float | None = option("SECONDS", "Skip checks that take longer than this."),
    seed: int = _SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Find the smallest error each check detects."""
    from pfbench.base.checks import check_real

    if max_check_seconds is not None:
        check_real("--max-check-seconds", max_check_seconds, above=0)
    names, seeds = expand_claim_names_and_announce(claims, as_json), range(seed, seed + 1)
    with open_job(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        measure_power(work, max_check_seconds)


def units(
    claims: list[str] | None = argument("CLAIM"),
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Check which bounds and schedules keep their units."""
    names = expand_claim_names_and_announce(claims, as_json)
    with open_job(
        names, False, range(1), options.default_store_folder(), 0, None, table, as_json
    ) as work:
        show_units(work)


def compute_worst_cases(
    claims: list[str] | None = argument("CASE"),
    function_class: str | None = option(
        "TEXT", "With FILE.py:NAME: other functions, as in n=4,L=2,delta=1,convex=true."
    ),
    listing: bool = flag("List the cases and the expected time.", "--list"),
    seed: int = _SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Compute worst cases of a few steps.

    Methods and bounds are checked against these worst cases.
    """
    if listing:
        list_worst_cases(claims or [], "quick")
        return
    names, seeds = expand_claim_names_and_announce(claims, as_json), range(seed, seed + 1)
    with open_job(names, False, seeds, store, jobs, scheduler, table, as_json) as work:
        verify_worst_cases(work, function_class or "")


def explain(name: str = argument("NAME", "A claim or an erratum.", default=...)) -> None:
    """Explain a claim or an erratum."""
    explain_named(name)
