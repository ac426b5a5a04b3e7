"""Errata of shen2019, sections 1 to 3 and 6: theorem 3.1, the moment of gradients, the scaling."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from pfbench.algorithms.nfwu import NFWUCASVRG, NFWUSPIDERG, NFWUSVRG
from pfbench.base.constants import Constants
from pfbench.measures.common import estimator_error
from pfbench.points import inner
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import synthetic
from pfbench.problems.rows import synthetic_rows
from pfbench.runs.loop.solve import solve
from pfbench.sets import L2Ball
from pfbench.verification.contrast import (
    Contrast,
    Examination,
    Floats,
    compared,
    gaps,
    stream,
)
from pfbench.verification.instruments.forced_path import ForcedPath


def missing_diameter(
    effort: str,
    seed: int,
    *,
    printed: Callable[[float, float], float] = lambda epsilon, D: 5.0 * epsilon,
) -> Contrast:
    """Run NFWU by the theorem on segments of several lengths D; compare mean_t V with the bounds.

    V falls from 3 eps D like exp(-eps t/(L D)), so that its mean over T = 3 L D/eps is 0.95 eps D.
    """
    rng, epsilon = stream(seed, "(10)"), 0.1
    over_printed, over_corrected = [], []
    for D in np.array([8.0, 20.0, 40.0]) * rng.uniform(1.0, 1.2, size=3):
        problem = ForcedPath(128, 65, length=float(D), pull=3.0 * epsilon)
        algorithm = NFWUSPIDERG.theory(epsilon, problem.constants(problem.start()))
        mean = float(gaps(problem, algorithm, seed).mean())
        over_printed.append(mean / printed(epsilon, float(D)))
        over_corrected.append(mean / (2.0 * epsilon * float(D)))
    return compared(max(over_printed), max(over_corrected), epsilon=epsilon)


def a_tenth_of_the_gap(effort: str, seed: int, *, divisor: float = 10.0) -> Contrast:
    """Remark 3.1: count outputs with V/divisor <= eps D, which it says satisfy (2), V <= eps D.

    Corrected: a run for eps/10 has V <= eps D at half of its outputs or more.
    """
    rng, epsilon = stream(seed, "remark 3.1"), 1.0
    D = float(rng.uniform(8.0, 10.0))
    problem = ForcedPath(128, 65, length=D, pull=3.0 * epsilon)
    constants = problem.constants(problem.start())
    V = gaps(problem, NFWUSPIDERG.theory(epsilon, constants), seed)
    passed = V / divisor <= epsilon * D
    wrong = float(np.mean(V[passed] > epsilon * D)) if passed.any() else 0.0
    finer = gaps(problem, NFWUSPIDERG.theory(epsilon / 10.0, constants), seed)
    good = float(np.mean(finer <= epsilon * D))
    return Contrast(
        printed_fails=wrong > 0.0,
        corrected_holds=good >= 0.5,
        numbers={
            "share of outputs that pass with V > eps D": wrong,
            "share of outputs for eps/10 with V <= eps D": good,
        },
    )


def _printed_weight(p: int, epochs: int, D: float) -> float:
    return p / epochs


def weight_of_section_6(
    effort: str, seed: int, *, printed: Callable[[int, int, float], float] = _printed_weight
) -> Contrast:
    """Take steps with weight p/T, and p/(T D), from 0 in matrix recovery; see who leaves the ball.

    p = 10 .. 50, T = 20. Beside them 1/(20 p), which reproduces the order of figure 1. With full
    effort, what the feasible readings say of the curvature-aided errors at the paper's size.
    """
    problem = RobustMatrixRecovery(synthetic(seed=seed, rows=30, columns=30, density=0.3))
    D, periods = float(problem.set.diameter), (10, 20, 30, 40, 50)
    readings: dict[str, list[float]] = {
        "p/T as a weight": [printed(p, 20, D) for p in periods],
        "p/T as eta, weight p/(T D)": [p / 20 / D for p in periods],
        "weight 1/(20 p)": [1.0 / (20.0 * p) for p in periods],
    }
    norms = {
        name: max(_largest_norm(problem, weight) / problem.radius for weight in weights)
        for name, weights in readings.items()
    }
    ranges = {f"{name}: smallest": min(weights) for name, weights in readings.items()}
    ranges |= {f"{name}: largest": max(weights) for name, weights in readings.items()}
    if effort == "full":
        for name in list(readings)[1:]:
            for p, weight in ((periods[0], readings[name][0]), (periods[-1], readings[name][-1])):
                ranges[f"{name}: error over SVRG's, p={p}"] = _error_over_svrg(weight, p, seed)
    first, *others = norms.values()
    sizes = {f"{name}: norm over radius": norm for name, norm in norms.items()}
    return compared(first, max(others), **sizes, **ranges)


def _largest_norm(problem: RobustMatrixRecovery, weight: float) -> float:
    """Return the largest nuclear norm within three steps X + weight (V - X) from 0, all dense."""
    data, X = problem.observations, np.zeros(problem.shape)
    largest = 0.0
    for _ in range(3):
        residual = X[data.rows, data.columns] - data.values
        g = np.zeros(problem.shape)
        g[data.rows, data.columns] = residual * np.exp(-(residual**2) / (2.0 * problem.sigma))
        left, _, right = np.linalg.svd(g)
        X = X + weight * (-problem.radius * np.outer(left[:, 0], right[0]) - X)
        largest = max(largest, float(np.linalg.norm(X, "nuc")))
    return largest


def _error_over_svrg(weight: float, p: int, seed: int) -> float:
    """Return the mean of |g - grad f| of CASVRG over that of SVRG, in 20 epochs of figure 1."""
    problem = RobustMatrixRecovery(synthetic(seed=seed))
    means = []
    for kind in (NFWUCASVRG, NFWUSVRG):
        algorithm = kind(iterations=20 * p, step=weight, batch=problem.n // p, period=p)
        run = solve(problem, algorithm, seed=seed, measures={"error": estimator_error}, every=3)
        column = run.columns.index("error")
        means.append(np.nanmean([row[column] for row in run.rows]))
    return float(means[0] / means[1])


def _squared_diameter(constants: Constants) -> float:
    return float(constants.L_ms * constants.D) ** 2


def second_moment(
    effort: str, seed: int, *, printed: Callable[[Constants], float] = _squared_diameter
) -> Contrast:
    """Compare E|grad f_i|^2, and the error of S = 1 sample, with L^2 D^2 and with sigma^2.

    Log cosh with labels far from what the ball can reach: no component has a stationary point in
    it. All components are enumerated at several points.
    """
    rng = stream(seed, "3.1")
    features, labels = synthetic_rows(seed=seed, rows=200, columns=5)
    far = np.where(labels >= 0.0, 3.0, -3.0)
    problem = LogCosh(features, far, L2Ball(5, 0.1))
    constants = problem.constants(problem.start())
    moments, errors = [], []
    for _ in range(3):
        x = problem.set.project(rng.standard_normal(5))
        components = np.array([problem.batch(np.array([i]), x) for i in range(problem.n)])
        moments.append(float(np.mean(np.sum(components**2, axis=1))))
        errors.append(float(np.mean(np.sum((components - problem.gradient(x)) ** 2, axis=1))))
    least = min(max(moments), max(errors))
    return compared(
        least / printed(constants),
        max(errors) / constants.sigma2,
        **{
            "E|grad f_i|^2": max(moments),
            "E|grad f_i-grad f|^2": max(errors),
            "L^2 D^2": _squared_diameter(constants),
            "sigma^2": constants.sigma2,
        },
    )


def sum_or_mean(
    effort: str, seed: int, *, printed: Callable[[int], float] = lambda n: 1.0
) -> Contrast:
    """Compare V and L of (4), a sum without 1/n, with those of the mean that (1) defines."""
    mean = RobustMatrixRecovery(synthetic(seed=seed, rows=20, columns=20, density=0.5))
    total = replace(mean, scaling="sum")
    ratios = {
        "V": _gap(total) / _gap(mean),
        "L": _lipschitz(total) / _lipschitz(mean),
        "f": total.value(total.start()) / _by_definition(mean),
    }
    expected = {"V": float(mean.n), "L": float(mean.n), "f": 1.0}
    off = max(abs(ratios[name] / expected[name] - 1.0) for name in ratios)
    wrong = max(abs(ratios[name] / printed(mean.n) - 1.0) for name in ("V", "L"))
    return Contrast(
        printed_fails=wrong > 1e-6,
        corrected_holds=off <= 1e-9,
        numbers={"n": float(mean.n), **{f"{name}, sum over mean": r for name, r in ratios.items()}},
    )


def _gap(problem: RobustMatrixRecovery) -> float:
    x = problem.start()
    g = problem.gradient(x)
    return inner(g, x) - problem.minimum(g)[0]


def _lipschitz(problem: RobustMatrixRecovery) -> float:
    return float(problem.constants(problem.start()).L_f)


def _by_definition(problem: RobustMatrixRecovery) -> float:
    """Return (4) at 0 as printed, in plain numbers."""
    z: Floats = problem.observations.values
    return float(np.sum(1.0 - np.exp(-(z**2) / (2.0 * problem.sigma))))


EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {
        "shen2019-(4)": sum_or_mean,
        "shen2019-(10)": missing_diameter,
        "shen2019-remark3.1": a_tenth_of_the_gap,
        "shen2019-3.1-moment": second_moment,
        "shen2019-section6-eta": weight_of_section_6,
    }
)
"""The examinations of this file, by the name of the erratum."""
