"""Budgets and deadlines: refused before the call, exactly, and for good."""

import contextlib
import math
import time

import numpy as np
import pytest
from helpers import Echo
from hypothesis import given
from hypothesis import strategies as st

from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import BudgetExhausted, PfbenchError, TimeLimitReached
from pfbench.base.sample import MOST_COUNTED
from pfbench.oracles import Ledger, Oracles


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
    """Also in the quiet stretches between timed calls."""
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


def test_a_limit_on_one_count_leaves_the_others_free():
    oracles, ledger, _ = oracles_of(Budget(lo=0))
    for _ in range(200):
        oracles.batch(sample(1), None)
    assert ledger.counts() == Counts(sfo=200)


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
    for _ in range(100):  # so that batches and minimisations are quiet
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


def test_a_refused_gradient_charges_neither_of_its_two_counts():
    for budget in (Budget(fo=1), Budget(sfo=19)):
        oracles, ledger, _ = oracles_of(budget)
        oracles.gradient(None)
        with pytest.raises(BudgetExhausted):
            oracles.gradient(None)
        assert ledger.counts() == Counts(fo=1, sfo=10)


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


def test_a_deadline_ends_a_run_of_quick_calls_soon(clock):
    """Quick calls are counted without a look at the clock, but only 63 of them in a row."""
    for before in (1, 30, 64, 200):
        clock.now = 0.0
        oracles, _, _ = oracles_of(until=1.0)
        for _ in range(before):
            oracles.batch(sample(1), None)
        clock.now = 2.0
        assert late_calls(oracles) <= 63
        assert late_calls(oracles) == 0


def test_a_deadline_ends_a_run_of_slow_calls_at_once(clock):
    """After a slow call the next one looks at the clock."""
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


def test_a_deadline_that_was_noticed_ends_the_quiet_of_every_verb():
    oracles, ledger, _ = oracles_of()
    oracles.lo(None)
    oracles.batch(sample(1), None)
    ledger.start_clock(0.0)
    with pytest.raises(TimeLimitReached):
        oracles.gradient(None)
    for call, _, _ in (VERBS["lo"], VERBS["batch"]):
        with pytest.raises(TimeLimitReached):
            call(oracles)


def test_without_a_budget_nothing_is_limited():
    _, ledger, _ = oracles_of()
    assert ledger.limits == [MOST_COUNTED] * len(COUNTED)
    assert ledger.end_reason == ""
