"""Reference implementations of all built-in methods, in the notation of the papers.

A reference is a generator function of 10 to 25 lines, ``reference(ask, x, rng, s)``. It shares no
code with the gradient estimators and points of pfbench, so that an error there cannot occur in both
programs. `verify` compares the built-in method with its reference, and the tests run the reference
as a method.

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
    replace=False)`` draws a subset and ``rng.choice(ask.n, size=b, p=q)`` a batch by other chances.
    In a replay a batch is resolved when it is first queried: pass it or its slices to an oracle
    unchanged, and do not read its entries before.
s
    The parameters, by the names of the catalogue, and the functions
``s.condg(ask, l, u, lam, eta)`` and ``s.line_search(value, upper, *other_steps)``, which a
replay replaces by judges.

A reference yields a `State` after each update, with new arrays that it does not change afterwards.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pfbench.verification.references import (
    accelerated,
    frank_wolfe,
    linear_minimisation,
    proximal,
    sliding,
)

REFERENCES: Mapping[str, Any] = MappingProxyType(
    {
        **frank_wolfe.REFERENCES,
        **linear_minimisation.REFERENCES,
        **proximal.REFERENCES,
        **accelerated.REFERENCES,
        **sliding.REFERENCES,
    }
)
"""Reference implementations, by the catalogue's name of the method."""
