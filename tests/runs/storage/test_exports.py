"""Exports, read back; benchopt reads its own as well, where it is installed."""

import csv
import json
import math
from dataclasses import replace

import pandas as pd
import pytest
from stored import ENVIRONMENT, LOGISTIC, RECOVERY, SVRG, change, key_of, made_run

from pfbench.base.errors import StorageError
from pfbench.runs.loop.run import TRACE_COLUMNS, Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.export import export
from pfbench.runs.storage.store import Store

FW = "frank-wolfe[iterations=3]"
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
    def write(form):
        folder = tmp_path / form
        files, _ = export(store, store.rows(), form, folder)
        assert all(path.stat().st_size for path in files)
        assert {path for path in folder.rglob("*") if path.is_file()} == set(files)
        return folder

    return write


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


def test_the_target_is_known_from_the_plan(store, exported):
    run = made_run(3)
    plan = PlannedRun(run.problem, run.algorithm, 3, ("fw_gap",), 1, stop=Stop("fw_gap", 0.25))
    store.put(key_of("planned"), run, ENVIRONMENT, {"plan": plan.as_json()})
    rows = {row["key"]: row for row in table(exported("csv-wide") / "runs.csv")}
    assert rows[key_of("planned")]["targets"] == "fw_gap=0.25"
    assert rows[key_of("refused")]["targets"] == ""


def test_a_text_that_a_spreadsheet_evaluates_is_quoted(store, tmp_path):
    formula = "=cmd|' /C calc'!A0"
    for k, text in enumerate((formula, "+1+1", "-2", "@SUM(A1)", "\t=1", "\r=1")):
        run = made_run(problem=text, stop_reason=text)
        store.put(key_of(f"formula {k}"), run, ENVIRONMENT)
    folder = tmp_path / "out"
    export(store, store.rows(), "csv-wide", folder)
    found = {cell for row in table(folder / "runs.csv") for cell in (row["problem"],)}
    assert formula not in found
    assert f"'{formula}" in found
    assert not any(cell[:1] in "=+-@\t\r" for cell in found)


def test_a_damaged_run_is_left_out_and_stays(store, tmp_path):
    rows = store.rows()
    change(store, key_of("refused"))
    _, left_out = export(store, rows, "csv-long", tmp_path / "out")
    assert left_out == {"damaged: see `pfbench store check`": 1}
    assert store.read("run", key_of("refused")) is not None


def test_a_file_where_the_folder_should_be(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="choose another folder"):
        export(store, store.rows(), "csv-wide", tmp_path / "file")
