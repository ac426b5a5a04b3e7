"""Multiclass and multitask problems: their data, their loops, and every kind of algorithm on them.

Oracles against definitions are in test_definitions.py, constants in test_constants.py.
"""

import math
from inspect import getclosurevars

import numpy as np
import pytest
import scipy.optimize
from helpers import reference_of, refused, tiny_multiclass, tiny_multitask
from numpy.testing import assert_allclose, assert_array_equal

import pfbench as pf
from pfbench.problems import class_data, class_models, matrix_models
from pfbench.problems.catalogue import PROBLEMS
from pfbench.problems.class_models import MulticlassLogistic, MultitaskSigmoid
from pfbench.problems.data.loading import ClassificationData, load_multiclass
from pfbench.sets import NuclearBall

PAIR = pytest.mark.parametrize("make", [tiny_multiclass, tiny_multitask])

# --- loops ----------------------------------------------------------------------------------------


@PAIR
@pytest.mark.parametrize("entries", [4, 8, 12, 1000])
def test_blocks_of_any_length_give_the_same_answers(make, entries, monkeypatch):
    """The data of the other tests fit into one block."""
    problem, rng = make(n=11, d=4), np.random.default_rng(0)
    reference = reference_of(problem)
    s, x, y = (reference.random(rng) for _ in range(3))
    monkeypatch.setattr(matrix_models, "_BLOCK_ENTRIES", entries)
    assert len(problem.cache_sized_slices(11)) == math.ceil(11 / (entries // 4))
    backend = problem.open(rng)
    S = np.array([10, 3, 3, 0, 7, 7, 7, 1])
    at_s, at_x, at_y = (reference.component_gradients(z) for z in (s, x, y))
    bent = reference.component_hessian_products(s, x - y)
    assert_allclose(backend.value(x), reference.components(x).mean(), rtol=1e-13)
    hessian, table = backend.hessian(s), backend.table(s)
    for found, expected in (
        (backend.gradient(x), at_x.mean(axis=0)),
        (backend.batch(S, x), at_x[S].mean(axis=0)),
        (backend.difference(S, x, y), (at_x - at_y)[S].mean(axis=0)),
        (hessian.product(x, y), bent.mean(axis=0)),
        (hessian.batch(S, x, y), bent[S].mean(axis=0)),
        (table.mean, at_s.mean(axis=0)),
        (table.replace(S, x), (at_x - at_s)[S].mean(axis=0)),
        (table.difference(S, y), (at_y - at_x)[S].mean(axis=0)),
    ):
        assert found.flags.c_contiguous
        assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    at_s[S] = at_x[S]
    assert_allclose(table.mean, at_s.mean(axis=0), rtol=1e-11, atol=1e-13)


def test_several_threads_give_the_bits_of_one(monkeypatch):
    rng, m = np.random.default_rng(0), 7
    problem = tiny_multitask(n=200, d=13, m=m)
    assert problem._is_serial
    several = tiny_multitask(n=200, d=13, m=m)
    several.__dict__["_is_serial"] = False
    x = rng.standard_normal(problem.shape)
    assert problem.value(x) == several.value(x)
    assert_array_equal(problem.gradient(x), several.gradient(x))


@pytest.mark.parametrize("z", [-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
@pytest.mark.parametrize("y", [0, 1])
def test_the_sigmoid_loss_far_from_zero_neither_overflows_nor_cancels(z, y):
    ball = NuclearBall((1, 1), 10.0)
    problem = MultitaskSigmoid(np.ones((1, 1)), np.array([y]), ball, tasks=np.array([0]))
    x = np.array([[z]])
    s = math.exp(-np.logaddexp(0.0, -z if y else z))
    assert_allclose(problem.value(x), s**2, rtol=1e-13)
    other = math.exp(-np.logaddexp(0.0, z if y else -z))
    slope = (2.0 * y - 1.0) * 2.0 * s * s * other
    assert_allclose(problem.gradient(x), [[slope]], rtol=1e-13)
    curvature = problem.open(np.random.default_rng(0)).hessian(x).product(x + 1.0, x)
    assert_allclose(curvature, [[2.0 * s * s * other * (2.0 - 3.0 * s)]], rtol=1e-12)


@pytest.mark.parametrize("z", [-1e300, -800.0, 0.0, 800.0, 1e300])
def test_the_softmax_far_from_zero_does_not_overflow(z):
    problem = MulticlassLogistic(
        np.ones((1, 1)), np.array([0]), NuclearBall((1, 2), 10.0), classes=2
    )
    x = np.array([[z, 0.0]])
    assert_allclose(problem.value(x), np.logaddexp(0.0, -z), rtol=1e-13)
    p = math.exp(-np.logaddexp(0.0, -z))
    assert_allclose(problem.gradient(x), [[p - 1.0, 1.0 - p]], atol=1e-16)


@pytest.mark.parametrize(("make", "width"), [(tiny_multiclass, 3), (tiny_multitask, 1)])
def test_a_table_and_a_hessian_store_a_row_of_numbers_for_each_component(make, width):
    problem = make(n=20, d=6)
    backend, x = problem.open(np.random.default_rng(0)), problem.start()
    assert backend.table(x)._slopes.nbytes == 8 * 20 * width
    kept = getclosurevars(backend.hessian(x)._apply).nonlocals["curvatures"]
    assert kept.nbytes == 8 * 20 * width


@PAIR
def test_a_run_is_warm_started_and_the_next_run_is_not(make):
    """Two runs from one seed give the same bits; within a run the second call starts elsewhere."""
    problem = make(n=30, d=9)
    g = problem.gradient(np.random.default_rng(1).standard_normal(problem.shape))

    def vertices(backend):
        return [backend.lo(g).matrix() for _ in range(2)]

    first, second = (vertices(problem.open(np.random.default_rng(3))) for _ in range(2))
    assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    exact = -problem.set.radius * np.linalg.norm(g, 2)
    for v in first:
        assert exact <= np.vdot(g, v) * (1.0 - 1e-13) <= exact * (1.0 - 1e-6)


@PAIR
def test_arrays_of_the_user_are_copied_and_read_only_ones_are_shared(make):
    tiny = make()
    features, labels = tiny.features.copy(), tiny.labels.copy()
    more = {"tasks": np.sort(tiny.tasks)} if make is tiny_multitask else {}
    more["set"] = tiny.set
    problem = type(tiny)(features, labels, **more)
    features[:], labels[:] = 100.0, 0
    x = np.random.default_rng(0).standard_normal(problem.shape)
    assert problem.value(x) == type(tiny)(tiny.features, tiny.labels, **more).value(x)
    features.flags.writeable = False
    assert np.shares_memory(type(tiny)(features, tiny.labels, **more)._data[0], features)


def test_components_are_numbered_by_task_and_then_as_given():
    problem = tiny_multitask(n=12, d=2, m=4)
    order = np.argsort(problem.tasks, kind="stable")
    again = MultitaskSigmoid(
        problem.features[order],
        problem.labels[order],
        problem.set,
        tasks=problem.tasks[order],
        offsets=problem.offsets,
    )
    x, S = np.random.default_rng(0).standard_normal(problem.shape), np.array([5])
    rng = np.random.default_rng(0)
    assert_array_equal(problem.open(rng).batch(S, x), again.open(rng).batch(S, x))
    assert problem.digest == again.digest


# --- what a problem says of itself ----------------------------------------------------------------


def test_only_the_multiclass_problem_is_convex_and_neither_has_a_known_minimum():
    assert tiny_multiclass().properties == {"convex"}
    assert tiny_multitask().properties == frozenset()
    assert tiny_multiclass().best_known is tiny_multitask().best_known is None


def test_a_projection_of_a_huge_matrix_is_refused_before_the_run():
    ball = NuclearBall((2001, 2000))
    wide = MulticlassLogistic(np.ones((1, 2001)), np.array([0]), ball, classes=2000)
    assert "nuclear of points of shape (2001, 2000)" in wide.lacks["prox"]
    assert "prox" not in tiny_multiclass().lacks


# --- constants ------------------------------------------------------------------------------------


def test_constants_of_tasks_are_those_of_the_worst_task():
    """The Hessian has a block for each task, so L_f and ell are those of the largest block."""
    problem = tiny_multitask(n=12, d=3, m=2, offsets=False)
    reference, constants = reference_of(problem), problem.constants(problem.start())
    top = 0.0
    for t in range(2):
        A = reference.A[reference.tasks == t]
        top = max(top, np.linalg.eigvalsh(A.T @ A / 12.0)[-1])
    assert_allclose(constants.L_f, class_models.SIGMOID.curvature * top, rtol=1e-11)
    assert_allclose(constants.ell, class_models.SIGMOID.lower * top, rtol=1e-11)
    # One task with all rows would be larger: the blocks matter.
    whole = np.linalg.eigvalsh(reference.A.T @ reference.A / 12.0)[-1]
    assert whole > 1.1 * top


# --- sources --------------------------------------------------------------------------------------


def test_digits_are_scikit_learns_images_with_their_digits():
    sklearn = pytest.importorskip("sklearn.datasets")
    data, bunch = load_multiclass("digits"), sklearn.load_digits()
    assert_array_equal(data.features.toarray(), bunch.data)
    assert_array_equal(data.labels, bunch.target)
    assert data.classes == 10


@pytest.mark.parametrize("name", ["a9a", "movielens-100k", "breast-cancer"])
def test_a_set_that_has_not_several_classes_is_refused(name):
    with refused(name, "multiclass"):
        load_multiclass(name)


@pytest.fixture
def five_classes(monkeypatch):
    """A data set of 5 classes with 9, 7, 5, 3 and 40 rows, and one constant feature."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5.0), (9, 7, 5, 3, 40))
    rows = rng.standard_normal((64, 4)) * (1.0, 1e3, 1e-3, 0.0) + (0.0, 5.0, 1.0, 7.0)
    rows[:, 0] = np.arange(64.0)
    features = scipy.sparse.csr_array(rows)
    data = ClassificationData("made up", features, labels, 5, "")
    monkeypatch.setattr(class_data, "load_multiclass", lambda name: data)
    return rows, labels


def test_features_are_scaled_to_the_interval(five_classes):
    rows, labels = five_classes
    found = class_data.ScaledClasses().draw("made up")
    assert_array_equal(found.labels, labels)
    assert found.classes == 5
    assert_allclose(found.features[:, :3].min(axis=0), -1.0, rtol=1e-12)
    assert_allclose(found.features[:, :3].max(axis=0), 1.0, rtol=1e-12)
    assert np.abs(found.features).max() <= 1.0
    assert not found.features[:, 3].any()  # the constant one
    for j in range(3):  # an affine map of each column
        assert_allclose(np.corrcoef(found.features[:, j], rows[:, j])[0, 1], 1.0, rtol=1e-12)


@pytest.mark.parametrize("most", [None, 4])
def test_a_task_has_a_class_and_as_many_rows_of_others(five_classes, most):
    _, labels = five_classes
    data = class_data.ClassTasks(noise=0.0, copies=3, rows=most).draw("made up")
    sizes = np.bincount(labels.astype(int)) if most is None else np.array([4, 4, 4, 3, 4])
    others = np.minimum(sizes, 64 - np.bincount(labels.astype(int)))
    assert data.offsets.shape == (15,)
    assert not data.offsets.any()
    # Feature 0 numbers the rows.
    number = np.rint((data.features[:, 0] + 1.0) * 31.5).astype(int)
    for t in range(15):
        c, rows = t // 3, number[data.tasks == t]
        positive = data.labels[data.tasks == t] == 1
        assert (positive.sum(), (~positive).sum()) == (sizes[c], others[c])
        assert (labels[rows[positive]] == c).all()
        assert (labels[rows[~positive]] != c).all()
        assert np.unique(rows).size == rows.size
        assert_array_equal(rows, number[data.tasks == 3 * c])  # the versions are of the same rows


def test_the_versions_of_a_class_differ_by_normal_noise(five_classes):
    exact = class_data.ClassTasks(noise=0.0, copies=40).draw("made up")
    noisy = class_data.ClassTasks(noise=0.2, copies=40).draw("made up")
    assert_array_equal(exact.labels, noisy.labels)
    noise = noisy.features - exact.features
    # 19 520 entries: five standard deviations of their mean and of their mean square.
    assert abs(noise.mean()) < 5 * 0.2 / math.sqrt(noise.size)
    assert abs((noise**2).mean() / 0.04 - 1.0) < 5 * math.sqrt(2.0 / noise.size)
    first, second = (noise[noisy.tasks == t] for t in (0, 1))
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 5 / math.sqrt(first.size)


def test_the_synthetic_tasks_are_those_of_the_paper():
    data = class_data.SyntheticTasks(seed=1, rows=4000, columns=3, kinds=4, copies=2).draw()
    assert data.features.shape == (4 * 2 * 4000, 3)
    assert set(data.offsets) <= {-1.0, 1.0}
    assert_array_equal(data.offsets[::2], data.offsets[1::2])
    moments_of = [np.cov(data.features[data.tasks == t].T) for t in range(8)]
    roots = [np.linalg.cholesky(C) for C in moments_of]
    for t in range(0, 8, 2):
        # U (D + D_1) U' and U (D + D_2) U': their ratio has eigenvalues within 2.1/2 and 1/1.1,
        # here up to the error of two covariances of 4000 rows (5 of 1/sqrt 2000 each).
        inverse = np.linalg.inv(roots[t])
        ratio = np.linalg.eigvalsh(inverse @ moments_of[t + 1] @ inverse.T)
        assert 0.909 * 0.75 < ratio[0] <= ratio[-1] < 1.1 * 1.33
    inverse = np.linalg.inv(roots[0])
    apart = np.linalg.eigvalsh(inverse @ moments_of[2] @ inverse.T)
    assert apart[-1] / apart[0] > 3.0  # another kind has another covariance


def test_synthetic_labels_follow_the_losses_own_law():
    """One task of one feature: y = 1 with probability 1/(1 + exp(theta a + b))."""
    ones, expected, variance = 0, 0.0, 0.0
    for seed in range(30):
        data = class_data.SyntheticTasks(seed=seed, rows=400, columns=1, kinds=1, copies=1).draw()
        fits = []
        for theta in (-1.0, 1.0):
            q = 1.0 / (1.0 + np.exp(theta * data.features[:, 0] + data.offsets[0]))
            fits.append((np.log(np.where(data.labels == 1, q, 1.0 - q)).sum(), q))
        q = max(fits, key=lambda fit: fit[0])[1]
        ones, expected = ones + data.labels.sum(), expected + q.sum()
        variance += (q * (1.0 - q)).sum()
    assert abs(ones - expected) < 5.5 * math.sqrt(variance)


def test_synthetic_classes_have_a_low_rank_model_and_unit_rows():
    data = class_data.SyntheticClasses(seed=2, rows=3000, columns=6, classes=4, rank=1).draw()
    assert data.features.shape == (3000, 6)
    assert_allclose(np.linalg.norm(data.features, axis=1), 1.0)
    assert data.labels.max() < data.classes == 4
    # Of a rank-one model, the class means lie on a line.
    means = np.array([data.features[data.labels == c].mean(axis=0) for c in range(4)])
    s = np.linalg.svd(means - means.mean(axis=0), compute_uv=False)
    assert s[1] < 0.25 * s[0]


@pytest.mark.parametrize("name", ["multitask-sigmoid", "multiclass-logistic"])
def test_a_seed_fixes_the_data_and_the_catalogue_builds_them(name):
    def build(**parameters):
        return pf.problem(name, source="synthetic", rows=30, columns=5, **parameters)

    first, again, other = build(seed=3), build(seed=3), build(seed=4)
    assert first.digest == again.digest != other.digest
    assert build(seed=3, radius=2.0).set.radius == 2.0
    assert first.shape[0] == 5
    assert first.parameters["seed"] == 3
    assert PROBLEMS[name].accepts_every("set", "matrices")
    assert not PROBLEMS[name].accepts_every("set", "vectors")


def test_the_digits_as_tasks_and_as_classes():
    tasks = pf.problem("multitask-sigmoid", source="digits", copies=2, rows=20)
    assert tasks.shape == (64, 20)
    assert tasks.n == 10 * 2 * 40
    several = pf.problem("multiclass-logistic")
    assert (several.shape, several.n) == ((64, 10), 1797)
    assert_allclose(several.value(several.start()), math.log(10.0), rtol=1e-13)


# --- bad input ------------------------------------------------------------------------------------


BALL = NuclearBall((2, 2))
ROWS, Y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MulticlassLogistic(ROWS * math.nan, Y, BALL), ["features", "6 NaN", "clean"]),
        (lambda: MulticlassLogistic(ROWS * math.inf, Y, BALL), ["features", "infinite"]),
        (lambda: MulticlassLogistic([["a", "b"]], Y, BALL), ["features", "numbers"]),
        (lambda: MulticlassLogistic(ROWS[0], Y, BALL), ["features", "(2,)", "matrix"]),
        (lambda: MulticlassLogistic(ROWS[:0], Y[:0], BALL), ["features", "(0, 2)", "one row"]),
        (lambda: MulticlassLogistic(ROWS[:, :0], Y, BALL), ["features", "(3, 0)", "one feature"]),
        (lambda: MulticlassLogistic(ROWS, Y[:2], BALL), ["labels", "(2,)", "(3,)"]),
        (lambda: MulticlassLogistic(ROWS, Y * math.nan, BALL), ["labels", "NaN"]),
        (lambda: MulticlassLogistic(ROWS, ["x", "y", "z"], BALL), ["labels", "numbers"]),
        (lambda: MulticlassLogistic(ROWS, Y, NuclearBall((2, 3))), ["(2, 3)", "(2, 2)", "equal"]),
        (lambda: MultitaskSigmoid(ROWS, Y, BALL, 2.0, tasks=Y), ["tolerance=2", "at most 1"]),
    ],
)
def test_bad_data(make, words):
    with refused(*words):
        make()


@PAIR
@pytest.mark.parametrize("shape", [(3, 4), (4,), (4, 2), (5, 3)])
def test_a_point_of_another_shape_is_refused(make, shape):
    problem = make(d=4)
    backend, wrong, x = problem.open(np.random.default_rng(0)), np.zeros(shape), problem.start()
    S = np.array([0])
    for ask in (
        lambda: problem.value(wrong),
        lambda: backend.gradient(wrong),
        lambda: backend.batch(S, wrong),
        lambda: backend.difference(S, x, wrong),
        lambda: backend.hessian(wrong),
        lambda: backend.hessian(x).product(wrong, wrong),
        lambda: backend.table(wrong),
        lambda: backend.table(x).replace(S, wrong),
    ):
        with refused(str(shape), "(4, 3)"):
            ask()
