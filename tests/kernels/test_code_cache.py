"""Compiled loops where the cache on disk cannot be written, is full, or is damaged."""

import errno
import os

import pytest

from pfbench.kernels import numba_compilation
from pfbench.kernels.numba_compilation import check_index, compile_serial, warn_if_uncached

caching = pytest.importorskip("numba.core.caching")


@pytest.fixture(autouse=True)
def unsaid(monkeypatch):
    monkeypatch.delenv(numba_compilation._IS_SAID, raising=False)
    yield
    os.environ.pop(numba_compilation._IS_SAID, None)


@pytest.fixture
def loop():
    @compile_serial
    def tripled(x):
        return 3.0 * x

    return tripled


def raises(error):
    def method(*_):
        raise error

    return method


def test_a_loop_is_compiled_where_no_folder_can_be_written(loop, monkeypatch, capfd):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    assert loop(2.0) == 6.0
    check_index.dispatcher.cache_clear()
    monkeypatch.setattr(os, "access", lambda *_: False)
    warn_if_uncached()  # before processes are started
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "no cache folder can be written: set NUMBA_CACHE_DIR" in error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_a_loop_is_compiled_where_the_folder_cannot_take_it(loop, monkeypatch, capfd, number):
    error = OSError(number, os.strerror(number))
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", raises(error))
    assert loop(2.0) == 6.0
    assert loop(2) == 6.0
    printed = capfd.readouterr().err
    assert printed.count("\n") == 1
    assert os.strerror(number) in printed


@pytest.mark.parametrize("kept", [0, 1, 40])
def test_a_damaged_cache_is_replaced(tmp_path, monkeypatch, capfd, kept):
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def fresh():
        @compile_serial
        def fourfold(x):
            return 4.0 * x

        return fourfold

    assert fresh()(2.0) == 8.0
    files = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:kept])
    assert fresh()(2.0) == 8.0
    assert {file.stat().st_size > 40 for file in files} == {True}
    assert capfd.readouterr().err == ""
