"""Exports, read back by small parsers written from each format's documentation.

The tools themselves (benchopt, cocopp, iohinspector) read them as well, where they are installed.
"""

import csv
import json
import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from stored import ENVIRONMENT, LOGISTIC, RECOVERY, SVRG, change, key_of, made_run

from pfbench.base.errors import InputError, StorageError
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.statistics.distributions import ecdf
from pfbench.reporting.statistics.runtimes import ert, make_runtimes
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.storage.exports import FORMATS, export
from pfbench.runs.storage.exports.measure_curves import ExportOptions, algorithm_folder_names
from pfbench.runs.storage.exports.naming import run_names
from pfbench.runs.storage.store import Store

FW = "frank-wolfe[iterations=3]"
VIEW = ExportOptions(measure="fw_gap")
DIMENSION = {LOGISTIC: 4, RECOVERY: 120}


@pytest.fixture
def store(tmp_path):
    """Two algorithms on two problems with two seeds, one refused run, one that has diverged."""
    store = Store(tmp_path / "store")
    for problem in (LOGISTIC, RECOVERY):
        for algorithm in (SVRG, FW):
            for seed in (0, 4):
                run = made_run(seed, problem=problem, algorithm=algorithm)
                notes = {"dimension": DIMENSION[problem]}
                store.put(key_of(f"{problem} {algorithm} {seed}"), run, ENVIRONMENT, notes)
    refused = made_run(7, rows=0, status="refused", final={}, columns=TRACE_COLUMNS)
    store.put(key_of("refused"), refused, ENVIRONMENT, {"dimension": 4})
    run = made_run(9, stop_reason='a "comma", and\na line', status="diverged")
    lost = [(*row[:-2], row[-2] / 3, row[-1]) for row in run.rows]
    lost[-1] = (*lost[-1][:-1], math.nan)
    store.put(key_of("diverged"), replace(run, rows=lost), ENVIRONMENT, {"dimension": 4})
    return store


@pytest.fixture
def exported(store, tmp_path):
    def write(form, view=VIEW, keys=None):
        folder = tmp_path / form
        files, _ = export(store, listed(store, keys), form, folder, view)
        assert all(path.stat().st_size for path in files)
        assert {path for path in folder.rglob("*") if path.is_file()} == set(files)
        return folder

    return write


def listed(store, keys=None):
    return [row for row in store.rows() if keys is None or row["key"] in keys]


def slowed(run, steps):
    """Return a run with so many times its linear minimisations."""
    lo = run.columns.index("lo")
    spent = [(*row[:lo], steps * row[lo], *row[lo + 1 :]) for row in run.rows]
    return replace(run, rows=spent, counts=replace(run.counts, lo=spent[-1][lo]))


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- CSV ------------------------------------------------------------------------------------------


def test_every_run_has_a_line_in_both_tables_of_runs(store, exported):
    for form in ("csv-wide", "csv-long"):
        rows = {row["key"]: row for row in table(exported(form) / "runs.csv")}
        assert sorted(rows) == [*store.keys()]
        for key, row in rows.items():
            run = store.get(key).run
            assert row["stop_reason"] == run.stop_reason.replace("\n", "\\n")
            assert json.loads(row["parameters"]) == run.parameters
            assert int(row["sfo"]) == run.counts.sfo
            assert float(row["seconds"]) == run.seconds
            assert row["final_fw_gap"] == ""
            assert row["final_objective"] == ("" if row["status"] == "refused" else "0.125")


def test_wide_is_the_trace_and_long_the_same_numbers(store, exported):
    wide, long = (table(exported(form) / "trace.csv") for form in ("csv-wide", "csv-long"))
    expected = {}
    for key in store.keys():  # noqa: SIM118
        run = store.get(key).run
        for row in run.rows:
            for name, value in zip(run.columns[1:], row[1:], strict=True):
                expected[key, str(row[0]), name] = repr(float(value))
    found = {
        (row["key"], row["iteration"], name): repr(float(value))
        for row in wide
        for name, value in row.items()
        if name not in ("key", "iteration")
    }
    assert found == expected
    assert expected == {
        (row["key"], row["iteration"], row["column"]): repr(float(row["value"])) for row in long
    }


# --- benchopt -------------------------------------------------------------------------------------


def test_benchopt_has_its_columns(exported):
    """`benchopt.runner` 1.10 writes these, and its plots need them."""
    frame = pd.read_parquet(exported("benchopt") / "benchopt_run_pfbench.parquet")
    needed = {"objective_name", "solver_name", "dataset_name", "idx_rep", "stop_val", "time"}
    assert needed | {"objective_value", "sampling_strategy", "base_seed"} <= set(frame.columns)
    one = frame[(frame.dataset_name == RECOVERY) & (frame.solver_name == FW) & (frame.idx_rep == 4)]
    assert list(one.stop_val) == [0, 1, 2, 3]
    assert list(one.objective_value) == [1.0, 0.5, 0.25, 0.125]
    assert list(one.objective_fw_gap) == [3.0, 2.0, 1.0, 0.0]
    assert list(one.count_sfo) == [0, 30, 44, 58]
    assert list(one.time) == [0.0, 0.25, 0.5, 0.75]
    assert set(one.objective_name) == {"robust-matrix-recovery"}
    assert set(one.p_dataset_rank) == {"1"}
    # One line for each solver, repetition and stop_val, as its plots pivot them.
    keys = ["dataset_name", "objective_name", "solver_name", "idx_rep", "stop_val"]
    assert not frame.duplicated(keys).any()


def test_benchopt_reads_it(exported):
    results = pytest.importorskip("benchopt.results")
    frame = results.read_results(exported("benchopt") / "benchopt_run_pfbench.parquet")
    assert len(frame) == 9 * 4


# --- COCO -----------------------------------------------------------------------------------------


def read_coco(folder):
    """Return {(function, dimension): [(instance, evaluations, best, dat, tdat)]} of an algorithm.

    An .info file has three lines an entry: the header of name = value, a comment, and the data
    file with INSTANCE:EVALUATIONS|BEST for each run. In .dat and .tdat a line that begins with %
    begins a run; the columns are evaluations, constraints' evaluations, best - fopt, measured,
    best measured.
    """
    found = {}
    for info in folder.glob("*.info"):
        header, comment, data = info.read_text().splitlines()
        fields = dict(re.findall(r"(\w+) = ('[^']*'|[^,]+)", header))
        assert fields["data_format"] == "'bbob-new2'"
        assert fields["suite"] == "'bbob'"
        assert comment.startswith("%")
        path, *runs = data.split(", ")
        blocks = [
            [
                [[float(number) for number in line.split()] for line in block.splitlines()[1:]]
                for block in re.split(r"^%", (folder / name).read_text(), flags=re.M)[1:]
            ]
            for name in (path, path.replace(".dat", ".tdat"))
        ]
        parsed = [re.fullmatch(r"(\d+):(\d+)\|(\S+)", run).groups() for run in runs]
        found[int(fields["funcId"]), int(fields["DIM"])] = [
            (int(instance), int(evaluations), float(best), dat, tdat)
            for (instance, evaluations, best), dat, tdat in zip(parsed, *blocks, strict=True)
        ]
    return found


def test_coco_reads_back(exported):
    folder = exported("coco", ExportOptions("fw_gap", "lo", optimum=-1.0))
    functions = {row["function"]: row for row in table(folder / "functions.csv")}
    assert functions["f1"] == {"function": "f1", "dimension": "4", "problem": LOGISTIC}
    assert functions["f2"] == {"function": "f2", "dimension": "120", "problem": RECOVERY}
    for algorithm in (SVRG, FW):
        found = read_coco(folder / algorithm_folder_names([SVRG, FW])[algorithm])
        assert set(found) == {(1, 4), (2, 120)}
        instances = [run[0] for run in found[1, 4]]
        assert instances == ([1, 5, 10] if algorithm == SVRG else [1, 5])
        for instance, evaluations, best, dat, tdat in found[2, 120]:
            assert (evaluations, best) == (4, 1.0)
            assert tdat == [[1 + k, 0, 4.0 - k, 3.0 - k, 3.0 - k] for k in range(4)]
            assert dat == tdat, instance
    # The run that diverged ends at its last finite value.
    svrg = read_coco(folder / algorithm_folder_names([SVRG, FW])[SVRG])
    assert svrg[1, 4][2][1] == 3


def test_coco_has_the_best_so_far_and_the_improvements(store, exported):
    values = [5.0, 2.0, 3.0, 1.0, 4.0, 4.0]
    run = made_run(0, rows=6)
    rows = [(*row[:-1], value) for row, value in zip(run.rows, values, strict=True)]
    store.put(key_of("up and down"), replace(run, rows=rows), ENVIRONMENT, {"dimension": 4})
    folder = exported("coco", ExportOptions("fw_gap", "iteration"), [key_of("up and down")])
    ((instance, evaluations, best, dat, tdat),) = read_coco(
        folder / algorithm_folder_names([SVRG])[SVRG]
    )[1, 4]
    assert (instance, evaluations, best) == (1, 6, 1.0)
    assert [line[2] for line in tdat] == [5.0, 2.0, 2.0, 1.0, 1.0, 1.0]
    assert [line[3] for line in tdat] == values
    assert [line[0] for line in dat] == [1, 2, 4, 6]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cocopp_reads_it(exported):
    cocopp = pytest.importorskip("cocopp")
    folder = exported("coco")
    found = cocopp.load(str(folder / algorithm_folder_names([SVRG, FW])[FW]))
    assert [(one.funcId, one.dim, list(one.maxevals)) for one in found] == [
        (1, 4, [59, 59]),
        (2, 120, [59, 59]),
    ]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_expected_runtime_is_that_of_cocopp(tmp_path):
    """Of COCO an evaluation is 1 + a count: each run, reached or not, has one more."""
    cocopp = pytest.importorskip("cocopp")
    store, runs = Store(tmp_path / "store"), []
    for seed, (rows, steps) in enumerate([(4, 1), (9, 3), (6, 2), (2, 7)]):
        runs.append(slowed(made_run(seed, rows=rows), steps))
        store.put(key_of(seed), runs[-1], ENVIRONMENT, {"dimension": 4})
    export(store, listed(store), "coco", tmp_path / "coco", ExportOptions("objective", "lo"))
    (found,) = cocopp.load(str(tmp_path / "coco" / algorithm_folder_names([SVRG])[SVRG]))
    for target in (0.9, 0.3, 0.1, 0.02, 1e-9):
        ours = make_runtimes(runs, Stop("objective", target), Cost.from_weights("lo"))
        expected = ert(ours) + (len(runs) / ours.hits if ours.hits else 0)
        assert found.detERT([target])[0] == pytest.approx(expected, rel=1e-12)


def test_more_problems_than_coco_has_functions(store, exported):
    for n in range(25):
        run = made_run(problem=LOGISTIC.replace("30", str(30 + n)))
        store.put(key_of(f"many {n}"), run, ENVIRONMENT)
    with pytest.raises(InputError, match="24 functions, and there are 26 problems"):
        exported("coco", ExportOptions("fw_gap", dimension=4))


# --- what a spec calls them ---


@pytest.fixture
def view(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        f'problems = "{LOGISTIC}"\nseeds = [0, 4]\ntargets = ["fw_gap=1", "fw_gap=0.5"]\n'
        f'[algorithms]\n"=SVRG" = "{SVRG}"\n'
    )
    return ExportOptions("fw_gap", names=run_names(load_spec(path)))


@pytest.mark.parametrize("form", ["csv-wide", "csv-long"])
def test_a_table_has_the_sweep_the_label_and_the_targets(exported, view, form):
    rows = table(exported(form, view) / "runs.csv")
    named = [row for row in rows if row["label"]]
    assert {(row["problem"], row["algorithm"], row["seed"]) for row in named} == {
        (LOGISTIC, SVRG, "0"),
        (LOGISTIC, SVRG, "4"),
    }
    for row in named:
        assert row["sweep"] == "mine"
        assert row["label"] == "'=SVRG"
        assert row["targets"] == "fw_gap=1.0, fw_gap=0.5"
    assert {row["sweep"] for row in rows if row not in named} == {""}


def test_tuned_methods_and_their_search_have_labels(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'problems = "quadratic[seed={seed}]"\nseeds = 2\nbudget = "sfo=9"\nmeasures = "fw_gap"\n'
        'targets = ["fw_gap=1"]\n[algorithms]\nFW = "frank-wolfe[iterations=3]"\n'
        '[tune]\ntrials = 2\nseeds = [7]\ntarget = "fw_gap=1"\n'
        '[tune.methods.sfw]\nselector = "sfw[iterations=3,step={step}]"\nstep = [0.1, 0.2]\n'
    )
    found = run_names(load_spec(path))
    for step in (0.1, 0.2):
        method = f"sfw[iterations=3,step={step}]"
        told = {seed: found[f"quadratic[seed={seed}]", method, seed].label for seed in (0, 1, 7)}
        assert told == {0: "sfw, tuned", 1: "sfw, tuned", 7: "sfw, search"}
    assert len(found) == 2 + 2 * 3


def test_other_tools_are_told_the_label(exported, view):
    keys = {key_of(f"{LOGISTIC} {SVRG} {seed}") for seed in (0, 4)}
    (info,) = exported("coco", view, keys).rglob("*.info")
    assert "algId = '=SVRG'" in info.read_text()
    (about,) = exported("iohprofiler", view, keys).rglob("*.json")
    told = json.loads(about.read_text())
    assert told["algorithm"]["name"] == "=SVRG"
    assert {"targets": "fw_gap=1.0, fw_gap=0.5"} in told["experiment_attributes"]
    data = pd.read_parquet(exported("benchopt", view, keys) / "benchopt_run_pfbench.parquet")
    assert set(data["label"]) == {"=SVRG"}


def test_the_target_is_known_from_the_plan(store, exported):
    run = made_run(3)
    plan = PlannedRun(run.problem, run.algorithm, 3, ("fw_gap",), 1, stop=Stop("fw_gap", 0.25))
    store.put(key_of("planned"), run, ENVIRONMENT, {"plan": plan.as_json()})
    rows = {row["key"]: row for row in table(exported("csv-wide") / "runs.csv")}
    assert rows[key_of("planned")]["targets"] == "fw_gap=0.25"
    assert rows[key_of("refused")]["targets"] == ""


# --- IOHprofiler ----------------------------------------------------------------------------------


def read_ioh(folder):
    """Return {(algorithm, problem): [(instance, evals, best, lines)]} from JSON and .dat files.

    A .dat file is a table with spaces between its cells; its header is repeated before each run.
    """
    found = {}
    for path in folder.glob("*/*.json"):
        about = json.loads(path.read_text())
        for name in ("version", "suite", "function_id", "maximization", "attributes"):
            assert name in about
        (scenario,) = about["scenarios"]
        lines = (path.parent / scenario["path"]).read_text().splitlines()
        head = " ".join(about["attributes"])
        starts = [k for k, line in enumerate(lines) if line == head]
        blocks = [
            [[float(cell) for cell in line.split(" ")] for line in lines[start + 1 : end]]
            for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
        ]
        found[about["algorithm"]["name"], about["function_name"]] = [
            (run["instance"], run["evals"], (run["best"]["evals"], run["best"]["y"]), block)
            for run, block in zip(scenario["runs"], blocks, strict=True)
        ]
    return found


def test_iohprofiler_reads_back(store, exported):
    found = read_ioh(exported("iohprofiler"))
    assert set(found) == {(a, p) for a in (SVRG, FW) for p in (LOGISTIC, RECOVERY)}
    instance, evaluations, best, lines = found[FW, RECOVERY][1]
    assert (instance, evaluations, best) == (5, 59, (59, 0.0))
    trace = made_run().rows
    place = made_run().columns.index("sfo")
    assert lines == [[1 + row[place], row[-1], *row[:9]] for row in trace]
    # A reader tells runs apart by evaluation 1.
    assert all(
        [line[0] == 1 for line in run[3]] == [True] + [False] * (len(run[3]) - 1)
        for runs in found.values()
        for run in runs
    )


def test_rows_with_equal_counts_are_one_evaluation(exported, store):
    """No LO call is made in the first two iterations: evaluation 1 is the last of them."""
    run = made_run(0)
    place = run.columns.index("lo")
    rows = [(*row[:place], max(0, k - 1), *row[place + 1 :]) for k, row in enumerate(run.rows)]
    store.put(key_of("slow start"), replace(run, rows=rows), ENVIRONMENT, {"dimension": 4})
    found = read_ioh(exported("iohprofiler", ExportOptions("fw_gap", "lo"), [key_of("slow start")]))
    ((_, _, _, lines),) = found[SVRG, LOGISTIC]
    assert [line[:3] for line in lines] == [[1, 2.0, 1], [2, 1.0, 2], [3, 0.0, 3]]


def test_iohinspector_reads_it(exported):
    iohinspector = pytest.importorskip("iohinspector")
    manager = iohinspector.DataManager()
    manager.add_folder(str(exported("iohprofiler")))
    assert sorted(manager.overview["evals"]) == [45] + [59] * 8
    assert len(manager.load()) == 8 * 4 + 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_share_reached_within_so_many_calls_is_that_of_iohinspector(tmp_path):
    """Its targets are a continuum in the logarithm; ours stand half-way between what runs reach."""
    iohinspector = pytest.importorskip("iohinspector")
    store, runs = Store(tmp_path / "store"), []
    for seed, (rows, steps) in enumerate([(4, 1), (9, 3), (6, 2), (2, 7)]):
        runs.append(slowed(made_run(seed, rows=rows), steps))
        store.put(key_of(seed), runs[-1], ENVIRONMENT, {"dimension": 4})
    export(store, listed(store), "iohprofiler", tmp_path / "ioh", ExportOptions("objective", "lo"))
    manager = iohinspector.DataManager()
    manager.add_folder(str(tmp_path / "ioh"))
    theirs = iohinspector.metrics.get_data_ecdf(
        manager.load(include_meta_data=True).select(
            "data_id", "algorithm_name", "evaluations", "raw_y"
        ),
        f_min=2.0**-12,
        f_max=1.0,
        eval_values=[1 + k for k in range(26)],
    )
    targets = [Stop("objective", 2.0 ** (0.5 - j)) for j in range(1, 13)]
    ours = ecdf([[make_runtimes(runs, target, Cost.from_weights("lo")) for target in targets]])
    for calls, share in zip(theirs["evaluations"] - 1, theirs["eaf"], strict=True):
        known = ours.share[ours.x <= calls]
        assert share == pytest.approx(known[-1] if known.size else 0.0, rel=1e-12), calls
    assert max(theirs["eaf"]) == pytest.approx((3 + 8 + 5 + 1) / 4 / 12)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["coco", "iohprofiler"])
@pytest.mark.parametrize("measure", ["", "fw_gpa", "iteration"])
def test_a_measure_must_be_named(exported, form, measure):
    with pytest.raises(InputError, match="--measure: the runs have objective, fw_gap"):
        exported(form, ExportOptions(measure))


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_folder_is_needed_and_nothing_is_overwritten(exported, form, tmp_path):
    (tmp_path / form).mkdir()
    (tmp_path / form / "mine").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        exported(form)
    assert [path.name for path in (tmp_path / form).iterdir()] == ["mine"]


@pytest.mark.parametrize("form", FORMATS)
def test_no_run_is_refused(exported, form):
    with pytest.raises(InputError, match="nothing to export"):
        exported(form, keys=[])


def test_nothing_is_built_to_know_a_dimension(store, tmp_path):
    """Runs that do not say it are left out; `--dimension` brings them back."""
    secret = "robust-matrix-recovery[source=movielens,edition=/etc/passwd]"
    for problem in ("mine:Problem", secret):
        store.put(key_of(problem), made_run(problem=problem), ENVIRONMENT)
    old = [key_of("mine:Problem"), key_of(secret)]
    with pytest.raises(InputError, match="stored without the dimension"):
        export(store, listed(store, old), "coco", tmp_path / "old", VIEW)
    _, left_out = export(store, listed(store), "coco", tmp_path / "all", VIEW)
    assert left_out["stored without the dimension of their problem: give --dimension"] == 2
    export(store, listed(store, old), "coco", tmp_path / "x", replace(VIEW, dimension=3))
    assert set(read_coco(next((tmp_path / "x").glob("nfwu*")))) == {(1, 3), (2, 3)}


@pytest.mark.parametrize("form", FORMATS)
def test_every_run_is_read_once(store, tmp_path, monkeypatch, form):
    read, look = [], store.read_content_and_metadata
    monkeypatch.setattr(
        store, "read_content_and_metadata", lambda *file: read.append(file) or look(*file)
    )
    export(store, listed(store), form, tmp_path / form, VIEW)
    assert sorted(key for _, key in read) == sorted(store.keys())


def test_a_text_that_a_spreadsheet_evaluates_is_quoted(store, tmp_path):
    formula = "=cmd|' /C calc'!A0"
    for k, text in enumerate((formula, "+1+1", "-2", "@SUM(A1)", "\t=1", "\r=1")):
        run = made_run(problem=text, stop_reason=text)
        store.put(key_of(f"formula {k}"), run, ENVIRONMENT)
    for raw in (False, True):
        folder = tmp_path / str(raw)
        export(store, listed(store), "csv-wide", folder, replace(VIEW, raw=raw))
        found = {cell for row in table(folder / "runs.csv") for cell in (row["problem"],)}
        assert (formula in found) == raw
        assert (f"'{formula}" in found) != raw
        assert any(cell[:1] in "=+-@\t\r" for cell in found) == raw


def test_a_damaged_run_is_left_out_and_stays(store, tmp_path):
    rows = listed(store)
    change(store, key_of("refused"))
    _, left_out = export(store, rows, "csv-long", tmp_path / "out", VIEW)
    assert left_out == {"damaged: see `pfbench store check`": 1}
    assert store.read("run", key_of("refused")) is not None


def test_a_file_where_the_folder_should_be(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="name another folder"):
        export(store, listed(store), "csv-wide", tmp_path / "file", VIEW)


def test_selectors_that_look_alike_as_files_get_folders_of_their_own():
    names = algorithm_folder_names(["a[x=1]", "a:x=1", "a x=1", "../a x=1", "b" * 300])
    assert len(set(names.values())) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9=~_-][A-Za-z0-9.=~_-]{0,85}", n) for n in names.values())
