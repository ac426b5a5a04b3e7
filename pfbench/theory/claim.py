"""What a claim is: a statement of a paper, as data."""

from dataclasses import dataclass

KINDS = {
    "count": "exact counts by a formula",
    "bound": "an inequality with explicit constants, for every run or in expectation",
    "law": "the error of an estimator: its mean, its mean square, and the exponents of that",
    "rate": "exponents of epsilon, n or the condition number in calls to a target",
    "separation": "one method needs fewer calls than another beyond a stated crossover",
    "identity": "two things coincide",
    "certificate": "a lower bound, proved by a resisting oracle's transcript",
}
"""Every kind of claim, with what it says."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    name
        Its key in the catalogue.
    source
        Paper and number.
    kind
        One of `KINDS`.
    statement
        What it says, in one line, with the constants that were tested.
    algorithm
        The catalogue's name of the method it is about; empty if it is about none.
    assumptions
        What it assumes of the problem.
    family
        The problems on which it is tested, and why it binds there.
    schedule
        The parameters with which the method runs.
    disputed
        Why its proof is broken; empty if it is not. A disputed claim is measured, never verified.
    """

    name: str
    source: str
    kind: str
    statement: str
    algorithm: str = ""
    assumptions: tuple[str, ...] = ()
    family: str
    schedule: str
    disputed: str = ""

    @property
    def paper(self) -> str:
        """The key of the paper, e.g. "shen2019"."""
        return self.name.split("-")[0]
