"""The primal-dual gap G_t = f(x_{t+1}) - L_t of Frank-Wolfe with the steps 2/(t + 2).

Let a_t = 2t + 2 and A_t = (t + 1)(t + 2). The lower bound L_t of f has A_t L_t = sum over i <= t of
a_i (f(x_i) + <grad f(x_i), v_i - x_i>). Smoothness, times A_t, gives

    A_t G_t - A_{t-1} G_{t-1} <= (L a_t^2/(2 A_t)) |v_t - x_t|^2,

as the linear terms cancel. It is an equality for f = L |x - c|^2/2. With |v_t - x_t| <= D, the sum
is G_t <= 2 L D^2 (t + 2 - H_{t+2})/((t + 1)(t + 2)), where H_k = 1 + 1/2 + ... + 1/k. The bound of
the summary, 2 L D^2/(t + 2), has t + 1 in place of t + 2 - H_{t+2}.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from pfbench.base.protocols import Problem
from pfbench.testing.inequalities import gap_recursion
from pfbench.verification import Claim, Evidence, Mutant, Trial, make_instance
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    noisy_ball,
    spread_on_simplex,
)
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.instruments.quadratics import face_of_l1_ball, make_interval_quadratic
from pfbench.verification.statistics import combine_instances, decide_inequality
from pfbench.verification.units import VALUE, formula


def compute_printed_bound(L_f: float, D: float, t: int) -> float:
    """Return 2 L D^2/(t + 2)."""
    return 2.0 * L_f * D**2 / (t + 2.0)


def compute_bound(L_f: float, D: float, t: int) -> float:
    """Return 2 L D^2 (t + 2 - H_{t+2})/((t + 1)(t + 2)), pfbench's bound of G_t."""
    harmonic = float(np.sum(1.0 / np.arange(1, t + 3)))
    return compute_printed_bound(L_f, D, t) * (t + 2.0 - harmonic) / (t + 1.0)


def follow_gaps(trial: Trial, problem: Problem) -> Iterator[tuple[int, float, float]]:
    """Yield t, G_t, and the ratio of both sides of the recursion, along a run.

    For f = L |x - c|^2/2, a quadratic of this file, it is that ratio or its inverse, at least 1.
    """
    L = problem.constants(problem.start()).L_f
    recursion = gap_recursion(problem.value, problem.gradient, problem.set.lo, L)
    method = trial.make(iterations=trial.choose_by_effort(400, 1000), step="open-loop")
    total = 0.0
    for t, (x, step) in enumerate(trial.follow_with_previous_point(problem, method)):
        left, right, _ = recursion(x, step.state.x, problem.gradient(x))
        total += left
        ratio = left / right if right > 0.0 else float(left > 0.0)
        is_equal = isinstance(problem, IndefiniteQuadratic) and right > 0.0
        yield t, total / ((t + 1) * (t + 2)), max(ratio, 1.0 / ratio) if is_equal else ratio


def check_gaps(trial: Trial, *, is_recursion: bool) -> Evidence:
    """Test the recursion, or both bounds of G_t, at each step of a run on every instance."""
    ratios: dict[str, list[float]] = {}
    for instance in trial.claim.instances:
        name = f"{instance.name} {instance.stream_key}"
        problem = instance.build_seeded(trial.seeds(1, name)[0])
        c = problem.constants(problem.start())
        for t, gap, ratio in follow_gaps(trial, problem):
            if is_recursion:
                ratios.setdefault(name, []).append(ratio)
                continue
            for label, bound in (("printed", compute_printed_bound), ("pfbench's", compute_bound)):
                start = "t < 10" if t < 10 else "t >= 10"
                values = ratios.setdefault(f"{label}, {start}, {name}", [])
                values.append(gap / bound(c.L_f, c.D, t))
    parts = {name: decide_inequality(some) for name, some in ratios.items()}
    return Evidence(combine_instances(parts), {"ratio": 1.0}, len(trial.claim.instances))


_claim = partial(
    Claim,
    kind="bound",
    instances=(
        make_instance(spread_on_simplex, d=500),
        make_instance(noisy_ball, d=5, n=2, radius=1.0),
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
    check=partial(check_gaps, is_recursion=True),
)

GAP = _claim(
    name="martinezrubio2025-gap-fw",
    source="Martinez-Rubio, Pokutta 2025, in a summary; the smaller bound: pfbench",
    statement=(
        "steps 2/(t+2): G_t <= 2 L D^2/(t+2), and G_t <= 2 L D^2 (t+2 - H_{t+2})/((t+1)(t+2)), H_k "
        "the harmonic number (ours)"
    ),
    check=partial(check_gaps, is_recursion=False),
    formulas=tuple(
        formula(bound, VALUE, {"t": 9}) for bound in (compute_printed_bound, compute_bound)
    ),
)

CLAIMS = (RECURSION, GAP)


class StaleGradient(OverriddenOracles):
    """Steps along the gradient of the step before."""

    def lo(self, g: np.ndarray) -> np.ndarray:
        """Return the minimiser of <h, v>, h the gradient of the last query."""
        last, self._last = getattr(self, "_last", g), g
        return np.asarray(self._original.lo(last))


MUTANTS = (Mutant.from_oracles("frank-wolfe-previous-gradient", StaleGradient, RECURSION, GAP),)
