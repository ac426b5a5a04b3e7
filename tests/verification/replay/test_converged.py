"""Points that a run picks at random, of which some are equal up to rounding, or are not made."""

from dataclasses import replace

import pytest

import pfbench as pf
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.verification.replay.draw_streams import draw_cases_and_run_counts, examine_draw_law
from pfbench.verification.replay.follow import compare_transcript_with_reference
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
        outcome = compare_transcript_with_reference(transcript, algorithm)
        assert (outcome.reason, outcome.steps) == ("", 9_000)


@pytest.mark.parametrize("seed", [0, 14, 25])
def test_an_output_of_an_outer_loop_that_is_cut_short_is_followed(seed):
    """Its random iterate may be one of those that were made, or none of them."""
    method = ALGORITHMS["sarah"]
    algorithm = method(iterations=12, batch=1, period=9, step=0.1)
    problem = pf.problem("nonconvex-logistic", source="synthetic", set="none", rows=7, columns=3)
    transcript = record_run(problem, algorithm, seed=seed)
    outcome = compare_transcript_with_reference(transcript, algorithm)
    assert (outcome.reason, outcome.steps) == ("", 12)
    assert [pick[2] for pick in outcome.log.picks] == [9]


def test_the_picks_of_a_run_whose_iterates_become_equal_are_uniform():
    method = ALGORITHMS["sarah"]
    cases = [case for case, _ in draw_cases_and_run_counts(method, 871700)]
    case = next(case for case in cases if case.parameters["iterations"] == 3_000)
    algorithm = method(**case.parameters)
    outcome = compare_transcript_with_reference(case.record(algorithm), algorithm)
    assert len(outcome.log.picks) == 333
    assert not examine_draw_law([outcome.log], case.problem().n, None).violation
