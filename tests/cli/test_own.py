"""FILE.py:NAME and MODULE:NAME on the command line and in specs: somebody's own things."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_things import Quadratic
from processes import run_python

ROOT = Path(__file__).parents[2]
OWN = ("-p", "own_things:Quadratic[rows=7]", "-a", "misbehaving:Descent[iterations=4,step=0.5]")
MEAN = Quadratic(rows=7).centres.mean(axis=0)

SPEC = """
problems = ["own_things:Quadratic[rows=7,seed={seed}]", "own_things:made"]
seeds = 2
measures = ["own_things:slope", "value"]
targets = ["own_things:slope=1e6", "own_things:slope=1e-9"]

[algorithms]
MINE = "misbehaving:Descent[iterations=4,step=0.5]"
FW = "frank-wolfe[iterations=3,step=open-loop]"
"""


def test_solve(pfbench, conforms):
    outcome = pfbench("solve", *OWN, "--measure", "own_things:distance_to_best", "--json")
    assert outcome.status == 0
    assert outcome.err.splitlines() == [
        f"importing {OWN[1]}",
        f"importing {OWN[3]}",
        "importing own_things:distance_to_best",
    ]
    found = conforms(outcome.json, "solve.json")
    assert (found["problem"], found["algorithm"]) == (OWN[1], OWN[3])
    assert (found["counts"]["fo"], found["counts"]["sfo"]) == (4, 4 * 7)
    assert found["final"]["distance_to_best"] == pytest.approx(np.linalg.norm(MEAN) / 16)


def test_names_are_printed_before_they_are_imported(pfbench, folder):
    (folder / "loud_for_tests.py").write_text(
        "import sys\nprint('imported', file=sys.stderr)\n"
        "from misbehaving import Descent\nfrom own_things import made, norm\n"
    )
    names = ("loud_for_tests:made", "loud_for_tests:Descent", "loud_for_tests:norm")
    outcome = pfbench("solve", "-p", names[0], "-a", names[1], "--measure", names[2])
    assert outcome.status == 0
    assert outcome.err.splitlines() == [*(f"importing {name}" for name in names), "imported"]


def test_solve_writes_the_trace_and_shows_it(pfbench, folder):
    outcome = pfbench(
        *("solve", *OWN, "--measure", "own_things:distance_to_best,own_things:bracket"),
        *("--trace", "t.csv", "--repeat", 2),
    )
    assert outcome.status == 0
    assert "distance_to_best" in outcome.out
    trace = pd.read_csv(folder / "t.csv")
    np.testing.assert_allclose(
        trace["distance_to_best"][:5], np.linalg.norm(MEAN) * 0.5 ** np.arange(5)
    )
    assert {"bracket", "bracket_lower"} <= set(trace.columns)


# --- sweeps ---------------------------------------------------------------------------------------


def sweep(pfbench, text, *more):
    Path("own.toml").write_text(text)
    return pfbench("run", "own.toml", "--jobs", 0, *more)


def test_a_sweep_of_own_things(pfbench, conforms, folder):
    outcome = sweep(pfbench, SPEC, "--json")
    assert (outcome.status, outcome.err.splitlines()) == (
        0,
        [
            "pfbench: importing own_things:Quadratic[rows=7,seed=0 or 1], which own.toml names.",
            f"pfbench: importing {OWN[3]}, which own.toml names.",
            "pfbench: importing own_things:slope, which own.toml names.",
            "pfbench: importing own_things:made, which own.toml names.",
        ],
    )
    found = conforms(outcome.json, "run.json")
    assert found["statuses"] == {"finished": 8}
    for one in found["runs"]:
        easy, hard = one["targets"]
        assert (easy["measure"], easy["calls"]["fo"]) == ("slope", 0)
        assert (hard["measure"], hard["calls"]) == ("slope", None)
    assert sweep(pfbench, SPEC, "--json").json["cached"] == 8
    assert sweep(pfbench, SPEC, "--dry-run", "--json").json["cached"] == 8


MODULE = """
import sys
from own_helper import RADIUS
from own_things import Quadratic

print("imported", file=sys.stderr)


def make(rows=5):
    return Quadratic(rows=rows, radius=RADIUS)


def distance(problem, state):
    return abs(state.x).sum()
"""

MINE = """
problems = "own_module:make[rows=6]"
algorithms = "frank-wolfe[iterations=3,step=open-loop]"
measures = "own_module:distance"
"""


def command(*arguments):
    """Run the command in a process of its own that does not look into the current folder."""
    path = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    out, err = run_python("-P", "-m", "pfbench", *arguments, env=path)
    return json.loads(out), err.splitlines()


@pytest.fixture
def again(pfbench):
    """Run the command here, with modules as they are now."""

    def run(*arguments):
        found = pfbench(*arguments, "--jobs", 0, "--json").json
        for name in ("own_module", "own_helper"):
            sys.modules.pop(name, None)
        return found

    return run


def test_code_beside_a_spec_in_workers_and_from_anywhere(folder, again):
    """Each name is printed before its module is imported; an edit makes the runs stale.

    A file lies where its spec does; its runs are known wherever that is, and by its module.
    """
    place, name = "some where/", "some where/own_module.py"
    home = folder / place
    home.mkdir()
    (home / "own_module.py").write_text(MODULE)
    (home / "own_helper.py").write_text("RADIUS = 1.0\n")
    (home / "by_module.toml").write_text(MINE)
    (home / "own.toml").write_text(MINE.replace("own_module", name.removeprefix(place)))
    first, told = command("run", f"{place}own.toml", "--jobs", "1", "--json")
    assert (first["executed"], first["statuses"]) == (1, {"finished": 1})
    assert first["runs"][0]["problem"] == f"{name}:make[rows=6]"
    importing = [f"pfbench: importing {name}:{what}" for what in ("make[rows=6]", "distance")]
    names = [f"{line}, which {place}own.toml names." for line in importing]
    assert told[:3] == [*names, "imported"]
    os.chdir(home)
    store = ("--store", str(folder / ".pfbench/store"))
    for spec in ("own.toml", "by_module.toml"):
        found = again("run", spec, *store)
        assert (found["cached"], found["runs"][0]["key"]) == (1, first["runs"][0]["key"])
    for file, old, new in (("own_helper", "1.0", "0.5"), ("own_module", "abs(", "2 * abs(")):
        code = home / f"{file}.py"
        code.write_text(code.read_text().replace(old, new))
        edited = again("run", "own.toml", *store)
        assert edited["executed"] == 1
        assert edited["runs"][0]["key"] != first["runs"][0]["key"]


# --- Plain functions by MODULE:NAME, where the command takes a method -----------------------------


ON = ("-p", "quadratic[source=synthetic,rows=40,columns=4,set=l2]")


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["conditional_gradient", "every_state"])
def test_a_function_is_checked_and_verified(pfbench, name):
    method = f"plain_methods:{name}"
    assert pfbench("check", method, "--json").json["passed"]
    found = pfbench("verify", "jaggi2013-thm1", "--algorithm", method, "--jobs", 0, "--json")
    assert [one["verdict"] for one in found.json["results"]] == ["within-10"]


def test_a_function_is_run_with_its_parameters_and_compared(pfbench):
    method = "plain_methods:mini_batch[iterations=9,batch=3]"
    assert pfbench("solve", *ON, "-a", method, "--json").json["counts"]["sfo"] == 27
    assert "batch" in pfbench("compare", "plain_methods:mini_batch", "--grid").out
    outcome = pfbench("solve", *ON, "-a", "plain_methods:mini_batch[batch=3]")
    assert "mini_batch needs iterations: write plain_methods" in outcome.err


# --- what pfbench check prints, its JSON, and its exit statuses -----------------------------------


OWN_PROBLEM = "own_things:Quadratic[rows=7]"


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("simplex",), "set"),
        (("penalty:l1",), "penalty"),
        (("l1[radius=3]",), "set"),
        (("estimator:svrg",), "estimator"),
        (("svrg",), "algorithm"),
        (("nfwu-svrg[batch=2]", "-p", OWN_PROBLEM), "algorithm"),
        (("misbehaving:Descent[iterations=4]",), "algorithm"),
        ((OWN_PROBLEM,), "problem"),
    ],
)
def test_what_is_right_passes(pfbench, conforms, arguments, kind):
    outcome = pfbench("check", *arguments, "--json")
    assert outcome.status == 0, outcome.out
    found = conforms(outcome.json, "check.json")
    assert (found["name"], found["kind"], found["passed"]) == (arguments[0], kind, True)
    assert all(one["expected"] is None for one in found["findings"])


def test_it_is_told_in_lines(pfbench):
    outcome = pfbench("check", "nfwu-svrg[batch=2]", "-p", OWN_PROBLEM)
    assert outcome.status == 0
    first, head, *lines, last = filter(None, outcome.out.splitlines())
    assert first == f"algorithm nfwu-svrg[batch=2], on {OWN_PROBLEM}"
    assert head.split() == ["check", "result", "what", "was", "seen"]
    assert all(" passed " in line or " skipped " in line for line in lines)
    assert ", 0 failed, " in last
    assert outcome.err.splitlines()[0] == f"importing {OWN_PROBLEM}"


WRONG = """
import numpy as np
from pfbench.sets import L1Ball


class Wrong(L1Ball):
    def lo(self, g):
        return -super().lo(g)
"""


def test_a_failure_is_told_whole(pfbench, folder, conforms):
    (folder / "my_sets.py").write_text(WRONG)
    outcome = pfbench("check", "my_sets.py:Wrong[radius=2]")
    assert outcome.status == 1
    (failure,) = [line for line in outcome.out.splitlines() if line.startswith("lo minimises: ")]
    for words in ("<g, lo(g)> must be the minimum", "does lo maximise", "Example: g = ("):
        assert words in failure
    assert failure.endswith("Look at my_sets.py:7 (Wrong.lo).")
    outcome = pfbench("check", "my_sets.py:Wrong", "--json")
    found = conforms(outcome.json, "check.json")
    assert (outcome.status, found["passed"]) == (1, False)
    one = next(one for one in found["findings"] if one["check"] == "lo minimises")
    assert one["locations"] == ["my_sets.py:7 (Wrong.lo)"]
