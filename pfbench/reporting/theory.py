"""What papers say of the compared methods: rates as slopes, and claims with their evidence.

The claims themselves, and how they are put to the test, are no matter of reports: whoever draws one
hands in what is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from pfbench.reporting.results import Results
from pfbench.reporting.tables import Row, Table
from pfbench.reporting.words import counted


@dataclass(frozen=True)
class Rate:
    """A rate as a straight line of a figure: a measure falls like C calls^-power.

    Attributes
    ----------
    claim, method
        The claim that says so, and the method's name in the catalogue.
    measure, count
        Columns of the trace.
    power
        The exponent. The constant is none of the claim's: it is that of the runs.
    text
        The rate as it is stated.
    """

    claim: str
    method: str
    measure: str
    count: str
    power: float
    text: str


@dataclass(frozen=True)
class Stated:
    """A claim about a method.

    Attributes
    ----------
    claim, method, source, statement
        Its name, the method's name in the catalogue, its paper, and what it says.
    verdict, reason
        What became of it where it was put to the test, and the evidence; empty if it was not.
    """

    claim: str
    method: str
    source: str
    statement: str
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Theory:
    """What is known of the methods of a report."""

    rates: tuple[Rate, ...] = ()
    claims: tuple[Stated, ...] = ()


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
