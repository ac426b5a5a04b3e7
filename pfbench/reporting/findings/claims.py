"""What papers claim of the compared methods, beside their runs: rates to draw, and a table."""

from collections.abc import Sequence
from itertools import product

from pfbench.reporting.results import Results
from pfbench.reporting.tables import Row, Table
from pfbench.reporting.theory import Rate, Stated
from pfbench.reporting.words import counted


def rates_of(results: Results, rates: Sequence[Rate]) -> list[tuple[str, Rate]]:
    """Return the rates that have a place in a study's figure, each with the algorithm's label."""
    shown = {target.measure for target in results.study.targets} | {*results.study.measures}
    return [
        (label, rate)
        for (label, method), rate in product(_methods(results).items(), rates)
        if method == rate.method and rate.measure in shown
    ]


def claims_table(results: Results, claims: Sequence[Stated]) -> Table | None:
    """Return the claims about the methods of a study that have evidence; None if none has."""
    about = [
        (label, one)
        for (label, method), one in product(_methods(results).items(), claims)
        if method == one.method
    ]
    rows = [
        Row(label, one.claim, [one.verdict, one.source, one.statement, one.reason])
        for label, one in about
        if one.verdict
    ]
    if not rows:
        return None
    others = len(about) - len(rows)
    note = "What `pfbench verify` found with the present source, on problems where the claim binds."
    if others:
        note += f" {counted(others, 'claim')} about these methods without a stored verdict."
    return Table(
        f"{results.study.title}: claims about these methods",
        note,
        ("algorithm", "claim", "verdict", "source", "statement", "evidence"),
        rows,
    )


def _methods(results: Results) -> dict[str, str]:
    """Return the names of the methods in the catalogue by their labels."""
    return {group.label: group.algorithm for group in results}
