"""The plugin in somebody's own test file, in a pytest of its own."""

import re
import shutil
from pathlib import Path

import pytest
from inner_pytest import run_pytest

TESTS = """
import pytest
from own_methods import DividedByN, MySpider

CLAIM = "shen2019-unbiased-spiderg"


@pytest.mark.claims
def test_right(holds):
    assert holds(CLAIM, MySpider).verdict == "holds"


@pytest.mark.claims
def test_wrong(holds):
    holds(CLAIM, DividedByN)


def test_unknown_claim(holds):
    holds("shen2019-unbiased-spidreg", MySpider)


def test_something_else():
    pass
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """The output of that pytest."""
    folder = tmp_path_factory.mktemp("somebody")
    shutil.copy(Path(__file__).parent.parent / "claims" / "own_methods.py", folder)
    (folder / "test_mine.py").write_text(TESTS)
    return run_pytest(folder, "-rA", "--strict-markers")


def test_a_right_method_passes(outcome):
    assert "PASSED test_mine.py::test_right" in outcome


def test_a_wrong_method_fails_with_the_reason_and_without_a_traceback(outcome):
    assert "FAILED test_mine.py::test_wrong" in outcome
    line = r"shen2019-unbiased-spiderg: violated · \S+ times the bound · T <= \d+, n <= \d+, d <= "
    assert re.search(rf"{line}\d+: A conditional mean is off", outcome), outcome
    assert "Traceback" not in outcome


def test_an_unknown_claim_suggests_the_nearest(outcome):
    assert "did you mean 'shen2019-unbiased-spiderg'" in outcome


def test_other_tests_are_left_alone(outcome):
    assert "PASSED test_mine.py::test_something_else" in outcome
