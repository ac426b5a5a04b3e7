"""SAGA with weights, and SAG: means, worst states and radii of steps, against definitions."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.catalogue import MUTANTS
from pfbench.claims.defazio2014 import saga_with_weights as paper
from pfbench.claims.schmidt2017 import theorem1
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


@pytest.mark.parametrize(
    ("weight", "radius", "without"),
    [
        (1.0, 0.914, 0.914),
        *(
            pytest.param(*one, marks=pytest.mark.long)
            for one in ((5.0, 0.897, 1.057), (50.0, 0.914, 72.90))
        ),
    ],
)
def test_radii_of_steps_with_and_without_weights(weight, radius, without):
    """Mean-square radii with the steps 1/(2 max w_i L_i) and 1/(2 max L_i)."""
    problem = paper.make_first_row(8, 1.0, weight)
    for test, expected in (
        (trial(paper.HEAVY), radius),
        (faulty(paper.HEAVY, "saga-step-without-weights"), without),
    ):
        found = paper.second_moment_spectral_radius(test, problem)
        assert found == pytest.approx(expected, rel=1e-3)


# --- schmidt2017 ----------------------------------------------------------------------------------


def step_maps(a, gamma):
    """Return the maps of a step on (x, phi): an entry is replaced, then x moves by the mean."""
    n = len(a)
    for i in range(n):
        B = np.eye(n + 1)
        B[1 + i] = np.eye(n + 1)[0]
        mean = np.append(0.0, a / n) @ B
        B[0] -= gamma * mean
        yield B


@pytest.mark.parametrize(("n", "mu", "radius"), [(5, 0.05, 0.940), (5, 0.9, 0.853)])
def test_the_radius_is_that_of_the_definition(n, mu, radius):
    problem = theorem1.make_rows(n, mu)
    a = problem.component_smoothness()
    square = sum(np.kron(B, B) for B in step_maps(a, 1.0 / 16.0)) / n
    expected = np.abs(np.linalg.eigvals(square)).max()
    rate = 1.0 - min(a.mean() / 16.0, 1.0 / (8.0 * n))
    assert expected == pytest.approx(radius, abs=1e-3)
    assert theorem1.spectral_radius_ratio(trial(theorem1.RADIUS), problem) * rate == pytest.approx(
        expected
    )


def test_the_expected_excess_is_that_of_all_draws():
    """E F(x_k) by all 2^k sequences of draws, k <= 8."""
    a, gamma = np.array([1.0, 0.05]), 1.0 / 16.0
    states, ratios = [np.array([1.0, 0.0, 0.0])], []
    bound = a.mean() / 2.0 + 4.0 / 2.0
    for _ in range(8):
        states = [B @ z for z in states for B in step_maps(a, gamma)]
        bound *= 1.0 - min(a.mean() / 16.0, 1.0 / 16.0)
        ratios.append(a.mean() / 2.0 * np.mean([z[0] ** 2 for z in states]) / bound)
    measured = theorem1.max_excess_ratio(trial(theorem1.THEOREM), theorem1.make_rows(2, 0.05))
    assert measured == pytest.approx(max(ratios))
    assert measured == pytest.approx(0.116, abs=1e-3)
