"""Statements of kim2026 that fail as we read them; the order of theorem 1, and (8), hold.

The text was read in part, in a machine-made copy. So each statement is *doubtful* until it is
compared with the print.
"""

import numpy as np

from pfbench.algorithms.norm_ball_methods import Muon
from pfbench.claims.kim2026.theorem1 import (
    beta_and_eta,
    compute_corrected_bound,
    compute_printed_bound,
)
from pfbench.runs.loop.steps import steps
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, is_at_most_bound
from pfbench.verification.instruments.spectral_least_squares import parabola
from pfbench.verification.paper_tables import read_erratum
from pfbench.verification.statements.path_mean import norm_constants


def examine_noiseless_bound_order(effort: str, seed: int) -> ExaminationEvidence:
    """Run Muon without noise on w^2/2, where beta is capped at 0; compare it with both bounds.

    The printed bound fails by a constant; its order is that of (8), and holds.
    """
    problem = parabola(100)
    c = norm_constants(problem)
    numbers = {"K": 100.0, "r": 1.0, "L": c["L"], "sigma": 0.0, "delta": c["delta"]}
    beta, eta = beta_and_eta(**numbers)
    muon = Muon(iterations=100, step=eta, beta=beta, batch=1)
    states = steps(problem, muon, streams={"algorithm": np.random.default_rng(seed)}).states
    mean = float(np.mean([abs(float(state.at[0, 0])) for state in states]))
    first, second = (
        compute_printed_bound(**numbers, lo=1.0),
        compute_corrected_bound(**numbers, lo=1.0, hi=1.0),
    )
    evidence = compare_ratios(
        mean / first, mean / second, measured=mean, display=first, ours=second
    )
    return evidence.with_ratios_under_other_readings({"in O(.)": mean / (3.0 * first)})


def theta(beta: float, step_factor: float) -> float:
    """Return theta = 4 L^2 eta^2 k/(1-beta)^4 of theorem 3.

    k = beta^2 + (1-beta)^2 and eta = share (1-beta)^2/L. The proof divides by 1 - 4 theta.
    """
    return 4.0 * step_factor**2 * (beta**2 + (1.0 - beta) ** 2)


def examine_vanishing_divisor(effort: str, seed: int) -> ExaminationEvidence:
    """Find the largest 4 theta over beta, at the step of the proof, as stated, and half of it."""
    betas = np.linspace(0.0, 0.999, 1000)
    in_proof = [4.0 * theta(b, 0.25 / np.sqrt(b**2 + (1.0 - b) ** 2)) for b in betas]
    statement, half = ([4.0 * theta(b, share) for b in betas] for share in (0.25, 0.125))
    return ExaminationEvidence(
        printed_fails=not max(in_proof) < 1.0 - 1e-9,
        corrected_holds=is_at_most_bound(4.0 * max(half)),
        numbers={
            "4 theta, step of the proof": max(in_proof),
            "1 - 4 theta as stated, beta = 0.9": 1.0 - statement[900],
            "1 - 4 theta as stated, beta = 0.999": 1.0 - statement[-1],
            "4 theta, half the step": max(half),
        },
        readings={"the step as stated, beta in (0, 1)": max(statement[1:]) < 1.0 - 1e-9},
    )


ERRATA = (
    read_erratum("kim2026-thm1-line", __file__, examine=examine_noiseless_bound_order),
    read_erratum("kim2026-theta", __file__, examine=examine_vanishing_divisor),
)
