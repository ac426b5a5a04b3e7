"""SAGA: its mean by enumeration, its table against the definition, its counts and memory; SAG."""

from itertools import product

import numpy as np
import pytest
from helpers import assert_one_sentence, reference_of, tiny_logistic, tiny_recovery
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.base.errors import InputError
from pfbench.base.sample import Sample
from pfbench.estimators import SAG, SAGA
from pfbench.oracles import Ledger, Oracles
from pfbench.points import FactoredMatrix, combine, keep

KINDS = ("logistic", "recovery", "recovery-sum")


class Scripted:
    """A stream that draws the given batches, in order."""

    def __init__(self, batches):
        self.batches = iter(batches)

    def integers(self, n, size):
        batch = np.array(next(self.batches))
        assert batch.size == size
        assert batch.max() < n
        return batch


def small(kind, n):
    if kind == "logistic":
        return tiny_logistic(n=n, d=3, radius=2.0)
    shape = (3, 2) if n < 7 else (4, 3)
    return tiny_recovery(shape=shape, n=n, radius=3.0, scaling=kind[9:] or "mean")


def asking(problem):
    ledger = Ledger()
    backend = problem.open(np.random.default_rng(0))
    return Oracles(backend, ledger, problem.set.diameter), ledger


def dense(x):
    return keep(x).matrix() if isinstance(x, FactoredMatrix) else x


def walk(problem, weights, seed=0):
    """Points of one sequence, the next one made only when it is asked for."""
    rng, x = np.random.default_rng(seed), problem.start()
    for w in weights:
        yield x
        x = combine(x, problem.set.random_vertex(rng), w)


# --- the estimate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("J", [(0, 2), (1, 1), (3, 0)])
def test_the_conditional_mean_is_the_gradient(kind, J):
    """All 16 batches I at t = 2, after two iterations that changed the table."""
    problem = small(kind, 4)
    P, drawn = reference_of(problem), []
    for batch in product(range(4), repeat=2):
        rng = Scripted([(0, 1), J, (3, 3), (2, J[0]), batch, (0, 0)])
        ask, _ = asking(problem)
        estimate = SAGA(2).start(ask, rng)
        for x in walk(problem, (0.3, 0.2, 0.4)):
            g, at = np.array(estimate(x)), dense(x)
        drawn.append(g)
    full = P.component_gradients(at).mean(axis=0)
    assert_allclose(np.mean(drawn, axis=0), full, rtol=0, atol=1e-13)
    assert np.std(drawn, axis=0).max() > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_square_error_is_that_of_the_differences(kind):
    """E|g - grad f|^2 = Var(grad f_i - a_i)/S: exact over all batches."""
    problem = small(kind, 4)
    P, errors = reference_of(problem), []
    for batch in product(range(4), repeat=2):
        ask, _ = asking(problem)
        estimate = SAGA(2).start(ask, Scripted([(0, 1), (1, 3), batch, (0, 0)]))
        points = []
        for x in walk(problem, (0.3, 0.2)):
            g = np.array(estimate(x))
            points.append(dense(x))
        errors.append(np.sum((g - P.component_gradients(points[1]).mean(axis=0)) ** 2))
    # Every a_i is still the gradient at x_0, where J replaced two of them by themselves.
    change = P.component_gradients(points[1]) - P.component_gradients(points[0])
    variance = np.sum((change - change.mean(axis=0)) ** 2) / 4
    assert np.mean(errors) == pytest.approx(variance / 2, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("S", "n"), [(3, 11), (1, 5), (9, 5)])
def test_estimates_equal_the_definition(kind, S, n):
    """I first, then J; the table moves at the old x, each distinct j once."""
    problem, T = small(kind, n), 9
    P, ask = reference_of(problem), asking(problem)[0]
    rng, stream = np.random.default_rng(3), np.random.default_rng(3)
    estimate, a = SAGA(S).start(ask, stream), None
    for x in walk(problem, np.linspace(0.1, 0.4, T)):
        g, fresh = np.array(estimate(x)), P.component_gradients(dense(x))
        a = fresh.copy() if a is None else a
        I, J = rng.integers(n, size=S), rng.integers(n, size=S)  # noqa: E741
        expected = sum(fresh[i] - a[i] for i in I) / S + sum(a) / n
        for j in J:
            a[j] = fresh[j]
        assert_allclose(g, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("S", "n"), [(3, 11), (9, 5)])
def test_sag_is_the_mean_of_the_newest_gradients(kind, S, n):
    """The table moves before the estimate, at n + S t component gradients."""
    problem = small(kind, n)
    P, (ask, ledger) = reference_of(problem), asking(problem)
    rng, stream = np.random.default_rng(3), np.random.default_rng(3)
    estimate, a = SAG(S).start(ask, stream), None
    for t, x in enumerate(walk(problem, np.linspace(0.1, 0.4, 9)), start=1):
        g, fresh = estimate(x), P.component_gradients(dense(x))
        a = fresh.copy() if a is None else a
        I = rng.integers(n, size=S)  # noqa: E741
        a[I] = fresh[I]
        assert_allclose(np.array(g), a.mean(axis=0), rtol=0, atol=1e-12)
        counts = ledger.counts().as_dict()
        assert counts == dict.fromkeys(counts, 0) | {"sfo": n + S * t}


@pytest.mark.parametrize("estimator", [SAGA, SAG])
@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_is_never_changed_afterwards(kind, estimator):
    problem = small(kind, 5)
    estimate = estimator(2).start(asking(problem)[0], np.random.default_rng(0))
    yielded = []
    for x in walk(problem, [0.2] * 6):
        g = estimate(x)
        yielded.append((g, g.copy()))
    assert all(np.array_equal(now, then) for now, then in yielded)


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_do_not_share_a_table(kind):
    problem, found = small(kind, 5), []
    for other in (False, True):
        estimate = SAGA(2)
        first = estimate.start(asking(problem)[0], np.random.default_rng(0))
        second = estimate.start(asking(problem)[0], np.random.default_rng(1))
        estimates = []
        for x in walk(problem, [0.2] * 5):
            estimates.append(np.array(first(x)))
            if other:
                second(problem.start())
        found.append(estimates)
    assert np.array_equal(*found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("S", "T"), [(3, 7), (9, 5), (1, 1)])
def test_counts(kind, S, T):
    """n to fill the table, then 2 S an iteration, with multiplicity."""
    problem = small(kind, 5)
    ask, ledger = asking(problem)
    estimate = SAGA(S).start(ask, np.random.default_rng(0))
    for t, x in enumerate(walk(problem, [0.2] * T), start=1):
        estimate(x)
        counts = ledger.counts().as_dict()
        assert counts == dict.fromkeys(counts, 0) | {"sfo": 5 + 2 * S * t}


@pytest.mark.parametrize("S", [0, -1, 2.5, "x", None])
def test_a_bad_batch_is_refused(S):
    with pytest.raises(InputError, match=r"^batch=") as error:
        SAGA(S)
    assert_one_sentence(error)


# --- the table ------------------------------------------------------------------------------------

batches = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=8), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", KINDS)
@given(replaced=batches, counted=st.booleans())
def test_the_mean_is_that_of_the_stored_gradients(kind, replaced, counted):
    """After any replacements, also of repeated indices, as indices or as counts."""
    problem = small(kind, 5)
    P, ask = reference_of(problem), asking(problem)[0]
    table = a = None
    for x, J in zip(walk(problem, np.full(len(replaced), 0.25)), replaced, strict=True):
        fresh = P.component_gradients(dense(x))
        if table is None:
            table, a = ask.table(x), fresh.copy()
        sample = np.array(J)
        if counted:
            sample = Sample(*np.unique(sample, return_counts=True))
        expected = sum(fresh[j] - a[j] for j in J) / len(J)
        assert_allclose(table.difference(sample, x), expected, rtol=0, atol=1e-12)
        assert_allclose(table.replace(sample, x), expected, rtol=0, atol=1e-12)
        for j in J:
            a[j] = fresh[j]
        assert_allclose(table.mean, a.mean(axis=0), rtol=0, atol=1e-12)
        for i in range(5):
            one = table.difference(np.array([i]), x)
            assert_allclose(one, fresh[i] - a[i], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_repeated_index_is_replaced_once(kind):
    problem = small(kind, 5)
    tables = []
    for J in ([2, 2, 2, 4], [4, 2]):
        ask, _ = asking(problem)
        for t, x in enumerate(walk(problem, (0.4, 0.3))):
            if t == 0:
                table = ask.table(x)
            else:
                table.replace(np.array(J), x)
        tables.append(table.mean)
    assert_allclose(*tables, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mean_that_was_read_is_not_changed_by_a_replacement(kind):
    problem, means = small(kind, 5), []
    table = asking(problem)[0].table(problem.start())
    for x in walk(problem, (0.4, 0.3, 0.2)):
        means.append((table.mean, table.mean.copy()))
        table.replace(np.array([1, 3]), x)
    assert all(np.array_equal(now, then) for now, then in means)


@pytest.mark.parametrize("kind", KINDS)
def test_filling_a_table_leaves_the_point_as_it_was(kind):
    problem = small(kind, 5)
    for x in walk(problem, (0.4, 0.3)):
        before = dense(x).copy()
        problem.open(np.random.default_rng(0)).table(x)
        assert np.array_equal(dense(x), before)


def arrays(table):
    """The bytes of all arrays that a table holds, of its mean apart."""
    held = [v for name, v in vars(table).items() if name != "mean"]
    held += [a for v in held if isinstance(v, dict) for a in v.values()]
    return sum(a.nbytes for a in held if isinstance(a, np.ndarray))


def test_memory_of_matrix_recovery_is_a_number_a_component():
    problem = small("recovery", 11)
    table = problem.open(np.random.default_rng(0)).table(problem.start())
    for x in walk(problem, [0.2] * 30):
        table.replace(np.array([0, 5, 7]), x)
    assert arrays(table) + table.mean.nbytes <= 16 * 11


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_memory_of_linear_models_is_as_stated(alpha):
    """16 n bytes, and 8 d for each call whose rows are still in the table."""
    n, d = 40, 3
    problem = tiny_logistic(n=n, d=d, radius=2.0, alpha=alpha)
    table, rng, last = problem.table(problem.start()), np.random.default_rng(0), np.zeros(n)
    for t, x in enumerate(walk(problem, [0.05] * 200), start=1):
        J = rng.integers(n, size=4)
        table.replace(J, x)
        last[J] = t
        calls = len(np.unique(last)) if alpha else 1
        assert arrays(table) <= 16 * n + 8 * d * calls
