"""Local linear minimisation against its optimality condition, and against projected steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from pfbench.base.errors import InputError
from pfbench.sets import Box, L1Ball, L2Ball, Simplex
from pfbench.sets.body import minimise_locally
from pfbench.sets.whole_space import WholeSpace

SETS = [Box(4), L1Ball(4), L2Ball(4), Simplex(4)]


def least_product(domain, x, g, radius, z):
    """Return a lower bound of <g, y - z> over the y of the set with |y - x| <= radius.

    For each m >= 0 it is the minimum over the set of <g + m (z - x), y - z>, plus m times
    (|z - x|^2 - radius |z - x|), since <z - x, y - x> <= radius |z - x|.
    """
    d = z - x
    length = np.linalg.norm(d)

    def bound(m):
        h = g + m * d
        return h @ (domain.lo(h) - z) + m * (length**2 - radius * length)

    # The bound is concave in m, and best for m = 1/tau, at most |g|/|z - x|.
    if length < 1e-9:  # x is a minimiser
        return bound(0.0)
    upper = 1.1 * np.linalg.norm(g) / length
    best = minimize_scalar(
        lambda m: -bound(m), bounds=(0.0, upper), method="bounded", options={"xatol": 1e-12}
    )
    return max(bound(0.0), bound(best.x), *map(bound, upper * np.geomspace(1e-9, 1.0, 50)))


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)
@given(seed=st.integers(0, 10**6), radius=st.floats(1e-3, 4.0))
def test_it_is_optimal_and_within_the_radius(domain, seed, radius):
    rng = np.random.default_rng(seed)
    x, g = domain.project(rng.standard_normal(4)), rng.standard_normal(4)
    z = minimise_locally(domain, x, g, radius)
    assert np.linalg.norm(z - x) <= radius * (1 + 1e-12)
    assert np.linalg.norm(domain.project(z) - z) <= 1e-12
    assert least_product(domain, x, g, radius, z) >= -1e-4 * np.linalg.norm(g)


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.01, 10.0))
def test_a_projected_step_is_a_local_one(domain, seed, tau):
    rng = np.random.default_rng(seed)
    x, g = domain.project(rng.standard_normal(4)), rng.standard_normal(4)
    y = domain.project(x - tau * g)
    z = minimise_locally(domain, x, g, float(np.linalg.norm(y - x)))
    assert g @ z == pytest.approx(g @ y, abs=1e-9 * np.linalg.norm(g))


def test_without_a_set_it_is_a_normalised_step():
    for size in (1.0, 1e200, 1e-200):
        z = minimise_locally(WholeSpace(2), np.array([1.0, 0.0]), size * np.array([3.0, 4.0]), 0.5)
        assert z == pytest.approx([0.7, -0.4], abs=1e-12)


def test_a_large_radius_gives_a_minimiser_over_the_set():
    x, g = np.full(4, 0.25), np.array([0.0, 2.0, -1.0, 0.5])
    assert minimise_locally(Simplex(4), x, g, 10.0) == pytest.approx([0.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("radius", [-1.0, float("nan")])
def test_a_bad_radius_is_refused(radius):
    with pytest.raises(InputError, match="radius"):
        minimise_locally(L2Ball(2), np.zeros(2), np.ones(2), radius)


def test_no_radius_or_no_slope_moves_nothing():
    x = np.array([0.3, 0.0])
    assert np.array_equal(minimise_locally(L2Ball(2), x, np.ones(2), 0.0), x)
    assert np.array_equal(minimise_locally(L2Ball(2), x, np.zeros(2), 1.0), x)
