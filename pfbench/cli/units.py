"""Which bounds keep their units: said first of a theorem of somebody's own, and by ``--units``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pfbench.base.visible import visible
from pfbench.cli import printing
from pfbench.cli.report import command_line
from pfbench.cli.tables import columns, show

if TYPE_CHECKING:
    from pfbench.cli.work import Work
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.scaled_schedules import Homogeneity

_WORDS = {True: "homogeneous", False: "not homogeneous", None: "no units"}


def say_first(claims: "Sequence[Claim]", work: "Work") -> None:
    """Say of theorems of somebody's own, and of schedules of his, whether they keep their units."""
    own = [one for one in claims if one.home]
    if own and not work.quiet:
        found = of_claims(own)
        show(Text("\n".join(visible(f"units of {one.name}: {one.sentence}") for one in found)))


def of_claims(claims: "Sequence[Claim]", errata: "Sequence[Erratum]" = ()) -> "list[Homogeneity]":
    """Return what is found of claims, of schedules of their own methods, and of errata."""
    from pfbench.verification.homogeneous import of_claim, of_erratum
    from pfbench.verification.scaled_schedules import of_schedule

    found = [of_claim(one) for one in claims]
    own = [one.algorithm for one in claims if not isinstance(one.algorithm, str)]
    found += filter(None, map(of_schedule, {id(one): one for one in own}.values()))
    return found + [one for erratum in errata for one in of_erratum(erratum)]


def show_units(work: "Work") -> None:
    """Show, for all claims that are named, errata and schedules, whether they keep their units."""
    from pfbench.algorithms.catalogue import ALGORITHMS
    from pfbench.claims.catalogue import ERRATA, own_papers, selected
    from pfbench.verification.scaled_schedules import of_schedule
    from pfbench.verification.tables import units_table

    ours = [] if work.names else list(ERRATA.values())
    errata = ours + [one for paper in own_papers(work.names) for one in paper.errata]
    found = of_claims(selected(work.names, "full"), errata)
    if not work.names:
        found += filter(None, map(of_schedule, ALGORITHMS.values()))
    work.write({"schema": 1, "units": [one.as_json() for one in found]})
    if work.table is not None:
        printing.write(units_table(found, command_line()), work.table)
    if not work.quiet:
        rows = [(one.name, one.kind, _WORDS[one.homogeneous], one.found) for one in found]
        reasons = dict.fromkeys(one.normalised for one in found if one.normalised)
        show(columns(("name", "of", "units", "found"), rows), *map(Text, map(visible, reasons)))
