"""How each claim is put to the test: one check a claim, in the file of its paper."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.theory.catalogue import CLAIMS
from pfbench.verification.checks import lacoste2016, li2019, qu2018, shen2019, wang2019
from pfbench.verification.common import Check

_PAPERS = (shen2019, qu2018, li2019, wang2019, lacoste2016)

CHECKS: Mapping[str, Check] = MappingProxyType(
    {name: paper.CHECKS[name] for name in CLAIMS for paper in _PAPERS if name in paper.CHECKS}
)
"""Every check by the name of its claim, in the order of the claims."""


def module_of(name: str) -> str:
    """Return the module that a claim's check is written in."""
    return next(paper.__name__ for paper in _PAPERS if name in paper.CHECKS)
