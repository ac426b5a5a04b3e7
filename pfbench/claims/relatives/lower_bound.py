"""n/2 component gradients are not enough for a method that stays in their span.

Let f_i(x) = <b_i, x> + L |x|^2/2 with orthogonal b_i, |b_i|^2 = 2 L Delta n. Runs start at x_0 =
0, where f(x_0) - min f = Delta. A point in the span of k of the b_i has |grad f(x)|^2 >= 2 L Delta
(n-k)/n, since each b_i orthogonal to it contributes |b_i|^2/n^2. So |grad f(x)| < sqrt(L Delta)
needs more than n/2 component gradients. The lower bound holds only for methods whose points are in
the span of the gradients that they queried.
"""

import math

import numpy as np

from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Evidence, Floats, make_instance
from pfbench.verification.instruments.indefinite import IndefiniteQuadratic
from pfbench.verification.statistics import Decision, combine_all, decide_exact, decide_inequality
from pfbench.verification.trial import Trial
from pfbench.verification.units import GRADIENT, formula

_SEEN = 1e-12
"""Least part of x along b_i, relative to that of the minimiser, that is not rounding."""


def orthogonal_sum(n: int, smoothness: float = 1.0, rise: float = 1.0) -> IndefiniteQuadratic:
    """Return a sum of n components with orthogonal slopes in R^n, with f(0) - min f = `rise`.

    The start is 0. The slopes are randomly rotated, so that no slope is along a coordinate axis.
    """
    size = math.sqrt(2.0 * smoothness * rise * n)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    slopes = size * basis
    mean = slopes.mean(axis=0)
    noise = slopes - mean
    return IndefiniteQuadratic(
        WholeSpace(n), smoothness * np.eye(n), mean, np.zeros(n), -rise, 0.0, noise - noise.mean(0)
    )


def gradient_norm_floor(L: float, delta: float, n: int, k: int) -> float:
    """Return sqrt(2 L Delta (n-k)/n), a lower bound of |grad f| in the span of k of n slopes."""
    return math.sqrt(2.0 * L * delta * max(n - k, 0) / n)


def count_seen_components(problem: IndefiniteQuadratic, x: Floats) -> int:
    """Return the number of components along whose orthogonal slopes x has a nonzero part."""
    slopes = problem.noise + problem.b
    path = slopes @ x / (slopes * slopes).sum(axis=1)
    size = 1.0 / (problem.n * problem.A[0, 0])  # the minimiser has -1/(n L) of each
    return int((np.abs(path) > _SEEN * size).sum())


INSTANCES = (
    make_instance(orthogonal_sum, n=40).with_title("n = 40"),
    make_instance(orthogonal_sum, n=200).with_title("n = 200"),
)


def check_lower_bound(trial: Trial) -> Evidence:
    """Test the lower bound of |grad f| at each point of a run of n component gradients.

    Each point must also be in the span of the component gradients queried so far.
    """
    decisions: dict[str, Decision] = {}
    for instance in INSTANCES:
        problem = instance()
        n, c = problem.n, problem.constants(problem.start())
        algorithm = trial.make(iterations=n, batch=1, step=1.0 / (n * c.L_f))
        ratios, early, excess = [0.0], [0.0], 0
        for step in trial.follow(problem, algorithm, seed=trial.seeds(1, instance.name)[0]):
            current, spent = np.asarray(step.state.x), step.counts().sfo
            k = count_seen_components(problem, current)
            excess += k > spent
            size = float(np.linalg.norm(problem.gradient(current)))
            ratios.append(gradient_norm_floor(c.L_f, c.delta, n, k) / max(size, 1e-300))
            if spent <= n / 2:
                early.append(math.sqrt(c.L_f * c.delta) / max(size, 1e-300))
        statement = f"{excess} of its points have parts along more components than it queried."
        decisions |= {
            f"{instance.name}, span": decide_exact(
                excess == 0, statement, statement, {"beyond": float(excess)}
            ),
            f"{instance.name}, k": decide_inequality(ratios),
            f"{instance.name}, n/2": decide_inequality(early),
        }
    return Evidence(combine_all(decisions), {"ratio": 1.0, "beyond": 0.0}, len(INSTANCES))


SPANS = Claim(
    name="relatives-lb-n",
    source="Li, Bao, Zhang, Richtarik 2021, the order; the instance is of pfbench",
    kind="certificate",
    statement=(
        "from 0 on n components with orthogonal slopes, a point in the span of k components has "
        "|grad f|^2 >= 2 L Delta (n-k)/n: |grad f| < sqrt(L Delta) takes more than n/2 SFO, for "
        "every method whose points are in the span of what it saw"
    ),
    check=check_lower_bound,
    instances=INSTANCES,
    algorithm="prox-sgd",
    assumptions=("points in the span of the component gradients seen",),
    schedule="b = 1, step = 1/(nL)",
    expected_seconds=(0.5, 0.5),
    formulas=(formula(gradient_norm_floor, GRADIENT),),
)

CLAIMS = (SPANS,)
