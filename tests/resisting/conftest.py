"""What the tests of the resisting oracle share."""

import numpy as np
import pytest

from pfbench.resisting.resisting_oracle import ResistingOracle, make_resisting_chain


@pytest.fixture
def oracle():
    """Make an oracle that records: T, and if wanted d, seed, L, mu."""

    def make(T=6, d=None, seed=0, **scale):
        return ResistingOracle(
            make_resisting_chain(T, d, **scale), np.random.default_rng(seed), record=True
        )

    return make
