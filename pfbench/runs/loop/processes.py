"""Start, confinement and end of processes: workers, and isolated methods."""

import ctypes
import errno
import multiprocessing
import os
import re
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType
from typing import Any, NoReturn

from threadpoolctl import threadpool_limits

from pfbench.kernels.libraries import LIBRARIES, import_libraries
from pfbench.kernels.numba_compilation import (
    allow_read_only_cache_folders,
    set_threads,
    warn_if_uncached,
)


def start_process(serve: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Start a process that ends when this one ends; return it and this process's end of a pipe.

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
    with _delay_interrupts(), _hide_main_module():
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

    The process leads its own process group, so that processes that it starts end with it. It
    computes with one thread, so that N workers use N cores; compiled loops use `loop_threads`. If
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

    It is never a plain fork: threads of numba and BLAS do not survive one. The server imports the
    modules of pfbench that this process uses when it starts its first one, so that no child process
    imports them again. It does not import torch, which starts threads.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        server = multiprocessing.get_context("forkserver")
        used = [name for name in sys.modules if re.match(r"pfbench\.(?!torch|__main__)", name)]
        first = ["pfbench.runs.loop.drive", *LIBRARIES, "pfbench.kernels.numba_registries"]
        server.set_forkserver_preload([*first, *used])
        return server
    return multiprocessing.get_context("spawn")


@contextmanager
def _delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, and in new processes until they are ready.

    Otherwise Ctrl-C during the imports of a process would print a traceback.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not (hasattr(signal, "pthread_sigmask") and in_main_thread):
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

    No task needs the main program. Without a `__main__` guard, it would start again in each worker.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _close_fork_server_pipes() -> None:
    """Close the pipes by which this process could end the fork server or the resource tracker."""
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


MEMORY, PROCESSES, FILE = 16 * 2**30, 4096, 2**30
"""Limits of a confined process: bytes of memory, processes of its user, and bytes of a file."""

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PFBENCH_DATA")
"""Environment variables that a confined process keeps, besides those of `_ARITHMETIC`."""

_ARITHMETIC = ("OPENBLAS_", "MKL_", "OMP_", "NUMBA_")
"""Prefixes of environment variables that affect the bits of results: threads and kernels."""

_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x20000000 | 0x00020000 | 0x08000000
"""Flags of new user, network, process, mount and IPC namespaces."""

_PRIVATE, _BIND, _PLAIN = 0x40000 | 0x4000, 0x1000, 0x2 | 0x4 | 0x8
_SET_ATTRIBUTES, _CURRENT, _RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 0x1
_DEATH_SIGNAL, _SUBREAPER, _NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 1, 36, 38, 22, 2
_SET_CAPABILITIES, _CAPABILITIES_VERSION = {"x86_64": 126, "aarch64": 91}, 0x20080522
_SOCKET_CALLS = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
"""For each architecture: its audit number, and the numbers of the calls socket, io_uring_setup."""

_POLL = 0.05
"""Seconds between two checks of a supervisor on its processes."""

_KILL_SECONDS = 5.0
"""Maximum number of seconds to wait for killed processes to end."""

_RIGHTS = (
    *("network access", "sockets of this machine", "writing outside their folder"),
    "processes that end their supervisor",
)
"""Rights of a confined process that some systems cannot deny."""

_separated: list[str] = []
"""Phrases on what this process can and cannot access; `confine` appends them."""


def confinement_sentence() -> str:
    """Return a description of the confinement of this process by `confine`."""
    sizes = f"{MEMORY // 2**30} GiB of memory, {PROCESSES} processes, {FILE // 2**30} GiB a file"
    return f"{'; '.join(_separated)}; none of your environment; at most {sizes}"


def confine(folder: str, parent_sentinel: int) -> None:
    """Enter a folder, and give up all rights that the system lets a process give up.

    The process must have a single thread. Processes that it starts have the same limits. It can
    still read the user's files. On Linux only a child process returns from this function: the
    process itself supervises the child, and ends all processes that the child leaves running.

    Parameters
    ----------
    folder
        Folder with the untrusted code; it becomes the working folder.
    parent_sentinel
        File descriptor that is ready when the parent of the process has ended.
    """
    import resource  # Windows has no such module

    for name in list(os.environ):
        if name not in _KEPT and not name.startswith(_ARITHMETIC):
            del os.environ[name]
    os.environ |= {"HOME": folder, "PFBENCH_STORE": os.path.join(folder, ".store")}
    for limited, maximum in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_NPROC, PROCESSES),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limited)
        lowest = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(limited, (lowest, lowest))
    denied = (False,) * len(_RIGHTS)
    if sys.platform == "linux":
        kernel = ctypes.CDLL(None, use_errno=True)
        has_namespaces = _enter_namespaces(kernel)
        kernel.prctl(_SUBREAPER, 1, 0, 0, 0)
        if child := os.fork():
            _supervise(child, parent_sentinel)
        kernel.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        is_read_only = has_namespaces and _make_all_but_folder_read_only(kernel, folder)
        has_no_socket = _drop_privileges_and_forbid_sockets(kernel)
        denied = has_namespaces or has_no_socket, has_no_socket, is_read_only, has_namespaces
    _separated[:] = [
        f"no {right}" if is_denied else f"{right} (not forbidden here)"
        for right, is_denied in zip(_RIGHTS, denied, strict=True)
    ]
    os.chdir(folder)
    sys.path.insert(0, folder)


def kill_descendants(ancestor: int) -> None:
    """Kill all processes that a process has started, directly or not, in any process group."""
    ends = monotonic() + _KILL_SECONDS
    while (pids := _list_descendants(ancestor)) and monotonic() < ends:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        sleep(_POLL / 50)


def _list_descendants(ancestor: int) -> list[int]:
    """Return the ids of the living descendants of a process; empty on a system without /proc."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, *_ = path.read_text(errors="replace").rpartition(")")[2].split()
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(path.parent.name))
    descendants = list(children.get(ancestor, ()))
    for pid in descendants:  # which grows
        descendants += children.get(pid, ())
    return descendants


def _supervise(child: int, parent_sentinel: int) -> NoReturn:
    """Wait until child or parent ends, kill all descendants, and exit with the child's status."""
    status, ended = 0, 0
    with suppress(BaseException):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        os.closerange(0, parent_sentinel)
        os.closerange(parent_sentinel + 1, 2**16)
        parent = select.poll()
        parent.register(parent_sentinel, select.POLLIN)
        while ended != child and not parent.poll(_POLL * 1000):
            ended, status = os.waitpid(-1, os.WNOHANG)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if ended != child:  # the first of its namespace: it is gone when all others are
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    kill_descendants(os.getpid())
    if os.WIFSIGNALED(status):
        with suppress(OSError):  # of SIGKILL there is no other handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _enter_namespaces(kernel: ctypes.CDLL) -> bool:
    """Enter new Linux namespaces, and return whether this succeeded.

    All processes in the namespaces end with the next child of this process.
    """
    user, group = os.getuid(), os.getgid()
    if kernel.unshare(_NEW_NAMESPACES) != 0:
        return False
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _make_all_but_folder_read_only(kernel: ctypes.CDLL, folder: str) -> bool:
    """Make all file systems but a folder read-only, and hide processes of other namespaces.

    Return whether this succeeded.
    """
    folder_bytes = os.fsencode(folder)
    kernel.mount(None, b"/", None, _PRIVATE, None)
    kernel.mount(folder_bytes, folder_bytes, None, _BIND, None)
    change = (ctypes.c_uint64 * 4)(_READ_ONLY, 0, 0, 0)
    back = (ctypes.c_uint64 * 4)(0, _READ_ONLY, 0, 0)
    for path, flags, attributes in ((b"/", _RECURSIVE, change), (folder_bytes, 0, back)):
        if kernel.syscall(_SET_ATTRIBUTES, _CURRENT, path, flags, attributes, 32) != 0:
            return False
    kernel.mount(b"proc", b"/proc", b"proc", _PLAIN, None)
    return True


def _drop_privileges_and_forbid_sockets(kernel: ctypes.CDLL) -> bool:
    """Drop the rights that could undo the confinement; return whether sockets are forbidden."""
    machine = os.uname().machine
    if machine not in _SOCKET_CALLS:
        return False
    kernel.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    kernel.syscall(_SET_CAPABILITIES[machine], header, none)
    number, *calls = _SOCKET_CALLS[machine]
    # Of BPF: load the machine, and end a process of another; load the call, and refuse these.
    statements = [(0x20, 0, 0, 4), (0x15, 1, 0, number), (0x06, 0, 0, 0x80000000), (0x20, 0, 0, 0)]
    statements += [(0x35, 0, 1, 0x40000000), (0x06, 0, 0, 0x50000 | errno.EACCES)]  # another table
    for call in calls:
        statements += [(0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | errno.EACCES)]
    statements.append((0x06, 0, 0, 0x7FFF0000))
    code = b"".join(struct.pack("HBBI", *statement) for statement in statements)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(statements), ctypes.addressof(buffer))
    return bool(kernel.prctl(_SECCOMP, _FILTER, program, 0, 0) == 0)
