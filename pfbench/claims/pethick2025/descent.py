"""What one step of uSCG gains, summed: lemma D.1 of pethick2025; and the schedules of theorems."""

from pfbench.verification.stating.mean_along import Numbers


def descended(
    K: float, gamma: float, L: float, rho: float, delta: float, zeta: float, error: float
) -> float:
    """Return Delta/(rho gamma K) + L rho gamma/2 + 2 zeta error, lemma D.1."""
    return delta / (rho * gamma * K) + L * rho * gamma / 2.0 + 2.0 * zeta * error


def of_constant(c: Numbers, alpha: float) -> Numbers:
    """Return alpha and gamma = K^(-1/2) of theorems 5.4 and 5.6."""
    return {"alpha": alpha, "step": c["K"] ** -0.5}


def of_vanishing(c: Numbers) -> Numbers:
    """Return gamma = K^(-3/4) of theorems 5.5 and 5.7; alpha_k = k^(-1/2) where none is given."""
    return {"step": c["K"] ** -0.75}
