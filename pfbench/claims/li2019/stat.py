"""li2019 theorem 1 and (27): how far a point with a small gap is, in units of eps_stat."""

import math

import numpy as np
import scipy

from pfbench.claims.li2019.steps import STRONG, inner, known, restarts, share, summary
from pfbench.sets import L1Ball
from pfbench.verification import Claim, Erratum, Evidence, Trial, instance
from pfbench.verification.contrast import Contrast, compared, stream
from pfbench.verification.instruments.quadratics import Quadratic
from pfbench.verification.statistics import across, decide_inequality
from pfbench.verification.units import CURVATURE, LENGTH, NUMBER, formula, product


def statistical_error(
    tau: float, sigma_hat: float, compatibility: float, outside: float, size: float, length: float
) -> float:
    """Return eps_stat^2, with the constant corrected.

    Parameters
    ----------
    tau
        Of restricted strong convexity.
    sigma_hat
        Effective strong convexity, positive.
    compatibility
        phi_bar of the model subspace.
    outside
        phi of the part of theta* outside the model subspace.
    size, length
        phi and the Euclidean norm of Delta* = theta_hat - theta*.
    """
    return 8.0 * tau * (outside + size + compatibility * length) ** 2 / sigma_hat


# --- the instances --------------------------------------------------------------------------------


def beside_the_truth(d: int, support: int, share: float, pull: float = 1e-6) -> Quadratic:
    """Return a problem over the l1 ball whose minimiser misses the sparse truth along a flat line.

    The Hessian is I - d w w' with w' = (+-1/d, ...), so that sigma = 1 and tau = 1/(2 d), exact.
    The truth has `support` equal entries and l1 norm 1 - share; theta_hat = truth - share w has l1
    norm 1. eps_stat is positive, and the claim binds: truth + share w is in the ball, differs from
    theta_hat along w alone, where f is flat, and the start is near it.

    Parameters
    ----------
    d
        Dimension, a power of 2.
    support
        s < d/8.
    share
        l1 norm of theta_hat - truth.
    pull
        Modulus of each entry of the slope at theta_hat.
    """
    hadamard = scipy.linalg.hadamard(d).astype(np.float64)
    w, seen = hadamard[-1] / d, hadamard[:-1] * math.sqrt((d - 1) / d)
    truth = np.where(np.arange(d) < support, -(1.0 - share) / support * np.sign(w), 0.0)
    begin = 0.5 * (truth + share * w) + 0.5 * np.eye(d)[d // 2]
    sigma_hat = 1.0 - 8.0 * support / d
    return Quadratic(L1Ball(d), seen, truth - share * w, pull * np.sign(w), begin, sigma_hat)


def error_beside_the_truth(d: int, support: int, share: float) -> float:
    """Return eps_stat^2 of `beside_the_truth`."""
    sigma_hat, length = 1.0 - 8.0 * support / d, share / math.sqrt(d)
    return statistical_error(0.5 / d, sigma_hat, math.sqrt(support), 0.0, share, length)


_SPARSE = {
    support: instance(beside_the_truth, d=64, support=support, share=0.5) for support in (1, 3)
}

# --- the check ------------------------------------------------------------------------------------


def check(trial: Trial) -> Evidence:
    """Check |y - theta_hat|^2 <= 4 eps_stat^2 where the gap is at most sigma_hat eps_stat^2.

    The last point must have that gap.
    """
    reached, distances = {}, {}
    for d in trial.pick((64, 256), (64, 256, 1024)):
        for support, sparse in _SPARSE.items():
            for part in trial.pick((0.05, 0.5), (0.02, 0.05, 0.2, 0.5)):
                name = f"d={d}, s={support}, |Delta*|_1={part:g}"
                error = error_beside_the_truth(d, support, part)
                gap, ratios = _distances(trial, sparse(d=d, share=part), error)
                reached[name] = decide_inequality([gap])
                distances[name] = decide_inequality([ratio / 4.0 for ratio in ratios])
    return Evidence(
        across({"distance": summary(distances), "reached": summary(reached)}),
        {"distance: ratio": 1.0, "reached: ratio": 1.0},
        len(reached),
    )


def _distances(trial: Trial, problem: Quadratic, error: float) -> tuple[float, list[float]]:
    """Run to the gap sigma_hat eps_stat^2 and return the last gap over it.

    The second result is |y - theta_hat|^2/eps_stat^2 of all points that have that gap.
    """
    tested, target = known(problem), problem.sigma_hat * error
    ratios = [0.0]
    gap = math.inf
    for _, _, step in inner(trial, tested, restarts(tested.constants.delta, target)):
        gap = share(problem.value(step.state.x), target)
        if gap <= 1.0:
            ratios.append(float(np.sum((step.state.x - problem.minimiser) ** 2)) / error)
    return gap, ratios


STAT = Claim(
    name="li2019-stat",
    source="li2019 theorem 1 and (27), corrected",
    kind="bound",
    statement=(
        "f(theta_t) - f(theta_hat) <= sigma_hat eps_stat^2 implies "
        "|theta_t - theta_hat|^2 <= 4 eps_stat^2"
    ),
    algorithm="cgs",
    assumptions=(STRONG, "phi(theta_hat) = rho"),
    instances=tuple(_SPARSE.values()),
    schedule="theory",
    takes=(0.2, 4.0),
    check=check,
    formulas=(
        formula(
            statistical_error,
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


CLAIMS = (STAT,)

ERRATA = (
    Erratum(
        name="li2019-(15)",
        as_printed="f(t) - f(t^) <= sigma_hat eps_stat^2 gives |t-t^|^2 <= eps_stat^2",
        corrected="it gives |t-t^|^2 <= 4 eps_stat^2",
        printed=product((0, 2), {"eps_stat": 2}, eps_stat=LENGTH),
        right=product((0, 2), {"eps_stat": 2}, eps_stat=LENGTH),
        examine=squared_norm,
        claim=STAT,
    ),
    Erratum(
        name="li2019-(22)",
        as_printed="f(t) - f(t^) <= sigma_hat eps_stat^2 gives |t-t^| <= eps_stat^2",
        corrected="the left side lacks its square: |t-t^|^2 <= 4 eps_stat^2",
        printed=product(LENGTH, {"eps_stat": 2}, eps_stat=LENGTH),
        right=product((0, 2), {"eps_stat": 2}, eps_stat=LENGTH),
        examine=one_side_squared,
        claim=STAT,
    ),
)
