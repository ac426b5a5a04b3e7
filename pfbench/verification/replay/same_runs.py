"""Test whether a planted fault has no effect in long runs."""

import hashlib
from functools import cache
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.verification.claim import Claim
from pfbench.verification.replay.draw_streams import draw_cases_and_run_counts
from pfbench.verification.replay.replay_instances import ReplayCase, iterate_replay_cases
from pfbench.verification.subject import ClaimBroken, NotTestable, Subject
from pfbench.verification.trial import Trial

_LONG = 300
"""Number of iterations from which a run counts as long."""


def is_same_in_long_runs(claim: Claim, faulty: Subject) -> bool:
    """Return whether a fault changes no state and no oracle count in long runs of a method."""
    trial, method = Trial(claim, faulty), ALGORITHMS[claim.method]
    try:
        return all(
            _run_digest(case, trial.make(**case.parameters)) == _correct_run_digest(method, number)
            for number, case in enumerate(_long_cases(method))
        )
    except (ClaimBroken, NotTestable):
        return False


@cache
def _long_cases(method: Any) -> tuple[ReplayCase, ...]:
    """Return the problems and parameters of the long runs on which a fault is tested."""
    # What changes large indices alone shows where draws are tested, among many components.
    full_list = (
        *(case for case, _ in draw_cases_and_run_counts(method)),
        *iterate_replay_cases(method, "full"),
    )
    lengths = [case.parameters.get("iterations", 0) for case in full_list]
    return tuple(
        case
        for case, T in zip(full_list, lengths, strict=True)
        if T >= _LONG or (case.is_extreme and T > _LONG // 2)
    )


@cache
def _correct_run_digest(method: Any, case_index: int) -> str:
    """Return the hash of the correct method's run on a case, cached for all its faults."""
    case = _long_cases(method)[case_index]
    return _run_digest(case, method(**case.parameters))


def _run_digest(case: ReplayCase, algorithm: Any) -> str:
    """Return a hash of all states and oracle counts of a run, and of its exception if any."""
    transcript = case.record(algorithm, seed=1)
    digest = hashlib.sha256(repr((type(transcript.error), transcript.spent)).encode())
    for state in transcript.states:
        digest.update(b"".join(map(_attribute_bytes, state)))
    return digest.hexdigest()


def _attribute_bytes(value: Any) -> bytes:
    """Return the bytes of an attribute of a state; 0 and -0 have equal bytes."""
    return b"None" if value is None else (np.asarray(value) + 0.0).tobytes()
