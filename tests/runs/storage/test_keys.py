"""What of the machine a key covers."""

import pytest

from pfbench.runs.storage import keys


def pool(path, version):
    return {
        "user_api": "blas",
        "internal_api": "openblas",
        "version": version,
        "architecture": "Haswell",
        "filepath": path,
    }


OURS = pool("/site-packages/numpy.libs/libscipy_openblas64_.so", "0.3.31")


@pytest.mark.parametrize("path", ["/site-packages/scs.libs/libopenblas.so"])
def test_the_blas_of_a_library_that_no_run_uses_changes_no_key(monkeypatch, path):
    monkeypatch.setattr(keys, "threadpool_info", lambda: [OURS])
    alone = keys.environment()
    monkeypatch.setattr(keys, "threadpool_info", lambda: [OURS, pool(path, "0.3.15")])
    assert keys.environment() == alone


def test_a_library_without_metadata_is_absent(monkeypatch):
    monkeypatch.setattr(keys, "_LIBRARIES", ("numpy", "no-such-library-of-anybody"))
    assert keys.environment()["no-such-library-of-anybody"] == "absent"


@pytest.mark.parametrize("path", ["/site-packages/scipy.libs/libopenblas.so", "/usr/lib/blas.so"])
def test_another_blas_of_numpy_or_scipy_is_another_environment(monkeypatch, path):
    monkeypatch.setattr(keys, "threadpool_info", lambda: [OURS])
    alone = keys.environment()
    monkeypatch.setattr(keys, "threadpool_info", lambda: [OURS, pool(path, "0.3.15")])
    assert keys.environment() != alone
