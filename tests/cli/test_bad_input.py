"""Bad input as a new user gives it: one clear line, exit 2, no traceback, nothing left behind."""

import bz2
import os

import pytest
from command_line import SMALL, SVRG

P, A = ("-p", SMALL), ("-a", SVRG)


def with_algorithm(parameters):
    return ("solve", *P, "-a", f"nfwu-svrg[{parameters}]")


def with_problem(parameters, name="robust-matrix-recovery"):
    return ("solve", "-p", f"{name}[{parameters}]", *A)


GOOD = {"batch": "7", "period": "4", "iterations": "10", "step": "0.1"}


def svrg(**changes):
    return with_algorithm(",".join(f"{k}={v}" for k, v in {**GOOD, **changes}.items()))


CASES = {
    # names
    "verb": (("sovle",), "'solve'"),
    "no such verb": (("frobnicate",), "frobnicate"),
    "verb of data": (("data", "fetsh"), "'fetch'"),
    "kind": (("list", "algorithm"), "'algorithms'"),
    "name": (("info", "nfwu-svgr"), "'nfwu-svrg'"),
    "problem": (("solve", "-p", "robust-matrix", *A), "'robust-matrix-recovery'"),
    "algorithm": (("solve", *P, "-a", "frankwolfe"), "'frank-wolfe'"),
    "parameter": (svrg(perod=3), "'period'"),
    "parameter of a problem": (with_problem("rnk=3"), "'rank'"),
    "parameter of another source": (with_problem("source=digits,rank=3"), "rank"),
    "source": (with_problem("source=digts"), "'digits'"),
    "source of the wrong kind": (
        with_problem("source=covertype", "nonconvex-logistic"),
        "breast-cancer",
    ),
    "set": (with_problem("set=linff", "nonconvex-logistic"), "'linf'"),
    "edition": (with_problem("source=movielens,edition=10mm"), "'10m'"),
    "measure": (("solve", *P, *A, "--measure", "fw_gapp"), "'fw_gap'"),
    "measure of another problem": (
        ("solve", "-p", "nonconvex-logistic", *A, "--measure", "rmse_truth"),
        "rmse_truth",
    ),
    "target": (("solve", *P, *A, "--stop", "gap=1"), "'fw_gap'"),
    "count": (("solve", *P, *A, "--budget", "foo=1"), "'fo'"),
    "output": (svrg(output="lst"), "last"),
    "schedule": (svrg(schedule="theroy"), "'theory'"),
    "data set": (("data", "check", "a9b"), "'a9a'"),
    "data set to fetch": (("data", "fetch", "a9b"), "'a9a'"),
    "report": (("report", "gradient-estimator"), "'gradient-estimators'"),
    "option": (("solve", *P, *A, "--sed", "1"), "--seed"),
    # forms
    "no problem": (("solve", *A), "--problem"),
    "no algorithm": (("solve", *P), "--algorithm"),
    "no name": (("info",), "NAME"),
    "nothing to fetch": (("data", "fetch"), "pfbench data fetch a9a"),
    "empty selector": (("solve", "-p", "", *A), "NAME[key=value"),
    "missing bracket": (("solve", "-p", "robust-matrix-recovery[rank=3", *A), "NAME[key=value"),
    "missing bracket of an algorithm": (("solve", *P, "-a", "nfwu-svrg[batch=3"), "NAME["),
    "missing value": (with_problem("rank="), "key=value"),
    "missing key": (with_problem("=3"), "key=value"),
    "no equals sign": (with_problem("rank"), "key=value"),
    "repeated key": (with_algorithm("batch=3,batch=4"), "batch is given twice"),
    "repeated count": (("solve", *P, *A, "--budget", "sfo=1,sfo=2"), "sfo is given twice"),
    "repeated measure": (("solve", *P, *A, "--measure", "value,value"), "twice"),
    "empty measure": (("solve", *P, *A, "--measure", "value,"), "NAME,NAME"),
    "budget without number": (("solve", *P, *A, "--budget", "sfo"), "sfo"),
    "budget in words": (("solve", *P, *A, "--budget", "sfo=many"), "many"),
    "target without number": (("solve", *P, *A, "--stop", "fw_gap"), "MEASURE=NUMBER"),
    "target in words": (("solve", *P, *A, "--stop", "fw_gap=abc"), "MEASURE=NUMBER"),
    # types
    "batch in words": (svrg(batch="abc"), "batch='abc' must be an integer"),
    "half a batch": (svrg(batch="2.5"), "batch=2.5 must be an integer"),
    "step in words": (svrg(step="small"), "step='small' must be a number"),
    "truth as a number": (svrg(batch="true"), "batch=True must be an integer"),
    "rank in words": (with_problem("rank=five"), "rank='five' must be an integer"),
    "number as source": (with_problem("source=5"), "source"),
    "number as data set": (with_problem("source=5", "nonconvex-logistic"), "source"),
    "number as edition": (with_problem("source=movielens,edition=3"), "edition"),
    "seed in words": (("solve", *P, *A, "--seed", "abc"), "--seed"),
    "half a seed": (("solve", *P, *A, "--seed", "1.5"), "--seed"),
    "time limit in words": (("solve", *P, *A, "--time-limit", "long"), "--time-limit"),
    # ranges
    "negative rows": (with_problem("rows=-3"), "rows=-3 must be at least 1"),
    "no columns": (with_problem("columns=0"), "columns=0 must be at least 1"),
    "negative batch": (svrg(batch="-7"), "batch=-7 must be at least 1"),
    "no iterations": (svrg(iterations="0"), "iterations=0 must be at least 1"),
    "step NaN": (svrg(step="nan"), "step=nan must be finite"),
    "step above 1": (svrg(step="1.5"), "step=1.5 must be at most 1"),
    "step 0": (svrg(step="0"), "step=0 must be greater than 0"),
    "radius NaN": (with_problem("radius=nan"), "radius=nan must be finite"),
    "radius infinite": (with_problem("radius=inf"), "radius=inf must be finite"),
    "density NaN": (with_problem("density=nan"), "density=nan must be finite"),
    "density above 1": (with_problem("density=1.2"), "density=1.2 must be at most 1"),
    "nothing observed": (with_problem("rows=3,columns=3,rank=1,density=0.01"), "density"),
    "rank too high": (with_problem("rows=3,columns=3,rank=4"), "rank=4 must be at most 3"),
    "sigma that overflows": (with_problem("sigma=1e-320"), "sigma"),
    "noise that overflows": (with_problem("noise=1e308"), "noise=1e+308"),
    "matrix beyond all memory": (with_problem("rows=1000000000000,columns=1000000"), "too large"),
    "matrix beyond all integers": (with_problem("rows=1" + 30 * "0"), "2^62"),
    "epsilon 0": (with_algorithm("epsilon=0"), "epsilon=0 must be greater than 0"),
    "epsilon NaN": (with_algorithm("epsilon=nan"), "epsilon=nan must be finite"),
    "epsilon too small": (with_algorithm("epsilon=1e-300"), "epsilon=1e-300 is too small"),
    "epsilon too large": (with_algorithm("epsilon=1e6"), "smaller epsilon"),
    "missing parameters": (with_algorithm("batch=3"), "iterations, step, period"),
    "theory without epsilon": (with_algorithm("schedule=theory"), "epsilon"),
    "seed negative": (("solve", *P, *A, "--seed", "-1"), "--seed=-1 must be at least 0"),
    "repeat 0": (("solve", *P, *A, "--repeat", "0"), "--repeat=0 must be at least 1"),
    "every 0": (("solve", *P, *A, "--every", "0"), "--every=0 must be at least 1"),
    "time limit 0": (("solve", *P, *A, "--time-limit", "0"), "must be greater than 0"),
    "time limit NaN": (("solve", *P, *A, "--time-limit", "nan"), "must be finite"),
    "budget negative": (("solve", *P, *A, "--budget", "sfo=-5"), "sfo=-5"),
    "budget NaN": (("solve", *P, *A, "--budget", "sfo=nan"), "sfo=nan"),
    "target NaN": (("solve", *P, *A, "--stop", "fw_gap=nan"), "fw_gap"),
    "jobs -1": (("report", "gradient-estimators", "--jobs", "-1"), "--jobs=-1 must be at least 0"),
    "endless": (("solve", *P, "-a", "frank-wolfe"), "never ends"),
    "endless dry run": (("solve", *P, "-a", "frank-wolfe", "--dry-run"), "never ends"),
    # files and folders
    "trace suffix": (("solve", *P, *A, "--trace", "t.txt"), ".csv or .parquet"),
    "trace without suffix": (("solve", *P, *A, "--trace", "t"), ".csv or .parquet"),
    "trace in a missing folder": (("solve", *P, *A, "--trace", "no/t.csv"), "make it first"),
    "trace in a file": (("solve", *P, *A, "--trace", "file/t.csv"), "no folder file"),
    "trace is a folder": (("solve", *P, *A, "--trace", "folder.csv"), "is a folder"),
    "missing spec": (("report", "nope.toml"), "nope.toml cannot be read"),
    "folder as spec": (("report", "folder.csv"), "folder.csv cannot be read"),
    "damaged spec": (("report", "damaged.toml"), "damaged.toml is not a TOML file"),
    "spec without algorithms": (("report", "empty.toml"), "the field algorithms is missing"),
    "output in a file": (("report", "gradient-estimators", "-o", "file/out"), "-o"),
    "store in a file": (("report", "gradient-estimators", "--store", "file/store"), "--store"),
    "missing data": (
        with_problem("source=a9a", "nonconvex-logistic"),
        "run `pfbench data fetch a9a`",
    ),
    "missing ratings": (
        with_problem("source=movielens"),
        "run `pfbench data fetch movielens-latest-small`",
    ),
    "ratings that are not there": (
        with_problem("source=movielens,edition=no/ratings.csv"),
        "no/ratings.csv does not exist",
    ),
    "damaged ratings": (with_problem("source=movielens,edition=bad/ratings.csv"), "line 2"),
    "damaged data": (
        with_problem("source=w8a", "nonconvex-logistic"),
        "is not the data set w8a: it is damaged or truncated",
    ),
    "checking damaged data": (("data", "check", "w8a"), "w8a: it is damaged or truncated"),
    "checking missing data": (("data", "check", "a9a"), "pfbench data fetch a9a"),
}


@pytest.fixture
def files(folder):
    """Files and folders that the cases name; w8a is there, but cut in two."""
    (folder / "file").write_text("a file\n")
    (folder / "folder.csv").mkdir()
    (folder / "damaged.toml").write_text('title = "x\n[[study]')
    (folder / "empty.toml").write_text('problems = "x"\n')
    (folder / "bad").mkdir()
    (folder / "bad" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,five,3\n")
    (folder / "data" / "w8a").mkdir(parents=True)
    whole = bz2.compress(b"-1 3:1 5:1\n" * 100_000)
    (folder / "data" / "w8a" / "w8a.bz2").write_bytes(whole[: len(whole) // 2])
    return folder


def contents(folder):
    return {path: path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.parametrize(("arguments", "says"), CASES.values(), ids=CASES)
def test_bad_input_is_one_line_and_leaves_nothing(pfbench, files, arguments, says):
    before = contents(files)
    refusal = pfbench(*arguments).refusal
    assert says in refusal
    assert refusal[-1] in ".?"
    assert contents(files) == before


@pytest.mark.parametrize(
    "arguments", [("solve", *P, *A, "--trace", "t.txt"), ("solve", *P, "-a", "nope")]
)
def test_json_makes_no_difference(pfbench, arguments):
    assert pfbench(*arguments, "--json").refusal == pfbench(*arguments).refusal


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_refused(pfbench, folder):
    (folder / "locked").mkdir(mode=0o500)
    assert "cannot be written" in pfbench("solve", *P, *A, "--trace", "locked/t.csv").refusal
    assert "-o" in pfbench("report", "gradient-estimators", "-o", "locked").refusal
    assert "--store" in pfbench("report", "gradient-estimators", "--store", "locked").refusal


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody can write")
def test_a_folder_that_nobody_can_write_is_refused(pfbench, monkeypatch):
    assert "cannot be written" in pfbench("solve", *P, *A, "--trace", "/proc/t.csv").refusal
    assert "-o" in pfbench("report", "gradient-estimators", "-o", "/proc/out").refusal
    assert "--store" in pfbench("report", "gradient-estimators", "--store", "/proc/s").refusal
    monkeypatch.setenv("PFBENCH_STORE", "/proc/s")
    assert "--store" in pfbench("report", "gradient-estimators").refusal
    monkeypatch.setenv("PFBENCH_DATA", "/proc/data")
    assert "PFBENCH_DATA" in pfbench("data", "fetch", "a9a").refusal


def test_a_data_folder_that_is_a_file_is_refused(pfbench, files, monkeypatch):
    monkeypatch.setenv("PFBENCH_DATA", "file")
    assert "PFBENCH_DATA=file is not a folder" in pfbench("data", "list").refusal
    assert "PFBENCH_DATA=file is not a folder" in pfbench("data", "fetch", "a9a").refusal
