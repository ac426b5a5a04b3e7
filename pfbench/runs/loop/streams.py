"""The random streams of one run."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

PURPOSES: Mapping[str, int] = MappingProxyType({"algorithm": 1, "output": 2, "oracles": 3})
"""What a run draws random numbers for, each from a stream of its own."""


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the random stream of one purpose; it depends on the user's seed and nothing else."""
    return np.random.default_rng(np.random.SeedSequence((seed, PURPOSES[purpose])))
