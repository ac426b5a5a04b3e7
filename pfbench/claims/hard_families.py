"""Hardest known families of problems, constructed for the accuracies of a rate."""

from collections.abc import Sequence
from dataclasses import replace

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
    """Return a zero chain on a ball; its Frank-Wolfe gap is above epsilon as long as possible.

    The smoothness is L = 1, and the diameter is that of the whole family. Every method that uses
    linear minimisation needs 1/epsilon^2 calls, up to a constant. `largest` is the largest epsilon
    of the family: it determines Delta, and no epsilon above it is used.
    """
    epsilon = min(epsilon, largest)
    delta = 1.001 * DEPTH / GAP**2 * chain_smoothness() * largest**2
    horizon, mu = chain_scaling(epsilon, 1.0, delta)
    chain = ZeroChain(horizon=horizon, columns=horizon, smoothness=1.0, mu=mu)
    # The gap of that chain is above epsilon D, and a gap scales as mu^2.
    return replace(chain, mu=mu / chain.set.diameter**0.5)


def list_hard_instances(epsilons: Sequence[float]) -> list[tuple[str, str, Instance]]:
    """List the hard problem families: the name, the selector and the instance of each."""
    names = sum_chain.__name__, ball_chain.__name__
    selectors = [f"{__name__}:{name}[largest={max(epsilons):g}]" for name in names]
    return list(zip(FAMILIES, selectors, map(make_instance, selectors), strict=True))
