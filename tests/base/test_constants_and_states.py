"""Constants that are not stated, declared outputs, and the family of errors."""

import math

import pytest
from helpers import assert_one_sentence

from pfbench.base import errors
from pfbench.base.constants import MEANING, Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.state import State, check_output_rule


@pytest.mark.parametrize("name", [name for name in MEANING if name != "n"])
def test_a_constant_that_is_not_stated_is_refused_by_name(name):
    constants = Constants(n=3)
    assert getattr(constants, name) == math.inf
    with pytest.raises(RefusedError) as error:
        constants.require(name, "the schedule of x")
    assert_one_sentence(error, name, "the schedule of x", "explicitly")
    assert Constants(n=3, **{name: 2}).require(name, "x") == 2.0


def test_the_papers_single_l_is_at_least_what_its_proofs_use():
    assert Constants(n=3, L_f=1.0, L_ms=2.0, L_max=9.0).L == 2.0
    assert Constants(n=3, L_f=3.0, L_ms=2.0).L == 3.0


def test_a_state_needs_only_its_point():
    assert State(1.0) == (1.0, None, None, None, None)


@pytest.mark.parametrize("bad", ["lst", None, 3, ["last"]])
def test_a_bad_output_is_refused_in_one_sentence(bad):
    assert check_output_rule("last") == "last"
    with pytest.raises(InputError) as error:
        check_output_rule(bad)
    assert_one_sentence(error, "output=", "last, uniform")


def test_everything_that_can_go_wrong_is_a_pfbench_error_except_what_must_not_be_swallowed():
    for name in (
        "InputError",
        "DataError",
        "RefusedError",
        "StorageError",
        "StalePoint",
        "DivergedError",
    ):
        assert issubclass(getattr(errors, name), errors.PfbenchError)
    for name in ("BudgetExhausted", "TimeLimitReached"):
        assert not issubclass(getattr(errors, name), Exception)
