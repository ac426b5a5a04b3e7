"""Whether a fault changes nothing in the long runs in which its method is compared."""

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.replay.instances import cases
from pfbench.verification.replay.streams import streams
from pfbench.verification.replay.transcript import record
from pfbench.verification.subject import Broken, Subject, Untestable
from pfbench.verification.trial import Trial

_LONG = 300
"""Iterations from which on a run is long."""


def changes_nothing(claim: Claim, faulty: Subject) -> bool:
    """Return whether a fault changes no state and no count of long runs of a claim's method."""
    right, wrong = Trial(claim), Trial(claim, faulty)
    method = ALGORITHMS[claim.method]
    try:
        # What changes large indices alone shows where draws are tested, among many components.
        many = (stream.case for stream in streams(method, 0))
        for case in (*cases(method, "full"), *many):
            T = case.parameters.get("iterations", 0)
            if T < _LONG and not (case.is_extreme and T > _LONG // 2):
                continue
            one, other = (
                record(case.problem(), trial.make(**case.parameters), seed=1)
                for trial in (right, wrong)
            )
            if type(one.error) is not type(other.error):
                return False
            if one.spent != other.spent or len(one.states) != len(other.states):
                return False
            if not all(map(is_same_state, one.states, other.states)):
                return False
    except (Broken, Untestable):
        return False
    return True


def is_same_state(one: State, other: State) -> bool:
    """Return whether two states are the same, bit for bit."""
    pairs = zip(one, other, strict=True)
    return all((a is None) == (b is None) and np.array_equal(a, b) for a, b in pairs)
