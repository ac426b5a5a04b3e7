"""The claims about methods, and the published schedules, of all families."""

from pfbench.claims.methods import (
    reference_accelerated,
    reference_frank_wolfe,
    reference_lan_sliding,
    reference_loopless,
    reference_loopless_frank_wolfe,
    reference_natasha,
    reference_nfwu,
    reference_proximal,
    reference_sliding,
    reference_spider,
    reference_stochastic_frank_wolfe,
    restarted,
)
from pfbench.claims.methods.method_claims import claims_about_methods
from pfbench.verification import Claim

SCHEDULES = {
    published.name: published
    for family in (
        *(
            reference_frank_wolfe,
            reference_stochastic_frank_wolfe,
            reference_nfwu,
            reference_sliding,
            restarted,
            reference_proximal,
            reference_spider,
        ),
        *(
            reference_accelerated,
            reference_natasha,
            reference_loopless,
            reference_loopless_frank_wolfe,
            reference_lan_sliding,
        ),
    )
    for published in family.SCHEDULES
}
"""The published schedules, by the name of the method."""

CLAIMS = tuple(claims_about_methods(SCHEDULES))


def find_claim_about_method(tested_part: str, method_name: str) -> Claim:
    """Return the claim that tests this part of a method, by the method's name."""
    return next(claim for claim in CLAIMS if claim.name == f"methods-{tested_part}-{method_name}")
