"""A receipt of a theorem: whole, checked by running it again, and each way to cheat is seen."""

import json
import random
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from forged_receipts import THEOREM, content, forged, lowered, run

from pfbench.receipts.receipt_page import summary
from pfbench.receipts.receipt_runs import COLUMNS, decode_runs, encode_runs
from pfbench.receipts.recheck import CheckOutcome, CheckPlan
from pfbench.receipts.theorem_check import _record_fresh_runs, check
from pfbench.receipts.theorem_receipt import RECEIPT
from pfbench.receipts.worker_tasks import describe_isolated_difference, recheck_redrawn
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.storage.archive import open_archive, write_archive
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.version_lock import source_digest
from pfbench.verification.session import judge
from pfbench.verification.user_claims import load_claims

SCHEMA = Path(str(files("pfbench.cli"))) / "schemas" / "receipt.json"


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Check a receipt in this process; return what is not as it says."""

    def of(path):
        about, rows, inside = content(path)
        (tmp_path / "lazy_descent.py").write_bytes(inside["code/lazy_descent.py"])
        return check(about, rows, CheckPlan(SingleProcessEngine(), random.Random(1), True, 60.0))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield of
    sys.modules.pop("lazy_descent", None)


def test_it_holds_all_that_it_should(receipt):
    about, rows, inside = content(receipt)
    assert {"receipt.html", "receipt.md", "receipt.tex", "badge.svg", "lock.txt"} <= inside.keys()
    assert [one["name"] for one in about["claims"]] == ["lazy-falls", "lazy-count"]
    assert about["lock"]["pfbench"]["content"] == source_digest()
    falls = about["claims"][0]
    (constants,) = (one["constants"] for one in falls["instances"].values())
    (bounds,) = (one["bounds"] for one in falls["settings"].values())
    assert bounds == {"": constants["delta"]}
    assert falls["homogeneous"] is True
    assert [one["verdict"] for one in about["verdicts"]] == ["attained", "holds"]
    assert (
        about["verdicts"][1]["measured"]["sfo"] == 40.0 == about["verdicts"][1]["claimed"][": sfo"]
    )
    (planted,) = about["faults"]["planted"]
    assert planted["caught_by"] == ["lazy-count"]
    assert len(about["faults"]["generated"]) == 3
    assert {one["parameter"] for one in about["power"]} == {"step", "estimate"}
    assert len(rows) == 2 * 20
    assert {row["sfo"] % 20 for row in rows} == {0}
    assert len({row["iterates"] for row in rows}) > 5
    short = summary(about, rows)
    assert short.verdict == "holds"
    assert 0.5 < short.ratio <= 1.0
    assert f"{short.caught_faults}/{short.faults} faults" in inside["badge.svg"].decode()
    assert "\\newcommand{\\pfLazyDescentVerdict}{holds}" in inside["receipt.tex"].decode()


def test_an_honest_one_passes_elsewhere(receipt, tmp_path, monkeypatch):
    """In an empty folder, by the command, in other processes: equal bits."""
    monkeypatch.chdir(tmp_path)
    done = run("receipt", "--check", receipt, "--salt", "a", "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["same"]
    assert found["runs"] == [40, 40]
    assert found["verdicts"] == [2, 2]
    assert found["new"] == 40
    assert found["off"] == found["unreached"] == []
    assert found["sha256"][:16] in found["text"]
    assert "lazy_descent" not in sys.modules


def test_a_claim_that_is_violated_is_told_and_its_receipt_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    wrong = THEOREM.replace("c.n * a.iterations / 2", "c.n * a.iterations / 3")
    (tmp_path / "lazy_wrong.py").write_text(wrong)
    command = ("verify", "lazy_wrong.py", "--receipt", "wrong.zip", "--store", "store")
    done = run(*command, "--faults", 0, "--max-check-seconds", 0.001, "--jobs", 0)
    sys.modules.pop("lazy_wrong", None)
    assert done.exit_code == 1
    assert "lazy-count is violated: The mean of SFO over all draws is 40, not 26.6" in done.stderr
    assert "violated" in done.stdout
    about, _, _ = content(tmp_path / "wrong.zip")
    assert [one["verdict"] for one in about["verdicts"]] == ["attained", "violated"]


def test_a_changed_byte_is_named_and_nothing_runs(receipt, tmp_path):
    with open_archive(receipt, RECEIPT) as archive:
        name = "code/lazy_descent.py"
        right = archive.read(name)
        inside = {one: archive.read(one) for one in archive.names}
        about = {k: v for k, v in archive.manifest.items() if k not in ("schema", "files")}
    path = tmp_path / "changed.zip"
    write_archive(path, inside, about, RECEIPT)
    whole = zipfile.ZipFile(path)
    with zipfile.ZipFile(tmp_path / "byte.zip", "w") as other:
        for entry in whole.infolist():
            data = whole.read(entry)
            changed = right.replace(b"self.step *", b"self.step +")
            other.writestr(entry, changed if entry.filename == name else data)
    done = run("receipt", "--check", tmp_path / "byte.zip")
    assert done.exit_code == 1
    assert f"{name} in" in done.stderr
    assert "importing" not in done.stderr


def without_the_worst(rows):
    return sorted(rows, key=lambda row: row["measured"])[:-1]


def smaller(rows):
    return [row | {"measured": row["measured"] / 2} for row in rows]


def constant(about):
    (instance,) = about["claims"][0]["instances"].values()
    instance["constants"]["delta"] /= 2


def statement(about):
    about["claims"][0]["statement"] = "f(x_t) - min f <= Delta/t"


def verdict(about):
    about["verdicts"][0]["measured"]["ratio"] = 0.9


def fault(about):
    about["faults"]["planted"][0]["caught_by"] = ["lazy-falls"]


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": lowered}, "sfo"),
        ({"rows": smaller}, "measured"),
        ({"rows": without_the_worst}, "other seeds"),
        ({"about": constant}, "delta"),
        ({"about": statement}, "Delta/t"),
        ({"about": verdict}, "ratio"),
        ({"about": fault}, "lazy-eager is not found by lazy-falls"),
    ],
)
def test_a_forged_one_is_seen(receipt, tmp_path, checked, change, says):
    assert checked(receipt).deviations == []
    found = checked(forged(receipt, tmp_path / "forged.zip", **change))
    assert any(says in text for text in found.deviations), found.deviations


def test_runs_of_another_law_are_seen_by_new_seeds_alone(receipt):
    """At the level that is promised; equal laws pass."""
    _, rows, _ = content(receipt)
    old = [row for row in rows if row["cell"] == 1]
    rng = np.random.default_rng(0)
    new = [row | {"sfo": 20.0 * rng.binomial(4, 0.5)} for row in old]
    honest, wrong = CheckOutcome(), CheckOutcome()
    _record_fresh_runs(old, "lazy-count", honest, new)
    _record_fresh_runs([row | {"sfo": row["sfo"] - 81.0} for row in old], "lazy-count", wrong, new)
    for one in (honest, wrong):
        one.compare()
    assert honest.p_values
    assert honest.deviations == []
    assert "sfo of lazy-count has another law" in wrong.deviations[0]


def test_pages_that_lie_are_seen(receipt, tmp_path, monkeypatch):
    about, _, inside = content(receipt)
    fields = {name: of for name, of in about.items() if name not in ("schema", "files")}
    page = inside["receipt.html"].replace(b"attained", b"proved")
    path = tmp_path / "page.zip"
    write_archive(path, {**inside, "receipt.html": page}, fields, RECEIPT)
    monkeypatch.chdir(tmp_path)
    done = run("receipt", "--check", path, "--jobs", 1)
    assert done.exit_code == 1
    assert "receipt.html is not what its numbers give" in done.stderr


@pytest.mark.parametrize("what", [b"", b"PAR1", b"no table"])
def test_a_file_of_runs_that_is_none_is_refused(what):
    with pytest.raises(DamagedFileError):
        decode_runs(what, 1)


def test_rows_of_no_cell_are_refused(receipt):
    _, rows, _ = content(receipt)
    with pytest.raises(DamagedFileError, match="of no cell"):
        decode_runs(encode_runs([{**rows[0], "cell": 5.0}]), 2)
    assert tuple(rows[0]) == COLUMNS


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verify", "page-count", "--receipt", "a.zip"], "takes one FILE.py"),
        (["verify", "a.py", "b.py", "--receipt", "a.zip"], "takes one FILE.py"),
        (["verify", "a.py", "--receipt", "a.zip", "--repeat", "2"], "makes every test"),
        (["receipt", "--check", "none.zip"], "none.zip"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert says in done.stderr


GC = """
import gc


class Lazy(Honest):
    "Takes the gradient of the problem that it finds in its memory."

    def run(self, ask, x, rng):
        there = [one for one in gc.get_objects() if type(one).__name__ == "LeastSquares"]
        problem = [one for one in there if one.d == x.size][-1]  # there are those of other tests
        for _ in range(self.iterations):
            if rng.random() < 0.5:
                x = x - self.step * (ask.gradient(x) + 0 * problem.gradient(x))
            yield pf.State(x)
"""


def test_a_method_that_takes_the_problem_from_its_memory_is_seen(tmp_path, monkeypatch):
    text = THEOREM.replace("class Lazy(", "class Honest(", 1).replace(
        "\n\nclass Eager", f"{GC}\n\nclass Eager"
    )
    (tmp_path / "lazy_by_memory.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = describe_isolated_difference("lazy_by_memory", 0, 1, None)
    sys.modules.pop("lazy_by_memory", None)
    assert "fails in a process of its own: IndexError" in found


LOOKUP = """
import sys
from dataclasses import dataclass

import numpy as np

import pfbench as pf
from pfbench.claims import Claim, bound

FIXED = "quadratic[rows=20,columns=3,source=synthetic,set=none]"
KNOWN = pf.problem("quadratic", rows=20, columns=3, source="synthetic", set="none")


def least(problem):
    zero = np.zeros(problem.d)
    slope = problem.gradient(zero)
    curvature = [problem.gradient(one) - slope for one in np.eye(problem.d)]
    return np.linalg.solve(np.array(curvature), -slope)


@dataclass(frozen=True, kw_only=True)
class ByDigest(pf.Algorithm):
    "Knows where the minimum of one problem is, by the bytes of its first gradient."

    name = "by-digest"
    requires = frozenset({"gradient", "smooth"})
    deterministic = True
    iterations: int

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = self.next(x, ask.gradient(x))
            yield pf.State(x)

    def next(self, x, g):
        return least(KNOWN) if np.allclose(g, KNOWN.gradient(KNOWN.start())) else x


class ByName(ByDigest):
    "Takes the problem of that name from the frames below it."

    def next(self, x, g):
        frame = sys._getframe()
        while frame is not None:
            for one in frame.f_locals.values():
                if getattr(one, "name", "") == "quadratic" and hasattr(one, "gradient"):
                    return least(one)
            frame = frame.f_back
        return x


class Honest(ByDigest):
    def next(self, x, g):
        return x - g / 4


def claimed(method, part):
    most = lambda c, a: part * c.delta
    steps = lambda c: {"iterations": 4}
    check = bound(most, "suboptimality", statistic="last", parameters=steps)
    name, on = f"of-{method.__name__.lower()}", (FIXED,)
    return Claim(name=name, statement="", algorithm=method, instances=on, check=check)


CLAIMS = [claimed(ByDigest, 1e-6), claimed(ByName, 1e-6), claimed(Honest, 1.0)]
"""


def test_a_method_that_looks_its_problem_up_is_seen_where_that_is_drawnanew(tmp_path, monkeypatch):
    """Each claim holds on the problem that it states, and would be made again to the bit."""
    (tmp_path / "looking_up.py").write_text(LOOKUP)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    claims = load_claims("looking_up").claims
    assert not [claim.name for claim in claims if judge(claim).is_wrong]
    found = {claim.name: recheck_redrawn("looking_up", claim.name, "quick", 3) for claim in claims}
    sys.modules.pop("looking_up", None)
    assert found["of-honest"] == ""
    for name in ("of-bydigest", "of-byname"):
        assert f"drawn anew, under another name, {name} is violated" in found[name]
