"""The S and p that shen2019 prints: the errata, their readings, and what these compare."""

import numpy as np
import pytest

from pfbench.algorithms.nfwu import NFWUCASVRG, NFWUSPIDERG
from pfbench.base.constants import Constants
from pfbench.claims.shen2019 import size_errata
from pfbench.claims.shen2019.epoch_estimators import METHODS, RECURSIVE, exact_mean_squared_errors
from pfbench.claims.shen2019.size_errata import (
    BatchAndPeriod,
    error_over_limit,
    examine_condition_9,
    examine_sizes_under_scaling_of_f,
)
from pfbench.oracles import Ledger, Oracles
from pfbench.verification.instruments.enumerated_random import enumerate_draws
from pfbench.verification.instruments.forced_path import ForcedPath


def test_the_printed_sizes_of_casvrg_meet_9():
    problem, epsilon = ForcedPath(65536, 2, L=0.0, L2=1.0), 2.0**-16
    chosen = size_errata.compute_printed_sizes(
        "casvrg", epsilon, problem.constants(problem.start())
    )
    over = error_over_limit("casvrg", problem, epsilon, chosen)
    assert 0.9 < over.max() <= 1.0


@pytest.mark.thin(2)
@pytest.mark.parametrize("estimator", ["casvrg", "caspiderg"])
def test_the_printed_powers_are_right_where_L_is_1_or_more(estimator):
    found = examine_sizes_under_scaling_of_f("quick", 1, estimator=estimator).numbers
    assert found["printed, 0.0625 f"] > 10.0
    assert found["printed, 1 f"] < 1.0
    assert found["printed, 16 f"] < 0.01


def test_a_schedule_that_misses_9_is_not_seen_to_hold(monkeypatch):
    theirs = NFWUSPIDERG.estimator_parameters

    def half(epsilon, L, constants):
        sizes = theirs(epsilon, L, constants)
        return sizes | {"batch": sizes["batch"] // 2}

    monkeypatch.setattr(NFWUSPIDERG, "estimator_parameters", half)
    found = examine_condition_9("quick", 0, estimator="spiderg")
    assert not found.is_shown
    assert found.numbers["measured over corrected"] > 1.5


@pytest.mark.parametrize("estimator", ["svrg", "spiderg"])
def test_the_readings_are_those_of_errors_by_hand(estimator):
    """Two steps, S = 1, a third and a fourth: |error| = 2, or 0, 2 and 4 by two signs each 2."""
    over = np.array([0.0, 4.0, 8.0] if estimator in RECURSIVE else [0.0, 1.0, 4.0])
    tried = size_errata._ratios_by_reading_of_error(estimator, over, 1, 5, np.random.default_rng(0))
    assert tried["mean over an epoch"] == pytest.approx(over.mean())
    assert tried["without replacement"] == pytest.approx(over[-1])
    four = size_errata._ratios_by_reading_of_error(estimator, over, 4, 5, np.random.default_rng(0))
    assert four["without replacement"] == pytest.approx(over[-1] / 4)
    # Signs: |2 s + 2 s'| is 0 or 4, in the mean 2; one sign: 2.
    assert tried["E|.| for E|.|^2"] == pytest.approx(4.0, rel=0.15)
    # The mean of four signs is 0, 1/2, 1 in absolute value with 6/16, 8/16, 2/16: in all 3/8.
    if estimator == "svrg":
        assert four["E|.| for E|.|^2"] == pytest.approx((4.0 * 3.0 / 8.0) ** 2, rel=0.1)


# --- the errors and sizes that the errata compare -------------------------------------------------


@pytest.mark.parametrize("estimator", METHODS)
def test_the_mean_squares_are_those_of_all_runs_of_the_algorithm(estimator):
    """All scripts of draws, n = 2, S = 1: the mean of |g - grad f|^2 at j < p of real runs."""
    p = 1 if estimator == "sg" else 4
    problem = ForcedPath(2, 2, sigma=0.3, L=0.5, L2=0.7)
    constants = problem.constants(problem.start())
    epsilon = 0.1
    step = epsilon / (constants.smoothness("a step") * problem.length)
    sizes = {"period": p} if estimator != "sg" else {}
    algorithm = METHODS[estimator](iterations=p, step=step, batch=1, **sizes)

    def squares_of_run(rng):
        ask = Oracles(problem, Ledger(), problem.set.diameter)
        states = algorithm.run(ask, problem.start(), rng)
        errors = [state.estimate - problem.gradient(state.at) for state in states]
        return np.sum(np.square(errors), axis=1)

    squares = [square for _, square in enumerate_draws(squares_of_run)]
    assert len(squares) == 2 ** max(1, p - 1)
    eta = step * problem.length
    found = exact_mean_squared_errors(estimator, problem, eta, p)
    assert found == pytest.approx(np.mean(squares, axis=0), rel=1e-9, abs=1e-20)
    halved = error_over_limit(estimator, problem, epsilon, BatchAndPeriod(2, p))
    assert halved == pytest.approx(found / 2 * 4 / epsilon**2)
    longer = error_over_limit(estimator, problem, epsilon, BatchAndPeriod(2, p), eta=2.0 * eta)
    assert longer == pytest.approx(
        exact_mean_squared_errors(estimator, problem, 2.0 * eta, p) / 2 * 4 / epsilon**2
    )
    assert estimator == "sg" or longer[-1] > 2.0 * halved[-1]


def test_the_printed_sizes_are_the_papers():
    """Sections 3.1 to 4.2 of shen2019, n = 4096, worked out by hand."""
    constants = Constants(n=4096, L_f=4.0, L_ms=4.0, L_max=4.0, L2_ms=1.0, sigma2=9.0)
    at = 2.0**-10
    for estimator, epsilon, S, p in (
        ("sg", 0.5, 36, 1),
        ("svrg", at, 256, 16),
        ("spiderg", at, 64, 64),
        ("casvrg", at, 28, 147),  # (4 2^10)^0.4 4096^0.2 = 2^4.8 2^2.4 = 147.03; S = 27.9
        ("casvrg", 2.0**-32, 1, 2**17),  # L^.5 L2^.5 eps^-.5 = 2 2^16, epsilon <= 4/4096^2
        ("caspiderg", at, 8, 512),  # (4 2^10)^0.5 4096^0.25 = 2^6 2^3 = 512
    ):
        sizes = size_errata.compute_printed_sizes(estimator, epsilon, constants)
        assert sizes == BatchAndPeriod(S, p)
    assert size_errata.compute_corrected_sizes("casvrg", at, constants) == BatchAndPeriod(
        *(NFWUCASVRG.estimator_parameters(at, 4.0, constants)[key] for key in ("batch", "period"))
    )
