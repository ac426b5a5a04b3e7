"""Limits that a process takes upon itself before it runs code that this machine does not trust."""

import ctypes
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

MEMORY, PROCESSES, FILE = 16 * 2**30, 4096, 2**30
"""Bytes of memory of a process, processes of the user, and bytes of a file that is written."""

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PFBENCH_DATA")
"""The variables that the process keeps, with those of its arithmetic."""

_ARITHMETIC = ("OPENBLAS_", "MKL_", "OMP_", "NUMBA_")
"""How the names begin of those that choose threads and kernels: bits may depend on them."""

_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x00020000 | 0x08000000  # user, net, mount, ipc
_PRIVATE, _BIND = 0x40000 | 0x4000, 0x1000
_SET_ATTRIBUTES, _CURRENT, _RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 0x1


_separated: list[str] = []
"""What this process was separated from."""


def confinement_sentence() -> str:
    """Describe the confinement of this process since `confine`."""
    sizes = f"{MEMORY // 2**30} GiB of memory, {PROCESSES} processes, {FILE // 2**30} GiB a file"
    return f"{_separated[-1]}; none of your environment; at most {sizes}"


def confine(folder: str) -> None:
    """Enter a folder, and give up all that the system lets a process give up.

    The process must have no second thread yet. What it starts has the same limits. It can still
    read the files that the user can.
    """
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith(_ARITHMETIC):
            del os.environ[name]
    os.environ |= {"HOME": folder, "PFBENCH_STORE": os.path.join(folder, ".store")}
    _separated.append(_separate(folder))
    for limited, maximum in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_NPROC, PROCESSES),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limited)
        lowest = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(limited, (lowest, lowest))
    os.chdir(folder)
    sys.path.insert(0, folder)


def _separate(folder: str) -> str:
    """Leave the network and the file system but for a folder; return in words what was possible."""
    user, group = os.getuid(), os.getgid()
    kernel = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if kernel is None or kernel.unshare(_NEW_NAMESPACES) != 0:
        return "this system takes away neither the network nor the right to write files"
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    folder_bytes = os.fsencode(folder)
    kernel.mount(None, b"/", None, _PRIVATE, None)
    kernel.mount(folder_bytes, folder_bytes, None, _BIND, None)
    change = (ctypes.c_uint64 * 4)(_READ_ONLY, 0, 0, 0)
    back = (ctypes.c_uint64 * 4)(0, _READ_ONLY, 0, 0)
    for path, flags, attributes in ((b"/", _RECURSIVE, change), (folder_bytes, 0, back)):
        if kernel.syscall(_SET_ATTRIBUTES, _CURRENT, path, flags, attributes, 32) != 0:
            return "no network; this system does not take away the right to write files"
    return "no network, and no right to write outside its folder"
