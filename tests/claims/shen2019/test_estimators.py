"""The laws of errors, and conditional means: of their own, on the methods, and on faults."""

import numpy as np
import pytest
from claims.own_methods import FirstComponents, Stream
from judging import judge
from twisted import AtTheStart, OnePointLate, twisted

import pfbench as pf
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.claims.shen2019.epoch_estimators import METHODS, error_law
from pfbench.claims.shen2019.error_laws import BELOW, FEWEST, LAW, LAWS, MANY
from pfbench.claims.shen2019.unbiased import FAMILY, UNBIASED
from pfbench.verification.subject import Subject

NUMBERS = {"L": 1.7, "L2": 0.6, "sigma2": 2.3}


@pytest.mark.parametrize("j", [1, 2, 7, 30])
def test_laws_are_sums_of_their_increments(j):
    """On a straight path the recursive laws add up what each step costs."""
    eta, S, L, L2 = 0.01, 5, NUMBERS["L"], NUMBERS["L2"]
    steps = range(1, j + 1)
    expected = {
        "sg": 2.3 / S,
        "svrg": (L * j * eta) ** 2 / S,
        "spiderg": sum((L * eta) ** 2 for _ in steps) / S,
        "casvrg": (L2 * (j * eta) ** 2 / 2) ** 2 / S,
        "caspiderg": sum((L2 * eta**2 * (i - 0.5)) ** 2 for i in steps) / S,
    }
    for name, value in expected.items():
        assert error_law(name, j, eta, S, **NUMBERS) == pytest.approx(value)


@pytest.mark.parametrize("estimator", METHODS)
def test_the_exponents_are_those_of_the_laws(estimator):
    """For large j, and any eta."""
    _, in_j, in_eta = LAWS[estimator]
    laws = [error_law(estimator, j, 1e-3, 1.0, **NUMBERS) for j in (1000, 2000)]
    assert np.log2(laws[1] / laws[0]) == pytest.approx(in_j, abs=1e-6)
    laws = [error_law(estimator, 5, eta, 1.0, **NUMBERS) for eta in (1e-3, 2e-3)]
    assert np.log2(laws[1] / laws[0]) == pytest.approx(in_eta)


@pytest.mark.parametrize("estimator", METHODS)
def test_the_instances_attain_the_law_or_stay_below_it(estimator):
    """(h(r) - h(s))^2, or sigma^2, against the law of one step from the snapshot."""
    for problem in (FEWEST[estimator](), MANY[estimator]()):
        constants = problem.constants(problem.start())
        if estimator == "sg":
            assert problem.sigma**2 == constants.sigma2
        else:
            assert problem.h_derivative(0.0) <= constants.L_ms
            assert problem.h_derivative(1e-6) == pytest.approx(1.0, rel=1e-5)
            assert constants.L2_ms == problem.L2 == float(estimator.startswith("ca"))
    below = BELOW[estimator]()
    constants = below.constants(below.start())
    if estimator == "sg":
        assert below.h(below.begin) + below.sigma < np.sqrt(constants.sigma2)
    elif estimator.startswith("ca"):
        assert below.L2 - below.kappa * below.begin < constants.L2_ms
    else:
        assert below.h_derivative(below.begin) < constants.L_ms


@pytest.mark.claims
def test_a_method_that_draws_nothing_breaks_the_law_and_has_no_exponent():
    """Where the first components are all alike its estimates have no error."""
    found = judge(LAW["spiderg"], Subject(FirstComponents))
    assert found.verdict == "violated"
    assert "inequality" in found.reason


# --- conditional means: on the methods, on faults, and where batches cannot be enumerated ---------


def test_the_instance_has_three_components_and_follows_its_generator():
    first, again, other = (FAMILY(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.n == 3
    assert first.digest == again.digest != other.digest


class Shifted(Stream):
    """Never draws the last component, and the first twice as often."""

    def integers(self, n, size):
        return np.maximum(0, super().integers(n, size) - 1)


@pytest.mark.claims
def test_a_sampled_mean_that_is_off_is_violated():
    wrong = judge(UNBIASED["spiderg"], Subject(twisted(NFWUSPIDERG, stream=Shifted)))
    assert wrong.verdict == "violated"
    assert wrong.p_value < 1e-7


class InOrder(Stream):
    """Goes through all components again and again: given the past its batches are not uniform."""

    order = None

    def integers(self, n, size):
        if self.order is None:
            self.order = np.resize(self.rng.permutation(n), 99)
        drawn, self.order = self.order[:size], self.order[size:]
        return drawn


@pytest.mark.claims
@pytest.mark.parametrize("oracles", [AtTheStart, OnePointLate])
def test_a_reference_gradient_at_another_point_is_caught_at_the_snapshots(oracles):
    found = judge(UNBIASED["spiderg"], Subject(twisted(NFWUSPIDERG, oracles)))
    assert found.verdict == "violated"
    assert found.measured["at snapshots"] > 1e-3


@pytest.mark.claims
def test_the_mean_is_that_given_the_past():
    found = judge(UNBIASED["spiderg"], Subject(twisted(NFWUSPIDERG, stream=InOrder)))
    assert found.verdict == "violated"
    assert found.measured["at snapshots"] < 1e-12


@pytest.mark.claims
def test_a_constant_offset_needs_no_spread_to_be_seen():
    class Off(NFWUSG):
        """Adds 1 to what it minimises; its batch is everybody."""

        requires = NFWUSG.requires | {"gradient"}

        def run(self, ask, x, rng):
            for _ in range(self.iterations):
                rng.normal()
                g = ask.gradient(x) + self.offset
                at, x = x, pf.combine(x, ask.lo(g), self.step)
                yield pf.State(x, at, g)

        offset = 1.0

    class Right(Off):
        """The gradient itself: no spread, and nothing off."""

        offset = 0.0

    assert judge(UNBIASED["sg"], Subject(Off)).verdict == "violated"
    assert judge(UNBIASED["sg"], Subject(Right)).verdict == "holds"
