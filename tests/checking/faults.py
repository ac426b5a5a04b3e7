"""Which planted faults are tried each time, and which by ``tox -e long``."""

import pytest


def faults(table):
    """Return the names of faults as parameters; of each check all but the first are long."""
    first = {check: name for name, (_, check) in reversed(table.items())}
    return [
        pytest.param(name, marks=() if first[check] == name else pytest.mark.long)
        for name, (_, check) in table.items()
    ]


def by_name(table):
    """Return each fault by its name with the check that must fail, of faults by check."""
    return {
        name: (fault, check) for check, faults in table.items() for name, fault in faults.items()
    }
