"""Format of archives: a zip file with a manifest, opened as untrusted data.

``archive.json`` names the kind (a sweep or a claim), the results, and the hash of every other file.
``store.sqlite`` has the runs, ``spec.toml`` the spec of a sweep, and ``lock.txt`` the versions.
``code/`` has the author's modules with the files that they read. ``counterexample-*.py`` are
scripts that show counterexamples to claims. ``page.md`` and ``badge.svg`` are for readers. Opening
an archive imports nothing from it.
"""

import hashlib
import io
import json
import re
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write
from pfbench.runs.storage.damage import DamagedFileError, check_size, open_regular_file
from pfbench.runs.storage.field_types import FIELDS, table
from pfbench.runs.storage.serialization import decode_json, refuse_damaged

SCHEMA = 3
"""Version of a manifest; archives of another version are not read."""

MANIFEST, SPEC, LOCK, CODE = "archive.json", "spec.toml", "lock.txt", "code/"
RUNS, PAGE, BADGE, SCRIPT = "store.sqlite", "page.md", "badge.svg", "counterexample-"
"""Names of files in an archive; `CODE` and `SCRIPT` are the start of a name."""

MOST_BYTES = 2**30
"""Maximum size in bytes of an archive, and of all its files together."""

MOST_FILES = 10_000
"""Maximum number of files in an archive."""

MOST_OF_FILE = 2**28
"""Maximum size in bytes of a file besides code."""

_DEVICE = r"(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|/|$))"
_MODULE = rf"{_DEVICE}[A-Za-z_][A-Za-z0-9_]{{0,99}}"
_FOLDER = rf"{_DEVICE}(?![^/]*\.(?i:dist-info|egg-info)(/|$))[A-Za-z0-9_][A-Za-z0-9_.-]{{0,99}}"
_READ = rf"({_FOLDER}/){{0,19}}(?!.*\.(py.?|so|dll|dylib|pth)$){_FOLDER}"
_LIMITS: Mapping[str, int] = {
    r"archive\.json": 2**26,
    r"spec\.toml|page\.md": 2**22,
    r"badge\.svg": 2**16,
    r"store\.sqlite": MOST_BYTES,
    r"lock\.txt": 2**20,
    rf"{SCRIPT}[a-z0-9-]{{1,80}}\.py": 2**16,
    rf"code(/{_MODULE}){{1,20}}\.py": 2**22,
    rf"code/{_READ}": MOST_OF_FILE,
}
"""Maximum size in bytes of a file, by a pattern of its name; other names are refused."""

_WHEN = (1980, 1, 1, 0, 0, 0)  # the same content has the same bytes
_FORMS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 1
_END, _END_OF_LARGE = b"PK\x05\x06", b"PK\x06\x07"
"""Signatures of the last 22 bytes of a zip file, and of the 20 bytes before them in a large one."""

_MOST_LISTED = 2**24
"""Maximum size in bytes of the list of files in an archive."""

_MORE = "there are bytes before or after the zip content"


def is_valid_data_file_name(name: str) -> bool:
    """Return whether an archive may contain a data file of this name."""
    return re.fullmatch(_READ, name) is not None


def data_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return the names, below `CODE`, of the files that the code of an archive reads."""
    names = (name.removeprefix(CODE) for name in manifest["files"] if name.startswith(CODE))
    return [name for name in names if not name.endswith(".py")]


def write_archive(path: Path, files: Mapping[str, bytes], fields: Mapping[str, Any]) -> None:
    """Write an archive atomically: the whole file or nothing.

    Parameters
    ----------
    files
        Content by file name.
    fields
        Fields of the manifest except ``schema`` and ``files``.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    statement = json.dumps({"schema": SCHEMA, **fields, "files": hashes}, indent=1, allow_nan=False)
    inside = {MANIFEST: statement.encode() + b"\n", **dict(sorted(files.items()))}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in inside.items():
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)


class Archive:
    """Opened archive; nothing in it is imported, and its file names are not used as paths.

    Attributes
    ----------
    path
        Path from which the archive was read.
    data
        Bytes of the archive, read once: later changes of the file have no effect.
    manifest
        The manifest, with checked types.
    names
        Names of all files except the manifest.
    """

    def __init__(self, data: bytes, path: Path) -> None:
        self.path, self.data = path, data
        with self._convert_zip_errors():
            _check_zip_list_size_and_position(data)
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            entries = self._zip.infolist()
            if len(entries) > MOST_FILES:
                raise DamagedFileError("too large", f"{len(entries):,} files")
            self._entries = {entry.filename: entry for entry in entries}
            if len({name.lower() for name in self._entries}) < len(entries):
                raise DamagedFileError("unreadable", "two files in it have the same name")
            if min(entry.header_offset for entry in entries):
                raise DamagedFileError("unreadable", _MORE)
            for entry in entries:
                _check_zip_entry(entry)
            unpacked = sum(entry.file_size for entry in entries)
            if unpacked > MOST_BYTES:
                raise DamagedFileError("too large", f"{unpacked:,} bytes once it is unpacked")
            if not {MANIFEST, RUNS} <= self._entries.keys():
                raise DamagedFileError("incomplete", f"the archive lacks {MANIFEST} or {RUNS}")
            self.manifest = _read_manifest(self._read(MANIFEST))
            self.names = tuple(name for name in self._entries if name != MANIFEST)
            if set(self.names) != set(self.manifest["files"]):
                raise DamagedFileError("incomplete", f"{MANIFEST} names other files")

    @property
    def sha256(self) -> str:
        """SHA-256 hash of the bytes of the archive."""
        return hashlib.sha256(self.data).hexdigest()

    def read(self, name: str) -> bytes:
        """Return the bytes of a file in the archive.

        Raises
        ------
        InputError
            If the bytes do not match the hash in the manifest.
        """
        with self._convert_zip_errors():
            data = self._read(name)
            if hashlib.sha256(data).hexdigest() != self.manifest["files"][name]:
                raise DamagedFileError("wrong content", f"{name} does not match its hash")
        return data

    def unpack(self, folder: Path) -> None:
        """Write all files of the archive into an empty folder.

        Raises
        ------
        InputError
            If a file is damaged.
        OSError
            If a file cannot be written.
        """
        for name in self.names:
            path = folder.joinpath(*name.split("/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(self.read(name))

    def _read(self, name: str) -> bytes:
        entry = self._entries[name]
        with self._zip.open(entry) as file:
            data = file.read(entry.file_size + 1)
        if len(data) != entry.file_size:
            detail = f"{name} has {len(data):,} of {entry.file_size:,} bytes"
            raise DamagedFileError("truncated", detail)
        return data

    @contextmanager
    def _convert_zip_errors(self) -> Iterator[None]:
        """Convert any exception of zipfile in the block to an error about the archive."""
        try:
            with refuse_damaged("unreadable"):
                yield
        except DamagedFileError as damage:
            raise _archive_error(self.path, damage) from damage


def open_archive(path: Path) -> Archive:
    """Read an archive file, and return it after checking its structure.

    Raises
    ------
    InputError
        If the file is missing, damaged or too large, or is not an archive of pfbench.
    """
    try:
        with open_regular_file(path) as file:
            check_size(file, MOST_BYTES)
            data = file.read(MOST_BYTES + 1)
    except (DamagedFileError, OSError) as error:
        raise _archive_error(path, getattr(error, "strerror", error)) from error
    return Archive(data, path)


def _archive_error(path: Path, reason: object) -> InputError:
    return InputError(
        f"{path} is not a complete pfbench archive ({reason}): name another file, or request a new "
        "copy from its author."
    )


def _check_zip_list_size_and_position(data: bytes) -> None:
    """Raise if the list of files in a zip file is too long, or is not at the end of the file."""
    end = data[-22:]
    if not end.startswith(_END) or data[-42:-38] == _END_OF_LARGE:
        reason = _MORE if data.startswith(b"PK") else "the file is not a zip file"
        raise DamagedFileError("unreadable", reason)
    size, offset = struct.unpack("<12xLL2x", end)
    if size > _MOST_LISTED:
        raise DamagedFileError("too large", f"the list of files has {size:,} bytes")
    if offset + size + 22 != len(data):
        raise DamagedFileError("unreadable", _MORE)


def _check_zip_entry(entry: zipfile.ZipInfo) -> None:
    """Raise for a zip entry with a name, type or size that archives of pfbench never have."""
    name = entry.filename
    limit = next((limit for form, limit in _LIMITS.items() if re.fullmatch(form, name)), None)
    if limit is None or entry.orig_filename != name:
        detail = f"the archive has a file of the name {name!r}, which is not allowed"
        raise DamagedFileError("unreadable", detail)
    if entry.file_size > limit:
        detail = f"{name} has {entry.file_size:,} bytes once it is unpacked"
        raise DamagedFileError("too large", detail)
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _FORMS:
        detail = f"{name} is encrypted, or compressed by another method"
        raise DamagedFileError("unreadable", detail)
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise DamagedFileError("not a file", f"{name} is a link or a device")


def _read_manifest(data: bytes) -> Mapping[str, Any]:
    subject: Mapping[str, Any] = decode_json(data)
    if not table(subject):
        raise DamagedFileError("unreadable", f"{MANIFEST} is not a JSON object")
    own_fields = FIELDS.get(f"archive-{subject.get('kind')}")
    if subject.get("schema") != SCHEMA or own_fields is None:
        detail = f"{subject.get('schema')!r} instead of {SCHEMA}"
        raise DamagedFileError("wrong schema version", detail)
    for name, kind in (FIELDS["archive"] | own_fields).items():
        if name not in subject or not kind(subject[name]):
            raise DamagedFileError("incomplete", f"the field {name} of {MANIFEST}")
    return subject
