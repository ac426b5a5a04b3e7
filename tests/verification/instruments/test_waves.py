import numpy as np
import pytest

from pfbench.verification.instruments import waves

PROBLEMS = [waves.on_space, waves.on_ball, waves.on_octahedron, waves.with_penalty]


@pytest.mark.parametrize("build", PROBLEMS)
def test_gradients_and_hessians_are_those_of_the_values(build):
    problem = build()
    x, step = problem.start() * 0.7, 1e-5
    sides = [(x + step * e, x - step * e) for e in np.eye(3)]
    slopes = [(problem.value(a) - problem.value(b)) / (2 * step) for a, b in sides]
    assert problem.gradient(x) == pytest.approx(slopes, abs=1e-8)
    bends = [(problem.components(a) - problem.components(b)) / (2 * step) for a, b in sides]
    assert problem.curvatures(x) == pytest.approx(np.moveaxis(bends, 0, 2), abs=1e-8)
    assert problem.set.contains(problem.start())


def test_oracles_are_means_of_components():
    problem = waves.on_ball(4)
    x, y, S = problem.start(), 0.3 * problem.start(), np.array([0, 2, 2])
    each = problem.components(x)
    assert problem.gradient(x) == pytest.approx(each.mean(axis=0))
    assert problem.batch(S, x) == pytest.approx(each[S].mean(axis=0))
    H, products = problem.hessian(x), problem.curvatures(x) @ (x - y)
    assert H.product(x, y) == pytest.approx(products.mean(axis=0))
    assert H.batch(S, x, y) == pytest.approx(products[S].mean(axis=0))


def test_no_two_components_or_points_are_alike():
    problem = waves.on_space()
    here, there = (problem.components(r * problem.start()) for r in (1.0, 0.9))
    for a, b in ((here[0], here[1]), (here[1], here[2]), (here[0], there[0])):
        assert np.abs(a - b).max() > 0.01
    least = np.linalg.eigvalsh(problem.curvatures(problem.start()).mean(axis=0))[0]
    assert least < 0.0
