"""Limits that a process takes upon itself before it runs code that this machine does not trust."""

import ctypes
import errno
import os
import resource
import select
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import NoReturn

MEMORY, PROCESSES, FILE = 16 * 2**30, 4096, 2**30
"""Bytes of memory of a process, processes of the user, and bytes of a file that is written."""

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PFBENCH_DATA")
"""The variables that the process keeps, with those of its arithmetic."""

_ARITHMETIC = ("OPENBLAS_", "MKL_", "OMP_", "NUMBA_")
"""How the names begin of those that choose threads and kernels: bits may depend on them."""

_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x20000000 | 0x00020000 | 0x08000000
"""User, network, process, mount and IPC."""

_PRIVATE, _BIND, _PLAIN = 0x40000 | 0x4000, 0x1000, 0x2 | 0x4 | 0x8
_SET_ATTRIBUTES, _CURRENT, _RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 0x1
_DEATH_SIGNAL, _SUBREAPER, _NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 1, 36, 38, 22, 2
_SET_CAPABILITIES, _CAPABILITIES_VERSION = {"x86_64": 126, "aarch64": 91}, 0x20080522
_SOCKET_CALLS = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
"""By machine: its number, and those of the system calls socket and io_uring_setup."""

_POLL = 0.05
"""Seconds between two looks of a supervisor at its processes."""

_KILL_SECONDS = 5.0
"""Seconds after which killed processes are no longer waited for."""

_separated: list[str] = []
"""What this process was separated from."""


def confinement_sentence() -> str:
    """Describe the confinement of this process since `confine`."""
    sizes = f"{MEMORY // 2**30} GiB of memory, {PROCESSES} processes, {FILE // 2**30} GiB a file"
    return f"{'; '.join(_separated)}; none of your environment; at most {sizes}"


def confine(folder: str, sentinel: int) -> None:
    """Enter a folder, and give up all that the system lets a process give up.

    The process must have no second thread yet. What it starts has the same limits. It can still
    read the files that the user can. On Linux a child returns from this function: the process
    itself supervises it, and ends every process that the child leaves.

    Parameters
    ----------
    folder
        The folder.
    sentinel
        A file descriptor that is ready when the parent of the process has ended.
    """
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
    if sys.platform == "linux":
        kernel = ctypes.CDLL(None, use_errno=True)
        has_namespaces = _enter_namespaces(kernel)
        kernel.prctl(_SUBREAPER, 1, 0, 0, 0)
        if child := os.fork():
            _supervise(child, sentinel)
        kernel.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        is_read_only = has_namespaces and _forbid_writing(kernel, folder)
        has_no_socket = _drop_privileges(kernel)
        _separated[:] = [
            "no network"
            if has_namespaces or has_no_socket
            else "this system leaves it the network",
            "no socket of this machine"
            if has_no_socket
            else "it can reach sockets of this machine",
            "no right to write outside its folder"
            if is_read_only
            else "this system leaves it the right to write files",
            "what it starts ends with it"
            if has_namespaces
            else "what it starts ends with it, unless it ends its supervisor",
        ]
    else:
        _separated[:] = ["this system leaves it the network and the right to write files"]
    os.chdir(folder)
    sys.path.insert(0, folder)


def kill_descendants(ancestor: int) -> None:
    """Kill every process that a process has started, directly or not, in whatever group it is."""
    ends = monotonic() + _KILL_SECONDS
    while (pids := _list_descendants(ancestor)) and monotonic() < ends:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        sleep(_POLL / 50)


def _list_descendants(ancestor: int) -> list[int]:
    """Return the living descendants of a process; none where the system has no /proc."""
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


def _supervise(child: int, sentinel: int) -> NoReturn:
    """Wait for the end of a child or of the parent; end what the child started, then likewise."""
    status, ended = 0, 0
    with suppress(BaseException):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        os.closerange(0, sentinel)
        os.closerange(sentinel + 1, 2**16)
        parent = select.poll()
        parent.register(sentinel, select.POLLIN)
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
    """Enter new namespaces; the next child is the first process there, and all end with it."""
    user, group = os.getuid(), os.getgid()
    if kernel.unshare(_NEW_NAMESPACES) != 0:
        return False
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _forbid_writing(kernel: ctypes.CDLL, folder: str) -> bool:
    """Make all file systems read-only but a folder, and show no process from outside."""
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


def _drop_privileges(kernel: ctypes.CDLL) -> bool:
    """Drop the rights that undo the confinement; return whether sockets are refused."""
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
