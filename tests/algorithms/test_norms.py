"""Methods for norm balls: counts by hand, references, and what is the same method."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.problems.additive_noise import MatrixLeastSquares
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.whole_space import WholeMatrices

K, B, STEP, ALPHA = 23, 3, 0.07, 0.3
BETA = 1.0 - ALPHA
COMMON = {"iterations": K, "step": STEP, "batch": B}


def least_squares(norm):
    """|A W - C|^2/2 with normal noise in seven components, W of shape (3, 5)."""
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((7, 3, 5))
    plain = MatrixLeastSquares(
        set=WholeMatrices((3, 5)),
        start_point=rng.standard_normal((3, 5)),
        noise=noise - noise.mean(axis=0),
        A=rng.standard_normal((4, 3)),
        B=rng.standard_normal((4, 5)),
    )
    return NormedProblem(plain, norm_ball(norm, (3, 5)))


def path(problem, name, seed=5, **given):
    """The iterates after each step, with the algorithm's own stream."""
    method = ALGORITHMS[name](**{**COMMON, **given})
    ask = problem.open(np.random.default_rng(0))
    states = method.run(ask, problem.start(), np.random.default_rng(seed))
    return np.array([np.array(state.x) for state in states])


def test_normuon_moves_nothing_without_a_gradient():
    still = MatrixLeastSquares(
        set=WholeMatrices((3, 2)),
        start_point=np.ones((3, 2)),
        noise=np.zeros((1, 3, 2)),
        A=np.eye(3),
        B=np.ones((3, 2)),
    )
    problem = NormedProblem(still, norm_ball("spectral", (3, 2)))
    assert np.all(path(problem, "normuon", beta=BETA) == 1.0)


@pytest.mark.parametrize("lmo", ["newton-schulz", "quintic"])
def test_an_inexact_minimisation_tells_its_price_and_its_quality(lmo):
    problem = least_squares(f"spectral[lmo={lmo},steps=3]")
    measures = ["lmo_lower", "lmo_upper", "lmo_products", "dual_norm"]
    run = pf.solve(problem, pf.algorithm("muon", **COMMON, beta=BETA), measures=measures)
    at = {name: run.columns.index(name) for name in measures}
    for row in run.rows[1:]:
        lo, hi, products, _ = (row[at[name]] for name in measures)
        assert 0.3 < lo <= 1.0 + 1e-12 if lmo == "newton-schulz" else 0.3 < lo <= 1.2025
        assert hi <= (1.0 + 1e-12 if lmo == "newton-schulz" else 1.2025)
        assert products == 9
    with_svd = path(least_squares("spectral"), "muon", beta=BETA)
    assert np.abs(path(problem, "muon", beta=BETA) - with_svd).max() > 1e-3


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "norm", "words"),
    [
        ("muon", "linf", "is for the norm spectral"),
        ("signum", "spectral", "is for the norm linf"),
        ("normalised-sgd", "linf", "is for the norm l2"),
    ],
)
def test_another_norm_is_refused_by_name(name, norm, words):
    with pytest.raises(RefusedError, match=words):
        pf.solve(least_squares(norm), pf.algorithm(name, **COMMON, beta=BETA))


def test_a_problem_without_a_norm_is_refused():
    with pytest.raises(RefusedError, match="is for problems with a norm in place of a set"):
        pf.solve(pf.problem("log-cosh", set="l1"), pf.algorithm("uscg", **COMMON))


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InputError, match="exceeds 1: lower one of them"):
        ALGORITHMS["uscg"](**COMMON, decay=20.0)
    with pytest.raises(InputError, match="must be below 1"):
        ALGORITHMS["muon"](**COMMON, beta=1.0)
    with pytest.raises(InputError, match="alpha"):
        ALGORITHMS["scg"](**COMMON, alpha=1.5)
