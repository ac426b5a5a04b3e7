"""Reference implementations of each method, in the notation of its paper.

A reference is a generator function of 10 to 25 lines, ``reference(ask, x, rng, s)``. It imports
neither estimators nor points, so that an error in them is not in both programs. `verify` replays
the reference against the catalogue's method, and the tests run it as a method.

Arguments of a reference
------------------------
ask
    The oracles, with `n` and `D`. Points, vertices and gradients are plain arrays (vectors or
    matrices), even if the problem's own are factored.
x
    The start, an array.
rng
    ``rng.integers(ask.n, size=b)`` draws a batch, ``rng.random() < p`` flips a coin,
    ``int(rng.integers(m))`` picks one of the next m points, ``rng.choice(ask.n, size=b,
    replace=False)`` draws a subset and ``rng.choice(ask.n, size=b, p=q)`` a batch by other chances,
    ``rng.multinomial(b, q)`` the counts of a batch. In a replay a batch is resolved when it is
    first queried: pass it to an oracle unchanged, and do not read its entries before.
s
    The parameters, by the names of the catalogue, and the functions
``s.condg(ask, l, u, lam, eta)`` and ``s.line_search(value, upper, *other_steps)``, which a
replay replaces by judges.

A reference yields a `State` after each update, with new arrays that it does not change afterwards.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.base import get_parameters
from pfbench.base.names import find_entry
from pfbench.base.state import State
from pfbench.verification.references import (
    accelerated,
    frank_wolfe,
    loopless_frank_wolfe,
    nfwu,
    norms,
    proximal,
    sliding,
    stochastic_frank_wolfe,
)
from pfbench.verification.references.inner import condg, line_search

_FAMILIES = (
    *(frank_wolfe, stochastic_frank_wolfe, loopless_frank_wolfe, nfwu),
    *(proximal, accelerated, norms, sliding),
)

REFERENCES: Mapping[str, Any] = MappingProxyType(
    {name: reference for family in _FAMILIES for name, reference in family.REFERENCES.items()}
)
"""The references by the names of the catalogue."""


@dataclass(frozen=True)
class PlainMethod:
    """Adapter that runs a reference as a method.

    Attributes
    ----------
    algorithm
        The catalogue's method with its parameters.
    """

    algorithm: Any

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return str(self.algorithm.name)

    @property
    def output(self) -> str:
        """The declared output."""
        return str(self.algorithm.output)

    @property
    def asks(self) -> frozenset[str]:
        """The oracles that it queries."""
        asks: frozenset[str] = self.algorithm.asks
        return asks

    requires = asks

    def output_weight(self, k: int) -> float:
        """Return the weight of iteration k in the draw of a weighted output."""
        return float(self.algorithm.output_weight(k))

    def run(self, ask: Any, x: Any, rng: np.random.Generator) -> Iterator[State]:
        """Run the reference, with vertices as dense arrays."""
        seams = {"condg": condg, "line_search": line_search}
        s = SimpleNamespace(**get_parameters(self.algorithm), **seams)
        reference = find_entry("reference", self.name, REFERENCES)
        yield from reference(_Dense(ask), x, rng, s)


def load_reference(name: str, **parameters: Any) -> PlainMethod:
    """Return the reference of a catalogue method with these parameters, as a runnable method."""
    return PlainMethod(find_entry("algorithm", name, ALGORITHMS)(**parameters))


class _Dense:
    """Wrapper of oracles that returns vertices as dense arrays."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ask, name)

    def lo(self, g: Any) -> Any:
        """Return a vertex as an array."""
        return np.asarray(self._ask.lo(g))
