"""Claims about layers: the numbers that are attained, and what each fault measures."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.layers import joint_smoothness, norms_of_layers
from pfbench.problems.two_layer import TwoLayerNetwork
from pfbench.sets.catalogue import layer_norm_ball
from pfbench.sets.whole_space import WholeSpace

pytestmark = pytest.mark.claims


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
