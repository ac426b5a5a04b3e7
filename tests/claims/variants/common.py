"""What the variants share: declarations, and the schedule of the catalogue's method."""

from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.base import get_parameters
from pfbench.verification.subject import (
    accepts_any_parameters,
    instantiate_with_accepted_parameters,
)


class Own:
    """A right method in a style of its own; `variant_of` is the catalogue's name for it."""

    name = "own"
    assumes = frozenset()
    deterministic = False
    output = "uniform"

    @classmethod
    def theory(cls, epsilon, constants, **given):
        """Take the schedule of the catalogue's method."""
        right = ALGORITHMS[cls.variant_of].theory(epsilon, constants, **given)
        return instantiate_with_accepted_parameters(
            cls,
            right.list_required_parameters() if accepts_any_parameters(cls) else (),
            **get_parameters(right),
        )


class Certain(Own):
    """One without randomness, which returns its last point."""

    deterministic = True
    output = "last"


class Options:
    """Takes whatever parameters it is given."""

    def __init__(self, **given):
        vars(self).update(given)


EPOCHS = frozenset({"gradient", "difference", "lo"})
"""What Frank-Wolfe with an epoch's reference gradient asks."""

PROXIMAL = frozenset({"gradient", "difference", "prox"})
"""What proximal steps with an epoch's reference gradient ask."""


def epochs(T, p):
    """Yield the length of each epoch of p iterations; the last may be cut short."""
    for first in range(0, T, p):
        yield min(p, T - first)


def variants_in(*modules):
    """Return the variants of modules, in their order."""
    return [
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__ and hasattr(one, "run")
    ]
