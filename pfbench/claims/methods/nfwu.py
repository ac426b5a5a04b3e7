"""Algorithm 1 of shen2019 with each of its five gradient estimators."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.claims.methods import estimates
from pfbench.claims.methods.estimates import Forming
from pfbench.claims.methods.schedules import CONSTANTS, SMALLEST, Printed, smoothness
from pfbench.claims.methods.settings import BALL, OCTAHEDRON
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats, Instance
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Setting, Told, Wanted, setting
from pfbench.verification.laws.late_outputs import at_its_end
from pfbench.verification.laws.method import Chances, Parameters
from pfbench.verification.laws.steps import declared

SOURCE = "shen2019 algorithm 1, theorem 3.1, remark 3.1"


# --- estimates and steps ----------------------------------------------------------------------


def casvrg(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return GE 4: SVRG corrected with the Hessians at the snapshot."""
    return _corrected(estimates.svrg(problem, s, xs, gs), s, xs, gs)


def caspiderg(problem: Waves, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    """Return GE 5: SPIDER corrected with the Hessians at the snapshot."""
    return _corrected(estimates.spider(problem, s, xs, gs), s, xs, gs)


def _corrected(formed: Formed, s: Parameters, xs: Sequence[Floats], gs: Sequence[Floats]) -> Formed:
    return replace(formed, hessians=xs[len(gs) - len(gs) % s["period"]])


def runs_of(s: Parameters) -> int:
    """Return k of remark 3.1: given, or the least with 2^-k at most the failure probability."""
    if "probability" in s:
        return math.ceil(-math.log2(s["probability"]))
    return int(s.get("restarts", 1))


def steps_of(s: Parameters) -> int:
    """Return the steps of all k runs."""
    return runs_of(s) * int(s["iterations"])


def independent_runs(
    problem: Waves, s: Parameters, told: Sequence[Told], *, form: Forming
) -> Iterator[Place]:
    """Yield the places of k runs from the start, each of T steps towards a vertex."""
    T = s["iterations"]
    for first in range(0, len(told), T):
        run = told[first : first + T]
        yield from estimates.along(problem, s, run, form=form, move=estimates.conditional_step)


def best_of_runs(problem: Waves, s: Parameters, places: Sequence[Place]) -> Chances:
    """Return the law of the best of k candidates, each drawn among the points of its run.

    That with the least exact gap is the output.
    """
    T, output = s["iterations"], {"output": "uniform", **s}
    runs = [declared(problem, output, places[t : t + T]) for t in range(0, len(places), T)]
    measured = [[(_gap(problem, x), chance, x) for chance, x in run] for run in runs]
    return [
        (math.prod(chance for _, chance, _ in drawn), min(drawn, key=lambda one: one[0])[2])
        for drawn in itertools.product(*measured)
    ]


def _gap(problem: Waves, x: Floats) -> float:
    g = problem.gradient(x)
    return float(g @ (x - problem.lo(g)))


# --- counts -----------------------------------------------------------------------------------


def counts(s: Parameters, n: int, *, estimator: str) -> tuple[Counts, ...]:
    """Return the exact counts; the best of several runs asks a gradient and a vertex for each."""
    k, T, S = runs_of(s), s["iterations"], s["batch"]
    best = k if k > 1 else 0
    lo = k * T + best
    if estimator == "sg":
        return (Counts(fo=best, sfo=k * S * T + n * best, lo=lo),)
    if estimator == "storm":
        first = s.get("snapshot") or S
        return (Counts(fo=best, sfo=k * (first + 2 * S * (T - 1)) + n * best, lo=lo),)
    if estimator in ("page", "lsvrg"):
        full = k + s["heads"]  # the first of each run, and each head
        return (Counts(fo=full + best, sfo=n * (full + best) + 2 * S * (k * T - full), lo=lo),)
    E = estimates.epochs(T, s["period"])
    fo, sfo = k * E + best, k * (n * E + 2 * S * (T - E)) + n * best
    if estimator in ("svrg", "spiderg"):
        return (Counts(fo=fo, sfo=sfo, lo=lo),)
    return (Counts(fo=fo, sfo=sfo, sso=k * n * E, hvp=k * (n + S) * (T - E), lo=lo),)


# --- schedules --------------------------------------------------------------------------------


def printed(asked: Wanted, *, estimator: str) -> Printed:
    """Return theorem 3.1's step epsilon/(L D) and T = L Delta/epsilon^2, with table 1's S and p.

    Table 1's S times 1, 4, 4, 1, 4/3, with which condition (9) holds: the least such is 2 for 4/3.
    """
    epsilon, c = asked.epsilon, asked.constants
    L, n = max(c.L_f, c.L_ms), c.n
    S: float  # a whole number where only that is right
    if estimator == "sg":
        return normalised(asked, batch=4.0 * c.sigma2 / epsilon**2)
    if estimator == "svrg":
        S, p = 4.0 * n ** (2.0 / 3.0), n ** (1.0 / 3.0)
    elif estimator == "spiderg":
        S, p = 4.0 * math.sqrt(n), math.sqrt(n)
    elif estimator == "casvrg":
        small = n * n * c.L2_ms * epsilon <= L * L
        p = (
            L / math.sqrt(c.L2_ms * epsilon)
            if small
            else L**0.8 * n**0.2 / (c.L2_ms * epsilon) ** 0.4
        )
        S = 1 if small else n / math.floor(p)
    else:
        small = n**1.5 * c.L2_ms * epsilon <= L * L
        ratio = L * L / (c.L2_ms * epsilon)
        p = ratio ** (2.0 / 3.0) if small else math.sqrt(ratio) * n**0.25
        S = 2 if small else 4.0 * n / (3.0 * math.floor(p))
    return normalised(asked, batch=S, period=p)


def switches(c: Constants) -> tuple[float, float]:
    """Return the accuracies below which table 1's S and p of GE 4 and GE 5 are the others."""
    L = max(c.L_f, c.L_ms)
    return L * L / (c.L2_ms * c.n**2), L * L / (c.L2_ms * c.n**1.5)


def normalised(asked: Wanted, **sizes: float) -> Printed:
    """Return T = L h0/epsilon^2 and the weight epsilon/(L D) of shen2019 theorem 3.1."""
    epsilon, c, L = asked.epsilon, asked.constants, smoothness(asked)
    return {"iterations": L * c.delta / epsilon**2, "step": epsilon / (L * c.D), **sizes}


def of_page(asked: Wanted) -> Printed:
    """Return q = sqrt(8/n), at most 1, and S = 4(1-q)/q."""
    q = min(1.0, (8.0 / asked.constants.n) ** 0.5)
    return normalised(asked, refresh=q, batch=4.0 / q - 4.0)


def of_lsvrg(asked: Wanted) -> Printed:
    """Return q = (32/n)^(1/3), at most 1, and S = 4(1-q)(2-q)/q^2."""
    q = min(1.0, math.cbrt(32.0 / asked.constants.n))
    return normalised(asked, refresh=q, batch=4.0 * (1.0 / q - 1.0) * (2.0 / q - 1.0))


def of_storm(asked: Wanted) -> Printed:
    """Return alpha = epsilon/sigma, at most 1, S = 8 sigma/epsilon, b0 = 4 sigma^2/epsilon^2."""
    epsilon, variance = asked.epsilon, asked.constants.sigma2
    return normalised(
        asked,
        alpha=min(1.0, epsilon / math.sqrt(variance)),
        batch=8.0 * math.sqrt(variance) / epsilon,
        snapshot=4.0 * variance / epsilon**2,
    )


WANTED = (
    *(Wanted(epsilon, c) for epsilon in (0.4, 0.03, 0.002) for c in CONSTANTS),
    *(Wanted(near * one, CONSTANTS[1]) for one in switches(CONSTANTS[1]) for near in (0.6, 1.7)),
    *(Wanted(0.4, c) for c in SMALLEST),
)


SIZES = {
    "sg": "S = 4 sigma^2/epsilon^2, from condition (9), is of pfbench",
    "svrg": "p and S of table 1, S times 4 by pfbench, with which (9) holds",
    "spiderg": "p and S of table 1, S times 4 by pfbench, with which (9) holds",
    "casvrg": "p and S of section 4.1, the powers of L and L2 corrected by pfbench",
    "caspiderg": "p and S of section 4.2, the powers of L and L2 corrected and S times 4/3 by "
    "pfbench",
    **dict.fromkeys(("page", "lsvrg"), "q and S by a bound of pfbench"),
    "storm": "alpha, S and b0 by a bound of pfbench",
}
"""Whose the sizes are."""

OWN: dict[str, dict[str, float]] = {
    "page": {"refresh": 0.4},
    "lsvrg": {"refresh": 0.4},
    "storm": {"alpha": 0.3},
}
"""What an estimator without epochs has in place of a period."""

BY = {
    "page": "Li, Bao, Zhang, Richtarik 2021",
    "lsvrg": "Kovalev, Horvath, Richtarik 2020",
    "storm": "Cutkosky, Orabona 2019",
}
"""Whose estimators without epochs are."""


# --- the methods ------------------------------------------------------------------------------


def stated(estimator: str, form: Forming) -> Method:
    """Return what the source says of algorithm 1 with an estimator."""
    by_batches = ((0.2, 2, 0, 2), (0.3, 1, 0, 3))
    by_epochs = ((0.3, 1, 3, 6), (0.2, 2, 2, 4), (0.4, 2, 3, 3))
    own, shown = OWN.get(estimator, {}), {"page": of_page, "lsvrg": of_lsvrg, "storm": of_storm}
    first = ({"snapshot": 2},) if estimator == "storm" else ()
    sure = {"refresh": 1.0} if "refresh" in own else {}  # so that the output's draw is left

    def made(problem: Instance, step: float, S: int, p: int, T: int, **given: Any) -> Setting:
        sizes = {"period": p} if estimator not in ("sg", *OWN) else own
        return setting(problem, **{"step": step, "batch": S, "iterations": T, **sizes, **given})

    return Method(
        name=f"nfwu-{estimator}",
        source=SOURCE
        if estimator not in BY
        else f"shen2019 algorithm 1 with the estimate of {BY[estimator]}",
        referee=partial(independent_runs, form=form),
        counts=partial(counts, estimator=estimator),
        length=steps_of,
        enumerated=(
            *(
                made(BALL, *sizes)
                for sizes in (by_batches if estimator in ("sg", *OWN) else by_epochs)
            ),
            made(BALL.two, 0.3, 2, 2, 4),  # batch = n
            *(made(BALL, 0.3, 1, 0, 3, **one) for one in first),
        ),
        followed=(
            made(BALL, 0.15, 3, 4, 10),
            made(BALL, 1.0, 1, 2, 4),
            made(BALL, 0.3, 2, 3, 5, restarts=3),
        ),
        counted=(
            made(BALL.seven, 0.1, 3, 4, 10),
            made(BALL.seven, 0.1, 9, 3, 7),
            *(made(BALL.seven, 0.1, 3, 0, 5, **one) for one in first),
            made(BALL.seven, 0.1, 1, 1, 3),
            made(BALL.seven, 0.1, 2, 3, 4, restarts=2),
            made(BALL.seven, 0.1, 2, 3, 4, restarts=3),
            made(BALL.seven, 0.1, 2, 3, 4, probability=0.2),
        ),
        chosen=(
            made(BALL.one, 0.2, 1, 3, 8, output="uniform", **sure),
            made(BALL.one, 0.2, 1, 3, 8, output="last", **sure),
            made(BALL.one, 0.2, 1, 3, 21, output="uniform", **sure),
            made(BALL.two, 0.2, 1, 3, 4, output="uniform", **sure),
            made(BALL.two, 0.3, 1, 2, 2, restarts=2, **sure),
            made(BALL.one, 0.3, 1, 2, 11, restarts=2, **sure),
            made(BALL.one, 0.3, 1, 2, 3, restarts=3, **sure),
            made(BALL.one, 0.3, 1, 2, 3, probability=0.2, **sure),
            # Each term of the gap alone puts these three points in another order.
            made(OCTAHEDRON.one, 1.0, 1, 2, 3, restarts=2, **sure),
            made(BALL.one, 0.3, 1, 2, 3, restarts=2, output="last", **sure),
        ),
        outputs=best_of_runs,
        at_end=at_its_end,
        step_power=0,
        schedules=WANTED,
        schedule=shown.get(estimator) or partial(printed, estimator=estimator),
        whose=f"T and step of shen2019 theorem 3.1; {SIZES[estimator]}",
    )


METHODS = tuple(
    stated(estimator, form)
    for estimator, form in {
        "sg": estimates.sg,
        "svrg": estimates.svrg,
        "spiderg": estimates.spider,
        "casvrg": casvrg,
        "caspiderg": caspiderg,
        "page": estimates.page,
        "lsvrg": estimates.lsvrg,
        "storm": estimates.storm,
    }.items()
)

CLAIMS = claims_of(*METHODS)
