"""Right methods whose queries stand in another order are followed where n is 1 or 2."""

import pytest
from claims.variants.every import claims_of
from claims.variants.orders import REWRITTEN

from pfbench.algorithms import ALGORITHMS
from pfbench.verification.replay import replay_checks, replay_instances
from pfbench.verification.subject import NotTestable, Subject
from pfbench.verification.trial import Trial

FEW = 2
"""Components up to which several queries may fit one estimate."""


def followed():
    """Yield each variant, in each style, with the claim that follows its runs."""
    for variant in REWRITTEN:
        for claim in claims_of(variant):
            if claim.name.startswith("methods-run"):
                yield pytest.param(claim, variant, id=f"{variant.__name__}-{variant.style}")


@pytest.mark.thin(4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # one variant divides by a norm that is 0
@pytest.mark.parametrize(("claim", "variant"), [*followed()])
def test_a_variant_is_followed_where_queries_have_several_readings(claim, variant, monkeypatch):
    every = replay_instances.iterate_replay_cases(ALGORITHMS[variant.variant_of], "quick")
    few = [case for case in every if case.is_extreme and case.problem().n <= FEW]
    monkeypatch.setattr(replay_checks, "iterate_replay_cases", lambda *arguments: iter(few))
    try:
        evidence = replay_checks.compare_runs_with_reference(
            Trial(claim, Subject(variant)), name=variant.variant_of
        )
    except NotTestable:
        return
    assert evidence.decision.verdict != "violated", evidence.decision.reason
