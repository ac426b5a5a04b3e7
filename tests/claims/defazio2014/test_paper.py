"""SAGA with weights: means, worst states, and radii of its steps, against definitions."""

import numpy as np
import pytest
from judging import trial

import pfbench as pf
from pfbench.claims.catalogue import MUTANTS
from pfbench.claims.defazio2014 import saga_with_weights as paper
from pfbench.verification.instruments.weighted_rows import WeightedRows
from pfbench.verification.trial import Trial

pytestmark = pytest.mark.claims


def faulty(claim, name):
    """Return a trial of a claim on a planted fault."""
    return Trial(claim, MUTANTS[name].subject)


def four_rows(rng, weight):
    """Return rows of curvatures 1 to 4 with random centres, and a state of SAGA."""
    rows = WeightedRows(np.arange(1.0, 5.0), rng.standard_normal(4), np.append(np.ones(3), weight))
    return rows, np.append(0.7, rng.standard_normal(4))


def test_rows_have_the_sum_that_they_state():
    rows, z = four_rows(np.random.default_rng(1), 5.0)
    a, c, w = rows.curvatures, rows.centres, rows.weights
    x = z[:1]
    assert rows.value(x) == pytest.approx((w * a * (x - c) ** 2).sum() / 2 / w.sum())
    assert rows.gradient(x)[0] == pytest.approx((w * a * (x - c)).sum() / w.sum())
    assert rows.component(3, x)[0] == pytest.approx(4 * 5.0 / 8.0 * a[3] * (x[0] - c[3]))
    table = rows.table(x)
    table.replace(np.array([2]), np.array([5.0]))
    stored = [rows.component(i, np.array([5.0]) if i == 2 else x) for i in range(4)]
    assert table.mean == pytest.approx(np.mean(stored))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (None, 0.0),
        ("saga-weights-twice", -2.5),
        ("saga-as-sag", 0.45),
        ("saga-mean-without-weights", None),
        ("saga-change-twice", None),
    ],
)
def test_the_mean_error_of_an_estimate_with_a_weight_of_five(fault, error):
    test = faulty(paper.UNBIASED, fault) if fault else trial(paper.UNBIASED)
    measured = paper.gradient_estimate_bias(test, *four_rows(np.random.default_rng(0), 5.0))
    if error is None:
        assert abs(measured) > 0.1
    else:
        assert measured == pytest.approx(error, abs=0.05 if fault else 1e-12)


def source_step_maps(h, gamma):
    """Return the maps of SAGA's step where the drawn entry is replaced, as in the source."""
    n = len(h)
    for i in range(n):
        B = np.eye(n + 1)
        B[0, 1:] -= gamma * h / n
        B[0, 0] -= gamma * h[i]
        B[0, 1 + i] += gamma * h[i]
        B[1 + i] = np.eye(n + 1)[0]
        yield B


@pytest.mark.parametrize(
    ("n", "mu", "ratio"), [(2, 0.001, 0.90303), (5, 0.1, 0.96912), (5, 0.9, 0.99820)]
)
def test_theorem_1_is_the_same_for_one_draw_and_for_two(n, mu, ratio):
    problem = paper.make_first_row(n, mu)
    h = problem.component_smoothness()
    gamma = paper.saga_step_size(n, 1.0, mu)
    V = np.diag(np.append(1 / (2 * n * gamma * (1 - gamma * mu)), h / (2 * n)))
    mean = sum(B.T @ V @ B for B in source_step_maps(h, gamma)) / n
    worst = np.linalg.eigvals(np.linalg.solve(V, mean)).real.max() / (1 - gamma * mu)
    assert worst == pytest.approx(ratio, abs=1e-5)
    assert paper.max_energy_ratio(trial(paper.THEOREM), problem) == pytest.approx(worst)


class OneDraw(pf.Algorithm):
    """SAGA of the source: the entry of the drawn component is replaced."""

    name = "one-draw"
    source = "Defazio, Bach, Lacoste-Julien 2014"
    requires = frozenset({"table", "smooth"})

    def __init__(self, step, **rest):
        self.step = step

    def run(self, ask, x, rng):
        table, i = ask.table(x), rng.integers(ask.n, size=1)
        mean = table.mean
        g = mean + table.replace(i, x)
        yield pf.State(x - self.step * g, x, g)


RADII = {
    None: {1.0: 0.914, 3.0: 0.895, 5.0: 0.897, 10.0: 0.902, 50.0: 0.914},
    OneDraw: {1.0: 0.921, 3.0: 0.906, 5.0: 0.917, 10.0: 0.936, 50.0: 0.959},
}
"""Mean-square radii with the step 1/(2 max w_i L_i), by method and weight."""

WITHOUT_WEIGHTS = {
    None: {1.0: 0.914, 3.0: 0.948, 5.0: 1.057, 10.0: 2.463, 50.0: 72.90},
    OneDraw: {1.0: 0.921, 3.0: 0.991, 5.0: 1.301, 10.0: 3.437, 50.0: 77.73},
}
"""The same with the step 1/(2 max L_i)."""


@pytest.mark.parametrize("method", [None, OneDraw], ids=["two draws", "one draw"])
@pytest.mark.parametrize(
    "weight", [1.0, *(pytest.param(one, marks=pytest.mark.long) for one in (5.0, 50.0))]
)
def test_radii_with_and_without_weights(method, weight):
    problem = paper.make_first_row(8, 1.0, weight)
    oracles = MUTANTS["saga-step-without-weights"].subject.oracles
    for radii, wrap in ((RADII, None), (WITHOUT_WEIGHTS, oracles)):
        test = Trial(paper.HEAVY, type(MUTANTS["saga-step-without-weights"].subject)(method, wrap))
        radius = paper.second_moment_spectral_radius(test, problem)
        assert radius == pytest.approx(radii[method][weight], rel=1e-3)
