"""What the tests of adapters share: a BLAS as in a run."""

import pytest

from pfbench.kernels.libraries import single_blas_thread


@pytest.fixture(autouse=True)
def as_in_a_run():
    """The sums of a BLAS with several threads have other bits."""
    with single_blas_thread():
        yield


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")
