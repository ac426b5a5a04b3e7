"""Archives: one file with a whole sweep or a theorem; an archive from others is opened safely.

It is a zip file. Its manifest (of a sweep ``pack.json``) lists the content, with the hash of
every other file; ``code/`` has the modules of its author, never imported by reading it, with the
files that they read; ``lock.txt`` has the versions. A sweep has its spec, ``spec.toml``, and its
runs, ``store.sqlite``, a file like that of a store.
"""

import hashlib
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.base.files import atomic_write
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.field_types import (
    Type,
    count,
    integer,
    list_type,
    mapping_type,
    table,
    text,
)
from pfbench.runs.storage.safe_open import check_size, open_file
from pfbench.runs.storage.serialization import decode_json

SCHEMA = 1
"""Version of a manifest; archives of other versions are not read."""

MANIFEST, SPEC, LOCK, CODE = "pack.json", "spec.toml", "lock.txt", "code/"
"""Names of files inside."""

MOST_BYTES = 2**31
"""Maximum size in bytes of an archive, and of its unpacked content."""

MOST_FILES = 200_000
"""Maximum number of files in an archive."""

MOST_OF_FILE = 50_000_000
"""Maximum size in bytes of a file besides code; a larger one is recorded by digest and origin."""

_MODULE = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
_FOLDER = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_READ = rf"({_FOLDER}/){{0,19}}(?!.*\.(py.?|so|dll|dylib|pth)$){_FOLDER}"
_SHARED: Mapping[str, int] = MappingProxyType(
    {r"lock\.txt": 2**20, rf"code(/{_MODULE}){{1,20}}\.py": 2**22, rf"code/{_READ}": MOST_OF_FILE}
)
_FIELDS: Mapping[str, Type] = MappingProxyType(
    {
        "schema": integer,
        "pfbench": text,
        "name": text,
        "data": mapping_type(text),
        "files": mapping_type(text),
    }
)
_SINCE: Mapping[str, Type] = MappingProxyType(
    {
        "reads": mapping_type(text),
        "origins": mapping_type(text),
        "lock": mapping_type(mapping_type(text)),
    }
)
"""Fields that archives from before 0.2 lack."""


@dataclass(frozen=True)
class ArchiveKind:
    """Kind of archive.

    Attributes
    ----------
    manifest
        The name of its manifest.
    limits
        Maximum size in bytes of each pattern of file name, besides code and versions; an archive
        contains nothing else.
    fields
        The types of the fields of the manifest, in addition to those of all kinds.
    needs
        Required file names.
    """

    manifest: str
    limits: Mapping[str, int]
    fields: Mapping[str, Type]
    needs: frozenset[str] = field(default_factory=frozenset)


PACK = ArchiveKind(
    MANIFEST,
    {r"pack\.json": 2**26, r"spec\.toml": 2**22, r"store\.sqlite": 2**31},
    {
        "planned": count,
        "own": list_type(text),
        "environments": list_type(mapping_type(text)),
        "problems": mapping_type(text),
    },
    frozenset({SPEC, "store.sqlite"}),
)
"""Archive of a sweep."""

_WHEN = (1980, 1, 1, 0, 0, 0)  # the same content has the same bytes
_FORMS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 1
_DAMAGES = (
    *(DamagedFileError, OSError, ValueError, zipfile.BadZipFile, zlib.error),
    *(EOFError, KeyError, NotImplementedError, RuntimeError),
)
_END, _END_BYTES = b"PK\x05\x06", 22
"""Start of the last bytes of a zip file without a comment, and their number."""


def is_valid_member_name(name: str) -> bool:
    """Return whether an archive can have a file of this name, apart from its code."""
    return re.fullmatch(_READ, name) is not None


def write_archive(
    path: Path, files: Mapping[str, bytes], fields: Mapping[str, Any], form: ArchiveKind = PACK
) -> None:
    """Write an archive atomically.

    Parameters
    ----------
    files
        Content by file name.
    fields
        The fields of its manifest except ``schema`` and ``files``.
    form
        The kind of archive.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    statement = json.dumps({"schema": SCHEMA, **fields, "files": hashes}, indent=1, allow_nan=False)
    inside = {form.manifest: statement.encode() + b"\n", **dict(sorted(files.items()))}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in inside.items():
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)


class Archive:
    """Opened archive; nothing in it is imported, and its names are not used as paths.

    Attributes
    ----------
    manifest
        Its manifest, with checked types.
    names
        The names of all other files.
    form
        Its kind, among the admitted ones.
    """

    def __init__(self, file: BinaryIO, path: Path, *forms: ArchiveKind) -> None:
        self._path = path
        with self._refuse_errors():
            check_size(file, MOST_BYTES)
            self._zip = zipfile.ZipFile(file)
            entries = self._zip.infolist()
            if len(entries) > MOST_FILES:
                raise DamagedFileError("too large", f"{len(entries):,} files")
            self._entries = {entry.filename: entry for entry in entries}
            if len(self._entries) < len(entries):
                raise DamagedFileError("unreadable", "two files in it have the same name")
            file.seek(-_END_BYTES, os.SEEK_END)
            if file.read(len(_END)) != _END or min(entry.header_offset for entry in entries):
                raise DamagedFileError(
                    "unreadable", "there is something before or behind what is in it"
                )
            form = next((kind for kind in forms if kind.manifest in self._entries), forms[0])
            self.form = form
            for entry in entries:
                _check(entry, {**_SHARED, **form.limits})
            unpacked = sum(entry.file_size for entry in entries)
            if unpacked > MOST_BYTES:
                raise DamagedFileError("too large", f"{unpacked:,} bytes once it is unpacked")
            needs = {form.manifest, *form.needs}
            if not needs <= self._entries.keys():
                raise DamagedFileError("incomplete", f"it lacks {' or '.join(sorted(needs))}")
            self.manifest = _read_manifest(self._read(form.manifest), form)
        self.names = tuple(name for name in self._entries if name != form.manifest)
        with self._refuse_errors():
            if set(self.names) != set(self.manifest["files"]):
                raise DamagedFileError(
                    "incomplete", f"{form.manifest} names other files than are in it"
                )

    def read(self, name: str) -> bytes:
        """Return the bytes of a file inside.

        Raises
        ------
        InputError
            If they do not match the hash in the archive.
        """
        with self._refuse_errors():
            data = self._read(name)
            if hashlib.sha256(data).hexdigest() != self.manifest["files"][name]:
                raise DamagedFileError("wrong content", f"{name} does not match its hash")
        return data

    def find_damaged(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the files whose bytes do not match their hashes."""
        results = []
        for name in names:
            try:
                self.read(name)
            except InputError:
                results.append(name)
        return tuple(results)

    def unpack(self, folder: Path, but: Collection[str] = ()) -> None:
        """Write all files, except some, into an empty folder.

        Raises
        ------
        InputError
            If one is damaged.
        OSError
            If it cannot be written.
        """
        for name in (name for name in self.names if name not in but):
            path = folder.joinpath(*name.split("/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(self.read(name))

    def _read(self, name: str) -> bytes:
        entry = self._entries[name]
        with self._zip.open(entry) as file:
            data = file.read(entry.file_size + 1)
        if len(data) != entry.file_size:
            raise DamagedFileError(
                "truncated", f"{name} has {len(data):,} of {entry.file_size:,} bytes"
            )
        return data

    @contextmanager
    def _refuse_errors(self) -> Iterator[None]:
        """Convert any exception of zipfile in the block to an error about the archive."""
        try:
            yield
        except (MemoryError, InputError):
            raise
        except _DAMAGES as error:
            subject = escape_text(
                str(error).splitlines()[0] if str(error) else type(error).__name__
            )
            raise InputError(
                f"{self._path} is no whole archive of pfbench ({subject.rstrip('.')}): get it again "  # noqa: E501
                "from its author."
            ) from error


@contextmanager
def open_archive(path: Path, *forms: ArchiveKind) -> Iterator[Archive]:
    """Open an archive of one of some kinds for reading; by default that of a sweep.

    Raises
    ------
    InputError
        If there is none, or it is damaged, too large, or has other content than archives of
        pfbench.
    """
    try:
        file = open_file(path)
    except DamagedFileError as damage:
        raise InputError(f"{path} is no archive ({damage}): name a file.") from damage
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): name an archive.") from error
    with file:
        yield Archive(file, path, *(forms or (PACK,)))


def _check(entry: zipfile.ZipInfo, limits: Mapping[str, int]) -> None:
    """Raise for a file of another name, form or size than those of archives."""
    name = entry.filename
    max_count = next((limit for form, limit in limits.items() if re.fullmatch(form, name)), None)
    if max_count is None or entry.orig_filename != name:
        raise DamagedFileError(
            "unreadable", f"it has a file {name!r}, which no archive of pfbench has"
        )
    if entry.file_size > max_count:
        raise DamagedFileError(
            "too large", f"{name} has {entry.file_size:,} bytes once it is unpacked"
        )
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _FORMS:
        raise DamagedFileError(
            "unreadable", f"{name} is encrypted, or packed in a way that is not read"
        )
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise DamagedFileError("not a file", f"{name} is a link or a device")


def _read_manifest(data: bytes, form: ArchiveKind) -> Mapping[str, Any]:
    subject: Mapping[str, Any] = decode_json(data)
    if not table(subject):
        raise DamagedFileError("unreadable", f"{form.manifest} is no table")
    if subject.get("schema") != SCHEMA:
        raise DamagedFileError(
            "wrong schema version", f"{subject.get('schema')!r}, where {SCHEMA} is known"
        )
    needed = {**_FIELDS, **form.fields}
    for name, kind in {**needed, **_SINCE}.items():
        if name not in subject and name in _SINCE:
            continue
        if name not in subject or not kind(subject[name]):
            raise DamagedFileError("incomplete", f"the field {name} of {form.manifest}")
    if any(not re.fullmatch(_READ, name) for name in subject.get("reads", {})):
        raise DamagedFileError(
            "unreadable", "a file that its code reads has a name that is not read here"
        )
    return subject
