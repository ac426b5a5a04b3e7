"""Download of a file over HTTP, resumed where a connection was cut."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pfbench.base.errors import DataError
from pfbench.problems.data.cache import EXTRA

if TYPE_CHECKING:
    import requests

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received, and the total (None: not known)."""

_CHUNK = 1 << 13
"""Number of bytes read at a time; a cut connection loses less than this."""
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which another attempt may succeed."""


@dataclass(frozen=True)
class RetryPolicy:
    """Limits of the attempts of a download.

    Attributes
    ----------
    attempts
        Consecutive attempts without new bytes before it gives up.
    wait
        Seconds before the second attempt; doubled after each further one without progress.
    timeout
        Seconds to wait for the connection, and for the next bytes.
    """

    attempts: int = 4
    wait: float = 1.0
    timeout: float = 30.0


@dataclass(frozen=True)
class _DownloadState:
    """Record stored with a partial download, to resume the same file only."""

    url: str
    validator: str | None
    total: int | None

    @classmethod
    def load(cls, path: Path, url: str) -> "_DownloadState | None":
        """Return the record in a file, None if it is unreadable or about another address."""
        try:
            note = cls(**json.loads(path.read_text(encoding="utf-8")))
            return note if note.url == url else None
        except (OSError, ValueError, TypeError):
            return None

    def write(self, path: Path) -> None:
        """Write the record to a file."""
        path.write_text(json.dumps(self.__dict__), encoding="utf-8")


class _IncompleteDownloadError(Exception):
    """Attempt that ended before the file was complete; the next one may resume it."""


def download_note_path(part: Path) -> Path:
    """Return the path of the record of an unfinished download."""
    return part.with_name(f"{part.name}.json")


def discard(part: Path) -> None:
    """Remove an unfinished download and its record, if they exist."""
    part.unlink(missing_ok=True)
    download_note_path(part).unlink(missing_ok=True)


@contextmanager
def lock_folder(folder: Path, name: str) -> Iterator[None]:
    """Lock a folder against other downloads, where platform and file system can.

    Raises
    ------
    DataError
        If another download holds the lock.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                f"another download to {folder} is under way: fetch {name} again when it is done."
            ) from None
        except OSError:
            # Some network file systems have no such locks.
            pass
        yield
    finally:
        os.close(descriptor)


def download(
    url: str,
    part: Path,
    *,
    name: str,
    progress: Progress | None = None,
    patience: RetryPolicy | None = None,
) -> None:
    """Download a file, resuming an earlier partial download.

    Received bytes are appended to `part`. If the connection is cut, the part stays and the rest is
    requested (HTTP ``Range``, with ``If-Range`` so that a file changed meanwhile is sent whole);
    at the end the part stays for the next call. A server without range support sends the whole
    file.

    Parameters
    ----------
    url
        Address of the file.
    part
        Path of the unfinished file, in an existing folder; complete when this returns.
    name
        The data set's name, for messages.
    progress
        Called after each chunk.
    patience
        Limits of the attempts.

    Raises
    ------
    DataError
        If the server has no such file, cannot be reached or breaks off too often, if the file
        cannot be written, or requests (which pooch brings) is not installed.
    """
    try:
        import requests
        from urllib3.exceptions import HTTPError
    except ModuleNotFoundError:
        raise DataError(f"downloading needs pooch, which is not installed: {EXTRA}.") from None
    patience = RetryPolicy() if patience is None else patience
    try:
        size, idle = _part_size(part), 0
        with requests.Session() as session:
            while True:
                try:
                    _try_download(session, url, part, name, progress, patience.timeout)
                    return
                except (_IncompleteDownloadError, requests.RequestException, HTTPError) as error:
                    # A server that always starts anew makes progress only beyond the best try.
                    idle = 0 if _part_size(part) > size else idle + 1
                    size = max(size, _part_size(part))
                    if idle >= patience.attempts:
                        raise _give_up_error(name, url, part, error) from error
                    time.sleep(patience.wait * 2 ** max(idle - 1, 0))
    except OSError as error:
        raise DataError(
            f"the download of {name} could not be written to {part.parent} "
            f"({error.strerror or error}): make room or set PFBENCH_DATA to another folder, and "
            f"run `pfbench data fetch {name}`."
        ) from error


def _try_download(
    session: "requests.Session",
    url: str,
    part: Path,
    name: str,
    progress: Progress | None,
    timeout: float,
) -> None:
    """Request the missing bytes once; return when the part is complete."""
    note = _DownloadState.load(download_note_path(part), url)
    have = 0 if note is None else _part_size(part)
    if note is not None and have and have == note.total:
        return
    # Packed transfer would make the positions in a range meaningless.
    headers = {"Accept-Encoding": "identity"}
    if note is not None and have:
        headers["Range"] = f"bytes={have}-"
        if note.validator is not None:
            headers["If-Range"] = note.validator
    with session.get(url, headers=headers, stream=True, timeout=timeout) as answer:
        status = answer.status_code
        if status in _PASSING:
            raise _IncompleteDownloadError(f"HTTP {status} {answer.reason}")
        if status == 416:
            discard(part)
            raise _IncompleteDownloadError("the server has less than what had arrived")
        if status == 206 and note is not None:
            begin, total = _parse_content_range(answer.headers.get("Content-Range", ""))
            if begin != have or total != note.total:
                discard(part)
                raise _IncompleteDownloadError("the server continued at another place")
        elif status == 200:
            have, total = 0, _parse_number(answer.headers.get("Content-Length", ""))
            discard(part)
            _DownloadState(url, _strong_etag(answer), total).write(download_note_path(part))
        else:
            raise DataError(
                f"the download of {name} from {url} was refused (HTTP {status} {answer.reason}): "
                f"get the file by hand and put it into {part.parent}, or try again later."
            )
        with part.open("ab") as target:
            if progress is not None:
                progress(have, total)
            # Not iter_content: that would unpack a file which the server marks as packed.
            for chunk in answer.raw.stream(_CHUNK, decode_content=False):
                target.write(chunk)
                have += len(chunk)
                if progress is not None:
                    progress(have, total)
            target.flush()
            os.fsync(target.fileno())
    if total is not None and have != total:
        raise _IncompleteDownloadError(f"the connection was cut after {have} of {total} bytes")


def _part_size(part: Path) -> int:
    """Return the number of bytes of a part, 0 if there is none."""
    return part.stat().st_size if part.exists() else 0


def _parse_content_range(header: str) -> tuple[int | None, int | None]:
    """Return first position and total of a Content-Range, e.g. ``bytes 100-199/200``."""
    unit, _, rest = header.partition(" ")
    span, _, total = rest.partition("/")
    first = _parse_number(span.partition("-")[0])
    return (None, None) if unit != "bytes" or first is None else (first, _parse_number(total))


def _parse_number(text: str) -> int | None:
    """Return the number in a part of a header, None if it is not a number."""
    return int(text) if text.isdigit() else None


def _strong_etag(answer: "requests.Response") -> str | None:
    """Return the value of If-Range for this version of the file: a strong ETag, or a date."""
    tag = answer.headers.get("ETag")
    if tag is not None and not tag.startswith("W/"):
        return tag
    return answer.headers.get("Last-Modified")


def _give_up_error(name: str, url: str, part: Path, error: Exception) -> DataError:
    """Return the error after too many attempts."""
    have = _part_size(part)
    text = f"the {have:,} bytes that arrived are kept, " if have else ""
    return DataError(
        f"the download of {name} from {url} broke off ({_describe_failure(error)}): {text}run "
        f"`pfbench data fetch {name}` again{' to continue' if have else ' later'}."
    )


def _describe_failure(error: Exception) -> str:
    """Return the reason of a failed attempt in a few words."""
    if isinstance(error, _IncompleteDownloadError):
        return str(error)
    kind = type(error).__name__
    return {
        "ConnectionError": "the server cannot be reached or closed the connection",
        "ConnectTimeout": "the server does not answer",
        "ReadTimeout": "the server stopped sending",
        "ProtocolError": "the connection was cut",
        "IncompleteRead": "the connection was cut",
        "ReadTimeoutError": "the server stopped sending",
        "SSLError": "the server's certificate is not trusted",
        "ProxyError": "the proxy cannot be reached",
    }.get(kind, kind)
