"""Natasha1.5: SVRG steps on a problem made convex by a quadratic around x^."""

from collections.abc import Iterator, Sequence

import numpy as np

from pfbench.base.counts import Counts
from pfbench.claims.methods.estimates import epochs, own_output
from pfbench.claims.methods.schedules import WANTED, Printed
from pfbench.claims.methods.settings import BALL, PENALTY, sized
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats, instance
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Told, Wanted, setting
from pfbench.verification.laws.method import Parameters


def subepoch(s: Parameters) -> int:
    """Return m = B/(p b), the steps of a sub-epoch, at least 1."""
    return max(1, int(s["snapshot"] // (s["subepochs"] * s["batch"])))


def path(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of x+ = prox(x - alpha g), x^ the average of each sub-epoch's m points.

    g = grad f_i(x) - grad f_i(x~) + mu + 2 sigma (x - x^). At x~ itself all but mu is 0, so that
    the first estimate of an epoch tells mu: all components where B = n, else a subset of them.
    """
    m, p, B = subepoch(s), s["subepochs"], s["snapshot"]
    centre = problem.start()
    points: list[Floats] = []
    for k, one in enumerate(told):
        if k % m == 0:
            x, points = centre, []
        tilt = 2.0 * s["sigma"] * (x - centre)
        if k % (m * p) == 0:
            snapshot, mean = x, one.estimate
            formed = Formed(at=x, batch=None if problem.n == B else B, replace=False)
        else:
            formed = Formed(at=x, batch=s["batch"], against=snapshot, known=mean + tilt)
        points.append(x)
        if k % m == m - 1:
            centre = np.mean(points, axis=0)
        yield Place(formed=formed, x=problem.prox(x, one.estimate, s["step"]), output=centre)
        x = one.x


def counts(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO B for each epoch and 2b for each step, PO T."""
    T, B = s["iterations"], s["snapshot"]
    E = epochs(T, subepoch(s) * s["subepochs"])
    fo = E if n == B else 0
    full = Counts(fo=fo, sfo=B * E + 2 * s["batch"] * T, po=T)
    # A method may leave out the difference at x~ itself, which is 0.
    return full, Counts(fo=fo, sfo=B * E + 2 * s["batch"] * (T - E), po=T)


def schedule(asked: Wanted) -> Printed:
    """Return B = V/epsilon^2 at most n, p = (sigma^2 B/L^2)^(1/3), alpha = sigma/(p^2 L^2).

    The source states orders; the constants here are 1, and T = L^(2/3) sigma^(1/3) h0 B^(2/3)/
    epsilon^2. sigma is the lower curvature, between epsilon L and L.
    """
    epsilon, c = asked.epsilon, asked.constants
    L = c.L_max
    sigma = asked.given.get("sigma") or min(L, max(c.ell, epsilon * L))
    B = min(c.n, max(1, round(np.ceil(c.sigma2 / epsilon**2 - 1e-9))))
    p = max(1, int((sigma**2 * B / L**2) ** (1.0 / 3.0) + 1e-9))
    return {
        "snapshot": B,
        "subepochs": min(p, B),
        "sigma": sigma,
        "step": sigma / (p * L) ** 2,
        "iterations": L ** (2 / 3) * sigma ** (1 / 3) * c.delta * B ** (2 / 3) / epsilon**2,
    }


SIGMA = tuple(Wanted(one.epsilon, one.constants, {"sigma": 2.5}) for one in WANTED)

FOUR = instance(BALL, n=4)

NATASHA = Method(
    name="natasha15",
    source="Allen-Zhu, Natasha 2, NeurIPS 2018, Natasha1.5",
    referee=path,
    counts=counts,
    enumerated=(
        # m = 1: each step is a sub-epoch; then m = 2, and a batch of 2.
        setting(BALL, step=0.2, sigma=0.5, snapshot=2, subepochs=2, batch=1, iterations=2),
        setting(BALL, step=0.2, sigma=0.5, snapshot=3, subepochs=1, batch=1, iterations=5),
        setting(PENALTY, step=0.2, sigma=0.5, snapshot=3, subepochs=2, batch=2, iterations=3),
        setting(FOUR, step=0.2, sigma=0.5, snapshot=4, subepochs=1, batch=1, iterations=4),
        setting(BALL, step=0.3, sigma=0.5, snapshot=2, subepochs=1, batch=1, iterations=3),
        setting(BALL.two, step=0.3, sigma=0.5, snapshot=2, subepochs=1, batch=2, iterations=3),
    ),
    followed=(
        setting(BALL, step=0.2, sigma=0.5, snapshot=3, subepochs=1, batch=1, iterations=10),
        setting(PENALTY, step=0.2, sigma=0.7, snapshot=2, subepochs=1, batch=1, iterations=7),
        setting(BALL, step=0.2, sigma=0.5, snapshot=3, subepochs=2, batch=3, iterations=6),
    ),
    sized=tuple(
        sized(BALL, step=0.2, sigma=0.5, snapshot=B, subepochs=3, batch=10, iterations=2000)
        for B in (2000, 10_000)
    ),
    counted=(
        setting(BALL.seven, step=0.1, sigma=1.0, snapshot=7, subepochs=2, batch=1, iterations=10),
        setting(BALL.seven, step=0.1, sigma=1.0, snapshot=6, subepochs=3, batch=2, iterations=7),
        setting(BALL.seven, step=0.1, sigma=1.0, snapshot=5, subepochs=1, batch=2, iterations=5),
    ),
    chosen=(
        setting(BALL.one, step=0.2, sigma=0.5, snapshot=1, subepochs=1, batch=1, iterations=5),
        setting(BALL.one, step=0.2, sigma=0.5, snapshot=1, subepochs=1, batch=1, iterations=21),
    ),
    outputs=own_output,
    schedules=(*WANTED, *SIGMA),
    schedule=schedule,
    whose="the orders of Allen-Zhu 2018, which prints no constants; pfbench takes 1 for each, "
    "and for T the count of proximal maps",
)

METHODS = (NATASHA,)

CLAIMS = claims_of(*METHODS)
