"""Bounds on estimates without epochs: they bind, their constants are those of the laws."""

import numpy as np
import pytest
from judging import assert_complete, pairs

from pfbench.claims.relatives import PAPER, smooth

pytestmark = pytest.mark.claims


def test_the_paper_is_complete():
    assert_complete(PAPER)


@pytest.mark.parametrize(("mutant", "claim"), pairs(PAPER.mutants), ids=lambda one: one.name)
def test_a_planted_fault_is_caught(mutant, claim, judgements):
    judgements.assert_caught(mutant, claim)


def test_the_constants_of_the_instance_are_those_it_states():
    problem = smooth.signed()
    c = problem.constants(problem.start())
    assert (c.L_f, c.L_ms) == (pytest.approx(0.3), pytest.approx(np.sqrt(0.09 + 1.0)))
    hessians = [
        np.array([problem.difference(np.array([i]), e, 0 * e) for e in np.eye(4)])
        for i in range(problem.n)
    ]
    mean = np.mean(hessians, axis=0)
    assert np.linalg.eigvalsh(mean)[-1] == pytest.approx(c.L_f)
    squares = np.mean([h @ h for h in hessians], axis=0)
    assert np.sqrt(np.linalg.eigvalsh(squares)[-1]) == pytest.approx(c.L_ms)


@pytest.mark.parametrize("c2", [0.0, 0.7, 1.0, 9.0])
def test_the_sharp_step_is_where_the_lemma_is_an_equality(c2):
    problem = smooth.signed()
    c = problem.constants(problem.start())
    eta = smooth.sharp(c2, c)
    assert eta**2 * c.L_ms**2 * c2 + eta * c.L_f == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["page", "lsvrg"])
def test_the_summed_error_is_at_most_its_share_of_the_steps(name):
    """By the exact second moments: sum E e_t <= c^2 L^2 sum E d_t, over all coordinates."""
    problem = smooth.signed()
    constants = problem.constants(problem.start())
    given = {"page": smooth.of_page, "lsvrg": smooth.of_lsvrg}[name](constants, T=40)
    p, b, eta = given["refresh"], given["batch"], given["step"]
    share = (1 - p) / (p * b) if name == "page" else 2 * (1 - p) * (2 - p) / (p * p * b)
    off, moved, squared = 0.0, 0.0, 0.0
    for a, x0 in zip(np.diag(problem.A), problem.start(), strict=True):
        o, m, s = moments(name, a, x0, p, b, eta, 40)
        off, moved, squared = off + o, moved + m, squared + s
    assert off <= share * constants.L_ms**2 * moved
    bound = smooth.descent(constants, type("Given", (), given))
    expected = {"page": 0.692, "lsvrg": 0.604}[name]
    assert squared / 40 / bound == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("share", "steps", "ratio"),
    [(1, 1, 0.893), (1 / 4, 1, 3.80), (1e-12, 1, 16.6), (1, 0.5 / 0.618, 0.595)],
)
def test_at_the_sharp_step_page_nearly_reaches_its_bound_and_faults_pass_it(share, steps, ratio):
    """Exactly: a coin a quarter as often, and none at all; the last is the step 1/(2L)."""
    problem = smooth.signed()
    constants = problem.constants(problem.start())
    given = smooth.of_page(constants, T=200)
    eta = smooth.sharp(1.0, constants) if steps == 1 else 0.5 / constants.L_ms
    start = zip(np.diag(problem.A), problem.start(), strict=True)
    p, b = share * given["refresh"], given["batch"]
    found = sum(moments("page", a, x, p, b, eta, 200)[2] for a, x in start) / 200
    assert found / (2 * constants.delta / (eta * 200)) == pytest.approx(ratio, rel=5e-3)


def moments(name, a, x, p, b, eta, T):
    """E of the summed squares of errors, steps and gradients, of one coordinate.

    The state z = (x_t, x_{t-1} or w, g_{t-1} or grad f(w)) moves linearly, by a random matrix.
    """
    M = np.outer(z := np.array([x, x, a * x]), z)
    off = moved = squared = 0.0
    for t in range(T):
        q = 1.0 if t == 0 else p
        full = np.array([a, 0.0, 0.0])
        tails, noise = np.array([a, -a, 1.0]), np.array([1.0, -1.0, 0.0])
        error = tails - full
        off += (1 - q) * (error @ M @ error + noise @ M @ noise / b)
        squared += a * a * M[0, 0]
        new = np.zeros((3, 3))
        for chance, g, spread in ((q, full, 0.0), (1 - q, tails, 1.0 / b)):
            step = np.array([1.0, 0.0, 0.0]) - eta * g
            if name == "page" or g is full:
                keep_second, third = np.array([1.0, 0.0, 0.0]), g
            else:
                keep_second, third = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
            A = np.vstack([step, keep_second, third])
            random = np.array([-eta, 0.0, 1.0 if name == "page" else 0.0])
            new += chance * (A @ M @ A.T + spread * np.outer(random, random) * (noise @ M @ noise))
            shift = eta * g
            moved += chance * (shift @ M @ shift + spread * eta**2 * (noise @ M @ noise))
        M = new
    return off, moved, squared
