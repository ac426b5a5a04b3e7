"""Synthetic and real sources; how problems are built; best known values; shared arrays."""

import dataclasses

import numpy as np
import pytest
from checking.small_problems import SMALL
from numpy.testing import assert_allclose, assert_array_equal

import pfbench as pf
from pfbench.base import arrays
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.base.state import State
from pfbench.points import Pattern
from pfbench.problems import PROBLEMS, observations
from pfbench.problems.catalogue import build_problem
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations, SyntheticEntries, _draw_hypergeometric
from pfbench.problems.shared_terms import SharedArrayTable

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


@pytest.mark.parametrize(("density", "n"), [(1.0, 30), (0.5, 15), (0.1, 3), (0.05, 2)])
def test_the_share_of_observed_entries(density, n):
    data = observations.draw_synthetic_entries(rows=6, columns=5, rank=1, density=density)
    assert data.values.size == n


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


# --- synthetic entries are drawn a part at a time -------------------------------------------------

DRAWN = SyntheticEntries(seed=3, rows=40, columns=30, rank=3, density=0.4, outliers=0.2)


def at_once(drawn):
    """Return rows, columns and values, by arrays of full length."""
    rng = np.random.default_rng(np.random.SeedSequence(drawn.seed))
    M, N = drawn.rows, drawn.columns
    n = round(drawn.density * M * N)
    left, right = (np.linalg.qr(rng.standard_normal((size, drawn.rank)))[0] for size in (M, N))
    weights = drawn.largest * drawn.decay ** np.arange(1.0 - drawn.rank, 1.0)
    i, j = np.divmod(np.sort(rng.choice(M * N, size=n, replace=False, shuffle=False)), N)
    values = np.einsum("kj,kj->j", left.T[:, i] * weights[:, None], right.T[:, j])
    changed = round(drawn.outliers * M * N)
    hit = _draw_hypergeometric(rng, changed, M * N - changed, n)
    values[rng.choice(n, size=hit, replace=False)] += rng.uniform(
        -drawn.noise, drawn.noise, size=hit
    )
    return i, j, values


@pytest.fixture(params=[7, 64, 1 << 17])
def in_parts(request, monkeypatch):
    monkeypatch.setattr(arrays, "_PART", request.param)


def test_the_parts_are_the_whole(in_parts):
    data, whole = DRAWN.draw(), at_once(DRAWN)
    for part, expected in zip((data.rows, data.columns, data.values), whole, strict=True):
        assert part.dtype == expected.dtype
        assert_array_equal(part, expected)


def test_they_have_the_digest_of_the_same_entries_in_any_form(in_parts):
    data, (i, j, values) = DRAWN.draw(), at_once(DRAWN)
    own = RobustMatrixRecovery(data).digest
    assert own == RobustMatrixRecovery(Observations((40, 30), i, j, values)).digest
    narrow = Observations((40, 30), i.astype(np.uint8), j.astype(np.int16), values)
    assert own == RobustMatrixRecovery(narrow).digest
    values[-1] = np.nextafter(values[-1], 9.0)
    assert own != RobustMatrixRecovery(Observations((40, 30), i, j, values)).digest


def test_row_numbers_of_a_range(in_parts):
    pattern = DRAWN.draw().pattern
    rows = pattern.row_numbers()
    assert_array_equal(np.concatenate([rows[part] for part in pattern.slices()]), rows)
    for part in (slice(0, 1), slice(5, 5), slice(13, 200), slice(pattern.n - 1, None)):
        assert_array_equal(pattern.row_numbers(part), rows[part])


# --- ratings of a user ----------------------------------------------------------------------------


def test_ratings_that_are_all_equal_are_refused_as_such(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t1\t5\t0\n1\t2\t5\t0\n2\t1\t5\t0\n")
    with pytest.raises(InputError, match="all ratings of the source movielens are equal"):
        pf.problem("robust-matrix-recovery", source="movielens", edition=str(path))


# --- problems are built once ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_construction(name, monkeypatch):
    cls, built = PROBLEMS[name].family.problem, []
    if not hasattr(cls, "__post_init__"):
        pytest.skip("nothing is checked where it is constructed")
    check = cls.__post_init__

    def counted(self):
        built.append(type(self))
        check(self)

    monkeypatch.setattr(cls, "__post_init__", counted)
    text = name + SMALL[name]
    problem = pf.problem(text)
    assert built == [cls]
    assert (problem.name, problem.parameters) == (name, Selector.parse(text).parameters)


def test_positions_are_sorted_once(monkeypatch):
    calls = []
    build = Pattern.from_sorted

    def counted(*arguments):
        calls.append(arguments)
        return build(*arguments)

    monkeypatch.setattr(Pattern, "from_sorted", counted)
    problem = pf.problem("robust-matrix-recovery" + SMALL["robust-matrix-recovery"])
    problem.gradient(problem.start())
    assert len(calls) == 1


def test_one_object_under_two_names_keeps_both():
    given = PROBLEMS["simplex-norm"].build({"columns": 4})
    one, other = given.with_selector("one", {"columns": 4}), given.with_selector("other", {})
    assert (one.name, other.name, given.name) == ("one", "other", "simplex-norm")
    assert (one.parameters, other.parameters) == ({"columns": 4}, {})
    assert type(one) is type(given)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.columns = 5


@pytest.mark.parametrize("text", ["nan", "1e3", "007", "true"])
def test_a_parameter_that_is_a_text_stays_one(text):
    """It is refused, or looked for, as it was written."""
    selector = Selector.parse(f"robust-matrix-recovery[source={text},seed=3]")
    with pytest.raises(pf.PfbenchError, match=f"'{text}'"):
        build_problem(selector)


# --- arrays that components share -----------------------------------------------------------------

NO_COUNTS = np.empty(0, dtype=np.int64)


@pytest.mark.parametrize("seed", range(4))
def test_each_component_has_the_array_that_was_stored_last(seed):
    rng, n = np.random.default_rng(seed), 9
    each = np.tile(rng.standard_normal(3), (n, 1))
    terms = SharedArrayTable(n, each[0])
    for _ in range(60):
        drawn, term, before = rng.integers(n, size=rng.integers(1, 6)), rng.standard_normal(3), each
        change = terms.replace_and_sum_change(drawn, term)
        each = before.copy()
        each[drawn] = term
        assert_allclose(change, (each - before).sum(axis=0), atol=1e-12)
        indices, counts = rng.integers(n, size=7), rng.integers(5, size=7)
        assert_allclose(terms.mean(indices, NO_COUNTS, 7), each[indices].mean(axis=0))
        size = max(1, int(counts.sum()))
        assert_allclose(terms.mean(indices, counts, size), counts @ each[indices] / size)
        # No array is counted that no component has, and little more than those have room.
        assert len(terms) == len(np.unique(each, axis=0))
        assert len(terms._terms) < 2 * n


def test_an_array_goes_with_its_last_component():
    terms = SharedArrayTable(3, np.zeros(2))
    for stored, left in (([0, 1], 2), ([2], 2), ([0, 1, 2, 1], 1)):
        terms.replace_and_sum_change(np.array(stored), np.ones(2))
        assert len(terms) == left
