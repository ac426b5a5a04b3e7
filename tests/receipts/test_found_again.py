"""A fault counts as found again by the rule by which it was found."""

import os
import subprocess
import sys

import pytest

from pfbench.receipts import again, redone

THEOREM = """
from pfbench.algorithms import ALGORITHMS
from pfbench.claims import Claim, Mutant, counts

class Right(ALGORITHMS["prox-gd"]):
    pass

class Raises(Right):
    def run(self, ask, x, rng):
        yield from super().run(ask, before, rng)

class Idle(Right):
    summary = "the same"

def steps(c):
    return {"iterations": 3, "step": 0.1}

COUNT = Claim(
    name="steps-count",
    statement="n T SFO",
    algorithm=Right,
    instances=("quadratic[rows=20,columns=3,source=synthetic]",),
    check=counts(lambda c, a: {"sfo": c.n * a.iterations, "po": a.iterations}, parameters=steps),
)
FAULTS = [Mutant.of("raises", Raises, COUNT), Mutant.of("idle", Idle, COUNT)]
"""


def test_a_fault_by_which_the_method_raises_is_found(tmp_path, monkeypatch):
    (tmp_path / "raising_theorem.py").write_text(THEOREM)
    monkeypatch.chdir(tmp_path)
    found = {
        fault: redone.is_found("raising_theorem.py", "", fault, "steps-count", "quick", 0)
        for fault in ("raises", "idle")
    }
    assert found == {"raises": True, "idle": False}


HASWELL, ZEN = "openblas 0.3.30 Haswell, openblas 0.3.31.188.0 Haswell", "openblas 0.3.30 Zen"
SHOW = "import os; print(os.environ.get('OPENBLAS_CORETYPE'))"


@pytest.mark.parametrize(
    ("there", "here", "works", "taken"),
    [
        (HASWELL, ZEN, 0, "Haswell"),
        (HASWELL, HASWELL, 0, ""),
        (HASWELL, ZEN, -4, ""),  # this processor has not what they need
        ("openblas 0.3.30 Haswell, openblas 0.3.31 Zen", ZEN, 0, ""),
        ("mkl 2025", ZEN, 0, ""),
        ("openblas 0.3.30 $(reboot)", ZEN, 0, ""),
    ],
)
def test_the_authors_kernels_are_taken_where_they_can_be(monkeypatch, there, here, works, taken):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    run, tried = subprocess.run, []

    def trial(command, **options):
        tried.append(options["env"]["OPENBLAS_CORETYPE"])
        return subprocess.CompletedProcess(command, works)

    monkeypatch.setattr(again.subprocess, "run", trial)
    with again.kernels_of(there, here) as kernels:
        inside = run([sys.executable, "-c", SHOW], capture_output=True, text=True).stdout.strip()
    assert (kernels, inside) == (taken, taken or "None")
    assert tried == ["Haswell"] * (bool(taken) or works != 0)
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_kernels_that_the_checker_chose_are_left(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    with again.kernels_of(HASWELL, "openblas 0.3.30 Nehalem") as kernels:
        assert kernels == ""
    assert os.environ["OPENBLAS_CORETYPE"] == "Nehalem"
