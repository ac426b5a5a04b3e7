"""A trajectory as FrankWolfe.jl writes it, recounted, is our own run's trace, row by row."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import pfbench as pf
from pfbench.adapters import read_trajectory
from pfbench.adapters.frank_wolfe_jl import RECORDED
from pfbench.base.errors import InputError
from pfbench.cli.main import app

T, ROWS = 7, 30
PROBLEM = pf.problem("log-cosh", rows=ROWS, columns=4, set="l1")
OURS = pf.solve(
    PROBLEM,
    pf.algorithm("frank-wolfe", step="open-loop", iterations=T),
    measures=["objective", "fw_gap"],
)


def theirs(tracked=False):
    """The loop of frank_wolfe, step Agnostic: each row before its step, the output once more."""
    x, rows, calls = PROBLEM.start(), [], [0, 0, 0]

    def row(t):
        g = PROBLEM.gradient(x)
        v = PROBLEM.set.lo(g)
        primal, gap = PROBLEM.value(x), float(g @ (x - v))
        for k in range(3):
            calls[k] += 1  # the value is for the trajectory alone
        rows.append([t, primal, primal - gap, gap, 0.1 * t, *(calls if tracked else ())])
        return v

    for t in range(T):
        v = row(t + 1)
        x = x + 2 / (t + 2) * (v - x)
    row(T)
    return rows


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("form", ["json", "csv", "tsv"])
def test_it_is_our_own_trace(tmp_path, form, tracked):
    path, rows = tmp_path / f"traj.{form}", theirs(tracked)
    delimiter = {"csv": ",", "tsv": "\t"}.get(form)
    text = json.dumps({"fw": rows}) if delimiter is None else ""
    path.write_text(text or "\n".join(delimiter.join(map(repr, row)) for row in rows))
    further = ("gradient_calls", "lmo_calls", "f_calls") if tracked else ()
    run = read_trajectory(
        path,
        entry="fw" if form == "json" else None,
        columns=("t", "primal", "dual", "dual_gap", "time", *further),
        n=ROWS,
        step=None if tracked else "Agnostic",
    ).as_run("log-cosh", "FrankWolfe.jl")
    for name in ("iteration", "fo", "sfo", "lo"):
        assert run.trace[name].tolist() == OURS.trace[name].tolist(), name
    for name in ("objective", "fw_gap"):
        np.testing.assert_allclose(run.trace[name], OURS.trace[name], rtol=1e-12)
    assert run.counts.fv == (ROWS * T if tracked else 0)  # what it asked for its own trajectory


def test_what_nobody_counted_is_left_open(tmp_path):
    path = tmp_path / "traj.json"
    path.write_text(json.dumps(theirs()))
    secant = read_trajectory(path, step="Secant")
    assert secant.table["lo"].isna().all()
    assert secant.table["objective"].notna().all()
    with pytest.raises(InputError, match="lacks the counts fo, sfo, lo, fv: record"):
        secant.as_run("log-cosh", "FrankWolfe.jl")
    store = tmp_path / "store"
    read_trajectory(path, step="Agnostic", n=ROWS).store(store, "log-cosh", "FrankWolfe.jl")
    shown = CliRunner().invoke(app, ["report", "--store", str(store), "--text"])
    assert shown.exit_code == 0, shown.stderr
    assert "FrankWolfe.jl" in shown.stdout


@pytest.mark.parametrize(
    ("text", "given", "says"),
    [
        ("[]", {}, "has no rows"),
        ("[[1, 2, 3]]", {}, "row 1 of .* has 3 numbers, and columns has 5"),
        ("[[1, 2, 3, 4, NaN]]", {}, "row 1 .* NaN or Inf"),
        ("{oh", {}, "has no rows of numbers"),
        ('{"fw": [[1,2,3,4,5]]}', {"entry": "fww"}, "did you mean 'fw'"),
        ("[[1]]", {"columns": ["t"]}, "columns lacks primal"),
        *[
            ("[" + ",".join(f"[{t},1,1,1,0.1]" for t in ts) + "]", {}, says)
            for ts, says in [
                ((1, 2, 3, 1, 2), "row 4 .* t=1, which must be at least 3"),
                ((2, 1), "row 2 .* t=1, which must be at least 2"),
                ((1.5,), "row 1 .* t=1.5: write a whole number"),
                ((-3,), "row 1 .* t=-3, which must be at least 0"),
            ]
        ],
        ("[[1,1,1,1,-5]]", {}, "row 1 .* time=-5"),
        ("[[1,1,1,1,0.2],[2,1,1,1,0.1]]", {}, "row 2 .* time=0.1, which must be at least 0.2"),
        *[
            (
                f"[[1,1,1,1,0,1],[2,1,1,1,0,{calls}],[3,1,1,1,0,-3]]",
                {"columns": [*RECORDED, "gradient_calls"]},
                f"row {row} .* gradient_calls={value}",
            )
            for calls, row, value in [
                (0, 2, "0, which must be at least 1"),
                (1.5, 2, "1.5"),
                (2, 3, "-3, which must be at least 2"),
            ]
        ],
        ("[[1,1,1,null,0]]", {}, "row 1 .* null"),
        ("[" * 3000 + "]" * 3000, {}, "nested too deeply"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text, given, says):
    path = tmp_path / "traj.json"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_trajectory(path, **given)
