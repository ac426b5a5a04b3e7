"""The cases: what is computed for each claim, the bound it must obey, and how near it must come."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pfbench.base.checks import integer
from pfbench.base.names import unknown
from pfbench.verification.worst_case import methods, runs
from pfbench.verification.worst_case.estimation import check_installed

TOLERANCE = 1e-4
"""Relative error that the solver is allowed, beyond which a bound is violated."""


@dataclass(frozen=True)
class Case:
    """The worst case of N steps of one method, over a class of problems.

    Attributes
    ----------
    name
        Its name.
    about
        Method, class and measure, in one line.
    claim
        The claim whose bound it is; "" where the bound is not one of the catalogue's claims.
    source
        Where the bound is printed.
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

    name: str
    about: str
    claim: str
    source: str
    bound: Callable[[int], float]
    worst: Callable[..., float]
    share: float
    run: Callable[[int, np.random.Generator], float]
    most: int = 8


def saga_age(N: int, n: int = 2, S: int = 1) -> float:
    """Return E a^2, where a is the age of an entry of SAGA's table, N steps after it was filled.

    Each step but the last replaces an entry with probability q = 1 - (1 - 1/n)^S.
    """
    kept = (1.0 - 1.0 / n) ** S
    ages = [(1.0 - kept) * kept ** (a - 1) * a**2 for a in range(1, N)]
    return sum(ages) + kept ** (N - 1) * N**2


CASES: tuple[Case, ...] = (
    Case(
        name="frank-wolfe-gap",
        about="Frank-Wolfe, step sqrt(2 h0/(C N)), f smooth: least gap at x_0 .. x_{N-1}",
        claim="lacoste2016-thm1",
        source="lacoste2016 (15), and (6), the same for 2 h0 = C: sqrt(2 h0 C/N)",
        bound=lambda N: math.sqrt(2.0 * methods.DELTA / N),
        worst=methods.frank_wolfe_gap,
        share=0.75,
        run=runs.frank_wolfe_gap,
    ),
    Case(
        name="frank-wolfe-open-loop",
        about="Frank-Wolfe, step 2/(t+2), f smooth and convex: f(x_N) - min f",
        claim="",
        source="Jaggi 2013, theorem 1: 2 C/(N+2)",
        bound=lambda N: 2.0 / (N + 2.0),
        worst=methods.frank_wolfe_open_loop,
        share=0.47,
        run=runs.frank_wolfe_open_loop,
    ),
    Case(
        name="nfwu-exact",
        about="NFWU, exact gradients, N = L Delta/epsilon^2: mean gap at x_0 .. x_{N-1}",
        claim="shen2019-thm3.1-spiderg",
        source="THEORY section 5, the sharp form without its error term: 1.5 epsilon D",
        bound=lambda N: 1.5 * methods.theorem_accuracy(N),
        worst=methods.nfwu_exact,
        share=0.89,
        run=runs.nfwu_exact,
    ),
    Case(
        name="nfwu-inexact",
        about="NFWU, gradients within epsilon/2, N = L Delta/epsilon^2: mean gap at x_0 .. x_{N-1}",
        claim="shen2019-thm3.1-sg",
        source="THEORY section 5, the sharp form: 2 epsilon D",
        bound=lambda N: 2.0 * methods.theorem_accuracy(N),
        worst=methods.nfwu_inexact,
        share=0.92,
        run=runs.nfwu_inexact,
    ),
    Case(
        name="gradient-descent",
        about="gradient descent, step 1/L, f smooth: least |grad f|^2 at x_0 .. x_{N-1}",
        claim="wang2019-table1-prox-gd",
        source="BASELINES section 13 with h = 0: 2 L h0/N",
        bound=lambda N: 2.0 * methods.DELTA / N,
        worst=methods.gradient_descent,
        share=0.66,
        run=runs.gradient_descent,
    ),
    Case(
        name="prox-gd",
        about="proximal gradient, step 1/L, f smooth, h convex: least |G_{1/L}|^2",
        claim="wang2019-table1-prox-gd",
        source="BASELINES section 13: 2 L h0/N",
        bound=lambda N: 2.0 * methods.DELTA / N,
        worst=methods.prox_gd,
        share=0.66,
        run=runs.prox_gd,
    ),
    Case(
        name="ncgs",
        about="NCGS, option I, as projected gradient with inner gap 1/N, f smooth: mean |G|^2",
        claim="qu2018-thm1-I",
        source="THEORY section 6: (16 L Delta + 28 L)/(3N)",
        bound=lambda N: (16.0 * methods.DELTA_SLIDING + 28.0) / (3.0 * N),
        worst=methods.ncgs,
        share=0.48,
        run=runs.ncgs,
    ),
    Case(
        name="spiderboost",
        about="SpiderBoost, n = 2 smooth components, S = 1, q = 2: mean E|grad f|^2",
        claim="wang2019-thm1",
        source="THEORY section 7: 4 L Delta/N",
        bound=lambda N: 4.0 * methods.DELTA / N,
        worst=methods.spiderboost,
        share=0.49,
        run=runs.spiderboost,
        most=7,
    ),
    Case(
        name="prox-spiderboost",
        about="Prox-SpiderBoost, n = 2 smooth components, h convex, S = 1, q = 2: mean E|G_eta|^2",
        claim="wang2019-thm2",
        source="THEORY section 7: 20 L Delta/N",
        bound=lambda N: 20.0 * methods.DELTA / N,
        worst=methods.prox_spiderboost,
        share=0.13,
        run=runs.prox_spiderboost,
        most=5,
    ),
    Case(
        name="saga",
        about="SAGA, n = 2 smooth components, b = 1: mean E|grad f|^2",
        claim="",
        # Not for all N: gradient descent, which SAGA is where all f_i are equal, breaks it from
        # N = 8 on if n = 1, and from N = 28 on if n = 2 (`Zigzag`).
        source="BASELINES section 5: 3 L n^(2/3) h0/N",
        bound=lambda N: 3.0 * 2.0 ** (2 / 3) * methods.DELTA / N,
        worst=methods.saga,
        share=0.41,
        run=runs.saga,
        most=4,
    ),
    Case(
        name="svrg-error",
        about="SVRG, N steps of length eta from the snapshot, n = 3, S = 2: E|g - grad f|^2",
        claim="shen2019-mse-svrg",
        source="THEORY section 5: L^2 (N eta)^2/S",
        bound=lambda N: (N * methods.ETA) ** 2 / 2.0,
        worst=methods.svrg_error,
        share=0.999,
        run=runs.svrg_error,
    ),
    Case(
        name="spider-error",
        about="SPIDER, N steps of length eta that follow the draws, n = 2, S = 1: E|g - grad f|^2",
        claim="shen2019-mse-spiderg",
        source="THEORY section 5: L^2 N eta^2/S",
        bound=lambda N: N * methods.ETA**2,
        worst=methods.spider_error,
        share=0.999,
        run=runs.spider_error,
        most=5,
    ),
    Case(
        name="saga-error",
        about="SAGA, N steps of length eta on a fixed path, n = 2, S = 1: E|g - grad f|^2",
        claim="",
        source="variance is at most mean square: L^2 eta^2 E a^2/S, a the age of an entry",
        bound=lambda N: methods.ETA**2 * saga_age(N),
        worst=methods.saga_error,
        share=0.75,
        run=runs.saga_error,
    ),
)
"""Every case. Steps that depend on products of unknowns (line search, g/C) and Hessians (CASVRG,
CASPIDERG) cannot be expressed."""


@dataclass(frozen=True)
class Row:
    """One case at one N.

    Attributes
    ----------
    case
        Its name.
    claim
        The claim, or "".
    N
        Number of steps.
    worst
        The computed worst case; NaN if the solver did not find it.
    bound
        The bound.
    ratio
        worst / bound.
    run
        The largest measurement of our own runs.
    verdict
        violated: the worst case exceeds the bound, or a run the worst case. inconclusive: there is
        no worst case. tight: it is at least the case's share of the bound. holds: none of these.
    """

    case: str
    claim: str
    N: int
    worst: float
    bound: float
    ratio: float
    run: float
    verdict: str


def certify(
    names: Iterable[str] | None = None,
    *,
    horizons: Sequence[int] = (1, 2, 3, 4),
    instances: int = 10,
    seed: int = 0,
    cases: Sequence[Case] = CASES,
) -> list[Row]:
    """Compute the worst cases, and hold the bounds and our own runs to them.

    Parameters
    ----------
    names
        Names of cases; all if not given.
    horizons
        The N; those above a case's `most` are left out.
    instances
        Random members of the class on which the method runs, for each N.
    seed
        Seed of them.
    cases
        The cases to choose from.

    Returns
    -------
    list of Row
        One for each case and N.

    Raises
    ------
    InputError
        If a name is unknown, an N is not a positive integer, or PEPit, cvxpy or Clarabel is not
        installed.
    """
    known = {case.name: case for case in cases}
    chosen = list(known) if names is None else list(names)
    for name in chosen:
        if name not in known:
            raise unknown("case", name, known)
    horizons = [integer("a horizon", N, least=1) for N in horizons]
    integer("instances", instances, least=1)
    integer("seed", seed, least=0)
    check_installed()
    return [
        _row(known[name], N, instances, seed)
        for name in chosen
        for N in horizons
        if known[name].most >= N
    ]


def _row(case: Case, N: int, instances: int, seed: int) -> Row:
    worst, bound = case.worst(N), case.bound(N)
    streams = (np.random.default_rng((seed, N, k)) for k in range(instances))
    run = max(case.run(N, rng) for rng in streams)
    if math.isnan(worst):
        verdict = "inconclusive"
    elif worst > bound * (1.0 + TOLERANCE) or run > worst * (1.0 + TOLERANCE):
        verdict = "violated"
    else:
        verdict = "tight" if worst >= case.share * bound else "holds"
    return Row(case.name, case.claim, N, worst, bound, worst / bound, run, verdict)


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows as a table, one line each."""
    width = max((len(row.case) for row in rows), default=4)
    print(f"{'case':{width}}  N     worst     bound  ratio       run  verdict")
    for row in rows:
        print(
            f"{row.case:{width}}  {row.N}  {row.worst:8.5f}  {row.bound:8.5f}  {row.ratio:.3f}  "
            f"{row.run:8.5f}  {row.verdict}"
        )
