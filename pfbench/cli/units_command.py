"""Unit dependence of bounds: reported for a user's theorem, and by ``pfbench units``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pfbench.base.escaping import escape_text
from pfbench.cli import terminal
from pfbench.cli.report_command import current_command_line
from pfbench.cli.terminal_tables import make_table, print_parts

if TYPE_CHECKING:
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.schedule_homogeneity import Homogeneity

_WORDS = {True: "homogeneous", False: "not homogeneous", None: "no units"}


def report_unit_dependence(claims: "Sequence[Claim]", work: "VerificationJob") -> None:
    """Print whether bounds and schedules of user-defined theorems have consistent units."""
    own = [claim for claim in claims if claim.user_source]
    if own and not work.is_quiet:
        homogeneities = check_homogeneity(own)
        print_parts(
            Text(
                "\n".join(
                    escape_text(f"units of {homogeneity.name}: {homogeneity.sentence}")
                    for homogeneity in homogeneities
                )
            )
        )


def check_homogeneity(
    claims: "Sequence[Claim]", errata: "Sequence[Erratum]" = ()
) -> "list[Homogeneity]":
    """Return the unit checks of claims, of schedules of their own methods, and of errata."""
    from pfbench.verification.homogeneity import check_claim, check_erratum
    from pfbench.verification.schedule_homogeneity import check_schedule

    homogeneities = [check_claim(claim) for claim in claims]
    own = [claim.algorithm for claim in claims if not isinstance(claim.algorithm, str)]
    homogeneities += filter(None, map(check_schedule, {id(item): item for item in own}.values()))
    return homogeneities + [
        homogeneity for erratum in errata for homogeneity in check_erratum(erratum)
    ]


def show_units(work: "VerificationJob") -> None:
    """Show whether named claims, errata and schedules have consistent units."""
    from pfbench.algorithms.catalogue import ALGORITHMS
    from pfbench.claims.catalogue import ERRATA, load_user_papers, select_claims
    from pfbench.verification.schedule_homogeneity import check_schedule
    from pfbench.verification.verdict_tables import units_table

    computed = [] if work.names else list(ERRATA.values())
    errata = computed + [
        erratum for paper in load_user_papers(work.names) for erratum in paper.errata
    ]
    homogeneities = check_homogeneity(select_claims(work.names, "full"), errata)
    if not work.names:
        homogeneities += filter(None, map(check_schedule, ALGORITHMS.values()))
    work.write_json({"units": [homogeneity.as_json() for homogeneity in homogeneities]})
    if work.table is not None:
        terminal.write_text(units_table(homogeneities, current_command_line()), work.table)
    if not work.is_quiet:
        rows = [
            (
                homogeneity.name,
                homogeneity.kind,
                _WORDS[homogeneity.homogeneous],
                homogeneity.description,
            )
            for homogeneity in homogeneities
        ]
        reasons = dict.fromkeys(
            homogeneity.normalised for homogeneity in homogeneities if homogeneity.normalised
        )
        print_parts(
            make_table(("name", "kind", "units", "reason"), rows),
            *map(Text, map(escape_text, reasons)),
        )
