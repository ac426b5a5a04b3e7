"""The inner loops of sliding match their source: line search up to the first gap <= eta.

Each call is recomputed from its start as the source states, and its linear minimisations are
counted. A loop that goes on beyond the first such gap keeps all guarantees but costs more, which
the verdict states. A loop that stops before loses the guarantee. A loop with other steps is
another method.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.status import Verdict
from pfbench.claims.relatives.shared_instances import BALL, sliding_parameters
from pfbench.verification import Claim, Instance, make_instance
from pfbench.verification.instruments.condg_call import CondgCall
from pfbench.verification.instruments.indefinite import noisy_ball, spread_on_simplex
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statistics import combine_all, decide_exact
from pfbench.verification.trial import Trial

_STEPS = 60


Call = tuple[CondgCall, int]
"""A call of condg, and the number of LO made for it."""


MORE_WORK = "Not the source's count: more work, same guarantee"
"""Statement about an inner loop that stops later than necessary."""


def iterate_cgs_convex_condg_calls(trial: Trial, problem: Any) -> Iterator[Call]:
    """Yield the condg calls in a run of `cgs-convex`, each with its number of linear minimisations.

    The result x+ of condg is recovered from the next iterate y+ = (1 - gamma) y + gamma x+.
    """
    c = problem.constants(problem.start())
    x = y = problem.start()
    algorithm = trial.make(iterations=_STEPS, smoothness=c.L_f, diameter=c.D)
    for k, step in enumerate(trial.follow(problem, algorithm), 1):
        after, gamma = np.array(step.state.x), 3.0 / (k + 2.0)
        recorded, g = y + (after - y) / gamma, problem.gradient(y + gamma * (x - y))
        lam, eta = (k + 1.0) / (3.0 * c.L_f), c.L_f * c.D**2 / (k * k + k)
        yield CondgCall(problem, g, x, lam, eta, recorded), len(step.lo_inputs)
        x, y = recorded, after


def iterate_ncgs_spider_condg_calls(trial: Trial, problem: Any) -> Iterator[Call]:
    """Yield the condg calls in a run of `ncgs-spider`, with their linear minimisations.

    Each call is x+ = condg(G, x, 1/L, eta).
    """
    arguments = sliding_parameters(problem.constants(problem.start()), steps=_STEPS)
    lam, eta = 1.0 / arguments["smoothness"], arguments["tolerance"]
    for x, step in trial.follow_with_previous_point(problem, trial.make(**arguments)):
        call = CondgCall(problem, step.estimate_yielded, x, lam, eta, np.array(step.state.x))
        yield call, len(step.lo_inputs)


@check_each_instance({"other calls": 0.0}, combine_all)
def check_published_lo_counts(
    trial: Trial, instance: Instance, problem: Any, *, calls: Callable[[Trial, Any], Iterator[Call]]
) -> Parts:
    """Test that each condg call makes as many linear minimisations as the published condg would."""
    parts = Parts()
    wrong, extra, other = "", "", 0
    for k, (call, created) in enumerate(calls(trial, problem), 1):
        expected = call.exact_line_search_calls  # None where rounding decides the steps
        words = f"The condg of step {k} makes {created} LO, not {expected}."
        if call.is_answer_off_line_search_path:
            wrong = wrong or f"The inner loop of step {k} deviates from the published recursion."
        elif expected is not None and created < expected:
            wrong = wrong or words
        elif expected is not None and created > expected:
            extra = extra or words
        other += call.is_answer_off_line_search_path or expected not in (None, created)
    parts[instance.name] = decide_exact(not wrong, wrong, {"other calls": float(other)})
    if extra and not wrong:
        parts[instance.name] = replace(
            parts[instance.name], verdict=Verdict.INCONCLUSIVE, reason=f"{MORE_WORK}. {extra}"
        )
    return parts


def _claim(name: str, source: str, calls: Any, instances: tuple[Instance, ...], eta: str) -> Claim:
    return Claim(
        name=f"relatives-condg-{name}",
        source=source,
        kind="count",
        statement=f"each condg is Frank-Wolfe with exact line search, and ends at its first point "
        f"with a gap of at most {eta}",
        check=partial(check_published_lo_counts, calls=calls),
        instances=instances,
        algorithm=name,
        assumptions=("a compact set",),
        schedule="that of the theorem",
        expected_seconds=(0.5, 0.5),
    )


CONDG = _claim(
    "cgs-convex",
    "Lan, Zhou 2016, as Lan 2020, section 7.2, has it",
    iterate_cgs_convex_condg_calls,
    (
        make_instance(spread_on_simplex, d=10).with_title("simplex 10"),
        make_instance(spread_on_simplex, d=60).with_title("simplex 60"),
        make_instance(noisy_ball, d=4, n=2, radius=1.0).with_title("ball"),
    ),
    "L D^2/(k(k+1))",
)

RECURSIVE = _claim(
    "ncgs-spider",
    "Lan 2020, algorithm 7.12 in sliding",
    iterate_ncgs_spider_condg_calls,
    (BALL.with_title("ball"),),
    "eta",
)
