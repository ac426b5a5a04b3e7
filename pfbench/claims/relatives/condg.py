"""The inner loops of sliding are their source's: exact line search, up to the first gap of eta.

A condg that goes on, or that steps otherwise, keeps the promise of its gap, and costs more: so each
call is made again from its start by what the source says, and its linear minimisations are counted.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from pfbench.algorithms.lan_sliding import ConvexCGS, NCGSSpider
from pfbench.claims.relatives.instances import BALL, BATCH
from pfbench.verification import Claim, Evidence, Floats, Instance, Mutant, instance
from pfbench.verification.instruments.condg import Inner
from pfbench.verification.instruments.indefinite import noisy_ball, spread_on_simplex
from pfbench.verification.statistics import Decision, all_of, decide_exact
from pfbench.verification.trial import Trial

_STEPS = 60


Call = tuple[Inner, int]
"""One call of condg, and the linear minimisations that were made for it."""


def convex_calls(trial: Trial, problem: Any) -> Iterator[Call]:
    """Yield the calls of `cgs-convex`: x+ is told by y+ = (1 - gamma) y + gamma x+."""
    c = problem.constants(problem.start())
    x = y = problem.start()
    given = {"iterations": _STEPS, "smoothness": c.L_f, "diameter": c.D}
    for k, (after, made, _) in enumerate(_steps(trial, problem, given), 1):
        gamma = 3.0 / (k + 2.0)
        there, g = y + (after - y) / gamma, problem.gradient(y + gamma * (x - y))
        lam, eta = (k + 1.0) / (3.0 * c.L_f), c.L_f * c.D**2 / (k * k + k)
        yield Inner(problem, g, x, lam, eta, there), made
        x, y = there, after


def recursive_calls(trial: Trial, problem: Any) -> Iterator[Call]:
    """Yield the calls of `ncgs-spider`: x+ = condg(G, x, 1/L, eta)."""
    c, x = problem.constants(problem.start()), problem.start()
    eta = c.delta / (12.0 * _STEPS)
    sizes = {"iterations": _STEPS, "period": BATCH, "batch": 10 * BATCH}
    for after, made, step in _steps(trial, problem, {**sizes, "smoothness": c.L, "tolerance": eta}):
        yield Inner(problem, step.yielded, x, 1.0 / c.L, eta, after), made
        x = after


def _steps(trial: Trial, problem: Any, given: dict[str, Any]) -> Iterator[tuple[Floats, int, Any]]:
    """Yield each iterate with the linear minimisations made for it."""
    before = 0
    for step in trial.follow(problem, trial.make(**given)):
        spent = step.counts().lo
        yield np.array(step.state.x), spent - before, step
        before = spent


def as_its_source(trial: Trial, *, calls: Callable[[Trial, Any], Iterator[Call]]) -> Evidence:
    """Compare the linear minimisations of each call with those of the source's condg."""
    parts: dict[str, Decision] = {}
    for one in trial.claim.instances:
        pairs = list(calls(trial, one()))
        known = [call.strays or call.calls is not None for call, _ in pairs]
        other = [k for k, (call, made) in enumerate(pairs) if known[k] and call.calls != made]
        wrong = ""
        if other:
            call, made = pairs[other[0]]
            path = f"makes {made} LO, not {call.calls}" if call.calls else "goes another way"
            wrong = f"The condg of step {other[0] + 1} {path}."
        right = f"Each of {len(pairs)} calls is its source's."
        if not all(known):
            right += f" Where {known.count(False)} of them go rounding decides."
        parts[one.name] = decide_exact(not other, right, wrong, {"other calls": float(len(other))})
    return Evidence(all_of(parts), {"other calls": 0.0}, len(parts))


def _claim(name: str, source: str, calls: Any, on: tuple[Instance, ...], eta: str) -> Claim:
    return Claim(
        name=f"relatives-condg-{name}",
        source=source,
        kind="count",
        statement=f"each condg is Frank-Wolfe with exact line search, and ends at its first point "
        f"with a gap of at most {eta}",
        check=partial(as_its_source, calls=calls),
        instances=on,
        algorithm=name,
        assumptions=("a compact set",),
        schedule="that of the theorem",
        takes=(0.5, 0.5),
    )


CONDG = _claim(
    "cgs-convex",
    "Lan, Zhou 2016, as Lan 2020, section 7.2, has it",
    convex_calls,
    (
        instance(spread_on_simplex, d=10).called("simplex 10"),
        instance(spread_on_simplex, d=60).called("simplex 60"),
        instance(noisy_ball, d=4, n=2, radius=1.0).called("ball"),
    ),
    "L D^2/(k(k+1))",
)

RECURSIVE = _claim(
    "ncgs-spider",
    "Lan 2020, algorithm 7.12 in sliding",
    recursive_calls,
    (BALL.called("ball"),),
    "eta",
)

CLAIMS = (CONDG, RECURSIVE)


# --- planted faults -------------------------------------------------------------------------------

MUTANTS = (
    Mutant.edited(
        ConvexCGS,
        ConvexCGS.run,
        "cgs-convex-lingering",
        "Stops condg at half of eta.",
        {"L * self.diameter": "0.5 * L * self.diameter"},
        CONDG,
    ),
    Mutant.edited(
        NCGSSpider,
        NCGSSpider.run,
        "ncgs-spider-lingering",
        "Stops condg at half of eta.",
        {"self.eta": "0.5 * self.eta"},
        RECURSIVE,
    ),
)
