"""Start and end of processes: workers, and isolated methods."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from pfbench.kernels.code_cache import allow_read_only_cache_folders
from pfbench.kernels.libraries import LIBRARIES, import_libraries
from pfbench.kernels.numba_compilation import set_threads, warn_if_uncached
from pfbench.runs.loop.confinement import confine, kill_descendants


def start_process(serve: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Start a process that ends with this one; return it and this process's end of a pipe.

    Parameters
    ----------
    serve, arguments
        Function of the process, called with its end of the pipe and the arguments; it must first
        call `prepare_child_process`.
    """
    warn_if_uncached()
    how = _multiprocessing_context()
    current, far = how.Pipe()
    process = how.Process(target=serve, args=(far, *arguments), daemon=True)
    with _hold_interrupts(), _hide_main_module():
        process.start()
    far.close()
    return process, current


def kill_process_group(process: BaseProcess) -> None:
    """Kill a process from `start_process`, with its descendants and its whole group."""
    if process.pid:
        kill_descendants(process.pid)
    if hasattr(os, "killpg") and process.pid:
        with suppress(ProcessLookupError, PermissionError):  # it may not have begun, or be gone
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def prepare_child_process(loop_threads: int = 1, confinement_folder: str = "") -> None:
    """Set up this child process: own group, no Ctrl-C, one thread, optional confinement.

    The process leads a group of its own, so that processes that it starts end with it. It computes
    with one thread, so that N workers use N cores; compiled loops use `loop_threads`. If
    `confinement_folder` is not empty, the process is confined to this folder of untrusted code, and
    its output is discarded.
    """
    if hasattr(os, "setsid") and os.getsid(0) != os.getpid():
        os.setsid()
    if confinement_folder:
        parent = multiprocessing.parent_process()
        assert parent is not None  # `start_process` was called there
        confine(confinement_folder, parent.sentinel)
        _close_fork_server_pipes()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
    # The parent decides what an interruption means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import_libraries()
    if confinement_folder:
        allow_read_only_cache_folders()
    # numba makes a lock of the default kind; only a forking one leaves nothing behind when its
    # process is killed.
    usual = multiprocessing.get_start_method()
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)
    set_threads(loop_threads)
    multiprocessing.set_start_method(usual, force=True)
    threadpool_limits(1)


def _multiprocessing_context() -> Any:
    """Return the multiprocessing context: a fork server with preloaded imports, if available.

    It is never a plain fork: threads of numba and BLAS do not survive one.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        server = multiprocessing.get_context("forkserver")
        server.set_forkserver_preload(["pfbench.runs.loop.drive", *LIBRARIES])
        return server
    return multiprocessing.get_context("spawn")


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """Block Ctrl-C in the block, and in processes started in it until they are ready.

    Otherwise Ctrl-C during the imports of a process would print a traceback.
    """
    if (
        not hasattr(signal, "pthread_sigmask")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _hide_main_module() -> Iterator[None]:
    """Prevent processes started in the block from importing the main program.

    No task needs it, and a program without a guard would start again in each worker.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _close_fork_server_pipes() -> None:
    """Close the pipes by which this process could end fork server and resource tracker."""
    for holder, name in (
        (forkserver._forkserver, "_forkserver_alive_fd"),
        (resource_tracker._resource_tracker, "_fd"),
    ):
        number = getattr(holder, name, None)
        if number is not None:
            setattr(holder, name, None)
            with suppress(OSError):
                os.close(number)


def _end_with_parent() -> None:
    """Wait for the end of the parent, then end this process and its group."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    with suppress(OSError, AttributeError):
        os.fstat(parent.sentinel)  # a task that closed it has not ended the parent
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
