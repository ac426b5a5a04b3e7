"""Evidence for an erratum: quotations from the paper, and the readings that were tried.

A quotation repeats the paper letter by letter. Paraphrases, here and in `Erratum.as_printed`, have
no quotation marks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pfbench.base.checks import check_choice
from pfbench.base.errors import InputError

CONCLUSIONS = {
    "wrong": "a contradiction in the paper, or a counterexample to what it prints; no reading "
    "that was tried makes the statement right",
    "unclear": "the statement is right under one reading, and wrong under another",
    "ours": "the paper does not say, and pfbench made a choice",
    "doubtful": "the statement fails as read in a machine-made copy, which was not compared with "
    "the print",
}
"""Possible conclusions about an erratum, with their meaning."""

MOST_LINES = 5
"""Maximum number of lines of a derivation."""


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Literal quotation from a paper, with its location.

    Attributes
    ----------
    text
        Printed text; " … " marks an omission.
    location
        Section, equation, theorem or figure.
    """

    text: str
    location: str


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """Conclusion about an erratum, with quotations, derivation and other readings as evidence.

    Attributes
    ----------
    conclusion
        One of `CONCLUSIONS`.
    quotes
        Quotations of the printed statement.
    assumption
        Assumption where the paper does not say; empty if there is none.
    derivation
        Reason why the printed form fails and what holds instead, at most `MOST_LINES` lines.
    instance
        Smallest instance on which the printed form fails and the corrected form holds.
    readings
        Other readings, units or constants that could make the printed form right, by name. The
        examination tries each, and reports under the same name whether it does.

    Raises
    ------
    InputError
        If the conclusion is unknown, if "wrong" or "unclear" has no quotation, or if the derivation
        is missing or too long.
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
            raise InputError(
                "an erratum with the conclusion wrong or unclear needs a quote of its source."
            )
        if not 0 < len(self.derivation) <= MOST_LINES:
            raise InputError(f"the derivation of an erratum must have 1 to {MOST_LINES} lines.")

    def conclusion_fits(self, readings: Mapping[str, bool]) -> bool:
        """Return whether the conclusion fits the results of trying all readings of the statement.

        All readings must have been tried. The conclusion *wrong* requires that no reading makes the
        printed statement right. The conclusion *unclear* requires that one does.
        """
        if set(readings) != set(self.readings):
            return False
        return self.conclusion in ("ours", "doubtful") or any(readings.values()) == (
            self.conclusion == "unclear"
        )
