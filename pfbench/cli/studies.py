"""The verbs that ask other things of claims than ``pfbench verify``, which has them as options."""

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from pfbench.cli import options
from pfbench.cli.options import argument, flag, option
from pfbench.cli.verify import verify

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
    given = {"faults" if name == "most" else name: one for name, one in locals().items()}
    from pfbench.base.checks import integer

    if most is not None:
        integer("--most", most, least=1)
    _verify(given, mutants=True)


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
    _verify(locals(), power=True)


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
    _verify(locals(), worst_case=True)


def explain(name: str = argument("NAME", "A claim or an erratum.", default=...)) -> None:
    """Say all of a claim or an erratum.

    As `verify --explain`.
    """
    _verify({}, explain=name)


def _verify(given: Mapping[str, Any], **job: Any) -> None:
    """Do a job of `verify`; what is not given is as it is where no option is."""
    usual = {name: one.default.default for name, one in signature(verify).parameters.items()}
    verify(**{**usual, **given, **job})
