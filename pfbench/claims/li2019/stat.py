"""li2019 theorem 1 and (27): at a small gap, eps_stat bounds the distance from theta_hat."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import scipy

from pfbench.algorithms.sliding import CGS
from pfbench.claims.li2019 import shared_runs
from pfbench.runs.loop.steps import steps
from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, stream
from pfbench.verification.instruments.quadratics import KnownQuadratic
from pfbench.verification.statistics import Decision, best_if_all_hold_else_worst, decide_inequality
from pfbench.verification.units import CURVATURE, LENGTH, NUMBER, formula

# --- the instances --------------------------------------------------------------------------------

_SPARSE = {
    support: make_instance(
        shared_runs.make_biased_minimiser_problem, d=64, support=support, share=0.5
    )
    for support in (1, 3)
}

# --- the check ------------------------------------------------------------------------------------


def check_distance_at_small_gaps(trial: Trial) -> Evidence:
    """Test the bound of |y - minimiser|^2 at all points y of a run at which the gap is small.

    The bound is 4 eps_stat^2.

    A gap is small if it is at most sigma_hat eps_stat^2. The run is scheduled to reach this gap,
    and its last point must have it.
    """
    last_gaps, distances = list[float](), dict[str, Decision]()
    for d, (support, sparse), part in product(
        trial.choose_by_effort((64, 256), (64, 256, 1024)),
        _SPARSE.items(),
        trial.choose_by_effort((0.05, 0.5), (0.02, 0.05, 0.2, 0.5)),
    ):
        problem = sparse(d=d, share=part)
        error = shared_runs.statistical_error_squared_if_biased(d, support, part)
        target, gap = problem.sigma_hat * error, math.inf
        ratios = [0.0]
        restarts = shared_runs.restart_count(problem.value(problem.start()), target)
        for _, _, step in shared_runs.follow_inner_iterations(trial, problem, restarts):
            gap = problem.value(step.state.x) / target
            if gap <= 1.0:
                square = float(np.sum((step.state.x - problem.minimiser) ** 2))
                ratios.append(square / error / 4.0)
        name = f"d={d}, s={support}, |Delta*|_1={part:g}"
        distances[name] = decide_inequality(ratios)
        last_gaps.append(gap)
    parts = {
        "distance": shared_runs.combine_with_largest_ratio(distances),
        "reached": decide_inequality(last_gaps),
    }
    claimed = {"distance: ratio": 1.0, "reached: ratio": 1.0}
    return Evidence(best_if_all_hold_else_worst(parts), claimed, len(last_gaps))


STAT = Claim(
    name="li2019-stat",
    source="li2019 theorem 1 and (27), corrected",
    kind="bound",
    statement=(
        "f(theta_t) - f(theta_hat) <= sigma_hat eps_stat^2 implies "
        "|theta_t - theta_hat|^2 <= 4 eps_stat^2"
    ),
    algorithm="cgs",
    assumptions=(shared_runs.STRONG, "phi(theta_hat) = rho"),
    instances=tuple(_SPARSE.values()),
    schedule="theory",
    expected_seconds=(0.2, 4.0),
    check=check_distance_at_small_gaps,
    formulas=(
        formula(
            shared_runs.statistical_error_squared,
            (0, 2),
            tau=CURVATURE,
            compatibility=NUMBER,
            outside=LENGTH,
            size=LENGTH,
            length=LENGTH,
        ),
    ),
)

# --- errata ---------------------------------------------------------------------------------------


_WIDE = 256


def _statistical_error_squared_as_printed(share: float) -> float:
    """Return the squared statistical error by the printed formula, for one nonzero entry (s = 1).

    The problem is `make_biased_minimiser_problem`.
    """
    size, length = 2.0 * share, share / math.sqrt(_WIDE)
    return 0.5 / _WIDE * (size + length) ** 2 / (1.0 - 8.0 / _WIDE)


def _make_problem_and_far_point(share: float, gap: float) -> tuple[KnownQuadratic, Floats]:
    """Return a problem with a flat direction, and a point with a small gap far from its minimiser.

    The problem is `make_biased_minimiser_problem` for s = 1. The point has the gap `gap`. From the
    minimiser, one reaches it by a move along the direction in which f is nearly flat. A second move
    shrinks the nonzero entry of the true parameter as far as the gap allows.
    """
    problem = shared_runs.make_biased_minimiser_problem(_WIDE, 1, share)
    w = scipy.linalg.hadamard(_WIDE)[-1] / _WIDE
    far, inwards = problem.minimiser + 2.0 * share * w, np.sign(w[0]) * np.eye(_WIDE)[0]
    slope, curvature = float(problem.gradient(far) @ inwards), 1.0 - 1.0 / _WIDE
    left = gap - problem.value(far)
    step = (math.sqrt(slope**2 + 2.0 * curvature * left) - slope) / curvature
    point = far + (1.0 - 1e-9) * step * inwards
    assert problem.set.contains(point)
    assert problem.value(point) <= gap
    return problem, point


def _distance_squared_of_far_point(share: float, gap: float) -> float:
    """Return the squared distance of `_make_problem_and_far_point`'s point to the minimiser."""
    problem, point = _make_problem_and_far_point(share, gap)
    return float(np.sum((point - problem.minimiser) ** 2))


def _max_squared_distance_of_cgs(share: float, gap: float) -> float:
    """Return the largest squared distance to the minimiser in a run of gradient sliding.

    The run starts at the point of `_make_problem_and_far_point` and makes two outer iterations.
    Only points with a gap of at most `gap` count.
    """
    problem, point = _make_problem_and_far_point(share, gap)
    problem = replace(problem, begin=point)
    constants = problem.constants(point)
    algorithm = CGS.theory(constants.delta / 4.0, constants)
    rng = np.random.default_rng(0)
    run = steps(problem, algorithm, streams={"oracles": rng, "algorithm": rng})
    outer = [s.x for k, s in enumerate(run.states, 1) if k % algorithm.period == 0]
    return max(
        float(np.sum((x - problem.minimiser) ** 2)) for x in outer if problem.value(x) <= gap
    )


def examine_squared_norm(
    effort: str, seed: int, *, is_corrected: bool = False
) -> ExaminationEvidence:
    """Examine (15) of li2019: the squared distance to the minimiser is <= eps^2 at small gaps.

    theta_hat is the minimiser. A gap is small if f(theta) - f(theta_hat) <= sigma_hat eps^2.
    """
    share = float(stream(seed, "(15)").uniform(0.2, 0.6))
    problem = shared_runs.make_biased_minimiser_problem(_WIDE, 1, share)
    printed = _statistical_error_squared_as_printed(share)
    truth = problem.value(problem.minimiser + share * scipy.linalg.hadamard(_WIDE)[-1] / _WIDE)
    gap = problem.sigma_hat * printed
    own = _distance_squared_of_far_point(share, 8.0 * gap) / (8.0 * printed)
    ratio = _distance_squared_of_far_point(share, gap) / printed
    corrected = _ratio_of_squared_distance_to_bound(share)
    return compare_ratios(
        corrected if is_corrected else ratio, corrected
    ).with_ratios_under_other_readings(
        {
            "8 in place of 1, e of (28)": 4.0 * corrected,
            "8 in place of 1, e as printed": own,
            "half of the square": 0.5 * ratio,
            "half of the gap": _distance_squared_of_far_point(share, 0.5 * gap) / printed,
            "the gap to f(theta*)": _distance_squared_of_far_point(share, gap + truth) / printed,
            "iterates of CGS": _max_squared_distance_of_cgs(share, gap) / printed,
        }
    )


def _ratio_of_squared_distance_to_bound(share: float) -> float:
    """Return the squared distance to the minimiser, divided by its corrected bound.

    The bound is 4 eps_stat^2, where the corrected statistical error eps_stat has the factor 8.
    """
    error = shared_runs.statistical_error_squared_if_biased(_WIDE, 1, share)
    return _distance_squared_of_far_point(share, (1.0 - 8.0 / _WIDE) * error) / (4.0 * error)


def examine_length_bounded_by_square(
    effort: str, seed: int, *, is_corrected: bool = False
) -> ExaminationEvidence:
    """Examine (22) of li2019, which bounds the distance to the minimiser by a squared distance.

    The left side of (22) is a length, but the right side is a squared length.
    """
    share = float(stream(seed, "(22)").uniform(0.2, 0.6))
    printed = _statistical_error_squared_as_printed(share)
    corrected = _ratio_of_squared_distance_to_bound(share)
    gap = (1.0 - 8.0 / _WIDE) * printed
    square = _distance_squared_of_far_point(share, gap)
    own = _distance_squared_of_far_point(share, 8.0 * gap) / (8.0 * printed)
    return compare_ratios(
        corrected if is_corrected else math.sqrt(square) / printed, corrected
    ).with_ratios_under_other_readings(
        {
            "both sides squared": square / printed,
            "no side squared": math.sqrt(square / printed),
            "both squared, 8 in place of 1, e of (28)": 4.0 * corrected,
            "both squared, 8 in place of 1, e as printed": own,
        }
    )
