"""Components drawn by their L_i: all batches of two among four are enumerated, to 1e-12."""

from itertools import product

import numpy as np
import pytest
from helpers import assert_one_sentence, tiny_logistic

from pfbench.base.errors import InputError
from pfbench.estimators import SPIDERG
from pfbench.oracles import Ledger, Oracles
from pfbench.points import combine, keep
from pfbench.verification.instruments.enumerated_random import enumerate_draws
from pfbench.verification.replay.draw_streams import map_to_uniform_indices
from pfbench.verification.replay.indices import find_first_rejection_and_p_value

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
