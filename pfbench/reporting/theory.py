"""Published theory of the compared methods: rates as slopes, and claims with their evidence.

Reports do not test claims: the caller passes the known verdicts.
"""

from dataclasses import dataclass


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
