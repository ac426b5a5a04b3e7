"""Count snapshots in a test file of another project, in a pytest of its own."""

import pytest
from inner_pytest import run_pytest

SOLVER = """
def solve(grad, lmo, x0, steps=100, late=10**9):
    x = x0
    for t in range(steps):
        g = grad(x)
        if t == late:
            g = grad(x)
        x = x + 2 / (t + 2) * (lmo(g) - x)
    return x
"""

TESTS = """
from solver import solve


def test_counts(oracles):
    ask = oracles("quadratic[rows=40,columns=8]")
    solve(ask.gradient, ask.lo, ask.start)


def test_within_a_range(oracles):
    ask = oracles("quadratic[rows=40,columns=8]", tolerance=0.1)
    solve(ask.gradient, ask.lo, ask.start, steps=20)


def test_without():
    pass
"""


@pytest.fixture
def project(tmp_path):
    files = {"solver.py": SOLVER, "test_solver.py": TESTS}

    def run(*more, **edits):
        for name, text in files.items():
            for old, new in edits.items():
                text = text.replace(old, new)
            (tmp_path / name).write_text(text)
        return run_pytest(tmp_path, "-q", *more)

    return run, tmp_path / "pfbench-counts.txt"


def test_counts_are_pinned(project):
    run, file = project
    key = "test_solver.py::test_counts quadratic[rows=40,columns=8] seed=0"
    new = run()
    assert f"{key}: not in the file: fo=100 sfo=4000 lo=100 calls=" in new
    assert "2 failed, 1 passed" in new
    assert "3 passed" in run("--update-counts")
    text = file.read_text()
    assert "test_within_a_range quadratic[rows=40,columns=8] seed=0: fo=18..22 sfo=720..880" in text
    late = run(**{"late=10**9": "late=40"})
    assert (
        f"{key}: FO 101, was 100 (+1); SFO 4040, was 4000 (+40); LO equal; the first 64 "
        "calls agree, the first 128 do not" in late
    )
    assert "accept with --update-counts" in late
    assert "1 failed, 2 passed" in late
    more = run(**{"steps=20": "steps=25"})
    assert "FO 25, was 18..22" in more
    gone = run(**{"rows=40,columns=8": "rows=50,columns=8"})
    assert f"{key}: no longer used" in gone
    assert file.read_text() == text
    assert "3 passed" in run("--update-counts", **{"rows=40,columns=8": "rows=50,columns=8"})
    assert "rows=40" not in file.read_text()
