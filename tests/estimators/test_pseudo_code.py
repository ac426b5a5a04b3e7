"""NFWU with each estimator against a second implementation, written from shen2019's pseudo-code.

Plain NumPy on dense arrays, with the gradients and Hessians of `helpers` and full singular value
decompositions; the same random stream, `rng.integers(n, size=S)` once in each sampled iteration.
"""

import numpy as np
import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.estimators import SPIDERG, SVRG
from pfbench.points import combine, keep

NAMES = ["sg", "svrg", "spiderg", "casvrg", "caspiderg"]


def paper(plain, name, T, weight, S, p, rng):
    """Yield (x_t, g_t) of algorithm 1 with GE 1-5, then x_T."""
    x = np.zeros(plain.shape)
    x_before = x_snap = g = g_snap = None
    for t in range(T):
        G = plain.component_gradients(x)
        if name != "sg" and t % p == 0:
            x_snap, g = x, G.mean(axis=0)
            g_snap = g
        else:
            batch = rng.integers(plain.n, size=S)
            if name == "sg":
                g = G[batch].mean(axis=0)
            else:
                y, base = (x_before, g) if "spider" in name else (x_snap, g_snap)
                g = (G - plain.component_gradients(y))[batch].mean(axis=0) + base
                if name.startswith("ca"):
                    U = plain.component_hessian_products(x_snap, x - y)
                    g = g + U.mean(axis=0) - U[batch].mean(axis=0)
        yield x, g
        x_before, x = x, x + weight * (minimiser(plain.embedded(g), plain.problem.set.radius) - x)
    yield x, None


def minimiser(G, radius):
    """Return argmin <G, v> over the nuclear ball (G a matrix) or the l1 ball (G a vector)."""
    if G.ndim == 2:
        U, _, Vt = np.linalg.svd(G)
        return -radius * np.outer(U[:, 0], Vt[0])
    v = np.zeros_like(G)
    k = np.argmax(np.abs(G))
    v[k] = -radius * np.sign(G[k])
    return v


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("S", "p", "weight"), [(3, 4, 0.1), (40, 5, 0.03), (1, 1, 0.2), (2, 7, 1.0)]
)
def test_iterates_and_estimates_equal_the_papers(small, name, S, p, weight):
    T = 15
    parameters = {"iterations": T, "step": weight, "batch": S}
    if name != "sg":
        parameters["period"] = p
    algorithm = ALGORITHMS[f"nfwu-{name}"](**parameters)
    expected = list(paper(small.plain, name, T, weight, S, p, np.random.default_rng(11)))
    states = algorithm.run(small.ask(), small.problem.start(), np.random.default_rng(11))
    for t, state in enumerate(states):
        x, g = expected[t]
        np.testing.assert_allclose(state.estimate, g, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(small.dense(keep(state.at)), x, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            small.dense(keep(state.x)), expected[t + 1][0], rtol=1e-9, atol=1e-9
        )
    assert t == T - 1


@pytest.mark.parametrize("name", NAMES)
def test_an_estimate_is_never_changed_afterwards(small, name):
    parameters = {"iterations": 9, "step": 0.1, "batch": 3} | (
        {} if name == "sg" else {"period": 4}
    )
    algorithm = ALGORITHMS[f"nfwu-{name}"](**parameters)
    states = algorithm.run(small.ask(), small.problem.start(), np.random.default_rng(0))
    yielded = [(state.estimate, state.estimate.copy()) for state in states]
    assert all(np.array_equal(now, then) for now, then in yielded)


@pytest.mark.parametrize("estimator", [SVRG(2, 3), SPIDERG(2, 3)], ids=lambda e: e.name)
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
