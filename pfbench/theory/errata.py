"""Errata of the five papers: statements that are wrong as printed, with what holds instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A statement that is wrong, damaged or ambiguous as printed.

    Attributes
    ----------
    name
        Paper and place.
    claim
        The claim it concerns; empty if none.
    as_printed, corrected
        The two statements, a line each.
    """

    name: str
    claim: str = ""
    as_printed: str
    corrected: str


_ERRATA = (
    Erratum(
        name="shen2019-(10)",
        claim="shen2019-thm3.1-spiderg",
        as_printed="E V(x_t0) <= 5 eps",
        corrected="E V(x_t0) <= 5 eps D; the proof gives 2.5 eps D, its sharp form 2 eps D",
    ),
)

ERRATA: Mapping[str, Erratum] = MappingProxyType({erratum.name: erratum for erratum in _ERRATA})
"""Every erratum by its name."""
