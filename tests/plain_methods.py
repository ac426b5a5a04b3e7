"""Plain functions that are methods."""

from itertools import count

import pfbench as pf


def conditional_gradient(grad, lmo, x0, T=50):
    """Frank-Wolfe, which calls back."""
    x = x0
    for t in range(T):
        x = x + 2 / (t + 2) * (lmo(grad(x)) - x)
    return x


conditional_gradient.deterministic = True


def every_state(ask, x, rng):
    """Frank-Wolfe, which yields for ever."""
    for t in count():
        x = pf.combine(x, _vertex(ask, x), 2 / (t + 2))
        yield pf.State(x)


def _vertex(ask, x):
    return ask.lo(ask.gradient(x))


def mini_batch(batch_grad, lmo, x0, rng, n, T, samples):
    """Frank-Wolfe with mini-batches, with names of its own."""
    x = x0
    for t in range(T):
        x = x + 2 / (t + 2) * (lmo(batch_grad(rng.integers(n, size=samples), x)) - x)
    return x


mini_batch.names = {"iterations": "T", "batch": "samples"}
