"""condg (qu2018 algorithm 2): its stopping rule, its cost, its distance to the exact prox.

condg applies Frank-Wolfe with line search to <l, x> + |x - u|^2/(2 lambda). condg starts at u and
stops when the Frank-Wolfe gap is at most eta.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.base import FiniteSum
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import spread_on_simplex
from pfbench.verification.statistics import Decision, best_if_all_hold_else_worst, decide_inequality
from pfbench.verification.units import NUMBER, STEP, VALUE, formula, power_product

CERTAIN = 1e-6
"""Allowed error of an exact prox and an exact gap, relative to their bound.

The differences are of numbers of size 1 to 20 and at least 1e-5, so eleven digits are exact.
"""


# --- calls of condg ------------------------------------------------------------------------------


def max_calls(D: float, lam: float, eta: float) -> int:
    """Return an upper bound on the number of linear minimisations that one call of `condg` makes.

    The bound is 1 + ceil(6 D^2/(lambda eta)), which follows from theorem 2 of Jaggi 2013.
    """
    return 1 + math.ceil(6.0 * D * D / (lam * eta) * (1.0 - 1e-12))


@dataclass(frozen=True)
class CondgCall:
    """One call of the subroutine condg: its arguments, and the point that it returned."""

    problem: FiniteSum
    l: Floats  # noqa: E741
    u: Floats
    lam: float
    eta: float
    answer: Floats


# --- instances ------------------------------------------------------------------------------------


# With lambda = 1, the first prox is inside the simplex. For d >= 6/eta, condg needs the largest
# number of inner steps that the diameter allows. With an offset, the prox is far from the start.
SPREAD = make_instance(spread_on_simplex, d=200)
FAR = make_instance(spread_on_simplex, d=200, offset=5.0)
LOOSE = make_instance(spread_on_simplex, d=20, offset=20.0)  # for eta near D^2/lambda
FACES = (
    make_instance(quadratics.face_of_simplex, d=30, kappa=10.0),
    make_instance(quadratics.face_of_l1_ball, d=30, kappa=10.0),
    make_instance(quadratics.boundary_of_l2_ball, d=30, kappa=10.0),
)


# --- the check ------------------------------------------------------------------------------------


Measured = Callable[[CondgCall, int], float]
"""(call of condg, its number of LO) -> measured quantity over its bound."""


def relative_inner_gap(call: CondgCall, lo_calls: int) -> float:
    """Return the Frank-Wolfe gap at a condg call's result, divided by the call's tolerance eta."""
    g = call.l + (call.answer - call.u) / call.lam
    return (float(g @ call.answer) - call.problem.minimum(g)[0]) / call.eta


def relative_prox_distance(call: CondgCall, lo_calls: int) -> float:
    """Return |condg's result - exact prox|^2 divided by its bound, for one condg call."""
    exact = call.problem.prox(call.u, call.l, call.lam)
    return float(np.sum((call.answer - exact) ** 2)) / (call.lam * call.eta)


def relative_lo_calls(call: CondgCall, lo_calls: int) -> float:
    """Return the linear minimisations of a condg call, divided by their bound."""
    return lo_calls / max_calls(call.problem.set.diameter, call.lam, call.eta)


def iterate_cases(trial: Trial) -> Iterator[tuple[str, Any, float, float]]:
    """Yield the name of each case, its problem, the smoothness, and the tolerance eta."""
    d = trial.choose_by_effort(200, 1000)
    for eta in trial.choose_by_effort((0.3, 0.1, 0.03), (0.3, 0.1, 0.03, 0.01)):
        yield f"spread over a face, eta={eta:g}", SPREAD(d=d), 0.5, eta
        yield f"spread, u far, eta={eta:g}", FAR(d=d), 0.5, eta
    for eta in (12.0, 2.0, 0.6):
        yield f"eta near D^2/lambda, {eta:g}", LOOSE(), 0.5, eta
    for seed in trial.seeds(trial.choose_by_effort(1, 5), "inner"):
        rng = np.random.default_rng(seed)
        for face in FACES:
            problem = face(rng)
            smoothness = problem.constants(problem.start()).L_f
            yield f"{face.build.__name__}, {seed}", problem, smoothness, 1e-3


def check_ratio(trial: Trial, *, ratio: Measured, options: tuple[int, ...] = (1, 2)) -> Evidence:
    """Test that `ratio`, a measured quantity of a condg call over its bound, is at most 1.

    The calls of condg are those in runs of ncgs. Their arguments are u = theta_md and the gradient
    l at u. For option II, these are the calls that return theta_ag. Only for option I is the number
    of linear minimisations of one call known.
    """
    parts, calls = dict[str, Decision](), 0
    for option, (name, problem, L, eta) in product(options, [*iterate_cases(trial)]):
        iterations, ratios = trial.choose_by_effort(4, 20), list[float]()
        algorithm = trial.make(iterations=iterations, smoothness=L, tolerance=eta, option=option)
        for step in trial.follow(problem, algorithm):
            u = np.array(step.estimate_point)
            call = CondgCall(problem, problem.gradient(u), u, 0.5 / L, eta, np.array(step.state.x))
            ratios.append(ratio(call, len(step.lo_inputs)))
        parts[f"option {option}, {name}"] = decide_inequality(ratios, CERTAIN)
        calls += len(ratios)
    return Evidence(best_if_all_hold_else_worst(parts), {"ratio": 1.0}, calls)


# --- the claims -----------------------------------------------------------------------------------

_bound = partial(
    Claim,
    kind="bound",
    instances=(SPREAD, FAR, LOOSE, *FACES),
    algorithm="ncgs",
    schedule="lambda = beta = 1/(2L), options I and II",
)

STOP = _bound(
    name="qu2018-condg-stop",
    source="qu2018 algorithm 2",
    statement="on return from condg max over x of <l + (u+ - u)/lambda, u+ - x> <= eta",
    check=partial(check_ratio, ratio=relative_inner_gap),
    formulas=(power_product(VALUE, {"eta": 1}, eta=VALUE),),
    expected_seconds=(0.2, 1.5),
)

COUNT = _bound(
    name="qu2018-condg-count",
    source="qu2018 algorithm 2, Jaggi 2013 theorem 2",
    statement="one condg needs at most 1 + ceil(6 D^2/(lambda eta)) LO",
    check=partial(check_ratio, ratio=relative_lo_calls, options=(1,)),
    formulas=(formula(max_calls, NUMBER, lam=STEP, eta=VALUE),),
    expected_seconds=(0.1, 1.0),
)

DISTANCE = _bound(
    name="qu2018-condg-distance",
    source="qu2018 (8)",
    statement="|u+ - prox|^2 <= lambda eta",
    check=partial(check_ratio, ratio=relative_prox_distance),
    formulas=(power_product((0, 2), {"lam": 1, "eta": 1}, lam=STEP, eta=VALUE),),
    expected_seconds=(0.2, 1.5),
)
