"""Which planted faults are tried each time, and which by ``tox -e long``."""

from collections import Counter

import pytest

_QUICK = 2
"""Faults of each check that are tried each time."""


def faults(table):
    """Return the names of faults as parameters; of each check all but a few are long."""
    seen, found = Counter(), []
    for name, (_, check) in table.items():
        seen[check] += 1
        marks = pytest.mark.long if seen[check] > _QUICK else ()
        found.append(pytest.param(name, marks=marks))
    return found
