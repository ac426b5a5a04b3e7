"""Which planted faults are tried each time, and which by ``tox -e long``."""

import pytest


def faults(*tables):
    """Return each fault of tables with the check that must fail; all but the first are long."""
    cases = []
    for table in tables:
        first = {check: name for name, (_, check) in reversed(table.items())}
        for name, (fault, check) in table.items():
            marks = () if first[check] == name else pytest.mark.long
            cases.append(pytest.param(fault, check, marks=marks, id=name))
    return cases


def by_name(table):
    """Return each fault by its name with the check that must fail, of faults by check."""
    return {
        name: (fault, check) for check, faults in table.items() for name, fault in faults.items()
    }
