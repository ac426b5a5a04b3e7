"""Somebody's own algorithm: claims that it names, conformance where it names none."""

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.base import Algorithm
from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.claims import catalogue
from pfbench.claims.catalogue import algorithm_and_claims
from pfbench.verification.conformance import conform
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject


@pytest.fixture
def mine(monkeypatch, request):
    monkeypatch.syspath_prepend(request.path.parent.parent / "claims")
    import own_methods

    return own_methods


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_of_the_catalogue_conforms(name):
    outcome = conform(ALGORITHMS[name], name)
    assert outcome.passed, outcome.rows()
    assert len(outcome.tests) == 8


@pytest.mark.parametrize(
    ("fault", "words"),
    [("Raises", "I do not work"), ("ReturnsNaN", "not finite"), ("Leaves", "outside the set")],
)
def test_a_fault_fails_its_conformance_test(mine, fault, words):
    outcome = conform(getattr(mine, fault), fault)
    assert not outcome.passed
    assert any(words in test.seen for test in outcome.tests if not test.passed)


def changed(cls, **attributes):
    return type("Changed", (cls,), attributes)


def test_each_conformance_test_can_fail(mine):
    right = mine.MySpider
    assert conform(right, "right").passed

    def silent(self, ask, x, rng):
        yield from ()

    def moves_the_start(self, ask, x, rng):
        x *= 0.5
        yield from right.run(self, ask, x, rng)

    def own_randomness(self, ask, x, rng):
        import numpy as np

        yield from right.run(self, ask, x, np.random.default_rng())

    for fault in (
        {"requires": frozenset({"gradient", "lo"})},
        {"requires": frozenset({"gradients"})},
        {"output": "best"},
        {"deterministic": True},
        {"run": silent},
        {"run": moves_the_start},
        {"run": own_randomness},
    ):
        outcome = conform(changed(right, **fault), "faulty")
        assert not outcome.passed, fault


@pytest.mark.claims
@pytest.mark.parametrize("claim", ["shen2019-mse-spiderg", "shen2019-unbiased-spiderg"])
def test_a_right_method_passes_however_it_draws(mine, claim):
    for right in (mine.MySpider, mine.Unenumerable):
        assert judge(catalogue.claim(claim), Subject(algorithm=right)).verdict in ("holds", "tight")


@pytest.mark.claims
@pytest.mark.parametrize("fault", ["NeverRefreshed", "DividedByN", "UnenumerableQuarter"])
def test_a_planted_error_is_named_violated(mine, fault):
    subject = Subject(algorithm=getattr(mine, fault))
    found = judge(catalogue.claim("shen2019-mse-spiderg"), subject)
    assert found.verdict == "violated"
    assert found.reason


def test_claims_come_from_the_command_line_or_from_the_class(mine):
    reference = "own_methods:MySpider"
    stated = algorithm_and_claims(reference, [])[1]
    assert [claim.name for claim in stated] == list(mine.MySpider.claims)
    given = ["shen2019-count-spiderg"]
    assert [claim.name for claim in algorithm_and_claims(reference, given)[1]] == given
    with pytest.raises(InputError, match="did you mean"):
        algorithm_and_claims(reference, ["shen2019-count-spidreg"])
    with pytest.raises(InputError, match="is no algorithm"):
        algorithm_and_claims("own_methods:Stream", [])


def test_a_method_that_asks_at_a_prefix_is_told_so():
    """Compiled loops would read beyond it."""

    class Short(Algorithm):
        name, summary, source, counts = "short", "", "", ""
        requires = frozenset({"gradient"})

        def run(self, ask, x, rng):
            ask.gradient(x[:2])
            yield State(x)

    seen = {
        name: words for name, passed, words in conform(Short, "Short").rows() if passed != "yes"
    }
    assert "shape (2,)" in seen["it asks only what it requires"]
