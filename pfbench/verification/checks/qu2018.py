"""The checks of the claims of qu2018."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.verification.checks.base import Check

CHECKS: Mapping[str, Check] = MappingProxyType({})
"""Every check of this paper by the name of its claim."""
