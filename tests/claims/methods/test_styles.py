"""Right methods in other styles are followed; their faults are violated by some claim."""

import dataclasses
import math

import numpy as np
import pytest
import scipy
from judging import judge
from more_styles import FAULTS as DRAWN
from more_styles import STYLES as MORE
from more_styles import Momentum
from own_styles import FAULTS, RIGHT, Floor, Once, Plain
from ten_styles import FAULTS as LATE
from ten_styles import STYLES as TEN
from ten_styles import Away

import pfbench as pf
from pfbench.adapters import method_class
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.spider import Spider
from pfbench.base.protocols import State
from pfbench.claims.catalogue import CLAIMS
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial
from pfbench.verification.verdict import judge as judged

pytestmark = pytest.mark.claims

STYLES = [*((kind, name) for name, kind in RIGHT.items()), *((Floor, "sfw"), *TEN, *MORE)]
"""Right methods, with their names in the catalogue."""

WRONG = [*((kind, name) for name, kind in FAULTS), *LATE, *DRAWN]
"""Faulty ones."""

QUICK = {"Sgd", "ReferenceBefore", "OneOption", "Momentum", "BlockOfEight"}
"""Those that are always tried."""


def cases(pairs):
    for kind, name in pairs:
        marks = () if kind.__name__ in QUICK else (pytest.mark.long,)
        yield pytest.param(kind, name, marks=marks, id=f"{kind.__name__}-{name}")


def judge_by(what, name, kind):
    return judge(CLAIMS[f"methods-{what}-{name}"], Subject(kind))


@pytest.mark.parametrize(("kind", "name"), [*cases(STYLES)])
def test_a_right_method_in_another_style_is_not_accused(kind, name):
    for what in ("run", "law", "count"):
        found = judge_by(what, name, kind)
        expected = ("holds", "inconclusive") if what != "law" else ("holds",)
        assert found.verdict in expected, found.reason


class RootOfSum(Spider):
    """Normalises by another formula, whose rounding grows where a run is near the minimum."""

    def run(self, ask, x, rng):
        if self.option == 1:
            raise ValueError("option 1 is missing")
        estimate = self.estimator.start(ask, rng)
        for _ in range(self.iterations):
            v = estimate(x)
            length = self.step / max(math.sqrt((v * v).sum()), 1e-300)
            before, x = x, x - min(length, self.lam or math.inf) * v
            yield State(x, before, v)


def test_a_run_is_followed_although_rounding_grows():
    found = judge_by("run", "spider", RootOfSum)
    assert found.verdict == "holds", found.reason


class WithoutAlpha(Momentum):
    """Lacks alpha, and requires the step that most cases leave to the catalogue's rule."""

    def __init__(self, iterations, step, batch):
        super().__init__(iterations, step, batch)


def test_a_required_parameter_is_set_to_a_value_of_the_catalogue():
    for what in ("run", "law", "count"):
        found = judge_by(what, "momentum-sfw", WithoutAlpha)
        assert (found.verdict, "needs step" in found.reason) == ("holds", False)


@pytest.mark.parametrize(("kind", "name"), [*cases(WRONG)])
def test_a_fault_in_another_style_is_violated(kind, name):
    reasons = []
    for what in ("run", "count", "law"):
        found = judge_by(what, name, kind)
        if found.verdict == "violated":
            return
        reasons.append(found.reason)
    pytest.fail("; ".join(reasons))


def test_a_component_that_is_stored_once_may_be_queried_once():
    assert judge_by("count", "prox-saga", Once).verdict == "inconclusive"


class OpenLoopOnly(Plain):
    """Frank-Wolfe with one of its steps; a subclass says how far t goes."""

    requires = frozenset({"gradient", "lo"})
    deterministic = True
    last = math.inf

    def __init__(self, iterations, step="open-loop"):
        self.T, self.step = iterations, step

    def run(self, ask, x, rng):
        if self.step != "open-loop":
            raise ValueError("only the open loop is written")
        for t in range(self.T):
            g = ask.gradient(x)
            at, x = x, x + 2.0 / (min(t, self.last) + 2.0) * (ask.lo(g) - x)
            yield State(x, at, g)


class OpenLoopTo100(OpenLoopOnly):
    last = 100


class Refusing(OpenLoopOnly):
    def run(self, ask, x, rng):
        raise ValueError("nothing is written")
        yield


def test_options_that_a_method_refuses_are_left_out_and_named():
    found = judge_by("run", "frank-wolfe", OpenLoopOnly)
    assert found.verdict == "holds"
    assert "Not compared: offset, step=log-adaptive (refused)" in found.reason
    found = judge_by("run", "frank-wolfe", OpenLoopTo100)
    assert found.verdict == "violated"
    assert "iteration 101: State.x" in found.reason
    found = judge_by("run", "frank-wolfe", Refusing)
    assert (found.verdict, found.lost) == ("failed", False)
    assert "nothing is written" in found.reason


class Eager(ALGORITHMS["lsvrg"]):
    """Takes a full gradient more often by a tenth."""

    def run(self, ask, x, rng):
        more = dataclasses.replace(self, refresh=min(1.0, 1.1 * self.refresh))
        yield from super(Eager, more).run(ask, x, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "verdict"), [(Eager, "violated"), (None, "holds")])
def test_full_effort_sees_a_chance_that_is_off_by_a_tenth(kind, verdict):
    found = judged(Trial(CLAIMS["methods-law-lsvrg"], Subject(kind), "full", 0))
    assert (found.verdict, "the coin has another" in found.reason) == (verdict, kind is Eager)


class Undeclared(ALGORITHMS["spider-fw"]):
    """Draws by the L_i, which `requires` does not name."""

    asks = property(lambda self: self.requires)


def test_an_oracle_that_is_not_declared_is_no_option_that_is_refused():
    found = judge_by("run", "spider-fw", Undeclared)
    assert found.verdict == "failed"
    assert "add component_smoothness to `requires`" in found.reason


def plain_sfw(ask, x, rng, *, iterations, step, batch):
    """SFW as a function, whose output is the last iterate."""
    for _ in range(iterations):
        x = pf.combine(x, ask.lo(ask.batch(rng.integers(ask.n, size=batch), x)), step)
        yield State(x)


def points(ask, x, rng, *, iterations, step, batch):
    yield from (state.x for state in plain_sfw(ask, x, rng, iterations=1, step=step, batch=batch))


def test_the_output_of_a_function_without_a_rule_is_named_and_its_points_are_refused():
    found = judge_by("law", "sfw", method_class(plain_sfw))
    assert (found.verdict, "Not compared: output=uniform" in found.reason) == ("holds", True)
    found = judge_by("run", "sfw", method_class(points))
    assert found.verdict == "failed"
    assert "the method yields a ndarray, not a State: yield pf.State(x)" in found.reason


class NeedsSmoothness(OpenLoopOnly):
    """Open loop and short step, both of which need the parameter of the short step."""

    def __init__(self, iterations, smoothness, step="open-loop"):
        super().__init__(iterations, step)
        self.L = smoothness

    def run(self, ask, x, rng):
        if self.step != "short":
            yield from super().run(ask, x, rng)
            return
        for _ in range(self.T):
            g = ask.gradient(x)
            d = ask.lo(g) - x
            descent, bend = -np.vdot(g, d), self.L * np.vdot(d, d)
            gamma = float(descent > 0.0) if bend <= descent else max(descent / bend, 0.0)
            at, x = x, x + gamma * d
            yield State(x, at, g)


class NeedsMore(NeedsSmoothness):
    def __init__(self, iterations, smoothness, more, step="short"):
        super().__init__(iterations, smoothness, step)


class SearchOnly(Away):
    """Away-step Frank-Wolfe with a line search alone, of SciPy's default tolerance."""

    def __init__(self, iterations, step="line-search"):
        super().__init__(iterations, None, step)
        if step == "short":
            raise ValueError("only line search is written")

    def search(self, value, most):
        found = scipy.optimize.minimize_scalar(lambda s: value(s * most), bounds=(0.0, 1.0))
        return most * min(1.0, found.x, key=lambda s: value(s * most))


def test_a_line_search_may_be_inexact_and_lack_the_parameter_of_the_short_step():
    found = judge_by("run", "afw", SearchOnly)
    assert found.verdict == "inconclusive"
    assert "unhashable type" in found.reason  # its vertices are vectors


def test_options_without_a_parameter_that_the_method_needs_are_left_out_and_named():
    found = judge_by("run", "frank-wolfe", NeedsSmoothness)
    assert found.verdict == "holds"
    assert "step=open-loop (needs smoothness)" in found.reason
    for claim in ("methods-run-frank-wolfe", "jaggi2013-thm1"):
        found = judge(CLAIMS[claim], Subject(NeedsMore))
        assert found.verdict == "inconclusive"
        assert "more, which the check does not set: add a default" in found.reason


class Unnamed(OpenLoopOnly):
    """Open-loop Frank-Wolfe that has no parameter `step`."""

    def __init__(self, iterations):
        super().__init__(iterations)


class UnnamedTo100(Unnamed):
    last = 100


def test_a_method_without_the_parameter_that_selects_a_kind_is_compared_with_each():
    for what in ("run", "law", "count"):
        found = judge_by(what, "frank-wolfe", Unnamed)
        assert found.verdict == "holds", found.reason
    assert "Compared with step=open-loop." in found.reason
    found = judge_by("run", "frank-wolfe", UnnamedTo100)
    assert found.verdict == "violated"
    assert "iteration 101: State.x" in found.reason


class Unbatched(Plain):
    """Stochastic Frank-Wolfe that has no parameter `batch`."""

    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step):
        self.T, self.step = iterations, step


def test_a_parameter_that_a_method_lacks_in_every_case_is_named():
    for what in ("run", "law", "count"):
        found = judge_by(what, "sfw", Unbatched)
        assert found.verdict == "failed"
        assert "the method does not accept batch" in found.reason
