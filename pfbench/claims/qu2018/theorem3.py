"""Theorem 3 and corollary 3 of qu2018: variance-reduced NCGS."""

import math
from collections.abc import Sequence

import numpy as np

from pfbench.algorithms.sliding import NCGSVR
from pfbench.claims.qu2018.gradient_mapping import (
    GOOD,
    RunCost,
    Sample,
    check_means_and_exact_counts,
    decide_call_exponent,
    decide_calls_and_outputs,
    mapping_sq,
    run_at_accuracies,
    run_for_accuracy,
)
from pfbench.sets import Box
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.claim import MAPPING_SQ, complexity
from pfbench.verification.instruments import indefinite
from pfbench.verification.units import SQUARE, formula

# --- the bound ------------------------------------------------------------------------------------


def uniform_output_bound(L: float, delta: float, T: int) -> float:
    """Return qu2018 theorem 3's bound of the expected squared gradient mapping.

    It is 18 L (Delta+1)/T, for an output drawn uniformly.
    """
    return 18.0 * L * (delta + 1.0) / T


def component_gradient_count(n: int, batch: int, period: int, T: int) -> int:
    """Return (T/m)(n + 2bm), the component gradients in T iterations with period m and batch b.

    m divides T. m is `period`, and b is `batch`.
    """
    return T // period * (n + 2 * batch * period)


# --- instances ------------------------------------------------------------------------------------


def make_slope_reached_at_end(T: int) -> indefinite.IndefiniteQuadratic:
    """Return a slope, a linear function on a box, whose end the last of T steps just reaches.

    The components are equal. The step size is 1/(3L). Every gradient mapping equals the constant
    gradient, as the end of the box is just reached.
    """
    return indefinite.make_quadratic_linear_along_box(1.0, T / 3.0, 1000.0, n=8)


def make_opposed_curvature_problem(T: int, n: int) -> indefinite.IndefiniteQuadratic:
    """Return the linear f(x) = -g x on an interval of T steps; its components are -g x +- x^2/2.

    Each step is g/3 long. f is the mean of -g x + x^2/2 and -g x - x^2/2. Everywhere but at the end
    |G|^2 = g^2 = 3000/T, with L = 1 and Delta = 1000. So only the end has a smaller |G|^2, and
    errors of the estimate change the lengths of the steps.
    """
    g = math.sqrt(3000.0 / T)
    length, signs = T * g / 3.0, np.resize([1.0, -1.0], n)
    ends = Box(1, np.zeros(1), np.array([length]))
    flat, b, zero = np.zeros((1, 1)), np.array([-g]), np.zeros(1)
    return indefinite.IndefiniteQuadratic(
        ends, flat, b, zero, -g * length, length, np.zeros((n, 1)), signs
    )


NONCONVEX = make_instance(indefinite.random_on_l1_ball, d=20, n=27, rise=10.0)
# The snapshot cancels the noise, and the spread of the Hessians leaves an error in the estimate.
SPREAD = make_instance(indefinite.noisy_ball, d=3, n=8, radius=100.0, noise=300.0, spread=3.0)
SLOPE = make_instance(make_slope_reached_at_end, T=20)
LINE = make_instance(make_opposed_curvature_problem, T=480, n=8)
SMALL = make_instance(indefinite.random_on_l1_ball, d=20, n=27, rise=0.3)
SMALL_SPREAD = make_instance(indefinite.noisy_ball, d=3, n=28, radius=10.0, noise=1.0, spread=0.5)
GROWING = make_instance(indefinite.random_on_l1_ball, d=5, n=64, rise=0.3)  # n grows


# --- the checks -----------------------------------------------------------------------------------


def check_mean_mapping(trial: Trial) -> Evidence:
    """Test the bound of the mean squared gradient mapping over T points, and the SFO counts."""
    long = trial.choose_by_effort(600, 4000)
    samples = {
        "non-convex on the l1 ball, T=60": _make_mean_sample(trial, NONCONVEX(trial.rng("l1")), 60),
        f"spread on a ball, T={long}": _make_mean_sample(trial, SPREAD(), long),
        "slope, T=20": _make_mean_sample(trial, SLOPE(), 20),
    }
    return check_means_and_exact_counts(trial, samples, trial.choose_by_effort(40, 48))


def _make_mean_sample(trial: Trial, problem: indefinite.IndefiniteQuadratic, T: int) -> Sample:
    constants = problem.constants(problem.start())
    L, n = constants.L, problem.n
    m, b = round(n ** (1 / 3)), round(n ** (2 / 3))
    algorithm = trial.make(iterations=T, smoothness=L, batch=b, period=m, tolerance=None)
    bound = uniform_output_bound(L, constants.delta, T)

    def sample(seed: int) -> tuple[float, float, float]:
        squares, sfo = [], 0
        for x, step in trial.follow_with_previous_point(problem, algorithm, seed):
            squares.append(mapping_sq(problem, x, problem.gradient(x), 1.0 / (3.0 * L)))
            sfo = step.counts().sfo
        return float(np.mean(squares)) / bound, component_gradient_count(n, b, m, T), sfo

    return sample


def check_rate(trial: Trial) -> Evidence:
    """Test how call counts grow in 1/eps and n, and that the mean |gradient mapping|^2 is <= eps.

    Component gradients are counted to the target, and linear minimisations in the whole run. The
    growth of the component gradients as n^(2/3) is determined by the schedule: an iteration costs
    that much in any case.
    """
    iterations = trial.choose_by_effort(9, 12)
    sweeps = {
        name: run_at_accuracies(
            trial, family, lambda c: uniform_output_bound(c.L, c.delta, iterations), 3.0
        )
        for name, family in (("l1 ball", SMALL), ("spread on a ball", SMALL_SPREAD))
    }
    sfo, lo, output, runs = decide_calls_and_outputs(trial, sweeps, 1.0)
    horizons = trial.choose_by_effort((6, 28, 130, 600), (6, 14, 33, 75, 170, 400, 900, 2000))
    sizes = trial.choose_by_effort(
        (64, 216, 1000, 8000), (64, 216, 512, 1332, 4096, 8000, 15624, 32768)
    )
    seeds = trial.seeds(statistics.MOST_SEEDS, "lines")
    by_horizon = statistics.SeedRows(
        lambda seed: [_run_along_slope(trial, LINE(T=T), seed) for T in horizons], seeds
    )
    by_size = statistics.SeedRows(
        lambda seed: [_run_along_slope(trial, LINE(n=n), seed) for n in sizes], seeds
    )
    sfo["line"] = decide_call_exponent(trial, horizons, by_horizon, "sfo_to_target", 1.0)
    in_n = decide_call_exponent(trial, sizes, by_size, "sfo_to_target", 2.0 / 3.0)
    means = _mean_outputs(trial, sizes)
    output["all n"] = statistics.decide_mean(means, 1.0)
    by_schedule = statistics.cap_at_holds_by_schedule_alone(in_n)
    runs += len(by_horizon.computed) * len(horizons) + len(by_size.computed) * len(sizes)
    return Evidence(
        statistics.combine_parts_and_conditions(
            {"SFO, eps": sfo, "SFO, n": by_schedule, "LO, eps": lo}, {"|G|^2/eps": output}
        ),
        {
            "exponent of 1/eps in SFO": 1.0,
            "exponent of n in SFO": 2.0 / 3.0,
            "exponent of 1/eps in LO": 2.0,
        },
        runs + len(means),
    )


def _run_along_slope(trial: Trial, problem: indefinite.IndefiniteQuadratic, seed: int) -> RunCost:
    """Return the cost of a scheduled run along a linear function, until it reaches the end.

    The run ends where |G|^2 <= 0.9 times its value on the slope.

    Only the end of the slope has so small a |G|^2.
    """
    epsilon = 0.9 * float(problem.b @ problem.b)
    return run_for_accuracy(trial, problem, epsilon, 3.0, seed=seed, limit=1e5)


def _mean_outputs(trial: Trial, sizes: Sequence[int]) -> list[float]:
    """Return the mean of |G|^2/epsilon over the output of runs, for several n and seeds.

    G is the gradient mapping.
    """
    means = []
    for seed in trial.seeds(trial.choose_by_effort(GOOD // len(sizes), 20), "n"):
        for n in sizes:
            growing = GROWING(np.random.default_rng(seed), n=n)
            c = growing.constants(growing.start())
            epsilon = uniform_output_bound(c.L, c.delta, 480)
            means.append(run_for_accuracy(trial, growing, epsilon, 3.0, seed=seed).mean)
    return means


# --- the claims -----------------------------------------------------------------------------------

MEAN = Claim(
    name="qu2018-thm3",
    source="qu2018 theorem 3",
    kind="bound",
    statement=(
        "E|G_lambda|^2 <= 18 L (Delta+1)/T, lambda = 1/(3L), uniform over T iterations, and "
        "IFO = (T/m)(n + 2bm)"
    ),
    check=check_mean_mapping,
    formulas=(formula(uniform_output_bound, SQUARE),),
    scale_dependence=NCGSVR.scale_dependence,
    instances=(NONCONVEX, SPREAD, SLOPE),
    algorithm="ncgs-vr",
    assumptions=("C compact", "L >= max(L_f, L_ms)", "m^2 <= 12 b"),
    schedule="m = round(n^(1/3)), b = round(n^(2/3)), eta = 1/T",
    expected_seconds=(12.0, 14.0),
)

RATE = Claim(
    name="qu2018-cor3",
    source="qu2018 corollary 3",
    kind="rate",
    statement="|G|^2 <= eps after O(n + n^(2/3)/eps) SFO and O(1/eps^2) LO",
    check=check_rate,
    instances=(SMALL, SMALL_SPREAD, LINE, GROWING),
    algorithm="ncgs-vr",
    assumptions=("C compact",),
    schedule="theory: SFO to the target, LO to the end",
    expected_seconds=(3.0, 40.0),
    complexity=complexity("ncgs-vr", MAPPING_SQ, SFO=(1.0, 2 / 3), LO=2.0),
)
