"""Lists of polynomials in use, and steps by layers: numbers that are attained, and faults."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.amsel2025 import polar_express as paper
from pfbench.claims.layers import joint_smoothness, norms_of_layers
from pfbench.problems.two_layer import TwoLayerNetwork
from pfbench.sets.catalogue import layer_norm_ball
from pfbench.sets.orthogonalisers import PRESETS, map_singular_values
from pfbench.sets.whole_space import WholeSpace

pytestmark = pytest.mark.claims


def grid(low, high=1.0):
    """Return points of [low, high], dense at both ends."""
    both = np.geomspace(low, high, 20_001), np.linspace(low, high, 20_001)
    return np.unique(np.concatenate(both))


def largest_error(triples, low):
    return np.abs(1 - map_singular_values([*triples], grid(low))).max()


def greedy(low, steps, q=2):
    return paper.make_polar_express(low, steps, q).norm.coefficients


@pytest.mark.parametrize(("low", "high"), [(0.1, 1.0), (0.5, 1.5), (0.98, 1.02)])
def test_the_best_cubic_has_the_closed_form_of_the_paper(low, high):
    alpha = np.sqrt(3 / (high**2 + low * high + low**2))
    beta = 4 / (2 + low * high * (low + high) * alpha**3)
    expected = (1.5 * beta * alpha, -0.5 * beta * alpha**3, 0.0)
    assert paper.best_odd_quintic_coefficients(low, high, 1) == pytest.approx(expected)


def test_the_errors_of_one_to_six_steps_and_their_bounds():
    errors = [largest_error(greedy(1e-3, T), 1e-3) for T in range(1, 7)]
    assert errors == pytest.approx([0.992, 0.965, 0.860, 0.546, 0.113, 9e-4], rel=0.02)
    assert errors[0] / paper.polar_distance_bound(1e-3, 1, 2) == pytest.approx(0.9915, abs=1e-4)
    assert largest_error(greedy(0.9, 1, 1), 0.9) == pytest.approx(0.00208, abs=5e-6)


@pytest.mark.parametrize(
    ("low", "steps", "q"), [(0.5, 1, 2), (0.1, 3, 2), (1e-3, 4, 2), (0.1, 3, 1)]
)
def test_no_other_list_near_by_has_a_smaller_error(low, steps, q):
    triples, rng = np.array(greedy(low, steps, q)), np.random.default_rng(0)
    least = largest_error(triples, low)
    assert least == pytest.approx(1 - map_singular_values([*triples], np.array(low)))
    for size in (1e-1, 1e-3, 1e-5):
        for _ in range(20):
            other = triples * (1 + size * rng.uniform(-1, 1, triples.shape))
            assert largest_error(other, low) >= least * (1 - 1e-12)


@pytest.mark.parametrize(
    ("name", "least", "slope"),
    [
        ("jordan", 0.6964, 484.9),
        ("polar-express-5", 0.8747, 966.6),
        ("polar-express-6", 0.9981, 1810),
        ("modded-nanogpt", 0.8620, 970.1),
        ("optax-dion", 0.9783, 492.7),
        ("deepseek-v4", 1.0, 79263),
        ("newton-schulz", 1.0, 23.2),
    ],
)
def test_the_factor_of_a_singular_value_lies_between(name, least, slope):
    """The least ratio phi(s)/s, and phi'(0), which is the product of all a."""
    s = np.geomspace(1e-9, 1.0, 400_001)
    assert (map_singular_values(PRESETS[name], s) / s).min() == pytest.approx(least, abs=1e-4)
    assert np.prod([a for a, _, _ in PRESETS[name]]) == pytest.approx(slope, rel=2e-3)


# --- layers ---------------------------------------------------------------------------------------


def test_omega_of_the_sum_is_attained_at_rank_one():
    ball = norms_of_layers.make_layers("sum", "exact").norm
    assert ball.omega == pytest.approx(3.6609, abs=5e-5)
    points = norms_of_layers.extreme_and_random_points(np.random.default_rng(0), 0)
    assert max(ball.norm(x) / np.linalg.norm(x) for x in points) == pytest.approx(ball.omega)


def test_the_joint_smoothness_of_the_positive_quadratic():
    problem = joint_smoothness.make_positive()
    assert problem.constants(problem.start()).L_norm == pytest.approx(85.25, abs=0.01)
    own = joint_smoothness.FaultySmoothnessWithoutLayerPairs(problem).smoothness_in_norm(
        problem.norm
    )[0]
    assert own == pytest.approx(68.20, abs=0.01)


def test_own_steps_multiply_f():
    evidence = joint_smoothness.check_value_growth_by_layer_steps(trial(joint_smoothness.OWN_STEPS))
    assert [round(factor, 9) for factor in evidence.decision.measured.values()] == [1.0, 4.0, 16.0]


def test_the_slope_in_one_layer_depends_on_the_other():
    slopes = [joint_smoothness.make_network(W_2) for W_2 in (0.7, 1.7)]
    first, second = (float(p.gradient(p.start())[0]) for p in slopes)
    assert (round(first, 4), round(second, 3)) == (0.0025, 0.459)


def test_the_smoothness_of_the_network_of_the_specification():
    rng = np.random.default_rng(0)
    rng.standard_normal((11, 4, 6)), rng.permutation(4), rng.permutation(6)
    rng.standard_normal(16), rng.standard_normal(36)
    features = rng.standard_normal((40, 4)) / 2
    targets = np.tanh(features @ rng.standard_normal((4, 1)))
    network = TwoLayerNetwork(
        features=features,
        targets=targets,
        hidden=3,
        set=WholeSpace(15),
        begin=np.zeros(15),
        domain=1.5,
    )
    L = network.layerwise_smoothness_bound(layer_norm_ball("spectral", network.blocks), 1.5)
    assert pytest.approx(20.2, abs=0.05) == L


def test_the_narrow_network_attains_its_smoothness():
    evidence = joint_smoothness.check_network(trial(joint_smoothness.NETWORK))
    ratios = [share for name, share in evidence.decision.measured.items() if "narrow" in name]
    assert max(share for share in ratios if share <= 1.0) == pytest.approx(0.9955, abs=1e-3)
