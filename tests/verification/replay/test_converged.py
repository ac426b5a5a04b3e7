"""Runs that converge have points that are equal up to rounding: the nearest is the one queried."""

from dataclasses import replace

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.verification.replay.follow import follow_transcript
from pfbench.verification.replay.recorded_run import record_run
from pfbench.verification.replay.replay_instances import iterate_replay_cases


@pytest.mark.long
def test_a_snapshot_among_equal_points_is_the_one_that_was_queried():
    method = ALGORITHMS["sarah"]
    case = max(iterate_replay_cases(method, "full"), key=lambda c: c.parameters["iterations"])
    case = replace(case, parameters={**case.parameters, "iterations": 9_000})
    algorithm = method(**case.parameters)
    for seed in (0, 1904142652):
        transcript = record_run(case.problem(), algorithm, seed=seed)
        outcome = follow_transcript(transcript, algorithm)
        assert (outcome.reason, outcome.steps) == ("", 9_000)
