"""Power: errors of a known factor, how the least one is searched, and one that a claim finds."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from twisted import Twisted, twisted

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.claims.catalogue import claim
from pfbench.oracles import Ledger, Oracles
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.verification.instruments.rotating import RotatingBowl
from pfbench.verification.power import (
    ESTIMATE,
    FACTORS,
    PlantedError,
    PowerSearch,
    choose_oracle_to_scale,
    complete_searches,
    list_searches,
    make_faulty,
    scalable_parameters,
)
from pfbench.verification.session import Session
from pfbench.verification.verdict import make_unfinished_verdict

BOLD = ALGORITHMS["prox-spiderboost"]


def iterates(algorithm):
    problem, ledger = RotatingBowl(n=16, mu=0.5), Ledger()
    ask = Oracles(problem.open(np.random.default_rng(0)), ledger, 1.0)
    states = algorithm.run(ask, problem.start(), np.random.default_rng(1))
    return np.array([state.x for state in states]), ledger.counts()


def made(method, **changed):
    return method(**{"iterations": 6, "step": 0.2, "batch": 4, "period": 3} | changed)


@pytest.mark.parametrize(("parameter", "right"), [("step", {"step": 0.4}), ("batch", {"batch": 2})])
def test_a_wrong_parameter_is_run_and_not_declared(parameter, right):
    method = make_faulty(BOLD, parameter, 2.0)
    found, counts = iterates(made(method))
    expected, paid = iterates(made(BOLD, **right))
    assert np.array_equal(found, expected)
    assert counts == paid
    assert getattr(made(method), parameter) == getattr(made(BOLD), parameter)


def test_a_wrong_estimate_has_its_differences_multiplied():
    class Doubled(Twisted):
        def difference(self, S, x, y):
            return 2.0 * self.ask.difference(S, x, y)

    assert iterates(made(make_faulty(BOLD, ESTIMATE, 2.0)))[0] == pytest.approx(
        iterates(made(twisted(BOLD, Doubled)))[0]
    )


@pytest.mark.parametrize(
    ("name", "found", "answer"),
    [
        ("prox-spiderboost", {"step", "batch"}, "difference"),
        ("prox-saga", {"step", "batch"}, "table"),
        ("prox-sgd", {"step", "batch"}, "batch"),
        ("prox-gd", {"step"}, "gradient"),
        ("ncgs-vr", {"smoothness", "tolerance", "batch"}, "difference"),
        ("frank-wolfe", {"curvature"}, "gradient"),
        ("cgs", {"smoothness", "curvature"}, "gradient"),
    ],
)
def test_what_can_be_made_wrong_in_a_method(name, found, answer):
    method = ALGORITHMS[name]
    assert set(scalable_parameters(method)) == {*found, ESTIMATE}
    assert choose_oracle_to_scale(method) == answer


def test_a_tolerance_that_is_not_given_is_that_of_the_method():
    method = ALGORITHMS["ncgs-vr"]
    seen = []

    class Told(method):
        def run(self, ask, x, rng):
            seen.append(self.tolerance)
            yield from ()

    kind = make_faulty(Told, "tolerance", 4.0)
    list(kind(iterations=8, smoothness=1.0, batch=2, period=2).run(None, None, None))
    assert seen == [0.5]


def test_what_is_not_asked_tells_what_less_effort_found():
    known, one, never = search(), search(), search()
    known.high = FACTORS.index(1.5)
    one.skip_larger_errors(known)
    one.was_run = never.was_run = False
    assert (one.min_factor_text, one.min_factor) == ("at most 1.5", 1.5)
    assert (never.min_factor_text, never.min_factor) == ("not asked", None)


def search():
    return PowerSearch(claim("wang2019-thm1"), "step")


@dataclass
class Finds:
    """A session that finds errors of at least a factor."""

    least: float
    asked: int = 0

    def catch_mutants(self, mutants, limit):
        self.asked += len(mutants)
        return [_Found(one.subject.factor >= self.least) for one in mutants]


@dataclass
class _Found:
    catching_verdicts: bool
    verdicts: tuple = ()


class Loses(Finds):
    """A session whose checks are all killed."""

    def catch_mutants(self, mutants, limit):
        lost = make_unfinished_verdict(claim("wang2019-thm1"), "timeout: it took too long", 1.0)
        return [_Found(False, (lost,)) for _ in mutants]


def test_checks_that_were_killed_are_told():
    one = search()
    complete_searches([one], [Loses(1.0)] * 3)
    assert (one.min_factor, one.lost_trials, one.min_factor_text) == (
        None,
        2,
        "- (2 trials without a verdict)",
    )


@pytest.mark.parametrize("place", range(len(FACTORS)))
def test_bisection_comes_to_the_least_factor(place):
    one, finds = search(), Finds(FACTORS[place])
    complete_searches([one], [finds] * 3)
    assert one.min_factor == FACTORS[place]


def test_what_is_not_found_at_the_largest_factor_is_tried_no_further():
    one, finds = search(), Finds(100.0)
    complete_searches([one], [finds] * 3)
    assert (one.min_factor, finds.asked) == (None, 2)


@pytest.mark.parametrize("place", range(len(FACTORS)))
def test_more_effort_tries_only_what_less_did_not_find(place):
    first, one, finds = search(), search(), Finds(1.0)
    complete_searches([first], [Finds(FACTORS[place])] * 3)
    one.skip_larger_errors(first)
    complete_searches([one], [finds] * 3)
    assert one.min_factor == FACTORS[0]
    assert (finds.asked == 0) == (place == 0)


def test_what_no_effort_finds_is_tried_by_each():
    first, one, finds = search(), search(), Finds(4.0)
    complete_searches([first], [Finds(100.0)] * 3)
    one.skip_larger_errors(first)
    complete_searches([one], [finds] * 3)
    assert one.min_factor == 4.0


def test_where_two_seeds_differ_the_third_decides():
    one = search()
    complete_searches([one], [Finds(1.1), Finds(4.0), Finds(2.0)])
    assert one.min_factor == 2.0


def test_every_claim_about_a_method_is_searched():
    found = list_searches([claim("qu2018-condg-stop"), claim("li2019-lemma1")])
    assert [(one.claim.name, one.parameter) for one in found] == [
        ("qu2018-condg-stop", name) for name in ("smoothness", "tolerance", ESTIMATE)
    ]


@pytest.mark.claims
def test_a_claim_finds_a_tolerance_that_is_a_tenth_too_large():
    one = PowerSearch(claim("qu2018-condg-stop"), "tolerance")
    complete_searches(
        [one], [Session(engine=SingleProcessEngine(), seed=seed) for seed in range(3)]
    )
    assert one.min_factor == FACTORS[0]


def test_an_error_goes_to_another_process():
    error = PlantedError(BOLD, parameter="step", factor=2.0)
    assert pickle.loads(pickle.dumps(error)) == error
    assert error.label == "pfbench.algorithms.proximal:ProxSpiderBoost"
