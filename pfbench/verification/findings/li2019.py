"""Errata of li2019: lemma 1, the statistical error, and steps of the proofs."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from pfbench.algorithms.sliding import CGS
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.restricted_convexity import worst_direction
from pfbench.problems.sensing import synthetic_sensing
from pfbench.sets import L1Ball
from pfbench.theory.li2019_bounds import inner_gap, period, squared_distance, statistical_error
from pfbench.verification.contrast import Contrast, Examination, Floats, compared, stream
from pfbench.verification.instruments.quadratics import Quadratic, face_of_simplex, restricted

# --- lemma 1 --------------------------------------------------------------------------------------


def lemma1(effort: str, seed: int, *, printed: float = 0.5) -> Contrast:
    """Search, for loss (7), the c that lemma 1 needs with (printed or 1/4) lambda_min(Sigma_x).

    tau = c d/n must do for all n with one c. On the worst rank-one directions found, with
    lambda_min/2 the c needed grows with n/d; with lambda_min/4 it falls to 0.
    """
    d, ratios = 10, (10, 40, 160) if effort == "quick" else (10, 40, 160, 640)
    needed: dict[str, list[float]] = {"printed": [], "corrected": []}
    for ratio in ratios:
        data = synthetic_sensing(seed=seed, rows=d, columns=d, rank=1, n=ratio * d, spike=1.0)
        for name, alpha in (("printed", printed), ("corrected", 0.25)):
            tau = worst_direction(data, alpha, starts=2, seed=seed).tau
            needed[name].append(tau * ratio)
    growth = [found[-1] / found[0] if found[0] > 0.0 else 0.0 for found in needed.values()]
    return Contrast(
        printed_fails=growth[0] > 2.0,
        corrected_holds=growth[1] <= 1.0,
        numbers={
            f"c at n/d={ratio}, {name}": c
            for name, found in needed.items()
            for ratio, c in zip(ratios, found, strict=True)
        },
    )


# --- the statistical error ------------------------------------------------------------------------


def _in_the_ball(seed: int, power: float, factor: float, name: str) -> float:
    """Return the largest |theta - theta_hat|^power/(factor eps_stat^2) with gap <= sigma_hat eps^2.

    f = |theta - theta_hat|^2/2 on the l1 ball is restricted strongly convex with every tau and
    sigma = 1 + 2 tau. theta_hat exceeds the truth e_1 (1 - share) by share along e_1.
    """
    rng = stream(seed, name)
    d, tau, share = 8, 0.01, float(rng.uniform(0.01, 0.02))
    sigma_hat = 1.0 + 2.0 * tau - 16.0 * tau
    e = np.eye(d)
    problem = Quadratic(L1Ball(d), math.sqrt(d) * e, e[0], np.zeros(d), -e[1], sigma_hat)
    squared = statistical_error(tau, sigma_hat, 1.0, 0.0, share, share)
    worst = 0.0
    for _ in range(50):
        direction = problem.lo(rng.standard_normal(d)) - e[0]
        if not direction.any():
            continue
        # The gap is t^2 |direction|^2/2: the farthest point, just inside.
        t = math.sqrt(2.0 * sigma_hat * squared) / float(np.linalg.norm(direction)) * (1.0 - 1e-12)
        theta = e[0] + min(t, 1.0) * direction
        assert problem.set.contains(theta)
        if problem.value(theta) <= sigma_hat * squared:
            worst = max(worst, float(np.linalg.norm(theta - e[0])) ** power / (factor * squared))
    return worst


def squared_norm(effort: str, seed: int, *, factor: float = 1.0) -> Contrast:
    """(15): f(theta) - f(theta_hat) <= sigma_hat eps^2 implies |theta - theta_hat|^2 <= eps^2."""
    return compared(_in_the_ball(seed, 2.0, factor, "(15)"), _in_the_ball(seed, 2.0, 4.0, "(15)"))


def one_side_squared(effort: str, seed: int, *, power: float = 1.0) -> Contrast:
    """(22): the same with |theta - theta_hat| <= eps^2, of which one side scales with theta."""
    factor = 1.0 if power == 1.0 else 4.0
    return compared(_in_the_ball(seed, power, factor, "(22)"), _in_the_ball(seed, 2.0, 4.0, "(22)"))


# --- steps of the proofs --------------------------------------------------------------------------


def _inner_bound(k: int, L: float, N: int, squared: float, begin: float, printed: bool) -> float:
    """Return (30) for corollary 3's parameters: with eta_i, beta_1, or gamma_i eta_i, beta_1/2."""
    total = 0.0
    for i in range(1, k + 1):
        gamma, product = 2.0 / (i + 1.0), 2.0 / (i * (i + 1.0))
        eta, beta = 2.0 * L * squared / (N * i), 3.0 * L / i
        variance = L**2 * squared / (N * (i + 1.0) ** 2)
        total += (eta if printed else gamma * eta) / product
        total += gamma * variance / (2.0 * product * (beta - L * gamma))
    return 2.0 / (k * (k + 1.0)) * ((3.0 if printed else 1.5) * L * begin + total)


def weights_of_30(effort: str, seed: int, *, printed: bool = True) -> Contrast:
    """(30) with corollary 3's parameters must give 8 L D_t^2/(k(k+1)), its (32), at every k <= N.

    Corrected it does, and bounds f(y_k) - f(theta_hat) along a run of CGS.
    """
    rng = stream(seed, "(30)")
    problem = face_of_simplex(rng, 32, 10.0)
    constants = problem.constants(problem.start())
    algorithm = CGS.theory(constants.delta / 2.0, constants, restarts=1)
    N, L = algorithm.period, algorithm.smoothness
    squared = squared_distance(algorithm.delta, algorithm.curvature, 1)
    begin = float(np.sum((problem.start() - problem.minimiser) ** 2))

    def bound(k: int, start: float, as_printed: bool) -> float:
        return _inner_bound(k, L, N, squared, start, as_printed)

    ask = Oracles(problem.open(rng), Ledger(), problem.set.diameter)
    along = [
        problem.value(state.x) / bound(k, begin, False)
        for k, state in enumerate(algorithm.run(ask, problem.start(), rng), start=1)
    ]
    ks = range(1, N + 1)
    first = max(bound(k, squared, printed) / inner_gap(L, squared, k) for k in ks)
    second = max(bound(k, squared, False) / inner_gap(L, squared, k) for k in ks)
    return compared(first, max(second, *along), **{"largest f(y_k) over (30)": max(along)})


def reversed_inequality(effort: str, seed: int, *, sign: float = 1.0) -> Contrast:
    """(69) bounds f(theta_hat) - f(theta) from above; restricted strong convexity from below.

    At random points of a problem with eps_stat = 0, the excess of the left over the right, which
    (69) says is <= 0 (`sign` = 1).
    """
    rng = stream(seed, "(69)")
    problem = restricted(rng, 64, 1, 1)
    excess = np.array([_excess(problem, _point(problem, rng)) for _ in range(50)])
    return Contrast(
        printed_fails=bool((sign * excess).max() > 1e-9),
        corrected_holds=bool(excess.min() >= -1e-9),
        numbers={"least excess": float(excess.min()), "largest excess": float(excess.max())},
    )


def _point(problem: Quadratic, rng: np.random.Generator) -> Floats:
    """Return a random point of the l1 ball."""
    vertices = [problem.set.random_vertex(rng) for _ in range(4)]
    return np.asarray(rng.dirichlet(np.ones(4)) @ np.array(vertices))


def _excess(problem: Quadratic, x: Floats) -> float:
    """Return f(theta_hat) - f(x) - <grad f(x), theta_hat - x> - (sigma_hat/2)|x - theta_hat|^2."""
    u = problem.minimiser - x
    square = 0.5 * problem.sigma_hat * float(u @ u)
    return -problem.value(x) - float(problem.gradient(x) @ u) - square


def convexity_between(effort: str, seed: int, *, towards_minimiser: bool = False) -> Contrast:
    """G.1 puts restricted strong convexity where (45) used convexity between z_k and y_{k-1}.

    f curves down along a direction w. Between z and y, both feasible, z - y along w, f(y) >= f(z) +
    <grad f(z), y - z> fails; towards theta_hat it holds, with (sigma_hat/2)|z - theta_hat|^2 more.
    """
    rng = stream(seed, "G.1")
    problem = restricted(rng, 64, 1, 1, excess=1.0)
    at_zero = problem.gradient(np.zeros(64))
    hessian = np.array([problem.gradient(e) - at_zero for e in np.eye(64)])
    w = np.linalg.eigh(hessian)[1][:, 0]
    w *= 0.5 / float(np.abs(w).sum())
    least, towards = math.inf, math.inf
    for _ in range(20):
        z = 0.5 * _point(problem, rng)
        y = problem.minimiser if towards_minimiser else z + w
        linear = problem.value(z) + float(problem.gradient(z) @ (y - z))
        least = min(least, (problem.value(y) - linear) / float((y - z) @ (y - z)))
        towards = min(towards, _excess(problem, z))
    return Contrast(
        printed_fails=least < -1e-9,
        corrected_holds=towards >= -1e-9,
        numbers={
            "least curvature between points": least,
            "least excess towards theta_hat": towards,
            "sigma_hat": problem.sigma_hat,
        },
    )


def stray_factor(
    effort: str, seed: int, *, end: Callable[[float], float] = lambda L: L
) -> Contrast:
    """(74): 64 L delta0/(N (N+1) 2^t sigma_hat) <= L delta0/2^t, N = ceil(8 sqrt(L/sigma_hat)).

    The first L belongs there, the last does not: for L < 1 it fails.
    """
    rng = stream(seed, "(74)")
    ratios = {"printed": 0.0, "corrected": 0.0}
    for _ in range(200):
        L = 10.0 ** rng.uniform(-4.0, 4.0)
        sigma_hat = L * 10.0 ** rng.uniform(-4.0, 0.0)
        N = period(L, sigma_hat)
        middle = 64.0 * L / (N * (N + 1.0) * sigma_hat)
        ratios["printed"] = max(ratios["printed"], middle / end(L))
        ratios["corrected"] = max(ratios["corrected"], middle)
    return compared(ratios["printed"], ratios["corrected"])


def constant_of_87(effort: str, seed: int, *, printed: int = 1200) -> Contrast:
    """(87) from (85) and (86): (k+1)^2 (160/(k(k-1)) + 128/((k-2)(k-1))) <= 1200, k >= 3; exactly.

    It falls in k: largest at k = 3. `effort` and `seed` play no role.
    """
    needed = max(
        (k + 1) ** 2 * (Fraction(160, k * (k - 1)) + Fraction(128, (k - 2) * (k - 1)))
        for k in range(3, 1000)
    )
    return Contrast(
        printed_fails=needed > printed,
        corrected_holds=needed <= 1451,
        numbers={"least constant": float(needed), "printed": float(printed)},
    )


EXAMINATIONS: Mapping[str, Examination] = MappingProxyType(
    {
        "li2019-lemma1": lemma1,
        "li2019-(15)": squared_norm,
        "li2019-(22)": one_side_squared,
        "li2019-(30)": weights_of_30,
        "li2019-(69)": reversed_inequality,
        "li2019-(74)": stray_factor,
        "li2019-(87)": constant_of_87,
        "li2019-G.1": convexity_between,
    }
)
"""The examinations of this file, by the name of the erratum."""
