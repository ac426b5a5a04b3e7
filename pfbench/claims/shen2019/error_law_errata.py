"""Errata of the proofs of the error laws: shen2019 (7), (8), sections 3.1 and 4.1."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.shen2019.epoch_estimators import single_draw_variance
from pfbench.problems.linear_models import LeastSquares, LinearModel, LogCosh
from pfbench.sets import L2Ball
from pfbench.verification import Floats
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, stream
from pfbench.verification.instruments.forced_path import ForcedPath

_ALL_SMOOTH = "every component, section 1"
_CONSTANT = "a constant was lost"
_LOST = 10.0
"""Names of readings, and the lost constant that the last of them allows."""


# --- smoothness in expectation, (7) and (8) -------------------------------------------------------


def examine_expected_lipschitz(
    effort: str, seed: int, *, squared: bool = False
) -> ExaminationEvidence:
    """Examine SVRG's error bound with L as shen2019's (7) defines it, on rows of unequal length.

    One row is far longer than the others. In (7), E|grad f_i(x)-grad f_i(y)| <= L|x-y|.
    """
    rng = stream(seed, "(7)")
    rows = _unequal_rows(rng)
    problem = LeastSquares(rows, rng.standard_normal(len(rows)), L2Ball(1, 1.0))
    x, y = rng.uniform(0.2, 0.9, 1), -rng.uniform(0.2, 0.9, 1)
    u = float(np.abs(x - y)[0])
    changes = _component_differences(problem, x, y)
    L = float(np.mean(np.abs(changes))) / u
    mean_squared = float(problem.constants(problem.start()).L_ms)
    error = float(np.var(changes))
    printed = error / ((mean_squared if squared else L) * u) ** 2
    return compare_ratios(
        printed, error / (mean_squared * u) ** 2, **{"L of (7)": L, "L_ms": mean_squared}
    ).with_ratios_under_other_readings(
        {
            _ALL_SMOOTH: error / (float(problem.constants(problem.start()).L_max) * u) ** 2,
            _CONSTANT: printed / _LOST,
        }
    )


def examine_expected_hessian_lipschitz(
    effort: str, seed: int, *, squared: bool = False
) -> ExaminationEvidence:
    """Examine CASVRG's error bound with L2 as shen2019's (8) defines it, on rows of unequal length.

    The law is tested even without the factor 1/4. For this problem, the L2 of (8) is sup|phi'''|
    E|a|^3. The longest row is where phi''' is largest.
    """
    rows = _unequal_rows(stream(seed, "(8)"))
    steepest = math.atanh(1.0 / math.sqrt(3.0))
    x, y = np.array([1e-3]), np.zeros(1)
    problem = LogCosh(rows, np.full(len(rows), -steepest), L2Ball(1, 1.0))
    constants = problem.constants(problem.start())
    hessian = problem.hessian(y)
    aided = [float(hessian.batch(np.array([i]), x, y)[0]) for i in range(problem.n)]
    error = float(np.var(_component_differences(problem, x, y) - aided))
    L2 = problem.loss.third * float(np.mean(np.abs(rows) ** 3))
    mean_squared, u = float(constants.L2_ms), 1e-3
    largest = problem.loss.third * float(np.abs(rows).max()) ** 3
    printed = error / ((mean_squared if squared else L2) ** 2 * u**4)
    return compare_ratios(
        printed, error / (mean_squared**2 * u**4 / 4.0), **{"L2 of (8)": L2, "L2_ms": mean_squared}
    ).with_ratios_under_other_readings(
        {"every Hessian, section 4.1": error / (largest**2 * u**4), _CONSTANT: printed / _LOST}
    )


def _unequal_rows(rng: np.random.Generator) -> Floats:
    """Return 200 numbers, of which one is much larger than the others; shape (200, 1)."""
    rows = rng.uniform(0.05, 0.1, (200, 1))
    rows[int(rng.integers(200))] = 1.0
    return rows


def _component_differences(problem: LinearModel, x: Floats, y: Floats) -> Floats:
    """Return grad f_i(x) - grad f_i(y) for each i, shape (n,); the problem has one variable."""
    return np.array([problem.difference(np.array([i]), x, y)[0] for i in range(problem.n)])


def _compute_squared_norm_diameter(constants: Constants) -> float:
    return float(constants.L_ms * constants.D) ** 2


def examine_second_moment(
    effort: str,
    seed: int,
    *,
    printed: Callable[[Constants], float] = _compute_squared_norm_diameter,
) -> ExaminationEvidence:
    """Examine shen2019's bound L^2 D^2 of E|grad f_i|^2, and the bound sigma^2 of a sample's error.

    The components are f_i(x) = log cosh(x - b_i) with b_1 = -b_2 >= 3 on |x| <= 0.1. So f is
    stationary at 0, but no f_i is stationary in the set. On |x| <= 0.001 even a large constant
    factor does not make L^2 D^2 a bound.
    """
    b = float(stream(seed, "3.1").uniform(3.0, 4.0))
    moment, spread, constants = _moments_and_constants(b, 0.1)
    smaller, _, of_smaller = _moments_and_constants(b, 0.001)
    return compare_ratios(
        min(moment, spread) / printed(constants),
        spread / constants.sigma2,
        **{
            "E|grad f_i|^2": moment,
            "E|grad f_i-grad f|^2": spread,
            "L^2 D^2": _compute_squared_norm_diameter(constants),
            "sigma^2": constants.sigma2,
        },
    ).with_ratios_under_other_readings(
        {
            _ALL_SMOOTH: moment / (constants.L_max * constants.D) ** 2,
            "of the error alone": spread / _compute_squared_norm_diameter(constants),
            _CONSTANT: smaller / _compute_squared_norm_diameter(of_smaller) / _LOST,
        }
    )


def _moments_and_constants(b: float, radius: float) -> tuple[float, float, Constants]:
    """Return the largest E|grad f_i|^2 and E|grad f_i - grad f|^2 over the set, and the constants.

    The largest are taken over five points of the set.
    """
    problem = LogCosh(np.ones((2, 1)), np.array([b, -b]), L2Ball(1, radius))
    slopes = [
        [problem.batch(np.array([i]), np.array([x]))[0] for i in range(problem.n)]
        for x in np.linspace(-radius, radius, 5)
    ]
    moment, spread = np.mean(np.square(slopes), axis=1), np.var(slopes, axis=1)
    return float(moment.max()), float(spread.max()), problem.constants(problem.start())


# --- mean values, section 4.1 ---------------------------------------------------------------------


def examine_gradient_change_formula(
    effort: str, seed: int, *, with_increment: bool = False
) -> ExaminationEvidence:
    """Examine shen2019's formula for grad f_i(x) - grad f_i(x~), which lacks the factor x - x~.

    The correct formula is grad f_i(x) - grad f_i(x~) = f_i''(x-bar) (x - x~). The formula is tested
    in one variable. For each component and two lengths of x - x~, a point x-bar is searched among
    1001 points of the segment. The ratio is that of the left side to the nearest right side. In
    units of length u, the missing factor 1 becomes u.
    """
    rng = stream(seed, "mean value")
    problem = LogCosh(rng.uniform(0.5, 1.5, (9, 1)), rng.uniform(-0.3, 0.3, 9), L2Ball(1, 1.0))
    y, step = 0.10, 0.1
    results: dict[float, list[float]] = {1.0: [], float(problem.set.diameter): [], step: []}
    corrected = []
    for i in range(problem.n):
        for x in (y + step, y + 2.0 * step):
            item = np.array([i])
            change = float(problem.difference(item, np.array([x]), np.array([y]))[0])
            segment = np.linspace(y, x, 1001)
            second = np.array([_second_derivative(problem, item, s) for s in segment])
            corrected.append(_factor_outside_range(change, second * (x - y)))
            for unit, ratios in results.items():
                ratios.append(
                    _factor_outside_range(change, second * (x - y if with_increment else unit))
                )
    printed, diameter, first = results.values()
    return compare_ratios(min(printed), max(corrected)).with_ratios_under_other_readings(
        {"lengths in units of D": max(diameter), "lengths in units of the step": max(first)}
    )


def _second_derivative(problem: LogCosh, item: Any, s: float) -> float:
    """Return the second derivative at s of a component with one variable."""
    point = np.array([s])
    return float(problem.hessian(point).batch(item, np.array([s + 1.0]), point)[0])


def _factor_outside_range(number: float, values: Floats) -> float:
    """Return the factor by which a number is outside the range of `values`, or 1 if it is inside.

    The function is continuous, and `values` are samples of it. All numbers are positive.
    """
    return float(max(1.0, number / values.max(), values.min() / number))


def examine_mean_value(
    effort: str, seed: int, *, separable_power: float = 4.0
) -> ExaminationEvidence:
    """Examine shen2019's mean value theorem for gradients, which uses one point for all entries.

    The function is f(x) = a x_1^3/3 + b x_2^q/q, from 0 to (s, t). The residual at 10^4 points of
    the segment exceeds the possible change of the residual between two of them. So every point is
    excluded. The integral form of the mean value theorem holds. The integral form gives |grad
    f(x)-grad f(x~)-Hess f(x~)(x-x~)| <= (L2/2)|x-x~|^2. From this follow the factor 1/4 in
    CASVRG's law, and eta^2 (i-1/2) for step i of CASPIDERG.
    """
    rng, q = stream(seed, "vector"), separable_power
    a, b = rng.uniform(0.5, 2.0, size=2)
    s, t = rng.uniform(0.5, 1.0, size=2)

    def gradient(share: Floats | float) -> Floats:
        return np.array([a * (share * s) ** 2, b * (share * t) ** (q - 1.0)])

    def slope(share: Floats | float) -> Floats:
        second = np.array([2.0 * a * (share * s), (q - 1.0) * b * (share * t) ** (q - 2.0)])
        return np.asarray((second.T * np.array([s, t])).T)

    change = gradient(1.0)
    alphas = np.linspace(0.0, 1.0, 10_001)
    residuals = np.linalg.norm(slope(alphas).T - change, axis=1)
    lipschitz = float(np.linalg.norm([2.0 * a * s * s, (q - 1.0) * (q - 2.0) * b * t ** (q - 1.0)]))
    lower = float(residuals.min()) - 0.5 * lipschitz * 1e-4
    nodes, weights = np.polynomial.legendre.leggauss(20)
    integral = slope(0.5 * (nodes + 1.0)) @ (0.5 * weights)
    curved = slope(alphas) - slope(0.0)[:, None]
    remainder_at_most = float(np.linalg.norm(curved, axis=0).max())
    deviation = float(np.linalg.norm(integral - change) / np.linalg.norm(change))
    remainder, increments = _casvrg_ratio_and_caspiderg_deviation()
    return ExaminationEvidence(
        printed_fails=lower > 0.0,
        corrected_holds=deviation <= 1e-12 and max(abs(remainder - 1.0), increments) <= 1e-6,
        numbers={
            "least residual over the segment": lower,
            "relative error of the integral form": deviation,
            "square of the remainder over L2^2|x-x~|^4/4": remainder,
            "largest deviation from eta^2 (i-1/2)": increments,
        },
    ).with_ratios_under_other_readings(
        {
            "a point for each entry": max(map(_factor_outside_range, change, slope(alphas))),
            "a bound of norms": float(np.linalg.norm(change - slope(0.0))) / remainder_at_most,
        }
    )


def _casvrg_ratio_and_caspiderg_deviation() -> tuple[float, float]:
    """Return the ratio of CASVRG's variance to its formula, and CASPIDERG's deviation.

    The formulas test the integral form of the mean value theorem on a forced path. CASVRG's is
    (p eta)^4/4 after p steps; the ratio to it is returned. CASPIDERG's is eta^4 (i-1/2)^2 at step
    i; the largest relative deviation is returned.
    """
    problem, eta, p = ForcedPath(2, 2, L=1.0, L2=1.0), 1e-3, 20
    points = [np.array([i * eta, 0.0]) for i in range(p + 1)]
    first = single_draw_variance(problem, points[p], points[0], points[0])
    steps = [
        single_draw_variance(problem, points[i], points[i - 1], points[0]) for i in range(1, p + 1)
    ]
    laws = np.array([eta**4 * (i - 0.5) ** 2 for i in range(1, p + 1)])
    deviation = float(np.abs(np.array(steps) / laws - 1.0).max())
    return first / ((p * eta) ** 4 / 4.0), deviation
