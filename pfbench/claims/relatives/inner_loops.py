"""The inner loops of sliding match their source: line search up to the first gap <= eta.

Runs are compared with the reference implementation, with each linear minimisation of their inner
loops. A loop that goes on beyond the first such gap keeps all guarantees but costs more, which the
verdict states. A loop that stops before loses the guarantee. A loop with other steps is another
method.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.constants import Constants
from pfbench.base.status import Verdict
from pfbench.claims.relatives.shared_instances import BALL, sliding_parameters
from pfbench.verification import Claim, Instance, make_instance
from pfbench.verification.instruments.indefinite import noisy_ball
from pfbench.verification.instruments.quadratics import KnownQuadratic, face_of_l1_ball
from pfbench.verification.replay.follow import compare_transcript_with_reference
from pfbench.verification.replay.recorded_run import record_run
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statistics import Decision, combine_all
from pfbench.verification.subject import ClaimBroken, MethodFailed
from pfbench.verification.trial import Trial

_STEPS = 60

Parameters = Callable[[Constants], Mapping[str, Any]]
"""Function of a problem's constants that returns the parameters of a method."""


def convex_sliding_parameters(c: Constants) -> dict[str, Any]:
    """Return the parameters of `cgs-convex`."""
    return {"iterations": _STEPS, "smoothness": c.L_f, "diameter": c.D}


def convex_quadratic(d: int) -> KnownQuadratic:
    """Return a convex quadratic on the l1 ball, whose minimiser is inside a face."""
    return face_of_l1_ball(np.random.default_rng(1), d, 10.0)


@check_each_instance({"other calls": 0.0}, combine_all)
def check_published_inner_loops(
    trial: Trial, instance: Instance, problem: Any, *, parameters: Parameters
) -> Parts:
    """Test that a run makes the linear minimisations of the published recursion."""
    arguments = parameters(problem.constants(problem.start()))
    transcript = record_run(
        trial.subject.problem_under_test(problem), trial.make(**arguments), seed=trial.seed
    )
    transcript.problem = problem
    trial.coverage.add_run(problem, len(transcript.states), transcript)
    error = transcript.error
    if error is not None:
        raise error if isinstance(error, ClaimBroken) else MethodFailed(f"the run raised {error!r}")
    right = ALGORITHMS[trial.claim.method](**arguments)
    outcome = compare_transcript_with_reference(transcript, right)
    verdict, reason = Verdict.HOLDS, ""
    if outcome.is_mismatch:
        verdict, step = Verdict.VIOLATED, outcome.steps + 1
        reason = f"Step {step} deviates from the published recursion: {outcome.reason}."
    elif outcome.notes:
        verdict = Verdict.INCONCLUSIVE
        reason = f"Not the source's count: more work, same guarantee. {outcome.notes[0]}."
    elif not outcome.agrees:
        verdict, reason = Verdict.INCONCLUSIVE, f"Rounding decides step {outcome.steps + 1}."
    measured = {"other calls": float(outcome.is_mismatch)}
    return {instance.name: Decision(verdict, reason, measured, None)}


def _claim(
    name: str, source: str, parameters: Parameters, instances: tuple[Instance, ...], eta: str
) -> Claim:
    return Claim(
        name=f"relatives-condg-{name}",
        source=source,
        kind="count",
        statement=f"each condg is Frank-Wolfe with exact line search, and ends at its first point "
        f"with a gap of at most {eta}",
        check=partial(check_published_inner_loops, parameters=parameters),
        instances=instances,
        algorithm=name,
        assumptions=("a compact set",),
        schedule="that of the theorem",
        expected_seconds=(0.5, 0.5),
    )


CONDG = _claim(
    "cgs-convex",
    "Lan, Zhou 2016, as Lan 2020, section 7.2, has it",
    convex_sliding_parameters,
    (
        make_instance(convex_quadratic, d=10).with_title("l1 ball 10"),
        make_instance(convex_quadratic, d=60).with_title("l1 ball 60"),
        make_instance(noisy_ball, d=4, n=2, radius=1.0).with_title("ball"),
    ),
    "L D^2/(k(k+1))",
)

RECURSIVE = _claim(
    "ncgs-spider",
    "Lan 2020, algorithm 7.12 in sliding",
    partial(sliding_parameters, steps=_STEPS),
    (BALL.with_title("ball"),),
    "eta",
)
