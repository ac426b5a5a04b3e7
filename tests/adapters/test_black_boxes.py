"""Other libraries' solvers: counted as by hand, with the points of their own runs, bit for bit."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest
from helpers import followed, refused
from scipy import optimize, sparse

import pfbench as pf
from pfbench.adapters import (
    BlackBox,
    CoptFrankWolfe,
    PartialFit,
    ScipyMinimize,
    TorchOptimizer,
    from_functions,
)
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.function_methods import ConsumerClosed, iterate_callback
from pfbench.runs.loop.steps import random_stream
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage import run_keys

ROWS, COLUMNS, RADIUS = 23, 4, 1.3
SMOOTH = pf.problem("log-cosh", rows=ROWS, columns=COLUMNS, set="none")
BALL = pf.problem("log-cosh", rows=ROWS, columns=COLUMNS, set="l1", radius=RADIUS)


class Counted:
    """A function that counts its calls, as one does by hand."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *given):
        self.calls += 1
        return self.function(*given)


# --- scipy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "CG", "TNC", "SLSQP", "Nelder-Mead"])
def test_scipy_is_counted_as_scipy_counts(method):
    jac = None if method == "Nelder-Mead" else SMOOTH.gradient
    points = []
    alone = optimize.minimize(
        SMOOTH.value,
        SMOOTH.start(),
        jac=jac,
        method=method,
        callback=lambda z: points.append(z + 0),
    )
    run = pf.solve(SMOOTH, ScipyMinimize(method=method), measures=["objective"])
    assert run.status == "finished"
    assert np.array_equal(run.x, alone.x)
    assert run.counts.fv == ROWS * alone.nfev
    assert run.counts.fo == (0 if jac is None else alone.get("njev", alone.nfev))
    assert run.counts.sfo == ROWS * run.counts.fo
    values = [SMOOTH.value(z) for z in points]
    assert run.trace["objective"][1 : 1 + len(values)].tolist() == values


def test_a_method_without_a_set_is_refused_on_one():
    with pytest.raises(RefusedError, match="scipy-minimize is for problems without set"):
        pf.solve(BALL, ScipyMinimize())


# --- copt -----------------------------------------------------------------------------------------


def alone(T, step):
    """copt's own run: its points, and its calls by hand."""
    copt = pytest.importorskip("copt")
    f_grad = Counted(lambda x: (BALL.value(x), BALL.gradient(x)))
    lmo, points = Counted(copt.constraint.L1Ball(RADIUS).lmo), []

    def callback(found):
        if len(points) == found["it"] < T:
            points.append(found["x"] + found["step_size"] * found["update_direction"])

    L = BALL.constants(BALL.start()).L_f
    given = {"step": step, "lipschitz": L, "max_iter": T, "tol": 0.0, "callback": callback}
    copt.minimize_frank_wolfe(f_grad, BALL.start(), lmo, jac=True, **given)
    return points, f_grad.calls, lmo.calls


@pytest.mark.parametrize("step", ["DR", "sublinear", "backtracking"])
def test_frank_wolfe_of_copt(step):
    T, L = 17, BALL.constants(BALL.start()).L_f
    points, gradients, minimisations = alone(T, step)
    found, run = followed(BALL, CoptFrankWolfe(iterations=T, step=step, smoothness=L))
    assert len(points) == T
    assert np.array_equal(found, points)
    assert (run.counts.fo, run.counts.lo) == (gradients, minimisations)
    if step == "backtracking":
        assert run.counts.fv == ROWS * run.counts.fo
        return
    # By the formula; and row k has what x_k took: k+1 gradients, k linear minimisations.
    assert (run.counts.fo, run.counts.lo, run.counts.fv) == (T + 1, T, 0)
    assert run.trace["lo"].tolist() == list(range(T + 1))
    assert run.trace["fo"].tolist() == [0, *range(2, T + 2)]


# --- scikit-learn ---------------------------------------------------------------------------------


def squares():
    """Return a problem of squares, and the features and labels of its rows."""
    problem = pf.problem("quadratic", source="synthetic", rows=ROWS, columns=COLUMNS, set="none")
    c = np.array([problem.component(i, np.zeros(COLUMNS)) for i in range(ROWS)])
    eye = np.eye(COLUMNS)
    H = [[problem.component(i, e) - c[i] for e in eye] for i in range(ROWS)]
    weights, vectors = np.linalg.eigh(np.array(H))
    if not np.allclose(weights[:, :-1], 0.0, atol=1e-9):
        pytest.fail("its components are no squares of one linear function each")
    features = np.sqrt(weights[:, -1:]) * vectors[:, :, -1]
    return problem, features, -np.sum(features * c, axis=1) / weights[:, -1]


def regressor(**options):
    linear_model = pytest.importorskip("sklearn.linear_model")
    usual = {"penalty": None, "learning_rate": "constant", "eta0": 0.02, "shuffle": False}
    return linear_model.SGDRegressor(**{"fit_intercept": False} | usual | options)


@pytest.mark.parametrize("kind", ["array", "csr"])
def test_partial_fit_steps_along_the_gradients_that_are_counted(kind):
    problem, features, labels = squares()
    data = {
        "array": lambda: (features, labels),
        "csr": lambda: (sparse.csr_array(features), labels.tolist()),
    }
    rows, values = data[kind]()
    method = PartialFit(estimator=regressor, features=rows, labels=values, iterations=40)
    found, run = followed(problem, method)
    assert (run.counts.sfo, run.counts.fo, run.iterations) == (40, 0, 40)
    rng, x = random_stream(0, "algorithm"), problem.start()
    for z in found:
        x = x - 0.02 * problem.batch(rng.integers(ROWS, size=1), x)
        np.testing.assert_allclose(z, x, rtol=1e-6, atol=1e-9)


# --- any ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (CoptFrankWolfe(iterations=12, step="backtracking", smoothness=0.1), BALL),
        (ScipyMinimize(iterations=8), SMOOTH),
    ],
)
def test_all_that_is_checked(method, problem):
    pytest.importorskip("copt")
    assert pf.check(method, problem=problem).is_passed, pf.check(method, problem=problem).failures


def test_a_budget_stops_before_the_call_that_would_exceed_it():
    """For every budget the iterates are those of the whole run, as far as it comes."""
    whole = pf.solve(SMOOTH, ScipyMinimize(iterations=6), measures=["objective"]).trace
    for most in range(1, whole["fo"].max()):
        run = pf.solve(
            SMOOTH, ScipyMinimize(iterations=6), budget=pf.Budget(fo=most), measures=["objective"]
        )
        assert run.status == "budget"
        assert run.counts.fo == most
        same = whole[whole["fo"] <= most]
        assert run.trace["objective"].tolist() == same["objective"].tolist()


@dataclass(frozen=True, kw_only=True)
class Swallows(BlackBox):
    """Goes on whatever is raised."""

    requires = frozenset({"gradient", "smooth"})

    def minimise(self, oracles, tell, rng):
        z = oracles.start
        for _ in range(9):
            try:
                z = z - 0.1 * oracles.gradient(z)
            except BaseException:
                break
            tell(z)


def test_a_swallowed_budget_ends_the_run_all_the_same():
    run = pf.solve(SMOOTH, Swallows(), budget=pf.Budget(fo=4))
    assert (run.status, run.iterations, run.counts.fo) == ("budget", 4, 4)


def test_points_that_are_no_arrays_are_refused():
    recovery = pf.problem("robust-matrix-recovery", rows=6, columns=5, source="synthetic")
    with pytest.raises(InputError, match="whose points are arrays"):
        pf.solve(recovery, CoptFrankWolfe(iterations=3, smoothness=1.0))


def test_the_function_ends_with_the_generator():
    ended = []

    def work(tell):
        try:
            for k in range(9):
                tell(k)
        except ConsumerClosed:
            ended.append(threading.current_thread())
            raise

    items = iterate_callback(work)
    assert [next(items), next(items)] == [0, 1]
    items.close()
    assert not ended[0].is_alive()
    with np.errstate(over="raise"):
        assert list(iterate_callback(lambda tell: tell(np.geterr()["over"]))) == ["raise"]


def test_a_stored_run_is_one_of_its_library(monkeypatch):
    """Of the version of what it runs, and of no other library's."""
    plan = PlannedRun(
        "log-cosh[rows=23,columns=4,set=l1]",
        "pfbench.adapters:CoptFrankWolfe[iterations=3,smoothness=1.0]",
        seed=0,
        measures=(),
        every=1,
    )
    versions = {"copt": "0.9.2", "torch": "2.13"}
    monkeypatch.setattr(run_keys, "library_version", versions.__getitem__)
    key = run_keys.compute_keys([plan], {})[plan].key
    versions["torch"] = "2.14"
    assert run_keys.compute_keys([plan], {})[plan].key == key
    versions["copt"] = "0.9.3"
    assert run_keys.compute_keys([plan], {})[plan].key != key


# --- what is wrong before the first oracle call raises; a failed run has no measures --------------


ONES = {"features": np.ones((ROWS, COLUMNS)), "labels": np.ones(ROWS), "iterations": 2}


@dataclass(frozen=True, kw_only=True)
class Misspelt(BlackBox):
    requires = frozenset({"gradient", "smooth"})

    def minimise(self, oracles, tell, rng):
        tell(oracles.start - oracles.grad(oracles.start))


@dataclass(frozen=True, kw_only=True)
class Later(BlackBox):
    requires = frozenset({"gradient", "smooth"})

    def minimise(self, oracles, tell, rng):
        tell(oracles.start - oracles.gradient(oracles.start))
        raise ValueError("no good")


def solver(function, vertex, start):
    """A function of three arguments, which is no method of (ask, x, rng)."""
    return start - function(start)


def with_intercept():
    return regressor(fit_intercept=True)


def without_partial_fit():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            Misspelt,
            ["Misspelt fails before its first oracle call", "did you mean 'gradient'", ".py:"],
        ),
        (solver, ["solver fails before its first oracle call", ".py:"]),
        (lambda: PartialFit(estimator=without_partial_fit, **ONES), ["no attribute 'partial_fit'"]),
        (lambda: PartialFit(estimator=with_intercept, **ONES), ["fit_intercept=False"]),
        (lambda: PartialFit(estimator=regressor(), **ONES), ["is not callable"]),
        (lambda: ScipyMinimize(method="bfgs"), ["'bfgs'", "did you mean 'BFGS'"]),
        (lambda: ScipyMinimize(method="nelder-mead"), ["did you mean 'Nelder-Mead'"]),
        (
            lambda: TorchOptimizer(optimizer="Adm", iterations=2, step=0.1),
            ["unknown optimiser of torch.optim 'Adm'", "did you mean 'Adam'"],
        ),
    ],
)
def test_what_is_wrong_before_the_first_call_raises(method, words):
    """It was a run with the status error, and the measures of the start as its results."""
    for module in ("sklearn", "torch"):
        pytest.importorskip(module)
    with refused(*words):
        pf.solve(SMOOTH, method() if method.__name__ == "<lambda>" else method)


def squared(gradient=lambda x: 2 * x, lmo=None):
    """|x|^2 with another gradient and a set, if any, from a start other than 0."""
    start = np.array([1.0, 0.0, 0.0])
    sums = (2, lambda x, S: 2 * x)
    return from_functions(lambda x: x @ x, gradient, lmo, start=start, components=sums)


def test_partial_fit_begins_at_0_and_refuses_another_start():
    pytest.importorskip("sklearn")
    data = {"features": np.ones((2, 3)), "labels": np.ones(2), "iterations": 2}
    with refused("starts at 0"):
        pf.solve(squared(), PartialFit(estimator=regressor, **data))


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({"gradient": lambda x: 2 * x + 0j}, "jac"),
        ({"gradient": lambda x: (2 * x).astype(np.complex64)}, "jac"),
        ({"lmo": lambda g: vertex(g) + 0j}, "lmo"),
    ],
)
def test_complex_numbers_are_refused(options, source):
    with refused(f"{source} returns complex numbers"):
        pf.solve(squared(**options), "frank-wolfe[iterations=5]")


def vertex(g):
    """Return the vertex of the l1 ball where <g, v> is least."""
    i = np.argmax(np.abs(g))
    return -np.sign(g[i]) * np.eye(3)[i]


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.coo_array, lambda v: sparse.csc_matrix(v[:, None])]
)
def test_vertices_may_be_sparse(form):
    dense, same = (
        pf.solve(squared(lmo=lmo), "frank-wolfe[iterations=5]", measures=["objective"])
        for lmo in (vertex, lambda g: form(vertex(g)))
    )
    np.testing.assert_array_equal(dense.trace["objective"], same.trace["objective"])


def test_what_fails_later_is_a_run_without_final_measures():
    run = pf.solve(SMOOTH, Later)
    assert (run.status, run.stop_reason, run.counts.fo) == ("error", "ValueError: no good", 1)
    assert set(run.final.values()) == {None}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_that_diverges_before_its_first_iterate_has_no_measures_of_the_start():
    def diverges(ask, x, rng):
        yield pf.State(x - np.inf * ask.gradient(x))

    run = pf.solve(SMOOTH, diverges, measures=["objective"])
    assert (run.status, run.final["objective"]) == ("diverged", None)


def test_a_class_is_called_by_its_own_name():
    """It was called BlackBox, as the class that it is made of."""
    assert (Misspelt.name, Later.name, Later().name) == ("Misspelt", "Later", "Later")


def test_an_lmo_that_is_nan_at_0_is_named():
    def lmo(g):
        with np.errstate(invalid="ignore"):
            return -g / np.linalg.norm(g)

    given = (lambda x: float(x @ x), lambda x: 2 * x, lmo)
    with refused("lmo returns NaN", "any vertex"):
        pf.adapters.from_functions(*given, start=np.zeros(3))
