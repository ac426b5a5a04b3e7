"""Published theory of the compared methods: rates as slopes, and claims with their evidence.

The claims themselves, and how they are put to the test, are no matter of reports: whoever draws one
hands in what is known.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RateLine:
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
class StatedClaim:
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
class MethodTheory:
    """Published rates and claims of a report's methods."""

    rates: tuple[RateLine, ...] = ()
    claims: tuple[StatedClaim, ...] = ()
