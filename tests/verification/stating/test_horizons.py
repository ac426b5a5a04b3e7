"""Horizons grow: at T, 4T, 16T, ..., as far as the work allows; least values that nobody stated."""

from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import pfbench as pf
from pfbench.base.status import Verdict
from pfbench.claims import Claim, bound, counts
from pfbench.verification.instances import make_instance
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.session import Verification, judge
from pfbench.verification.statements import horizons
from pfbench.verification.statements.quantity import ACCURACY, _gap, as_function, minimise_convex
from pfbench.verification.statements.setting import ClaimSetting
from pfbench.verification.statistics import Decision, Evidence
from pfbench.verification.subject import NotTestable
from pfbench.verification.trial import Trial
from pfbench.verification.verdict_tables import verdict_table


@dataclass(frozen=True, kw_only=True)
class Descent(pf.Algorithm):
    """Gradient descent, which may turn round."""

    name, deterministic = "descent", True
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float = 1.0
    turn: int = 10**9

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.step * g if t <= self.turn else x + self.step * g
            yield pf.State(x, at, g)


def slope(epsilon=0.1):
    """Return a long slope."""
    return ConstantSlopeProblem(n=2, g=2 * epsilon, gap=1.0)


def steps(constants, T=50, turn=10**9):
    return {"iterations": T, "step": 1 / constants.L_f, "turn": turn}


def most(c, a):
    return 2 * c.L_f * c.delta / a.iterations


def claim(check, *, instances=(slope,), name="descent-mean"):
    return Claim(
        name=name, statement="", source="", algorithm=Descent, instances=instances, check=check
    )


def mean(**given):
    return claim(bound(most, "gradient_mapping_sq", parameters=partial(steps, **given)))


@pytest.mark.parametrize("turn", [224, 600])
def test_a_method_that_turns_round_late_is_violated(turn):
    """The slope of T = 3 200 leads down for 800 steps."""
    verdict = judge(mean(turn=turn))
    assert verdict.verdict == "violated"
    assert verdict.reason.startswith("T = 3200: The inequality fails")
    assert verdict.line == "violated · 2 times the bound · T <= 3 200, n <= 2, d <= 1"


def test_instances_for_the_horizon_go_on_where_others_take_too_long():
    large = "quadratic[source=synthetic,set=none,rows=2000,columns=20]"
    check = bound(most, "gradient_mapping_sq", parameters=partial(steps, turn=600))
    verdict = judge(claim(check, instances=(slope, large)))
    assert verdict.verdict == "violated"
    assert verdict.reason.startswith("T = 3200 on slope: ")
    assert verdict.reason.endswith(" T <= 800 on quadratic.")


def test_a_right_method_keeps_its_verdict_and_says_how_far_was_looked():
    verdict = judge(mean())
    assert verdict.verdict == "within-10"
    assert verdict.max_sizes["T"] == 3200
    assert verdict.measured["horizons"] == [50, 200, 800, 3200]
    again = judge(mean())
    assert (again.measured, again.reason) == (verdict.measured, verdict.reason)


@pytest.mark.parametrize(
    ("parameters", "horizon"),
    [
        (steps, ("T", 50)),
        (lambda c, iterations=7: {"iterations": iterations}, ("iterations", 7)),
        (lambda c: {"iterations": 50, "step": 0.1}, None),
        ({"iterations": 40, "step": "open-loop", "restart": True}, ("iterations", 40)),
        ({"iterations": 40, "step": 0.1}, None),  # which may have been chosen for 40 steps
        ({"iterations": 40, "batch": 3}, None),
        ({"epsilon": 0.1}, None),
        ({}, None),
    ],
)
def test_a_horizon_grows_only_where_the_author_says_what_else_changes(parameters, horizon):
    assert ClaimSetting(parameters=parameters).horizon("quick") == horizon


def test_what_a_full_verification_replaces_is_where_it_begins():
    of_mapping = ClaimSetting(parameters={"iterations": 40}, full={"iterations": 90})
    assert of_mapping.horizon("full") == ("iterations", 90)
    assert ClaimSetting(parameters=steps, full={"iterations": 90}).horizon("full") is None


def test_a_bound_that_falls_below_rounding_accuses_no_right_method():
    """A linear rate at 3 200 steps is 2^-3200, and what is measured is rounding."""
    halving = bound(lambda c, a: 2.0**-a.iterations, lambda p, x: 1e-12, parameters=steps)
    assert judge(claim(halving)).verdict == "violated"  # at the stated horizon it is the author's

    def fifth(problem, x):
        return 1.0 if (x == problem.start()).all() else 1e-17

    tiny = bound(lambda c, a: 2.0**-a.iterations, fifth, statistic="last", parameters=steps)
    verdict = judge(claim(tiny))
    assert verdict.verdict.keeps_bound, verdict.reason
    assert verdict.max_sizes["T"] == 3200


def test_the_table_of_verdicts_has_every_horizon():
    table = verdict_table(Verification((judge(mean()),)), [], {}, "pfbench verify")
    assert "| T = 50, 200, 800, 3 200; n <= 2; d <= 1 |" in table


def test_counts_grow_too():
    right = claim(counts(lambda c, a: {"sfo": 2 * a.iterations}, parameters=steps))
    assert judge(right).max_sizes["T"] == 3200
    few = claim(counts(lambda c, a: {"sfo": 2 * min(a.iterations, 300)}, parameters=steps))
    verdict = judge(few)
    assert verdict.verdict == "violated"
    assert verdict.reason.startswith("T = 800: ")
    for expected in (False, True):  # SFO is odd for none of the multiples of T = 50
        even = counts(lambda c, a: {"sfo": 4 * (a.iterations // 2)}, parameters=steps)
        verdict = judge(claim(replace(even, expected=expected)))
        assert (verdict.verdict, "but not for T-1: " in verdict.reason) == ("inconclusive", True)


# --- by a check that is made up -------------------------------------------------------------------


def along(verdicts, *, ratio=0.5, p_value=None, work=0.01, effort="quick", epsilons=(), fixed=None):
    """Return the evidence, and the multiples of the horizon that were tried.

    The accuracies of the instances are added to `epsilons`; by default they are no horizon's.
    """
    said, tried = iter(verdicts), []
    epsilons = [] if epsilons == () else epsilons
    fixed = {"epsilon": 0.1} if fixed is None else fixed
    trial = Trial(replace(mean(), instances=(make_instance(slope, **fixed),)), effort=effort)

    def check(longer):
        tried.append(longer.horizon_multiple)
        epsilons.append(longer.claim.instances[0].parameters.get("epsilon"))
        verdict = next(said)
        if isinstance(verdict, Exception):
            raise verdict
        longer.coverage.work += work * longer.horizon_multiple
        longer.coverage.T = max(longer.coverage.T, 50 * longer.horizon_multiple)
        measured = {"ratio": ratio if longer.horizon_multiple > 1 else 0.5}
        return Evidence(Decision(verdict, f"it {verdict}.", measured, p_value), {}, 1)

    found = horizons.decide_at_growing_horizons(trial, [ClaimSetting(parameters=steps)], check)
    return found, tried, trial.coverage


def test_an_undecided_horizon_ends_it_and_is_not_what_was_tested():
    found, tried, seen = along(["holds", "holds", "inconclusive"])
    assert (found.decision.verdict, tried) == ("holds", [1, 4, 16])
    assert (seen.T, seen.horizons) == (200, (50, 200))


@pytest.mark.parametrize("given", [{"ratio": 1.01}, {"p_value": 1e-4}])
def test_what_speaks_against_it_on_a_longer_run_is_not_left_out(given):
    found, tried, seen = along(["holds", "inconclusive"], **given)
    assert (found.decision.verdict, tried, seen.T) == ("inconclusive", [1, 4], 200)


def test_the_best_horizon_and_the_worst_one_decide_as_instances_do():
    found, _, _ = along(["holds", "within-10", "holds", "holds"])
    assert found.decision.verdict == "within-10"
    found, tried, _ = along(["attained", "violated"])
    assert (found.decision.verdict, tried) == ("violated", [1, 4])
    assert along(["inconclusive"])[1] == [1]


def test_every_test_on_a_longer_run_is_counted_for_the_level():
    found, _, _ = along(["holds"] * 4, p_value=0.5)
    assert found.decision.test_count == 4


def test_a_horizon_that_cannot_be_made_ends_it():
    found, tried, seen = along(["holds", "holds", ValueError("no such size")])
    assert (found.decision.verdict, tried, seen.T) == ("holds", [1, 4, 16], 200)


@pytest.mark.parametrize(
    ("work", "effort", "most"),
    [
        (0.01, "quick", 64),
        (0.1, "quick", 4),
        (1.0, "quick", 1),
        (1e-4, "full", 4096),
        (1.0, "full", 16),
    ],
)
def test_how_far_follows_from_the_work_that_is_counted(work, effort, most):
    """A claim of no file has 1 s in a quick verification, and 60 s in a full one."""
    _, tried, _ = along(["holds"] * 9, work=work, effort=effort)
    assert tried[-1] == most


@pytest.mark.parametrize(
    ("work", "tried"),
    [
        (1e-3, [1, 4, 16, 64, 64, 64, 64, 16, 16, 4]),
        (5e-3, [1, 4, 16, 64, 64, 16, 16, 4]),
        (0.01, [1, 4, 16, 64, 4]),
    ],
)
def test_longer_runs_are_made_on_the_instances_of_shorter_ones_as_the_work_allows(work, tried):
    epsilons = []
    _, multiples, seen = along(["holds"] * 10, work=work, epsilons=epsilons, fixed={})
    assert multiples == tried
    assert epsilons[:4] == [None] * 4
    assert epsilons[4] == 0.1
    assert seen.horizons == (50, 200, 800, 3200)


def test_a_violation_on_a_shorter_instance_ends_it():
    found, tried, seen = along(["holds"] * 4 + ["violated"] * 9, work=1e-3, fixed={})
    assert (found.decision.verdict, tried) == ("violated", [1, 4, 16, 64, 64])
    assert found.decision.reason.startswith("T = 3200 on instances for T = 50: ")
    assert seen.horizons == (50, 200, 800, 3200)


def test_where_the_clock_ends_it_the_reason_says_so(monkeypatch):
    monkeypatch.setattr(horizons, "_PATIENCE", 0.0)
    monkeypatch.setattr(horizons, "_LEAST", 0.0)
    found, tried, _ = along(["holds"] * 4)
    assert tried == [1]
    assert found.decision.reason.endswith("T = 200 is left out: shorter runs took too long.")


def test_a_claim_of_a_file_has_more_time_than_one_of_the_catalogue():
    trial = Trial(mean())
    assert horizons._max_seconds_for_longer_horizons(trial) == horizons.SHORT
    own = replace(trial, claim=replace(mean(), user_source=object()))
    assert horizons._max_seconds_for_longer_horizons(own) == horizons.SECONDS["quick"]
    assert (
        horizons._max_seconds_for_longer_horizons(replace(own, effort="full"))
        == horizons.SECONDS["full"]
    )
    assert Verdict.HOLDS.keeps_bound


# --- least values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("selected", ["l1", "l2", "simplex", "box", "permutahedron"])
def test_no_point_is_below_a_certified_value(selected):
    problem = pf.problem("quadratic", source="synthetic", set=selected)
    assert problem.best_known is None
    least, x = minimise_convex(problem), problem.start()
    g = problem.gradient(x)
    gap = float(g @ x) - float(problem.set.minimum(g)[0])
    assert problem.value(x) - gap <= least <= problem.value(x)
    for vertex in (problem.set.lo(g), problem.set.lo(-g)):
        assert problem.value(vertex) >= least - ACCURACY * gap
    assert as_function(problem, "suboptimality")(x) == pytest.approx(problem.value(x) - least)


def test_a_minimum_within_bounds_certifies_by_its_lower_one():
    body = SimpleNamespace(minimum=lambda g: (-2.0, -1.0))
    assert _gap(SimpleNamespace(gradient=lambda x: x, set=body), np.ones(1)) == 3.0


def test_it_is_that_of_least_squares_where_the_set_leaves_these():
    free = pf.problem("quadratic", source="synthetic", set="none")
    wide = pf.problem("quadratic", source="synthetic", set="l2", radius=1000.0)
    assert minimise_convex(wide) == pytest.approx(free.best_known[0], rel=1e-8)
    assert np.isfinite(minimise_convex(wide))


def test_a_problem_that_is_not_convex_is_refused():
    problem = pf.problem("nonconvex-logistic", source="synthetic")
    with pytest.raises(NotTestable, match="the minimum of nonconvex-logistic is not known"):
        minimise_convex(problem)
