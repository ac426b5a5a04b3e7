"""How each claim is put to the test: one check a claim, in the file of its paper."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.verification.checks import lacoste2016, li2019, qu2018, shen2019, wang2019
from pfbench.verification.checks.base import Check

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        **shen2019.CHECKS,
        **qu2018.CHECKS,
        **li2019.CHECKS,
        **wang2019.CHECKS,
        **lacoste2016.CHECKS,
    }
)
"""Every check by the name of its claim."""
