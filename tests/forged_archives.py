"""A small theorem, archives of it, and forged ones with right hashes."""

import json
import random
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema
import pytest
from typer.testing import CliRunner

from pfbench.archive.check import Check
from pfbench.archive.page import make_archive_page_files
from pfbench.cli.main import app
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.storage.archive import RUNS, open_archive, write_archive
from pfbench.runs.storage.store import Store

THEOREM = """
from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, Mutant, bound, counts


@dataclass(frozen=True, kw_only=True)
class Lazy(pf.Algorithm):
    "Gradient descent that rests with probability 1/2."

    name = "lazy"
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            if rng.random() < 0.5:
                x = x - self.step * ask.gradient(x)
            yield pf.State(x)


class Eager(Lazy):
    "Never rests."

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = x - self.step * ask.gradient(x)
            yield pf.State(x)


def steps(c):
    return {"iterations": 4, "step": 1 / c.L_f}


SUMS = "quadratic[rows=20,columns=3,source=synthetic,set=none]"
FALLS = Claim(
    name="lazy-falls",
    statement="f(x_t) - min f <= Delta",
    algorithm=Lazy,
    instances=(SUMS,),
    check=bound(
        lambda c, a, t: c.delta, "suboptimality", statistic="every", parameters=steps, runs=(5, 5)
    ),
)
COUNT = Claim(
    name="lazy-count",
    statement="n T/2 SFO in expectation",
    algorithm=Lazy,
    instances=(SUMS,),
    check=counts(lambda c, a: {"sfo": c.n * a.iterations / 2}, parameters=steps, expected=True),
)
FAULTS = [Mutant.from_variant("lazy-eager", Eager, COUNT)]
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], prog_name="pfbench")


def archived(folder, texts, *arguments, status=0):
    """Write files into a folder and make an archive there; forget their code; return the outcome.

    The modules are no longer at hand.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        for name, text in texts.items():
            Path(name).write_text(text)
        done = run("archive", "make", *arguments, "--store", "store", "--jobs", 0)
    for name in texts:
        sys.modules.pop(name.removesuffix(".py"), None)
    assert done.exit_code == status, done.output
    return done


def checked_elsewhere(path, folder, *more):
    """Check an archive in an empty folder, by the command, in other processes: equal bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        command = ("archive", "check", path, "--salt", "a", "--seconds", 400, "--jobs", 1)
        done = run(*command, *more, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    schema = Path(str(files("pfbench.cli"))) / "schemas" / "archive.json"
    jsonschema.validate(found, json.loads(schema.read_text()))
    assert found["same"]
    assert found["runs"][0] == found["runs"][1]
    assert found["off"] == found["unreached"] == []
    assert found["outside"] == found["runs"][0] + found["new"]
    return found


def content(path):
    """Return the fields of the manifest that are written, and the files."""
    archive = open_archive(path)
    inside = {name: archive.read(name) for name in archive.names}
    return {k: v for k, v in archive.manifest.items() if k not in ("schema", "files")}, inside


def with_runs(data, change):
    """Return the bytes of a store after a change of it."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "store.sqlite").write_bytes(data)
        store = Store(folder)
        change(store)
        store.close()
        return (Path(folder) / "store.sqlite").read_bytes()


def forged(path, to, about=lambda about: None, runs=None, files=lambda files: files):
    """Write an archive anew, with right hashes and pages, after a change of what it says."""
    said, inside = content(path)
    about(said)
    inside |= make_archive_page_files(said)
    if runs is not None:
        inside[RUNS] = with_runs(inside[RUNS], runs)
    write_archive(to, files(inside), said)
    return to


def change_run(change, which=0):
    """Return a change of a store in which one run is another."""

    def changed(store):
        entries = [store.get(key) for key in sorted(store.keys())]
        entry = [one for one in entries if one.run.counts.sfo > 0][which]
        store.put(entry.key, change(entry.run), entry.environment, entry.notes)

    return changed


def fewer_calls(run):
    return replace(run, counts=replace(run.counts, sfo=run.counts.sfo - 1))


def without_one(store):
    store.remove([("run", next(iter(store.keys())))])


def checking(path, folder):
    """Return a check of an archive, unpacked into a new folder, which is made in this process."""
    archive = open_archive(path)
    folder.mkdir()
    archive.unpack(folder)
    engine, rng = SingleProcessEngine(), random.Random(1)
    return Check(archive.manifest, folder, engine, rng, True, 900.0)
