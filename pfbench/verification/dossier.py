"""Evidence behind an erratum: the paper's words, and every reading of them that was tried.

A quotation is what the paper prints, letter by letter. What is said in words of ours, here and in
`Erratum.as_printed`, has no quotation marks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError

CONCLUSIONS = {
    "wrong": "a contradiction inside the paper, or a counter-example to what it prints; no reading "
    "that was tried makes it right",
    "unclear": "there is a reading under which it is right, and one under which it is not",
    "ours": "the paper is silent, and this is our choice",
    "doubtful": "it fails as it was read in a copy made by machine, which was not compared with "
    "the print",
}
"""How an erratum is classed."""

MOST_LINES = 5
"""A derivation has so many lines at most."""


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Words of a paper.

    Attributes
    ----------
    text
        What is printed there; " … " stands where something is left out.
    location
        Section, equation, theorem or figure.
    """

    text: str
    location: str


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """The grounds of an erratum.

    Attributes
    ----------
    conclusion
        One of `CONCLUSIONS`.
    quotes
        What is printed, with its place.
    assumption
        What was assumed where the paper is silent; empty if nothing was.
    derivation
        Why it fails and what holds instead, `MOST_LINES` lines at most.
    instance
        The smallest instance on which the printed form fails and the corrected one does not.
    readings
        By name another reading, unit or constant that could make the printed form right. The
        examination tries each, and says by the same name whether it does.

    Raises
    ------
    InputError
        If the ruling is unknown, nothing is quoted of a paper that is called wrong or unclear, or
        the derivation is missing or too long.
    """

    conclusion: str
    quotes: tuple[Quote, ...]
    assumption: str = ""
    derivation: tuple[str, ...]
    instance: str
    readings: Mapping[str, str]

    def __post_init__(self) -> None:
        check_choice("conclusion", self.conclusion, CONCLUSIONS)
        if not self.quotes and self.conclusion in ("wrong", "unclear"):
            raise InputError("a paper that is called wrong or unclear must be quoted.")
        if not 0 < len(self.derivation) <= MOST_LINES:
            raise InputError(f"a derivation has 1 to {MOST_LINES} lines.")

    def agrees(self, readings: Mapping[str, bool]) -> bool:
        """Return whether the ruling is that of the readings as they were tried.

        Each reading must have been tried. *wrong*: none makes the printed form right; *unclear*:
        one does.
        """
        if set(readings) != set(self.readings):
            return False
        return self.conclusion in ("ours", "doubtful") or any(readings.values()) == (
            self.conclusion == "unclear"
        )
