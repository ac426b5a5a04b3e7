"""The claims about all methods, faults from outside, and faults that no operator makes."""

import re

import numpy as np
import pytest
from judging import judge
from twisted import (
    AtTheStart,
    Beside,
    FixedTable,
    OnePointLate,
    OneUsed,
    Refunded,
    Twice,
    Twisted,
    second_half,
    twisted,
)

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.nfwu import NFWUSG
from pfbench.algorithms.stochastic_frank_wolfe import SFW
from pfbench.base.errors import BudgetExhausted
from pfbench.claims.catalogue import CLAIMS, claim
from pfbench.verification.subject import EditedMethod, Subject

pytestmark = pytest.mark.claims

RANDOM = [name for name, method in ALGORITHMS.items() if not method.deterministic]
UNIFORM = [
    name
    for name, method in ALGORITHMS.items()
    if method.__dataclass_fields__["output"].default == "uniform"
]
FULL = [name for name, method in ALGORITHMS.items() if "gradient" in method.requires]


def long(value):
    return pytest.param(value, marks=pytest.mark.long)


def about(what, name):
    return CLAIMS[f"methods-{what}-{name}"]


def assert_caught(what, name, subject):
    row = judge(about(what, name), Subject(subject))
    assert row.catches_fault, row.reason
    return row


def test_every_method_of_the_catalogue_is_compared():
    for name in ALGORITHMS:
        assert {f"methods-{what}-{name}" for what in ("run", "law", "count")} <= set(CLAIMS)


def test_a_former_name_stands_for_the_claim_that_tests_the_same():
    for former in ("methods-estimate-sfw", "methods-steps-sfw"):
        assert claim(former) is CLAIMS["methods-run-sfw"]


@pytest.mark.parametrize("what", ["count", long("run")])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_bypass_of_the_ledger_is_caught(name, what):
    row = assert_caught(what, name, twisted(ALGORITHMS[name], Beside))
    assert "but the ledger counts" in row.reason


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_ledger_that_is_written_to_is_caught(name):
    row = assert_caught("count", name, twisted(ALGORITHMS[name], Refunded))
    assert "but the ledger counts" in row.reason


BATCH_IN_TWO_QUERIES = {"nfwu-casvrg", "nfwu-caspiderg", "zerosarah", "zerosarah-fw"}
"""Methods that use a batch in two queries: where these differ, the run departs from the source."""

GROWING = {"ncgs-stochastic", "spider-fw-convex"}
"""Methods whose batches grow: where one is that of before, the run departs from the source."""


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", sorted({*RANDOM} - {"storm", "sag"}))  # one a step; only replaced
def test_a_batch_that_is_paid_and_of_which_one_component_is_used_is_caught(name):
    what = "run" if name in BATCH_IN_TWO_QUERIES else "law"
    assert_caught(what, name, twisted(ALGORITHMS[name], OneUsed))


@pytest.mark.thin(8)
@pytest.mark.parametrize("name", RANDOM)
def test_a_batch_that_is_used_twice_is_caught(name):
    what = "run" if name in GROWING else "law"
    assert_caught(what, name, twisted(ALGORITHMS[name], stream=Twice))


@pytest.mark.thin(3)
@pytest.mark.parametrize("oracles", [AtTheStart, long(OnePointLate)])
@pytest.mark.parametrize("name", FULL)
def test_a_reference_gradient_taken_elsewhere_is_caught(name, oracles):
    assert_caught("run", name, twisted(ALGORITHMS[name], oracles))


@pytest.mark.parametrize(
    "name", ["saga", "sag", "prox-saga", "sagafw", "zerosarah", "zerosarah-fw"]
)
def test_a_table_that_is_never_renewed_is_caught(name):
    assert_caught("run", name, twisted(ALGORITHMS[name], FixedTable))


@pytest.mark.thin(8)
@pytest.mark.parametrize("name", UNIFORM)
def test_an_output_from_the_second_half_is_caught(name):
    # SARAH goes on from the point that it draws: another output departs from its source.
    assert_caught("run" if name == "sarah" else "law", name, second_half(ALGORITHMS[name]))


SCHEDULED = [
    name.removeprefix("methods-schedule-") for name in CLAIMS if name.startswith("methods-schedule")
]


CHANGED = {
    *("prox-spiderboost-m", "natasha15", "sfw", "svfw", "sagafw", "saga", "prox-rsag", "svrg"),
    *("prox-sgd", "prox-svrg-plus", "spiderboost", "prox-spiderboost", "sarah", "rsag"),
    *("page", "prox-page", "lsvrg", "zerosarah"),
    *("spider-fw", "page-fw", "lsvrg-fw", "zerosarah-fw", "storm-fw", "one-sfw", "momentum-sfw"),
    *("ncgs", "ncgs-stochastic", "storc", "frank-wolfe"),
    *(f"nfwu-{one}" for one in ("sg", "svrg", "spiderg", "casvrg", "caspiderg")),
    *("nfwu-page", "nfwu-lsvrg", "nfwu-storm"),
    *("page-fw-convex", "spider-fw-convex", "cgs-convex", "ncgs-spider", "local-lmo"),
}
"""Methods with a schedule that is not printed so, or not by their own source."""


@pytest.mark.parametrize("name", SCHEDULED)
def test_a_schedule_says_whose_it_is(name):
    """The source by its year, and what pfbench did where it is not as printed."""
    words, _, whose = about("schedule", name).statement.partition(": ")
    assert words == "the schedule for an accuracy"
    assert re.search(r"2\d{3}\b|that of prox-|as prox-", whose)
    assert ("pfbench" in whose or "derived here" in whose) == (name in CHANGED)


def with_schedule_changed(method, parameter, change):
    """Return a class of methods of whose schedule one parameter is changed."""

    def theory(cls, epsilon, constants, **given):
        right = method.theory(epsilon, constants, **given)
        number = getattr(right, parameter)
        if number is not None and change(number) != number:
            object.__setattr__(right, parameter, change(number))
        return right

    return type("Changed", (method,), {"theory": classmethod(theory)})


@pytest.mark.parametrize(
    "change", [lambda v: 2 * v, *map(long, [lambda v: v / 2, lambda v: v**0.5])]
)
@pytest.mark.parametrize("name", SCHEDULED)
def test_a_constant_of_a_schedule_that_is_off_is_caught(name, change):
    method = ALGORITHMS[name]
    row = judge(about("schedule", name))
    printed = {key.split(": ")[-1] for key in row.claimed}
    assert "iterations" in printed or "period" in printed
    for parameter in printed:
        numbers = [v for key, v in row.claimed.items() if key.endswith(f": {parameter}")]
        if any(abs(change(v) - v) > 1.0 or v != round(v) for v in numbers):
            assert_caught("schedule", name, with_schedule_changed(method, parameter, change))


# --- the best of several runs, and least numbers --------------------------------------------------


class HalvedChoice(Twisted):
    """Oracles whose linear minimisation counts half where runs are chosen among, by one term."""

    chooses = False

    def lo(self, g):
        return 0.5 * self.ask.lo(g) if self.chooses else self.ask.lo(g)

    def gradient(self, x):
        self.chooses = True
        return self.ask.gradient(x)

    def batch(self, S, x):
        self.chooses = False
        return self.ask.batch(S, x)


def test_a_choice_among_runs_by_a_wrong_gap_is_caught():
    assert "output" in assert_caught("run", "nfwu-sg", twisted(NFWUSG, HalvedChoice)).reason


@pytest.mark.parametrize("name", ["ncgs-stochastic", "prox-rsag", "sarah"])
def test_a_least_number_that_is_off_by_one_is_caught(name):
    later = with_schedule_changed(ALGORITHMS[name], "iterations", lambda N: N + 1)
    assert_caught("schedule", name, later)


# --- kinds of faults that no operator makes -------------------------------------------------------


UNSEEDED = twisted(SFW, stream=lambda rng: np.random.default_rng())
"""Ignores its stream."""


class Swallowing(Twisted):
    """Lets no exception of an oracle pass."""

    def lo(self, g):
        try:
            return self.ask.lo(g)
        except (Exception, BudgetExhausted):
            return 0.0 * g


class CountsOtherVertices(ALGORITHMS["frank-wolfe"]):
    """Its open loop stands still once seven linear minimisations had the same vertex."""

    def run(self, ask, x, rng):
        if self.step != "open-loop":
            yield from super().run(ask, x, rng)
            return
        t, equal, last = 0, 0, None
        for _ in range(self.iterations):
            g = ask.gradient(x)
            v = ask.lo(g)
            equal = equal + 1 if last is not None and np.array_equal(v, last) else 0
            at, x, last = x, pf.points.combine(x, v, self.offset / (t + self.offset)), v
            t += equal < 7
            yield pf.State(x, at, g)


def edited(name, old, new, part=None):
    """Return a method with an edit of its class, or of a part of its code."""
    kind = ALGORITHMS[name]
    return EditedMethod(kind, edited_part=part or kind, edits=((old, new),)).algorithm_under_test()


FIXED = "(ask, x, rng)\n", "(ask, x, rng if _ else np.random.default_rng(0))\n"
"""Edit of Muon that draws the first batch of each run from the same stream."""


class TallDoubled(Twisted):
    """Oracles whose linear minimisation is doubled for matrices with more rows than columns."""

    def lo(self, g):
        v = self.ask.lo(g)
        return 2.0 * v if v.ndim > 1 and len(v) > v.shape[1] else v


class Exclusive(ALGORITHMS["prox-saga"]):
    """Stores only components that it did not use; each batch alone is uniform."""

    def run(self, ask, x, rng):
        table = ask.table(x)
        for _ in range(self.iterations):
            I = rng.integers(ask.n, size=self.batch)  # noqa: E741
            J = (I + 1 + rng.integers(ask.n - 1, size=self.batch)) % ask.n if ask.n > 1 else I
            g = table.difference(I, x) + table.mean
            table.replace(J, x)
            at, x = x, ask.prox(x, g, self.step)
            yield pf.State(x, at, g)


class NeverLast(ALGORITHMS["sarah"]):
    """Never goes on from the last point of an epoch, where that has more than four."""

    def run(self, ask, x, rng):
        class Fewer:
            def integers(self, high, size=None):
                return rng.integers(high - (size is None and high > 4), size=size)

        return super().run(ask, x, Fewer())


@pytest.mark.parametrize(
    ("what", "name", "kind", "words"),
    [
        ("run", "sfw", UNSEEDED, "two runs with seed"),
        ("run", "sfw", twisted(SFW, Swallowing), "after its budget is spent"),
        ("run", "frank-wolfe", CountsOtherVertices, "radius=0.45"),
        # The spectral norm and the Euclidean one are the same of a vector.
        ("run", "spider", edited("spider", "norm(v)", "norm(v, 2)"), "2x3"),
        ("run", "natasha15", edited("natasha15", "at, g, centre)", "at, g)"), "no State.output"),
        ("law", "muon", edited("muon", *FIXED), "the batches repeat an earlier sequence"),
        ("run", "local-lmo", edited("local-lmo", "k + 2.0)", "k + 2.0 + k // 900)"), "tion 900"),
        ("run", "muon", twisted(ALGORITHMS["muon"], TallDoubled), "3x2"),
        pytest.param("law", "prox-saga", Exclusive, "iteration", marks=pytest.mark.long),
        ("law", "sarah", NeverLast, "continues from points"),
    ],
)
def test_a_fault_is_violated_with_its_place(what, name, kind, words):
    found = judge(about(what, name), Subject(kind))
    assert found.verdict == "violated", found.reason
    assert re.search(words, found.reason), found.reason
    assert "--seed" in found.reason or "budget" in words
