"""What of kim2026 fails as we read it; the order of its theorem 1 stands.

The text was read in part, in a copy made by machine. So each is *doubtful* until it is compared
with the print.
"""

import numpy as np

from pfbench.algorithms.norms import Muon
from pfbench.claims.kim2026.orthogonal import SHAPE, deficit_bound, with_values
from pfbench.claims.kim2026.theorem1 import corrected, parabola, printed, schedule
from pfbench.sets.orthogonal import newton_schulz
from pfbench.verification import Dossier, Erratum
from pfbench.verification.contrast import Contrast, compared
from pfbench.verification.stating.mean_along import known


def display(effort: str, seed: int) -> Contrast:
    """Run Muon without noise on w^2/2, where beta is capped at 0; its order is that of (8)."""
    problem = parabola(100)
    c = known(problem)
    numbers = {"K": 100.0, "r": 1.0, "L": c["L"], "sigma": 0.0, "delta": c["delta"]}
    beta, eta = schedule(**numbers)
    made = Muon(iterations=100, step=eta, beta=beta, batch=1)
    states = made.run(problem, problem.start(), np.random.default_rng(seed))  # type: ignore[arg-type]
    found = float(np.mean([abs(float(state.at[0, 0])) for state in states]))
    first, second = printed(**numbers, lo=1.0), corrected(**numbers, lo=1.0, hi=1.0)
    told = compared(found / first, found / second, measured=found, display=first, ours=second)
    return told.under({"in O(.)": found / (3.0 * first)})


def unscaled(effort: str, seed: int) -> Contrast:
    """Compare what five steps of degree 1 lose, scaled by max(1, |M|_F) and by |M|_F."""
    rng, losses = np.random.default_rng(seed), {}
    s = np.array([2.7e-3, 7e-4, 5e-4, 3e-4])
    for name, size in (("small", 1.0), ("of norm 2", 2.0 / float(np.linalg.norm(s)))):
        M, _ = with_values(size * s, rng)
        F = float(np.linalg.norm(M))
        for by, scale in (("max", max(1.0, F)), ("norm", F)):
            X = newton_schulz(M / scale, 1, 5)
            losses[name, by] = 1.0 - float(np.vdot(M, X)) / (size * float(s.sum()))
    bound = deficit_bound(SHAPE[0], 1, 5)
    told = compared(losses["small", "max"] / bound, losses["small", "norm"] / bound, bound=bound)
    return told.under({"|M|_F at least 1": losses["of norm 2", "max"] / bound})


ERRATA = (
    Erratum(
        name="kim2026-(8)",
        as_printed="the display (8) bounds the mean of |grad f|_* for every sigma >= 0",
        corrected="where beta is capped at 0, 1.5 sqrt(L Delta/T) is what is left of our bound",
        examine=display,
        dossier=Dossier(
            ruling="doubtful",
            quotes=(),
            assumed="that the copy made by machine has what is printed",
            derivation=(
                "sqrt(L Delta/T) was merged into the fourth root of r sigma^2 L Delta/T",
                "with sigma <= sqrt(L Delta/(r T)) that root is the smaller one",
                "the order of theorem 1 has both terms, and stands",
            ),
            instance="w^2/2, one by one, from 1 with T = 100: 0.1061, and 0.0354 is printed",
            readings={"in O(.)": "three times the display will do"},
        ),
    ),
    Erratum(
        name="kim2026-delta0",
        as_printed="from M/max(1, |M|_F), what Newton-Schulz loses depends on q alone",
        corrected="from M/|M|_F it is at most r c_q for every M",
        examine=unscaled,
        dossier=Dossier(
            ruling="doubtful",
            quotes=(),
            assumed="that the copy made by machine has what is printed",
            derivation=(
                "a momentum of norm below 1 is not scaled, and delta_0 tends to 1 with it",
                "near a stationary point every momentum is small",
            ),
            instance="|M|_F = 0.0029, kappa = 1, q = 5: singular values of 0.02 and less are left",
            readings={"|M|_F at least 1": "it is meant for large momenta"},
        ),
    ),
)
