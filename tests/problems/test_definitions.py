"""Every oracle of both problems against its definition as a mean over components.

The references in helpers.py are plain NumPy; they are themselves compared with finite
differences of the components' values.
"""

import numpy as np
import pytest
from chain_reference import HARD_PROBLEMS
from helpers import (
    random_vertex,
    reference_of,
    tiny_logistic,
    tiny_multiclass,
    tiny_multitask,
    tiny_recovery,
    tiny_regression,
    tiny_sensing,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import InputError, RefusedError, StalePoint
from pfbench.base.sample import Sample
from pfbench.points import combine, distance, keep
from pfbench.problems.linear_models import LeastSquares, LogCosh, RobustRegression
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations

WRITTEN = {
    "recovery": tiny_recovery(),
    "recovery, sum": tiny_recovery(scaling="sum"),
    "logistic": tiny_logistic(),
    "logistic without regulariser": tiny_logistic(alpha=0.0),
    "robust regression": tiny_regression(RobustRegression, noise=0.5),
    "log cosh": tiny_regression(LogCosh, noise=0.5),
    "quadratic": tiny_regression(LeastSquares, noise=0.5),
    "multiclass": tiny_multiclass(),
    "multitask": tiny_multitask(),
    "sensing": tiny_sensing(kind=np.float32),
    "sensing, n > MN": tiny_sensing(n=17),
    "noisy sensing": tiny_sensing(0.3),
    "noisy sensing, spike": tiny_sensing(0.2, spike=50.0),
}
PROBLEMS = WRITTEN | HARD_PROBLEMS
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
EACH_WRITTEN = pytest.mark.parametrize("problem", WRITTEN.values(), ids=WRITTEN)
"""Problems whose reference has its derivatives written down, and whose set is a ball."""
SEEDS = st.integers(0, 2**32 - 1)
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


def close(problem, numbers, by_differences=False):
    """Tolerances of numbers of this size; Hessians of hard problems are differences."""
    if problem in WRITTEN.values():
        return CLOSE
    rounding = 1e-6 if by_differences else 1e-10
    return {"rtol": rounding, "atol": rounding * np.abs(numbers).max() + 1e-12}


def setting(problem, seed):
    """A backend, the reference, and two points both as arrays and as points."""
    rng = np.random.default_rng(seed)
    reference, backend = reference_of(problem), problem.open(np.random.default_rng(0))
    x, y = reference.random(rng), reference.random(rng)
    return backend, reference, rng, x, y, reference.point(x), reference.point(y)


def drawn(rng, n):
    """A sample with repetitions, as an index array and as counts in any order."""
    indices = rng.integers(n, size=rng.integers(1, 2 * n))
    distinct, counts = np.unique(indices, return_counts=True)
    order = rng.permutation(len(distinct))
    return indices, Sample(distinct[order], counts[order])


# --- the references themselves --------------------------------------------------------------------


@EACH_WRITTEN
def test_reference_gradients_are_finite_differences_of_component_values(problem):
    _, reference, rng, x, _, _, _ = setting(problem, 0)
    for _ in range(3):
        d, h = reference.random(rng), 1e-5
        slopes = (reference.components(x + h * d) - reference.components(x - h * d)) / (2 * h)
        gradients = [np.vdot(reference.embedded(g), d) for g in reference.component_gradients(x)]
        assert_allclose(gradients, slopes, rtol=1e-7, atol=1e-8 * problem.n)


@EACH_WRITTEN
def test_reference_hessians_are_finite_differences_of_component_gradients(problem):
    _, reference, rng, x, _, _, _ = setting(problem, 0)
    d, h = reference.random(rng), 1e-5
    change = reference.component_gradients(x + h * d) - reference.component_gradients(x - h * d)
    products = reference.component_hessian_products(x, d)
    assert_allclose(products, change / (2 * h), rtol=1e-7, atol=1e-8 * problem.n)


# --- values and gradients -------------------------------------------------------------------------


@EACH
@settings(max_examples=15)
@given(SEEDS)
def test_value_and_gradient_are_means_over_the_components(problem, seed):
    backend, reference, _, x, _, px, _ = setting(problem, seed)
    assert_allclose(problem.value(px), reference.components(x).mean(), rtol=1e-12)
    assert_allclose(backend.value(px), problem.value(px))
    each = reference.component_gradients(x)
    expected, tolerances = each.mean(axis=0), close(problem, each)
    assert_allclose(problem.gradient(keep(px)), expected, **tolerances)
    assert_allclose(backend.gradient(px), expected, **tolerances)


@EACH
@settings(max_examples=15)
@given(SEEDS)
def test_batch_and_difference_are_means_with_multiplicity(problem, seed):
    backend, reference, rng, x, y, px, py = setting(problem, seed)
    indices, sample = drawn(rng, problem.n)
    both = np.array([reference.component_gradients(z) for z in (x, y)])
    at_x, at_y = both[:, indices].mean(axis=1)
    for each in (indices, sample):
        assert_allclose(backend.batch(each, px), at_x, **close(problem, both))
        assert_allclose(backend.difference(each, px, py), at_x - at_y, **close(problem, both))


@EACH
def test_the_batch_of_all_components_is_the_gradient(problem):
    backend, _, _, _, _, px, _ = setting(problem, 0)
    everyone = np.arange(problem.n)
    g = backend.gradient(px)
    huge = Sample(everyone, np.full(problem.n, 2**52 // problem.n))
    for sample in (everyone, huge):
        assert_allclose(backend.batch(sample, px), g, **close(problem, g))


@EACH_WRITTEN
def test_a_component_with_count_zero_has_no_weight(problem):
    backend, _, _, _, _, px, py = setting(problem, 0)
    with_zero = Sample(np.array([0, 1, 2]), np.array([2, 0, 1]))
    without = Sample(np.array([0, 2]), np.array([2, 1]))
    assert_allclose(backend.batch(with_zero, px), backend.batch(without, px), **CLOSE)
    assert_allclose(
        backend.difference(with_zero, px, py), backend.difference(without, px, py), **CLOSE
    )


@EACH
def test_the_difference_at_one_point_is_exactly_zero(problem):
    backend, _, rng, _, _, px, _ = setting(problem, 0)
    indices, _ = drawn(rng, problem.n)
    assert not backend.difference(indices, px, px).any()


@pytest.mark.thin(3)
@EACH
def test_what_an_oracle_returned_is_the_callers(problem):
    backend, _, _, _, _, px, py = setting(problem, 0)
    indices = np.array([0, problem.n - 1])
    hessian, table = backend.hessian(px), backend.table(px)
    for ask in (
        lambda: backend.gradient(px),
        lambda: backend.batch(indices, px),
        lambda: backend.difference(indices, px, py),
        lambda: hessian.product(px, py),
        lambda: hessian.batch(indices, px, py),
        lambda: table.difference(indices, py),
    ):
        first = ask()
        kept = first.copy()
        first[:] = np.nan
        assert_array_equal(ask(), kept)


# --- Hessians and tables --------------------------------------------------------------------------


@EACH
@settings(max_examples=6)
@given(SEEDS)
def test_hessian_products_are_means_with_multiplicity(problem, seed):
    backend, reference, rng, x, y, px, py = setting(problem, seed)
    s = reference.random(rng)
    hessian = backend.hessian(reference.point(s))
    each = reference.component_hessian_products(s, x - y)
    tolerances = close(problem, each, by_differences=True)
    assert_allclose(hessian.product(px, py), each.mean(axis=0), **tolerances)
    indices, sample = drawn(rng, problem.n)
    for drawing in (indices, sample):
        assert_allclose(hessian.batch(drawing, px, py), each[indices].mean(axis=0), **tolerances)


@EACH_WRITTEN
def test_hessians_stay_at_the_point_where_they_were_asked(problem):
    backend, reference, _, x, y, px, py = setting(problem, 0)
    point = keep(px)
    hessian = backend.hessian(point)
    combine(point, py, 0.5)  # a new point; and one that moves in place:
    moved = combine(point, problem.set.lo(np.ones(reference.shape)), 0.9)
    backend.gradient(moved)
    expected = reference.component_hessian_products(x, x - y).mean(axis=0)
    assert_allclose(hessian.product(px, py), expected, **CLOSE)


@EACH
@settings(max_examples=6)
@given(SEEDS)
def test_a_table_keeps_one_gradient_for_each_component(problem, seed):
    """A model that stores every gradient densely, through several replacements."""
    backend, reference, rng, x, _, px, _ = setting(problem, seed)
    stored = reference.component_gradients(x)
    tolerances = close(problem, stored)
    table = backend.table(px)
    assert_allclose(table.mean, stored.mean(axis=0), **tolerances)
    for round_number in range(4):
        z = reference.random(rng)
        fresh, indices_and_sample = reference.component_gradients(z), drawn(rng, problem.n)
        indices, each = indices_and_sample[0], indices_and_sample[round_number % 2]
        expected = (fresh - stored)[indices].mean(axis=0)
        assert_allclose(table.difference(each, reference.point(z)), expected, **tolerances)
        assert_allclose(table.mean, stored.mean(axis=0), **tolerances)  # difference stores nothing
        if round_number < 3:
            mean = table.mean
            kept = mean.copy()
            assert_allclose(table.replace(each, reference.point(z)), expected, **tolerances)
            assert_array_equal(mean, kept)  # an earlier mean is the caller's
            stored[indices] = fresh[indices]
            assert_allclose(table.mean, stored.mean(axis=0), **tolerances)


def test_a_logistic_table_holds_no_more_regulariser_gradients_than_it_needs():
    problem = tiny_logistic()
    table, rng = problem.table(np.zeros(4)), np.random.default_rng(0)
    for _ in range(100):
        table.replace(rng.integers(problem.n, size=2), rng.standard_normal(4))
    assert len(table._shared) <= problem.n


# --- linear minimisation and projection -----------------------------------------------------------


@EACH_WRITTEN
@given(SEEDS)
def test_lo_minimum_and_prox_belong_to_the_feasible_set(problem, seed):
    backend, reference, _, x, _, px, _ = setting(problem, seed)
    g = backend.gradient(px)
    G = reference.embedded(g)
    vertex, (lower, upper) = backend.lo(g), problem.minimum(g)
    dense = vertex if isinstance(vertex, np.ndarray) else vertex.matrix()
    assert problem.set.contains(vertex)
    assert lower * (1 + 1e-12) <= np.vdot(G, dense) <= upper * (1.0 - 1e-6)
    lam = 0.7 * problem.n
    for p in (backend.prox(px, g, lam), problem.prox(px, g, lam)):
        array = p if isinstance(p, np.ndarray) else p.matrix()
        assert problem.set.contains(p)
        # <x - lam g - p, v - p> <= 0 for all v in C.
        outward = x - lam * G - array
        norm = np.linalg.norm(outward, 2) if outward.ndim == 2 else np.abs(outward).max()
        support = problem.set.radius * norm
        assert support - np.vdot(outward, array) <= 1e-10 * (1.0 + support)


def test_prox_of_a_recovery_problem_is_refused_where_it_would_form_a_huge_matrix():
    observations = Observations((2001, 2000), np.array([0]), np.array([0]), np.ones(1))
    problem = RobustMatrixRecovery(observations)
    with pytest.raises(RefusedError, match="2001 x 2000"):
        problem.prox(problem.start(), np.ones(1), 1.0)


# --- recorded steps of factored points ------------------------------------------------------------


@given(SEEDS, st.floats(0.0, 0.95))
def test_all_oracles_read_recorded_and_previous_points(seed, w):
    problem = tiny_recovery()
    backend, reference, rng, y, _, py, _ = setting(problem, seed)
    vertex = random_vertex(rng, problem.pattern)
    x, px = (1 - w) * y + w * vertex.matrix(), combine(py, vertex, w)
    indices, _ = drawn(rng, problem.n)

    def check():
        at_x, at_y = (reference.component_gradients(each) for each in (x, y))
        assert_allclose(backend.value(px), reference.components(x).mean(), rtol=1e-11)
        assert_allclose(backend.value(py), reference.components(y).mean(), rtol=1e-10)
        assert_allclose(backend.batch(indices, px), at_x[indices].mean(axis=0), **CLOSE)
        change = (at_x - at_y)[indices].mean(axis=0)
        assert_allclose(backend.difference(indices, px, py), change, rtol=1e-9, atol=1e-11)
        products = reference.component_hessian_products(x, x - y)
        hessian = backend.hessian(px)
        assert_allclose(hessian.product(px, py), products.mean(axis=0), rtol=1e-9, atol=1e-11)
        found = hessian.batch(indices, px, py)
        assert_allclose(found, products[indices].mean(axis=0), rtol=1e-9, atol=1e-11)

    check()  # the step is only recorded
    expected = reference.component_gradients(x).mean(axis=0)
    for _ in range(2):  # applied by the first gradient, and not again by the second
        assert_allclose(backend.gradient(px), expected, **CLOSE)
    check()  # py is now the point before


def test_a_gradient_at_a_point_that_has_been_passed_is_refused():
    problem = tiny_recovery()
    x = problem.start()
    moved = combine(x, random_vertex(np.random.default_rng(0), problem.pattern), 0.5)
    problem.gradient(moved)
    with pytest.raises(StalePoint, match="keep"):
        problem.gradient(x)


@pytest.mark.parametrize("seed", range(3))
def test_loops_for_several_threads_equal_the_serial_ones(seed):
    serial, parallel = tiny_recovery(seed=seed), tiny_recovery(seed=seed, cuts=(1, 1, 4))
    assert (serial.pattern.is_serial, parallel.pattern.is_serial) == (True, False)
    matrix = np.random.default_rng(seed).standard_normal(serial.shape)

    def answers(problem):
        x = reference_of(problem).point(matrix)
        x = combine(x, random_vertex(np.random.default_rng(1), problem.pattern), 0.3)
        backend = problem.open(np.random.default_rng(0))
        before = backend.value(x), x.values()
        g = backend.gradient(x)
        return *before, g, x.values(), backend.lo(g).matrix(), problem.minimum(g)

    for one, several in zip(answers(serial), answers(parallel), strict=True):
        assert_allclose(several, one, rtol=1e-12, atol=1e-14)


# --- the rest of a problem's interface ------------------------------------------------------------


@EACH_WRITTEN
def test_the_start_is_fixed_feasible_and_fresh(problem):
    first, second = problem.start(), problem.start()
    assert problem.set.contains(first)
    assert distance(first, second) == 0.0
    moved = combine(first, problem.open(np.random.default_rng(0)).lo(problem.gradient(first)), 0.5)
    problem.gradient(moved)
    assert distance(problem.start(), second) == 0.0


def test_the_digest_is_of_everything_that_defines_the_problem():
    def digests(make, variants):
        return [make(**variant).digest for variant in variants]

    recovery = [{}, {"seed": 1}, {"radius": 9.0}, {"sigma": 2.0}, {"scaling": "sum"}]
    logistic = [{}, {"seed": 1}, {"radius": 9.0}, {"alpha": 0.7}, {"d": 5}]
    multiclass = [{}, {"seed": 1}, {"radius": 9.0}, {"spread": 2.0}, {"classes": 4}]
    multitask = [{}, {"seed": 1}, {"radius": 9.0}, {"offsets": False}, {"m": 4}]
    for make, variants in (
        (tiny_recovery, recovery),
        (tiny_logistic, logistic),
        (tiny_multiclass, multiclass),
        (tiny_multitask, multitask),
    ):
        found = digests(make, variants)
        assert len(set(found)) == len(variants)
        assert found == digests(make, variants)


def test_threads_are_no_part_of_the_digest():
    assert tiny_recovery(cuts=(2,)).digest == tiny_recovery().digest


@EACH
def test_a_sample_outside_or_empty_is_refused(problem):
    backend, _, _, _, _, px, py = setting(problem, 0)
    for sample, error, words in (
        (np.array([0, 0, problem.n, 0]), IndexError, "outside|out of bounds"),
        (np.array([0, 0, -1, 0]), IndexError, "outside|out of bounds"),
        (np.zeros(0, dtype=np.int64), InputError, "at least one"),
    ):
        for ask in (
            lambda S: backend.batch(S, px),
            lambda S: backend.difference(S, px, py),
            lambda S: backend.hessian(px).batch(S, px, py),
            lambda S: backend.table(px).difference(S, px),
            lambda S: backend.table(px).replace(S, px),
        ):
            with pytest.raises(error, match=words):
                ask(sample)
