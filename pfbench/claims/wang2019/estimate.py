"""The estimate of SpiderBoost: exact once in each epoch, and its error law in between.

The error is e_k = v_k - grad f(x_k). With a new draw of S components in each iteration, the
conditional mean of |e_k|^2 is |e_{k-1}|^2 + (tau^2/S) |x_k - x_{k-1}|^2. Here tau is the variation
of the components' differences (Fang et al. 2018, lemma 1). On the turning bowl this is an equality
at every step.
"""

import itertools
import math

import numpy as np

from pfbench.base.protocols import Algorithm
from pfbench.claims.wang2019.cheapest import TURNING
from pfbench.claims.wang2019.shared import make_scheduled_algorithm
from pfbench.points import keep
from pfbench.verification import Floats, Instance, NotTestable, Trial, make_instance
from pfbench.verification.instruments.rotating import RotatingBowl
from pfbench.verification.statistics import Decision, decide_exact, max_log_e_value, rejects

_EXACT = 1e-9
"""Share of the gradient at the start below which an error is rounding."""

BOWL: Instance = make_instance(TURNING.build, n=64, curvature=2.0, d=8)


def decide_error_law(trial: Trial, algorithm: Algorithm, S: int, q: int) -> dict[str, Decision]:
    """Decide whether the estimate is exact once an epoch, and meets its error bound in between.

    The result is empty if the method under test does not yield its estimates.

    Parameters
    ----------
    trial
        Trial that makes the runs.
    algorithm
        The subject, made for the bowl.
    S, q
        The batch and the epoch length of the claim.
    """
    problem = BOWL()
    longest, samples = 0, list[float]()
    for seed in trial.seeds(trial.choose_by_effort(20, 60), "estimate"):
        try:
            errors, moved = _errors_and_squared_steps(trial, problem, algorithm, seed, 8 * q)
        except NotTestable:
            return {}
        sizes = np.array([float(e @ e) for e in errors])
        exact = sizes <= (_EXACT * problem.mu * problem.radius) ** 2
        longest = max(longest, _max_streak(~exact))
        law = sizes[:-1] + problem.tau**2 * np.array(moved[1:]) / S
        tested = (law > 0.0) & (np.arange(1, sizes.size) % q > 0)  # no reference gradient there
        ratios = sizes[1:][tested] / law[tested]
        samples.extend(ratios)
    largest = max_log_e_value(samples, 1.0)
    measured = {"sampled ratio": float(np.mean(samples)), "log_e_value": largest}
    p_value = math.exp(-largest)
    if rejects(largest):
        law_kept = Decision("violated", "The error exceeds the law.", measured, p_value)
    else:
        law_kept = Decision("holds", "The law matches the reference.", measured, p_value)
    reference = decide_exact(
        longest < q,
        f"{longest} successive estimates are not exact, but an epoch has {q}.",
        {"longest": float(longest)},
    )
    return {"reference gradients": reference, "error of the estimate": law_kept}


def _errors_and_squared_steps(
    trial: Trial, problem: RotatingBowl, algorithm: Algorithm, seed: int, limit: int
) -> tuple[list[Floats], list[float]]:
    """Return the errors v_k - grad f(x_k) and squared steps |x_k - x_{k-1}|^2 of a run."""
    errors: list[Floats] = []
    moved: list[float] = []
    before = problem.start()
    for x, step in itertools.islice(
        trial.follow_with_previous_point(problem, algorithm, seed), limit
    ):
        point = x if step.state.at is None else keep(step.state.at)
        errors.append(step.estimate - problem.gradient(point))
        moved.append(float((point - before) @ (point - before)))
        before = point
    return errors, moved


def _max_streak(flags: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> int:
    """Return the length of the longest streak of true flags."""
    lengths = [len(list(group)) for flag, group in itertools.groupby(flags) if flag]
    return max(lengths, default=0)


def decide_law_with_explicit_schedule(trial: Trial, step: float) -> dict[str, Decision]:
    """Decide whether the estimate's error meets its bound, with batch and epoch length sqrt n."""
    root = math.isqrt(BOWL().n)
    algorithm = trial.make(batch=root, period=root, iterations=8 * root, step=step)
    return decide_error_law(trial, algorithm, root, root)


def decide_law_with_method_schedule(trial: Trial) -> dict[str, Decision]:
    """Decide whether the estimate's error meets its bound, with the method's own schedule.

    The result is that of `decide_error_law`.
    """
    problem, root = BOWL(), math.isqrt(BOWL().n)
    constants = problem.constants(problem.start())
    epsilon = math.sqrt(4.0 * constants.L * float(constants.delta) / (8.0 * root))
    return decide_error_law(
        trial, make_scheduled_algorithm(trial, constants, 8 * root, epsilon), root, root
    )
