"""li2019 section 4, theorem 1 for non-convex f: measured, as its proof (appendix G) is broken."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from pfbench.claims.li2019 import steps
from pfbench.claims.li2019.steps import STRONG, Known, halving, inner, known, period, summary
from pfbench.verification import Claim, Erratum, Evidence, Floats, Trial, instance
from pfbench.verification.contrast import Contrast, compared, stream
from pfbench.verification.instruments.quadratics import Quadratic, restricted
from pfbench.verification.statistics import (
    MOST_SEEDS,
    Decision,
    Rows,
    all_of,
    decide_exponent,
    fitted,
)
from pfbench.verification.units import VALUE, formula, product

# --- the instances --------------------------------------------------------------------------------


def curved(rng: np.random.Generator, kappa: float, d: int = 256) -> Quadratic:
    """Return a problem that is not convex, with L/sigma_hat = kappa.

    It is `restricted` with one blind direction and s = 1, so that L = max(1, excess) and
    sigma_hat = 1 - 8 (1 + excess)/d.
    """
    share = 8.0 / d
    excess = kappa * (1.0 - share) / (1.0 + kappa * share)
    return restricted(rng, d, 1, 1, excess=excess)


_CURVED_DOWN = (
    instance(restricted, d=256, support=1, blind=1, excess=8.0),
    instance(restricted, d=256, support=2, blind=4, excess=1.5),
    instance(restricted, d=256, support=3, blind=4, excess=0.5),
)
_CONDITIONED = instance(curved, kappa=500.0)

# --- the check ------------------------------------------------------------------------------------


def check(trial: Trial) -> Evidence:
    """Measure halving, LO against 1/epsilon, and FO to a target against L/sigma_hat."""
    T, count = trial.pick(9, 10), trial.pick(6, 20)
    halved: dict[str, Decision] = {}
    kappas = trial.pick(np.geomspace(5.0, 500.0, 4), np.geomspace(5.0, 1000.0, 8))
    seeds = trial.seeds(MOST_SEEDS, "problems")

    def row(i: int) -> tuple[Floats, list[float]]:
        """Return LO at the end of each t of the last family, and FO by L/sigma_hat."""
        rng, lo = np.random.default_rng(seeds[i]), np.zeros(T)
        for family in _CURVED_DOWN:
            p = family.parameters
            directions = f"{p['blind']} directions of curvature {-p['excess']:g}"
            tested = known(family(rng))
            halved[f"s={p['support']}, {directions}, {i + 1}"] = halving(trial, tested, T)
        for t, _, step in inner(trial, tested, T):
            if t <= T:
                lo[t - 1] = step.counts().lo
        return lo[1:], [_calls(trial, known(_CONDITIONED(rng, kappa=kappa)), 6) for kappa in kappas]

    rows = Rows(row, range(MOST_SEEDS))
    growing = fitted(2.0 ** np.arange(2, T + 1), lambda k: [lo for lo, _ in rows(k)])
    conditioned = fitted(kappas, lambda k: [fo for _, fo in rows(k)])
    exponents = {
        "LO against 1/epsilon": decide_exponent(growing, 1.0, seeds=count),
        "FO against L/sigma_hat": decide_exponent(conditioned, 0.5, seeds=count),
    }
    parts = {"halving": summary(halved), **exponents}
    return Evidence(
        all_of(parts),
        {
            "halving: ratio": 1.0,
            "LO against 1/epsilon: slope": 1.0,
            "FO against L/sigma_hat: slope": 0.5,
        },
        len(halved) + len(rows.made) * len(kappas),
    )


def _calls(trial: Trial, tested: Known, halvings: int) -> float:
    """Return the full gradients until the gap is delta0 2^-halvings; infinite if it never is."""
    target = tested.constants.delta * 2.0**-halvings
    for _, _, step in inner(trial, tested, halvings):
        if tested.gap(step.state.x) <= target:
            return float(step.counts().sfo / tested.problem.n)
    return math.inf


NONCONVEX = Claim(
    name="li2019-nonconvex",
    source="li2019 section 4, theorem for non-convex f",
    kind="bound",
    statement="f(theta_t) - f(theta_hat) <= delta0 2^-t for non-convex f as well",
    algorithm="cgs",
    assumptions=(STRONG,),
    instances=(*_CURVED_DOWN, _CONDITIONED),
    schedule="theory",
    disputed=(
        "the proof (appendix G.1) reuses (45), which needs convexity between z_k and y_{k-1}, "
        "where restricted strong convexity controls only differences to theta_hat"
    ),
    takes=(0.8, 20.0),
    check=check,
    formulas=(formula(steps.halved, VALUE),),
)

# --- errata ---------------------------------------------------------------------------------------


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


CLAIMS = (NONCONVEX,)

ERRATA = (
    Erratum(
        name="li2019-(69)",
        as_printed="f(t^)-f(t) <= <grad f(t), t^-t> + (sigma_hat/2)|t-t^|^2 - sigma_hat eps^2",
        corrected=">= in place of <=",
        examine=reversed_inequality,
        claim=NONCONVEX,
    ),
    Erratum(
        name="li2019-(74)",
        as_printed="64 L delta0/(N_t(N_t+1) 2^t sigma_hat) <= L delta0/2^t",
        corrected="<= delta0/2^t",
        printed=product(VALUE, {"L": 1, "delta0": 1}),
        right=product(VALUE, {"delta0": 1}),
        examine=stray_factor,
        claim=NONCONVEX,
    ),
    Erratum(
        name="li2019-(87)",
        as_printed="(85) and (86) give 1200 u L D_t^2/(k+1)^2",
        corrected="they give 1451 (4352/3 at k = 3); harmless",
        examine=constant_of_87,
        claim=NONCONVEX,
    ),
    Erratum(
        name="li2019-G.1",
        as_printed="restricted strong convexity replaces the convexity that (45) used between z, y",
        corrected="it holds towards theta_hat only; between two points of C f may curve down",
        examine=convexity_between,
        claim=NONCONVEX,
    ),
)
