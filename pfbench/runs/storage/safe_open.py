"""The one door to the files of a store, which is not trusted: regular files, of a limited size."""

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
        If something else is in its place; a link is not followed.
    OSError
        If there is nothing, or the system does not let it be read.
    """
    return os.fdopen(_open_regular(path, os.O_RDONLY), "rb")


def read_file(path: Path | str, limit: int) -> bytes:
    """Return the bytes of a regular file of at most so many bytes.

    Raises
    ------
    DamagedFileError
        If it has more, or something else is in its place.
    OSError
        If there is nothing, or the system does not let it be read.
    """
    with open_file(path) as file:
        check_size(file, limit)
        data = file.read(limit + 1)
    if len(data) > limit:  # it grew
        raise _too_large_error(len(data), limit)
    return data


def check_size(file: BinaryIO, limit: int) -> int:
    """Return the size of an open file, if it has at most so many bytes.

    Raises
    ------
    DamagedFileError
        If it has more.
    """
    size = os.fstat(file.fileno()).st_size
    if size > limit:
        raise _too_large_error(size, limit)
    return size


def append_line(path: Path, line: str) -> None:
    """Append a line in one piece to a regular file that has no other name; make it if need be.

    Raises
    ------
    DamagedFileError
        If something else is in its place, or it has another name as well: somebody's own file
        could be meant.
    OSError
        If it cannot be written.
    """
    number = _open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        if os.fstat(number).st_nlink > 1:
            raise DamagedFileError("not a file", "it has several names")
        os.write(number, line.encode())
    finally:
        os.close(number)


def check_folders(path: Path, store: Path) -> None:
    """Refuse a file whose folder, below that of the store, is a link: it leads elsewhere.

    Raises
    ------
    DamagedFileError
        If one is.
    """
    # By texts: it is asked for each file of a store.
    last, folder = os.fspath(store), os.path.dirname(path)
    while len(folder) > len(last):
        if os.path.islink(folder):
            raise DamagedFileError("not a file", f"{folder} is a link, which is not followed")
        folder = os.path.dirname(folder)


def is_folder(path: Path | str) -> bool:
    """Return whether something is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def is_file(path: Path | str) -> bool:
    """Return whether something is a regular file, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _open_regular(path: Path | str, flags: int) -> int:
    """Return the descriptor of a regular file."""
    try:
        # Opening a device may do something; a link that comes in between is not followed.
        _check_regular(os.lstat(path).st_mode)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    try:
        number = os.open(path, flags | _FLAGS, 0o666)
    except OSError as error:
        if error.errno in _NO_LINK:
            raise DamagedFileError("not a file", "a link is in its place") from error
        raise
    try:
        _check_regular(os.fstat(number).st_mode)
    except DamagedFileError:
        os.close(number)
        raise
    return number


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise DamagedFileError(
            "not a file", f"{_KINDS.get(stat.S_IFMT(mode), 'something else')} is there"
        )


def _too_large_error(size: int, limit: int) -> DamagedFileError:
    return DamagedFileError("too large", f"{size:,} bytes, where {limit:,} is the most")
