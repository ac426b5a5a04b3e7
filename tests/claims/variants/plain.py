"""Plain references as methods, for each method that no variant writes in another style."""

from types import SimpleNamespace

import numpy as np
from claims.variants import (
    active_set,
    frank_wolfe,
    loopless,
    nfwu_batches,
    nfwu_epochs,
    proximal,
    sliding,
)
from claims.variants.common import variants_in
from twisted import Twisted

from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.frank_wolfe import line_search
from pfbench.verification.references import REFERENCES

STYLES = variants_in(
    *(nfwu_batches, nfwu_epochs, proximal, frank_wolfe, sliding, loopless, active_set)
)
"""The variants that are written in a style of their own."""


class Dense(Twisted):
    """Oracles whose vertices are arrays."""

    def lo(self, g):
        """Return the vertex as an array."""
        return np.asarray(self.ask.lo(g))


def plain(name):
    """Return the plain reference of a method as a class with the catalogue's declarations."""

    def run(self, ask, x, rng):
        inner = {"condg": sliding.slide, "line_search": line_search}
        parameters = SimpleNamespace(**get_parameters(self), **inner)
        return REFERENCES[name](Dense(ask), x, rng, parameters)

    title = "".join(part.title() for part in name.split("-"))
    own = {"run": run, "variant_of": name, "__module__": __name__}
    return type(f"Plain{title}", (ALGORITHMS[name],), own)


globals().update(
    {
        variant.__name__: variant
        for name in ALGORITHMS
        if name not in {one.variant_of for one in STYLES if not hasattr(one, "judged_by")}
        for variant in [plain(name)]
    }
)
