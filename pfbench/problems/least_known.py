"""The least known objectives of non-convex problems on real data, with where they come from.

`tests/tools/least_known.py` finds them.
"""

from collections.abc import Mapping
from types import MappingProxyType

LEAST_KNOWN: Mapping[str, tuple[float, str]] = MappingProxyType({})
"""By the hash of the function (`LinearModel.function`)."""
