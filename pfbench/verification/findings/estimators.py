"""Errata of shen2019 about gradient estimators: (7) to (9), sections 3.1, 3.2 and 4.

All mean squares are exact: single draws are enumerated, nothing is sampled.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from pfbench.algorithms.nfwu import NFWU, NFWUCASPIDERG, NFWUCASVRG, NFWUSG, NFWUSPIDERG, NFWUSVRG
from pfbench.base.constants import Constants
from pfbench.problems.linear_models import LeastSquares, LinearModel, LogCosh
from pfbench.sets import L2Ball
from pfbench.theory.shen2019_bounds import CURVATURE_AIDED, RECURSIVE, error_law
from pfbench.verification.contrast import Contrast, Examination, Floats, compared, stream
from pfbench.verification.instruments.forced_path import ForcedPath

_METHODS: Mapping[str, type[NFWU]] = MappingProxyType(
    {
        "sg": NFWUSG,
        "svrg": NFWUSVRG,
        "spiderg": NFWUSPIDERG,
        "casvrg": NFWUCASVRG,
        "caspiderg": NFWUCASPIDERG,
    }
)


@dataclass(frozen=True)
class Sizes:
    """Batch S and period p."""

    S: int
    p: int


Schedule = Callable[[float, Constants], Sizes]
"""S and p for an accuracy epsilon and the constants n, L, L2, sigma^2 of a problem."""


def corrected(estimator: str, epsilon: float, constants: Constants) -> Sizes:
    """Return the S and p of THEORY section 5, as the catalogue's algorithms take them."""
    L = constants.smoothness("a schedule")
    sizes = _METHODS[estimator].sample_sizes(epsilon, L, constants)
    return Sizes(sizes["batch"], sizes.get("period", 1))


def printed(estimator: str, epsilon: float, constants: Constants) -> Sizes:
    """Return the S and p of sections 3.1, 3.2 and 4 as printed; sigma^2 stands for G^2."""
    n, L, L2 = constants.n, constants.smoothness("a schedule"), float(constants.L2_ms)
    if estimator == "sg":
        return Sizes(math.ceil(constants.sigma2 / epsilon**2), 1)
    if estimator in ("svrg", "spiderg"):
        p = math.floor(n ** (1 / 3 if estimator == "svrg" else 1 / 2) + 1e-9)
    elif estimator == "casvrg":
        small = epsilon <= L / (L2 * n**2)
        p = math.floor(math.sqrt(L * L2 / epsilon) if small else _power(n, L, L2, epsilon, 0.4))
    else:
        p = math.floor(_power(n, L, L2, epsilon, 0.5))
    return Sizes(max(1, math.ceil(n / p - 1e-9)), p)


def _power(n: int, L: float, L2: float, epsilon: float, power: float) -> float:
    """Return p = (L/(L2 epsilon))^power n^(power/2) of sections 4.1 (0.4) and 4.2 (0.5)."""
    return float((L / (L2 * epsilon)) ** power * n ** (power / 2.0))


def squared_error(
    estimator: str, problem: ForcedPath, epsilon: float, constants: Constants, sizes: Sizes
) -> float:
    """Return E|g - grad f|^2 at j = p-1 of NFWU with eta = epsilon/L from a snapshot at the start.

    The components repeat after 2 (d-1), so these are enumerated. Draws are independent and have
    mean 0, so that a recursive estimate adds up the mean squares of its steps.
    """
    weight = epsilon / (constants.smoothness("a step") * problem.length)
    snapshot = x = problem.start()
    if estimator == "sg":
        return _variance(problem, x, None, None) / sizes.S
    total, end = 0.0, problem.length * np.eye(problem.d)[0]
    for _ in range(sizes.p - 1):
        before, x = x, x + weight * (end - x)
        since = before if estimator in RECURSIVE else snapshot
        at = snapshot if estimator in CURVATURE_AIDED else None
        if estimator in RECURSIVE:
            total += _variance(problem, x, since, at)
    if estimator not in RECURSIVE:
        total = _variance(problem, x, since, at)
    return total / sizes.S


def _single(
    estimator: str, problem: ForcedPath, epsilon: float, constants: Constants, p: int
) -> float:
    """Return `squared_error` for S = 1."""
    return squared_error(estimator, problem, epsilon, constants, Sizes(1, p))


def _variance(problem: ForcedPath, x: Floats, y: Floats | None, at: Floats | None) -> float:
    """Return E|d_i - E d_i|^2, d_i = grad f_i(x), less that at y, less the Hessian at `at`."""
    drawn = []
    for i in range(2 * (problem.d - 1)):
        one = np.array([i])
        d = problem.batch(one, x) if y is None else problem.difference(one, x, y)
        if y is not None and at is not None:
            d = d - problem.hessian(at).batch(one, x, y)
        drawn.append(d)
    return float(np.var(drawn, axis=0).sum())


# --- (9) and the powers ---------------------------------------------------------------------------

_CASES: Mapping[str, tuple[float, int, dict[str, float]]] = MappingProxyType(
    {
        "sg": (0.1, 4096, {"sigma": 1.0, "L": 1e-3}),
        "svrg": (1e-3, 4096, {"L": 1.0, "length": 8.0}),
        "spiderg": (1e-3, 4096, {"L": 1.0, "length": 8.0}),
        "casvrg": (2.0**-16, 65536, {"L": 0.0, "L2": 1.0}),
        "caspiderg": (2.0**-16, 65536, {"L": 0.0, "L2": 1.0}),
    }
)
"""For each row epsilon, n, and a segment with L = 1 on which its law is attained."""


def condition(
    effort: str, seed: int, *, estimator: str, schedule: Schedule | None = None
) -> Contrast:
    """Compare the error with epsilon^2/4, with S and p as printed and as corrected."""
    epsilon, n, slopes = _CASES[estimator]
    epsilon *= float(stream(seed, f"(9) {estimator}").uniform(0.8, 1.0))
    problem = ForcedPath(n, 2, **slopes)
    constants = problem.constants(problem.start())
    single = cache(partial(_single, estimator, problem, epsilon, constants))

    def over(sizes: Sizes) -> float:
        return single(sizes.p) / sizes.S / (epsilon**2 / 4.0)

    first = (schedule or partial(printed, estimator))(epsilon, constants)
    second = corrected(estimator, epsilon, constants)
    return compared(
        over(first),
        over(second),
        epsilon=epsilon,
        **{"S printed": first.S, "p printed": first.p, "S": second.S, "p": second.p},
    )


def bound_of_casvrg(effort: str, seed: int, *, factor: float = 1.0) -> Contrast:
    """Compare what section 4.1 proves of its S and p, and what is measured, with epsilon^2/4.

    It proves `factor` L2^2 (p eta)^4/S; its S and p do meet (9), by the 1/4 of the integral form.
    """
    epsilon, n, slopes = _CASES["casvrg"]
    epsilon *= float(stream(seed, "(9) casvrg").uniform(0.8, 1.0))
    problem = ForcedPath(n, 2, **slopes)
    constants = problem.constants(problem.start())
    sizes = printed("casvrg", epsilon, constants)
    law = 4.0 * _law("casvrg", sizes.p, epsilon, sizes, constants)
    measured = squared_error("casvrg", problem, epsilon, constants, sizes)
    wanted = epsilon**2 / 4.0
    return compared(factor * law / wanted, measured / wanted, epsilon=epsilon)


def _law(estimator: str, j: int, epsilon: float, sizes: Sizes, constants: Constants) -> float:
    L = constants.smoothness("a law")
    L2, sigma2 = float(constants.L2_ms), float(constants.sigma2)
    return error_law(estimator, j, epsilon / L, sizes.S, L=L, L2=L2, sigma2=sigma2)


def powers(effort: str, seed: int, *, estimator: str, schedule: Schedule | None = None) -> Contrast:
    """Measure the error for f and for f/4, whose L and L2 are a quarter: S and p must be the same.

    The printed p takes L^-1/2 and the like for pure numbers. In matrix recovery L = 1/sqrt n, L2 =
    1.38/sqrt n: there the law says by which factor the printed S and p miss (9).
    """
    made = schedule or partial(printed, estimator)
    n = 4096
    base = 8e-5 * float(stream(seed, "4").uniform(0.9, 1.0))
    ratios: dict[str, list[float]] = {"printed": [], "corrected": []}
    for scale in (1.0, 0.25):
        problem = ForcedPath(n, 2, L=0.0, L2=scale)
        constants = problem.constants(problem.start())
        epsilon = base * scale
        single = cache(partial(_single, estimator, problem, epsilon, constants))
        for name, rule in (("printed", made), ("corrected", partial(corrected, estimator))):
            sizes = rule(epsilon, constants)
            ratios[name].append(single(sizes.p) / sizes.S / (epsilon**2 / 4.0))
    recovery = Constants(n=n, L_f=1 / n, L_ms=n**-0.5, L_max=1.0, L2_ms=1.38 * n**-0.5, sigma2=1.0)
    epsilon = 1e-4
    sizes = made(epsilon, recovery)
    law = _law(estimator, sizes.p, epsilon, sizes, recovery) / (epsilon**2 / 4.0)
    return compared(
        max(ratios["printed"]),
        max(ratios["corrected"]),
        **{"printed, f": ratios["printed"][0], "printed, f/4": ratios["printed"][1]},
        **{"corrected, f": ratios["corrected"][0], "corrected, f/4": ratios["corrected"][1]},
        **{"law over eps^2/4 in matrix recovery": law, "n of matrix recovery": float(n)},
    )


def small_epsilon(effort: str, seed: int, *, schedule: Schedule | None = None) -> Contrast:
    """Section 4.1 for epsilon <= L/(L2 n^2), S = 1, where L2 is not 1: the error for each p."""
    problem = ForcedPath(32, 2, length=0.5, L=0.0, L2=2.0)
    constants = problem.constants(problem.start())
    epsilon = 4e-4 * float(stream(seed, "small").uniform(0.9, 1.0))
    first = (schedule or partial(printed, "casvrg"))(epsilon, constants)
    second = corrected("casvrg", epsilon, constants)

    def over(sizes: Sizes) -> float:
        alone = Sizes(1, sizes.p)
        error = squared_error("casvrg", problem, epsilon, constants, alone)
        return error / (epsilon**2 / 4.0)

    return compared(over(first), over(second), **{"p printed": first.p, "p": second.p})


# --- mean values ----------------------------------------------------------------------------------


def missing_increment(effort: str, seed: int, *, with_increment: bool = False) -> Contrast:
    """For one variable: look for x-bar with grad f_i(x) - grad f_i(x~) = f_i''(x-bar) (x - x~).

    As printed the factor x - x~ is missing, and no x-bar of the segment solves it where x - x~ is
    small. A sign change over the segment is a solution; the sign of the residual is searched for on
    1001 points.
    """
    rng = stream(seed, "mean value")
    problem = LogCosh(rng.uniform(0.5, 1.5, (9, 1)), rng.uniform(-0.3, 0.3, 9), L2Ball(1, 1.0))
    x, y = np.array([0.30]), np.array([0.10])
    segment = np.linspace(y[0], x[0], 1001)
    least = {"printed": math.inf, "corrected": 0.0}
    for i in range(problem.n):
        one = np.array([i])
        change = float(problem.difference(one, x, y)[0])
        second = np.array(
            [
                float(
                    problem.hessian(np.array([s])).batch(one, np.array([s + 1.0]), np.array([s]))[0]
                )
                for s in segment
            ]
        )
        as_printed = second * (x - y)[0] if with_increment else second
        least["printed"] = min(least["printed"], _closest(as_printed - change))
        least["corrected"] = max(least["corrected"], _closest(second * (x - y)[0] - change))
    return Contrast(
        printed_fails=least["printed"] > 0.0,
        corrected_holds=least["corrected"] == 0.0,
        numbers={f"least residual, {name}": value for name, value in least.items()},
    )


def _closest(residual: Floats) -> float:
    """Return 0 where a continuous residual changes sign on the segment, else its least modulus."""
    return 0.0 if residual.min() <= 0.0 <= residual.max() else float(np.abs(residual).min())


def one_mean_value(effort: str, seed: int, *, separable_power: float = 4.0) -> Contrast:
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
    least = float(residuals.min()) - 0.5 * lipschitz * 1e-4
    nodes, weights = np.polynomial.legendre.leggauss(20)
    integral = slope(0.5 * (nodes + 1.0)) @ (0.5 * weights)
    off = float(np.linalg.norm(integral - change) / np.linalg.norm(change))
    remainder, increments = _remainders()
    return Contrast(
        printed_fails=least > 0.0,
        corrected_holds=off <= 1e-12 and max(abs(remainder - 1.0), increments) <= 1e-6,
        numbers={
            "least residual over the segment": least,
            "relative error of the integral form": off,
            "square of the remainder over L2^2|x-x~|^4/4": remainder,
            "largest deviation from eta^2 (i-1/2)": increments,
        },
    )


def _remainders() -> tuple[float, float]:
    """Return how exactly the 1/4 and the (i-1/2)^2 are attained where h'' = L2 is constant."""
    problem, eta, p = ForcedPath(2, 2, L=1.0, L2=1.0), 1e-3, 20
    points = [np.array([i * eta, 0.0]) for i in range(p + 1)]
    first = _variance(problem, points[p], points[0], points[0])
    steps = [_variance(problem, points[i], points[i - 1], points[0]) for i in range(1, p + 1)]
    laws = np.array([eta**4 * (i - 0.5) ** 2 for i in range(1, p + 1)])
    deviation = float(np.abs(np.array(steps) / laws - 1.0).max())
    return first / ((p * eta) ** 4 / 4.0), deviation


# --- smoothness in expectation --------------------------------------------------------------------


def in_expectation(effort: str, seed: int, *, squared: bool = False) -> Contrast:
    """SVRG's law with L of (7), E|grad f_i(x)-grad f_i(y)| <= L|x-y|, on rows of unequal size."""
    rng = stream(seed, "(7)")
    rows = _unequal(rng)
    problem = LeastSquares(rows, rng.standard_normal(len(rows)), L2Ball(1, 1.0))
    x, y = rng.uniform(0.2, 0.9, 1), -rng.uniform(0.2, 0.9, 1)
    u = float(np.abs(x - y)[0])
    changes = _each(problem, x, y)
    L = float(np.mean(np.abs(changes))) / u
    mean_squared = float(problem.constants(problem.start()).L_ms)
    error = float(np.var(changes))
    as_printed = mean_squared if squared else L
    return compared(
        error / (as_printed * u) ** 2,
        error / (mean_squared * u) ** 2,
        **{"L of (7)": L, "L_ms": mean_squared},
    )


def hessians_in_expectation(effort: str, seed: int, *, squared: bool = False) -> Contrast:
    """CASVRG's law, even without the 1/4, with L2 of (8) on rows of unequal size.

    L2 of (8) is sup|phi'''| E|a|^3; the longest row is where phi''' is largest.
    """
    rng = stream(seed, "(8)")
    rows = _unequal(rng)
    steepest = math.atanh(1.0 / math.sqrt(3.0))
    x, y = np.array([1e-3]), np.zeros(1)
    problem = LogCosh(rows, np.full(len(rows), -steepest), L2Ball(1, 1.0))
    constants = problem.constants(problem.start())
    hessian = problem.hessian(y)
    aided = [float(hessian.batch(np.array([i]), x, y)[0]) for i in range(problem.n)]
    error = float(np.var(_each(problem, x, y) - aided))
    L2 = problem.loss.third * float(np.mean(np.abs(rows) ** 3))
    mean_squared, u = float(constants.L2_ms), 1e-3
    as_printed = mean_squared if squared else L2
    return compared(
        error / (as_printed**2 * u**4),
        error / (mean_squared**2 * u**4 / 4.0),
        **{"L2 of (8)": L2, "L2_ms": mean_squared},
    )


def _unequal(rng: np.random.Generator) -> Floats:
    """Return 200 numbers, shape (200, 1), of which one is much larger than the others."""
    rows = rng.uniform(0.05, 0.1, (200, 1))
    rows[int(rng.integers(200))] = 1.0
    return rows


def _each(problem: LinearModel, x: Floats, y: Floats) -> Floats:
    """Return grad f_i(x) - grad f_i(y) for every i of a problem with one variable, shape (n,)."""
    return np.array([problem.difference(np.array([i]), x, y)[0] for i in range(problem.n)])


EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {
        "shen2019-(7)": in_expectation,
        "shen2019-(8)": hessians_in_expectation,
        "shen2019-(9)-sg": partial(condition, estimator="sg"),
        "shen2019-(9)-svrg": partial(condition, estimator="svrg"),
        "shen2019-(9)-spiderg": partial(condition, estimator="spiderg"),
        "shen2019-(9)-casvrg": bound_of_casvrg,
        "shen2019-(9)-caspiderg": partial(condition, estimator="caspiderg"),
        "shen2019-4.1-mean-value": missing_increment,
        "shen2019-4.1-one-mean-value": one_mean_value,
        "shen2019-4.1-powers": partial(powers, estimator="casvrg"),
        "shen2019-4.1-small-epsilon": small_epsilon,
        "shen2019-4.2-powers": partial(powers, estimator="caspiderg"),
    }
)
"""The examinations of this file, by the name of the erratum."""
