"""PAGE, L-SVRG, ZeroSARAH, STORM: estimates without epochs, in gradient and proximal steps."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pfbench.base.counts import Counts
from pfbench.claims.methods.estimates import lsvrg, page, zerosarah
from pfbench.claims.methods.iterates import COMPOSITE, SMOOTH, stated
from pfbench.claims.methods.schedules import Printed, page_sizes, smoothness
from pfbench.claims.methods.settings import SPACE, sized, with_outputs
from pfbench.claims.methods.stating import claims_of
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Told, Wanted, setting
from pfbench.verification.laws.method import Parameters


def sharp(asked: Wanted, c2: float) -> Printed:
    """Return eta with (eta L)^2 c^2 + eta L = 1, and T = 2 h0/(eta epsilon^2)."""
    L = smoothness(asked)
    eta = 1.0 / L if c2 == 0.0 else (math.sqrt(1.0 + 4.0 * c2) - 1.0) / (2.0 * c2 * L)
    return {"step": eta, "iterations": 2.0 * asked.constants.delta / (eta * asked.epsilon**2)}


def of_page(asked: Wanted) -> Printed:
    """Return b = sqrt n, p = b/(n + b), with which the summed error is (1-p)/(pb) = n/b^2."""
    b, p = page_sizes(asked.constants.n)
    return {"batch": b, "refresh": p, **sharp(asked, asked.constants.n / b**2)}


def of_prox_page(asked: Wanted) -> Printed:
    """Return 16 L h0/T <= epsilon^2, eta = 1/(4L), with the b and p of PAGE."""
    c, L, (b, p) = asked.constants, smoothness(asked), page_sizes(asked.constants.n)
    T = 16.0 * L * c.delta / asked.epsilon**2
    return {"batch": b, "refresh": p, "iterations": T, "step": 0.25 / L}


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


def adaptive(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of STORM by its source's symbols: eta_t, a_{t+1} = c eta_t^2.

    k = step w^(1/3), c = alpha/step^2. Which component was drawn is not told: it is the one whose
    gradient gives the eta_t that is nearest to what the step tells.
    """
    w = s["floor"]
    k, c = s["step"] * w ** (1.0 / 3.0), s["alpha"] / s["step"] ** 2
    x, before, d, a, squares = problem.start(), None, None, 0.0, 0.0
    for one in told:
        formed = Formed(at=x, batch=1)
        if before is not None and d is not None:
            formed = Formed(at=x, batch=1, against=before, known=(1.0 - a) * d, kept=1.0 - a)
        each = squares + (problem.components(x) ** 2).sum(axis=1)
        etas = k / (w + each) ** (1.0 / 3.0)
        g = one.estimate
        i = int(np.argmin(np.abs(etas - (x - one.x) @ g / max(1e-300, float(g @ g)))))
        squares, a = float(each[i]), c * float(etas[i]) ** 2
        yield Place(formed=formed, x=x - etas[i] * g)
        before, x, d = x, one.x, g


def pairs(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO 2T - 1."""
    return (Counts(sfo=2 * s["iterations"] - 1),)


_SIZES: Parameters = {"step": 0.3, "alpha": 0.8, "floor": 2.0}

STORM = Method(
    name="storm",
    source="Cutkosky, Orabona 2019, algorithm 1",
    referee=adaptive,
    counts=pairs,
    enumerated=(
        setting(SPACE, **_SIZES, iterations=4),
        setting(SPACE, step=0.6, alpha=0.4, floor=0.1, iterations=3),
    ),
    followed=(
        setting(SPACE, **_SIZES, iterations=10),
        setting(SPACE, step=0.9, alpha=1.0, floor=20.0, iterations=6),
    ),
    sized=(sized(SPACE, **_SIZES, iterations=2000),),
    counted=(
        setting(SPACE.seven, **_SIZES, iterations=9),
        setting(SPACE.seven, **_SIZES, iterations=1),
    ),
    chosen=(
        *with_outputs(SPACE.one, "uniform", "last", **_SIZES),
        setting(SPACE.two, **_SIZES, iterations=4, output="uniform"),
    ),
)

METHODS = (
    stated(
        "page",
        "Li, Bao, Zhang, Richtarik 2021, algorithm 1",
        SMOOTH,
        page,
        printed=of_page,
        whose="b and p of Li et al. 2021; step and T by a bound of pfbench",
    ),
    stated(
        "prox-page",
        "Li, Bao, Zhang, Richtarik 2021, its estimate in proximal steps",
        COMPOSITE,
        page,
        printed=of_prox_page,
        whose="b and p of Li et al. 2021; step and T by a bound of pfbench",
    ),
    stated(
        "lsvrg",
        "Kovalev, Horvath, Richtarik 2020, L-SVRG; the coin is flipped before the step",
        SMOOTH,
        lsvrg,
        printed=of_lsvrg,
        whose="pfbench's, for non-convex f; the source, Kovalev et al. 2020, is convex",
    ),
    stated(
        "zerosarah",
        "Li, Hanzely, Richtarik 2021, algorithm 2",
        SMOOTH,
        zerosarah,
        printed=of_zerosarah,
        whose="pfbench's, for the method of Li, Hanzely, Richtarik 2021",
    ),
    STORM,
)

CLAIMS = claims_of(*METHODS)
