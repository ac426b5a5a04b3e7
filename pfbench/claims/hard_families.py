"""Hardest known families of problems, constructed for the accuracies of a rate."""

from collections.abc import Sequence

from pfbench.problems.chain_bounds import chain_bounds
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.zero_chain import DEPTH, GAP, ZeroChain, chain_scaling, chain_smoothness
from pfbench.verification.instances import Instance, make_instance

FAMILIES = ("finite-sum-chain", "zero-chain")
"""Names in the catalogue; the set decides which of them applies."""


def sum_chain(epsilon: float = 0.1, n: int = 16, largest: float = 0.1) -> FiniteSumChain:
    """Return n chains with L = 1 on which |grad f| > epsilon for long, to `largest`.

    On them every method that queries single components needs sqrt n/epsilon^2 of them, up to a
    constant.
    """
    epsilon = min(epsilon, largest)
    delta = 24.0 * chain_bounds().smoothness_bound * n**0.5 * largest**2
    return FiniteSumChain(n=n, epsilon=epsilon, delta=1.001 * delta)


def ball_chain(epsilon: float = 0.1, largest: float = 0.1) -> ZeroChain:
    """Return a chain with L = 1 on a ball; its gap is above epsilon D for long, to `largest`.

    On it every method that minimises linearly needs 1/epsilon^2 calls, up to a constant.
    """
    epsilon = min(epsilon, largest)
    delta = 1.001 * DEPTH / GAP**2 * chain_smoothness() * largest**2
    horizon, mu = chain_scaling(epsilon, 1.0, delta)
    return ZeroChain(horizon=horizon, columns=horizon, smoothness=1.0, mu=mu)


def families(epsilons: Sequence[float]) -> list[tuple[str, str, Instance]]:
    """Return each family for these accuracies: its name, its selector, and the instance."""
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
