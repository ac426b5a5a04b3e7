"""`pfbench pack`: an archive is made again with the same bits, and a planted row is found."""

import json
import zipfile
from hashlib import sha256
from types import SimpleNamespace

import pytest
from command_line import SMALL, rewritten

from pfbench.runs.storage.archive import open_archive, write_archive
from pfbench.runs.storage.store import Store

OWN = """
from dataclasses import dataclass

from packed_helper import LENGTH
from pfbench.algorithms.frank_wolfe import FrankWolfe

open("sung", "w").close()


@dataclass(frozen=True)
class Mine(FrankWolfe):
    name = "mine"
"""
SPEC = f"""
problems = "{SMALL}"
algorithms = ["nfwu-svrg[batch=7,period=4,iterations=10,step=0.1]", {{own}}]
seeds = 2
budget = "sfo=100000"
measures = ["fw_gap"]
"""


def written(folder, own=""):
    (folder / "s.toml").write_text(SPEC.replace("{own}", own))
    return folder / "s.toml"


@pytest.fixture
def archive(pfbench, folder):
    """An archive of two runs."""
    written(folder)
    outcome = pfbench("pack", "s.toml", "-o", "a.zip", "--jobs", 0)
    assert outcome.status == 0, outcome.err
    return folder / "a.zip"


def checked(pfbench, *more):
    return pfbench("pack", "--check", "a.zip", "--jobs", 1, *more)


def unpacked(folder, files):
    """The store of an archive, in a folder of its own."""
    path = folder / "planted" / "store.sqlite"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(files["store.sqlite"])
    return Store(path.parent)


def planted(folder, change):
    """Return a change that alters the first stored run as somebody would who wants it believed."""

    def changed(files):
        store = unpacked(folder, files)
        entry = store.get(min(store.keys()))
        store.put(entry.key, *change(entry))
        store.close()
        return files | {"store.sqlite": store.path.read_bytes()}

    return changed


def test_what_is_printed_follows_the_schema(pfbench, folder, conforms):
    written(folder)
    made = pfbench("pack", "s.toml", "-o", "a.zip", "--jobs", 0, "--json").json
    conforms(made, "pack.json")
    assert made["bytes"] == (folder / "a.zip").stat().st_size


def test_an_archive_says_what_is_in_it_and_its_runs_have_the_same_bits(pfbench, archive, conforms):
    with open_archive(archive) as found:
        assert found.read("spec.toml") == (archive.parent / "s.toml").read_bytes()
        assert found.manifest["planned"] == 2
        assert list(found.manifest["problems"]) == [SMALL]
        assert len(found.manifest["environments"]) == 1
    outcome = checked(pfbench, "--fraction", "100%", "--json")
    assert outcome.status == 0, outcome.err
    conforms(outcome.json, "pack.json")
    assert outcome.json["agree"] == outcome.json["same_bits"] == outcome.json["runs"] == 2
    assert outcome.json["left_out"] == outcome.json["differing"] == {}


def test_of_a_run_that_was_cut_from_a_longer_one_the_longer_one_is_packed(pfbench, archive, folder):
    text = (folder / "s.toml").read_text().replace("sfo=100000", "sfo=150")
    (folder / "less.toml").write_text(text)
    assert pfbench("pack", "less.toml", "-o", "b.zip", "--jobs", 0).status == 0
    with open_archive(folder / "b.zip") as less, open_archive(archive) as whole:
        files = [{"store.sqlite": one.read("store.sqlite")} for one in (less, whole)]
    runs = [[*unpacked(folder, one).keys()] for one in files]
    assert runs[0] == runs[1]
    outcome = pfbench("pack", "--check", "b.zip", "--fraction", 1, "--jobs", 1, "--json")
    assert outcome.status == 0, outcome.err
    assert outcome.json["same_bits"] == 2


def test_the_files_of_data_sets_have_their_hashes(pfbench, archive, folder, monkeypatch):
    from pfbench.runs import pack

    plans = [SimpleNamespace(problem="nonconvex-logistic[source=a9a]")]
    (folder / "data").mkdir(exist_ok=True)
    assert pack.data_digests(iter(plans)) == {}  # it is not in the cache
    (folder / "file").write_bytes(b"rows")
    monkeypatch.setattr(pack, "status", lambda name: SimpleNamespace(path=folder / "file"))
    found = pack.data_digests(iter(plans))
    assert found == {"a9a": sha256(b"rows").hexdigest()}
    content = pack.UnpackedArchive({"data": {"a9a": "0", "other": "1"}}, folder, ())
    assert content.list_changed_data() == {
        "other": "not known here",
        "a9a": "here with other bytes",
    }


def test_five_percent_of_two_runs_are_one(pfbench, archive):
    assert checked(pfbench, "--json").json["agree"] == 1


def test_planted_counts_are_found(pfbench, archive, folder):
    from dataclasses import replace

    def fewer(entry):
        run = replace(entry.run, counts=replace(entry.run.counts, sfo=entry.run.counts.sfo - 1))
        return run, entry.environment, entry.notes

    rewritten(archive, planted(folder, fewer))
    outcome = checked(pfbench, "--fraction", 1)
    assert outcome.status == 1
    assert "made again, it differs in its counts" in outcome.err


def test_runs_of_another_environment_are_compared_in_their_counts(pfbench, archive, folder):
    from dataclasses import replace

    def elsewhere(entry):
        *rows, last = entry.run.rows
        run = replace(entry.run, rows=[*rows, (*last[:-1], last[-1] * (1 + 2**-50))])
        return run, {**entry.environment, "numpy": "1.0"}, entry.notes

    rewritten(archive, planted(folder, elsewhere))
    outcome = checked(pfbench, "--fraction", 1, "--json")
    assert outcome.status == 0, outcome.err
    assert outcome.json["agree"] == 2
    assert outcome.json["same_bits"] == 1


def test_planted_counts_of_another_environment_are_found(pfbench, archive, folder):
    from dataclasses import replace

    def elsewhere(entry):
        run = replace(entry.run, counts=replace(entry.run.counts, lo=entry.run.counts.lo - 1))
        return run, {**entry.environment, "numpy": "1.0"}, entry.notes

    rewritten(archive, planted(folder, elsewhere))
    outcome = checked(pfbench, "--fraction", 1)
    assert outcome.status == 1
    assert "it differs in its lo" in outcome.err


def test_a_run_that_is_left_away_is_missed(pfbench, folder, archive):
    def fewer(files):
        store = unpacked(folder, files)
        store.remove([("run", next(store.keys()))])
        store.close()
        return files | {"store.sqlite": store.path.read_bytes()}

    rewritten(archive, fewer)
    outcome = checked(pfbench, "--fraction", 1)
    assert outcome.status == 1
    assert "1 run that its spec plans are not in the archive" in outcome.err


@pytest.fixture
def with_own(pfbench, folder, monkeypatch):
    """An archive with modules of its author, which are then nowhere else."""
    monkeypatch.syspath_prepend(folder)
    (folder / "packed_own.py").write_text(OWN)
    (folder / "packed_helper.py").write_text("LENGTH = 3\n")
    written(folder, '"packed_own:Mine[iterations=3]"')
    outcome = pfbench("pack", "s.toml", "-o", "a.zip", "--jobs", 1)
    assert outcome.status == 0, outcome.err
    assert "importing packed_own:Mine[iterations=3], which s.toml names" in outcome.err
    for name in ("packed_own.py", "packed_helper.py", "sung"):
        (folder / name).unlink()
    for name in ("packed_own", "packed_helper"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    return folder / "a.zip"


def test_its_authors_modules_are_in_it_and_used(pfbench, with_own, folder):
    with open_archive(with_own) as found:
        assert {"code/packed_own.py", "code/packed_helper.py"} <= set(found.names)
        assert found.read("code/packed_own.py").decode() == OWN
    assert not (folder / "sung").exists()  # reading it imports nothing
    outcome = checked(pfbench, "--fraction", "100%", "--json")
    assert outcome.status == 0, outcome.err
    said = "importing packed_own, which is in a.zip"
    assert said in outcome.err
    assert outcome.json["agree"] == outcome.json["same_bits"] == 4
    assert not (folder / "sung").exists()


def test_a_module_of_an_installed_name_is_refused_before_it_is_there(pfbench, archive, folder):
    for name in ("json", "numpy", "pfbench"):
        rewritten(archive, lambda files, n=name: {**files, f"code/{n}.py": b"open('sung', 'w')"})
        assert f"has a module {name}" in checked(pfbench).refusal
        rewritten(archive, lambda files: {n: d for n, d in files.items() if "code" not in n})
    assert not (folder / "sung").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "SPEC.toml"),
        (("s.toml",), "-o FILE"),
        (("s.toml", "-o", "none/a.zip"), "no folder none"),
        (("s.toml", "--check", "a.zip"), "SPEC.toml"),
        (("--check", "a.zip", "-o", "b.zip"), "leave them out"),
        (("--check", "nothing.zip"), "nothing.zip"),
        (("--check", "a.zip", "--fraction", "x"), "--fraction"),
        (("--check", "a.zip", "--fraction", "0%"), "--fraction"),
        (("--check", "a.zip", "--fraction", "101%"), "--fraction"),
    ],
)
def test_bad_input(pfbench, folder, arguments, says):
    written(folder)
    assert says in pfbench("pack", *arguments).refusal


def test_the_schema_of_an_archive_without_runs_is_no_check(pfbench, folder):
    written(folder)
    about = {"pfbench": "0", "name": "n", "planned": 0, "own": [], "environments": []}
    spec = (folder / "s.toml").read_bytes()
    empty = Store(folder / "empty")
    empty.close()
    files = {"spec.toml": spec, "store.sqlite": empty.path.read_bytes()}
    write_archive(folder / "a.zip", files, {**about, "problems": {}, "data": {}})
    assert "no run" in checked(pfbench).refusal
    with zipfile.ZipFile(folder / "a.zip") as archive:
        said = json.loads(archive.read("pack.json"))
    assert said["files"] == {n: sha256(data).hexdigest() for n, data in files.items()}
