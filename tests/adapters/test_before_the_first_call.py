"""What is wrong before the first oracle call raises; a failed run has no measures."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers import refused
from scipy import sparse

import pfbench as pf
from pfbench.adapters import PartialFit, ScipyMinimize, TorchOptimizer, from_functions
from pfbench.adapters.black_box import BlackBox

SMOOTH = pf.problem("quadratic", rows=20, columns=4, set="none")
ROWS = {"features": np.ones((20, 4)), "labels": np.ones(20), "iterations": 2}


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


def without_partial_fit():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def regressor(fit_intercept=False):
    from sklearn.linear_model import SGDRegressor

    return SGDRegressor(fit_intercept=fit_intercept, shuffle=False)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            Misspelt,
            ["Misspelt fails before its first oracle call", "did you mean 'gradient'", ".py:"],
        ),
        (solver, ["solver fails before its first oracle call", "solver(ask, x, rng)", ".py:"]),
        (lambda: PartialFit(estimator=without_partial_fit, **ROWS), ["has no partial_fit"]),
        (lambda: PartialFit(estimator=lambda: regressor(True), **ROWS), ["fit_intercept=False"]),
        (lambda: PartialFit(estimator=regressor(), **ROWS), ["estimator must be a function"]),
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
    with refused("lmo(0) returns NaN", "any vertex"):
        pf.adapters.from_functions(*given, start=np.zeros(3))
