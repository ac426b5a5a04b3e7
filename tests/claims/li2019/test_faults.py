"""The variant of CGS in which faults are planted."""

import numpy as np
from judging import trial

from pfbench.algorithms.sliding import CGS
from pfbench.claims.li2019.faults import Variant
from pfbench.claims.li2019.steps import inner, known
from pfbench.claims.li2019.theorem1 import GAP
from pfbench.verification.instruments.quadratics import face_of_simplex


def test_a_variant_without_a_fault_is_cgs_itself():
    tested = known(face_of_simplex(np.random.default_rng(0), 16, 10.0))
    steps = [
        [step.state.x for _, _, step in inner(trial(GAP, kind), tested, 3)]
        for kind in (CGS, Variant)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(*steps, strict=True))
