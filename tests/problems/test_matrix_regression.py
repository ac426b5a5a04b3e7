"""Matrix regression (li2019): losses, constants, restricted strong convexity, and runs.

Oracles against definitions are in test_definitions.py.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from helpers import reference_of, refused, tiny_sensing
from numpy.testing import assert_allclose

import pfbench as pf
from pfbench.base.errors import RefusedError
from pfbench.base.state import State
from pfbench.points.atoms import Factors
from pfbench.problems import matrix_regression, sensing
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.restricted_convexity import find_worst_direction
from pfbench.problems.sensing import SensingData, draw_synthetic_sensing
from pfbench.sets import NuclearBall

PROBLEMS = {
    "loss (7)": tiny_sensing(),
    "loss (7), float32": tiny_sensing(kind=np.float32),
    "loss (7), n > MN": tiny_sensing(n=41),
    "loss (8)": tiny_sensing(0.3),
    "loss (8), n > MN": tiny_sensing(0.3, n=41),
    "loss (8), large w": tiny_sensing(40.0),
    "loss (8), spike": tiny_sensing(0.2, spike=50.0),
    "scalar": tiny_sensing(0.3, shape=(1, 1), n=3),
}
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


# --- definitions ----------------------------------------------------------------------------------


def test_the_loops_for_several_threads_give_the_same(monkeypatch):
    rng, problem = np.random.default_rng(5), tiny_sensing(0.3, n=23)
    x, S = rng.standard_normal(problem.shape), rng.integers(23, size=6)
    backend = problem.open(rng)
    one = [problem.value(x), problem.gradient(x), backend.batch(S, x)]
    monkeypatch.setattr(sensing, "_PARALLEL_ENTRIES", 1)
    for count in (2, 5, 40):
        monkeypatch.setattr(sensing, "thread_count", lambda count=count: count)
        assert problem.data._thread_chunk_bounds(23).size == count + 1
        many = [problem.value(x), problem.gradient(x), backend.batch(S, x)]
        for a, b in zip(one, many, strict=True):
            assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("threads", [1, 3])
def test_loss_8_is_loss_7_in_expectation_over_the_noise(threads, monkeypatch):
    """Exactly: (8) is quadratic in W, so all patterns of +-sqrt(w) once stand for any law."""
    monkeypatch.setattr(sensing, "_PARALLEL_ENTRIES", 1)
    monkeypatch.setattr(sensing, "thread_count", lambda: threads)
    rng, n, w = np.random.default_rng(6), 2, 0.7
    X, y = rng.standard_normal((n, 4)), rng.standard_normal(n)
    clean = MatrixRegression(SensingData((2, 2), X, y), NuclearBall((2, 2), 5.0))
    x, u = rng.standard_normal((2, 2, 2))
    values, gradients, products = [], [], []
    for signs in itertools.product((-1.0, 1.0), repeat=n * 4):
        Z = X + math.sqrt(w) * np.reshape(signs, (n, 4))
        noisy = MatrixRegression(
            SensingData((2, 2), Z, y, sensing_variance=w), NuclearBall((2, 2), 5.0)
        )
        values.append(noisy.value(x))
        gradients.append(noisy.gradient(x))
        products.append(noisy.open(rng).hessian(x).product(x, u))
    assert_allclose(np.mean(values), clean.value(x), rtol=1e-12)
    assert_allclose(np.mean(gradients, axis=0), clean.gradient(x), rtol=1e-12)
    expected = clean.open(rng).hessian(x).product(x, u)
    assert_allclose(np.mean(products, axis=0), expected, rtol=1e-12)


# --- constants ------------------------------------------------------------------------------------


@EACH
def test_the_smoothness_constants_are_those_of_the_hessians(problem):
    plain, constants = reference_of(problem), problem.constants(problem.start())
    H = plain.hessians
    assert_allclose(constants.L_f, np.linalg.norm(H.mean(axis=0), 2), rtol=1e-8)
    square = np.linalg.norm((H @ H).mean(axis=0), 2)
    assert_allclose(constants.L_ms, math.sqrt(square), rtol=1e-8)
    largest = max(np.linalg.norm(h, 2) for h in H)
    least = np.linalg.eigvalsh(H)[:, 0].min()
    if problem.shape != (1, 1):  # where every z z' has an eigenvalue 0
        assert_allclose(constants.L_max, largest, rtol=1e-8)
        assert_allclose(constants.ell, max(0.0, -least), atol=1e-12)
    assert largest <= constants.L_max * (1.0 + 1e-12)
    assert constants.L_f <= constants.L_ms * (1.0 + 1e-9)
    assert constants.L_ms <= constants.L_max * (1.0 + 1e-9)
    assert constants.L2_ms == 0.0
    assert constants.ell == problem.sensing_variance
    assert constants.ell >= -least - 1e-12
    assert (constants.n, constants.D, constants.M) == (problem.n, 4.0, 2.0)


@EACH
def test_no_point_has_a_larger_variance_and_a_search_comes_close(problem):
    plain, rng = reference_of(problem), np.random.default_rng(9)
    M, N = problem.shape
    bound = problem.constants(problem.start()).sigma2

    def variance(x):
        gradients = plain.component_gradients(x)
        return ((gradients - gradients.mean(axis=0)) ** 2).sum() / plain.n

    def loss(z):  # convex in x: the largest is at an extreme point
        u, v = z[:M] / np.linalg.norm(z[:M]), z[M:] / np.linalg.norm(z[M:])
        return -variance(2.0 * np.outer(u, v))

    found = max(
        -scipy.optimize.minimize(loss, rng.standard_normal(M + N), method="L-BFGS-B").fun
        for _ in range(5)
    )
    for _ in range(200):
        x = plain.random(rng)
        x *= 2.0 * rng.uniform() ** 0.1 / np.linalg.svd(x, compute_uv=False).sum()
        assert variance(x) <= bound
    assert found <= bound * (1.0 + 1e-9)
    assert bound <= 2.0 * found


@EACH
def test_delta_bounds_the_decrease_from_the_start(problem):
    plain, rng = reference_of(problem), np.random.default_rng(10)
    for start in (problem.start(), 0.1 * plain.random(rng)):
        delta = problem.constants(start).delta
        least = min(
            problem.value(problem.prox(3.0 * plain.random(rng), 0.0, 1.0)) for _ in range(200)
        )
        assert problem.value(start) - least <= delta
        assert problem.value(start) - problem.theta_hat(limit=500).value <= delta


def test_delta_of_loss_7_is_attained_where_there_is_no_noise():
    problem = pf.problem("matrix-regression", noise=0.0, rows=6, columns=5, rank=1)
    assert problem.truth is not None
    decrease = problem.value(problem.start()) - problem.value(problem.truth)
    assert_allclose(problem.constants(problem.start()).delta, decrease, rtol=1e-12)


def test_delta_of_loss_8_is_attained_where_nothing_is_seen_of_a_matrix():
    """Z has one entry, y = 0: f at a matrix elsewhere, of norm radius, is -w radius^2/2."""
    rows = np.zeros((3, 4))
    rows[:, 0] = 1.0
    problem = MatrixRegression(
        SensingData((2, 2), rows, np.zeros(3), sensing_variance=0.5), NuclearBall((2, 2), 3.0)
    )
    least = problem.value(np.array([[0.0, 0.0], [0.0, 3.0]]))
    delta = problem.constants(problem.start()).delta
    assert_allclose(delta, problem.value(problem.start()) - least, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(PROBLEMS.keys() - {"scalar"}))
def test_constants_of_data_too_large_for_a_dense_factorisation(name, monkeypatch):
    problem = PROBLEMS[name]
    exact = problem.constants(problem.start())
    monkeypatch.setattr(sensing, "_DENSE_SIDE", 0)
    other = replace(problem, data=replace(problem.data))
    assert other.data._rows_in_span_basis is None
    found = other.constants(problem.start())
    for constant in ("L_f", "L_ms", "sigma2"):
        a, b = getattr(exact, constant), getattr(found, constant)
        assert a * (1.0 - 1e-9) <= b <= a * (1.0 + 4e-4)
    assert_allclose(found.L_max, exact.L_max, rtol=1e-14)


# --- restricted strong convexity ------------------------------------------------------------------


def needed(problem, alpha, V):
    """The tau that one direction needs, from the definition: the loss along it, in NumPy."""
    plain = reference_of(problem)
    f = [plain.components(x).mean() for x in (V, 0.0 * V, -V)]
    second = (f[0] - 2.0 * f[1] + f[2]) / 2.0  # f(V) - f(0) - <grad f(0), V>
    nuclear = np.linalg.svd(V, compute_uv=False).sum()
    return (alpha * (V**2).sum() - second) / nuclear**2


@pytest.mark.thin(3)
@EACH
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_worst_direction_needs_the_tau_that_is_returned_and_none_found_needs_more(
    problem, rank
):
    if rank > min(problem.shape):
        return
    rng = np.random.default_rng(11)
    # Above the least curvature of f, so that some direction does need a positive tau.
    alpha = 0.6 * problem.constants(problem.start()).L_f
    worst = find_worst_direction(problem.data, alpha, rank=rank)
    assert_allclose(np.linalg.svd(worst.direction, compute_uv=False).sum(), 1.0, rtol=1e-12)
    assert np.linalg.matrix_rank(worst.direction, tol=1e-9) <= rank
    assert_allclose(worst.tau, needed(problem, alpha, worst.direction), rtol=1e-9)
    assert worst.tau > 0.0
    A = rng.standard_normal((2000, problem.shape[0], rank))
    B = rng.standard_normal((2000, rank, problem.shape[1]))
    assert max(needed(problem, alpha, V) for V in (A @ B)[:300]) <= worst.tau * (1.0 + 1e-9)


def test_a_curvature_below_that_of_f_needs_no_tau():
    problem = tiny_sensing(n=400)
    least = np.linalg.eigvalsh(reference_of(problem).hessians.mean(axis=0))[0]
    for rank in (1, 3):
        assert find_worst_direction(problem.data, 0.49 * least, rank=rank).tau == 0.0


def blind(d=20, r=1):
    """All matrices are seen alike, but I is not seen at all: E z z' = 1 - I I'/d."""
    identity = np.eye(d).ravel()[:, None]
    basis = np.linalg.qr(np.hstack([identity, np.eye(d * d)[:, 1:]]))[0][:, 1:]
    rows = np.ascontiguousarray(basis.T) * math.sqrt(d * d - 1)
    truth = Factors(np.full(r, 10.0), np.eye(d)[:r], np.eye(d)[:r])
    theta = (truth.left.T * truth.weights) @ truth.right
    return MatrixRegression(
        SensingData((d, d), rows, rows @ theta.ravel(), truth, (1.0, 1.0)),
        NuclearBall((d, d), 10.0 * r),
    )


def test_a_direction_of_full_rank_that_no_rank_one_search_finds():
    """excess = -|V|^2/4 + <V, I>^2/(2 d) <= <V, I>^2/(4 d) <= |V|_*^2/(4 d), attained at I."""
    problem = blind()
    assert find_worst_direction(problem.data, 0.25, rank=1).tau == 0.0
    assert_allclose(find_worst_direction(problem.data, 0.25, rank=20).tau, 1.0 / 80.0, rtol=1e-6)


def test_an_estimated_sigma_hat():
    problem = blind()
    known = problem.convexity_constants
    assert (known.sigma, known.has_positive_sigma_hat) == (0.5, True)
    assert_allclose(known.tau, 1.0 / 80.0, rtol=1e-6)
    assert_allclose(known.sigma_hat, 0.5 - 16.0 * 2.0 / 80.0, rtol=1e-5)
    assert "estimate" in known.derivation
    constants = problem.constants(problem.start())
    assert constants.sigma_hat == known.sigma_hat
    assert constants.derivations["sigma_hat"] == known.derivation
    assert problem.properties == {"convex", "restricted strong convexity"}


def test_sigma_hat_is_the_least_eigenvalue_where_f_is_strongly_convex():
    for name in ("loss (7), n > MN", "loss (8), n > MN"):
        problem = tiny_sensing(0.02 if "(8)" in name else 0.0, n=200)
        least = np.linalg.eigvalsh(reference_of(problem).hessians.mean(axis=0))[0]
        known = problem.convexity_constants
        assert known.has_positive_sigma_hat
        assert known.tau == 0.0
        assert known.sigma == known.sigma_hat
        assert least * (1.0 - 1e-6) <= known.sigma_hat <= least
        assert problem.constants(problem.start()).sigma_hat == known.sigma_hat
        assert "restricted strong convexity" in problem.properties
        assert ("convex" in problem.properties) == ("(7)" in name)


def test_at_the_papers_sample_size_sigma_hat_is_not_positive_and_says_why():
    """n = 10 r d: a matrix with few nonzero rows is not seen at all, whatever was drawn."""
    problem = pf.problem("matrix-regression", rows=24, columns=24, rank=2, spike=1.0)
    known = problem.convexity_constants
    assert problem.n == 480
    k = 480 // 24 + 1
    kernel = np.linalg.svd(np.asarray(problem.data.rows)[:, : 24 * k])[2][-1]
    V = np.zeros((24, 24))
    V.ravel()[: 24 * k] = kernel
    assert np.abs(problem.data.products(np.arange(480), V)).max() <= 1e-10
    assert needed(problem, known.sigma / 2.0, V) >= known.tau * (1.0 - 1e-9)
    assert known.sigma - 64.0 * known.tau == known.sigma_hat < 0.0
    assert not known.has_positive_sigma_hat
    assert f"rank at most {k}" in known.derivation
    assert problem.properties == {"convex"}
    constants = problem.constants(problem.start())
    assert constants.sigma_hat == math.inf
    assert "sigma_hat" not in constants.derivations
    with pytest.raises(RefusedError) as error:
        pf.solve(problem, pf.algorithm("cgs", epsilon=0.1))
    assert "sigma_hat" in str(error.value)


@pytest.mark.parametrize("w", [0.0, 0.2])
def test_sigma_of_lemma_1_with_the_corrected_constants(w):
    """sigma/2 = lambda_min(Sigma_x)/4 for loss (7), /8 for loss (8)."""
    data = draw_synthetic_sensing(rows=20, columns=20, rank=1, n=390, spike=9.0, sensing_variance=w)
    known = MatrixRegression(data, data.li2019_ball).convexity_constants
    assert known.sigma / 2.0 == (0.25 if w == 0.0 else 0.125)
    assert known.sigma_hat == known.sigma - 32.0 * known.tau
    # li2019's lemma on rank one alone would need less.
    problem = MatrixRegression(data, data.li2019_ball)
    assert find_worst_direction(problem.data, known.sigma / 2.0, rank=1).tau < known.tau


def test_why_sigma_hat_is_not_known():
    assert "neither rank nor covariance" in tiny_sensing().convexity_constants.derivation
    data = draw_synthetic_sensing(rows=5, columns=4, rank=1, n=15, sensing_variance=0.3)
    known = MatrixRegression(data, data.li2019_ball).convexity_constants
    assert "needs w <= lambda_min(Sigma_x)/4, which is 0.25" in known.derivation
    assert not known.has_positive_sigma_hat
    assert math.isnan(known.sigma_hat)


# --- the minimiser --------------------------------------------------------------------------------


def test_theta_hat_inside_the_ball_is_the_solution_of_least_squares():
    problem = tiny_sensing(n=40, radius=1e3)
    plain = reference_of(problem)
    expected = np.linalg.lstsq(plain.Z.reshape(40, -1), plain.y)[0]
    found = problem.theta_hat()
    assert_allclose(found.matrix.ravel(), expected, atol=1e-6)
    assert_allclose(found.value, plain.components(expected.reshape(3, 4)).mean(), rtol=1e-9)


def test_theta_hat_takes_as_many_steps_as_the_root_of_the_condition_number():
    """Momentum without restarts oscillates here and needs several times as many."""
    problem = tiny_sensing(n=300, radius=1e3, spike=300.0)
    constants = problem.constants(problem.start())
    most = round(30.0 * math.sqrt(constants.L_f / constants.sigma_hat))
    assert problem.theta_hat(limit=most).gap <= 1e-6


@EACH
def test_theta_hat_on_the_boundary_is_stationary_and_no_point_is_better(problem):
    problem, plain = replace(problem, set=NuclearBall(problem.shape, 0.3)), reference_of(problem)
    found, rng = problem.theta_hat(), np.random.default_rng(12)
    g = plain.component_gradients(found.matrix).mean(axis=0)
    gap = np.vdot(g, found.matrix) + 0.3 * np.linalg.norm(g, 2)
    assert_allclose(found.gap, gap, atol=1e-12)
    assert gap <= 1e-10 * (1.0 + abs(found.value))
    assert_allclose(found.value, plain.components(found.matrix).mean(), rtol=1e-12)
    assert problem.set.contains(found.matrix)
    if np.linalg.eigvalsh(plain.hessians.mean(axis=0))[0] >= -1e-12:
        others = [problem.prox(plain.random(rng), 0.0, 1.0) for _ in range(300)]
        assert min(map(problem.value, others)) >= found.value - found.gap
        value, words = problem.best_known
        assert value == found.value
        assert "certified" in words
    else:
        assert problem.best_known is None


def test_a_best_value_is_known_only_where_it_is_quick(monkeypatch):
    monkeypatch.setattr(matrix_regression, "_SMALL_ENTRIES", 9 * 12 - 1)
    assert tiny_sensing().best_known is None


# --- synthetic data -------------------------------------------------------------------------------

SMALL = {"rows": 6, "columns": 5, "rank": 2}


def test_the_data_are_those_of_the_paper():
    problem = pf.problem("matrix-regression", **SMALL, n=20_000, spike=9.0, noise=0.5)
    s = np.linalg.svd(problem.truth, compute_uv=False)
    assert_allclose(s, [25.0, 25.0, 0.0, 0.0, 0.0], atol=1e-12)
    X = np.asarray(problem.data.rows)
    # Six standard deviations of a variance from 20 000 normal numbers, of thirty of them.
    assert_allclose(X.var(axis=0), [9.0] + [1.0] * 29, rtol=0.06)
    errors = problem.data.targets - X @ problem.truth.ravel()
    assert_allclose(errors.std(), 0.5, rtol=0.03)
    assert problem.data.variances == (1.0, 9.0)
    assert pf.problem("matrix-regression", **SMALL).n == 10 * 2 * 6
    assert pf.problem("matrix-regression").shape == (20, 20)
    small = draw_synthetic_sensing(rows=1, columns=1, rank=1, spike=4.0)
    assert small.variances == (4.0, 4.0)


def test_a_seed_determines_the_data_and_w_changes_the_sensing_matrices_alone():
    one, same, other, noisy = (
        pf.problem("matrix-regression", **SMALL, n=3000, **more)
        for more in ({}, {}, {"seed": 1}, {"sensing_variance": 0.25})
    )
    assert one.digest == same.digest
    assert np.array_equal(one.data.rows, same.data.rows)
    assert len({one.digest, other.digest, noisy.digest}) == 3
    assert np.array_equal(one.truth, noisy.truth)
    assert np.array_equal(one.data.targets, noisy.data.targets)
    W = np.asarray(noisy.data.rows) - np.asarray(one.data.rows)
    # 90 000 normal numbers: six standard deviations.
    assert_allclose(W.var(), 0.25, rtol=0.03)
    assert abs(W.mean()) <= 0.01
    assert (one.sensing_variance, noisy.sensing_variance) == (0.0, 0.25)


def test_single_precision_stores_the_rounded_matrices():
    double, single = (
        pf.problem("matrix-regression", **SMALL, noise=0.0, storage=storage)
        for storage in ("float64", "float32")
    )
    assert single.data.rows.dtype == np.float32
    assert np.array_equal(single.data.rows, np.asarray(double.data.rows).astype(np.float32))
    assert single.value(single.truth) <= 1e-25
    assert single.digest != double.digest


@pytest.mark.parametrize("block", [1, 70])
def test_blocks_change_nothing_but_how_much_is_drawn_at_once(monkeypatch, block):
    given = {**SMALL, "sensing_variance": 0.2, "n": 11}
    whole = pf.problem("matrix-regression", **given)
    digest = whole.digest
    tau, spread = find_worst_direction(whole.data, 0.4).tau, whole.constants(whole.start()).sigma2
    monkeypatch.setattr(sensing, "_BLOCK_ENTRIES", block)
    parts = pf.problem("matrix-regression", **given)
    assert np.array_equal(whole.data.rows, parts.data.rows)
    assert_allclose(parts.data.targets, whole.data.targets, rtol=1e-12)
    assert replace(whole).digest == digest
    assert_allclose(find_worst_direction(parts.data, 0.4).tau, tau, rtol=1e-9)
    assert_allclose(parts.constants(parts.start()).sigma2, spread, rtol=1e-12)


@pytest.mark.parametrize(
    "change", ["radius", "tolerance", "rows", "targets", "truth", "w", "variances"]
)
def test_the_digest_covers_all_that_defines_the_problem(change):
    problem = pf.problem("matrix-regression", **SMALL)
    data = problem.data
    rows, targets = data.matrices.copy(), data.targets.copy()
    rows[3, 2] += 1e-9
    targets[1] += 1e-9
    other = {
        "radius": lambda: replace(problem, set=NuclearBall(problem.shape, 7.0)),
        "tolerance": lambda: replace(problem, tolerance=1e-3),
        "rows": lambda: replace(problem, data=replace(data, matrices=rows)),
        "targets": lambda: replace(problem, data=replace(data, targets=targets)),
        "truth": lambda: replace(problem, data=replace(data, truth=None)),
        "w": lambda: replace(problem, data=replace(data, sensing_variance=0.1)),
        "variances": lambda: replace(problem, data=replace(data, variances=None)),
    }[change]()
    assert other.digest != problem.digest


def test_the_error_against_the_underlying_matrix():
    problem = pf.problem("matrix-regression", **SMALL)
    measure = problem.measures()["rmse_truth"]
    x = problem.truth + 0.25
    assert_allclose(measure(problem, State(x)), 0.25, rtol=1e-12)
    assert tiny_sensing().measures() == {}


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"matrices": np.full((9, 12), np.nan)}, ["sensing matrices", "NaN"]),
        ({"targets": np.ones(8)}, ["targets", "(8,)", "(9,)"]),
        ({"targets": np.full(9, np.inf)}, ["targets", "infinite"]),
        (
            {"truth": Factors(np.ones(1), np.ones((1, 4)), np.ones((1, 3)))},
            ["underlying", "(3, 4)"],
        ),
    ],
)
def test_bad_data_are_refused(change, words):
    with refused(*words):
        MatrixRegression(replace(tiny_sensing().data, **change), tiny_sensing().set)
