"""Mean and mean square of every estimator, exact by enumerating all batches (shen2019 GE 1-5).

With n = 4 and S = 2 there are 16 batches, so no sampling noise is left: what is compared is equal
or wrong.
"""

from itertools import product

import numpy as np
import pytest
from helpers import assert_one_sentence, reference_of, tiny_logistic, tiny_recovery
from numpy.testing import assert_allclose

from pfbench.base.errors import InputError
from pfbench.estimators.epochs import CASPIDERG, CASVRG, SG, SPIDERG, SVRG
from pfbench.estimators.gradient_tables import SAG, SAGA
from pfbench.oracles import Ledger, Oracles
from pfbench.points import FactoredMatrix, combine, keep
from pfbench.verification.instruments.enumerated_random import enumerate_draws
from pfbench.verification.replay.draw_streams import map_to_uniform_indices
from pfbench.verification.replay.indices import find_first_rejection_and_p_value

S, PERIOD, ITERATIONS = 2, 3, 6

ESTIMATORS = [SG(S), SVRG(S, PERIOD), SPIDERG(S, PERIOD), CASVRG(S, PERIOD), CASPIDERG(S, PERIOD)]
by_name = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)


class Scripted:
    """A random generator that draws the given batches (a faulty estimator may ask for more)."""

    def __init__(self, batches):
        self.batches = iter(batches)

    def integers(self, n, size):
        batch = np.array(next(self.batches, ()) or (0,) * size)
        assert batch.size == size
        assert batch.max() < n
        return batch


def follow(case, estimator, moves, rng):
    """Return the estimates and the plain points of a run that walks as told."""
    estimate = estimator.start(case.ask(), rng)
    x, estimates, points = case.problem.start(), [], []
    for v, w in moves:
        estimates.append(np.array(estimate(x)))
        points.append(case.dense(keep(x)))
        x = combine(x, v, w)
    return estimates, points


def sampled(estimator, t):
    return estimator.name == "sg" or t % PERIOD != 0


def contributions(case, name, points, t):
    """Return what component i adds to g_t (to g_t - g_{t-1} for the two SPIDERs), row by row."""
    plain, x, s = case.plain, points[t], points[t - t % PERIOD]
    if name == "sg":
        return plain.component_gradients(x)
    y = points[t - 1] if "spider" in name else s
    change = plain.component_gradients(x) - plain.component_gradients(y)
    if name.startswith("ca"):
        change = change - plain.component_hessian_products(s, x - y)
    return change


def variance(rows):
    """Return E|row - mean|^2 over uniformly drawn rows."""
    return ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()


def faults(case, estimator):
    """Return which statements fail: the snapshot's gradient, the mean, or the mean square."""
    found, close = set(), {"rtol": 1e-12, "atol": 1e-12}
    moves = case.moves(ITERATIONS)
    history = np.random.default_rng(5).integers(case.plain.n, size=(ITERATIONS, S)).tolist()
    for t in range(ITERATIONS):
        before = [history[k] for k in range(t) if sampled(estimator, k)]
        last = product(range(case.plain.n), repeat=S if sampled(estimator, t) else 0)
        runs = [follow(case, estimator, moves[: t + 1], Scripted([*before, B])) for B in last]
        points = runs[0][1]
        full = [case.plain.component_gradients(x).mean(axis=0) for x in points]
        g = np.array([estimates[t] for estimates, _ in runs])
        if not sampled(estimator, t):
            if not np.allclose(g[0], full[t], **close):
                found.add("snapshot")
            continue
        expected = full[t]
        if "spider" in estimator.name:
            expected = runs[0][0][t - 1] + full[t] - full[t - 1]
        if not np.allclose(g.mean(axis=0), expected, **close):
            found.add("mean")
        exact = variance(contributions(case, estimator.name, points, t)) / S
        if not np.isclose(((g - expected) ** 2).sum(axis=1).mean(), exact, **close):
            found.add("mean square")
    return found


@by_name
def test_conditional_mean_and_mean_square_are_exact(four, estimator):
    assert faults(four, estimator) == set()


# --- parameters -----------------------------------------------------------------------------------

EPOCH = [SVRG, SPIDERG, CASVRG, CASPIDERG]


@pytest.mark.parametrize("batch", [0, -3, 1.5, "4", True, None, float("nan")])
@pytest.mark.parametrize("cls", [SG, SAGA, *EPOCH], ids=lambda cls: cls.name)
def test_bad_batch_is_refused_by_name(cls, batch):
    arguments = (batch, 2) if cls in EPOCH else (batch,)
    with pytest.raises(InputError, match=r"^batch=.*at least 1\.$"):
        cls(*arguments)


@pytest.mark.parametrize("period", [0, -1, 2.0, "p", False])
@pytest.mark.parametrize("cls", EPOCH, ids=lambda cls: cls.name)
def test_bad_period_is_refused_by_name(cls, period):
    with pytest.raises(InputError, match=r"^period=.*at least 1\.$"):
        cls(3, period)


@pytest.mark.parametrize("cls", [SG, *EPOCH], ids=lambda cls: cls.name)
def test_an_estimator_is_frozen_and_names_its_source(cls):
    estimator = cls(3) if cls is SG else cls(3, 2)
    with pytest.raises(AttributeError):
        estimator.batch = 4
    assert estimator.source.startswith("shen2019 GE")


# --- runs do not disturb each other ---------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [SG(3), SVRG(3, 4), SPIDERG(3, 4), CASVRG(3, 4), CASPIDERG(3, 4), SAGA(3), SAG(3)],
    ids=lambda e: e.name,
)
def test_an_estimate_is_never_changed_afterwards(small, estimator):
    estimate, x = estimator.start(small.ask(), np.random.default_rng(0)), small.problem.start()
    yielded = []
    for v, w in small.moves(9):
        g = estimate(x)
        yielded.append((g, g.copy()))
        x = combine(x, v, w)
    assert all(np.array_equal(now, then) for now, then in yielded)


@pytest.mark.parametrize("estimator", [SVRG(2, 3), SPIDERG(2, 3), SAGA(2)], ids=lambda e: e.name)
def test_two_runs_of_one_estimator_do_not_disturb_each_other(small, estimator):
    def run(interleaved):
        ask, x, rng = small.ask(), small.problem.start(), np.random.default_rng(3)
        estimate = estimator.start(ask, rng)
        other = estimator.start(small.ask(), np.random.default_rng(4)) if interleaved else None
        found = []
        for v, w in small.moves(7):
            found.append(np.array(estimate(x)))
            if other is not None:
                other(small.problem.start())
            x = combine(x, v, w)
        return found

    assert np.array_equal(run(False), run(True))


# --- components drawn by their L_i ----------------------------------------------------------------

B = 2


def drawn(case, rng):
    """The second estimate of a run from `inside`, and both points."""
    estimate = SPIDERG(B, 5, sampling="importance").start(case.ask(), rng)
    x, ((v, w),) = case.inside(), case.moves(1)
    first, before = estimate(x), case.dense(x)
    x = combine(x, v, w)
    return first, np.array(estimate(x)), before, case.dense(keep(x))


def test_the_law_of_a_batch_is_that_of_its_definition(four):
    """The chance of each batch, its mean of d_i/(n q_i), the mean and the mean square of all."""
    found = list(enumerate_draws(lambda rng: drawn(four, rng)))
    assert len(found) == four.plain.n**B
    first, _, x, y = found[0][1]
    d = four.plain.component_gradients(y) - four.plain.component_gradients(x)
    L = four.problem.component_smoothness()
    n, q = len(L), L / L.sum()
    expected = {}
    for batch in product(range(n), repeat=B):
        expected[batch] = first + np.mean([d[i] / (n * q[i]) for i in batch], axis=0)
    chances = np.array([chance for chance, _ in found])
    estimates = np.array([told[1] for _, told in found])
    np.testing.assert_allclose(chances, [np.prod(q[list(b)]) for b in expected], atol=1e-12)
    np.testing.assert_allclose(estimates, list(expected.values()), atol=1e-12)
    right = first + d.mean(axis=0)
    assert np.abs(chances @ estimates - right).max() <= 1e-12
    square = chances @ ((estimates - right) ** 2).sum(axis=1)
    law = (sum((d**2).sum(axis=1) / (n * n * q)) - (d.mean(axis=0) ** 2).sum()) / B
    assert square == pytest.approx(law, abs=1e-12)
    assert square <= (L.mean() * np.linalg.norm(y - x)) ** 2 / B


@pytest.mark.parametrize("sampling", ["uniform", "importance"])
def test_a_batch_costs_as_much_however_it_is_drawn(sampling):
    problem, ledger = tiny_logistic(n=21, d=4, radius=2.0), Ledger()
    ask = Oracles(problem, ledger, 1.0)
    estimate = SPIDERG(7, 3, sampling=sampling).start(ask, np.random.default_rng(2))
    for t in range(5):
        estimate(np.full(4, 0.1 * t))
    assert ledger.counts().as_dict() | {"sfo": 0, "fo": 0} == dict.fromkeys(
        ledger.counts().as_dict(), 0
    )
    assert (ledger.counts().fo, ledger.counts().sfo) == (2, 2 * 21 + 3 * 2 * 7)


@pytest.mark.parametrize(
    "L", [np.ones(3), np.zeros(4), np.array([1.0, -1, 1, 1]), np.array([1, 1, 1, np.inf])]
)
def test_smoothness_that_no_chance_follows_from_is_refused(L):
    class Backend:
        n, unconstrained = 4, True

        def component_smoothness(self):
            return L

    with pytest.raises(InputError, match="must return 4 finite numbers L_i") as error:
        Oracles(Backend(), Ledger(), 1.0).component_smoothness()
    assert_one_sentence(error)


def test_the_smoothness_that_is_handed_out_is_a_copy():
    problem = tiny_logistic(n=21, d=4, radius=2.0)
    given = Oracles(problem, Ledger(), 1.0).component_smoothness()
    given[:] = 0.0
    assert problem.component_smoothness().min() > 0.0


# --- draws at the size of use ---------------------------------------------------------------------

N, T = 10_000, 400
L = np.where(np.arange(N) % 1000 == 0, 300.0, 1.0) * np.linspace(0.5, 1.5, N)
Q = L / L.sum()


def judged(draw, seed=3):
    """Whether batches of 32 are suspected, each evened out by the chances that are due."""
    rng = np.random.default_rng(seed)
    return find_first_rejection_and_p_value(
        [map_to_uniform_indices(draw(rng, t), Q, t) for t in range(T)], N
    )


@pytest.mark.parametrize("seed", range(5))
def test_draws_with_their_chances_are_not_suspected(seed):
    found, p_value = judged(lambda rng, t: rng.choice(N, size=32, p=Q), seed)
    assert found is None
    assert p_value > 1e-6


WRONG = {
    "uniform": lambda rng, t: rng.integers(N, size=32),
    "by the squares": lambda rng, t: rng.choice(N, size=32, p=L**2 / (L**2).sum()),
    "by the roots": lambda rng, t: rng.choice(N, size=32, p=L**0.5 / (L**0.5).sum()),
    "uniform at the end": lambda rng, t: (
        rng.choice(N, size=32, p=Q) if t < 300 else rng.integers(N, size=32)
    ),
    "the rare ones half as often": lambda rng, t: np.where(
        (drawn := rng.choice(N, size=32, p=Q)) % 1000 == 0,
        np.where(rng.random(32) < 0.5, drawn, rng.integers(N, size=32)),
        drawn,
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_draws_with_other_chances_are_found(how):
    found, _ = judged(WRONG[how])
    assert found is not None
    assert found.description == "an index is not uniform over all components"


def test_evened_indices_are_uniform_over_all_draws():
    """Of three components with chances that are multiples of a ninth: each part is hit as often."""
    q = np.array([2.0, 3.0, 4.0]) / 9.0
    rng = np.random.default_rng(1)
    hits = np.bincount(map_to_uniform_indices(rng.choice(3, size=90_000, p=q), q, 7), minlength=3)
    assert np.abs(hits - 30_000).max() < 6 * np.sqrt(90_000 * 2 / 9)


# --- SAGA and SAG against the definition, their counts and memory ---------------------------------

KINDS = ("logistic", "recovery", "recovery-sum")


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
@pytest.mark.parametrize(("S", "n"), [(3, 11), (1, 5), (9, 5)])
def test_estimates_equal_the_definition(kind, S, n):
    """I first, then J; the table moves at the old x, each distinct j once, at n + 2 S t SFO."""
    problem, T = small(kind, n), 9
    P, (ask, ledger) = reference_of(problem), asking(problem)
    rng, stream = np.random.default_rng(3), np.random.default_rng(3)
    estimate, a = SAGA(S).start(ask, stream), None
    for t, x in enumerate(walk(problem, np.linspace(0.1, 0.4, T)), start=1):
        g, fresh = np.array(estimate(x)), P.component_gradients(dense(x))
        counts = ledger.counts().as_dict()
        assert counts == dict.fromkeys(counts, 0) | {"sfo": n + 2 * S * t}
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


# --- the table ------------------------------------------------------------------------------------


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
