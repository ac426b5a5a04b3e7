"""The files of a store, and the sentences for what its disk does not let be done."""

import errno
import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pfbench.base.errors import StorageError
from pfbench.runs.storage import safe_open
from pfbench.runs.storage.entry_kinds import KEY, KINDS

LEFTOVER_AGE = 3600.0
"""Seconds without a change after which a temporary file is one that a killed process left."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LOG = logging.getLogger(__name__)


def iterate_files(
    store: Path, kinds: Iterable[str]
) -> Iterator[tuple[str, str, str, os.stat_result]]:
    """Yield kind, key, path, size and time of every file of an entry, by kind and key."""
    for kind in kinds:
        location = KINDS[kind].file
        folder, suffix = store / location.partition("/")[0], Path(location).suffix
        for shard in _folders(folder):
            for file in _scan_folder(shard):
                key = file.name.removesuffix(suffix)
                if KEY.fullmatch(key) and key != file.name:
                    with suppress(FileNotFoundError):
                        yield kind, key, file.path, file.stat(follow_symlinks=False)


def is_young(path: Path) -> bool:
    """Return whether a temporary file or folder may be one that is being written."""
    try:
        return time.time() - path.lstat().st_mtime < LEFTOVER_AGE
    except FileNotFoundError:
        return False


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the shards in a folder of the store; links lead elsewhere, and are left out."""
    shards = [Path(file) for file in _scan_folder(folder) if len(file.name) == 2]
    for path in [folder, *shards]:
        if path.is_symlink():
            _LOG.warning("%s is a link: what it leads to is left out.", path)
    if not folder.is_symlink():
        yield from filter(safe_open.is_folder, shards)


def _scan_folder(folder: Path) -> "list[os.DirEntry[str]]":
    """Return what is in a folder, sorted; nothing if it is none."""
    try:
        with os.scandir(folder) as scandir:
            return sorted(scandir, key=lambda file: file.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unreadable_error(folder, error) from error


def unreadable_error(path: Path | str, error: OSError) -> StorageError:
    """Return the sentence for what could not be read."""
    return StorageError(
        f"{path} cannot be read ({error.strerror}): mend its permissions, or the disk."
    )


@contextmanager
def translate_os_errors(store: Path, subject: str) -> Iterator[None]:
    """Say in one sentence that the system does not let something be stored inside.

    Raises
    ------
    StorageError
        In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            remedy = "free some space, and the same command goes on"
        elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            remedy = "it is read-only: mend its permissions"
        else:
            remedy = "mend its disk"
        raise StorageError(
            f"{subject} could not be stored in {store} ({error.strerror}): {remedy}, or choose "
            "another store with --store; what is stored already is safe."
        ) from error
