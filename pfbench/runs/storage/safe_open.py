"""Safe opening of untrusted files: only regular files of a limited size."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from pfbench.runs.storage.damage import DamagedFileError

_NO_LINK = frozenset({errno.ELOOP, errno.EMLINK})
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_file(path: Path | str) -> BinaryIO:
    """Open a regular file for reading; nothing else is opened, so that nothing can hang.

    Raises
    ------
    DamagedFileError
        If the path is a link, a folder, a pipe or a device.
    OSError
        If there is no file, or the system does not let it be read.
    """
    # Opening a device may do something; a link that comes in between is not followed.
    _check_regular(os.lstat(path).st_mode)
    try:
        number = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError as error:
        if error.errno in _NO_LINK:
            raise DamagedFileError("not a file", "a link is in its place") from error
        raise
    try:
        _check_regular(os.fstat(number).st_mode)
    except DamagedFileError:
        os.close(number)
        raise
    return os.fdopen(number, "rb")


def check_size(file: BinaryIO, limit: int) -> int:
    """Return the size of an open file; raise if it exceeds a limit.

    Raises
    ------
    DamagedFileError
        If the file is larger.
    """
    size = os.fstat(file.fileno()).st_size
    if size > limit:
        raise DamagedFileError("too large", f"{size:,} bytes, at most {limit:,} are allowed")
    return size


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise DamagedFileError(
            "not a file", f"{_KINDS.get(stat.S_IFMT(mode), 'something else')} is in its place"
        )
