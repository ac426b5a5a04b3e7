"""Methods held to their plain references, which follow a run query by query."""

from pfbench.algorithms import ALGORITHMS
from pfbench.verification.replay.follow import compare_transcript_with_reference
from pfbench.verification.replay.recorded_run import record_run


def assert_follows_reference(problem, name, **parameters):
    """See that each iterate, estimate and output is that of the reference."""
    algorithm = ALGORITHMS[name](**parameters)
    recorded = record_run(problem, algorithm, seed=5)
    assert recorded.error is None
    assert len(recorded.states) > 0
    outcome = compare_transcript_with_reference(recorded, algorithm)
    assert outcome.agrees, outcome.reason
