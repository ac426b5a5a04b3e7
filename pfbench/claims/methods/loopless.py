"""PAGE, L-SVRG and ZeroSARAH: estimates without epochs, in gradient and proximal steps."""

import math

from pfbench.claims.methods.iterates import COINED, COMPOSITE, MIXED, SMOOTH, stated
from pfbench.claims.methods.stating import claims_of, lsvrg, page, zerosarah
from pfbench.verification.laws import Wanted

Printed = dict[str, float | None]


def sharp(asked: Wanted, c2: float) -> Printed:
    """Return eta with (eta L)^2 c^2 + eta L = 1, and T = 2 h0/(eta epsilon^2)."""
    epsilon, c = asked.epsilon, asked.constants
    L = max(c.L_f, c.L_ms)
    eta = 1.0 / L if c2 == 0.0 else (math.sqrt(1.0 + 4.0 * c2) - 1.0) / (2.0 * c2 * L)
    return {"step": eta, "iterations": 2.0 * c.delta / (eta * epsilon**2)}


def of_page(asked: Wanted) -> Printed:
    """Return b = sqrt n, p = b/(n + b), with which the summed error is (1-p)/(pb) = n/b^2."""
    n = asked.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    return {"batch": b, "refresh": b / (n + b), **sharp(asked, n / b**2)}


def of_prox_page(asked: Wanted) -> Printed:
    """Return 16 L h0/T <= epsilon^2, eta = 1/(4L), with the b and p of PAGE."""
    epsilon, c = asked.epsilon, asked.constants
    L = max(c.L_f, c.L_ms)
    sizes = {name: of_page(asked)[name] for name in ("batch", "refresh")}
    return {**sizes, "iterations": 16.0 * L * c.delta / epsilon**2, "step": 0.25 / L}


def of_lsvrg(asked: Wanted) -> Printed:
    """Return p = 2 n^(-1/3), at most 1, b = n^(2/3)."""
    n = asked.constants.n
    b, p = math.ceil(n ** (2.0 / 3.0) - 1e-9), min(1.0, 2.0 / n ** (1.0 / 3.0))
    c2 = 2.0 * (1.0 - p) * (2.0 - p) / (p * p * b)
    return {"batch": b, "refresh": p, **sharp(asked, c2)}


def of_zerosarah(asked: Wanted) -> Printed:
    """Return b = sqrt n, lambda = q/2, q the chance that an entry is renewed in a step."""
    n = asked.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    q = 1.0 - (1.0 - 1.0 / n) ** b
    # With lambda = q/2: a = q - q^2/4, and 2 lambda^2 (1-q)(2-q)/q^2 = (1-q)(2-q)/2.
    c2 = (2.0 + (1.0 - q) * (2.0 - q)) / (b * (q - q * q / 4.0))
    return {"batch": b, "table_weight": q / 2.0, **sharp(asked, c2)}


METHODS = (
    stated(
        "page",
        "Li, Bao, Zhang, Richtarik 2021, algorithm 1",
        SMOOTH,
        page,
        COINED,
        printed=of_page,
        whose="b and p of Li et al. 2021; step and T by a bound of pfbench",
    ),
    stated(
        "prox-page",
        "Li, Bao, Zhang, Richtarik 2021, its estimate in proximal steps",
        COMPOSITE,
        page,
        COINED,
        printed=of_prox_page,
        whose="b and p of Li et al. 2021; step and T by a bound of pfbench",
    ),
    stated(
        "lsvrg",
        "Kovalev, Horvath, Richtarik 2020, L-SVRG; the coin is flipped before the step",
        SMOOTH,
        lsvrg,
        COINED,
        printed=of_lsvrg,
        whose="pfbench's, for non-convex f; the source, Kovalev et al. 2020, is convex",
    ),
    stated(
        "zerosarah",
        "Li, Hanzely, Richtarik 2021, algorithm 2",
        SMOOTH,
        zerosarah,
        MIXED,
        printed=of_zerosarah,
        whose="pfbench's, for the method of Li, Hanzely, Richtarik 2021",
    ),
)

CLAIMS = tuple(claim for method in METHODS for claim in claims_of(method))
