"""page, prox-page, lsvrg, zerosarah, storm: against their references, counts, schedules."""

from math import sqrt

import numpy as np
import pytest
from linear_reference import model

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.base.constants import Constants
from pfbench.base.errors import RefusedError
from pfbench.verification.schedule_homogeneity import USUAL

# --- iterates and counts --------------------------------------------------------------------------

STEPS = {"iterations": 17, "step": 0.3, "batch": 3}
COINED = [STEPS | {"refresh": p} for p in (0.3, 1.0)]


def test_storm_has_no_schedule_without_a_bound_of_each_gradient():
    with pytest.raises(RefusedError, match="no theorem sets parameters of storm"):
        ALGORITHMS["storm"].theory(0.1, USUAL[0])


def test_coins_are_the_measure_of_a_run():
    found = pf.solve(model(), pf.algorithm("page", **COINED[0]), measures=("coin",))
    coins = found.trace["coin"].to_numpy()
    assert set(coins[2:]) == {0.0, 1.0}  # the start, and the first estimate, have none
    assert found.counts.fo == 1 + int(np.nansum(coins))


# --- schedules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "expected"), [("page", 9.71), ("zerosarah", 10.25)])
def test_the_leading_cost_is_that_of_sqrt_n(name, expected):
    """E SFO per L h0/epsilon^2, over sqrt n."""
    n = 10**10
    chosen = ALGORITHMS[name].theory(1.0, Constants(n=n, L_f=1.0, L_ms=1.0, delta=1e6))
    b = chosen.batch
    step = 2 * b if name == "zerosarah" else chosen.refresh * n + 2 * b * (1 - chosen.refresh)
    assert chosen.iterations * step / 1e6 / sqrt(n) == pytest.approx(expected, rel=4e-3)


def test_a_table_of_zeros_has_no_schedule():
    with pytest.raises(
        RefusedError, match=r"schedule of zerosarah .*gradients at the start point: leave out"
    ):
        ALGORITHMS["zerosarah"].theory(0.1, USUAL[0], table="zero")
