"""The sliding methods against qu2018 and li2019 (their algorithms), by their references."""

from itertools import pairwise, product
from math import ceil, comb, inf, log2, sqrt

import numpy as np
import pytest
from both_kinds import dense, each_kind, minimiser, small, start
from following import assert_follows_reference
from helpers import assert_one_sentence, reference_of, tiny_logistic, tiny_recovery, tiny_regression
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.algorithms.sliding import draw_batch
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.sample import Sample
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.catalogue import problem as named_problem
from pfbench.problems.linear_models import LeastSquares
from pfbench.runs.loop.solve import solve
from pfbench.sets import L1Ball, L2Ball

NAMES = ("ncgs", "ncgs-stochastic", "ncgs-vr", "cgs", "storc")

by_name = pytest.mark.parametrize("name", NAMES)


def smoothness(problem):
    """A number near L_f: its own one is too large for the steps to be long."""
    return 0.6 * problem.constants(problem.start()).L_f


class Spy:
    """A backend that counts the linear minimisations that reach it."""

    def __init__(self, backend):
        self.backend, self.n, self.minimisations = backend, backend.n, 0

    def __getattr__(self, verb):
        return getattr(self.backend, verb)

    def lo(self, g):
        self.minimisations += 1
        return self.backend.lo(g)


def run(problem, name, x, *, rng=5, **parameters):
    """The states (at, estimate, x) of a run from the dense point x, and the counts."""
    ledger, spy = Ledger(), Spy(problem.open(np.random.default_rng(0)))
    ask = Oracles(spy, ledger, problem.set.diameter)
    rng = np.random.default_rng(rng) if isinstance(rng, int) else rng
    states = []
    for state in ALGORITHMS[name](**parameters).run(ask, reference_of(problem).point(x), rng):
        states.append((dense(state.at), np.array(state.estimate), dense(state.x)))
    counts = ledger.counts().as_dict()
    assert counts["lo"] == spy.minimisations
    return states, counts


# --- definitions, and iterates --------------------------------------------------------------------


class Plain:
    """A problem on dense arrays, with the linear minimisation of its ball and its count."""

    def __init__(self, problem):
        self.reference = reference_of(problem)
        self.n, self.radius = problem.n, problem.set.radius

    def gradients(self, x):
        return self.reference.component_gradients(x)

    def full(self, x):
        return self.gradients(x).mean(axis=0)

    def value(self, x):
        return self.reference.components(x).mean()

    def condg(self, g, u, lam, eta):
        """qu2018 algorithm 1."""
        l, x = self.reference.embedded(g), u  # noqa: E741
        while True:
            slope = l + (x - u) / lam
            v = minimiser(slope, self.radius)
            gap = np.vdot(slope, x - v)
            if gap <= eta:
                return x
            xi = min(1.0, gap / (np.sum((v - x) ** 2) / lam))
            x = x + xi * (v - x)

    def gap(self, x):
        g = self.reference.embedded(self.full(x))
        return np.vdot(g, x - minimiser(g, self.radius))

    def project(self, y):
        """The projection onto the ball, by bisection on what the moduli are lowered by."""
        if y.ndim == 2:
            U, s, Vt = np.linalg.svd(y, full_matrices=False)
            return (U * self.lowered(s)) @ Vt
        return np.sign(y) * self.lowered(np.abs(y))

    def lowered(self, moduli):
        if moduli.sum() <= self.radius:
            return moduli
        lower = brentq(lambda t: np.maximum(moduli - t, 0).sum() - self.radius, 0, moduli.max())
        return np.maximum(moduli - lower, 0.0)

    def mapping_sq(self, x, lam):
        g = self.reference.embedded(self.full(x))
        return np.sum((x - self.project(x - lam * g)) ** 2) / lam**2


BY_SMOOTHNESS = {
    **{"iterations": 13, "batch": 5, "period": 4, "tolerance": 0.05},
    "sampling": "importance",
}

CASES = [
    ("cgs-convex", {"iterations": 5, "diameter": 2.0}),
    ("ncgs-spider", {"iterations": 13, "batch": 3, "period": 4, "tolerance": 0.05}),
    ("ncgs-spider", {"iterations": 7, "batch": 40, "period": 9, "tolerance": 0.01}),
    ("ncgs-spider", BY_SMOOTHNESS),
    ("ncgs", {"iterations": 13, "option": 1, "tolerance": 0.05}),
    ("ncgs", {"iterations": 9, "option": 2, "tolerance": 0.05}),
    ("ncgs", {"iterations": 5, "option": 1}),
    ("ncgs", {"iterations": 11, "option": 2}),
    ("ncgs-stochastic", {"iterations": 11, "tolerance": 0.05}),
    ("ncgs-stochastic", {"iterations": 7, "batch": 5}),
    ("ncgs-stochastic", {"iterations": 23}),
    ("ncgs-vr", {"iterations": 13, "batch": 3, "period": 4, "tolerance": 0.05}),
    ("ncgs-vr", {"iterations": 7, "batch": 40, "period": 9}),
    ("ncgs-vr", {"iterations": 11, "batch": 1, "period": 1}),
    ("cgs", {"restarts": 3, "period": 5, "curvature": 0.3, "delta": 0.1}),
    ("cgs", {"restarts": 1, "period": 13, "curvature": 1.0, "delta": 0.4}),
    ("storc", {"restarts": 3, "period": 5, "curvature": 0.3, "delta": 0.5, "batch": 7}),
    ("storc", {"restarts": 2, "period": 7, "curvature": 1.0, "delta": 1.5, "batch": 101}),
]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]
each_case = pytest.mark.parametrize(("name", "parameters"), CASES, ids=IDS)


@each_case
@each_kind
def test_iterates_and_estimates_are_those_of_the_reference(kind, name, parameters):
    problem = small(kind)
    assert_follows_reference(problem, name, smoothness=smoothness(problem), **parameters)


# --- counts ---------------------------------------------------------------------------------------


@each_case
@each_kind
def test_counts_of_gradients(kind, name, parameters):
    """FO and SFO from the sources; LO against the spy, in `run`, and by the reference."""
    problem = small(kind)
    L = smoothness(problem)
    states, counts = run(problem, name, start(kind), smoothness=L, **parameters)
    n, T = problem.n, parameters.get("iterations")
    b, m = parameters.get("batch"), parameters.get("period")
    if name in ("ncgs", "cgs-convex"):
        fo, sfo = T, n * T
    elif name == "ncgs-spider":
        fo, sfo = ceil(T / m), n * ceil(T / m) + 2 * b * (T - ceil(T / m))
    elif name == "ncgs-stochastic":
        fo, sfo = 0, T * (T + 1) // 2 if b is None else b * T
    elif name == "ncgs-vr":
        fo, sfo = ceil(T / m), n * ceil(T / m) + 2 * b * T
    else:
        s = parameters["restarts"]
        fo, sfo = (s * m, n * s * m) if name == "cgs" else (s, s * (n + 2 * b * m))
    fewest = 2 if name == "ncgs-stochastic" or parameters.get("option") == 2 else 1
    assert counts["lo"] >= fewest * len(states)
    assert counts["lo"] > len(states), "no inner step was taken"
    del counts["lo"]
    assert counts == dict.fromkeys(counts, 0) | {"fo": fo, "sfo": sfo}


def test_ncgs_vr_costs_n_plus_2bm_an_epoch():
    """qu2018, theorem 3: IFO = (T/m)(n + 2bm)."""
    problem = small("logistic")
    given = {"iterations": 15, "smoothness": 1.0, "batch": 7, "period": 5}
    _, counts = run(problem, "ncgs-vr", start("logistic"), **given)
    assert counts["sfo"] == 3 * (21 + 2 * 7 * 5)


# --- NCGS: structure ------------------------------------------------------------------------------


@each_kind
def test_option_1_is_inexact_projected_gradient(kind):
    """With beta = lambda: theta_ag = theta, and it is the next md."""
    problem, eta = small(kind), 0.03
    L, P = smoothness(problem), Plain(problem)
    states, _ = run(
        problem, "ncgs", start(kind), iterations=12, smoothness=L, option=1, tolerance=eta
    )
    theta, moved, close = start(kind), 0, 1e-12 if kind == "logistic" else 1e-6
    for md, g, ag in states:
        assert_allclose(md, theta, rtol=0, atol=close)
        theta = P.condg(g, theta, 1 / (2 * L), eta)
        assert_allclose(ag, theta, rtol=0, atol=close)
        exact = P.project(md - P.reference.embedded(g) / (2 * L))
        assert np.sum((ag - exact) ** 2) <= eta / (2 * L) * (1 + 1e-6)
        moved += not np.allclose(ag, md, atol=1e-4)
    assert moved >= 3


@each_kind
def test_md_equals_the_ag_before_it_in_option_1(kind):
    problem = small(kind)
    L = smoothness(problem)
    states, _ = run(problem, "ncgs", start(kind), iterations=12, smoothness=L, tolerance=0.03)
    for before, after in pairwise(states):
        assert_allclose(after[0], before[2], rtol=0, atol=1e-12)


@each_kind
@pytest.mark.parametrize("eta", [0.3, 0.03, 0.003])
def test_option_1_takes_few_inner_steps_in_total(kind, eta):
    """At most Delta max(2 D^2/(lambda eta^2), 2/eta), and none where V <= eta.

    A step whose gap is above eta lowers F by min(lambda eta^2/(2 D^2), eta/2) or more.
    """
    problem = small(kind)
    c, P = problem.constants(problem.start()), Plain(problem)
    states, counts = run(
        problem, "ncgs", start(kind), iterations=60, smoothness=c.L_f, tolerance=eta
    )
    delta = P.value(start(kind))
    steps = counts["lo"] - 60
    assert steps <= delta * max(2 * c.D**2 * 2 * c.L_f / eta**2, 2 / eta)
    for md, _, ag in states:
        gap = P.gap(md)
        if abs(gap - eta) > 1e-6:
            assert (gap <= eta) == np.allclose(ag, md, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["ncgs", "cgs", "storc"])
def test_atoms_stay_few(name):
    """A factored iterate keeps at most as many atoms as a sequence re-compresses at."""
    problem = tiny_recovery(shape=(6, 5), n=18, radius=3.0)
    own = {"iterations": 120, "tolerance": 0.003}
    if name != "ncgs":
        own = {"restarts": 1, "period": 120, "curvature": 0.1, "delta": 0.2}
    if name == "storc":
        own |= {"batch": 9}
    backend = problem.open(np.random.default_rng(0))
    ask = Oracles(backend, Ledger(), problem.set.diameter)
    x = reference_of(problem).point(start("recovery"))
    chosen = ALGORITHMS[name](smoothness=smoothness(problem), **own)
    states = chosen.run(ask, x, np.random.default_rng(0))
    assert max(len(state.x.factors().weights) for state in states) <= 4 * 64


# --- NCGS: schedules and bounds -------------------------------------------------------------------


def constants(n=64, **other):
    numbers = {"D": 4.0, "L_f": 0.5, "L_ms": 2.0, "L_max": 8.0, "sigma2": 2.25, "delta": 0.75}
    return Constants(n=n, **numbers | {"M": 3.0, "ell": 0.25, "sigma_hat": 0.125} | other)


def least(bound, epsilon):
    """The least N at which a falling bound is at most epsilon, one by one."""
    N = 1
    while bound(N) > epsilon:
        N += 1
    return N


@pytest.mark.parametrize("epsilon", [50.0, 2.0, 0.5, 0.03])
def test_schedules_of_ncgs(epsilon):
    L, D2, M2, ell = 0.5, 16.0, 9.0, 0.25
    one = ALGORITHMS["ncgs"].theory(epsilon, constants())
    assert one.iterations == max(1, ceil((12 * L * 0.75 + 16 * L) / epsilon))
    two = ALGORITHMS["ncgs"].theory(epsilon, constants(), option=2)
    assert two.iterations == least(
        lambda N: (
            192 * L**2 * D2 / (N**2 * (N + 1)) + 48 * ell * L / N * (M2 + 2 * M2) + 96 * L / N
        ),
        epsilon,
    )
    for chosen in (one, two):
        assert (chosen.smoothness, chosen.output) == (L, "uniform")
        assert chosen.eta == 1 / chosen.iterations


@pytest.mark.parametrize("epsilon", [500.0, 20.0, 0.5])
def test_schedule_of_stochastic_ncgs(epsilon):
    """qu2018, theorem 2, with eta = chi = 1/N and |theta*| <= M, |theta_0 - theta*| <= D."""
    L, D2, M2, ell, s2 = 2.0, 16.0, 9.0, 0.25, 2.25

    def bound(N):
        eta = chi = 1 / N
        return (
            384 * L**2 * D2 / (N * (N + 1) * (N + 2))
            + 96 * L * ell * (M2 + M2) / (N + 2)
            + 96 * L * eta / (N + 2)
            + 36 * L * chi
            + 48 * s2 * (N + 3) / ((N + 1) * (N + 2))
        )

    chosen = ALGORITHMS["ncgs-stochastic"].theory(epsilon, constants())
    assert chosen.iterations == least(bound, epsilon)
    assert (chosen.smoothness, chosen.batch, chosen.output) == (L, None, "weighted")
    assert chosen.eta == 1 / chosen.iterations


@pytest.mark.parametrize("n", [1, 2, 7, 27, 64, 100, 1000, 4097, 10**6])
@pytest.mark.parametrize("epsilon", [100.0, 1.0, 0.07])
def test_schedule_of_ncgs_vr(n, epsilon):
    """m = n^(1/3), b = n^(2/3), both rounded; T >= 18 L (Delta + 1)/epsilon, a multiple of m."""
    chosen = ALGORITHMS["ncgs-vr"].theory(epsilon, constants(n))
    m, b = max(1, round(n ** (1 / 3))), max(1, round(n ** (2 / 3)))
    assert (chosen.period, chosen.batch, chosen.smoothness) == (m, b, 2.0)
    assert m * m <= 12 * b
    T = 18 * 2.0 * 1.75 / epsilon
    assert chosen.iterations % m == 0
    assert T * (1 - 1e-9) <= chosen.iterations < max(T, 1) + m
    assert chosen.eta == 1 / chosen.iterations


def test_output_weights_are_k_times_k_plus_1():
    chosen = ALGORITHMS["ncgs-stochastic"](iterations=3, smoothness=1.0)
    weights = np.array([chosen.output_weight(k) for k in (1, 2, 3)])
    assert_allclose(weights / weights.sum(), np.array([2, 6, 12]) / 20)


def test_a_given_tolerance_is_not_the_theorems_schedule():
    chosen = algorithm("ncgs", epsilon=1.0, tolerance=0.01)
    assert chosen.resolve(constants())[1] == "explicit"
    assert algorithm("ncgs", epsilon=1.0).resolve(constants())[1] == "theory"


@each_kind
def test_theorem_1_option_1(kind):
    """qu2018-thm1-I on the least and on the mean; from 0, where Delta <= f(0)."""
    problem, N = small(kind), 40
    c, P = problem.constants(problem.start()), Plain(problem)
    x = np.zeros(problem.set.shape)
    states, _ = run(problem, "ncgs", x, iterations=N, smoothness=c.L_f)
    squares = [P.mapping_sq(md, 1 / (2 * c.L_f)) for md, _, _ in states]
    assert min(squares) <= (12 * c.L_f * c.delta + 16 * c.L_f) / N
    assert np.mean(squares) <= (16 * c.L_f * c.delta + 28 * c.L_f) / (3 * N)


# --- NCGS: convergence ----------------------------------------------------------------------------

FAR = [
    ("ncgs", {"iterations": 300, "tolerance": 1e-3}, 1.1e-3),
    ("ncgs", {"iterations": 300, "option": 2, "tolerance": 1e-3}, 4e-3),
    ("ncgs-stochastic", {"iterations": 300, "batch": 4000, "tolerance": 1e-3}, 0.03),
    ("ncgs-vr", {"iterations": 400, "batch": 9, "period": 3, "tolerance": 1e-3}, 4e-3),
]


@pytest.mark.thin(2)
@each_kind
@pytest.mark.parametrize(("name", "parameters", "target"), FAR, ids=[f"{c[0]}-{c[2]}" for c in FAR])
def test_the_exact_gap_and_mapping_fall(kind, name, parameters, target):
    problem = small(kind)
    c, P = problem.constants(problem.start()), Plain(problem)
    chosen = algorithm(name, smoothness=c.L_f, output="last", **parameters)
    result = solve(problem, chosen, seed=1)
    assert result.status == "finished"
    x = dense(result.x)
    assert P.gap(np.zeros(problem.set.shape)) > 0.1
    assert P.gap(x) <= target
    lam = 1 / (2 * c.L_f)
    assert P.mapping_sq(x, lam) <= target / lam


# --- CGS and STORC --------------------------------------------------------------------------------


def least_squares(where, n=40, d=5):
    """A strongly convex quadratic over a ball, its minimiser and sigma_hat, L.

    Where the minimiser is on the l2 sphere, (H + mu I) x = c with |x| = radius.
    """
    rng = np.random.default_rng(4)
    A = rng.standard_normal((n, d)) * np.linspace(0.6, 1.4, d)
    H, inside = A.T @ A / n, rng.uniform(-0.5, 0.5, size=d)
    labels = A @ inside + (0.0 if where != "sphere" else rng.standard_normal(n))
    c = A.T @ labels / n
    if where == "l1":
        problem, best = LeastSquares(A, labels, L1Ball(d, 2.0)), inside
    elif where == "l2":
        problem, best = LeastSquares(A, labels, L2Ball(d, 2.0)), inside
    else:
        radius = 0.5 * np.linalg.norm(np.linalg.solve(H, c))

        def solution(mu):
            return np.linalg.solve(H + mu * np.eye(d), c)

        mu = brentq(lambda mu: np.linalg.norm(solution(mu)) - radius, 0, 1e3, xtol=1e-15)
        problem, best = LeastSquares(A, labels, L2Ball(d, radius)), solution(mu)
    values = np.linalg.eigvalsh(H)
    return problem, best, values[0], values[-1]


def suboptimality(problem, best, x):
    A, b = np.asarray(problem.features), problem.labels
    return (np.sum((A @ x - b) ** 2) - np.sum((A @ best - b) ** 2)) / (2 * len(b))


@pytest.mark.parametrize("where", ["l1", "l2", "sphere"])
def test_cgs_halves_the_distance_to_the_minimum_at_each_restart(where):
    """li2019-thm1 at every t, li2019-cor3 at every k, and the count of its LO."""
    problem, best, sigma, L = least_squares(where)
    delta0 = suboptimality(problem, best, problem.start())
    assert delta0 > 0.01
    T = 7
    chosen = ALGORITHMS["cgs"].theory(
        delta0 / 2**T, problem.constants(problem.start()), curvature=sigma, delta=delta0
    )
    N = ceil(8 * sqrt(L / sigma))
    assert (chosen.restarts, chosen.period) == (T, N)
    assert chosen.smoothness == pytest.approx(L, rel=1e-9)
    ledger = Ledger()
    ask = Oracles(problem, ledger, problem.set.diameter)
    states = list(chosen.run(ask, problem.start(), np.random.default_rng(0)))
    for t, k in product(range(1, T + 1), range(1, N + 1)):
        error = suboptimality(problem, best, states[(t - 1) * N + k - 1].x)
        assert error <= 8 * L * (4 * delta0 * 2.0**-t / sigma) / (k * (k + 1)) + 1e-13
        if k == N:
            assert error <= delta0 * 2.0**-t + 1e-13
    D = problem.set.diameter
    most = 288 * L * D**2 * 2**T / delta0 * (N**2 * sigma / (64 * L)) + 2 * N * T
    assert ledger.counts().lo <= most
    assert ledger.counts().fo == N * T


@pytest.mark.parametrize("where", ["l1", "sphere"])
def test_storc_halves_it_with_the_theorems_batch(where):
    """li2019-thm2 with m = 5200 N L_max/sigma_hat, drawn as counts."""
    problem, best, sigma, L = least_squares(where)
    c = problem.constants(problem.start())
    delta0 = suboptimality(problem, best, problem.start())
    chosen = ALGORITHMS["storc"].theory(delta0 / 2**5, c, curvature=sigma, delta=delta0)
    N = ceil(8 * sqrt(L / sigma))
    assert chosen.batch == ceil(5200 * N * c.L_max / sigma) > 1000 * problem.n
    ledger = Ledger()
    ask = Oracles(problem, ledger, problem.set.diameter)
    states = list(chosen.run(ask, problem.start(), np.random.default_rng(0)))
    for t in range(1, 6):
        assert suboptimality(problem, best, states[t * N - 1].x) <= delta0 * 2.0**-t
    counts = ledger.counts()
    assert (counts.fo, counts.sfo) == (5, 5 * (problem.n + 2 * chosen.batch * N))


def test_tolerances_of_cgs():
    """eta_{t,k} = 8 L delta0 2^-t/(sigma_hat N k)."""
    chosen = ALGORITHMS["cgs"](restarts=3, period=7, smoothness=2.0, curvature=0.5, delta=0.75)
    for t, k in product((1, 2, 3), (1, 4, 7)):
        assert chosen.eta(t, k) == pytest.approx(8 * 2 * 0.75 * 2.0**-t / (0.5 * 7 * k), rel=1e-14)


@pytest.mark.parametrize("epsilon", [10.0, 0.75, 0.3, 0.01, 1e-9])
def test_schedules_of_cgs_and_storc(epsilon):
    N, outer = ceil(8 * sqrt(0.5 / 0.125)), max(1, ceil(log2(0.75 / epsilon) - 1e-12))
    mixed = (8 + 0.25) * (1 + 0.25 / 0.125)
    for name, ell, batch in (
        ("cgs", 0.25, None),
        ("storc", 0.0, 5200 * N * 8 / 0.125),
        ("storc", 0.25, 8000 * N * mixed / 0.125),
    ):
        chosen = ALGORITHMS[name].theory(epsilon, constants(ell=ell))
        assert (chosen.restarts, chosen.period) == (outer, N)
        assert (chosen.smoothness, chosen.curvature, chosen.delta) == (0.5, 0.125, 0.75)
        if batch is not None:
            assert chosen.batch == ceil(batch)
    practical = ALGORITHMS["storc"].practical(epsilon, constants(1000))
    assert (practical.restarts, practical.period, practical.batch) == (outer, N, 100)


@pytest.mark.parametrize("name", ["cgs", "storc"])
def test_given_constants_replace_those_of_the_problem(name):
    unknown = constants(sigma_hat=inf, delta=inf, L_f=inf, ell=0.0)
    given = {"curvature": 0.5, "delta": 3.0, "smoothness": 4.5}
    chosen = ALGORITHMS[name].theory(0.5, unknown, **given)
    assert (chosen.period, chosen.restarts) == (24, 3)
    assert {key: getattr(chosen, key) for key in given} == given
    for key in given:
        with pytest.raises(InputError, match=f"^{key}=") as error:
            ALGORITHMS[name].theory(0.5, unknown, **given | {key: 0.0})
        assert_one_sentence(error)


class Scripted:
    """A stream that answers with the given counts or batches, and notes what was asked."""

    def __init__(self, answers):
        self.answers, self.asked = iter(answers), []

    def multinomial(self, size, shares):
        self.asked.append((size, list(shares)))
        return np.array(next(self.answers))

    def integers(self, n, size):
        self.asked.append((size, [1 / n] * n))
        return np.array(next(self.answers))


@pytest.mark.parametrize(("n", "m"), [(2, 3), (2, 7), (3, 2), (4, 2)])
def test_the_mean_of_storcs_estimate_is_the_gradient(n, m):
    """By enumeration of all batches at k = 2; m > n as multinomial counts. Exact at y_0."""
    problem = tiny_logistic(n=n, d=3, radius=2.0)
    P, x = reference_of(problem), 0.2 * np.cos(3.0 + np.arange(3))
    given = {"period": 2, "smoothness": 0.3, "curvature": 0.5, "delta": 1e-3, "batch": m}
    if m > n:
        batches = [(k, m - k) for k in range(m + 1)]
        shares = [comb(m, k) / 2**m for k in range(m + 1)]
    else:
        batches = list(product(range(n), repeat=m))
        shares = [1 / n**m] * len(batches)
    estimates = []
    for batch in batches:
        rng = Scripted([batches[0], batch])
        states, counts = run(problem, "storc", x, rng=rng, **given)
        assert rng.asked == [(m, [1 / n] * n)] * 2
        assert counts["sfo"] == n + 2 * m * 2
        z, g, _ = states[0]
        assert_allclose(g, P.component_gradients(z).mean(axis=0), atol=1e-14)
        z, g, _ = states[1]
        assert not np.allclose(z, x, atol=0.01)
        estimates.append(g)
    mean = np.array(shares) @ np.array(estimates)
    assert_allclose(mean, P.component_gradients(z).mean(axis=0), atol=1e-13)
    assert np.std(estimates, axis=0).max() > 1e-3


def test_a_batch_above_n_is_drawn_as_counts():
    sample = draw_batch(np.random.default_rng(0), 5, 1_300_000_000)
    assert isinstance(sample, Sample)
    assert len(sample) == sample.counts.sum() == 1_300_000_000
    assert np.abs(sample.counts - 260_000_000).max() < 1e5
    sample = draw_batch(np.random.default_rng(0), 5, 6)
    assert (sample.counts > 0).all()
    assert len(np.unique(sample.indices)) == len(sample.indices)
    assert isinstance(draw_batch(np.random.default_rng(0), 5, 5), np.ndarray)


@pytest.mark.parametrize("name", ["cgs", "storc"])
@each_kind
def test_cgs_comes_near_a_stationary_point_of_the_non_convex_problems(kind, name):
    """Measured, not promised: li2019's theorem for non-convex f is disputed."""
    problem = small(kind)
    c, P = problem.constants(problem.start()), Plain(problem)
    given = {"restarts": 6, "period": 12, "smoothness": c.L_f, "curvature": c.L_f, "delta": 0.05}
    given |= {"batch": 500} if name == "storc" else {}
    result = solve(problem, algorithm(name, **given), seed=1)
    first = P.gap(np.zeros(problem.set.shape))
    assert P.gap(dense(result.x)) < 0.1 * first


# --- refusals -------------------------------------------------------------------------------------

GOOD = {
    "ncgs": {"iterations": 5, "smoothness": 1.0},
    "ncgs-stochastic": {"iterations": 5, "smoothness": 1.0},
    "ncgs-vr": {"iterations": 5, "smoothness": 1.0, "batch": 3, "period": 2},
    "cgs": {"period": 5, "smoothness": 1.0, "curvature": 0.5, "delta": 1.0},
    "storc": {"period": 5, "smoothness": 1.0, "curvature": 0.5, "delta": 1.0, "batch": 3},
}

WRONG = {
    "iterations": (0, 2.5, "x"),
    "restarts": (0, 1.5),
    "period": (0, -3, "x"),
    "batch": (0, 2.5, "x"),
    "smoothness": (0.0, -1.0, inf, "x"),
    "curvature": (0.0, -1.0, inf, "x"),
    "delta": (0.0, inf, "x"),
    "tolerance": (0.0, -1.0, inf, "x"),
    "option": (0, 3, "1", None),
    "output": ("mean", 3),
}


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, key) for name in NAMES for key in ALGORITHMS[name].parameters()]
)
def test_bad_values_are_refused_by_name(name, parameter):
    for value in WRONG[parameter]:
        with pytest.raises(InputError, match=f"^{parameter}=") as error:
            ALGORITHMS[name](**GOOD[name] | {parameter: value})
        assert_one_sentence(error)


@by_name
def test_a_missing_parameter_is_named(name):
    for missing in GOOD[name]:
        given = {key: value for key, value in GOOD[name].items() if key != missing}
        with pytest.raises(InputError, match=f"{name} needs {missing}, or epsilon") as error:
            algorithm(name, **given).resolve(constants())
        assert_one_sentence(error)


@by_name
def test_a_problem_without_a_set_is_refused(name):
    problem = named_problem("nonconvex-logistic", source="synthetic", set="none", rows=5, columns=3)
    with pytest.raises(RefusedError, match=f"^{name} queries lo.*it has no feasible set") as error:
        solve(problem, algorithm(name, **GOOD[name]))
    assert_one_sentence(error)


NEEDED = {
    "ncgs": ("L_f", "delta"),
    "ncgs-stochastic": ("L_f", "L_ms", "ell", "D", "M", "sigma2"),
    "ncgs-vr": ("L_f", "L_ms", "delta"),
    "cgs": ("L_f", "sigma_hat", "delta"),
    "storc": ("L_f", "sigma_hat", "delta", "L_max", "ell"),
}


@pytest.mark.parametrize(
    ("name", "missing"), [(name, missing) for name in NAMES for missing in NEEDED[name]]
)
def test_a_missing_constant_is_refused_by_name(name, missing):
    with pytest.raises(RefusedError, match=rf"{name} needs the constant {missing} \(") as error:
        ALGORITHMS[name].theory(0.1, constants(**{missing: inf}))
    assert_one_sentence(error)


@pytest.mark.parametrize("missing", ["D", "M", "ell", "L_f"])
def test_a_missing_constant_of_option_2_is_refused_by_name(missing):
    with pytest.raises(RefusedError, match=rf"ncgs needs the constant {missing} \("):
        ALGORITHMS["ncgs"].theory(0.1, constants(**{missing: inf}), option=2)


def test_a_schedule_without_sigma_hat_is_refused():
    problem = tiny_regression(LeastSquares, n=3)  # fewer rows than features
    with pytest.raises(RefusedError, match="sigma_hat") as error:
        algorithm("cgs", epsilon=0.1).resolve(problem.constants(problem.start()))
    assert_one_sentence(error)


# --- the practical schedule -----------------------------------------------------------------------


def test_storc_has_a_practical_schedule_and_others_say_that_they_have_none():
    c = Constants(n=1000, L_f=2.0, L_max=8.0, sigma_hat=0.5, delta=1.0, ell=0.0)
    chosen, schedule = algorithm("storc", epsilon=0.1, schedule="practical").resolve(c)
    theorem, _ = algorithm("storc", epsilon=0.1).resolve(c)
    assert (schedule, chosen.batch, chosen.period) == ("practical", 100, theorem.period)
    assert theorem.batch > 1000 * chosen.batch
    with pytest.raises(RefusedError, match="no practical schedule"):
        algorithm("cgs", epsilon=0.1, schedule="practical").resolve(c)
    with pytest.raises(InputError, match="schedule=practical of storc needs epsilon"):
        algorithm("storc", schedule="practical").resolve(c)
