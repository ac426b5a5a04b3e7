"""Reading of packed text files in blocks of whole lines."""

import bz2
import gzip
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast

BLOCK = 1 << 23
"""Number of bytes parsed at a time, so that memory stays bounded for the largest sets."""

PACKED = (".bz2", ".gz", ".xz", ".zip")
"""Supported compression formats, by the suffix of the file's name."""


class ContentError(Exception):
    """Reason why a file's content is invalid, as a clause; the caller adds file and remedy."""


class HashObject(Protocol):
    """Part of the interface of a `hashlib` object used here."""

    def update(self, data: bytes, /) -> None:
        """Add more bytes."""


@contextmanager
def open_unpacked(path: Path, form: str, members: Sequence[str]) -> Iterator[IO[bytes]]:
    """Open the unpacked bytes of a file.

    Parameters
    ----------
    path
        The file.
    form
        The file name that determines the compression (``.bz2``, ``.gz``, ``.xz``, ``.zip``; else:
        none); it differs from `path` because a download is checked before it is renamed.
    members
        Names of the wanted file inside a zip, in any folder; the first match is opened, and it may
        itself be packed as ``.gz``, ``.bz2`` or ``.xz``.

    Raises
    ------
    ContentError
        If the file cannot be read, is damaged or truncated, or lacks the member; also when this is
        detected only while the stream is being read.
    """
    suffix = PurePosixPath(form).suffix
    try:
        with ExitStack() as stack:
            stream: IO[bytes]
            if suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(path))
                member = _find_member(archive, members)
                stream = stack.enter_context(archive.open(member))
                suffix = PurePosixPath(member).suffix
            else:
                stream = stack.enter_context(path.open("rb"))
            if suffix == ".bz2":
                stream = cast(IO[bytes], stack.enter_context(bz2.BZ2File(stream)))
            elif suffix == ".xz":
                stream = cast(IO[bytes], stack.enter_context(lzma.LZMAFile(stream)))
            elif suffix == ".gz":
                stream = cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream)))
            yield stream
    except (
        EOFError,
        lzma.LZMAError,
        zlib.error,
        zipfile.BadZipFile,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise ContentError(f"it is damaged or truncated ({error})") from error
    except OSError as error:
        # A packed stream with the wrong first bytes is an OSError without an error number.
        if error.errno is None:
            raise ContentError(f"it is damaged or truncated ({error})") from error
        raise ContentError(f"it cannot be read ({error.strerror})") from error


def _find_member(archive: zipfile.ZipFile, members: Sequence[str]) -> str:
    """Return the full name of the first of `members` in the archive."""
    present = {PurePosixPath(name).name: name for name in archive.namelist()}
    for member in members:
        for packed in ("", ".gz", ".bz2", ".xz"):
            if member + packed in present:
                return present[member + packed]
    raise ContentError(f"the archive holds no {' or '.join(members)}")


def iterate_line_blocks(
    stream: IO[bytes], digest: HashObject | None = None, size: int = BLOCK
) -> Iterator[tuple[int, bytes]]:
    """Split a stream into blocks of whole lines, each ended by a newline.

    Parameters
    ----------
    stream
        Unpacked bytes.
    digest
        Updated with every byte of the stream.
    size
        Approximate number of bytes of a block; a line is never split.

    Yields
    ------
    tuple
        Number of the block's first line (from 1), and its bytes.
    """
    line, rest = 1, b""
    for chunk in _prefetch(stream, size):
        if digest is not None:
            digest.update(chunk)
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            rest += chunk
            if len(rest) > 8 * size:
                raise ContentError(f"line {line} has no end")
            continue
        block, rest = rest + chunk[:cut], chunk[cut:]
        yield line, block
        line += block.count(b"\n")
    if rest:
        yield line, rest + b"\n"


def _prefetch(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Read chunks of a stream, unpacking the next one while the last one is parsed."""
    with ThreadPoolExecutor(1) as thread:
        chunk = stream.read(size)
        while chunk:
            coming = thread.submit(stream.read, size)
            yield chunk
            chunk = coming.result()


def make_content_error(
    first: int, block: bytes, reason: Callable[[bytes], str | None]
) -> ContentError:
    """Return the error of the first line of a block for which `reason` returns a fault.

    Parameters
    ----------
    first
        Number of the block's first line.
    block
        The lines.
    reason
        Returns the fault of a line, or None. It is the slow and exact form of the check that the
        block failed.
    """
    for number, line in enumerate(block.split(b"\n")[:-1], start=first):
        why = reason(line)
        if why is not None:
            return ContentError(f"line {number} ({excerpt(line)}) {why}")
    last = first + block.count(b"\n") - 1
    return ContentError(f"lines {first} to {last} are not in the set's format")


def excerpt(line: bytes) -> str:
    """Return the beginning of a line, for a one-line message."""
    text = line[:40].decode("ascii", "replace").strip()
    displayed = "".join(
        c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return repr(displayed + ("..." if len(line) > 40 else ""))


def is_finite_number(text: bytes) -> bool:
    """Return whether a text is a finite number in the plain notation."""
    try:
        return b"_" not in text and math.isfinite(float(text))
    except ValueError:
        return False
