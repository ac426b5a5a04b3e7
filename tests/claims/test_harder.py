"""Bounds of somebody's own on the catalogue's instances: false ones are refuted, right ones not."""

from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from claims.own_theorem import Descent
from uncertain_theorem import RIGHT, SMALL, Walk

from pfbench.base.errors import InputError
from pfbench.claims import Claim, counts, hard_families, harder_instances, rate
from pfbench.claims.catalogue import CLAIMS
from pfbench.problems.wrapper import NormedProblem
from pfbench.verification.instances import make_instance
from pfbench.verification.session import judge
from pfbench.verification.subject import NotTestable
from pfbench.verification.trial import Trial


def test_a_constant_too_small_by_ten_is_led_to_the_instance_that_refutes_it():
    assert judge(SMALL).verdict == "inconclusive"
    found = harder_instances.find_hardest_instance(SMALL)
    assert (found.verdict, found.mean) == ("violated", True)
    assert found.tests >= 1
    assert found.source_claim in CLAIMS
    assert f"{found.instance} of {found.source_claim}: violated there" in found.format()
    as_told = replace(
        SMALL,
        instances=(found.instance,),
        check=replace(SMALL.check, statistic="mean", runs=(80, 80)),
    )
    assert judge(as_told, seed=3).verdict == "violated"  # on other seeds, too
    assert judge(SMALL).verdict == "inconclusive"  # and nothing else has changed


def test_a_right_theorem_is_not_accused():
    found = harder_instances.find_hardest_instance(RIGHT, seconds=15.0)
    assert found.tried >= 5
    assert found.verdict in ("holds", "within-10", "attained", "inconclusive")
    assert "Add it to the claim's instances to test it there" in found.format()


def test_every_instance_is_made_again_by_its_selector():
    known = harder_instances.list_instances_of_claims()
    assert len(known) >= 242
    assert len({selector for _, selector, _ in known}) == len(known)
    for _, selector, instance in known:
        again = make_instance(selector)
        assert again.build is instance.build
        assert dict(again.parameters) == dict(instance.parameters), selector


fitting = harder_instances._iterate_fitting_instances


def test_what_a_claim_assumes_binds_and_what_its_own_instances_are_is_told():
    convex = replace(SMALL, assumptions=("convex",))
    problems = [one.instance.example() for one in fitting(convex)]
    assert problems
    assert all(problem.constants(problem.start()).ell == 0.0 for problem in problems)
    own = replace(SMALL, instances=("quadratic[source=synthetic,set=none,rows=20,columns=3]",))
    assert any("convex" in one.lacks for one in fitting(own))
    said = replace(SMALL, assumptions=("f is a sum",))
    assert {one.lacks[0] for one in fitting(said)} == {"f is a sum"}
    words = harder_instances.HardestInstance(
        "a", 1, 1.0, "b", "c", ("convex",), False, "violated", "", ""
    ).format()
    assert "(not known to satisfy: convex)" in words


@pytest.mark.parametrize("text", ["f convex", "convex", "f non-convex", "nonconvex", "L = L_ms"])
def test_assumptions_are_read_in_what_a_claim_says(text):
    named = ["convex"] if text.endswith("convex") and "non" not in text else []
    assert harder_instances._find_mentioned_assumptions(text) == named


def test_only_problems_of_the_same_parts_are_tried():
    """With the Euclidean smoothness of a plain problem a norm has nothing to do."""
    problems = [one.instance.example() for one in fitting(SMALL)]
    assert problems
    assert not any(isinstance(problem, NormedProblem) or problem.is_bounded for problem in problems)
    assert all(problem.penalty is None for problem in problems)


def test_what_takes_too_long_is_left_out():
    problem = SMALL.instances[0].example()
    method = Walk(iterations=10**9, step=1e-3)
    brief = Trial(SMALL, deadline=process_time() + 0.05)
    with pytest.raises(NotTestable, match="longer than the time limit"):
        for _ in brief.follow_with_previous_point(problem, method):
            pass
    part = Trial(SMALL, deadline=process_time() + 70.0).share_time(7)
    assert 9.0 < part.deadline - process_time() <= 10.0


def test_calls_follow_from_the_schedule():
    cost = replace(SMALL, check=counts(lambda c, a: {"sfo": 1}, parameters={}))
    with pytest.raises(InputError, match="walk-small cannot be tested on harder instances"):
        harder_instances.find_hardest_instance(cost)


# --- rates ----------------------------------------------------------------------------------------


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
    verdict = judge(easy)
    assert verdict.verdict == "holds"
    assert "no evidence for the rate" in verdict.reason
    hard = harder_instances.find_hardest_instance(easy)
    assert (hard.source_claim, hard.verdict) == ("finite-sum-chain", there)
    assert "the hardest family known" in hard.format()
    late = harder_instances.find_hardest_instance(easy, seconds=0.01)
    assert (late.tried, late.verdict, late.numbers) == (1, "inconclusive", "")
    assert late.format().endswith(": the runs take longer than the time limit of this check.")


def test_a_family_that_the_class_does_not_contain_is_not_tried():
    assert harder_instances.find_hardest_instance(rate_of(1.0, ("f convex",))).tried == 0
    own = make_instance(hard_families.sum_chain, largest=0.1)
    assert own.build_seeded(0, epsilon=0.02).epsilon == 0.02


@pytest.mark.parametrize(("exponent", "there"), [(0.5, "violated"), (2.0, "holds")])
def test_a_rate_of_the_gap_is_tried_on_chains_of_one_diameter(exponent, there):
    easy, step = rate_of(exponent), {"iterations": 10_000, "step": "short"}
    check = replace(easy.check, measure="fw_gap", count="lo", parameters=step | {"smoothness": 1.0})
    ball = ("quadratic[source=synthetic,set=l2]",)
    claim = replace(easy, algorithm="frank-wolfe", instances=ball, check=check)
    hard = harder_instances.find_hardest_instance(claim)
    assert (hard.source_claim, hard.verdict) == ("zero-chain", there)
