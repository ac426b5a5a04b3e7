"""Schedules beside what is printed: rounded, refused, and failing where they should not."""

import math
from dataclasses import dataclass
from typing import Any

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import InputError, RefusedError
from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import ClaimBroken, NotTestable, Subject, Trial

CLAIM = CLAIMS["methods-schedule-prox-gd"]
"""Of T = 2 L h0/epsilon^2 - 1, real numbers above and below 1."""


@dataclass
class Descent:
    """A method of somebody's, which rounds T by itself."""

    iterations: int
    step: float

    @staticmethod
    def rounded(T: float) -> int:
        return max(1, int(T))

    @classmethod
    def theory(cls, epsilon: float, constants: Any) -> Any:
        T = 2.0 * constants.L_f * constants.delta / epsilon**2 - 1.0
        return cls(cls.rounded(T), 1.0 / constants.L_f)


class AtLeastTwo(Descent):
    """Never takes less than two steps."""

    rounded = staticmethod(lambda T: max(2, int(T)))


def failing(error: Exception, below: float) -> type:
    """Return one whose schedule fails where T is below a number."""

    class Failing(Descent):
        @staticmethod
        def rounded(T: float) -> int:
            if below > T:
                raise error
            return int(T)

    return Failing


def verdict(algorithm):
    return CLAIM.check(Trial(CLAIM, Subject(algorithm))).decision.verdict


def test_a_real_number_may_be_rounded_either_way_and_1_is_not_2():
    assert verdict(Descent) == "holds"
    assert verdict(AtLeastTwo) == "violated"


def test_an_accuracy_may_be_refused_as_out_of_range():
    assert verdict(failing(RefusedError("no"), below=1.0)) == "holds"


def test_a_schedule_that_fails_for_some_accuracies_is_broken():
    for error in (InputError("no"), ValueError("no"), ZeroDivisionError("no")):
        with pytest.raises(ClaimBroken, match="raises: no"):
            verdict(failing(error, below=1.0))


def test_a_schedule_that_refuses_everything_cannot_be_tested():
    for error in (InputError("no"), RefusedError("no"), NotImplementedError("no")):
        with pytest.raises(NotTestable, match="raises: no"):
            verdict(failing(error, below=1e99))
    with pytest.raises(ClaimBroken, match="raises: no"):
        verdict(failing(TypeError("no"), below=1e99))


def test_a_schedule_with_parameters_that_its_method_refuses_is_broken():
    class Narrow(Descent):
        def __init__(self, iterations, step):
            raise InputError("no: iterations must be at least 10")

    with pytest.raises(ClaimBroken, match="raises: no"):
        verdict(Narrow)


def test_a_root_of_a_negative_number_refuses_nothing():
    with pytest.raises(ValueError, match=r".") as found:
        math.sqrt(-1.0)
    for error in (found.value, ValueError("math domain error")):
        with pytest.raises(ClaimBroken, match="raises: "):
            verdict(failing(error, below=1e99))


def test_a_method_need_not_have_the_form_that_a_parameter_selects():
    claim = CLAIMS["methods-schedule-spider-fw"]
    theory = ALGORITHMS["spider-fw"].theory

    @dataclass
    class Uniform:
        iterations: int
        step: float
        batch: int
        period: int
        factor = 1.0

        @classmethod
        def theory(cls, epsilon: float, constants: Any) -> Any:
            own = theory(epsilon, constants)
            return cls(own.iterations, cls.factor * own.step, own.batch, own.period)

    class Halved(Uniform):
        factor = 0.5

    found = claim.check(Trial(claim, Subject(Uniform))).decision
    assert (found.verdict, found.reason.endswith("Not compared: sampling.")) == ("holds", True)
    assert claim.check(Trial(claim, Subject(Halved))).decision.verdict == "violated"
