"""The claims about methods, and the published schedules, of all families."""

from pfbench.claims.methods import (
    accelerated,
    frank_wolfe,
    lan_sliding,
    loopless,
    loopless_frank_wolfe,
    natasha,
    nfwu,
    proximal,
    restarted,
    sliding,
    spider,
    stochastic_frank_wolfe,
)
from pfbench.claims.methods.stating import claims_about_methods
from pfbench.verification import Claim

SCHEDULES = {
    published.name: published
    for family in (
        *(frank_wolfe, stochastic_frank_wolfe, nfwu, sliding, restarted, proximal, spider),
        *(accelerated, natasha, loopless, loopless_frank_wolfe, lan_sliding),
    )
    for published in family.SCHEDULES
}
"""The published schedules by the names of the methods."""

CLAIMS = tuple(claims_about_methods(SCHEDULES))


def claim_about(what: str, name: str) -> Claim:
    """Return a claim about a method by what it tests and the method's name."""
    return next(one for one in CLAIMS if one.name == f"methods-{what}-{name}")
