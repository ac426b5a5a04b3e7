"""The laws of the synthetic source, what is held out, and that a seed fixes everything."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import pfbench as pf
from pfbench.base.state import State
from pfbench.problems import observations
from pfbench.problems.catalogue import PROBLEMS

PAPER = observations.draw_synthetic_entries(seed=0)


def truth_at(data):
    """The underlying matrix on the observed positions."""
    truth = data.truth
    matrix = (truth.left * truth.weights[:, None]).T @ truth.right
    return matrix[data.rows, data.columns]


def changed(data):
    return np.abs(data.values - truth_at(data)) > 1e-9


def test_the_paper_scale_of_shen2019_section_6():
    assert PAPER.shape == (200, 200)
    assert PAPER.values.shape == PAPER.rows.shape == PAPER.columns.shape == (4000,)
    cells = PAPER.rows * 200 + PAPER.columns
    assert len(np.unique(cells)) == 4000


@pytest.mark.parametrize("rank", [1, 5, 15])
def test_singular_values_double_up_to_fifty(rank):
    truth = observations.draw_synthetic_entries(seed=1, rank=rank).truth
    matrix = (truth.left * truth.weights[:, None]).T @ truth.right
    expected = 50.0 * 2.0 ** np.arange(rank) / 2.0 ** (rank - 1)
    found = np.linalg.svd(matrix, compute_uv=False)
    assert_allclose(found[:rank], expected[::-1], rtol=1e-12)
    assert found[rank:].max(initial=0.0) < 1e-10


def test_other_singular_values():
    truth = observations.draw_synthetic_entries(seed=1, rank=3, largest=1.5, decay=1.0).truth
    assert truth.weights.tolist() == [1.5] * 3
    assert observations.draw_synthetic_entries(
        rank=3, largest=9, decay=3
    ).truth.weights.tolist() == [1, 3, 9]


def test_the_share_of_outliers_is_that_of_all_entries():
    """Hypergeometric: 5 % of 4000 with a standard deviation of 13.1; over 40 seeds, of 2.1."""
    numbers = [changed(observations.draw_synthetic_entries(seed=seed)).sum() for seed in range(40)]
    assert abs(np.mean(numbers) - 200.0) < 5 * 2.1
    assert 8.0 < np.std(numbers) < 19.0


def test_all_entries_and_no_entries_may_be_outliers():
    everything = observations.draw_synthetic_entries(rows=30, columns=20, density=1.0, outliers=1.0)
    nothing = observations.draw_synthetic_entries(rows=30, columns=20, density=1.0, outliers=0.0)
    exactly = observations.draw_synthetic_entries(rows=30, columns=20, density=1.0, outliers=0.1)
    assert changed(everything).all()
    assert not changed(nothing).any()
    assert changed(exactly).sum() == 60  # all is observed, so all changed entries are


def test_outliers_are_uniform_noise():
    data = observations.draw_synthetic_entries(
        rows=300, columns=300, density=1.0, outliers=0.2, noise=3.0
    )
    noise = (data.values - truth_at(data))[changed(data)]
    assert np.abs(noise).max() <= 3.0
    # Uniform on [-3, 3]: mean 0 and second moment 3, each within five standard deviations.
    assert abs(noise.mean()) < 5 * np.sqrt(3.0 / noise.size)
    assert abs((noise**2).mean() - 3.0) < 5 * np.sqrt(7.2 / noise.size)


def test_observed_positions_are_uniform():
    counts = np.zeros((10, 8))
    for seed in range(400):
        data = observations.draw_synthetic_entries(
            seed=seed, rows=10, columns=8, rank=2, density=0.25
        )
        counts[data.rows, data.columns] += 1
    # Each cell is binomial(400, 1/4): mean 100, standard deviation 8.7.
    assert np.abs(counts - 100).max() < 5 * 8.7


@pytest.mark.parametrize(("density", "n"), [(1.0, 30), (0.5, 15), (0.1, 3), (0.05, 2)])
def test_the_share_of_observed_entries(density, n):
    data = observations.draw_synthetic_entries(rows=6, columns=5, rank=1, density=density)
    assert data.values.size == n


def test_a_seed_fixes_the_data_and_another_changes_them():
    parameters = {"rows": 12, "columns": 9, "rank": 3, "density": 0.4}
    first, again, other = (
        pf.problem("robust-matrix-recovery", seed=seed, **parameters) for seed in (5, 5, 6)
    )
    assert first.digest == again.digest != other.digest
    assert_array_equal(first.targets, again.targets)
    assert_array_equal(first.pattern.rows.indices, again.pattern.rows.indices)


def test_a_parameter_of_the_loss_does_not_change_the_data():
    a, b = (pf.problem("robust-matrix-recovery", rows=9, columns=9, sigma=s) for s in (1.0, 2.0))
    assert_array_equal(a.targets, b.targets)


def test_large_sparse_problems_are_drawn_without_a_dense_matrix():
    data = observations.draw_synthetic_entries(rows=100_000, columns=50_000, density=1e-6)
    assert data.values.size == 5000
    assert data.rows.max() > 90_000
    assert data.columns.max() > 45_000


# --- digits ---------------------------------------------------------------------------------------


def test_digits_are_centred_and_hold_out_other_pixels():
    data = observations.DigitPixels(density=0.3, heldout=0.2).draw()
    total = 1797 * 64
    assert data.shape == (1797, 64)
    assert data.values.size == round(0.3 * total)
    assert data.heldout_values.size == round(0.2 * total)
    seen, held = data.rows * 64 + data.columns, data.heldout_rows * 64 + data.heldout_columns
    assert not set(seen) & set(held)
    assert len(set(seen)) == len(seen)
    assert len(set(held)) == len(held)
    assert abs(data.values.mean()) < 1e-12
    pixels = np.concatenate([data.values, data.heldout_values]) + data.centre
    assert_allclose(pixels, np.round(pixels), atol=1e-12)
    assert 0 <= pixels.min() <= pixels.max() <= 16.0 + 1e-12


def test_digits_have_the_measures_of_held_out_pixels_where_there_are_any():
    with_some = pf.problem("robust-matrix-recovery", source="digits", heldout=0.1)
    without = pf.problem("robust-matrix-recovery", source="digits", heldout=0.0)
    assert set(with_some.measures()) == {"rmse_heldout", "rmse_heldout_mean"}
    assert set(without.measures()) == set()
    start = State(with_some.start())
    held = with_some.observations.heldout_values
    expected = np.sqrt(np.mean(held**2))  # the zero matrix predicts the mean, by centring
    assert_allclose(with_some.measures()["rmse_heldout"](with_some, start), expected, rtol=1e-12)
    mean = with_some.measures()["rmse_heldout_mean"](with_some, start)
    assert_allclose(mean, expected, rtol=1e-9)


def test_defaults_of_real_data_follow_the_observed_entries():
    problem = pf.problem("robust-matrix-recovery", source="digits")
    y = problem.targets
    assert_allclose(problem.radius, 3.0 * np.linalg.norm(y), rtol=1e-12)
    assert_allclose(problem.sigma, 2.0 * y.var(), rtol=1e-12)


def test_breast_cancer_over_each_set():
    for name in ("l1", "l2", "linf", "simplex"):
        problem = pf.problem("nonconvex-logistic", set=name, radius=2.0)
        assert (problem.n, problem.d) == (569, 30)
        assert problem.set.name == name
        assert problem.set.contains(problem.start())


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_parameter_of_every_problem_is_explained(name):
    for parameter, line in PROBLEMS[name].parameters().items():
        assert line, parameter


def test_a_problem_shows_the_parameters_it_was_given():
    problem = pf.problem("robust-matrix-recovery", rows=6, columns=5, rank=2)
    assert dict(problem.parameters) == {"rows": 6, "columns": 5, "rank": 2}
    with pytest.raises(TypeError):
        problem.parameters["rows"] = 7
