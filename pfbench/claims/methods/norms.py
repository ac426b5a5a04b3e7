"""Methods by linear minimisation over the ball of a norm: momentum, and where each leads."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pfbench.claims.methods import estimates
from pfbench.claims.methods.estimates import Forming, Moving, along, conditional_step, sg, storm
from pfbench.claims.methods.settings import BALL
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats, Instance, instance
from pfbench.verification.instruments.waves import Waves, with_norm
from pfbench.verification.laws import Formed, Method, Place, Setting, Told, setting
from pfbench.verification.laws.method import Parameters, Referee

# --- estimates and steps --------------------------------------------------------------------------


def momentum(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return d_k = (1 - alpha_k) d_{k-1} + alpha_k g_k; alpha_1 = 1 unless it begins at 0."""
    k = len(xs)
    alpha = s.get("alpha") or 1.0 / np.sqrt(k)
    if k == 1 and s.get("begin") != "zero":
        alpha = 1.0
    return estimates.averaged(xs, gs, alpha, s["batch"])


def from_zero(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return m_k = beta m_{k-1} + (1 - beta) g_k, m_0 = 0: (1 - beta) M_k of Muon, too."""
    return estimates.averaged(xs, gs, 1.0 - s["beta"], s["batch"])


def from_gradient(
    problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]
) -> Formed:
    """Return the same with m_1 = g_1."""
    return estimates.averaged(xs, gs, 1.0 - s["beta"] if gs else 1.0, s["batch"])


def free_step(problem: Waves, s: Parameters, x: Floats, g: Floats) -> Floats:
    """Return x + gamma lmo(g) - gamma mu x."""
    return np.asarray(x + s["step"] * (minimiser(problem, g) - s.get("decay", 0.0) * x))


def minimiser(problem: Waves, g: Floats) -> Floats:
    """Return lmo(g) by the formulas of the norms themselves, radius 1."""
    assert problem.norm is not None
    kinds = problem.norm.kinds
    if "linf" in kinds:
        return np.asarray(-np.sign(g))
    if "l2" in kinds:
        return np.asarray(-g / np.linalg.norm(g))
    U, _, Vt = np.linalg.svd(g.reshape(2, -1), full_matrices=False)
    return np.asarray(-(U @ Vt).ravel())


def averaged_minimisers(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of Almond: d_1 = lmo(g_1), d_k = (1 - alpha) d_{k-1} + alpha lmo(g_k)."""
    x, d = problem.start(), None
    for one in told:
        v = minimiser(problem, one.estimate)
        d = v if d is None else d + s["alpha"] * (v - d)
        yield Place(formed=Formed(at=x, batch=s["batch"]), x=x + s["step"] * d)
        x = one.x


def ahead(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of steps along N_k = (1 - beta)(g_k + beta M_k), M_k = beta M_{k-1} + g_k.

    (1 - beta) M_k = beta (1 - beta) M_{k-1} + (1 - beta) g_k; what was told is N_1, ..., N_{k-1},
    and N_k = (1 - beta) g_k + beta (1 - beta) M_k gives the g_k one by one.
    """
    beta, x, scaled = s["beta"], problem.start(), np.zeros_like(problem.start())
    weight = (1.0 - beta) * (1.0 + beta)
    for one in told:
        formed = Formed(at=x, batch=s["batch"], known=beta**2 * scaled, weight=weight)
        yield Place(formed=formed, x=free_step(problem, s, x, one.estimate))
        g = (one.estimate - beta**2 * scaled) / weight
        scaled = beta * scaled + (1.0 - beta) * g
        x = one.x


# --- the methods ----------------------------------------------------------------------------------


def stated(
    name: str,
    source: str,
    form: Forming,
    *others: Parameters,
    norm: str = "linf",
    move: Moving = free_step,
    referee: Referee | None = None,
    **usual: float,
) -> Method:
    """Return what a source says of a method.

    Parameters
    ----------
    name, source
        The catalogue's name; paper and number.
    form, move
        How the estimate is formed, and where a step leads.
    others
        Further parameters in place of the usual ones, with which it is followed, too.
    norm
        The norm that it runs with.
    referee
        The recursion, where it is not along its estimates.
    usual
        Parameters beside step, batch and K.
    """
    free = move is free_step
    some, one, two, seven = (
        tuple(instance(with_norm, n=n, norm=norm) for n in (3, 1, 2, 7))
        if free
        else (BALL, BALL.one, BALL.two, BALL.seven)
    )

    def made(where: Instance, K: int, b: int, step: float = 0.3, **given: object) -> Setting:
        return setting(where, **{"step": step, "batch": b, "iterations": K, **usual, **given})

    return Method(
        name=name,
        source=source,
        referee=referee or partial(along, form=form, move=move),
        counts=partial(
            estimates.each_step, of=estimates.COUNTING.get(form, estimates.of_batches), lo=1
        ),
        enumerated=(
            made(some, 3, 1),
            made(some, 2, 2),
            made(two, 3, 2, 0.4),
            *(made(some, 3, 1, **other) for other in others),
        ),
        followed=(
            made(some, 10, 3, 0.15),
            made(some, 4, 1, 0.9),
            *(made(some, 7, 2, **other) for other in others),
        ),
        counted=(made(seven, 10, 3), made(seven, 7, 9), made(seven, 1, 1), made(seven, 3, 1)),
        chosen=(
            *(made(one, K, 1, output=output) for K in (8, 21) for output in ("uniform", "last")),
            made(two, 4, 1, output="uniform"),
        ),
        step_power=0,
    )


AVERAGES = ({"alpha": None}, {"alpha": 0.3, "begin": "zero"})
DECAY = ({"decay": 0.7},)

METHODS = (
    stated("scg", "pethick2025, SCG", momentum, *AVERAGES, move=conditional_step, alpha=0.3),
    stated("uscg", "pethick2025, uSCG", momentum, *AVERAGES, *DECAY, alpha=0.3),
    stated(
        "uscg-mvr",
        "uSCG of pethick2025 with the estimate of cutkosky2019; pfbench",
        storm,
        {"snapshot": 2},
        alpha=0.3,
    ),
    stated("almond", "pethick2025, Almond", sg, referee=averaged_minimisers, alpha=0.3),
    stated("muon", "kim2026, Muon", from_zero, *DECAY, norm="spectral", beta=0.7),
    stated("muon-nesterov", "jordan2024", sg, *DECAY, norm="spectral", referee=ahead, beta=0.7),
    stated("signum", "bernstein2018, Signum", from_zero, *DECAY, beta=0.7),
    stated("normalised-sgd", "cutkosky2020", from_gradient, *DECAY, norm="l2", beta=0.7),
)

CLAIMS = claims_of(*METHODS)
