"""The verbs that ask other things of claims than ``pfbench verify``, which has them as options."""

from pathlib import Path

from pfbench.base.errors import InputError
from pfbench.cli import options
from pfbench.cli.mutants import find_faults
from pfbench.cli.options import argument, flag, option
from pfbench.cli.power import measure_power
from pfbench.cli.verify import explain_named, list_worst_cases, named, verify_worst_cases
from pfbench.cli.work import begun

_FULL = flag("All claims, with full effort.", "--full")
_SEED = option("N", "Seed of every random stream.", default=0)
_TABLE = option("FILE.md", "Write what is found as Markdown.")
_JSON = option("FILE", "Write all as JSON; - to print.", "--json")


def faults(
    claims: list[str] | None = argument("CLAIM"),
    full: bool = _FULL,
    planted: bool = flag("The planted faults alone.", "--planted"),
    most: int | None = option("N", "Generated faults of each method at most (12; --full: all)."),
    late: int | None = option("N", "Late generated faults of each method at most, too."),
    algorithm: str | None = option("FILE.py:NAME", "Faults generated from your own algorithm."),
    seed: int = _SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Show which claim catches which fault.

    Faults are planted by hand, or generated from the method's source; as `verify --mutants`.
    """
    from pfbench.base.checks import integer
    from pfbench.runs.planning.plugged import spelled_out

    if planted and (most is not None or late is not None or algorithm is not None):
        raise InputError("--planted goes with no generated faults: leave the other option out.")
    if most is not None:
        integer("--most", most, least=1)
    if late is not None:
        integer("--late", late, least=0)
    algorithm = algorithm and spelled_out("algorithm", algorithm)
    names, seeds = named(claims, as_json), range(seed, seed + 1)
    with begun(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        find_faults(work, algorithm, 0 if planted else most, late or 0)


def power(
    claims: list[str] | None = argument("CLAIM"),
    full: bool = _FULL,
    longest: float | None = option("SECONDS", "Leave out checks that take longer."),
    seed: int = _SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Find the smallest planted error that each check finds.

    As `verify --power`.
    """
    from pfbench.base.checks import real

    if longest is not None:
        real("--longest", longest, above=0)
    names, seeds = named(claims, as_json), range(seed, seed + 1)
    with begun(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        measure_power(work, longest)


def worst_case(
    claims: list[str] | None = argument("CASE"),
    within: str | None = option(
        "TEXT", "Of a FILE.py:NAME: other functions, as in n=4,L=2,delta=1,convex=true."
    ),
    listing: bool = flag("List the cases and the time.", "--list"),
    seed: int = _SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = _TABLE,
    as_json: Path | None = _JSON,
) -> None:
    """Compute worst cases of a few steps.

    Methods and bounds are held to them; as `verify --worst-case`.
    """
    if listing:
        list_worst_cases(claims or [], "quick")
        return
    names, seeds = named(claims, as_json), range(seed, seed + 1)
    with begun(names, False, seeds, store, jobs, scheduler, table, as_json) as work:
        verify_worst_cases(work, within or "")


def explain(name: str = argument("NAME", "A claim or an erratum.", default=...)) -> None:
    """Say all of a claim or an erratum.

    As `verify --explain`.
    """
    explain_named(name)
