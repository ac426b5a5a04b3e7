"""What is no such thing at all: told in one finding, never raised."""

import sys

import numpy as np
import pytest
from checking.faulty_problems import Ridge

import pfbench as pf
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.checking import check
from pfbench.estimators import Estimator
from pfbench.sets import L1Ball


def ball(**methods):
    return type("Ball", (L1Ball,), methods)(4, 2.0)


def ridge(**parts):
    return type("Mine", (Ridge,), parts)()


def method(run, **parts):
    told = dict.fromkeys(("name", "summary", "source", "counts"), "mine")
    return type("Mine", (pf.Algorithm,), {**told, "requires": frozenset(), "run": run, **parts})


def estimator(start):
    return type("Mine", (Estimator,), {"name": "mine", "source": "", "start": start})


def raises(*given):
    raise ValueError("\x1b[2J no good")


def leaves(*given):
    sys.exit(3)
    yield


def recurses(self, ask, x, rng):
    yield from recurses(self, ask, x, rng)


STRANGE = {
    "nothing inside": (ball(contains=lambda self, x, tolerance=0.0: False), "start", "is False"),
    "no tolerance": (ball(contains=lambda self, x: True), "start", "positional arguments"),
    "raises": (ball(lo=raises), "lo answers", "it raised ValueError"),
    "list": (ball(lo=lambda self, g: [0.0] * 4), "lo answers", "a list"),
    "None": (ball(lo=lambda self, g: None), "lo answers", "None"),
    "integers": (ball(lo=lambda self, g: np.eye(4, dtype=int)[0]), "lo answers", "int64"),
    "shape": (ball(lo=lambda self, g: np.zeros(3)), "lo answers", "shape (3,)"),
    "gradient list": (
        ridge(gradient=lambda self, x: Ridge.gradient(self, x).tolist()),
        "it declares what a problem needs",
        "gradient(start) of own is a list",
    ),
    "value array": (
        ridge(value=lambda self, x: np.zeros(2)),
        "it declares what a problem needs",
        "must be a number",
    ),
    "constants raise": (ridge(constants=raises), "it declares what a problem needs", "no good"),
    "constants NaN": (
        ridge(constants=lambda self, start: Constants(n=7, L_f=np.nan)),
        "constants",
        "nan",
    ),
    "exits": (method(leaves), "it runs", "SystemExit"),
    "recursion": (method(recurses), "it runs", "RecursionError"),
    "no parameters": (method(leaves, __post_init__=raises), "it can be instantiated", "no good"),
    "a text": (method(leaves, requires="gradient"), "it declares what it is", "frozenset"),
    "no function": (estimator(lambda self, ask, rng: 3), "it estimates gradients", "callable"),
    "a number": (
        estimator(lambda self, ask, rng: lambda x: 3.0),
        "it estimates gradients",
        "shape ()",
    ),
}


@pytest.mark.parametrize(("what", "where", "words"), STRANGE.values(), ids=STRANGE)
def test_it_is_one_finding(what, where, words):
    report = check(what)
    (result,) = report.failures
    assert (result.check, result is report.findings[-1]) == (where, True)
    assert words in result.observed
    assert "\x1b" not in str(report)


def test_a_value_of_one_entry_is_a_number():
    assert check(ridge(value=lambda self, x: np.array([Ridge.value(self, x)]))).is_passed


@pytest.mark.parametrize(
    "what", [3, None, np, lambda: 3], ids=["number", "None", "module", "function"]
)
def test_what_is_none_of_them_is_refused(what):
    with pytest.raises(InputError, match="no kind that can be checked"):
        check(what)
