"""A theorem on a problem that reads a CSV: that is in its receipt, and missed by its name."""

import sys
import zipfile

import pytest
from forged_receipts import run

from pfbench.receipts.receipt_page import render_pages
from pfbench.receipts.receipt_runs import cells, run_cell
from pfbench.receipts.theorem_receipt import RECEIPT, TheoremEvidence, receipt_fields, write
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.storage.archive import open_archive
from pfbench.verification.session import judge
from pfbench.verification.user_claims import load_claims

THEOREM = """
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pfbench as pf
from pfbench.base.constants import Constants
from pfbench.claims import Claim, counts
from pfbench.problems import FiniteSum
from pfbench.sets import WholeSpace


class Rows(FiniteSum):
    def __init__(self):
        self.rows = np.loadtxt(Path(__file__).parent / "measured.csv", delimiter=",")
        self.n, self.set = len(self.rows), WholeSpace(2)

    def value(self, x):
        return float(np.mean(np.sum((x - self.rows) ** 2, axis=1)) / 2)

    def gradient(self, x):
        return x - self.rows.mean(axis=0)

    def constants(self, start):
        return Constants.from_derivations(n=(self.n, "rows"), L_f=(1.0, "|x|^2/2"))


@dataclass(frozen=True, kw_only=True)
class Descent(pf.Algorithm):
    name, deterministic = "descent", True
    requires = frozenset({"gradient", "smooth"})
    iterations: int

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = x - 0.5 * ask.gradient(x)
            yield pf.State(x)


COUNT = Claim(
    name="rows-count",
    statement="n T SFO",
    algorithm=Descent,
    instances=(Rows,),
    check=counts(lambda c, a: {"sfo": c.n * a.iterations}, parameters=lambda c: {"iterations": 3}),
)
"""
DATA = "1.5,2\n3,4\n-1,0.25\n"


@pytest.fixture
def receipt(tmp_path, monkeypatch):
    """Its receipt, without power and faults, of which other tests tell; its author's files gone."""
    (tmp_path / "about_rows.py").write_text(THEOREM)
    (tmp_path / "measured.csv").write_text(DATA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "pooch", None)  # without the extra of data
    monkeypatch.delenv("PFBENCH_DATA", raising=False)
    claims = load_claims("about_rows.py").claims
    every = [(cell, cell.seeds(0)) for claim in claims for cell in cells(claim)]
    evidence = TheoremEvidence(
        verdicts=[judge(claim).as_json() for claim in claims],
        faults={"planted": [], "generated": [], "drawn": 0},
        power=[],
        errata=[],
        worst=[],
        rows=[row for at, pair in enumerate(every) for row in run_cell(*pair, at)],
        without={},
    )
    with_those = {"environment": SingleProcessEngine().environment(), "version": "0.1.0"}
    said = receipt_fields("about_rows.py", claims, evidence, **with_those, seed=0, effort="quick")
    write(
        tmp_path / "rows.zip",
        "about_rows.py",
        said,
        evidence.rows,
        render_pages(said, evidence.rows),
    )
    sys.modules.pop("about_rows", None)
    for name in ("about_rows.py", "measured.csv"):
        (tmp_path / name).unlink()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return tmp_path / "rows.zip"


def test_the_file_is_inside_and_a_changed_byte_of_it_is_named(receipt, tmp_path):
    with open_archive(receipt, RECEIPT) as archive:
        assert archive.read("code/measured.csv") == DATA.encode()
        assert [*archive.manifest["reads"]] == ["measured.csv"]
    done = run("receipt", "--check", receipt, "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert "1 of 1" in done.stdout
    whole = zipfile.ZipFile(receipt)
    with zipfile.ZipFile(tmp_path / "byte.zip", "w") as other:
        for entry in whole.infolist():
            data = whole.read(entry)
            csv = entry.filename == "code/measured.csv"
            other.writestr(entry, data.replace(b"0.25", b"0.26") if csv else data)
    done = run("receipt", "--check", tmp_path / "byte.zip", "--jobs", 1)
    assert done.exit_code == 1
    assert "code/measured.csv in" in done.stderr
    assert "importing" not in done.stderr
