"""Steps of pethick2025's proofs that fail as we read them; its theorems hold.

The text was read in a machine-made copy. So each of these errata is *doubtful* until the step is
compared with the printed paper.
"""

import math

import numpy as np

from pfbench.algorithms.norm_ball_methods import USCG, Almond
from pfbench.claims.pethick2025.averaged_errors import ALPHA
from pfbench.claims.pethick2025.descent import descent_bound
from pfbench.claims.pethick2025.parabolas import make_distant_parabola, make_oscillation_parabola
from pfbench.runs.loop.steps import steps
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios

_LONG = 2_000
"""Number of examined steps of a recursion."""

# --- recursions -----------------------------------------------------------------------------------


def examine_power_recursion(effort: str, seed: int) -> ExaminationEvidence:
    """Examine pethick2025's bound D.9 of u_k = (1-beta) u_(k-1) + eta, which fails at k = 2.

    Here beta = 0.5, eta = 0.01 and u_1 = 1.
    """
    beta, eta, first = 0.5, 0.01, 1.0
    u, limit = (1.0 - beta) * first + eta, eta / beta
    bound = {k: (1.0 - beta) ** k * first + limit for k in (1, 2)}
    # Counted from u_0 = 1, u_1 is one step.
    return compare_ratios(u / bound[2], u / bound[1], u_2=u).with_ratios_under_other_readings(
        {"k from 0": u / bound[1]}
    )


def max_scaled_term(first: float) -> float:
    """Return max_k u_k sqrt(k) for u_1 = `first`, u_k = (1 - 1/(2 sqrt(k))) u_(k-1) + 1/k."""
    u, upper = first, first
    for k in range(2, _LONG):
        u = (1.0 - 0.5 / math.sqrt(k)) * u + 1.0 / k
        upper = max(upper, u * math.sqrt(k))
    return upper


def examine_maximum_recursion(effort: str, seed: int) -> ExaminationEvidence:
    """Examine pethick2025's bound D.10 of a recursion, which fails for some of its first terms.

    It holds for u_1 <= 3.523 c and u_1 >= 8.243 c.
    """
    value = max_scaled_term(4.0)
    starts = (*np.linspace(0.0, 3.523, 36), *np.linspace(8.243, 20.0, 36))
    retained = max(max_scaled_term(float(start)) / max(float(start), 4.0) for start in starts)
    second = (1.0 - 0.5 / math.sqrt(2.0)) * 4.0 + 0.5
    numbers = {"u_2 over c": second, "largest u_k sqrt(k) over c": value}
    return compare_ratios(value / 4.0, retained, **numbers).with_ratios_under_other_readings(
        {"u_1 at most c": max_scaled_term(1.0) / 4.0}
    )


def examine_recursion_limit_too_small(effort: str, seed: int) -> ExaminationEvidence:
    """Examine pethick2025's limit of the recursion in lemma D.2, which is half of the true limit.

    The true limit is twice the stated one.
    """
    L, s, sigma = 1.0, 1.0, 1.0
    eta = 2.0 * (L * s) ** 2 / ALPHA + ALPHA**2 * sigma**2
    u = 0.0
    for _ in range(_LONG):
        u = (1.0 - ALPHA / 2.0) * u + eta
    total = 4.0 * (L * s / ALPHA) ** 2 + 2.0 * ALPHA * sigma**2
    return compare_ratios(2.0 * u / total, u / total).with_ratios_under_other_readings(
        {"up to a factor of 2": u / total}
    )


def examine_young_step_of_proof(effort: str, seed: int) -> ExaminationEvidence:
    """Examine step (e) in pethick2025's proof of D.2: (1 + 2/alpha)(1 - alpha) <= 1 - alpha/2.

    The corrected step has alpha/2 in place of 2/alpha. Each ratio is the left side over the right
    side, the largest over alpha.
    """
    alphas = np.linspace(0.01, 0.99, 99)
    printed = (1.0 + 2.0 / alphas) * (1.0 - alphas) / (1.0 - alphas / 2.0)
    exchanged = (1.0 + alphas / 2.0) * (1.0 - alphas) / (1.0 - alphas / 2.0)
    # The other weight then goes with the square of a step: (1+2/alpha)(1-alpha)^2 <= 2/alpha.
    other = (1.0 + 2.0 / alphas) * (1.0 - alphas) ** 2 / (2.0 / alphas)
    upper = float(max(exchanged.max(), other.max()))
    near = float(printed[alphas >= 0.829].max())
    evidence = compare_ratios(float(printed.max()), upper, at_one_half=float(printed[49]))
    return evidence.with_ratios_under_other_readings({"alpha near 1": near})


# --- runs -----------------------------------------------------------------------------------------


def examine_almond_step_length(effort: str, seed: int) -> ExaminationEvidence:
    """Examine D.8 of pethick2025: a step of Almond is at most alpha rho gamma/(1-alpha) long.

    The steps are those of runs on x^2/2 from far away.
    """
    step, ratios = 0.1, {}
    problem = make_distant_parabola(20, 100.0)
    for alpha in (0.1, 0.7):
        almond = Almond(iterations=20, step=step, batch=1, alpha=alpha)
        run = steps(problem, almond, streams={"algorithm": np.random.default_rng(seed)})
        way = max(abs(float((state.x - state.at)[0])) for state in run.states)
        ratios[alpha] = way / (alpha * step / (1.0 - alpha))
    true = ratios[0.1] * 0.1 / 0.9
    # With 1-(1-alpha) below the bar alpha rho gamma/alpha is printed, which is the true one.
    return compare_ratios(ratios[0.1], true).with_ratios_under_other_readings(
        {"alpha above 1/2": ratios[0.7], "1-(1-alpha) below the bar": true}
    )


def examine_divided_bound(effort: str, seed: int) -> ExaminationEvidence:
    """Examine (13) of pethick2025, whose term L rho gamma/(2 n) should be L rho gamma/2."""
    K = 400
    step = K**-0.5
    problem = make_oscillation_parabola(K, step)
    uscg = USCG(iterations=K, step=step, batch=1, alpha=1.0)
    run = steps(problem, uscg, streams={"algorithm": np.random.default_rng(seed)})
    mean = float(np.mean([abs(float(state.at[0])) for state in run.states]))
    delta = 0.125 * step**2
    right = descent_bound(K, step, 1.0, 1.0, delta, 1.0, 0.0)
    printed = right - step / 2.0 + step / (2.0 * K)
    return compare_ratios(mean / printed, mean / right).with_ratios_under_other_readings(
        {"n the term's own": mean / right}
    )
