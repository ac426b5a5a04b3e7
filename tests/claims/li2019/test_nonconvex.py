"""li2019 for non-convex f: its problems."""

import numpy as np
import pytest

from pfbench.claims.li2019.nonconvex import nonconvex_quadratic


@pytest.mark.parametrize("kappa", [5.0, 80.0, 1000.0])
def test_curved_problems_have_the_wanted_condition(kappa):
    c = nonconvex_quadratic(np.random.default_rng(0), kappa).constants(np.zeros(256))
    assert c.L_f / c.sigma_hat == pytest.approx(kappa)
    assert c.ell == pytest.approx(c.L_f)
