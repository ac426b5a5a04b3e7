"""Right methods in other styles: none is called violated by a claim of its method."""

import pytest
from claims.variants.every import VARIANTS, claims_of, is_slow
from claims.variants.orders import REWRITTEN

from pfbench.algorithms import ALGORITHMS
from pfbench.checking import check
from pfbench.verification.replay import replay_checks, replay_instances
from pfbench.verification.session import judge
from pfbench.verification.subject import NotTestable, Subject
from pfbench.verification.trial import Trial


def cases():
    """Yield what is quick; `tests/tools/repeat_variants.py` holds variants to the other claims."""
    for variant in VARIANTS:
        for claim in claims_of(variant):
            if not is_slow(variant, claim):
                yield pytest.param(variant, claim, id=f"{variant.__name__}-{claim.name}")


def test_there_are_forty_variants_and_one_at_least_of_every_method():
    assert len(VARIANTS) >= 40
    assert {variant.variant_of for variant in VARIANTS} == set(ALGORITHMS)


@pytest.mark.thin(13)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
def test_a_variant_passes_every_check(variant):
    report = check(variant)
    assert report.is_passed, str(report)


@pytest.mark.thin(16)
@pytest.mark.claims
@pytest.mark.parametrize(("variant", "claim"), [*cases()])
def test_a_variant_passes(variant, claim):
    verdict = judge(claim, Subject(variant))
    untold = getattr(variant, "untold", {}) | {"shen2019-rem3.1": "has no parameter probability"}
    if claim.name in untold:
        assert verdict.lost
        assert verdict.verdict in ("failed", "inconclusive")
        assert untold[claim.name] in verdict.reason
    elif claim.paper == "methods":  # a variant need not tell all that these compare
        lacks = verdict.lost and verdict.reason.startswith("the method has no parameter")
        expected = ("failed",) if lacks else ("holds", "within-10", "attained", "inconclusive")
        assert verdict.verdict in expected, verdict.reason
    else:
        assert verdict.verdict in ("holds", "within-10", "attained", "disputed"), verdict.reason
        assert verdict.measured.get("verdict") != "violated", verdict.reason


# --- right methods whose queries stand in another order are followed where n is 1 or 2 ------------

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
