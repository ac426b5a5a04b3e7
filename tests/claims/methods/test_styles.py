"""Methods in the styles of strangers: right ones pass, and faults are caught."""

import pytest
from judging import judge
from own_styles import FAULTS, RIGHT, Floor, RightHalf, SecondHalf

from pfbench.claims.catalogue import CLAIMS
from pfbench.verification.subject import Subject

pytestmark = pytest.mark.claims


def verdict(what, name, algorithm):
    row = judge(CLAIMS[f"methods-{what}-{name}"], Subject(algorithm))
    return row.verdict, row.reason


@pytest.mark.parametrize("what", ["estimate", "steps", "count"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_method_in_another_style_holds(name, what):
    assert verdict(what, name, RIGHT[name])[0] == "holds"


@pytest.mark.parametrize("what", ["estimate", "steps", "count"])
def test_where_draws_cannot_be_enumerated_they_are_sampled(what):
    assert verdict(what, "sfw", Floor)[0] == "holds"


@pytest.mark.parametrize(("name", "fault", "what"), FAULTS)
def test_a_fault_in_another_style_is_caught(name, fault, what):
    found, reason = verdict(what, name, fault)
    assert found == "violated", reason


class Sampled:
    """Draws its output by a uniform number."""

    def first_of(self, T):
        return super().first_of(T)

    def run(self, ask, x, rng):
        rng.normal()
        yield from super().run(ask, x, rng)


def test_the_law_of_an_output_that_cannot_be_enumerated_is_sampled():
    for kind, found in ((RightHalf, "holds"), (SecondHalf, "violated")):
        unscripted = type("Unscripted", (Sampled, kind), {})
        row = judge(CLAIMS["methods-steps-sfw"], Subject(unscripted))
        assert row.verdict == found, row.reason
        assert row.p_value is not None
        assert (row.p_value < 1e-20) == (found == "violated")


class Silent(Floor):
    """Tells no estimate, and minimises nothing."""

    requires = frozenset({"batch", "prox"})

    def run(self, ask, x, rng):
        yield from super().run(Projected(ask), x, rng)


class Projected:
    def __init__(self, ask):
        self.n, self.batch, self._ask = ask.n, ask.batch, ask

    def lo(self, g):
        return self._ask.prox(0.0 * g, g, 1.0)


class Unlike:
    """Has other parameters."""

    def __init__(self, rounds):
        self.rounds = rounds

    def run(self, ask, x, rng):
        yield from ()


@pytest.mark.parametrize(
    ("algorithm", "expected", "words"),
    [(Silent, "inconclusive", "tells no estimate"), (Unlike, "failed", "cannot be made")],
)
@pytest.mark.parametrize("what", ["estimate", "steps"])
def test_what_tells_too_little_is_inconclusive_and_what_cannot_be_made_failed(
    algorithm, expected, words, what
):
    found, reason = verdict(what, "prox-sgd", algorithm)
    assert (found, words in reason) == (expected, True)
