"""The sliding methods against qu2018 and li2019 (their algorithms), by their references."""

from math import inf

import numpy as np
import pytest
from both_kinds import dense, each_kind, minimiser, small, start
from helpers import assert_one_sentence, reference_of, tiny_recovery, tiny_regression
from linear_reference import Plain
from numpy.testing import assert_allclose

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.algorithms.sliding import draw_repeating_batch
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.sample import Sample
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.linear_models import LeastSquares


def smoothness(problem):
    """A number near L_f: its own one is too large for the steps to be long."""
    return 0.6 * problem.constants(problem.start()).L_f


# --- NCGS: structure ------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("eta", [0.3, 0.03, 0.003])
def test_option_1_takes_few_inner_steps_in_total(kind, eta):
    """At most Delta max(2 D^2/(lambda eta^2), 2/eta), and none where V <= eta.

    A step whose gap is above eta lowers F by min(lambda eta^2/(2 D^2), eta/2) or more.
    """
    problem = small(kind)
    c, P, ledger = problem.constants(problem.start()), Plain(problem), Ledger()
    ask = Oracles(problem.open(np.random.default_rng(0)), ledger, c.D)
    method = ALGORITHMS["ncgs"](iterations=60, smoothness=c.L_f, tolerance=eta)
    for state in method.run(ask, P.reference.point(start(kind)), np.random.default_rng(5)):
        md, ag = dense(state.at), dense(state.x)
        g = P.reference.embedded(P.full(md))
        gap = np.vdot(g, md - minimiser(g, problem.set.radius))
        if abs(gap - eta) > 1e-6:
            assert (gap <= eta) == np.allclose(ag, md, rtol=0, atol=1e-12)
    steps = ledger.counts().lo - 60
    assert steps <= P.value(start(kind)) * max(2 * c.D**2 * 2 * c.L_f / eta**2, 2 / eta)


@pytest.mark.parametrize("name", ["ncgs", "cgs", "storc"])
def test_atoms_stay_few(name):
    """A factored iterate keeps at most as many atoms as a sequence re-compresses at."""
    problem = tiny_recovery(shape=(6, 5), n=18, radius=3.0)
    own = {"iterations": 120, "tolerance": 0.003}
    if name != "ncgs":
        own = {"restarts": 1, "period": 120, "curvature": 0.1, "delta": 0.2}
    if name == "storc":
        own |= {"batch": 9}
    backend = problem.open(np.random.default_rng(0))
    ask = Oracles(backend, Ledger(), problem.set.diameter)
    x = reference_of(problem).point(start("recovery"))
    chosen = ALGORITHMS[name](smoothness=smoothness(problem), **own)
    states = chosen.run(ask, x, np.random.default_rng(0))
    assert max(len(state.x.factors().weights) for state in states) <= 4 * 64


# --- NCGS: schedules and bounds -------------------------------------------------------------------


def constants(n=64, **other):
    numbers = {"D": 4.0, "L_f": 0.5, "L_ms": 2.0, "L_max": 8.0, "sigma2": 2.25, "delta": 0.75}
    return Constants(n=n, **numbers | {"M": 3.0, "ell": 0.25, "sigma_hat": 0.125} | other)


def test_output_weights_are_k_times_k_plus_1():
    chosen = ALGORITHMS["ncgs-stochastic"](iterations=3, smoothness=1.0)
    weights = np.array([chosen.output_weight(k) for k in (1, 2, 3)])
    assert_allclose(weights / weights.sum(), np.array([2, 6, 12]) / 20)


# --- CGS and STORC --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cgs", "storc"])
def test_given_constants_replace_those_of_the_problem(name):
    unknown = constants(sigma_hat=inf, delta=inf, L_f=inf, ell=0.0)
    given = {"curvature": 0.5, "delta": 3.0, "smoothness": 4.5}
    chosen = ALGORITHMS[name].theory(0.5, unknown, **given)
    assert (chosen.period, chosen.restarts) == (24, 3)
    assert {key: getattr(chosen, key) for key in given} == given
    for key in given:
        with pytest.raises(InputError, match=f"^{key}=") as error:
            ALGORITHMS[name].theory(0.5, unknown, **given | {key: 0.0})
        assert_one_sentence(error)


def test_a_batch_above_n_is_drawn_as_counts():
    sample = draw_repeating_batch(np.random.default_rng(0), 5, 1_300_000_000)
    assert isinstance(sample, Sample)
    assert len(sample) == sample.counts.sum() == 1_300_000_000
    assert np.abs(sample.counts - 260_000_000).max() < 1e5
    sample = draw_repeating_batch(np.random.default_rng(0), 5, 6)
    assert (sample.counts > 0).all()
    assert len(np.unique(sample.indices)) == len(sample.indices)
    assert isinstance(draw_repeating_batch(np.random.default_rng(0), 5, 5), np.ndarray)


# --- refusals -------------------------------------------------------------------------------------


def test_a_schedule_without_sigma_hat_is_refused():
    problem = tiny_regression(LeastSquares, n=3)  # fewer rows than features
    with pytest.raises(RefusedError, match="sigma_hat") as error:
        algorithm("cgs", epsilon=0.1).resolve(problem.constants(problem.start()))
    assert_one_sentence(error)


# --- the practical schedule -----------------------------------------------------------------------


def test_storc_has_a_practical_schedule_and_others_say_that_they_have_none():
    c = Constants(n=1000, L_f=2.0, L_max=8.0, sigma_hat=0.5, delta=1.0, ell=0.0)
    chosen, schedule = algorithm("storc", epsilon=0.1, schedule="practical").resolve(c)
    theorem, _ = algorithm("storc", epsilon=0.1).resolve(c)
    assert (schedule, chosen.batch, chosen.period) == ("practical", 100, theorem.period)
    assert theorem.batch > 1000 * chosen.batch
    with pytest.raises(RefusedError, match="no practical schedule"):
        algorithm("cgs", epsilon=0.1, schedule="practical").resolve(c)
    with pytest.raises(InputError, match="schedule=practical of storc needs epsilon"):
        algorithm("storc", schedule="practical").resolve(c)
