"""`pfbench store merge --rerun`: a planted run is found, a true one has the same bits."""

import shutil
from dataclasses import replace

import pytest
from command_line import SMALL

from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.execute import execute_sweep
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.storage.store import Store

SPEC = f"""
problems = "{SMALL}"
algorithms = ["nfwu-svrg[batch=7,period=4,iterations=10,step=0.1]", "frank-wolfe[iterations=3]"]
seeds = 2
budget = "sfo=100000"
measures = ["fw_gap"]
targets = ["fw_gap=1e-9"]
time_limit = 100.0
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store of four runs that were made."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "s.toml").write_text(SPEC)
    plans = load_spec(folder / "s.toml").runs()
    assert len(list(execute_sweep(plans, Store(folder / "store"), SingleProcessEngine()))) == 4
    return folder / "store"


@pytest.fixture
def theirs(made, folder):
    """A copy of it, in the current folder."""
    shutil.copytree(made, folder / "theirs")
    return Store(folder / "theirs")


def merged(pfbench, *more):
    return pfbench("store", "merge", "theirs", "--store", "ours", "--jobs", 1, *more)


def plant(store, key, change, notes=lambda notes: notes):
    """Put a run into the store as somebody would who wants it to be found there."""
    entry = store.get(key)
    store.put(key, change(entry.run), entry.environment, notes(dict(entry.notes)))


def replaced(**changes):
    return lambda run: replace(run, **changes)


def one_bit(run):
    *rows, last = run.rows
    return replaced(rows=[*rows, (*last[:-1], last[-1] * (1 + 2**-50))])(run)


def test_true_runs_agree_and_are_copied(pfbench, theirs, conforms):
    outcome = merged(pfbench, "--rerun", "1", "--json")
    assert outcome.status == 0, outcome.err
    conforms(outcome.json, "store.json")
    assert outcome.json["rerun"] == {"agree": 4, "not_rerun": {}}
    assert outcome.json["added"] == 4


def test_one_run_of_a_share_is_made_again(pfbench, theirs):
    assert "1 run made again" in merged(pfbench, "--rerun", "0.1").out


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (replaced(iterations=2), "iterations"),
        (replaced(final={"fw_gap": 0.0}), "final"),
        (one_bit, "column"),
    ],
)
def test_a_planted_result_is_found_and_nothing_is_copied(pfbench, theirs, folder, change, says):
    key = next(iter(theirs.keys()))
    plant(theirs, key, change)
    outcome = merged(pfbench, "--rerun", "1")
    assert outcome.status == 1
    assert (
        f"run {key} is not what its key says: made again, it differs in its {says}" in outcome.err
    )
    assert "nothing is copied" in outcome.err
    assert not (folder / "ours").exists()


def test_a_true_run_under_the_key_of_another_is_found(pfbench, theirs):
    first, second, *_ = theirs.keys()
    other = theirs.get(second)
    theirs.put(first, other.run, other.environment, other.notes)
    outcome = merged(pfbench, "--rerun", "1")
    assert outcome.status == 1
    assert "differs in its key" in outcome.err


def test_nothing_that_a_store_names_is_imported_or_opened(pfbench, theirs, folder):
    (folder / "canary.py").write_text("open('sung', 'w')\n")
    keys = [*theirs.keys()]
    file = "robust-matrix-recovery[source=movielens,edition=/etc/passwd]"
    changes = ({"problem": "canary:X"}, {"problem": file}, {"algorithm": "canary:X"}, {"seed": 99})
    for key, changed in zip(keys, changes, strict=True):
        noted = {} if "seed" in changed else changed
        plant(theirs, key, replaced(**changed), lambda n, c=noted: n | {"plan": {**n["plan"], **c}})
    outcome = merged(pfbench, "--rerun", "1")
    assert "0 runs made again" in outcome.out
    assert "2 runs of the share cannot be compared: of somebody's own modules" in outcome.err
    assert "1 run of the share cannot be compared: of a file that" in outcome.err
    assert "1 run of the share cannot be compared: stored with the plan of another" in outcome.err
    assert "root" not in outcome.err
    assert not (folder / "sung").exists()


@pytest.mark.parametrize("plan", [None, {}, [], {"problem": 3}, {"measures": 5}, {"every": "x"}])
def test_a_plan_that_is_none(pfbench, theirs, plan):
    for key in theirs.keys():  # noqa: SIM118
        whole = (
            plan
            if not isinstance(plan, dict) or not plan
            else {**theirs.get(key).notes["plan"], **plan}
        )
        plant(theirs, key, lambda run: run, lambda notes, p=whole: notes | {"plan": p})
    outcome = merged(pfbench, "--rerun", "0.5", "--json")
    assert "Traceback" not in outcome.err
    assert "this is a bug" not in outcome.err
    assert "cannot be compared" in outcome.err


@pytest.mark.parametrize("share", ["0", "-1", "1.5", "nan", "x"])
def test_a_share_is_a_part(pfbench, theirs, share):
    assert "--rerun" in merged(pfbench, "--rerun", share).refusal
