"""Errata of the proofs of the error laws: shown, and able to fail."""

import pytest
from judging import assert_shown

from pfbench.claims.shen2019.error_law_errata import (
    ERRATA,
    examine_expected_hessian_lipschitz,
    examine_expected_lipschitz,
    examine_mean_value,
    examine_missing_increment,
    examine_second_moment,
)


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_an_erratum_is_shown(erratum):
    assert_shown(erratum)


RIGHT = {
    "shen2019-3.1-moment": set(),
    "shen2019-(7)": {"every component, section 1"},
    "shen2019-(8)": {"every Hessian, section 4.1"},
    "shen2019-4.1-mean-value": set(),
    "shen2019-4.1-one-mean-value": {"a point for each entry", "a bound of norms"},
}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_these_readings_make_the_printed_form_right(erratum):
    found = erratum.examine("quick", 4).readings
    assert {name for name, right in found.items() if right} == RIGHT[erratum.name]


def spread(constants):
    return constants.sigma2


AS_CORRECTED = {
    "(7): the mean-squared L": (examine_expected_lipschitz, {"squared": True}),
    "(8): the mean-squared L2": (examine_expected_hessian_lipschitz, {"squared": True}),
    "3.1: sigma^2": (examine_second_moment, {"printed": spread}),
    "4.1: with x - x~": (examine_missing_increment, {"with_increment": True}),
    "4.1: two cubics share a mean value": (examine_mean_value, {"separable_power": 3.0}),
}


@pytest.mark.parametrize("name", AS_CORRECTED)
def test_the_corrected_statement_is_not_seen_to_fail(name):
    examination, correction = AS_CORRECTED[name]
    found = examination("quick", 1, **correction)
    assert not found.printed_fails
    assert found.corrected_holds
