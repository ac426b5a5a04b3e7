"""The cases: what is computed for a bound, and how near to the bound it must come."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pfbench.base.names import unknown
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.statistics import Decision, all_of
from pfbench.verification.trial import Trial
from pfbench.verification.worst_case import methods, runs
from pfbench.verification.worst_case.methods import DELTA, DELTA_SLIDING, ETA, theorem_accuracy

TOLERANCE = 1e-4
"""Relative error that the solver is allowed, beyond which a bound is violated."""

HORIZON = 4
"""Largest N of a quick verification; a full one goes to the `most` of each case."""

INSTANCES = 10
"""Random members of the class on which the method runs, for each N."""


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """The check of a bound on N steps of one method, over a class of problems.

    Attributes
    ----------
    bound
        N -> the bound.
    worst
        N -> the computed worst case; NaN if the solver does not find it. A second argument is the
        smoothness of f, 1 in the claim: another one is a planted fault.
    share
        The worst case is at least this part of the bound for all N up to `most`.
    run
        (N, random stream) -> what one run of the catalogue's method measures on a member of the
        class.
    most
        Largest N whose program is solved in about two minutes.
    """

    bound: Callable[[int], float]
    worst: Callable[[int], float]
    share: float
    run: Callable[[int, np.random.Generator], float]
    most: int = 8

    def __call__(self, trial: Trial) -> Evidence:
        """Compute the worst cases, and hold the bound and our own runs to them."""
        last = min(self.most, trial.pick(HORIZON, self.most))
        parts = {f"N={N}": self.decide(N, trial.seed) for N in range(1, last + 1)}
        claimed = {f"N={N}: worst case": self.bound(N) for N in range(1, last + 1)}
        return Evidence(decision=all_of(parts), claimed=claimed, repetitions=last * INSTANCES)

    def decide(self, N: int, seed: int) -> Decision:
        """Decide one N.

        *violated*: the worst case exceeds the bound, or a run the worst case. *inconclusive*: there
        is no worst case. *tight*: it is at least the case's share of the bound.
        """
        worst, bound = self.worst(N), self.bound(N)
        streams = (np.random.default_rng((seed, N, k)) for k in range(INSTANCES))
        run = max(self.run(N, rng) for rng in streams)
        measured = {"worst case": worst, "ratio": worst / bound, "largest run": run}
        if math.isnan(worst):
            return Decision("inconclusive", "The solver finds no worst case.", measured, None)
        if worst > bound * (1.0 + TOLERANCE):
            return Decision("violated", "The worst case exceeds the bound.", measured, None)
        if run > worst * (1.0 + TOLERANCE):
            return Decision("violated", "A run exceeds the worst case.", measured, None)
        if worst >= self.share * bound:
            near = f"The worst case is at least {self.share:g} of the bound."
            return Decision("tight", near, measured, None)
        return Decision("holds", "The worst case is at most the bound.", measured, None)


# --- bounds, L = 1 --------------------------------------------------------------------------------


def least_gap(N: int) -> float:
    """Return sqrt(2 h0 C/N) (lacoste2016 (15), and (6) for 2 h0 = C)."""
    return math.sqrt(2.0 * DELTA / N)


def open_loop(N: int) -> float:
    """Return 2 C/(N+2) (Jaggi 2013 theorem 1)."""
    return 2.0 / (N + 2.0)


def exact_mean_gap(N: int) -> float:
    """Return 1.5 epsilon D, the sharp form of shen2019 theorem 3.1 without its error term."""
    return 1.5 * theorem_accuracy(N)


def inexact_mean_gap(N: int) -> float:
    """Return 2 epsilon D, the sharp form of shen2019 theorem 3.1."""
    return 2.0 * theorem_accuracy(N)


def least_mapping(N: int) -> float:
    """Return 2 L h0/N (Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping)."""
    return 2.0 * DELTA / N


def sliding(N: int) -> float:
    """Return (16 L Delta + 28 L)/(3N) (qu2018 theorem 1, option I, the mean)."""
    return (16.0 * DELTA_SLIDING + 28.0) / (3.0 * N)


def spiderboost(N: int) -> float:
    """Return 4 L Delta/N (wang2019 theorem 1)."""
    return 4.0 * DELTA / N


def prox_spiderboost(N: int) -> float:
    """Return 20 L Delta/N (wang2019 theorem 2)."""
    return 20.0 * DELTA / N


def saga(N: int) -> float:
    """Return 3 L n^(2/3) h0/N for n = 2 (Reddi, Sra, Poczos, Smola, CDC 2016).

    It does not hold for all N: gradient descent, which SAGA is where all f_i are equal, breaks it
    from N = 8 on if n = 1, and from N = 28 on if n = 2 (`instances.Zigzag`).
    """
    return float(3.0 * 2.0 ** (2 / 3) * DELTA / N)


def svrg_error(N: int) -> float:
    """Return L^2 (N eta)^2/S (shen2019 section 3.1)."""
    return (N * ETA) ** 2 / 2.0


def spider_error(N: int) -> float:
    """Return L^2 N eta^2/S (shen2019 section 3.2)."""
    return N * ETA**2


def saga_age(N: int, n: int = 2, S: int = 1) -> float:
    """Return E a^2, where a is the age of an entry of SAGA's table, N steps after it was filled.

    Each step but the last replaces an entry with probability q = 1 - (1 - 1/n)^S.
    """
    kept = (1.0 - 1.0 / n) ** S
    ages = [(1.0 - kept) * kept ** (a - 1) * a**2 for a in range(1, N)]
    return sum(ages) + kept ** (N - 1) * N**2


def saga_error(N: int) -> float:
    """Return L^2 eta^2 E a^2/S, a the age of an entry: a variance is at most a mean square."""
    return ETA**2 * saga_age(N)


# --- the cases ------------------------------------------------------------------------------------


def _case(
    name: str, *, statement: str, source: str, check: WorstCase, seconds: tuple[float, float]
) -> Claim:
    return Claim(
        name=name,
        source=source,
        kind="computed",
        statement=statement,
        check=check,
        schedule="of its theorem, for each N",
        takes=seconds,
    )


WORST_CASES: tuple[Claim, ...] = (
    _case(
        "frank-wolfe-gap",
        statement="Frank-Wolfe, step sqrt(2 h0/(C N)), f smooth: "
        "least gap at x_0 .. x_{N-1} <= sqrt(2 h0 C/N)",
        source="lacoste2016 (15), and (6), the same for 2 h0 = C",
        check=WorstCase(
            bound=least_gap,
            worst=methods.frank_wolfe_gap,
            share=0.75,
            run=runs.frank_wolfe_gap,
        ),
        seconds=(1.0, 3.0),
    ),
    _case(
        "frank-wolfe-open-loop",
        statement="Frank-Wolfe, step 2/(t+2), f smooth and convex: f(x_N) - min f <= 2 C/(N+2)",
        source="Jaggi 2013 theorem 1",
        check=WorstCase(
            bound=open_loop,
            worst=methods.frank_wolfe_open_loop,
            share=0.47,
            run=runs.frank_wolfe_open_loop,
        ),
        seconds=(1.0, 3.0),
    ),
    _case(
        "nfwu-exact",
        statement="NFWU, exact gradients, N = L Delta/epsilon^2: "
        "mean gap at x_0 .. x_{N-1} <= 1.5 epsilon D",
        source="shen2019 theorem 3.1, sharp form without its error term",
        check=WorstCase(
            bound=exact_mean_gap,
            worst=methods.nfwu_exact,
            share=0.89,
            run=runs.nfwu_exact,
        ),
        seconds=(1.0, 4.0),
    ),
    _case(
        "nfwu-inexact",
        statement="NFWU, gradients within epsilon/2, N = L Delta/epsilon^2: "
        "mean gap at x_0 .. x_{N-1} <= 2 epsilon D",
        source="shen2019 theorem 3.1, sharp form",
        check=WorstCase(
            bound=inexact_mean_gap,
            worst=methods.nfwu_inexact,
            share=0.92,
            run=runs.nfwu_inexact,
        ),
        seconds=(2.0, 12.0),
    ),
    _case(
        "gradient-descent",
        statement="gradient descent, step 1/L, f smooth: "
        "least |grad f|^2 at x_0 .. x_{N-1} <= 2 L h0/N",
        source="Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping",
        check=WorstCase(
            bound=least_mapping,
            worst=methods.gradient_descent,
            share=0.66,
            run=runs.gradient_descent,
        ),
        seconds=(1.0, 2.0),
    ),
    _case(
        "prox-gd",
        statement="proximal gradient, step 1/L, f smooth, h convex: least |G_{1/L}|^2 <= 2 L h0/N",
        source="Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping",
        check=WorstCase(
            bound=least_mapping,
            worst=methods.prox_gd,
            share=0.66,
            run=runs.prox_gd,
        ),
        seconds=(1.0, 2.0),
    ),
    _case(
        "ncgs",
        statement="NCGS, option I, as projected gradient with inner gap 1/N, f smooth: "
        "mean |G|^2 <= (16 L Delta + 28 L)/(3N)",
        source="qu2018 theorem 1, option I",
        check=WorstCase(
            bound=sliding,
            worst=methods.ncgs,
            share=0.48,
            run=runs.ncgs,
        ),
        seconds=(1.0, 5.0),
    ),
    _case(
        "spiderboost",
        statement="SpiderBoost, n = 2 smooth components, S = 1, q = 2: "
        "mean E|grad f|^2 <= 4 L Delta/N",
        source="wang2019 theorem 1",
        check=WorstCase(
            bound=spiderboost,
            worst=methods.spiderboost,
            share=0.49,
            run=runs.spiderboost,
            most=7,
        ),
        seconds=(2.0, 60.0),
    ),
    _case(
        "prox-spiderboost",
        statement="Prox-SpiderBoost, n = 2 smooth components, h convex, S = 1, q = 2: "
        "mean E|G_eta|^2 <= 20 L Delta/N",
        source="wang2019 theorem 2",
        check=WorstCase(
            bound=prox_spiderboost,
            worst=methods.prox_spiderboost,
            share=0.13,
            run=runs.prox_spiderboost,
            most=5,
        ),
        seconds=(10.0, 60.0),
    ),
    _case(
        "saga",
        statement="SAGA, n = 2 smooth components, b = 1: mean E|grad f|^2 <= 3 L n^(2/3) h0/N",
        source="Reddi, Sra, Poczos, Smola, CDC 2016",
        check=WorstCase(
            bound=saga,
            worst=methods.saga,
            share=0.41,
            run=runs.saga,
            most=4,
        ),
        seconds=(60.0, 60.0),
    ),
    _case(
        "svrg-error",
        statement="SVRG, N steps of length eta from the snapshot, n = 3, S = 2: "
        "E|g - grad f|^2 <= L^2 (N eta)^2/S",
        source="shen2019 section 3.1",
        check=WorstCase(
            bound=svrg_error,
            worst=methods.svrg_error,
            share=0.999,
            run=runs.svrg_error,
        ),
        seconds=(1.0, 2.0),
    ),
    _case(
        "spider-error",
        statement="SPIDER, N steps of length eta that follow the draws, n = 2, S = 1: "
        "E|g - grad f|^2 <= L^2 N eta^2/S",
        source="shen2019 section 3.2",
        check=WorstCase(
            bound=spider_error,
            worst=methods.spider_error,
            share=0.999,
            run=runs.spider_error,
            most=5,
        ),
        seconds=(10.0, 60.0),
    ),
    _case(
        "saga-error",
        statement="SAGA, N steps of length eta on a fixed path, n = 2, S = 1: "
        "E|g - grad f|^2 <= L^2 eta^2 E a^2/S, a the age of an entry",
        source="a variance is at most a mean square",
        check=WorstCase(
            bound=saga_error,
            worst=methods.saga_error,
            share=0.75,
            run=runs.saga_error,
        ),
        seconds=(2.0, 60.0),
    ),
)
"""Every case. Steps that depend on products of unknowns (line search, g/C) and Hessians (CASVRG,
CASPIDERG) cannot be expressed."""


def selected(names: Iterable[str] = ()) -> list[Claim]:
    """Return the named cases; all if none is named.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    known = {case.name: case for case in WORST_CASES}
    for name in names:
        if name not in known:
            raise unknown("worst case", name, known)
    return [known[name] for name in dict.fromkeys(names)] or list(WORST_CASES)
