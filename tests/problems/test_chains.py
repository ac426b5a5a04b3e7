"""The hard instances: every constant, every lower bound.

Oracles against definitions are in test_definitions.py.

The zero chain (shen2019 theorem 5.1), the finite-sum chain (Fang et al. 2018 theorem 3 in the
version of Fang et al. 2018, theorem 3) and |x|^2 on the simplex (Jaggi 2013).
"""

import math
from itertools import islice

import numpy as np
import pytest
from chain_reference import HARD_PROBLEMS, chain_gradient
from helpers import assert_one_sentence, constant_ratios, reference_of, refused, root_mean
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import pfbench as pf
from pfbench.algorithms import algorithm
from pfbench.base.errors import InputError, RefusedError
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.chain_bounds import CHAIN_BOUNDS
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.single_component import SimplexNorm
from pfbench.problems.zero_chain import (
    ZeroChain,
    chain_scaling,
    chain_smoothness,
    random_directions,
)

SEEDS = st.integers(0, 2**32 - 1)
STEEPEST = np.array([1.25, -0.76, -2.3])
"""Near the point where the Hessian of H_3 is largest."""

EACH = pytest.mark.parametrize("problem", HARD_PROBLEMS.values(), ids=HARD_PROBLEMS)


def test_a_finite_sum_chain_has_no_set():
    problem = HARD_PROBLEMS["finite-sum chain"]
    x, g = np.ones(problem.d), np.full(problem.d, 2.0)
    assert_array_equal(problem.prox(x, g, 0.25), 0.5 * np.ones(problem.d))
    for refuse in (problem.lo, problem.minimum):
        with pytest.raises(RefusedError, match="feasible set"):
            refuse(g)
    with pytest.raises(RefusedError, match="finite-sum-chain"):
        pf.solve(problem, pf.algorithm("frank-wolfe", iterations=1, step="open-loop"))


@EACH
def test_the_start_is_fixed_fresh_and_feasible(problem):
    assert problem.set.contains(problem.start())
    problem.start()[:] = 7.0
    if problem.name == "simplex-norm":
        assert_array_equal(problem.start(), np.eye(problem.d)[0])
    else:
        assert_array_equal(problem.start(), np.zeros(problem.d))


def test_the_digest_is_of_everything_that_defines_the_problem():
    chains = [
        *(ZeroChain(3, 5), ZeroChain(4, 5), ZeroChain(3, 6)),
        *(ZeroChain(3, 5, mu=2.0), ZeroChain(3, 5, smoothness=2.0)),
        *(ZeroChain(3, 5, random_directions(5, 3, seed)) for seed in (0, 1)),
        *(FiniteSumChain(4, 0.004), FiniteSumChain(5, 0.004), FiniteSumChain(4, 0.0039)),
        *(FiniteSumChain(4, 0.004, 2.0), FiniteSumChain(4, 0.004, 1.0, 2.0)),
        *(SimplexNorm(4), SimplexNorm(5)),
    ]
    assert len({problem.digest for problem in chains}) == len(chains)
    assert ZeroChain(3, 5).digest == ZeroChain(3, 5).digest


# --- constants ------------------------------------------------------------------------------------


@EACH
def test_no_pair_of_points_violates_a_constant(problem):
    rng, reference = np.random.default_rng(0), reference_of(problem)
    constants = problem.constants(problem.start())
    assert constants.n == problem.n
    assert set(constants.derivations) >= {"n", "L_f", "L_ms", "L_max", "L2_ms", "sigma2", "delta"}
    for _ in range(25):
        x, u = reference.random(rng), reference.random(rng)
        y = x + reference.scale * 10.0 ** rng.uniform(-2, 0.5) * rng.standard_normal(problem.d)
        for name, ratio in constant_ratios(reference).items():
            limit = getattr(constants, name)
            allowed = limit + 1e-6 * max(limit, constants.L_max / reference.scale)
            assert ratio(x, y, u) <= allowed, name


def steepest(problem, block=None):
    """A point and a direction along which the gradient changes most."""
    y, v = np.zeros(problem.d), np.zeros(problem.d)
    first = 0 if block is None else block * problem.length

    def matrix(z):
        h, steps = 1e-5, np.eye(3)
        rows = [chain_gradient(z + h * e) - chain_gradient(z - h * e) for e in steps]
        return np.array(rows) / (2.0 * h)

    found = minimize(lambda z: -np.linalg.norm(matrix(z), 2), STEEPEST, method="Nelder-Mead")
    values, vectors = np.linalg.eigh(matrix(found.x))
    y[first : first + 3] = found.x
    v[first : first + 3] = vectors[:, np.argmax(np.abs(values))]
    return reference_of(problem).scale * y, reference_of(problem).scale * v


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_smoothness_is_attained_within_13_percent(sign):
    """At the worst point of the chain, for L_f, L_ms and L_max at once."""
    for problem in (ZeroChain(3, 4), FiniteSumChain(5, 0.003)):
        x, v = steepest(problem, None if problem.n == 1 else 2)
        constants = problem.constants(problem.start())
        for name in ("L_f", "L_ms", "L_max"):
            ratio = constant_ratios(reference_of(problem))[name]
            found = ratio(sign * x, sign * x + 1e-3 * v, v)
            assert found <= getattr(constants, name) <= 1.14 * found, name


def test_the_three_smoothness_constants_of_the_finite_sum():
    problem = FiniteSumChain(9, 0.01, smoothness=5.0)
    constants = problem.constants(problem.start())
    found = constants.L_f, constants.L_ms, constants.L_max, constants.ell
    assert_allclose(found, [5.0 / 3.0, 5.0, 15.0, 5.0 / 3.0], rtol=1e-12)


@EACH
def test_delta_bounds_the_decrease_from_a_start(problem):
    rng = np.random.default_rng(0)
    inside = rng.dirichlet(np.ones(problem.d)) if problem.name == "simplex-norm" else None
    for start in (problem.start(), reference_of(problem).random(rng) if inside is None else inside):
        delta = problem.constants(start).delta
        for x in (problem.start(), np.full(problem.d, 3.0 * reference_of(problem).scale)):
            if problem.name == "simplex-norm":
                x = np.full(problem.d, 1.0 / problem.d)
            assert problem.value(start) - problem.value(x) <= delta * (1.0 + 1e-12)
    if problem.name == "simplex-norm":
        assert_allclose(problem.constants(problem.start()).delta, 5.0 / 6.0, rtol=1e-14)
        assert_allclose(problem.best_known[0], problem.value(x), rtol=1e-14)


def test_delta_is_nearly_attained():
    """The finite sum reaches its bound far out, the zero chain up to its quadratic."""
    chains = FiniteSumChain(5, 0.003)
    delta = chains.constants(chains.start()).delta
    decrease = chains.value(chains.start()) - chains.value(np.full(chains.d, 1e6 * chains.beta))
    assert_allclose(decrease, delta, rtol=1e-9)
    chain = ZeroChain(20, 20)
    found = minimize(chain.value, np.full(20, 3.0), jac=chain.gradient, method="L-BFGS-B")
    delta = chain.constants(chain.start()).delta
    assert 0.85 * delta <= chain.value(chain.start()) - found.fun <= delta


@given(SEEDS)
def test_the_variance_of_the_finite_sum(seed):
    problem, rng = HARD_PROBLEMS["finite-sum chain"], np.random.default_rng(seed)
    sigma2 = problem.constants(problem.start()).sigma2
    y = rng.choice([-1.0, 1.0]) * rng.uniform(0.85, 0.95, size=problem.d)
    g = reference_of(problem).component_gradients(problem.beta * y)
    assert root_mean(g - g.mean(axis=0)) ** 2 <= sigma2


# --- the zero chain: shen2019 theorem 5.1 ---------------------------------------------------------


@given(st.floats(1e-6, 1e-3), st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_the_scaled_chain_is_as_smooth_deep_and_hard_as_asked(epsilon, L, delta):
    ell = chain_smoothness()
    if 0.0016 / 12.0 * L * delta / (ell * epsilon**2) < 1.0:
        with pytest.raises(InputError, match=r"T = |would have no link"):
            chain_scaling(epsilon, L, delta)
        return
    T, mu = chain_scaling(epsilon, L, delta)
    assert_allclose(mu, ell * epsilon / (0.04 * L), rtol=1e-14)
    height = L * mu**2 / ell
    # H_T(0) - inf <= 12 T fits into delta, and would not with one link more.
    assert 12.0 * T * height <= delta * (1.0 + 1e-12) < 12.0 * (T + 1) * height * (1.0 + 2e-12)
    # V >= 0.04 D of f is V >= epsilon D of fbar: gradients carry the factor height/mu.
    assert_allclose(0.04 * height / mu, epsilon, rtol=1e-12)


def test_the_scaled_chain_by_name():
    problem = pf.problem("zero-chain", epsilon=3e-4, smoothness=2.0, delta=3.0, seed=5)
    T, mu = chain_scaling(3e-4, 2.0, 3.0)
    assert (problem.horizon, problem.mu, problem.columns) == (T, mu, 2 * T)
    constants = problem.constants(problem.start())
    assert constants.L_f == 2.0
    assert constants.delta <= 3.0
    assert_allclose(constants.D, 460.0 * math.sqrt(T) * mu, rtol=1e-14)
    assert dict(problem.parameters) == {"epsilon": 3e-4, "smoothness": 2.0, "delta": 3.0, "seed": 5}


def test_the_chain_as_it_is_by_name():
    assert (pf.problem("zero-chain").horizon, pf.problem("zero-chain").columns) == (50, 50)
    problem = pf.problem("zero-chain", horizon=7, columns=11)
    assert problem.constants(problem.start()).L_f == chain_smoothness()
    assert_allclose(problem.set.radius, 230.0 * math.sqrt(7.0), rtol=1e-15)
    assert 151.46 < chain_smoothness() < 151.47


def test_random_directions_are_orthonormal_and_follow_the_seed():
    V = random_directions(30, 8, 3)
    assert_allclose(V.T @ V, np.eye(8), atol=1e-14)
    assert_array_equal(V, random_directions(30, 8, 3))
    assert not np.allclose(V, random_directions(30, 8, 4))
    assert_array_equal(V, pf.problem("zero-chain", horizon=8, columns=30, seed=3).directions)
    # Uniform: without the sign, QR would make every first entry negative.
    signs = [np.sign(random_directions(4, 2, seed)[0, 0]) for seed in range(60)]
    assert 10 < signs.count(1.0) < 50


@given(SEEDS, st.integers(1, 7), st.floats(0.0, 1.0))
def test_the_gap_is_large_while_the_last_coordinate_is_0(seed, T, share):
    """V(x) >= 0.08 R = 0.04 D at every point of the ball with <v_T, x> = 0."""
    rng = np.random.default_rng(seed)
    problem = ZeroChain(T, T + 2, random_directions(T + 2, T, seed))
    x = rng.standard_normal(T + 2) * 10.0 ** rng.uniform(-2.0, 2.0, size=T + 2)
    V = problem.directions
    x -= V[:, -1] * (V[:, -1] @ x)
    x *= share * problem.set.radius / np.linalg.norm(x)
    g = problem.gradient(x)
    gap = g @ x - problem.minimum(g)[0]
    assert gap >= 0.04 * problem.set.diameter


# --- the finite-sum chain: Fang et al. 2018 -------------------------------------------------------


class Watched:
    """A backend that counts calls of each component, and checks every point it is asked at."""

    unconstrained = True

    def __init__(self, problem):
        self.problem, self.n = problem, problem.n
        self.calls = np.zeros(problem.n, dtype=int)
        self.checked = 0

    def check(self, x):
        """No block shows more coordinates than calls; the gradient is large before n K/2 calls."""
        blocks = x.reshape(self.n, self.problem.length)
        shown = [0 if not b.any() else np.flatnonzero(b)[-1] + 1 for b in blocks]
        assert (np.array(shown) <= self.calls).all()
        if self.calls.sum() < self.problem.n * self.problem.length / 2:
            assert np.linalg.norm(self.problem.gradient(x)) > self.problem.epsilon
            self.checked += 1

    def seen(self, sample, *points):
        for x in points:
            self.check(x)
            np.add.at(self.calls, sample, 1)

    def gradient(self, x):
        self.seen(np.arange(self.n), x)
        return self.problem.gradient(x)

    def batch(self, sample, x):
        self.seen(sample, x)
        return self.problem.batch(sample, x)

    def difference(self, sample, x, y):
        self.seen(sample, x, y)
        return self.problem.difference(sample, x, y)

    def prox(self, x, g, lam):
        return self.problem.prox(x, g, lam)


ZERO_RESPECTING = {
    "prox-gd": {},
    "prox-sgd": {"batch": 1, "step": 2.0},
    "svrg": {"batch": 1, "period": 3, "step": 2.0},
    "prox-svrg": {"batch": 2, "period": 5, "step": 2.0},
    "sarah": {"batch": 1, "period": 11, "step": 2.0},
    "spider": {"batch": 2, "period": 4, "step": 0.3},
    "spiderboost": {"batch": 4, "period": 4, "step": 0.5},
    "spiderboost-fast": {"batch": 1, "period": 20, "step": 4.0},
    "prox-spiderboost-m": {"batch": 2, "period": 4, "step": 0.2},
    "rsag": {"batch": 2, "step": 1.0},
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", ZERO_RESPECTING)
@pytest.mark.parametrize("seed", range(3))
def test_one_call_shows_at_most_one_coordinate(name, seed):
    """|grad f| > epsilon at every point asked before n K/2 calls, whatever the method does."""
    problem = FiniteSumChain(8, 0.0028)
    assert (problem.length, problem.min_component_gradients) == (12, 48)
    parameters = {"iterations": 150} | ZERO_RESPECTING[name]
    if name == "prox-gd":
        parameters |= {"step": 2.0 * math.sqrt(problem.n)}
    chosen, _ = algorithm(name.removesuffix("-fast"), **parameters).resolve(
        problem.constants(problem.start())
    )
    backend, ledger = Watched(problem), Ledger()
    ask = Oracles(backend, ledger, math.inf)
    states = chosen.run(ask, problem.start(), np.random.default_rng(seed))
    for state in islice(states, 150):
        backend.check(state.x)
    assert backend.checked > 3
    assert ledger.counts().sfo == backend.calls.sum() >= problem.min_component_gradients


def test_the_lower_bound_is_tight_for_a_method_that_knows_the_instance():
    """One call shows one coordinate, and 7 of 8 blocks suffice: 49 of at least 28 calls."""
    problem = FiniteSumChain(8, 0.0036)
    n, K = problem.n, problem.length
    x, calls = problem.start(), 0
    for block in range(n - 1):
        for k in range(K):
            g = problem.batch(np.array([block]), x)
            calls += 1
            position = block * K + k
            assert g[position] < 0.0
            assert not g[: block * K].any()
            assert not g[position + 1 :].any()
            x[position] = 10.0 * problem.beta
        unfinished = n - 1 - block
        norm = np.linalg.norm(problem.gradient(x))
        expected = math.sqrt(2.0 * math.e * unfinished / n) * problem.epsilon
        assert_allclose(norm, expected, rtol=0.02)
        assert (norm > problem.epsilon) == (unfinished > 1)
    assert calls == 7 * K
    assert problem.min_component_gradients <= calls < 1.8 * problem.min_component_gradients


def recorded(name, problem, **parameters):
    """A run's trace with |grad f| in each row, up to the first row with |grad f| <= epsilon."""
    norm = {"norm": lambda problem, state: float(np.linalg.norm(problem.gradient(state.x)))}
    return pf.solve(
        problem,
        pf.algorithm(name, iterations=20_000, **parameters),
        measures=norm,
        stop=pf.Stop("norm", problem.epsilon),
    )


def test_the_numbers_of_baselines_section_16():
    """n = 16, K = 7, with the steps for l = 152, as they were made; the start costs a gradient.

    Gradient descent is done when a full gradient shows it, SpiderBoost when a snapshot does.
    """
    problem = pf.problem("finite-sum-chain", n=16, epsilon=0.003)
    assert (problem.length, problem.min_component_gradients, problem.d) == (7, 56, 112)
    rounded = CHAIN_BOUNDS.smoothness_bound / 152.0
    for L, calls in ((0.25, 9264), (1.0, 36864)):
        run = recorded("prox-gd", problem, step=rounded / L)
        assert run.status == "target"
        assert run.counts.sfo + 16 == calls
    run = recorded("spiderboost", problem, step=0.5 * rounded, batch=4, period=4)
    assert run.status == "target"
    periods = -(-run.iterations // 4)
    assert periods * (16 + 2 * 4 * 3) + 16 == 46056


def test_the_last_epsilon_with_a_link():
    """K >= 1 ends at epsilon^2 = Delta L/(24 l sqrt n): 0.0083 for n = 16, L = Delta = 1."""
    limit = math.sqrt(1.0 / (24.0 * CHAIN_BOUNDS.smoothness_bound * 4.0))
    assert 0.0082 < limit < 0.0084
    assert pf.problem("finite-sum-chain", n=16, epsilon=limit * (1.0 - 1e-9)).length == 1
    with pytest.raises(InputError) as error:
        pf.problem("finite-sum-chain", n=16, epsilon=limit * (1.0 + 1e-9))
    assert_one_sentence(error, "is too large for n=16", "smaller epsilon or n")


# --- the simplex: Jaggi 2013 ----------------------------------------------------------------------


def gap(problem, x):
    """V(x) by enumeration of the vertices."""
    g = 2.0 * x
    return max(g @ (x - vertex) for vertex in np.eye(problem.d))


@pytest.mark.parametrize("N", [2, 5, 12])
def test_uniform_points_have_f_1_over_k_and_gap_2_over_k(N):
    problem = SimplexNorm(N)
    for k in range(1, N + 1):
        x = np.where(np.arange(N) < k, 1.0 / k, 0.0)
        assert_allclose(problem.value(x), 1.0 / k, rtol=1e-14)
        g = problem.gradient(x)
        found = g @ x - problem.minimum(g)[0]
        assert_allclose(found, gap(problem, x), rtol=1e-14, atol=1e-15)
        assert_allclose(found, 2.0 / k if k < N else 0.0, rtol=1e-14, atol=1e-15)


@given(st.integers(2, 12), st.integers(1, 11), SEEDS)
def test_few_coordinates_mean_a_large_value_and_gap(N, k, seed):
    k = min(k, N - 1)
    rng = np.random.default_rng(seed)
    x = np.zeros(N)
    x[rng.permutation(N)[:k]] = rng.dirichlet(np.ones(k))
    problem = SimplexNorm(N)
    assert problem.value(x) >= (1.0 / k) * (1.0 - 1e-14)
    assert gap(problem, x) >= (2.0 / k) * (1.0 - 1e-14)


SIMPLEX_METHODS = {
    "line search": ("frank-wolfe", {"step": "line-search"}),
    "adaptive": ("frank-wolfe", {"step": "adaptive", "curvature": 4.0}),
    "open loop": ("frank-wolfe", {"step": "open-loop"}),
    "sliding": ("ncgs", {"tolerance": 0.2, "smoothness": 2.0}),
    "conditional gradient sliding": ("cgs", {"epsilon": 0.05}),
}


@pytest.mark.parametrize("method", SIMPLEX_METHODS)
def test_no_method_by_linear_minimisation_is_faster_on_the_simplex(method):
    """V(x_k) >= 2/(k + 1) after k linear minimisations while k + 1 < N."""
    name, parameters = SIMPLEX_METHODS[method]
    N = 60
    problem = pf.problem("simplex-norm", columns=N)
    if "epsilon" not in parameters:
        parameters = parameters | {"iterations": 70}
    run = pf.solve(problem, pf.algorithm(name, **parameters), measures=("fw_gap", "objective"))
    trace = run.trace[run.trace["lo"] + 1 < N]
    assert len(trace) > 2
    calls = trace["lo"].to_numpy()
    assert (trace["fw_gap"].to_numpy() >= 2.0 / (calls + 1) * (1.0 - 1e-12)).all()
    assert (trace["objective"].to_numpy() >= 1.0 / (calls + 1) * (1.0 - 1e-12)).all()
    if method == "line search":  # tight: the iterates are uniform points
        assert_allclose(trace["fw_gap"], 2.0 / (calls + 1), rtol=1e-6)
    if method == "open loop":  # and the upper bound 2 C_f/(k + 2), C_f = 4, of the suboptimality
        assert (trace["objective"] - 1.0 / N <= 8.0 / (calls + 2)).all()


def test_one_projection_solves_the_simplex():
    problem = pf.problem("simplex-norm", columns=40)
    run = pf.solve(problem, pf.algorithm("prox-gd", step=0.5, iterations=1))
    assert run.counts.po == 1
    assert_allclose(run.x, 1.0 / 40.0, rtol=1e-13)
    least, words = problem.best_known
    assert_allclose(run.final["objective"], least, rtol=1e-13)
    assert "1/N" in words


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directions", "words"),
    [
        (np.eye(4)[:, :2], ["directions", "(4, 2)"]),
        (2.0 * np.eye(4)[:, :3], ["orthonormal"]),
        (np.full((4, 3), np.nan), ["directions", "NaN"]),
    ],
)
def test_bad_directions_are_refused(directions, words):
    with refused(*words):
        ZeroChain(3, 4, directions)
