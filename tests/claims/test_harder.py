"""Bounds of somebody's own on the catalogue's instances: false ones are refuted, right ones not."""

from dataclasses import dataclass, replace
from time import process_time

import numpy as np
import pytest
from uncertain_theorem import RIGHT, SMALL, Walk

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.claims import Claim, counts, hard_families, harder, rate
from pfbench.claims.catalogue import CLAIMS
from pfbench.problems.with_norm import Normed
from pfbench.verification.instances import instance
from pfbench.verification.session import judge


def test_a_constant_too_small_by_ten_is_led_to_the_instance_that_refutes_it():
    assert judge(SMALL).verdict == "inconclusive"
    found = harder.hardest(SMALL)
    assert (found.verdict, found.mean) == ("violated", True)
    assert found.tests >= 1
    assert found.of in CLAIMS
    assert f"{found.instance} of {found.of}: violated there" in found.in_words()
    as_told = replace(
        SMALL, instances=(found.instance,), check=replace(SMALL.check, over="mean", runs=(80, 80))
    )
    assert judge(as_told, seed=3).verdict == "violated"  # on other seeds, too
    assert judge(SMALL).verdict == "inconclusive"  # and nothing else has changed


def test_a_right_theorem_is_not_accused():
    found = harder.hardest(RIGHT)
    assert found.tried >= 5
    assert found.verdict in ("holds", "within-10", "attained", "inconclusive")
    assert "Put it among the claim's instances to have it tested there" in found.in_words()


def test_every_instance_is_made_again_by_its_selector():
    known = harder.catalogue()
    assert len(known) >= 242
    assert len({selector for _, selector, _ in known}) == len(known)
    for _, selector, one in known:
        again = instance(selector)
        assert again.build is one.build
        assert dict(again.parameters) == dict(one.parameters), selector


def test_what_a_claim_assumes_binds_and_what_its_own_instances_are_is_told():
    convex = replace(SMALL, assumptions=("convex",))
    fitting = [one.one.example() for one in harder._fitting(convex)]
    assert fitting
    assert all(problem.constants(problem.start()).ell == 0.0 for problem in fitting)
    own = replace(SMALL, instances=("quadratic[source=synthetic,set=none,rows=20,columns=3]",))
    lacks = [one.lacks for one in harder._fitting(own)]
    assert any("convex" in one for one in lacks)
    said = replace(SMALL, assumptions=("f is a sum",))
    assert {one.lacks[0] for one in harder._fitting(said)} == {"f is a sum"}
    words = harder.Hardest("a", 1, 1.0, "b", "c", ("convex",), False, "violated", "", "").in_words()
    assert "(not known of it: convex)" in words


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("f convex", ["convex"]),
        ("convex", ["convex"]),
        ("f non-convex", []),
        ("nonconvex", []),
        ("L = L_ms", []),
    ],
)
def test_assumptions_are_read_in_what_a_claim_says(text, named):
    assert harder._assumptions_in(text) == named


def test_a_right_theorem_on_convex_functions_is_tried_on_convex_ones_alone(monkeypatch):
    """Without its assumption it is false by 14 times, on a random quadratic."""
    monkeypatch.setattr(harder, "SECONDS", 1.5)
    found = harder.hardest(CLAIMS["jaggi2013-thm1"])
    assert found.verdict.is_kept
    assert found.tried >= 5
    assert "f convex" not in found.lacks


def test_only_problems_of_the_same_parts_are_tried():
    """With the Euclidean smoothness of a plain problem a norm has nothing to do."""
    fitting = [one.one.example() for one in harder._fitting(SMALL)]
    assert fitting
    assert not any(isinstance(problem, Normed) or problem.bounded for problem in fitting)
    assert all(problem.penalty is None for problem in fitting)


def test_what_takes_too_long_is_left_out():
    problem = SMALL.instances[0].example()
    method = Walk(iterations=10**9, step=1e-3)
    brief = harder._Brief(SMALL, until=process_time() + 0.05)
    with pytest.raises(harder._TooLong):
        for _ in brief.moves(problem, method):
            pass


def test_calls_follow_from_the_schedule():
    cost = replace(SMALL, check=counts(lambda c, a: {"sfo": 1}, parameters={}))
    with pytest.raises(InputError, match="walk-small has no bound"):
        harder.hardest(cost)


# --- rates ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Descent(pf.Algorithm):
    """Gradient descent."""

    name, deterministic = "descent", True
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


def rate_of(exponent, assumptions=()):
    return Claim(
        name="easy-rate",
        statement="",
        source="",
        algorithm=Descent,
        instances=("quadratic[source=synthetic,set=none]",),
        assumptions=assumptions,
        check=rate(
            exponent,
            [0.1, 0.05, 0.02, 0.01],
            measure=lambda problem, x: float(np.linalg.norm(problem.gradient(x))),
            decades=1,
            parameters=lambda c: {"iterations": 20_000, "step": 1 / c.L_f},
        ),
    )


@pytest.mark.parametrize(("exponent", "there"), [(1.0, "violated"), (2.0, "holds")])
def test_a_rate_on_an_easy_problem_is_no_evidence_and_is_tried_on_the_hardest_family(
    exponent, there
):
    easy = rate_of(exponent)
    found = judge(easy)
    assert found.verdict == "holds"
    assert "No evidence for the rate here" in found.reason
    hard = harder.hardest(easy)
    assert (hard.of, hard.verdict) == ("finite-sum-chain", there)
    assert "the hardest family known" in hard.in_words()


def test_a_family_that_the_class_does_not_contain_is_not_tried():
    assert harder.hardest(rate_of(1.0, ("f convex",))).tried == 0
    own = instance(hard_families.sum_chain, largest=0.1)
    assert own.of_seed(0, epsilon=0.02).epsilon == 0.02
    assert hard_families.ball_chain(0.05).horizon >= 4
