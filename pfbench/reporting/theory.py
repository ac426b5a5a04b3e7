"""Published theory of the compared methods: rates as slopes, and claims with their evidence.

Reports do not test claims: the caller passes the known verdicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from pfbench.reporting.results import StudyResults
from pfbench.reporting.tables import Table, TableRow
from pfbench.reporting.wording import pluralize


@dataclass(frozen=True)
class RateLine:
    """A rate as a straight line of a log-log figure: a measure falls like C calls^-power.

    Attributes
    ----------
    claim, method
        The claim that states the rate, and the method's name in the catalogue.
    measure, count
        Columns of the trace.
    power
        The exponent. The claim states no constant C: the figure takes it from the runs.
    text
        The rate as the paper states it.
    """

    claim: str
    method: str
    measure: str
    count: str
    power: float
    text: str


@dataclass(frozen=True)
class StatedClaim:
    """A claim about a method.

    Attributes
    ----------
    claim, method, source, statement
        Its name, the method's name in the catalogue, its paper, and its statement.
    verdict, reason
        The verdict of its check, and the evidence; empty if the claim was not checked.
    """

    claim: str
    method: str
    source: str
    statement: str
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True)
class MethodTheory:
    """Published rates and claims of a report's methods."""

    rates: tuple[RateLine, ...] = ()
    claims: tuple[StatedClaim, ...] = ()


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
