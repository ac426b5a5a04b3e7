"""Hardest known families of problems, constructed for the accuracies of a rate."""

from collections.abc import Sequence

from pfbench.problems.chain_bounds import CHAIN_BOUNDS
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.zero_chain import DEPTH, GAP, ZeroChain, chain_scaling, chain_smoothness
from pfbench.verification.instances import Instance, make_instance

FAMILIES = ("finite-sum-chain", "zero-chain")
"""Names of the families in the catalogue: unconstrained, and on a ball."""


def sum_chain(epsilon: float = 0.1, n: int = 16, largest: float = 0.1) -> FiniteSumChain:
    """Return a sum of n zero chains, on which |grad f| stays above epsilon for as long as possible.

    The smoothness is L = 1. Every method that queries single components needs sqrt n/epsilon^2 of
    them, up to a constant. `largest` is the largest epsilon of the family: it determines Delta, and
    no epsilon above it is used.
    """
    epsilon = min(epsilon, largest)
    delta = 24.0 * CHAIN_BOUNDS.smoothness_bound * n**0.5 * largest**2
    return FiniteSumChain(n=n, epsilon=epsilon, delta=1.001 * delta)


def ball_chain(epsilon: float = 0.1, largest: float = 0.1) -> ZeroChain:
    """Return a zero chain on a ball of diameter D; its gap is above epsilon D as long as possible.

    The smoothness is L = 1. Every method that uses linear minimisation needs 1/epsilon^2 calls, up
    to a constant. `largest` is the largest epsilon of the family: it determines Delta, and no
    epsilon above it is used.
    """
    epsilon = min(epsilon, largest)
    delta = 1.001 * DEPTH / GAP**2 * chain_smoothness() * largest**2
    horizon, mu = chain_scaling(epsilon, 1.0, delta)
    return ZeroChain(horizon=horizon, columns=horizon, smoothness=1.0, mu=mu)


def list_hard_instances(epsilons: Sequence[float]) -> list[tuple[str, str, Instance]]:
    """List the hard problem families: the name, the selector and the instance of each."""
    largest = max(epsilons)
    builds = zip(FAMILIES, (sum_chain, ball_chain), strict=True)
    return [
        (
            name,
            f"{item.__module__}:{item.__qualname__}[largest={largest:g}]",
            make_instance(item, largest=largest),
        )
        for name, item in builds
    ]
