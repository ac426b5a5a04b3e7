"""All variants, and the claims that each is held to."""

from claims.variants import plain
from claims.variants.common import variants_in

from pfbench.claims.catalogue import CLAIMS

VARIANTS = plain.STYLES + variants_in(plain)

QUICK = 0.5
"""Seconds of a check, as its claim tells them, beyond which it is left to the slow tests."""


def claims_of(variant):
    """Return the claims, of those with a quick check, that a variant is held to."""
    every = [claim for claim in CLAIMS.values() if claim.algorithm == variant.variant_of]
    named = getattr(variant, "judged_by", None) or [claim.name for claim in every]
    left_out = getattr(variant, "not_for", ())
    return [
        claim
        for claim in every
        if claim.expected_seconds[0] is not None
        and claim.name in named
        and claim.name not in left_out
    ]


def is_slow(variant, claim):
    """Return whether a variant takes long to be held to a claim."""
    return claim.expected_seconds[0] > QUICK or claim.name in getattr(variant, "slow", ())
