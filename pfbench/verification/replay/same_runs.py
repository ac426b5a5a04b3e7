"""Test whether a planted fault has no effect in long runs."""

from functools import cache, lru_cache
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.verification.faults.equivalence import RunOutcome
from pfbench.verification.faults.fault import Fault
from pfbench.verification.faults.mutant_compilation import compile_faulty_algorithm
from pfbench.verification.replay.draw_streams import draw_cases_and_run_counts
from pfbench.verification.replay.replay_instances import ReplayCase, iterate_replay_cases

_LONG = 300
"""Number of iterations from which a run counts as long."""


def is_same_in_long_runs(fault: Fault) -> bool:
    """Return whether a fault changes no state and no oracle count in a method's long runs.

    States are compared up to rounding. The result is False for a method that is not built-in.
    """
    method = fault.correct_algorithm_class
    if method not in ALGORITHMS.values():
        return False
    try:
        faulty = compile_faulty_algorithm(fault)
        return all(
            _observe_run(case, faulty(**case.parameters)).is_same(_correct_run(method, number))
            for number, case in enumerate(_long_cases(method))
        )
    except Exception:  # the fault makes the class raise whatever it is
        return False


@cache
def _long_cases(method: Any) -> tuple[ReplayCase, ...]:
    """Return the problems and parameters of the long runs on which a fault is tested."""
    # What changes large indices alone shows where draws are tested, among many components.
    draw_cases = (case for case, _ in draw_cases_and_run_counts(method))
    return tuple(
        case
        for case in (*draw_cases, *iterate_replay_cases(method, "full"))
        if case.horizon >= (_LONG // 2 + 1 if case.is_extreme else _LONG)
    )


@lru_cache(maxsize=64)
def _correct_run(method: Any, case_index: int) -> RunOutcome:
    """Return the outcome of the correct method's run on a case, cached for all its faults."""
    case = _long_cases(method)[case_index]
    return _observe_run(case, method(**case.parameters))


def _observe_run(case: ReplayCase, algorithm: Any) -> RunOutcome:
    """Return all states and oracle counts of a run, and its exception if any."""
    transcript = case.record(algorithm, seed=1)
    parts = [part for state in transcript.states for part in state]
    words = (repr(type(transcript.error)), "".join("-" if part is None else "x" for part in parts))
    numbers = [np.ravel(part) for part in parts if part is not None]
    return RunOutcome(words, np.concatenate([*numbers, transcript.charged], dtype=np.float64))
