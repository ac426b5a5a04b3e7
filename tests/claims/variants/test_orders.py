"""Right methods whose queries stand in another order are not called violated."""

from dataclasses import replace

import pytest
from claims.variants.every import claims_of
from claims.variants.orders import REWRITTEN

from pfbench.verification.laws.at_size import at_extremes
from pfbench.verification.subject import Subject, Untestable
from pfbench.verification.trial import Trial

FEW = 2
"""Components up to which several queries may fit one estimate."""


def followed():
    """Yield each variant, in each style, with the claim that follows its runs."""
    for variant in REWRITTEN:
        for claim in claims_of(variant):
            if claim.name.startswith("methods-run"):
                yield pytest.param(claim, variant, id=f"{variant.__name__}-{variant.style}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # one variant divides by a norm that is 0
@pytest.mark.parametrize(("claim", "variant"), [*followed()])
def test_a_variant_is_followed_where_queries_have_several_readings(claim, variant):
    method = claim.check.keywords["method"]
    few = tuple(one for one in method.extreme if one.problem().n <= FEW)
    assert few or not method.extreme
    try:
        decision = at_extremes(Trial(claim, Subject(variant)), replace(method, extreme=few))
    except Untestable:
        return
    assert decision.verdict != "violated", decision.reason
