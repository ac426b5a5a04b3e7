"""Importing pfbench is quick and loads nothing heavy."""

import subprocess
import sys

import pytest

import pfbench

SCRIPT = """
import sys, time
started = time.perf_counter()
import pfbench
print(time.perf_counter() - started, *sorted({name.split(".")[0] for name in sys.modules}))
"""


def fresh_process():
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    seconds, *modules = result.stdout.split()
    return float(seconds), modules


def test_import_takes_under_half_a_second_and_loads_neither_pandas_nor_numba():
    seconds, modules = fresh_process()
    assert seconds < 0.5
    assert not {"pandas", "numba", "scipy", "pyarrow", "matplotlib", "sklearn"} & set(modules)


def test_every_public_name_loads():
    for name in pfbench.__all__:
        assert getattr(pfbench, name) is not None
        assert name in dir(pfbench)
    with pytest.raises(AttributeError, match="nothing"):
        pfbench.nothing  # noqa: B018
