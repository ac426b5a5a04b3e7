"""Planted faults: a check is believed because it catches them."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.verification.mutants import lacoste2016, li2019, qu2018, shen2019, wang2019
from pfbench.verification.mutants.base import Mutant

_PAPERS = (shen2019, qu2018, li2019, wang2019, lacoste2016)

MUTANTS: Mapping[str, Mutant] = MappingProxyType(
    {mutant.name: mutant for paper in _PAPERS for mutant in paper.MUTANTS}
)
"""Every mutant by its name."""


def module_of(name: str) -> str:
    """Return the module that a mutant is written in."""
    return next(paper.__name__ for paper in _PAPERS if MUTANTS[name] in paper.MUTANTS)
