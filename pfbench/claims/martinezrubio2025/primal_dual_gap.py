"""Primal-dual gaps G_t = f(x_{t+1}) - L_t of Frank-Wolfe methods for convex f.

Let a_t = 2t + 2 and A_t = (t + 1)(t + 2). With the steps a_t/A_t = 2/(t + 2), the lower bound L_t
of f has A_t L_t = sum over i <= t of a_i (f(x_i) + <grad f(x_i), v_i - x_i>). For the heavy ball,
it is the minimum over v of the sum with v for all v_i. Smoothness, times A_t, gives

    A_t G_t - A_{t-1} G_{t-1} <= (L a_t^2/(2 A_t)) |v_t - x_t|^2,

as the linear terms cancel. It is an equality for f = L |x - c|^2/2 and v_t = LO(grad f(x_t)). With
|v_t - x_t| <= D, the sum is G_t <= 2 L D^2 (t + 2 - H_{t+2})/((t + 1)(t + 2)), where H_k = 1 + 1/2
+ ... + 1/k. The bound of the summary, 2 L D^2/(t + 2), has t + 1 in place of t + 2 - H_{t+2}.

The primal-dual short step has L_t = (1 - gamma) L_{t-1} + gamma (f(x_t) + <grad f(x_t), v_t -
x_t>), gamma = min(1, G_{t-1}/(L |v_t - x_t|^2)). So G_t <= G_{t-1} - G_{t-1}^2/(2 L D^2), and G_0
<= L D^2/2: G_t <= 2 L D^2/(t + 4). The summary has 4 L D^2/(t + 2).

Optimistic: a_t = 2t, A_t = t (t + 1). With g_t = grad f(x_t) and u_{t+1} = LO(sum over i <= t of
a_i g_i), a run has A_t (f(x_t) - f*) <= sum over i <= t of a_i <g_i - g_{i-1}, v_i - u_{i+1}>,
which is at most 4 L D^2 t, the bound of the summary times A_t.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.protocols import Problem
from pfbench.testing.inequalities import gap_recursion
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments import indefinite
from pfbench.verification.instruments.quadratics import face_of_l1_ball, make_interval_quadratic
from pfbench.verification.statistics import best_if_all_hold_else_worst, decide_inequality
from pfbench.verification.units import VALUE, Formula, formula


def gap_bound_printed(L_f: float, D: float, t: int) -> float:
    """Return 2 L D^2/(t + 2), the printed bound of the primal-dual gap G_t for steps 2/(t + 2)."""
    return 2.0 * L_f * D**2 / (t + 2.0)


def gap_bound_sharper(L_f: float, D: float, t: int) -> float:
    """Return pfbench's bound of the primal-dual gap G_t for open-loop steps 2/(t + 2)."""
    harmonic = float(np.sum(1.0 / np.arange(1, t + 3)))
    return gap_bound_printed(L_f, D, t) * (t + 2.0 - harmonic) / (t + 1.0)


def paper_short_gap_bound(L_f: float, D: float, t: int) -> float:
    """Return 4 L D^2/(t + 2), the printed gap bound of optimistic and primal-dual short steps."""
    return 2.0 * gap_bound_printed(L_f, D, t)


def sharper_short_gap_bound(L_f: float, D: float, t: int) -> float:
    """Return 2 L D^2/(t + 4), pfbench's bound of the primal-dual gap G_t for short steps."""
    return 2.0 * L_f * D**2 / (t + 4.0)


Gaps = Iterator[tuple[int, float, float]]
"""t, G_t, and the ratio of both sides of an inequality for the path, in each step of a run."""


def follow_open_loop_gaps(trial: Trial, problem: Problem) -> Gaps:
    """Yield t, the gap G_t, and the gap recursion's left side over its right, for open-loop steps.

    For f = L |x - c|^2/2, a quadratic of this file, the ratio is inverted if it is below 1.
    """
    L = problem.constants(problem.start()).L_f
    recursion = gap_recursion(problem.value, problem.gradient, problem.set.lo, L)
    total = 0.0
    for t, x, y in _follow(trial, problem, step="open-loop"):
        left, right, _ = recursion(x, y, problem.gradient(x))
        total += left
        ratio = _ratio_or_is_positive(left, right)
        is_equal = isinstance(problem, indefinite.IndefiniteQuadratic) and right > 0.0
        yield t, total / ((t + 1) * (t + 2)), max(ratio, 1.0 / ratio) if is_equal else ratio


def follow_heavy_ball_gaps(trial: Trial, problem: Problem) -> Gaps:
    """Yield t, the gap G_t, and the gap recursion's left side over its right, for heavy ball."""
    L = problem.constants(problem.start()).L_f
    S, offset, last = np.zeros_like(problem.start()), 0.0, 0.0
    for t, x, y in _follow(trial, problem):
        a, A, g = 2.0 * t + 2.0, (t + 1.0) * (t + 2.0), problem.gradient(x)
        S, offset = S + a * g, offset + a * (problem.value(x) - float(g @ x))
        total = A * problem.value(y) - offset - float(S @ problem.set.lo(S))
        yield (
            t,
            total / A,
            _ratio_or_is_positive(total - last, A * L / 2.0 * float((y - x) @ (y - x))),
        )
        last = total


def follow_short_step_gaps(trial: Trial, problem: Problem) -> Gaps:
    """Yield t, the gap G_t and G_t/(G_{t-1} - G_{t-1}^2/(2 L D^2)), for primal-dual short steps."""
    c = problem.constants(problem.start())
    lower, gap = 0.0, 0.0
    for t, x, y in _follow(trial, problem, step="primal-dual", smoothness=c.L_f):
        toward = problem.set.lo(problem.gradient(x)) - x
        square = c.L_f * float(toward @ toward)
        gamma = min(1.0, gap / square) if t and square > 0.0 else 1.0
        lower += gamma * (problem.value(x) + float(problem.gradient(x) @ toward) - lower)
        size = 2.0 * c.L_f * c.D**2
        last, gap = gap, problem.value(y) - lower
        yield t, gap, _ratio_or_is_positive(gap, last - last**2 / size if t else size / 4.0)


def follow_optimistic_suboptimality(trial: Trial, problem: Problem) -> Gaps:
    """Yield t, the gap f(x_{t+1}) - f*, and its ratio to a bound computed from the gradients."""
    start = problem.start()
    minimum = problem.value(start) - problem.constants(start).delta
    previous, S, total = problem.gradient(start), 0.0 * start, 0.0
    for k, x, y in _follow(trial, problem):
        i, g = k + 1, problem.gradient(y)
        v = x + (i + 1.0) / 2.0 * (y - x)
        S = S + 2.0 * i * g
        total += 2.0 * i * float((g - previous) @ (v - problem.set.lo(S)))
        gap, previous = problem.value(y) - minimum, g
        yield k, gap, _ratio_or_is_positive(i * (i + 1.0) * gap, total)


def _follow(
    trial: Trial, problem: Problem, **parameters: Any
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    method = trial.make(iterations=trial.choose_by_effort(400, 1000), **parameters)
    for t, (x, step) in enumerate(trial.follow_with_previous_point(problem, method)):
        yield t, x, step.state.x


def _ratio_or_is_positive(left: float, right: float) -> float:
    """Return left/right; if right <= 0, return 1 for a positive left, and 0 otherwise."""
    return left / right if right > 0.0 else float(left > 0.0)


Bounds = Mapping[str, Callable[[float, float, int], float]]

OPEN_LOOP: Bounds = MappingProxyType({"printed": gap_bound_printed, "pfbench's": gap_bound_sharper})
SHORT: Bounds = MappingProxyType(
    {"printed": paper_short_gap_bound, "pfbench's": sharper_short_gap_bound}
)
OPTIMISTIC: Bounds = MappingProxyType({"printed": paper_short_gap_bound})


def check_gaps(
    trial: Trial, *, follow: Callable[[Trial, Problem], Gaps], bounds: Bounds, is_path: bool = True
) -> Evidence:
    """Test that each gap is within `bounds`, and each ratio of an inequality's sides at most 1.

    `follow` yields the number t, the gap and the ratio of each step.
    """
    ratios: dict[str, list[float]] = {}
    for instance in trial.claim.instances:
        name = instance.label
        problem = instance.build_seeded(trial.seeds(1, name)[0])
        c = problem.constants(problem.start())
        for t, gap, ratio in follow(trial, problem):
            if is_path:
                ratios.setdefault(name if not bounds else f"path, {name}", []).append(ratio)
            for label, bound in bounds.items():
                start = "t < 10" if t < 10 else "t >= 10"
                values = ratios.setdefault(f"{label}, {start}, {name}", [])
                values.append(gap / bound(c.L_f, c.D, t))
    parts = {name: decide_inequality(some) for name, some in ratios.items()}
    return Evidence(best_if_all_hold_else_worst(parts), {"ratio": 1.0}, len(trial.claim.instances))


def _formulas(bounds: Bounds) -> tuple[Formula, ...]:
    return tuple(formula(bound, VALUE, {"t": 9}) for bound in bounds.values())


_claim = partial(
    Claim,
    kind="bound",
    instances=(
        make_instance(indefinite.spread_on_simplex, d=500),
        make_instance(indefinite.noisy_ball, d=5, n=2, radius=1.0),
        make_instance(make_interval_quadratic, slope=-0.01).with_title("passed"),
        make_instance(face_of_l1_ball, d=20, kappa=10.0),
    ),
    algorithm="frank-wolfe",
    assumptions=("f convex", "grad f Lipschitz"),
    schedule="step = open-loop",
    expected_seconds=(1.0, 5.0),
)

RECURSION = _claim(
    name="martinezrubio2025-recursion",
    source="Martinez-Rubio, Pokutta 2025, in a summary; derivation and equality: pfbench",
    statement=(
        "steps 2/(t+2), G_t = f(x_{t+1}) - L_t, a_t = 2t+2, A_t = (t+1)(t+2): A_t G_t - A_{t-1} "
        "G_{t-1} <= L a_t^2 |v_t - x_t|^2/(2 A_t), with equality for f = L |x - c|^2/2"
    ),
    check=partial(check_gaps, follow=follow_open_loop_gaps, bounds={}),
)

GAP = _claim(
    name="martinezrubio2025-gap-fw",
    source="Martinez-Rubio, Pokutta 2025, in a summary; the smaller bound: pfbench",
    statement=(
        "steps 2/(t+2): G_t <= 2 L D^2/(t+2), and G_t <= 2 L D^2 (t+2 - H_{t+2})/((t+1)(t+2)), H_k "
        "the harmonic number (ours)"
    ),
    check=partial(check_gaps, follow=follow_open_loop_gaps, bounds=OPEN_LOOP, is_path=False),
    formulas=_formulas(OPEN_LOOP),
)

HEAVY_BALL = _claim(
    name="martinezrubio2025-gap-hb",
    source="Martinez-Rubio, Pokutta 2025, in a summary; recursion and smaller bound: pfbench",
    statement=(
        "v_t = LO(sum over i <= t of (2i+2) grad f(x_i)), steps 2/(t+2): recursion and bounds of "
        "martinezrubio2025-recursion and -gap-fw, L_t the minimum over v of the sum of lower bounds"
    ),
    check=partial(check_gaps, follow=follow_heavy_ball_gaps, bounds=OPEN_LOOP),
    formulas=_formulas(OPEN_LOOP),
    algorithm="heavy-ball-fw",
    schedule="none: T is the horizon",
)

GAP_SHORT = _claim(
    name="martinezrubio2025-gap-short",
    source="Martinez-Rubio, Pokutta 2025, in a summary; the smaller bound: pfbench",
    statement=(
        "steps min(1, G_{t-1}/(L |v_t - x_t|^2)): G_t <= 4 L D^2/(t+2), and G_t <= 2 L D^2/(t+4), "
        "G_t <= G_{t-1} - G_{t-1}^2/(2 L D^2) (ours)"
    ),
    check=partial(check_gaps, follow=follow_short_step_gaps, bounds=SHORT),
    formulas=_formulas(SHORT),
    schedule="step = primal-dual, smoothness = L",
)

GAP_OPTIMISTIC = _claim(
    name="martinezrubio2025-gap-optimistic",
    source="Martinez-Rubio, Pokutta 2025, in a summary; the bound by the path: pfbench",
    statement=(
        "a_t = 2t, v_t = LO(sum over i < t of a_i g_i + a_t g_{t-1}), steps 2/(t+1): f(x_t) - f* "
        "<= 4 L D^2/(t+1), and t (t+1) (f(x_t) - f*) <= sum of a_i <g_i - g_{i-1}, v_i - u_{i+1}>, "
        "u_{i+1} = LO(sum over j <= i of a_j g_j) (ours)"
    ),
    check=partial(check_gaps, follow=follow_optimistic_suboptimality, bounds=OPTIMISTIC),
    formulas=_formulas(OPTIMISTIC),
    algorithm="optimistic-fw",
    schedule="none: T is the horizon",
)
