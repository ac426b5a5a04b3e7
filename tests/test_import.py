"""Importing pfbench is quick and loads nothing heavy."""

import pytest
from processes import run_python

import pfbench

HEAVY = {"numba", "pandas", "pyarrow", "matplotlib", "jinja2", "sklearn", "distributed", "cvxpy"}
"""What only verbs that need it import."""

SCRIPT = """
import sys, time
started = time.process_time()
import {module}
print(time.process_time() - started, *sorted(sys.modules))
"""


def imported(module):
    """Return the seconds of processor time that an import takes, and the modules loaded then."""
    seconds, *modules = run_python("-c", SCRIPT.format(module=module))[0].split()
    return float(seconds), set(modules)


def test_import_takes_under_half_a_second_and_loads_neither_pandas_nor_numba():
    seconds, modules = imported("pfbench")
    assert seconds < 0.5
    assert not (HEAVY | {"numpy", "scipy"}) & modules


@pytest.mark.parametrize(
    "module",
    [
        "pfbench.algorithms.catalogue",
        "pfbench.problems.catalogue",
        "pfbench.sets.catalogue",
        "pfbench.verification.claim",
        "pfbench.verification.trial",
        "pfbench.resisting",
    ],
)
def test_what_a_listing_imports_loads_only_numpy_and_the_shell_of_scipy(module):
    _, modules = imported(module)
    assert not HEAVY & modules
    rooms = {"scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats"}
    assert not rooms & modules


def test_every_public_name_loads():
    for name in pfbench.__all__:
        assert getattr(pfbench, name) is not None
        assert name in dir(pfbench)
    with pytest.raises(AttributeError, match="nothing"):
        pfbench.nothing  # noqa: B018
