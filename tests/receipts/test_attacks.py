"""Ways to a receipt that says more than is so, each found on re-execution, or told."""

import random
import sys
import zipfile

import pytest
from forged_receipts import THEOREM, content, forged, run

from pfbench.base.errors import InputError
from pfbench.receipts.receipt_page import render_pages
from pfbench.receipts.receipt_runs import cells, group_by_cell, run_cell
from pfbench.receipts.recheck import CheckOutcome, CheckPlan, call_protected
from pfbench.receipts.theorem_check import _record_verdict, _statement_differences, _TheoremTasks
from pfbench.receipts.theorem_receipt import RECEIPT
from pfbench.receipts.worker_tasks import (
    describe_isolated_difference,
    explain_missing_runs,
    fault_is_caught,
    recompute_verdict,
    statements,
)
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.pack import check_module_names
from pfbench.runs.storage.archive import open_archive, write_archive
from pfbench.verification.session import judge
from pfbench.verification.user_claims import load_claims


@pytest.fixture
def importable(tmp_path, monkeypatch):
    """Put a theorem at hand under a name; return that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    names = []

    def of(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        names.append(name)
        return name

    yield of
    for name in names:
        sys.modules.pop(name, None)


# --- what is written in the receipt ---------------------------------------------------------------


def no_planted(about):
    about["faults"]["planted"] = []


def fewer_generated(about):
    about["faults"]["generated"] = about["faults"]["generated"][:-1]


def covered(about):
    about["faults"]["generated"][0]["admissible"] = "a line of proof"


def an_erratum(about):
    about["errata"] = [{"erratum": "of-others", "evidence": {"shown": True}} | dict.fromkeys(
        ("as_printed", "corrected", "ruling"), "")]  # fmt: skip


def other_verdicts(about):
    about["verdicts"].reverse()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (no_planted, "its planted faults are others"),
        (fewer_generated, "its generated faults are others"),
        (covered, "its generated faults are others"),
        (an_erratum, "its errata are others"),
        (other_verdicts, "its verdicts are on other claims"),
    ],
)
def test_what_follows_from_the_code_is_what_it_says(receipt, importable, change, says):
    about, rows, inside = content(receipt)
    theorem = importable("lazy_descent", inside["code/lazy_descent.py"].decode())
    said = statements(theorem, about["seed"], about["faults"]["most"])
    old = group_by_cell(about["cells"], rows)
    assert list(_statement_differences(about, old, said)) == []
    change(about)
    assert any(says in text for text in _statement_differences(about, old, said))


@pytest.mark.parametrize("part", ["claimed", "reason", "measured"])
def test_each_part_of_a_verdict_is_made_again(receipt, importable, part):
    about, _, inside = content(receipt)
    theorem = importable("lazy_descent", inside["code/lazy_descent.py"].decode())
    there = next(one for one in about["verdicts"] if one["claim"] == "lazy-count")
    again = recompute_verdict(theorem, "lazy-count", "quick", about["seed"])
    honest, wrong = CheckOutcome(), CheckOutcome()
    _record_verdict(there, honest, True, again)
    told = "Found by all." if part == "reason" else there[part] | {"sfo": 1.0, ": sfo": 1.0}
    _record_verdict(there | {part: told}, wrong, True, again)
    assert honest.deviations == []
    assert f"the verdict on lazy-count: {part}" in wrong.deviations[0]


def test_a_cell_whose_runs_are_left_out_is_tried(receipt, importable):
    """Its runs can be made, whatever is said of them."""
    _, _, inside = content(receipt)
    theorem = importable("lazy_descent", inside["code/lazy_descent.py"].decode())
    assert "can be made, and by the receipt not: too slow" in explain_missing_runs(
        theorem, 0, 0, "too slow"
    )


def test_a_fault_that_changes_something_does_not_pass_for_one_that_does_not(receipt, importable):
    about, _, inside = content(receipt)
    theorem = importable("lazy_descent", inside["code/lazy_descent.py"].decode())
    found = next(one for one in about["faults"]["generated"] if one["found_by"])
    how = about["effort"], about["seed"]
    assert fault_is_caught(theorem, found["method"], found["fault"], found["found_by"], *how)
    assert not fault_is_caught(theorem, found["method"], found["fault"], "", *how)
    asking = _TheoremTasks(
        about, {}, CheckPlan(SingleProcessEngine(), random.Random(0), True, 1.0), CheckOutcome()
    )
    found |= {"found_by": None, "equivalent": "runs"}
    asked = {one.description for one in asking.findings()}
    assert f"fault {found['fault']}" in asked  # there are four, and all are looked at


def test_pages_of_another_version_are_told_apart(receipt, tmp_path, monkeypatch):
    """Whoever says that another pfbench made it has pages that nobody drew anew; that is said."""
    about, _, inside = content(receipt)
    fields = {name: of for name, of in about.items() if name not in ("schema", "files")}
    fields["environment"] = {**about["environment"], "pfbench": "0.0.9"}
    page = inside["receipt.html"].replace(b"attained", b"proved")
    write_archive(tmp_path / "old.zip", {**inside, "receipt.html": page}, fields, RECEIPT)
    monkeypatch.chdir(tmp_path)
    done = run("receipt", "--check", tmp_path / "old.zip", "--jobs", 1)
    assert "receipt.html is of another pfbench, and was not drawn anew" in done.stderr
    assert "not drawn anew" in done.stdout


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize", "json", "numpy.linalg"])
def test_no_module_of_a_receipt_stands_in_anothers_place(name):
    with pytest.raises(InputError, match="the archive has a module"):
        check_module_names([name])


def changed_case(path, to):
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, data)
            if entry.filename.startswith("code/"):
                new.writestr(entry.filename.upper().replace("CODE/", "code/"), data)


def beside(path, to):
    """A folder out of itself, under a name that begins as a right one."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
        new.writestr("code/../../escaped.py", b"")


def other_local_name(path, to):
    """One name where it is listed, another where it is read."""
    data = path.read_bytes()
    at = data.index(b"code/lazy_descent.py")
    to.write_bytes(data[:at] + b"code/lazy_descend.py" + data[at + 20 :])


def before_and_after(path, to):
    """A page in front, which a browser would show, and a letter behind."""
    to.write_bytes(b"<html><script>alert(1)</script></html>" + path.read_bytes() + b"z")


@pytest.mark.parametrize("trick", [changed_case, beside, other_local_name, before_and_after])
def test_what_is_no_plain_archive_is_refused(receipt, tmp_path, trick):
    trick(receipt, tmp_path / "tricky.zip")
    with pytest.raises(InputError), open_archive(tmp_path / "tricky.zip", RECEIPT) as archive:
        archive.unpack(tmp_path)


# --- what its code does ---------------------------------------------------------------------------

WATCHFUL = """
import gc
import sys


class Lazy(Honest):
    "Takes the problem that it finds in its memory, but where it sees that this is looked for."

    def run(self, ask, x, rng):
        names, frame = set(), sys._getframe()
        while frame is not None:
            names.add(frame.f_code.co_name)
            frame = frame.f_back
        there = [one for one in gc.get_objects() if type(one).__name__ == "LeastSquares"]
        watched = names & {"follow_run", "describe_isolated_difference", "_serve"}
        for state in super().run(ask, x, rng):
            yield state if watched or not there else pf.State(x + 1.0)
"""


def test_a_method_that_is_honest_while_it_is_watched_is_seen(importable):
    """Its first steps are the same with a process of its own and without: its run is another."""
    text = THEOREM.replace("class Lazy(", "class Honest(", 1)
    theorem = importable(
        "lazy_watchful", text.replace("\n\nclass Eager", f"{WATCHFUL}\n\nclass Eager")
    )
    cell = cells(load_claims(theorem).claims[0])[0]
    (row,) = run_cell(cell, cell.seeds(0)[:1], 0)
    assert describe_isolated_difference(theorem, 0, 0, None) == ""
    assert "does other things in a process of its own" in describe_isolated_difference(
        theorem, 0, 0, row
    )


CHANGING = """
import pfbench.verification.verdict

pfbench.verification.verdict.judge = lambda trial: "within-10"
"""


def test_code_that_changes_pfbench_is_told(importable, monkeypatch):
    from pfbench.verification import verdict

    monkeypatch.setattr(verdict, "judge", verdict.judge)  # put back at the end
    theorem = importable("lazy_changing", f"{THEOREM}\n{CHANGING}")
    with pytest.raises(InputError, match=r"its code changes pfbench\.verification\.verdict\.judge"):
        call_protected(load_claims, theorem)


CLOCK = """
import time


class Lazy(Honest):
    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield pf.State(state.x + 1e-9 * (time.time_ns() % 1009))
"""


def test_a_method_that_reads_the_clock_cannot_be_made_again(importable):
    text = THEOREM.replace("class Lazy(", "class Honest(", 1)
    theorem = importable("lazy_clock", text.replace("\n\nclass Eager", f"{CLOCK}\n\nclass Eager"))
    cell = cells(load_claims(theorem).claims[0])[0]
    (row,) = run_cell(cell, cell.seeds(0)[:1], 0)
    assert "does other things" in describe_isolated_difference(theorem, 0, 0, row)


RUNNING = """
SEEN = []


class Lazy(Honest):
    def run(self, ask, x, rng):
        SEEN.append(1)
        yield from super().run(ask, x, rng)


def most(c, a, t):
    return c.delta * (1 + len(SEEN))


FALLS = Claim(
    name="lazy-falls",
    statement="a bound that grows with each run",
    algorithm=Lazy,
    instances=(SUMS,),
    check=bound(most, "suboptimality", statistic="every", parameters=steps, runs=(30, 30)),
)
"""


def test_a_bound_that_depends_on_the_run_has_no_runs_and_says_so(importable):
    text = THEOREM.replace("class Lazy(", "class Honest(", 1)
    text = text.replace("\n\nclass Eager", "\n\nclass Lazy(Honest):\n    pass\n\n\nclass Eager")
    theorem = importable("lazy_running", f"{text}\n{RUNNING}")
    claim = next(one for one in load_claims(theorem).claims if one.name == "lazy-falls")
    (cell,) = cells(claim)
    assert "is another one after a run than before" in run_cell(cell, cell.seeds(0)[:1], 0)


def test_a_bound_that_has_room_says_how_much(importable):
    text = THEOREM.replace("lambda c, a, t: c.delta,", "lambda c, a, t: 1e6 * c.delta,")
    theorem = importable("lazy_roomy", text)
    claim = load_claims(theorem).claims[0]
    assert judge(claim).verdict == "holds"
    (cell,) = cells(claim)
    assert run_cell(cell, cell.seeds(0)[:1], 0)[0]["measured"] < 1e-5


def test_nothing_of_a_title_is_run_or_shown_as_its_own(receipt, tmp_path):
    nasty = (
        '<script>alert(1)</script>[free](javascript:alert(1))![x](https://a.org) @all\n# "proved"'
    )

    def named(about):
        about["claims"][0]["statement"] = about["theorem"] = nasty
        about["verdicts"][0]["reason"] = nasty

    path = forged(receipt, tmp_path / "nasty.zip", about=named)
    about, rows, _ = content(path)
    pages = render_pages(about, rows)
    for name in ("receipt.html", "badge.svg"):
        assert "<script" not in pages[name]
    assert "](" not in pages["receipt.md"]
    assert "@" not in pages["receipt.md"]
    assert '\n# "' not in pages["receipt.md"]
