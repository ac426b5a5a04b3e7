"""Measuring changes nothing; the trace's rows are the iterates with the counts that they cost."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pfbench as pf
from pfbench.algorithms import algorithm
from pfbench.algorithms.nfwu import NFWUSVRG
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError
from pfbench.measures.catalogue import available_measures
from pfbench.oracles import Ledger, Oracles
from pfbench.points import FactoredMatrix, combine, keep
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import random_stream, steps
from pfbench.runs.loop.trace import TraceRows, rows_from_columns

EPOCH = {"batch": 5, "period": 4, "iterations": 17, "step": 0.1}

CHOICES = [
    algorithm("frank-wolfe", iterations=17),
    algorithm("frank-wolfe", step="open-loop", iterations=17),
    algorithm("nfwu-sg", batch=5, iterations=17, step=0.1),
    algorithm("nfwu-svrg", **EPOCH),
    algorithm("nfwu-spiderg", **EPOCH, output="last"),
    algorithm("nfwu-casvrg", **EPOCH),
    algorithm("nfwu-caspiderg", **EPOCH),
    algorithm("nfwu-spiderg", **EPOCH, restarts=3),
]
every_choice = pytest.mark.parametrize("chosen", CHOICES, ids=lambda choice: choice.selector)


def bits(x):
    """Return all numbers of a point, to be compared exactly."""
    if isinstance(x, FactoredMatrix):
        weights, left, right = x.factors()
        return tuple(a.tobytes() for a in (weights, left, right, x.values()))
    return (x.tobytes(),)


def told(run):
    """Return all that a run says, but seconds and the trace."""
    return run.status, run.iterations, run.counts, bits(run.x), dict(run.final)


def rows(run, columns):
    """Return the trace's rows by iteration, in the given columns, so that NaN equals NaN."""
    table = run.trace.set_index("iteration")[list(columns)]
    return {index: np.array(row, dtype=float).tobytes() for index, *row in table.itertuples()}


# --- measuring changes nothing --------------------------------------------------------------------


@pytest.mark.thin(3)
@every_choice
def test_all_bits_are_the_same_however_often_one_measures(problem, chosen):
    names = list(available_measures(problem))
    silent = solve(problem, chosen, seed=3)
    often, seldom, *others = (
        solve(problem, chosen, seed=3, measures=measures, every=every)
        for every, measures in [(1, names), (7, names), (1, names[:2]), (100, ())]
    )
    assert all(told(run) == told(silent) for run in (often, seldom, *others))
    columns = [name for name in often.columns if name not in ("iteration", "seconds")]
    often, seldom = rows(often, columns), rows(seldom, columns)
    assert set(seldom) == {k for k in often if k % 7 == 0 or k == max(often)}
    assert all(often[k] == row for k, row in seldom.items())


@every_choice
def test_last_row_of_a_run_that_a_budget_ends_holds_the_counts_of_its_iterate(problem, chosen):
    """Calls of the iteration that was cut off are in the run's counts, not in the row's."""
    whole = solve(problem, chosen, seed=3)
    # The last complete iteration is 11 (12 of the restarts' first run, which ends there).
    budget = Budget(lo=whole.trace["lo"][11])
    often, seldom = (solve(problem, chosen, seed=3, every=k, budget=budget) for k in (1, 7))
    assert told(often) == told(seldom)
    assert often.status == "budget"
    assert seldom.trace["iteration"].iloc[-1] == often.iterations
    assert rows(seldom, COUNTED)[often.iterations] == rows(whole, COUNTED)[often.iterations]


@pytest.mark.parametrize("every", [1, 7])
def test_last_row_of_a_diverged_run_is_its_last_finite_iterate(problem, walk, every):
    class Wild(walk):
        def after(self, t, state):
            if t < 9:
                return state
            v = problem.set.random_vertex(np.random.default_rng(0))
            return state._replace(x=combine(keep(state.x), v, np.nan))

    run = solve(problem, Wild(iterations=20), every=every, measures=["value"])
    assert (run.status, run.iterations) == ("diverged", 10)
    assert run.trace["iteration"].iloc[-1] == 9
    assert run.trace["fo"].iloc[-1] == 9
    assert run.trace["value"].iloc[-1] == run.final["value"]


@pytest.mark.thin(3)
@every_choice
def test_same_seed_same_bits_and_another_seed_in_between_does_not_matter(problem, chosen):
    names = list(available_measures(problem))
    first = solve(problem, chosen, seed=5, measures=names)
    other = solve(problem, chosen, seed=6, measures=names)
    again = solve(problem, chosen, seed=5, measures=names)
    columns = [name for name in first.columns if name not in ("iteration", "seconds")]
    assert told(first) == told(again)
    assert rows(first, columns) == rows(again, columns)
    if chosen.name != "frank-wolfe":
        assert bits(first.x) != bits(other.x)


# --- rows -----------------------------------------------------------------------------------------


@every_choice
def test_row_k_is_the_kth_iterate_with_the_counts_spent_to_reach_it(problem, chosen, request):
    run = solve(problem, chosen, seed=3, measures=["value", "fw_gap"])
    assert run.columns == (*TRACE_COLUMNS, "value", "fw_gap", "fw_gap_lower")
    assert run.trace["iteration"].tolist() == list(range(run.iterations + 1))
    assert run.trace.loc[0, list(COUNTED)].tolist() == [0] * len(COUNTED)
    assert run.trace["value"][0] == problem.value(problem.start())
    assert (run.trace[list(COUNTED)].diff().dropna() >= 0).all(axis=None)
    assert run.trace["lo"].iloc[-1] == run.counts.lo
    assert run.trace["seconds"].is_monotonic_increasing


def test_rows_are_those_of_the_algorithm_run_by_hand(problem, walk):
    """The same iterates without the loop of `solve`."""
    run = solve(problem, walk(), measures=["value"])
    ledger = Ledger()
    ask = Oracles(problem.open(random_stream(0, "oracles")), ledger, problem.set.diameter)
    states = walk().run(ask, problem.start(), random_stream(0, "algorithm"))
    for row, state in zip(run.rows[1:], states, strict=True):
        counts, value = row[1 : 1 + len(COUNTED)], row[-1]
        assert counts == tuple(ledger.counts_array)
        assert value == problem.value(keep(state.x))


def test_estimator_error_of_row_k_is_at_the_point_before(problem, walk):
    """Full gradients have no error; before the first iteration there is none to speak of."""
    errors = solve(problem, walk(), measures=["estimator_error"]).trace["estimator_error"]
    assert np.isnan(errors[0])
    assert (errors[1:] < 1e-12).all()


@pytest.mark.parametrize(
    ("every", "expected"), [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4, 5]), (9, [0, 5])]
)
def test_first_and_last_rows_are_always_there(problem, walk, every, expected):
    run = solve(problem, walk(iterations=5), every=every)
    assert run.trace["iteration"].tolist() == expected


def test_an_interval_measure_has_two_columns_and_a_missing_one_is_nan(dense, walk):
    measures = {
        "bracket": lambda problem, state: (1.0, 2.0),
        "nothing": lambda problem, state: None,
        "number": lambda problem, state: np.array([3.0]),
        "odd": lambda problem, state: None if state.estimate is None else (1.0, 2.0),
    }
    run = solve(dense, walk(iterations=2), measures=measures)
    names = ("bracket", "bracket_lower", "nothing", "number", "odd", "odd_lower")
    assert run.columns[len(TRACE_COLUMNS) :] == names
    assert run.trace["odd_lower"].isna().tolist() == [True, False, False]
    assert run.trace["bracket"].tolist() == [2.0] * 3
    assert run.trace["bracket_lower"].tolist() == [1.0] * 3
    assert run.trace["nothing"].isna().all()


@pytest.mark.parametrize(("first", "second"), [("value", "fw_gap"), ("fw_gap", "objective")])
def test_adding_a_measure_changes_no_other_column(problem, first, second):
    chosen = CHOICES[3]
    run = solve(problem, chosen, seed=1, measures=[first])
    two = solve(problem, chosen, seed=1, measures=[second, first])
    columns = [*COUNTED, first]
    assert rows(run, columns) == rows(two, columns)


# --- The iterator that follows a run: the states and counts of `solve`, and its options -----------


PROBLEM = "log-cosh[rows=9,columns=3,seed=1,set=l2]"


def make_method():
    return NFWUSVRG(iterations=6, step=0.2, batch=2, period=3)


def test_steps_are_those_of_a_solved_run():
    problem, method = pf.problem(PROBLEM), make_method()
    followed = list(steps(problem, method, seed=5))
    run = pf.solve(problem, method, seed=5)
    assert len(followed) == 6
    assert followed[-1].counts == run.counts
    assert [step.counts.lo for step in followed] == [1, 2, 3, 4, 5, 6]


def test_streams_are_replaced_by_purpose():
    problem, method = pf.problem(PROBLEM), make_method()

    def points(**options):
        return np.array([state.x for state in steps(problem, method, **options).states])

    first = points(streams={"algorithm": np.random.default_rng(3)})
    assert np.array_equal(first, points(streams={"algorithm": np.random.default_rng(3)}, seed=9))
    assert not np.array_equal(first, points(seed=3))


def test_what_yields_no_states_is_refused_at_the_first():
    class Wrong:
        requires = frozenset({"gradient"})

        def run(self, ask, x, rng):
            return [x]

    run = steps(pf.problem(PROBLEM), Wrong())
    with pytest.raises(InputError, match="yield a State"):
        next(run.states)


# --- rows in one array are the tuples that they stand for, of the same types ----------------------


WHOLE = st.integers(1 - 2**53, 2**53 - 1)
NUMBER = st.floats()
TABLES = st.lists(st.tuples(WHOLE, WHOLE, NUMBER), max_size=6)


def read(table):
    """Return the rows of a table, read from its columns."""
    whole, others, numbers = zip(*table, strict=True) if table else ((), (), ())
    return rows_from_columns(np.array([whole, others], np.int64), np.array([numbers], float))


def words_of(rows):
    """Return rows in words, in which 1 is not 1.0 and NaN is NaN."""
    return [repr(row) for row in rows]


@given(TABLES, st.integers(-8, 8), st.slices(6))
def test_they_are_the_tuples(table, at, part):
    rows = read(table)
    assert isinstance(rows, TraceRows)
    assert (len(rows), words_of(rows), repr(rows)) == (len(table), words_of(table), repr(table))
    assert words_of(rows[part]) == words_of(table[part])
    assert words_of(reversed(rows)) == words_of(reversed(table))
    if -len(table) <= at < len(table):
        assert repr(rows[at]) == repr(table[at])
    else:
        with pytest.raises(IndexError):
            rows[at]
    assert words_of(pickle.loads(pickle.dumps(rows))) == words_of(table)


@given(st.lists(st.tuples(WHOLE, WHOLE, st.floats(allow_nan=False)), max_size=6))
def test_they_are_equal_to_the_tuples_and_to_other_rows(table):
    assert read(table) == table
    assert read(table) == read(table)
    assert read(table) != [*table, (0, 0, 0.0)]
    assert read(table) != tuple(table)


def test_as_an_array_they_are_not_copied_and_cannot_be_changed():
    rows = read([(1, 2, 0.5), (3, 4, np.nan)])
    seen = np.asarray(rows, dtype=float)
    assert np.shares_memory(seen, rows.numbers)
    assert not np.shares_memory(np.array(rows), rows.numbers)
    with pytest.raises(ValueError, match="read-only"):
        seen[0, 0] = 2.0
