"""What each oracle costs, to the unit, and that it answers what the problem answers."""

import math
import time

import numpy as np
import pytest
from helpers import Echo
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.sample import Sample
from pfbench.oracles import Ledger, Oracles
from pfbench.oracles import ledger as ledger_module

THREE = np.array([0, 2, 2])
MANY = Sample(np.array([1, 3]), np.array([10**9, 5]))  # li2019, theorem 2: m is about 1.3e9


@pytest.fixture(params=["recovery", "logistic"])
def problem(request):
    return request.getfixturevalue(request.param)


def ask(problem):
    """The oracles of a fresh run, its ledger, a point and a second one."""
    ledger = Ledger()
    oracles = Oracles(problem.open(np.random.default_rng(0)), ledger, problem.set.diameter)
    return oracles, ledger, problem.start(), problem.start()


CALLS = {
    "gradient": (lambda o, x, y: o.gradient(x), {"fo": 1, "sfo": "n"}),
    "batch": (lambda o, x, y: o.batch(THREE, x), {"sfo": 3}),
    "batch of counts": (lambda o, x, y: o.batch(MANY, x), {"sfo": 10**9 + 5}),
    "difference": (lambda o, x, y: o.difference(THREE, x, y), {"sfo": 6}),
    "difference of counts": (lambda o, x, y: o.difference(MANY, x, y), {"sfo": 2 * (10**9 + 5)}),
    "value": (lambda o, x, y: o.value(x), {"fv": "n"}),
    "lo": (lambda o, x, y: o.lo(np.ones(o.gradient(x).shape)), {"lo": 1, "fo": 1, "sfo": "n"}),
    "prox": (lambda o, x, y: o.prox(x, o.gradient(x), 0.1), {"po": 1, "fo": 1, "sfo": "n"}),
    "hessian": (lambda o, x, y: o.hessian(x), {"sso": "n"}),
    "hessian product": (lambda o, x, y: o.hessian(x).product(x, y), {"sso": "n", "hvp": "n"}),
    "hessian batch": (lambda o, x, y: o.hessian(x).batch(THREE, x, y), {"sso": "n", "hvp": 3}),
    "table": (lambda o, x, y: o.table(x), {"sfo": "n"}),
    "table mean": (lambda o, x, y: o.table(x).mean, {"sfo": "n"}),
    "table difference": (lambda o, x, y: o.table(x).difference(THREE, y), {"sfo": "n + 3"}),
    "table replace": (lambda o, x, y: o.table(x).replace(THREE, y), {"sfo": "n + 3"}),
}


def test_a_local_minimisation_costs_one_llo(logistic):
    oracles, ledger, x, _ = ask(logistic)
    oracles.local_lo(x, np.ones(x.shape), 0.1)
    assert ledger.counts() == Counts(llo=1)


@pytest.mark.parametrize("call", CALLS)
def test_each_verb_costs_what_theory_section_2_says(problem, call):
    make, cost = CALLS[call]
    oracles, ledger, x, y = ask(problem)
    make(oracles, x, y)
    n = problem.n
    units = {"n": n, "n + 3": n + 3}
    expected = Counts(**{name: units.get(amount, amount) for name, amount in cost.items()})
    assert ledger.counts() == expected


def test_a_hessian_is_evaluated_once_however_often_it_is_applied(problem):
    oracles, ledger, x, y = ask(problem)
    hessian = oracles.hessian(x)
    for _ in range(4):
        hessian.batch(THREE, x, y)
    assert ledger.counts() == Counts(sso=problem.n, hvp=12)


VERBS = ["gradient", "batch", "difference", "lo", "value", "prox", "hessian", "table"]


@given(st.lists(st.tuples(st.sampled_from(VERBS), st.integers(1, 40)), max_size=120))
def test_any_sequence_of_calls_is_counted_exactly(calls):
    """Also where quick calls run past the clock: the quiet stretches lose no count."""
    backend = Echo(n=100)
    ledger = Ledger()
    oracles = Oracles(backend, ledger, 1.0)
    expected = dict.fromkeys(COUNTED, 0)
    for verb, size in calls:
        sample = np.zeros(size, dtype=np.int64)
        if verb == "gradient":
            oracles.gradient(None)
            expected["fo"] += 1
            expected["sfo"] += 100
        elif verb in ("batch", "difference"):
            arguments = (sample, None) if verb == "batch" else (sample, None, None)
            getattr(oracles, verb)(*arguments)
            expected["sfo"] += len(arguments) * size - size
        elif verb == "prox":
            oracles.prox(None, None, 1.0)
            expected["po"] += 1
        else:
            getattr(oracles, verb)(None)
            name, amount = {
                "lo": ("lo", 1),
                "value": ("fv", 100),
                "hessian": ("sso", 100),
                "table": ("sfo", 100),
            }[verb]
            expected[name] += amount
    assert ledger.counts() == Counts(**expected)
    assert len(backend.asked) == len(calls)


def test_the_answers_are_the_problems_own(problem):
    oracles, _, x, _ = ask(problem)
    backend, other = problem.open(np.random.default_rng(0)), problem.start()
    assert_array_equal(oracles.gradient(x), backend.gradient(other))
    assert_array_equal(oracles.batch(THREE, x), backend.batch(THREE, other))
    assert oracles.value(x) == backend.value(other)
    assert (oracles.n, oracles.D) == (problem.n, problem.set.diameter)


def test_without_set_and_penalty_a_prox_is_a_step_and_counts_nothing():
    backend, ledger = Echo(), Ledger()
    backend.unconstrained = True
    step = Oracles(backend, ledger, math.inf).prox(np.ones(2), np.array([1.0, 2.0]), 0.5)
    assert_array_equal(step, [0.5, 0.0])
    assert ledger.counts() == Counts()
    assert backend.asked == []


def test_an_algorithm_finds_no_problem_and_no_counts_among_its_oracles(problem):
    oracles, _, _, _ = ask(problem)
    public = {name for name in dir(oracles) if not name.startswith("_")}
    assert public == {"D", "n", "local_lo", "component_smoothness", "sample", *VERBS}


def test_two_runs_do_not_share_counts(problem):
    first, ledger, x, _ = ask(problem)
    second, other, y, _ = ask(problem)
    first.gradient(x)
    assert other.counts() == Counts()
    second.value(y)
    assert ledger.counts() == Counts(fo=1, sfo=problem.n)


@pytest.fixture
def clock(monkeypatch):
    """The time, on a clock of its own: a busy machine sleeps longer."""
    now = [0.0]
    monkeypatch.setattr(ledger_module, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.append(now.pop() + s))
    return now


def test_time_inside_the_backend_is_recorded(clock):
    ledger = Ledger()
    oracles = Oracles(Echo(seconds=0.002), ledger, math.inf)
    for _ in range(5):
        oracles.batch(THREE, None)
        oracles.lo(None)
    assert ledger.seconds == pytest.approx(clock[0]) == pytest.approx(0.02)


def test_the_time_of_quick_calls_is_estimated_not_lost(monkeypatch, clock):
    monkeypatch.setattr(ledger_module, "_QUIET_SECONDS", 1.0)  # sleeping calls are quick
    ledger = Ledger()
    oracles = Oracles(Echo(seconds=0.001), ledger, math.inf)
    for _ in range(3 * 64 + 1):
        oracles.batch(THREE, None)
    assert ledger.seconds == pytest.approx(clock[0])
    assert ledger.counts() == Counts(sfo=3 * (3 * 64 + 1))
