"""User-defined sets and schedules, and what `info` says of them."""

import json

import pytest
from own_things import Quadratic

import pfbench as pf

MODULE = '''import math
from dataclasses import dataclass

import numpy as np
from own_things import Quadratic as Bowl

from pfbench.algorithms import Algorithm
from pfbench.base.parameters import integer, parameter, positive
from pfbench.base.state import State
from pfbench.estimators.epochs import SPIDERG
from pfbench.points import combine
from pfbench.sets import L1Ball
from pfbench.sets.body import VectorConvexBody
from pfbench.sets.penalties import NormPenalty


@dataclass(frozen=True, kw_only=True)
class Steps(Algorithm):
    """Frank-Wolfe with one fixed weight."""

    counts = "T iterations: FO T, SFO nT, LO T"
    requires = frozenset({"gradient", "lo"})
    deterministic = True

    iterations: int = integer(5, "T")
    step: float = positive(0.1, "weight", upper=1.0)

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            at, g = x, ask.gradient(x)
            x = combine(x, ask.lo(g), self.step)
            yield State(x, at, g)

    @classmethod
    def theory(cls, epsilon, constants, **given):
        """Return the schedule of nothing: gap <= epsilon after 2 L D^2/epsilon steps."""
        L, D = cls.schedule_constants(constants, "L_f", "D")
        return cls.from_schedule(given, iterations=math.ceil(2 * L * D * D / epsilon), step=0.01)


@dataclass(frozen=True, eq=False, repr=False)
class Diamond(L1Ball):
    """The l1 ball."""

    name = "diamond"
    source = "nowhere"

    how: str = parameter("plain", "a text")

    def __post_init__(self):
        if self.radius <= 0 or self.how == 7:
            raise ValueError(self)


class Plain(VectorConvexBody):
    pass


@dataclass(frozen=True, eq=False)
class Half(Diamond):
    lo = VectorConvexBody.lo


@dataclass(frozen=True, eq=False)
class Nameless(VectorConvexBody):
    contains, lo = Diamond.contains, Diamond.lo
    diameter, random_vertex, start = Diamond.diameter, Diamond.random_vertex, Diamond.start


@dataclass(frozen=True)
class Square(NormPenalty):
    """Weight times |x|^2/2."""

    name = "square"
    source = "nowhere"
    dual = "none"

    def value(self, x):
        return self.weight * float(np.vdot(x, x)) / 2

    def prox(self, y, t):
        return y / (1 + self._compute_threshold(y, t))


class Mine(SPIDERG):
    """SPIDER again."""


def size(problem, state):
    """The sum of moduli."""
    return float(np.abs(state.x).sum())
'''


@pytest.fixture
def module(folder):
    """A file of somebody's in the current folder."""
    (folder / "plugged_for_tests.py").write_text(MODULE)
    (folder / "broken_for_tests.py").write_text("1 / 0\n")


LOGISTIC = "nonconvex-logistic[source=synthetic,rows=20,columns=4,{}]"


def solved(pfbench, problem, algorithm="frank-wolfe[iterations=5,step=open-loop]", *more):
    outcome = pfbench("solve", "-p", problem, "-a", algorithm, *more, "--json")
    assert outcome.status == 0, outcome.err
    return outcome


@pytest.mark.usefixtures("module")
def test_a_set_of_somebodys_own_is_a_parameter_like_ours(pfbench):
    own = LOGISTIC.format("set=plugged_for_tests.py:Diamond,radius=2,how=007")
    outcome = solved(pfbench, own)
    assert outcome.err == "importing plugged_for_tests.py:Diamond\n"
    ours = solved(pfbench, LOGISTIC.format("set=l1,radius=2")).json
    assert outcome.json["counts"] == ours["counts"]
    assert outcome.json["final"]["objective"] == ours["final"]["objective"]


@pytest.mark.usefixtures("module")
def test_a_penalty_of_somebodys_own(pfbench):
    own = LOGISTIC.format("penalty=plugged_for_tests.py:Square,weight=0.5")
    found = solved(pfbench, own, "prox-gd[iterations=7,step=0.1]").json
    problem = pf.problem("nonconvex-logistic", source="synthetic", rows=20, columns=4, set="none")
    x = problem.start()
    for _ in range(7):
        x = (x - 0.1 * problem.gradient(x)) / 1.05
    assert found["final"]["objective"] == pytest.approx(problem.value(x) + 0.25 * x @ x, abs=1e-12)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("set=plugged_for_tests.py:Diamnd", "did you mean 'Diamond'"),
        ("set=plugged_for_tests.py:Diamond,radios=1", "did you mean 'radius'"),
        ("set=plugged_for_tests.py:Diamond,radius=-1", "raised ValueError: Diamond(d=4"),
        ("set=plugged_for_tests.py:Square", "derives from pfbench.sets.body.ConvexBody"),
        ("set=plugged_for_tests.py:Plain", "must be a dataclass"),
        ("set=plugged_for_tests.py:Half", "it lacks lo"),
        ("set=plugged_for_tests.py:Nameless", "it lacks name"),
        ("set=broken_for_tests.py:Ball", "raised ZeroDivisionError"),
        ("penalty=plugged_for_tests.py:Diamond", "derives from pfbench.sets.penalties.NormPenalty"),
    ],
)
def test_what_is_no_set_is_refused_in_one_sentence(pfbench, given, says):
    outcome = pfbench("solve", "-p", LOGISTIC.format(given), "-a", "frank-wolfe[iterations=5]")
    assert outcome.status == 2
    *importing, refusal = outcome.err.splitlines()
    assert len(importing) == 1
    assert says in refusal


@pytest.mark.usefixtures("module")
def test_the_theorem_of_somebodys_own_method(pfbench):
    """Its schedule is asked for by epsilon, as ours are; an own parameter replaces it."""
    problem = "plugged_for_tests.py:Bowl"
    ball = LOGISTIC.format("set=l1,radius=2")
    found = solved(pfbench, ball, "plugged_for_tests.py:Steps[epsilon=2]").json
    constants = pf.problem(
        "nonconvex-logistic", source="synthetic", rows=20, columns=4, set="l1", radius=2
    )
    L = constants.constants(constants.start()).L_f
    assert found["schedule"] == "theory"
    assert found["iterations"] == -(-2 * L * 16 // 2)
    checked = pfbench("check", "plugged_for_tests.py:Steps[epsilon=2]", "--json").json
    assert (checked["kind"], checked["passed"]) == ("algorithm", True)
    replaced = solved(pfbench, ball, "plugged_for_tests.py:Steps[epsilon=2,iterations=3]").json
    assert (replaced["schedule"], replaced["iterations"]) == ("explicit", 3)
    outcome = pfbench("solve", "-p", problem, "-a", "plugged_for_tests.py:Steps[epsilon=2]")
    assert (outcome.status, "L_f" in outcome.err) == (2, True)
    outcome = pfbench("solve", "-p", ball, "-a", "plugged_for_tests.py:Steps[epsilon=2,stp=1]")
    assert (outcome.status, "did you mean 'step'" in outcome.err) == (2, True)


# --- info -----------------------------------------------------------------------------------------

SHOWN = {
    "Steps": ("algorithm", {"counts": "T iterations: FO T, SFO nT, LO T", "deterministic": True}),
    "Steps[step=0.5]": ("algorithm", {"claims": []}),
    "Bowl[columns=2]": ("problem", {"sources": []}),
    "Diamond": ("set", {"points": "vectors"}),
    "Square": ("penalty", {"points": "arrays"}),
    "Mine": ("estimator", {}),
    "size": ("measure", {"everywhere": True}),
}


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(("name", "kind", "facts"), [(n, *found) for n, found in SHOWN.items()])
def test_info_shows_what_is_in_a_file(pfbench, name, kind, facts):
    outcome = pfbench("info", f"plugged_for_tests.py:{name}", "--json")
    place = f"plugged_for_tests.py:{name.partition('[')[0]}"
    assert outcome.err == f"importing {place}\n"
    found = outcome.json
    assert (found["kind"], found["name"]) == (kind, place)
    assert found["summary"]
    assert {key: found[key] for key in facts} == facts
    shown = pfbench("info", f"plugged_for_tests.py:{name}")
    assert (shown.status, f"{place} ({kind})" in shown.out) == (0, True)


def test_info_of_own_things_that_are_none(pfbench):
    for name, says in (("own_things:number", "is int, not an algorithm"), ("no:X", "no module no")):
        outcome = pfbench("info", name)
        assert (outcome.status, outcome.out) == (2, "")
        assert says in outcome.err.splitlines()[-1]
    needs = pfbench("info", "own_things:needs", "--json").json
    assert (needs["kind"], needs["built"], needs["not_built"]) == ("problem", None, "it needs rows")
    ready = pfbench("info", "own_things:ready", "--json").json
    assert ready["built"]["n"] == Quadratic(rows=5).n
    assert json.dumps(needs)
