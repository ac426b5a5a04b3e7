"""Errata of the proofs of the error laws: shen2019 (7), (8), sections 3.1 and 4.1."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.shen2019.error_laws import LAW
from pfbench.claims.shen2019.paths import single_draw_variance
from pfbench.problems.linear_models import LeastSquares, LinearModel, LogCosh
from pfbench.sets import L2Ball
from pfbench.verification import Dossier, Erratum, Floats, Quote
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, stream
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.units import CURVATURE, GRADIENT, LENGTH, SQUARE, power_product

_ALL_SMOOTH = "every component, section 1"
_ALL_LIPSCHITZ = "every Hessian, section 4.1"
_CONSTANT = "a constant was lost"
_LOST = 10.0
"""Names of readings, and the constant that one of them grants."""


# --- smoothness in expectation, (7) and (8) -------------------------------------------------------


def examine_expected_lipschitz(
    effort: str, seed: int, *, squared: bool = False
) -> ExaminationEvidence:
    """SVRG's law with L of (7), E|grad f_i(x)-grad f_i(y)| <= L|x-y|, on rows of unequal size."""
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
    """CASVRG's law, even without the 1/4, with L2 of (8) on rows of unequal size.

    L2 of (8) is sup|phi'''| E|a|^3; the longest row is where phi''' is largest.
    """
    rng = stream(seed, "(8)")
    rows = _unequal_rows(rng)
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
        {_ALL_LIPSCHITZ: error / (largest**2 * u**4), _CONSTANT: printed / _LOST}
    )


def _unequal_rows(rng: np.random.Generator) -> Floats:
    """Return 200 numbers, shape (200, 1), of which one is much larger than the others."""
    rows = rng.uniform(0.05, 0.1, (200, 1))
    rows[int(rng.integers(200))] = 1.0
    return rows


def _component_differences(problem: LinearModel, x: Floats, y: Floats) -> Floats:
    """Return grad f_i(x) - grad f_i(y) for every i of a problem with one variable, shape (n,)."""
    return np.array([problem.difference(np.array([i]), x, y)[0] for i in range(problem.n)])


def _compute_squared_norm_diameter(constants: Constants) -> float:
    return float(constants.L_ms * constants.D) ** 2


def examine_second_moment(
    effort: str,
    seed: int,
    *,
    printed: Callable[[Constants], float] = _compute_squared_norm_diameter,
) -> ExaminationEvidence:
    """Compare E|grad f_i|^2, and the error of S = 1 sample, with L^2 D^2 and with sigma^2.

    f_i(x) = log cosh(x - b_i) with b_1 = -b_2 >= 3 on |x| <= 0.1: f is stationary at 0, no f_i is
    anywhere in C. On |x| <= 0.001 no constant helps.
    """
    b = float(stream(seed, "3.1").uniform(3.0, 4.0))
    moment, spread, constants = _measure_moments(b, 0.1)
    smaller, _, of_smaller = _measure_moments(b, 0.001)
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


def _measure_moments(b: float, radius: float) -> tuple[float, float, Constants]:
    """Return the largest E|grad f_i|^2, E|grad f_i-grad f|^2 at five points, and the constants."""
    problem = LogCosh(np.ones((2, 1)), np.array([b, -b]), L2Ball(1, radius))
    slopes = [
        [problem.batch(np.array([i]), np.array([x]))[0] for i in range(problem.n)]
        for x in np.linspace(-radius, radius, 5)
    ]
    moment, spread = np.mean(np.square(slopes), axis=1), np.var(slopes, axis=1)
    return float(moment.max()), float(spread.max()), problem.constants(problem.start())


# --- mean values, section 4.1 ---------------------------------------------------------------------


def examine_missing_increment(
    effort: str, seed: int, *, with_increment: bool = False
) -> ExaminationEvidence:
    """For one variable: look for x-bar with grad f_i(x) - grad f_i(x~) = f_i''(x-bar) (x - x~).

    As printed the factor x - x~ is missing. Of two steps of 0.1 and of every component, how far the
    left side is from the nearest value of the right side on 1001 points of the segment. A unit of
    length u turns the missing factor 1 into u.
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
            corrected.append(_ratio_to_nearest(change, second * (x - y)))
            for unit, ratios in results.items():
                ratios.append(
                    _ratio_to_nearest(change, second * (x - y if with_increment else unit))
                )
    printed, diameter, first = results.values()
    return compare_ratios(min(printed), max(corrected)).with_ratios_under_other_readings(
        {"lengths in units of D": max(diameter), "lengths in units of the step": max(first)}
    )


def _second_derivative(problem: LogCosh, item: Any, s: float) -> float:
    """Return f_i''(s) of a problem with one variable."""
    point = np.array([s])
    return float(problem.hessian(point).batch(item, np.array([s + 1.0]), point)[0])


def _ratio_to_nearest(number: float, values: Floats) -> float:
    """Return the ratio, at least 1, of a number to the nearest value of a continuous function.

    All are positive.
    """
    return float(max(1.0, number / values.max(), values.min() / number))


def examine_mean_value(
    effort: str, seed: int, *, separable_power: float = 4.0
) -> ExaminationEvidence:
    """f(x) = a x_1^3/3 + b x_2^q/q, from 0 to (s, t): no x-bar of the segment serves both entries.

    Every point of the segment is excluded: the residual at 10^4 of them exceeds what it can change
    between two. The integral form holds, and gives |grad f(x)-grad f(x~)-Hess f(x~)(x-x~)| <=
    (L2/2)|x-x~|^2, hence the 1/4 of CASVRG's law, and eta^2 (i-1/2) for step i of CASPIDERG.
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
    remainder, increments = _ratio_and_deviation_where_attained()
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
            "a point for each entry": max(map(_ratio_to_nearest, change, slope(alphas))),
            "a bound of norms": float(np.linalg.norm(change - slope(0.0))) / remainder_at_most,
        }
    )


def _ratio_and_deviation_where_attained() -> tuple[float, float]:
    """Return the ratios at which the 1/4 and the (i-1/2)^2 are attained for constant h'' = L2."""
    problem, eta, p = ForcedPath(2, 2, L=1.0, L2=1.0), 1e-3, 20
    points = [np.array([i * eta, 0.0]) for i in range(p + 1)]
    first = single_draw_variance(problem, points[p], points[0], points[0])
    steps = [
        single_draw_variance(problem, points[i], points[i - 1], points[0]) for i in range(1, p + 1)
    ]
    laws = np.array([eta**4 * (i - 0.5) ** 2 for i in range(1, p + 1)])
    deviation = float(np.abs(np.array(steps) / laws - 1.0).max())
    return first / ((p * eta) ** 4 / 4.0), deviation


ERRATA = (
    Erratum(
        name="shen2019-3.1-moment",
        as_printed="(7) and a bounded C give E|grad f_i(x)|^2 <= L^2 D^2, so S = L^2 D^2/eps^2",
        corrected="with sigma^2 for L^2 D^2: E|g-grad f|^2 <= sigma^2/S; the order in eps stands",
        examine=examine_second_moment,
        printed_formula=power_product(SQUARE, {"L": 2, "D": 2}),
        corrected_formula=power_product(SQUARE, {"sigma2": 1, "S": -1}),
        claim=LAW["sg"],
        objection="Name an assumption of the paper that bounds grad f_i itself, say that each f_i "
        "has a stationary point in C.",
        dossier=Dossier(
            conclusion="wrong",
            quotes=(
                Quote(
                    text="Using the smoothness assumption (7) and the boundedness of domain C, we "
                    "have … for all … and, if we have … we obtain",
                    location="section 3.1, SFW",
                ),
            ),
            derivation=(
                "Smoothness bounds differences of gradients, not gradients: add c_i x to f_i, then",
                "L and D stay, and grad f_i grows by c_i; with sum c_i = 0 even f stays.",
                "It would follow if every f_i had a stationary point in C, which nothing asks.",
                "What is needed of (9) is the variance, at most sigma^2/S by its definition.",
            ),
            instance="n = 2, log cosh(x - b) and log cosh(x + b), b >= 3, on |x| <= 0.1: 0.99 for "
            "L^2 D^2 = 0.04",
            readings={
                _ALL_SMOOTH: "each f_i is L-smooth, with the largest L",
                "of the error alone": "E|grad f_i-grad f|^2 <= L^2 D^2, which the next line needs",
                _CONSTANT: "a constant of ten before L^2 D^2",
            },
        ),
    ),
    Erratum(
        name="shen2019-(7)",
        as_printed="(7), a mean of norms, gives the errors of SVRG and SPIDERG, means of squares",
        corrected="they need the mean of squares and L_ms, or the L of every component",
        examine=examine_expected_lipschitz,
        claim=LAW["svrg"],
        objection="Say that L in (7) is that of every f_i, as section 1 has it, or print (7) as "
        "the root of a mean of squares.",
        dossier=Dossier(
            conclusion="unclear",
            quotes=(
                Quote(
                    text="is an L-smooth but potentially nonconvex component function",
                    location="section 1, below (1)",
                ),
                Quote(
                    text="has L-Lipschitz continuous gradient in expectation",
                    location="assumptions and notations, (7)",
                ),
                Quote(text="Under the assumption 7, we bound", location="section 3.1, SVRFW"),
            ),
            derivation=(
                "The bound of SVRG takes E|grad f_i(x)-grad f_i(y)|^2 <= L^2|x-y|^2 from (7).",
                "(7) has no squares, and E|.|^2 <= (E|.|)^2 is the wrong direction of Jensen's.",
                "If one of n components has all of L, the error is n times what is printed.",
                "Section 1 asks more than (7): each f_i is L-smooth; then the bound follows.",
            ),
            instance="n = 200 parabolas on [-1, 1], one of curvature 1, the others at most 0.01",
            readings={
                _ALL_SMOOTH: "L is that of every f_i, as section 1 says, not that of (7)",
                _CONSTANT: "a constant of ten before the error",
            },
        ),
    ),
    Erratum(
        name="shen2019-(8)",
        as_printed="(8), a mean of norms, is the only definition of L2 in the bounds of 4.1 and "
        "4.2, which are means of squares",
        corrected="they need the mean of squares and L2_ms, or the L2 of every component",
        examine=examine_expected_hessian_lipschitz,
        claim=LAW["casvrg"],
        objection="Say that L2 in (8) is that of every Hessian, or print (8) as the root of a "
        "mean of squares.",
        dossier=Dossier(
            conclusion="unclear",
            quotes=(
                Quote(
                    text="we assume the Hessian of each component function to be … Lipschitz in "
                    "expectation",
                    location="assumptions and notations, (8)",
                ),
                Quote(
                    text="require the second-order smoothness assumption (8)", location="section 4"
                ),
                Quote(
                    text="Assuming Lipschitz continuity of the Hessian of",
                    location="section 4.1, before the bound of CASVRG",
                ),
            ),
            derivation=(
                "The bound takes E|(Hess f_i(x)-Hess f_i(y)) h|^2 <= L2^2|x-y|^2|h|^2 from (8).",
                "(8) has no squares, so that a mean of squares may be n times as large.",
                "Section 4.1 asks for a Lipschitz Hessian of f_i; of every f_i, it is enough.",
            ),
            instance="n = 200 log cosh of a_i x + b, one a_i = 1, the others at most 0.1; even "
            "without the 1/4 of the corrected law",
            readings={
                _ALL_LIPSCHITZ: "L2 is that of every f_i, not that of (8)",
                _CONSTANT: "a constant of ten before the error",
            },
        ),
    ),
    Erratum(
        name="shen2019-4.1-mean-value",
        as_printed="grad f_i(x) - grad f_i(x~) = Hess f_i(xbar), without a factor",
        corrected="a misprint: the factor x - x~ is missing, and stands in the bound that follows",
        examine=examine_missing_increment,
        printed_formula=power_product(GRADIENT, {"Hess": 1}, Hess=CURVATURE),
        corrected_formula=power_product(
            GRADIENT, {"Hess": 1, "increment": 1}, Hess=CURVATURE, increment=LENGTH
        ),
        claim=LAW["casvrg"],
        objection="Show a copy of the paper in which the factor x - x~ stands on the right of "
        "that display.",
        dossier=Dossier(
            conclusion="wrong",
            quotes=(
                Quote(
                    text="The intuition behind boosting the estimation accuracy of SVRG with "
                    "curvature is the Mean Value Theorem",
                    location="section 4.1, the display below",
                ),
            ),
            derivation=(
                "A vector on the left, a matrix on the right; of one variable the units differ.",
                "The bound of the variance has Hess f_i(xbar)(x-x~), so that nothing rests on it.",
            ),
            instance="log cosh of a line, x~ = 0.1, x = 0.2 and 0.3: no xbar between them serves",
            readings={
                "lengths in units of D": "the diameter is 1, so that the factor might be hidden",
                "lengths in units of the step": "|x-x~| is 1; so it is at the first step alone",
            },
        ),
    ),
    Erratum(
        name="shen2019-4.1-one-mean-value",
        as_printed="grad f_i(x)-grad f_i(x~) is Hess f_i(xbar)(x-x~) at one xbar of the segment",
        corrected="one for each entry, or a mean of Hessians; the laws stand, with 1/4, (i-1/2)^2",
        examine=examine_mean_value,
        claim=LAW["caspiderg"],
        objection="Say that xbar is another point for each entry, or that the display stands for "
        "the bound of the norm alone.",
        dossier=Dossier(
            conclusion="unclear",
            quotes=(
                Quote(
                    text="for some … and we have under the Hessian smoothness assumption",
                    location="section 4.1, for CASVRG",
                ),
                Quote(
                    text="is obtained from the Mean Value Theorem",
                    location="section 4.2, for CASPIDERG",
                ),
            ),
            assumption="xbar may be another one for each i; n = 1 here.",
            derivation=(
                "The theorem is one of real functions: each entry has an alpha of its own.",
                "x_1^3/3 wants alpha = 1/2, x_2^4/4 wants 1/sqrt 3: no alpha serves both.",
                "The mean of Hess f_i(x~+s(x-x~)) over s does, and the remainder is at most",
                "(L2/2)|x-x~|^2: the printed bounds follow, with room to spare.",
            ),
            instance="a x_1^3/3 + b x_2^4/4 from 0 to (s, t): all of 10^4 points are excluded",
            readings={
                "a point for each entry": "alpha is meant entry by entry",
                "a bound of norms": "the norm of the remainder is at most that of "
                "(Hess f_i(xbar)-Hess f_i(x~))(x-x~) at one xbar, which is all that is used",
            },
        ),
    ),
)
