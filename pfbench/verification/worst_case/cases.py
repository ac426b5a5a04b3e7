"""Published bounds on N steps of a method, each with a function that computes the worst case."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pfbench.base.names import check_names
from pfbench.base.status import Verdict
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.statistics import Decision, combine_all
from pfbench.verification.statistics.decisions import grade_bound_that_holds
from pfbench.verification.trial import Trial
from pfbench.verification.worst_case import methods
from pfbench.verification.worst_case.estimation import TOLERANCE
from pfbench.verification.worst_case.methods import DELTA, DELTA_SLIDING, ETA, theorem_accuracy


@dataclass(frozen=True)
class WorstCase:
    """Check that a bound on N steps of a method is at least the computed worst case.

    Attributes
    ----------
    bound
        Function of N that returns the bound.
    compute
        Function of N that returns the computed worst case; NaN if the solver does not find it. Its
        second argument is the smoothness of f, which is 1 in the claim; a planted fault changes it.
    min_bound_share
        The worst case is at least this fraction of the bound for all N up to `max_steps`.
    quick_steps, max_steps
        Largest N of a quick and of a full verification, which take seconds and minutes.
    """

    bound: Callable[[int], float]
    compute: Callable[..., float]
    min_bound_share: float
    quick_steps: int = 4
    max_steps: int = 8

    def __call__(self, trial: Trial) -> Evidence:
        """Test the bound against the computed worst cases for N = 1, 2, ..."""
        last = trial.choose_by_effort(self.quick_steps, self.max_steps)
        parts = {f"N={N}": self.decide(N) for N in range(1, last + 1)}
        claimed = {f"N={N}: worst case": self.bound(N) for N in range(1, last + 1)}
        return Evidence(combine_all(parts), claimed, last)

    def decide(self, N: int) -> Decision:
        """Return the verdict on the bound for the worst case of N steps.

        *violated*: the worst case exceeds the bound. *inconclusive*: the solver finds no worst
        case. *within-10* or *attained*: the worst case is at least `min_bound_share` times the
        bound. *holds*: it is smaller than that.
        """
        worst, bound = self.compute(N), self.bound(N)
        measured = {"worst case": worst, "ratio": worst / bound}
        if math.isnan(worst):
            verdict, reason = Verdict.INCONCLUSIVE, "The solver finds no worst case."
        elif worst > bound * (1.0 + TOLERANCE):
            verdict, reason = Verdict.VIOLATED, "The worst case exceeds the bound."
        elif worst >= self.min_bound_share * bound:
            verdict = max(
                grade_bound_that_holds(worst / bound),
                Verdict.WITHIN_10,
                key=lambda verdict: verdict.rank_from_worst,
            )
            reason = f"The worst case is at least {self.min_bound_share:g} of the bound."
        else:
            verdict, reason = Verdict.HOLDS, "The worst case is at most the bound."
        return Decision(verdict, reason, measured, None)


# --- bounds, L = 1 --------------------------------------------------------------------------------


def min_gap_bound(N: int) -> float:
    """Return the bound of Lacoste-Julien 2016 on the smallest Frank-Wolfe gap of N iterates.

    It is sqrt(2 h0 C/N), (15) of the paper, or (6) if 2 h0 = C.
    """
    return math.sqrt(2.0 * DELTA / N)


def open_loop_bound(N: int) -> float:
    """Return the bound of theorem 1 of Jaggi 2013 on f(x_N) - min f.

    It is 2 C/(N+2).
    """
    return 2.0 / (N + 2.0)


def exact_mean_gap_bound(N: int) -> float:
    """Return a bound on the mean Frank-Wolfe gap of N steps of NFWU with exact gradients.

    It is 1.5 epsilon D, a sharp form of theorem 3.1 of shen2019, without the term of the gradient
    error.
    """
    return 1.5 * theorem_accuracy(N)


def inexact_mean_gap_bound(N: int) -> float:
    """Return a bound on the mean Frank-Wolfe gap of N steps of NFWU with inexact gradients.

    It is 2 epsilon D, in a sharp form of theorem 3.1 of shen2019.
    """
    return 2.0 * theorem_accuracy(N)


def min_gradient_mapping_bound(N: int) -> float:
    """Return a bound on the smallest squared gradient mapping of N proximal gradient steps.

    It is 2 L h0/N, from Ghadimi, Lan, Zhang 2016.
    """
    return 2.0 * DELTA / N


def sliding_bound(N: int) -> float:
    """Return the bound of theorem 1 of qu2018 on the mean squared gradient mapping, option I.

    It is (16 L Delta + 28 L)/(3N).
    """
    return (16.0 * DELTA_SLIDING + 28.0) / (3.0 * N)


def spiderboost_bound(N: int) -> float:
    """Return the bound of theorem 1 of wang2019 on the mean of E|grad f|^2 over N steps.

    It is 4 L Delta/N.
    """
    return 4.0 * DELTA / N


def prox_spiderboost_bound(N: int) -> float:
    """Return the bound of theorem 2 of wang2019 on the mean squared gradient mapping.

    It is 20 L Delta/N for N steps.
    """
    return 20.0 * DELTA / N


def saga_bound(N: int) -> float:
    """Return a published bound on the mean of E|grad f|^2 over N steps of SAGA, for n = 2.

    It is 3 L n^(2/3) h0/N. The source is Reddi, Sra, Poczos, Smola, CDC 2016. The bound does not
    hold for all N. If all f_i are equal, SAGA is gradient descent, which violates the bound from N
    = 8 on if n = 1. If n = 2, it violates the bound from N = 28 on.
    """
    return float(3.0 * 2.0 ** (2 / 3) * DELTA / N)


def svrg_error_bound(N: int) -> float:
    """Return the bound of shen2019, section 3.1, on the squared error of an SVRG estimate.

    It is L^2 (N eta)^2/S.
    """
    return (N * ETA) ** 2 / 2.0


def spider_error_bound(N: int) -> float:
    """Return the bound of shen2019, section 3.2, on the squared error of a SPIDER estimate.

    It is L^2 N eta^2/S.
    """
    return N * ETA**2


def mean_squared_table_age(N: int, n: int = 2, S: int = 1) -> float:
    """Return the mean squared age of an entry of SAGA's table N steps after it was filled.

    Each step but the last replaces an entry with probability q = 1 - (1 - 1/n)^S.
    """
    retained = (1.0 - 1.0 / n) ** S
    ages = [(1.0 - retained) * retained ** (a - 1) * a**2 for a in range(1, N)]
    return sum(ages) + retained ** (N - 1) * N**2


def saga_error_bound(N: int) -> float:
    """Return a bound on the squared error of a SAGA estimate N steps after the table is filled.

    It is L^2 eta^2 E a^2/S, where a is the age of an entry. It holds since a variance is at most a
    mean square.
    """
    return ETA**2 * mean_squared_table_age(N)


# --- the cases ------------------------------------------------------------------------------------


def _case(
    name: str,
    statement: str,
    source: str,
    bound: Callable[[int], float],
    compute: Callable[..., float],
    share: float,
    takes: tuple[float, float] = (2.0, 3.0),
    **steps: int,
) -> Claim:
    return Claim(
        name=name,
        source=source,
        kind="computed",
        statement=statement,
        check=WorstCase(bound, compute, share, **steps),
        schedule="of its theorem, for each N",
        expected_seconds=takes,
    )


WORST_CASES: tuple[Claim, ...] = (
    _case(
        "frank-wolfe-gap",
        "Frank-Wolfe, step sqrt(2 h0/(C N)), f smooth: "
        "least gap at x_0 .. x_{N-1} <= sqrt(2 h0 C/N)",
        "lacoste2016 (15), and (6), the same for 2 h0 = C",
        *(min_gap_bound, methods.frank_wolfe_gap, 0.75),
    ),
    _case(
        "frank-wolfe-open-loop",
        "Frank-Wolfe, step 2/(t+2), f smooth and convex: f(x_N) - min f <= 2 C/(N+2)",
        "Jaggi 2013 theorem 1",
        *(open_loop_bound, methods.frank_wolfe_open_loop, 0.47),
    ),
    _case(
        "nfwu-exact",
        "NFWU, exact gradients, N = L Delta/epsilon^2: mean gap at x_0 .. x_{N-1} <= 1.5 epsilon D",
        "shen2019 theorem 3.1, sharp form without its error term",
        *(exact_mean_gap_bound, methods.nfwu_exact, 0.89),
    ),
    _case(
        "nfwu-inexact",
        "NFWU, gradients within epsilon/2, N = L Delta/epsilon^2: "
        "mean gap at x_0 .. x_{N-1} <= 2 epsilon D",
        "shen2019 theorem 3.1, sharp form",
        *(inexact_mean_gap_bound, methods.nfwu_inexact, 0.92),
        takes=(2.0, 5.0),
    ),
    _case(
        "gradient-descent",
        "gradient descent, step 1/L, f smooth: least |grad f|^2 at x_0 .. x_{N-1} <= 2 L h0/N",
        "Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping",
        *(min_gradient_mapping_bound, methods.gradient_descent, 0.66),
        takes=(2.0, 2.0),
    ),
    _case(
        "prox-gd",
        "proximal gradient, step 1/L, f smooth, h convex: least |G_{1/L}|^2 <= 2 L h0/N",
        "Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping",
        *(min_gradient_mapping_bound, methods.prox_gd, 0.66),
    ),
    _case(
        "ncgs",
        "NCGS, option I, as projected gradient with inner gap 1/N, f smooth: "
        "mean |G|^2 <= (16 L Delta + 28 L)/(3N)",
        "qu2018 theorem 1, option I",
        *(sliding_bound, methods.ncgs, 0.48),
        takes=(2.0, 4.0),
    ),
    _case(
        "spiderboost",
        "SpiderBoost, n = 2 smooth components, S = 1, q = 2: mean E|grad f|^2 <= 4 L Delta/N",
        "wang2019 theorem 1",
        *(spiderboost_bound, methods.spiderboost, 0.49),
        takes=(2.0, 20.0),
        max_steps=7,
    ),
    _case(
        "prox-spiderboost",
        "Prox-SpiderBoost, n = 2 smooth components, h convex, S = 1, q = 2: "
        "mean E|G_eta|^2 <= 20 L Delta/N",
        "wang2019 theorem 2",
        *(prox_spiderboost_bound, methods.prox_spiderboost, 0.13),
        takes=(4.0, 10.0),
        max_steps=5,
    ),
    _case(
        "saga",
        "SAGA, n = 2 smooth components, b = 1: mean E|grad f|^2 <= 3 L n^(2/3) h0/N",
        "Reddi, Sra, Poczos, Smola, CDC 2016",
        *(saga_bound, methods.saga, 0.41),
        takes=(3.0, 200.0),
        quick_steps=3,
        max_steps=4,
    ),
    _case(
        "svrg-error",
        "SVRG, N steps of length eta from the snapshot, n = 3, S = 2: "
        "E|g - grad f|^2 <= L^2 (N eta)^2/S",
        "shen2019 section 3.1",
        *(svrg_error_bound, methods.svrg_error, 0.999),
        takes=(2.0, 2.0),
    ),
    _case(
        "spider-error",
        "SPIDER, N steps of length eta that follow the draws, n = 2, S = 1: "
        "E|g - grad f|^2 <= L^2 N eta^2/S",
        "shen2019 section 3.2",
        *(spider_error_bound, methods.spider_error, 0.999),
        takes=(4.0, 30.0),
        max_steps=5,
    ),
    _case(
        "saga-error",
        "SAGA, N steps of length eta on a fixed path, n = 2, S = 1: "
        "E|g - grad f|^2 <= L^2 eta^2 E a^2/S, a the age of an entry",
        "a variance is at most a mean square",
        *(saga_error_bound, methods.saga_squared_error, 0.75),
    ),
)
"""All cases. Steps that depend on products of unknowns (line search, g/C) and Hessians (CASVRG,
CASPIDERG) cannot be expressed."""


def select_cases(names: Iterable[str] = ()) -> list[Claim]:
    """Return the worst-case checks with the given names, or all of them if no name is given.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    claims = {case.name: case for case in WORST_CASES}
    check_names("worst case", names, claims)
    return [claims[name] for name in dict.fromkeys(names)] or list(WORST_CASES)
