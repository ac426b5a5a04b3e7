"""What each oracle costs and answers; budgets and deadlines are exact."""

import contextlib
import math
import time
from collections import Counter

import numpy as np
import pytest
from helpers import Echo
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import BudgetExhausted, PfbenchError, TimeLimitReached
from pfbench.base.sample import MOST_COUNTED, Sample
from pfbench.oracles import Ledger, Oracles
from pfbench.oracles import ledger as ledger_module

THREE = np.array([0, 2, 2])
MANY = Sample(np.array([1, 3]), np.array([10**9, 5]))  # li2019, theorem 2: m is about 1.3e9


@pytest.fixture(params=["recovery", "logistic"])
def problem(request):
    return request.getfixturevalue(request.param)


def asking(problem):
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
    oracles, ledger, x, _ = asking(logistic)
    oracles.local_lo(x, np.ones(x.shape), 0.1)
    assert ledger.counts() == Counts(llo=1)


@pytest.mark.parametrize("call", CALLS)
def test_each_verb_costs_what_theory_section_2_says(problem, call):
    make, cost = CALLS[call]
    oracles, ledger, x, y = asking(problem)
    make(oracles, x, y)
    n = problem.n
    units = {"n": n, "n + 3": n + 3}
    expected = Counts(**{name: units.get(amount, amount) for name, amount in cost.items()})
    assert ledger.counts() == expected


def test_a_hessian_is_evaluated_once_however_often_it_is_applied(problem):
    oracles, ledger, x, y = asking(problem)
    hessian = oracles.hessian(x)
    for _ in range(4):
        hessian.batch(THREE, x, y)
    assert ledger.counts() == Counts(sso=problem.n, hvp=12)


ORACLES = ["gradient", "batch", "difference", "lo", "value", "prox", "hessian", "table"]


@given(st.lists(st.tuples(st.sampled_from(ORACLES), st.integers(1, 40)), max_size=120))
def test_any_sequence_of_calls_is_counted_exactly(calls):
    backend = Echo(n=100)
    ledger = Ledger()
    oracles = Oracles(backend, ledger, 1.0)
    expected = Counter()
    for verb, size in calls:
        S = np.zeros(size, dtype=np.int64)
        given, cost = {
            "gradient": ((None,), {"fo": 1, "sfo": 100}),
            "batch": ((S, None), {"sfo": size}),
            "difference": ((S, None, None), {"sfo": 2 * size}),
            "lo": ((None,), {"lo": 1}),
            "value": ((None,), {"fv": 100}),
            "prox": ((None, None, 1.0), {"po": 1}),
            "hessian": ((None,), {"sso": 100}),
            "table": ((None,), {"sfo": 100}),
        }[verb]
        getattr(oracles, verb)(*given)
        expected.update(cost)
    assert ledger.counts() == Counts(**expected)
    assert len(backend.asked) == len(calls)


def test_the_answers_are_the_problems_own(problem):
    oracles, _, x, _ = asking(problem)
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
    oracles, _, _, _ = asking(problem)
    public = {name for name in dir(oracles) if not name.startswith("_")}
    assert public == {"D", "n", "local_lo", "component_smoothness", "sample", *ORACLES}


@pytest.fixture
def slept(monkeypatch):
    """The time, on a clock of its own: a busy machine sleeps longer."""
    now = [0.0]
    monkeypatch.setattr(ledger_module, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.append(now.pop() + s))
    return now


def test_time_inside_the_backend_is_recorded(slept):
    ledger = Ledger()
    oracles = Oracles(Echo(seconds=0.002), ledger, math.inf)
    for _ in range(5):
        oracles.batch(THREE, None)
        oracles.lo(None)
    assert ledger.seconds == pytest.approx(slept[0]) == pytest.approx(0.02)


# --- budgets and deadlines ------------------------------------------------------------------------


def oracles_of(budget=None, until=math.inf):
    backend, ledger = Echo(), Ledger(budget)
    ledger.start_clock(until)
    return Oracles(backend, ledger, 1.0), ledger, backend


def sample(size):
    return np.zeros(size, dtype=np.int64)


# For each verb: how it is called, what it counts, and how much of it.
VERBS = {
    "gradient": (lambda o: o.gradient(None), "sfo", 10),
    "full gradients": (lambda o: o.gradient(None), "fo", 1),
    "batch": (lambda o: o.batch(sample(3), None), "sfo", 3),
    "difference": (lambda o: o.difference(sample(3), None, None), "sfo", 6),
    "value": (lambda o: o.value(None), "fv", 10),
    "lo": (lambda o: o.lo(None), "lo", 1),
    "prox": (lambda o: o.prox(None, None, 1.0), "po", 1),
    "local_lo": (lambda o: o.local_lo(None, None, 1.0), "llo", 1),
    "hessian": (lambda o: o.hessian(None), "sso", 10),
    "hessian product": (lambda o: o.hessian(None).product(None, None), "hvp", 10),
    "hessian batch": (lambda o: o.hessian(None).batch(sample(3), None, None), "hvp", 3),
    "table": (lambda o: o.table(None), "sfo", 10),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_call_that_fits_exactly_is_answered_and_the_next_is_refused_before_it_is_made(verb):
    call, kind, amount = VERBS[verb]
    oracles, ledger, backend = oracles_of(Budget(**{kind: 2 * amount}))
    call(oracles)
    call(oracles)
    counts, asked = ledger.counts(), list(backend.asked)
    assert getattr(counts, kind) == 2 * amount
    with pytest.raises(BudgetExhausted):
        call(oracles)
    after = ledger.counts()
    assert getattr(after, kind) == 2 * amount
    if not verb.startswith("hessian "):  # there the hessian itself was answered
        assert (after, backend.asked) == (counts, asked)


@pytest.mark.parametrize("verb", VERBS)
def test_one_unit_too_little_refuses_the_call(verb):
    call, kind, amount = VERBS[verb]
    oracles, ledger, _ = oracles_of(Budget(**{kind: amount - 1}))
    with pytest.raises(BudgetExhausted):
        call(oracles)
    assert getattr(ledger.counts(), kind) == 0
    assert f"{amount} {kind.upper()}" in ledger.end_reason
    assert f"budget of {amount - 1}" in ledger.end_reason


@given(
    st.integers(0, 400),
    st.lists(st.tuples(st.sampled_from(["batch", "difference", "gradient"]), st.integers(1, 9))),
)
def test_a_budget_is_never_exceeded_and_stops_only_the_call_that_would(limit, calls):
    oracles, ledger, backend = oracles_of(Budget(sfo=limit))
    spent = 0
    for verb, size in calls * 5:
        amount = {"batch": size, "difference": 2 * size, "gradient": 10}[verb]
        arguments = {"batch": (sample(size), None), "gradient": (None,)}
        call = getattr(oracles, verb)
        if spent + amount > limit:
            made = len(backend.asked)
            with pytest.raises(BudgetExhausted):
                call(*arguments.get(verb, (sample(size), None, None)))
            assert ledger.counts().sfo == spent
            assert len(backend.asked) == made
            return
        call(*arguments.get(verb, (sample(size), None, None)))
        spent += amount
        assert ledger.counts().sfo == spent


def test_the_exception_passes_through_an_algorithm_that_catches_everything_ordinary():
    oracles, _, _ = oracles_of(Budget(lo=3))

    def algorithm():
        for _ in range(100):
            with contextlib.suppress(Exception):  # what a sloppy algorithm does
                oracles.lo(None)

    with pytest.raises(BudgetExhausted):
        algorithm()
    for stopped in (BudgetExhausted, TimeLimitReached):
        assert not issubclass(stopped, Exception)
        assert not issubclass(stopped, PfbenchError)


@pytest.mark.parametrize("exhausted", VERBS)
def test_after_the_budget_is_spent_no_verb_answers_again(exhausted):
    call, kind, _ = VERBS[exhausted]
    oracles, ledger, backend = oracles_of(Budget(**{kind: 0}))
    if kind not in ("sfo", "lo"):
        oracles.batch(sample(1), None)
        oracles.lo(None)
    with pytest.raises(BudgetExhausted):
        call(oracles)
    reason, counts, asked = ledger.end_reason, ledger.counts(), list(backend.asked)
    for other, _, _ in VERBS.values():
        with pytest.raises(BudgetExhausted, match="budget"):
            other(oracles)
    assert (ledger.end_reason, ledger.counts(), backend.asked) == (reason, counts, asked)


@pytest.mark.parametrize("verb", VERBS)
def test_after_the_deadline_every_verb_raises_and_counts_nothing(verb):
    call, _, _ = VERBS[verb]
    oracles, ledger, backend = oracles_of(until=time.perf_counter() - 1.0)
    for _ in range(2):
        with pytest.raises(TimeLimitReached):
            call(oracles)
    assert ledger.counts() == Counts()
    assert backend.asked == []


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr("pfbench.oracles.ledger.perf_counter", found)
    return found


def late_calls(oracles):
    """How many more calls are answered, at most a thousand."""
    for number in range(1000):
        try:
            oracles.batch(sample(1), None)
        except TimeLimitReached:
            return number
    return 1000


def test_the_first_call_after_the_deadline_raises(clock):
    oracles, _, backend = oracles_of(until=1.0)
    answer = backend.batch

    def slow(*asked):
        clock.now += 0.3
        return answer(*asked)

    backend.batch = slow
    assert late_calls(oracles) == 4


def test_while_the_clock_stands_still_no_call_is_late(clock):
    oracles, ledger, _ = oracles_of(until=1.0)
    ledger.stop_clock()
    clock.now = 2.0
    oracles.gradient(None)
    ledger.start_clock(3.0)
    oracles.gradient(None)
    ledger.start_clock(1.0)
    with pytest.raises(TimeLimitReached):
        oracles.gradient(None)


def test_without_a_budget_nothing_is_limited():
    _, ledger, _ = oracles_of()
    assert ledger.limits == [MOST_COUNTED] * len(COUNTED)
    assert ledger.end_reason == ""
