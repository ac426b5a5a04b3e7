"""Rates that papers claim for the compared methods: lines of a figure, and a table."""

from collections.abc import Sequence
from itertools import product

from pfbench.reporting.results import StudyResults
from pfbench.reporting.tables import Table, TableRow
from pfbench.reporting.theory import RateLine, StatedClaim
from pfbench.reporting.wording import pluralize


def figure_rates(results: StudyResults, rates: Sequence[RateLine]) -> list[tuple[str, RateLine]]:
    """Return the rates that a study's figure can show, each with the algorithm's label."""
    measures = {target.measure for target in results.study.targets} | {*results.study.measures}
    return [
        (label, rate)
        for (label, method), rate in product(_catalogue_names_by_label(results).items(), rates)
        if method == rate.method and rate.measure in measures
    ]


def claims_table(results: StudyResults, claims: Sequence[StatedClaim]) -> Table | None:
    """Return a table of the claims with evidence about a study's methods, or None."""
    subject = [
        (label, claim)
        for (label, method), claim in product(_catalogue_names_by_label(results).items(), claims)
        if method == claim.method
    ]
    rows = [
        TableRow(label, claim.claim, [claim.verdict, claim.source, claim.statement, claim.reason])
        for label, claim in subject
        if claim.verdict
    ]
    if not rows:
        return None
    rest = len(subject) - len(rows)
    note = "Verdicts of `pfbench verify` with the present source, on problems made for each claim."
    if rest:
        note += f" Without a stored verdict: {pluralize(rest, 'claim')} about these methods."
    return Table(
        f"{results.study.title}: claims about these methods",
        note,
        ("algorithm", "claim", "verdict", "source", "statement", "evidence"),
        rows,
    )


def _catalogue_names_by_label(results: StudyResults) -> dict[str, str]:
    """Return the names of the methods in the catalogue by their labels."""
    return {group.label: group.algorithm for group in results}
