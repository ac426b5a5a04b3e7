"""Variants whose queries are written in another order: points exchanged, components one by one."""

import functools

import numpy as np
from claims.variants.every import VARIANTS
from twisted import Twisted

from pfbench.base.sample import as_indices


class Exchanged(Twisted):
    """Write each difference with its points exchanged."""

    def difference(self, sample, x, y):
        """Return the mean of the differences of the sampled component gradients."""
        return -self.ask.difference(sample, y, x)


class OneByOne(Exchanged):
    """Write each batch, and each difference, as single queries from last to first."""

    def batch(self, sample, x):
        """Return the mean of the sampled component gradients."""
        return self._mean(sample, lambda i: self.ask.batch(i, x))

    def difference(self, sample, x, y):
        """Return the mean of the differences of the sampled component gradients."""
        return self._mean(sample, lambda i: -self.ask.difference(i, y, x))

    @staticmethod
    def _mean(sample, query):
        indices = as_indices(sample)
        if hasattr(indices, "counts"):
            indices = np.repeat(indices.indices, indices.counts)
        return sum(query(indices[k : k + 1]) for k in reversed(range(len(indices)))) / len(indices)


class Pairs(Twisted):
    """Write each difference as one query at each of its points, component by component."""

    def difference(self, sample, x, y):
        """Return the mean of the differences of the sampled component gradients."""
        return OneByOne._mean(sample, lambda i: self.ask.batch(i, x) - self.ask.batch(i, y))


def rewritten(variant, style):
    """Return a variant whose oracles pass its queries on in a style."""
    run = variant.run

    @functools.wraps(run)
    def restyled(self, ask, x, rng):
        return run(self, style(ask), x, rng)

    kept = {"run": restyled, "style": style.__name__, "__module__": __name__}
    return type(variant.__name__, (variant,), kept)


REWRITTEN = [
    rewritten(variant, style)
    for style, needed in (
        (Exchanged, {"difference"}),
        (OneByOne, {"batch"}),
        (Pairs, {"batch", "difference"}),
    )
    for variant in VARIANTS
    if needed <= set(variant.requires)
]
"""Each variant that queries components, in each style."""
