"""What one step of uSCG gains, summed: lemma D.1 of pethick2025."""


def descended(
    K: float, gamma: float, L: float, rho: float, delta: float, zeta: float, error: float
) -> float:
    """Return Delta/(rho gamma K) + L rho gamma/2 + 2 zeta error, lemma D.1."""
    return delta / (rho * gamma * K) + L * rho * gamma / 2.0 + 2.0 * zeta * error
