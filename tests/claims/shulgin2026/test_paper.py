"""MARS: exact mean squares of its gradients, the steps of both schedules, and the faults."""

import numpy as np
import pytest

from pfbench.claims.shulgin2026 import scaled_correction as paper
from pfbench.verification.statements.setting import ParameterNamespace

pytestmark = pytest.mark.claims


def mean_square(c, parameters, **changed):
    """Return the mean over t of E f'(x_t)^2 on L x^2/2, by the recursion of second moments."""
    a, L = ParameterNamespace(**parameters | changed), c.L_f
    start = np.sqrt(2.0 * c.delta / L) * np.array([1.0, L])
    moments = np.outer(start, start)
    moments[1, 1] += c.sigma2 / a.snapshot
    kept = 1.0 - a.alpha
    step = [
        [1.0, -a.step],
        [a.alpha * L, kept * (1.0 - a.gamma * L * a.step) - a.alpha * L * a.step],
    ]
    squares = []
    for _ in range(a.iterations):
        squares.append(L**2 * moments[0, 0])
        moments = np.array(step) @ moments @ np.transpose(step)
        moments[1, 1] += a.alpha**2 * c.sigma2
    return np.mean(squares)


def exact_ratios(schedule, bound, begin, sigma, **changed):
    """Return the exact ratio to the bound for each gamma; a function changes a parameter."""
    problem = paper.make_noisy_parabola(begin, sigma)
    c, ratios = problem.constants(problem.start()), []
    for gamma in paper.GAMMAS:
        parameters = schedule(c, gamma=gamma)
        values = {name: change(parameters[name]) for name, change in changed.items()}
        most = bound(c, ParameterNamespace(**parameters))
        ratios.append(mean_square(c, parameters, **values) / most)
    return ratios


@pytest.mark.parametrize(
    ("changed", "ratios"),
    [({}, (0.2679, 0.3142, 0.4574)), ({"step": lambda eta: eta / 8.0}, (1.6791, 1.8260, 2.2886))],
    ids=["right", "eta/8"],
)
def test_ratios_of_the_corollary(changed, ratios):
    found = exact_ratios(paper.corollary_parameters, paper.bound_of_corollary, 1.0, 0.2, **changed)
    assert found == pytest.approx(ratios, abs=1e-4)


@pytest.mark.parametrize(
    ("begin", "sigma", "changed", "ratios"),
    [
        (3.0, 0.3, {}, (0.4027, 0.4027, 0.4027)),
        (0.3, 3.0, {}, (0.1119, 0.1337, 0.1679)),
        (0.3, 3.0, {"snapshot": lambda first: 1}, (3.1440, 4.5577, 6.4265)),
    ],
    ids=["no average", "right", "first batch of one"],
)
def test_ratios_of_the_theorem(begin, sigma, changed, ratios):
    found = exact_ratios(paper.theorem_parameters, paper.bound_of_theorem, begin, sigma, **changed)
    assert found == pytest.approx(ratios, abs=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9])
def test_the_schedules_are_those_of_any_delta(gamma):
    """With delta = |gamma-1| L, as printed: sums of terms that the claim's formulas gather."""
    L, D, s2, T, beta = 2.0, 1.5, 0.7, 400.0, 0.3
    delta = abs(gamma - 1.0) * L
    v = abs(gamma - 1.0) * L * D / (s2 * T)
    weight = np.sqrt(v) + 2 ** (-1 / 3) * (delta * D / (s2 * T)) ** (2 / 3)
    assert paper.corollary_weight(T, L, D, s2, gamma) == pytest.approx(weight)
    step = 1.0 / (L + abs(gamma - 1.0) * L / beta + np.sqrt(2.0) * delta / np.sqrt(beta))
    assert paper.corollary_step(L, beta, gamma) == pytest.approx(step)
    a = ((1 - beta) ** 3 * (gamma - 1) ** 2 * L**2 / beta + 2 * (1 - beta) ** 2 * delta**2) / beta
    assert paper.theorem_step(L, beta, gamma) == pytest.approx(1.0 / (L + np.sqrt(a)))
    s = np.sqrt(s2)
    bound = 2 * L * D / T + 4 * s * np.sqrt(abs(gamma - 1) * L * D) / np.sqrt(T)
    bound += 3 * 2 ** (2 / 3) * (delta * D * s) ** (2 / 3) / T ** (2 / 3) + s2 / T
    assert paper.corollary_bound(T, L, D, s2, gamma) == pytest.approx(bound)
