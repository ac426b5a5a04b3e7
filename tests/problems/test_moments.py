"""Eigenvalues of weighted second moments, and minimisation as exact as the gap asks for."""

from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.points import inner, tilt
from pfbench.problems import moments
from pfbench.problems.gap_accuracy import GapAccuracyBackend
from pfbench.problems.linear_models import LeastSquares, LogCosh
from pfbench.problems.moments import (
    eigenvalue_bound_probability_note,
    eigenvalue_lower_bound,
    eigenvalue_upper_bound,
)
from pfbench.sets import WholeSpace, lanczos, nuclear

FORMS = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"])


def exact(rows, weights):
    """All eigenvalues of sum_i weights_i a_i a_i', increasing."""
    return np.linalg.svd(np.sqrt(weights)[:, None] * rows, compute_uv=False)[::-1] ** 2


def data(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6), rng.random(n)


@FORMS
@pytest.mark.parametrize(("n", "d"), [(9, 4), (4, 9), (1, 1), (30, 30)])
def test_the_norm_is_the_largest_eigenvalue_rounded_up(form, n, d):
    rows, weights = data(1, n, d)
    rows[0, 0] = 1.0
    top = exact(rows, weights)[-1]
    assert top * (1 - 1e-13) <= eigenvalue_upper_bound(form(rows), weights) <= top * (1 + 1e-11)


@FORMS
@pytest.mark.parametrize(("n", "d"), [(40, 4), (9, 9), (4, 1)])
def test_the_least_moment_is_the_smallest_eigenvalue_rounded_down(form, n, d):
    rows, weights = data(2, n, d)
    least = exact(rows, weights)[0]
    assert least > 1e-5
    assert least * (1 - 1e-7) <= eigenvalue_lower_bound(form(rows), weights) <= least


@FORMS
def test_the_least_moment_is_zero_where_it_is_not_known_to_be_positive(form):
    rows, weights = data(3, 9, 4)
    assert eigenvalue_lower_bound(form(rows[:3]), weights[:3]) == 0.0
    rows[:, 3] = rows[:, :3] @ [1.0, 2.0, -3.0]
    assert eigenvalue_lower_bound(form(rows), weights) == 0.0
    assert eigenvalue_lower_bound(form(0.0 * rows), weights) == 0.0


@FORMS
@pytest.mark.parametrize("seed", range(8))
def test_the_certified_bound_is_above_and_close(monkeypatch, form, seed):
    """On random spectra, equal eigenvalues, a single large row, and tiny entries."""
    monkeypatch.setattr(moments, "DENSE", 20)
    rows, weights = data(seed, 70, 50)
    if seed % 4 == 1:
        rows = np.linalg.qr(rows)[0]  # all eigenvalues equal but for the weights
        weights = np.ones(70)
    if seed % 4 == 2:
        rows[7] *= 100.0
    if seed % 4 == 3:
        rows = rows * 1e-150  # its squares are near the smallest float
    top = exact(rows, weights)[-1]
    found = eigenvalue_upper_bound(form(rows), weights)
    # Certified: by more than 1e-9 above what is attained, which the Ritz value is to rounding.
    assert top * (1 + 1e-9) <= found <= top * (1 + 1e-5)
    assert found == eigenvalue_upper_bound(form(rows), weights), "not the same twice"


def test_above_the_side_no_gram_matrix_is_formed():
    """1600 x 1700, most of it 0: the bound is that of Lanczos, and says so."""
    matrix = scipy.sparse.random_array(
        (1700, 1600), density=1e-3, rng=np.random.default_rng(0), format="csr"
    )
    weights = np.full(1700, 1 / 1700)
    top = float(np.linalg.norm(matrix.toarray(), 2)) ** 2 / 1700
    assert top <= eigenvalue_upper_bound(matrix, weights) <= top * (1 + 1e-5)
    assert "fails with probability at most 1e-09" in eigenvalue_bound_probability_note(matrix)
    assert eigenvalue_bound_probability_note(matrix[:1500]) == ""
    assert eigenvalue_lower_bound(matrix, weights) == 0.0


@FORMS
def test_zero_features_have_norm_zero(form):
    assert eigenvalue_upper_bound(form(np.zeros((4, 3))), np.ones(4)) == 0.0
    assert eigenvalue_upper_bound(form(np.zeros((1600, 1501))), np.ones(1600)) == 0.0
    assert eigenvalue_upper_bound(form(np.eye(1600)), np.zeros(1600)) == 0.0


def test_constants_state_that_they_hold_in_probability():
    large = scipy.sparse.eye_array(1501, format="csr")
    for cls, rows, told in ((LogCosh, large, True), (LeastSquares, large[:, :1500], False)):
        problem = cls(rows, np.ones(1501), WholeSpace(rows.shape[1]))
        c = problem.constants(problem.start())
        assert c.L_f == pytest.approx(1 / 1501, rel=1e-5)
        for name in ("L_f", "L_ms", "L2_ms", "ell"):
            assert ("fails with probability" in c.derivations[name]) == told, name


@pytest.mark.parametrize("shape", [(2500, 7), (7, 2500), (1024, 3)])
@pytest.mark.parametrize("density", [0.02, 0.5, 1.0])
def test_sparse_rows_are_those_of_a_dense_matrix_however_full(shape, density):
    rng = np.random.default_rng(3)
    dense = rng.standard_normal(shape) * (rng.random(shape) < density)
    weights = rng.random(shape[0])
    exact = np.linalg.norm(np.sqrt(weights)[:, None] * dense, 2) ** 2
    found = eigenvalue_upper_bound(scipy.sparse.csr_array(dense), weights)
    assert exact * (1.0 - 1e-13) <= found <= exact * (1.0 + 1e-10)


# --- linear minimisation as exact as the gap asks for ---------------------------------------------


def problem(**given):
    sizes = {"rows": 80, "columns": 60, "rank": 5, "density": 0.4, "outliers": 0.1}
    return pf.problem("robust-matrix-recovery", **sizes, **{"tolerance": 1e-6} | given)


def followed(recovery, backend, iterations=40):
    """Follow open-loop Frank-Wolfe, and return what it found as columns.

    They are the weights, the gaps along v and along a minimiser, and of the pair at which it stops
    the residuals times the radius, and by how much sigma^2 is off an eigenvalue of g'g: all by a
    dense decomposition.
    """
    x, R, found = recovery.start(), recovery.radius, []
    for t in range(iterations):
        g = backend.gradient(x)
        v, before = vertex_and_before(backend, g)
        G, w = recovery.as_operator(g).dense(), 2.0 / (t + 2.0)
        s, sigma = np.linalg.svd(G, compute_uv=False), float(v.u @ G @ before)
        r = float(np.linalg.norm(G.T @ v.u - sigma * before))
        off = np.abs(s**2 - sigma**2).min() / sigma
        found.append((w, inner(g, x) - inner(g, v), inner(g, x) + R * s[0], R * r, R * off))
        x = pf.combine(x, v, w)
    return np.array(found).T


def vertex_and_before(backend, g):
    """Return the vertex of a linear minimisation, and the right vector at which it stopped."""
    pair, stopped_at = lanczos.write_leading_singular_vectors, []

    def watched(basis, steps, theta, ahead, u, v):
        stopped_at.append(np.empty_like(v))
        pair(basis, steps, theta, False, u, stopped_at[0])
        pair(basis, steps, theta, ahead, u, v)

    with patch.object(lanczos, "write_leading_singular_vectors", watched):
        return backend.lo(g), stopped_at[0]


@pytest.mark.parametrize("share", [0.03, 0.125])
@pytest.mark.parametrize("seed", range(3))
def test_a_residual_is_a_share_of_the_gap_and_the_sum_of_gaps_keeps_its_bound(seed, share):
    recovery = problem(gap_share=share, seed=seed)
    w, along, exact, residual, off = followed(recovery, recovery.open(np.random.default_rng(seed)))
    assert (residual <= 2.0 * share * along * (1.0 + 1e-6)).all()
    assert (off <= residual + 1e-9 * along).all()
    assert (residual > 0.3 * share * along).any()  # it makes use of it
    # Now and then the pair is not the leading one: nothing but a certificate excludes it.
    assert (exact <= (1.0 + share) * along).mean() > 0.8
    # f >= 0, and C is at most L D^2.
    C = recovery.constants(recovery.start()).L_f * (2.0 * recovery.radius) ** 2
    bound = recovery.value(recovery.start()) + 0.5 * C * (w**2).sum()
    assert (w * exact).sum() <= (1.0 + share) * bound


def test_a_share_that_is_looser_than_it_says_is_caught():
    recovery = problem()
    minimiser = recovery.set.make_warm_lmo(np.random.default_rng(0), 1e-6)
    loose = GapAccuracyBackend(recovery, recovery.as_operator, minimiser, 10 * 0.03)
    _, along, _, residual, _ = followed(recovery, loose)
    assert (residual > 2.0 * 0.03 * along).any()


def steps_of(recovery, run):
    """Return the Lanczos steps of each minimisation that is asked of a fresh backend."""
    found, leading = [], nuclear.leading_singular_triple

    def counting(*given, **options):
        found.append(leading(*given, **options))
        return found[-1]

    with patch.object(nuclear, "leading_singular_triple", counting):
        run(recovery, recovery.open(np.random.default_rng(1)))
    return [one.steps for one in found]


def test_a_share_saves_steps():
    exact, shared = (steps_of(problem(gap_share=share), followed) for share in (0.0, 0.125))
    assert sum(shared) < 0.6 * sum(exact)


@pytest.mark.parametrize("share", [0.0, 0.125])
def test_with_a_share_the_right_vector_is_half_a_step_ahead(share):
    recovery = problem(gap_share=share)
    x, backend = recovery.start(), recovery.open(np.random.default_rng(3))
    for t in range(12):
        g = backend.gradient(x)
        v, before = vertex_and_before(backend, g)
        ahead = recovery.as_operator(g).dense().T @ v.u
        along = [float(each @ ahead) for each in (v.v, before)]
        assert along[0] == pytest.approx(np.linalg.norm(ahead), rel=1e-13) or not share
        assert along[0] >= along[1] if share else np.array_equal(v.v, before)
        x = pf.combine(x, v, 2.0 / (t + 2.0))


def test_where_no_point_is_known_the_tolerance_decides():
    def tilted(recovery, backend):
        x = recovery.start()
        g = backend.gradient(x)
        y = pf.combine(x, recovery.set.random_vertex(np.random.default_rng(2), x.pattern), 0.5)
        backend.lo(tilt(g, pf.keep(y), pf.keep(x), 1e-3))
        backend.lo(g)

    exact, shared = (steps_of(problem(gap_share=share), tilted) for share in (0.0, 0.125))
    assert shared == exact


def test_the_share_is_a_part_of_the_problem_where_there_is_one():
    assert problem(gap_share=0.0).digest == problem().digest != problem(gap_share=0.1).digest
    large = partial(pf.problem, "robust-matrix-recovery", rows=300, columns=200, density=0.9)
    assert large(gap_share=0.25).digest == large().digest != large(gap_share=0.0).digest
    with pytest.raises(InputError, match=r"gap_share=0\.3 must be"):
        problem(gap_share=0.3)
