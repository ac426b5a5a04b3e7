"""Runs that are shipped: nothing that a table shows is lost, and anybody's file is refused."""

import lzma
import sqlite3
import tomllib
from contextlib import closing
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import TARGETS, descending, group, plan, results, run

import pfbench as pf
from pfbench.base.errors import InputError, RefusedError
from pfbench.cli.catalogue import suite_spec_paths
from pfbench.reporting.comparison import compare_algorithms
from pfbench.reporting.runtimes import Cost
from pfbench.runs import suite_archive
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.name_resolution import select_algorithm, select_problem
from pfbench.runs.storage.database import NAME
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.storage.store import Store
from pfbench.runs.suite_archive import read_suite_archive
from tools.suite_archive import CURVE, thin_trace, write_suite_archive

NOTES = {"best_known": {"value": 0.5, "source": "x"}, "dimension": 3, "family": "f"}


def outcomes(number=3):
    return [
        (
            PlanOutcome(
                plan(seed=k), StoredRun("0" * 64, descending(7, seed=k), {"python": "3"}, NOTES)
            ),
            TARGETS,
            CURVE,
        )
        for k in range(number)
    ]


def test_what_is_shipped_comes_back(tmp_path):
    write_suite_archive(tmp_path / "a.xz", outcomes(), text="0.1, today")
    back = read_suite_archive(tmp_path / "a.xz")
    assert back.created == "0.1, today"
    assert len(back.runs) == 3
    for outcome, _, _ in outcomes():
        entry = back.runs[outcome.plan]
        assert entry.run.as_json() == outcome.entry.run.as_json()
        assert entry.run.rows == outcome.entry.run.rows
        assert entry.environment == {"python": "3"}
        assert entry.notes["best_known"] == NOTES["best_known"]


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 30))
def test_a_thinned_run_has_the_numbers_of_the_whole_one(seed, rows, between):
    rng = np.random.default_rng(seed)
    values = 8 * rng.random(rows) * np.linspace(1, 0.05, rows)
    values[rng.random(rows) < 0.1] = np.nan
    whole = run(values.tolist(), np.cumsum(rng.integers(1, 9, rows)).tolist(), status="budget")
    short = thin_trace(whole, TARGETS, between)
    assert len(short.rows) <= between + len(TARGETS) + 5
    both = [
        compare_algorithms(results(group("a", [one] * 8, 10**9)), Cost.from_weights("sfo"))
        for one in (whole, short)
    ]
    for one, other in zip(*(c.panels[0].algorithms for c in both), strict=True):
        assert one.calls_until_targets == other.calls_until_targets
        for measure, values in one.last_values.items():
            np.testing.assert_array_equal(values, other.last_values[measure])


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
        "UPDATE entries SET status = 'killed'",
        "UPDATE entries SET meta = x'00'",
        "UPDATE entries SET trace = 3",
        "UPDATE entries SET sha256 = x'00'",
        "DROP TABLE entries",
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, statement):
    write_suite_archive(tmp_path / "a.xz", outcomes(1), text="m")
    (tmp_path / NAME).write_bytes(lzma.decompress((tmp_path / "a.xz").read_bytes()))
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as changed:
        changed.execute(statement)
        changed.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (tmp_path / "b.xz").write_bytes(lzma.compress((tmp_path / NAME).read_bytes()))
    with pytest.raises(InputError, match=r"b\.xz is not a complete archive of runs .*--rerun"):
        read_suite_archive(tmp_path / "b.xz")


@pytest.mark.parametrize("notes", [{}, {"plan": 3}])
def test_a_run_without_its_plan_is_refused(tmp_path, notes):
    with closing(Store(tmp_path)) as store:
        store.put("0" * 64, descending(7), {"python": "3"}, notes | {"created": "m"})
    (tmp_path / "b.xz").write_bytes(lzma.compress((tmp_path / NAME).read_bytes()))
    with pytest.raises(InputError, match=r"b\.xz is not a complete archive of runs"):
        read_suite_archive(tmp_path / "b.xz")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "whole.xz"
    write_suite_archive(path, outcomes(1), text="m")
    return path


@given(st.binary(max_size=60), st.integers(0, 300))
def test_any_bytes_are_refused(archive, data, at):
    whole, path = archive.read_bytes(), archive.with_name("spoiled.xz")
    for spoiled in (data, whole[:at], lzma.compress(data), lzma.compress(whole[:at])):
        path.write_bytes(spoiled)
        with pytest.raises(InputError):
            read_suite_archive(path)


def test_a_file_that_would_unpack_to_very_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(suite_archive, "MOST_BYTES", 10_000)
    (tmp_path / "a.xz").write_bytes(lzma.compress(b" " * 1_000_000))
    with pytest.raises(InputError, match="too large"):
        read_suite_archive(tmp_path / "a.xz")


def test_no_link_is_followed(tmp_path):
    write_suite_archive(tmp_path / "a.xz", outcomes(1), text="m")
    (tmp_path / "b.xz").symlink_to("a.xz")
    with pytest.raises(InputError, match="link"):
        read_suite_archive(tmp_path / "b.xz")


# --- the suite norms: what fits its problems, and what its LMO cost -------------------------------


SUITE = tomllib.loads(suite_spec_paths()["norms"].read_text())
PROBLEMS = {
    label: select_problem(text.replace("{seed}", "0")) for label, text in SUITE["problems"].items()
}
SPECTRAL = {"spectral, exact", "spectral, Newton-Schulz", "spectral, quintic", "digits, quintic"}
NAMED = {
    "muon": SPECTRAL,
    "muon-nesterov": SPECTRAL,
    "signum": {"signs"},
    "normalised-sgd": {"lengths"},
}


def first_of(method):
    """A selector with the first value of each list."""
    text = method["selector"]
    for name, values in method.items():
        text = text.replace(f"{{{name}}}", str(values[0]))
    return text


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", SUITE["tune"]["methods"])
def test_a_method_runs_on_the_problems_that_have_its_norm(name):
    fits = set()
    for label, problem in PROBLEMS.items():
        try:
            algorithm = select_algorithm(first_of(SUITE["tune"]["methods"][name]))
            run = pf.solve(
                problem, algorithm, budget=pf.Budget(sfo=2 * problem.n), measures=["dual_norm"]
            )
        except RefusedError:
            continue
        if run.status == "budget":
            fits.add(label)
            assert run.trace["dual_norm"].iloc[0] > 1.0  # so that no target is met at once
    assert fits == NAMED.get(name, set(PROBLEMS))


def test_prices_are_those_of_the_minimisations():
    products = {label: problem.norm.matrix_products_per_lmo for label, problem in PROBLEMS.items()}
    assert products == dict.fromkeys(PROBLEMS, 0) | {
        "spectral, Newton-Schulz": 9,
        "spectral, quintic": 15,
        "digits, quintic": 15,
    }


def test_each_method_tries_as_many():
    for method in SUITE["tune"]["methods"].values():
        lists = [values for name, values in method.items() if name != "selector"]
        assert len(list(product(*lists))) == SUITE["tune"]["trials"]
