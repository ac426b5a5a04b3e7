"""What a new user gets wrong: refused up front, in one sentence with the culprit and the remedy."""

import math

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse as sp
from helpers import refused

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations
from pfbench.problems.row_data import as_csr
from pfbench.sets import L1Ball, L2Ball

RECOVERY, LOGISTIC = "robust-matrix-recovery", "nonconvex-logistic"
TASKS, CLASSES, REGRESSION = "multitask-sigmoid", "multiclass-logistic", "matrix-regression"
DIGITS = {"source": "digits"}
SMALL = {"rows": 6, "columns": 5, "rank": 2, "density": 0.5}


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("robust-matrix-recovry", {}, ["problem", "'robust-matrix-recovery'"]),
        ("", {}, ["problem", "''"]),
        (RECOVERY, {"denisty": 0.1}, ["'denisty'", "'density'"]),
        (RECOVERY, {"source": "sythetic"}, ["source", "'synthetic'"]),
        (RECOVERY, {"source": ["digits"]}, ["source"]),
        (RECOVERY, {"source": "digits", "rank": 3}, ["'rank'", "digits"]),
        ("separable-quadratic", {"condition": "abc"}, ["condition='abc'", "number"]),
        ("two-layer-network", {"norm": 2}, ["norm=2", "string"]),
        (RECOVERY, {"rank": 7}, ["rank=7", "at most 5"]),
        (RECOVERY, {"rank": 0}, ["rank=0", "at least 1"]),
        (RECOVERY, {"rows": -3}, ["rows=-3", "at least 1"]),
        (RECOVERY, {"columns": "5"}, ["columns='5'", "integer"]),
        (RECOVERY, {"seed": -1}, ["seed=-1", "at least 0"]),
        (RECOVERY, {"noise": -1.0}, ["noise=-1.0", "at least 0"]),
        (RECOVERY, {"outliers": 1.5}, ["outliers=1.5", "at most 1"]),
        (RECOVERY, {"density": 0.0}, ["density=0", "greater than 0"]),
        (RECOVERY, {"density": 1.5}, ["density=1.5", "at most 1"]),
        (RECOVERY, {"density": 0.001}, ["density=0.001", "raise density"]),
        (RECOVERY, {"radius": 0}, ["radius=0", "greater than 0"]),
        (RECOVERY, {"sigma": -1.0}, ["sigma=-1.0"]),
        (RECOVERY, {"scaling": "total"}, ["scaling", "'total'", "mean, sum"]),
        (RECOVERY, {"tolerance": 0.0}, ["tolerance=0", "greater than 0"]),
        (RECOVERY, {"tolerance": 2.0}, ["tolerance=2.0", "at most 1"]),
        (RECOVERY, DIGITS | {"density": 0.95, "heldout": 0.2}, ["=0.95", "=0.2", "lower one"]),
        (RECOVERY, DIGITS | {"heldout": -0.1}, ["heldout=-0.1", "at least 0"]),
        (RECOVERY, DIGITS | {"density": 1e-9}, ["raise density"]),
        (LOGISTIC, {"set": "L1"}, ["set", "'L1'", "'l1'"]),
        (LOGISTIC, {"set": "nuclear"}, ["set nuclear", "matrices", "l1, l2"]),
        (LOGISTIC, {"set": "l2", "penalty": "l1"}, ["set=l2", "penalty=l1", "remove one"]),
        (LOGISTIC, {"set": "none", "radius": 2.0}, ["set=none", "radius", "leave it out"]),
        (LOGISTIC, {"source": "breast-cancr"}, ["source", "'breast-cancer'"]),
        (LOGISTIC, {"alpha": -0.1}, ["alpha=-0.1", "at least 0"]),
        (LOGISTIC, {"radius": -0.1}, ["radius=-0.1", "greater than 0"]),
        (LOGISTIC, {"wieght": 1}, ["'wieght'"]),
        ("zero-chain", {"horizon": 0}, ["horizon=0", "at least 1"]),
        ("zero-chain", {"horizon": 5, "columns": 4}, ["columns=4", "5"]),
        ("zero-chain", {"horizon": 5, "columns": 4, "seed": 0}, ["columns=4", "at least 5"]),
        ("zero-chain", {"seed": -1}, ["seed=-1", "at least 0"]),
        ("zero-chain", {"horizon": 5, "epsilon": 1e-4}, ["horizon", "out"]),
        ("zero-chain", {"delta": 2.0}, ["delta", "epsilon"]),
        ("zero-chain", {"smoothness": 2.0}, ["smoothness", "epsilon"]),
        ("zero-chain", {"epsilon": 0.1}, ["epsilon=0.1", "would have no link", "0.000938"]),
        ("zero-chain", {"epsilon": 0.0}, ["epsilon=0", "greater than 0"]),
        ("zero-chain", {"epsilon": 1e-4, "smoothness": -1.0}, ["smoothness=-1"]),
        ("zero-chain", {"epsilon": 1e-4, "delta": math.inf}, ["delta=inf"]),
        ("zero-chain", {"epsilon": 1e-300}, ["epsilon=1e-300", "smaller"]),
        ("zero-chain", {"epsilon": 1e-9}, ["100,000,000"]),
        ("zero-chain", {"horizon": 10**5, "seed": 0}, ["directions", "100,000,000"]),
        ("zero-chain", {"rows": 3}, ["'rows'"]),
        ("finite-sum-chain", {"n": 0}, ["n=0", "at least 1"]),
        (
            "finite-sum-chain",
            {"epsilon": 0.1},
            ["epsilon=0.1", "too large for n=", "smaller epsilon or n"],
        ),
        ("finite-sum-chain", {"epsilon": -1.0}, ["epsilon=-1", "greater than 0"]),
        ("finite-sum-chain", {"smoothness": 0.0}, ["smoothness=0"]),
        ("finite-sum-chain", {"delta": math.nan}, ["delta=nan"]),
        ("finite-sum-chain", {"epsilon": 1e-8}, ["100,000,000"]),
        ("finite-sum-chain", {"epsilon": 1e-300}, ["epsilon=1e-300", "smaller"]),
        ("finite-sum-chain", {"epsilom": 1.0}, ["'epsilom'", "'epsilon'"]),
        ("simplex-norm", {"columns": 1}, ["columns=1", "at least 2"]),
        ("simplex-norm", {"columns": 10**12}, ["100,000,000"]),
        (TASKS, {"source": "digit"}, ["source", "'digit'", "'digits'"]),
        (TASKS, {"source": "digits", "kinds": 3}, ["'kinds'", "source digits"]),
        (TASKS, {"noise": 0.1}, ["'noise'", "source synthetic"]),
        (TASKS, {"set": "l1"}, ["set l1 is for vectors", "nuclear, spectral"]),
        (TASKS, {"set": "spectrahedron", "kinds": 2}, ["for square matrices", "(30, 10)"]),
        (TASKS, {"radius": -1.0}, ["radius=-1", "greater than 0"]),
        (TASKS, {"tolerance": 0.0}, ["tolerance=0", "greater than 0"]),
        (TASKS, {"kinds": 0}, ["kinds=0", "at least 1"]),
        (TASKS, {"copies": 1.5}, ["copies=1.5", "integer"]),
        (TASKS, {"rows": -2}, ["rows=-2", "at least 1"]),
        (TASKS, {"columns": 0}, ["columns=0", "at least 1"]),
        (TASKS, {"seed": -1}, ["seed=-1", "at least 0"]),
        (TASKS, {"source": "digits", "noise": -0.1}, ["noise=-0.1", "at least 0"]),
        (TASKS, {"source": "digits", "rows": 0}, ["rows=0", "at least 1"]),
        (CLASSES, {"source": "synthetic", "classes": 1}, ["classes=1", "at least 2"]),
        (CLASSES, {"source": "synthetic", "rank": 0}, ["rank=0", "at least 1"]),
        (CLASSES, {"source": "digits", "seed": 1}, ["'seed'", "source digits"]),
        (CLASSES, {"radius": 0}, ["radius=0", "greater than 0"]),
        (REGRESSION, {"source": "digits"}, ["source", "'digits'"]),
        (REGRESSION, {"rank": 21}, ["rank=21", "at most 20"]),
        (REGRESSION, {"rank": 0}, ["rank=0"]),
        (REGRESSION, {"rows": 0}, ["rows=0"]),
        (REGRESSION, {"columns": 2.5}, ["columns=2.5", "integer"]),
        (REGRESSION, {"n": 0}, ["n=0", "at least 1"]),
        (REGRESSION, {"noise": -1.0}, ["noise=-1"]),
        (REGRESSION, {"spike": 0.0}, ["spike=0"]),
        (REGRESSION, {"sensing_variance": -0.1}, ["sensing_variance=-0.1"]),
        (REGRESSION, {"storage": "float16"}, ["storage", "'float16'"]),
        (REGRESSION, {"radius": 0.0}, ["radius=0"]),
        (REGRESSION, {"tolerance": 0.0}, ["tolerance=0"]),
        (REGRESSION, {"seed": -1}, ["seed=-1"]),
        (REGRESSION, {"rows": 10_000, "columns": 10_000}, ["10000 x 10000", "lower n"]),
        (REGRESSION, {"samples": 3}, ["'samples'"]),
    ],
)
def test_bad_parameters_by_name(name, parameters, words):
    data = SMALL if name == RECOVERY and "source" not in parameters else {}
    with refused(*words):
        pf.problem(name, **{**data, **parameters})


def observed(**changes):
    data = {
        "shape": (3, 4),
        "rows": np.array([0, 1, 2]),
        "columns": np.array([0, 3, 1]),
        "values": np.array([1.0, -2.0, 0.5]),
    }
    return Observations(**{**data, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"values": np.array([1.0, math.nan, 0.5])}, ["observed entries", "1 NaN", "clean"]),
        ({"values": np.array([math.inf, 1.0, 0.5])}, ["observed entries", "NaN or infinite"]),
        ({"values": np.array([1.0, 2.0])}, ["observed entries", "(2,)", "(3,)"]),
        ({"values": np.array(["a", "b", "c"])}, ["observed entries", "numbers"]),
        ({"columns": np.array([0, 3])}, ["column indices of observed", "equal length"]),
        ({"rows": np.array([0, 1, 3])}, ["inside", "3 x 4"]),
        ({"columns": np.array([0, -1, 1])}, ["inside", "3 x 4"]),
        ({"rows": np.array([0.0, 1.0, 1.5])}, ["integers"]),
        (
            {"rows": np.array([2, 1, 2]), "columns": np.array([1, 3, 1])},
            ["(2, 1)", "more than once"],
        ),
        (
            {"rows": np.array([], int), "columns": np.array([], int), "values": np.array([])},
            ["at least one"],
        ),
        ({"shape": (0, 4)}, ["inside", "0 x 4"]),
        (
            {
                "heldout_rows": np.array([0]),
                "heldout_columns": np.array([1]),
                "heldout_values": np.array([math.nan]),
            },
            ["held-out entries", "1 NaN"],
        ),
        (
            {
                "heldout_rows": np.array([0]),
                "heldout_columns": np.array([4]),
                "heldout_values": np.array([1.0]),
            },
            ["held-out", "inside", "3 x 4"],
        ),
        (
            {
                "heldout_rows": np.array([0]),
                "heldout_columns": np.array([1, 2]),
                "heldout_values": np.array([1.0]),
            },
            ["held-out", "equal length"],
        ),
    ],
)
def test_bad_observations(changes, words):
    with refused(*words):
        RobustMatrixRecovery(observed(**changes))


def classified(features=None, labels=None, d=2):
    features = np.array([[1.0, 2.0], [3.0, 4.0]]) if features is None else features
    labels = np.array([1.0, -1.0]) if labels is None else labels
    return NonconvexLogistic(features, labels, L1Ball(d))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": np.array([[1.0, math.nan], [0.0, 1.0]])}, ["features", "1 NaN", "clean"]),
        ({"features": np.array([[1.0, math.inf], [0.0, 1.0]])}, ["features", "NaN or infinite"]),
        ({"features": np.zeros((0, 2)), "labels": np.zeros(0)}, ["at least one row"]),
        ({"features": np.zeros((2, 0))}, ["one feature"]),
        ({"features": np.array([1.0, 2.0])}, ["features", "matrix"]),
        ({"features": np.array([["a", "b"], ["c", "d"]])}, ["features", "matrix"]),
        ({"features": [[1.0, 2.0], [3.0]]}, ["features", "matrix"]),
        ({"labels": np.array([1.0, 0.0])}, ["labels", "+1 or -1"]),
        ({"labels": np.array([1.0, 2.0])}, ["labels", "+1 or -1"]),
        ({"labels": np.array([1.0, math.nan])}, ["labels", "1 NaN"]),
        ({"labels": np.array([1.0])}, ["labels", "(1,)", "(2,)"]),
        ({"labels": np.array(["spam", "ham"])}, ["labels", "numbers"]),
        ({"d": 3}, ["dimension 3", "2 features"]),
    ],
)
def test_bad_classification_data(changes, words):
    with refused(*words):
        classified(**changes)


def test_the_users_own_arrays_are_neither_changed_nor_followed():
    # A row whose columns are neither sorted nor distinct, as a user may have it.
    rows = (np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3]))
    features = scipy.sparse.csr_array(tuple(a.copy() for a in rows), shape=(1, 2))
    labels = np.array([1.0])
    problem = NonconvexLogistic(features, labels, L1Ball(2))
    x = np.array([0.3, -0.2])
    before = problem.value(x)
    for mine, theirs in zip(rows, (features.data, features.indices, features.indptr), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    features.data[:] = 100.0
    labels[:] = -1.0
    assert problem.value(x) == before


def test_later_changes_of_the_observed_values_do_not_reach_the_problem():
    data = observed()
    problem = RobustMatrixRecovery(data)
    before = problem.value(problem.start())
    data.values[:] = 100.0
    assert problem.value(problem.start()) == before


# --- data rows that point outside themselves ------------------------------------------------------

GOOD = sp.random_array((20, 5), density=0.5, rng=np.random.default_rng(0)).tocsr()


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_every_sparse_format_is_read(form):
    found = as_csr(GOOD.asformat(form))
    assert found.format == "csr"
    assert np.array_equal(found.toarray(), GOOD.toarray())


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("index", [10**8, -1, 20])
def test_an_index_outside_is_refused(form, index):
    wrong = GOOD.asformat(form, copy=True)
    (wrong.coords[1] if form == "coo" else wrong.indices)[0] = index
    with pytest.raises(InputError, match="the features must be a matrix"):
        LeastSquares(features=wrong, labels=np.ones(20), set=L2Ball(5, 1.0))


@pytest.mark.parametrize(("place", "pointer"), [(3, 10**6), (3, -1), (0, 1), (-1, 10**6)])
def test_row_pointers_that_lie_are_refused(place, pointer):
    wrong = GOOD.copy()
    wrong.indptr[place] = pointer
    with pytest.raises(InputError, match="the features must be a matrix"):
        as_csr(wrong)


def test_duplicates_are_added_up_and_the_data_copied():
    doubled = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 5))
    found = as_csr(doubled)
    doubled.data[:] = 7.0
    assert found.toarray().tolist() == [[0, 2, 0, 0, 0], [1, 0, 0, 0, 0]]


def test_more_entries_than_32_bits_number_are_refused(monkeypatch):
    monkeypatch.setattr("pfbench.problems.row_data.MOST_ENTRIES", 10)
    with pytest.raises(InputError, match="at most 2"):
        as_csr(GOOD)


@pytest.mark.parametrize(
    "name", ["quadratic", "nonconvex-logistic", "multitask-sigmoid", "matrix-regression"]
)
@pytest.mark.parametrize("verb", ["gradient", "value", "batch"])
def test_a_point_of_another_size_reaches_no_compiled_loop(name, verb):
    problem = pf.problem(name)
    x = problem.start()
    for wrong in (x[:-1], np.concatenate([x, x])):
        arguments = (np.array([0]), wrong) if verb == "batch" else (wrong,)
        with pytest.raises((InputError, IndexError, ValueError)):
            getattr(problem, verb)(*arguments)
