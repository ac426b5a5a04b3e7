"""NaN passes no check: each comparison with it is decided against it."""

import math

import numpy as np
import pytest
from checking.faulty_problems import Ridge, RidgeHessian
from judging import judge

import pfbench as pf
from pfbench.algorithms.proximal import SmoothSVRG
from pfbench.base.arrays import maximum_nan_as_infinity
from pfbench.claims.catalogue import CLAIMS
from pfbench.sets import L1Penalty, L2Ball
from pfbench.verification import Subject


def spoiled(array):
    array = np.array(array)
    array.flat[0] = math.nan
    return array


class Value(Ridge):
    def value(self, x):
        return math.nan if x[0] > 0.2 else super().value(x)


class Product(RidgeHessian):
    def product(self, x, y):
        return spoiled(super().product(x, y))


class Hessian(Ridge):
    def hessian(self, s):
        return Product(self)


class Smoothness(Ridge):
    def component_smoothness(self):
        return spoiled(super().component_smoothness())

    def constants(self, start):
        return Ridge().constants(start)


class Long(L2Ball):
    max_norm = math.nan


class Prox(L1Penalty):
    def prox(self, y, t):
        return spoiled(super().prox(y, t)) if y.flat[0] > 0.2 else super().prox(y, t)


WRONG = {
    "gradient": Value(),
    "hessian": Hessian(),
    "constant L_mean": Smoothness(),
    "diameter": Long(4),
    "proximal map": Prox(0.3),
}


@pytest.mark.parametrize("name", WRONG)
def test_nan_of_users_fails_the_check_that_meets_it(name):
    assert name in [result.check for result in pf.check(WRONG[name]).failures]


def test_the_largest_of_some_numbers_does_not_lose_nan():
    assert (
        maximum_nan_as_infinity(0.0, math.nan) == maximum_nan_as_infinity(math.nan, 0.0) == math.inf
    )
    assert maximum_nan_as_infinity(0.0, 2.0, -math.inf) == 2.0


class Tells(SmoothSVRG):
    """SVRG that yields a part of one State with NaN, and goes on without."""

    part = "estimate"

    def run(self, ask, x, rng):
        for t, state in enumerate(super().run(ask, x, rng)):
            yield state._replace(**{self.part: spoiled(getattr(state, self.part))} if t else {})


class TellsAt(Tells):
    part = "at"


@pytest.mark.parametrize("kind", [Tells, TellsAt])
def test_nan_in_a_part_of_a_state_is_violated(kind):
    found = judge(CLAIMS["methods-run-svrg"], Subject(kind))
    assert found.verdict == "violated"
    assert f"State.{kind.part} is not finite" in found.reason
