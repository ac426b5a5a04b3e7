"""Archives of strangers: what is not of an archive of pfbench is refused before it is unpacked."""

import hashlib
import json
import zipfile

import pytest

from pfbench.base.errors import InputError
from pfbench.runs.storage.archive import MANIFEST, SCHEMA, Archive, open_archive, write_archive

ABOUT = {
    "kind": "sweep",
    "pfbench": "0.1.0",
    "name": "mine",
    "title": "Mine",
    "made": "2026-01-01",
    "planned": 1,
    "user_modules": ["mine"],
    "environments": [{"python": "3.12"}],
    "source": "0",
    **{key: {} for key in ("problems", "lock")},
}
MANIFEST_FIELDS = {"schema": SCHEMA, **ABOUT}
SPEC = b'problems = "p"\n'
FILES = {"spec.toml": SPEC, "store.sqlite": b"", "code/mine.py": b"raise SystemExit\n"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.zip"


def forged(path, files, about=ABOUT, info=None, form=zipfile.ZIP_DEFLATED):
    """Write an archive of any names, each with its right hash; `info` changes an entry."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    said = about if isinstance(about, bytes) else json.dumps(about | {"files": hashes}).encode()
    with zipfile.ZipFile(path, "w", form) as archive:
        for name, data in {MANIFEST: said, **files}.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = form
            if info and name != MANIFEST:
                info(entry)
            archive.writestr(entry, data)


def refusal(path):
    with pytest.raises(InputError) as refused:
        open_archive(path)
    said = str(refused.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def test_what_is_written_is_read_and_the_same_content_has_the_same_bytes(path, tmp_path):
    write_archive(path, FILES, ABOUT)
    write_archive(tmp_path / "b.zip", dict(reversed(FILES.items())), ABOUT)
    assert path.read_bytes() == (tmp_path / "b.zip").read_bytes()
    archive = open_archive(path)
    assert archive.manifest["name"] == "mine"
    assert {name: archive.read(name) for name in archive.names} == FILES
    (tmp_path / "there").mkdir()
    archive.unpack(tmp_path / "there")
    assert (tmp_path / "there" / "code" / "mine.py").read_bytes() == FILES["code/mine.py"]


@pytest.mark.parametrize(
    "name",
    [
        "../spec.toml",
        "/etc/passwd",
        "code/../../x.py",
        "code/x.dist-info/entry_points.txt",
        "code\\..\\..\\x.py",
        "code/x.pth",
        "code/a b.py",
        "code\\x.py",
        "code/",
        "runs/ab/cd12345678.parquet",
        "runs/ab/../../ab.parquet",
        "C:x.py",
        "more.txt",
    ],
)
def test_no_other_name_is_in_an_archive(path, name):
    forged(path, {**FILES, name: b""}, MANIFEST_FIELDS)
    assert "is not a complete pfbench archive" in refusal(path)


def test_a_name_that_goes_on_after_its_end_is_refused(path):
    forged(path, {**FILES, "code/more.py_txt": b""}, MANIFEST_FIELDS)
    path.write_bytes(path.read_bytes().replace(b"more.py_txt", b"more.py\0txt"))
    assert "is not a complete pfbench archive" in refusal(path)


def test_a_link_is_refused(path):
    def linked(entry):
        entry.external_attr = 0o120777 << 16

    forged(path, FILES, MANIFEST_FIELDS, linked)
    assert "link" in refusal(path)


def test_a_bomb_is_refused_before_it_is_unpacked(path, monkeypatch):
    forged(path, {**FILES, "code/zeros.py": b"\0" * (2**22 + 1)}, MANIFEST_FIELDS)
    monkeypatch.setattr(Archive, "_read", lambda *_: pytest.fail("it was unpacked"))
    assert "4,194,305 bytes once it is unpacked" in refusal(path)


def test_many_files_within_their_limits_are_not_more_than_the_archives(path):
    name = "pfbench.runs.storage.archive"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{name}.MOST_BYTES", 3000)
        forged(path, {**FILES, "code/zeros.py": b"\0" * 3000}, MANIFEST_FIELDS)
        assert "once it is unpacked" in refusal(path)
        patch.setattr(f"{name}.MOST_FILES", 2)
        assert "5 files" in refusal(path)


def test_a_size_that_is_a_lie_is_found(path):
    forged(path, FILES, MANIFEST_FIELDS)
    data = path.read_bytes()
    name = b"code/mine.py"
    at = data.rindex(name) - 46 + 24  # the size in the central directory; more bytes follow
    path.write_bytes(data[:at] + (7).to_bytes(4, "little") + data[at + 4 :])
    with pytest.raises(InputError, match="not a complete pfbench archive"):
        open_archive(path).read("code/mine.py")


@pytest.mark.parametrize("form", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_refused(path, form):
    forged(path, FILES, MANIFEST_FIELDS, form=form)
    assert "by another method" in refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_a_name_are_refused(path):
    forged(path, FILES, MANIFEST_FIELDS)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("spec.toml", "other")
    assert "same name" in refusal(path)


@pytest.mark.parametrize(
    "about",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        json.dumps({**MANIFEST_FIELDS, "schema": SCHEMA - 1, "files": {}}).encode(),
        json.dumps({**MANIFEST_FIELDS, "files": 3}).encode(),
        json.dumps({**MANIFEST_FIELDS, "user_modules": [1], "files": {}}).encode(),
        json.dumps({**MANIFEST_FIELDS, "planned": -1, "files": {}}).encode(),
        json.dumps({**MANIFEST_FIELDS, "files": {"spec.toml": "0"}}).encode(),
        json.dumps({**MANIFEST_FIELDS, "files": {}}).encode(),
    ],
)
def test_a_manifest_that_is_none(path, about):
    forged(path, FILES, about)
    assert "is not a complete pfbench archive" in refusal(path)


def test_a_file_without_its_hash_is_found(path):
    hashes = dict.fromkeys(FILES, "0" * 64)
    forged(path, FILES, json.dumps({**MANIFEST_FIELDS, "files": hashes}).encode())
    archive = open_archive(path)
    with pytest.raises(InputError, match="does not match its hash"):
        archive.read("spec.toml")


def test_what_is_no_archive(path, tmp_path):
    assert "is not a complete pfbench archive" in refusal(path)
    assert "folder" in refusal(tmp_path)
    for data in (b"", b"PK", b"PK\x05\x06" + bytes(18), b"x" * 1000):
        path.write_bytes(data)
        assert "not a complete pfbench archive" in refusal(path)
    write_archive(path, FILES, ABOUT)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 37):
        path.write_bytes(whole[:length])
        assert "not a complete pfbench archive" in refusal(path)
    (tmp_path / "link.zip").symlink_to(path)
    assert "link" in refusal(tmp_path / "link.zip")
