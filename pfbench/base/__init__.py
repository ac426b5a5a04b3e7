"""Types shared by all subpackages: arrays, errors, counts, budgets, constants, states."""

import copyreg
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def read_only(content: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return a read-only view of a mapping."""
    return MappingProxyType(content)


# Frozen objects keep their parameters as read-only mappings, which pickle and copy do not know.
copyreg.pickle(MappingProxyType, lambda mapping: (read_only, (dict(mapping),)))
