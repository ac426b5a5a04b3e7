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

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pfbench.verification.references import (
    accelerated,
    frank_wolfe,
    norms,
    proximal,
    sliding,
    stochastic_frank_wolfe,
)

REFERENCES: Mapping[str, Any] = MappingProxyType(
    {
        **frank_wolfe.REFERENCES,
        **stochastic_frank_wolfe.REFERENCES,
        **proximal.REFERENCES,
        **accelerated.REFERENCES,
        **norms.REFERENCES,
        **sliding.REFERENCES,
    }
)
"""The references by the names of the catalogue."""
