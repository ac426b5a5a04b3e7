"""The cases: what is computed for a bound, and how near to the bound it must come.

Each worst case is that of the catalogue's own method, run on unknowns with the parameters of its
theorem for L = 1. The least value of f (or of f + h) is constrained at the points visited alone,
where that is weaker than on the whole set: what is computed is then at least the worst case, never
below it.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.algorithms.proximal import ProxGD, ProxSpiderBoost, SmoothSAGA, SpiderBoost
from pfbench.algorithms.sliding import NCGS
from pfbench.base.names import check_names
from pfbench.base.state import State
from pfbench.base.verdicts import Verdict
from pfbench.estimators import SAGA, SPIDERG, SVRG, Estimator
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.instruments.enumerated_random import EnumerableGenerator, ReplayGenerator
from pfbench.verification.statistics import Decision, combine_all
from pfbench.verification.statistics.decisions import decide_kept_bound
from pfbench.verification.trial import Trial
from pfbench.verification.worst_case.custom import FunctionClass, WorstCaseProgram
from pfbench.verification.worst_case.estimation import TOLERANCE
from pfbench.verification.worst_case.recording import RecordingOptions, record_method

DELTA = 0.5
"""h0 = Delta, the height of the start over the least value."""

DELTA_SLIDING = 10.0
"""The same for conditional gradient sliding, whose bound hides it if it is small."""

ETA = 1.0
"""Longest step of the paths on which estimators are tested."""


@dataclass(frozen=True)
class WorstCase:
    """The check of a bound on N steps of one method, over a class of problems.

    Attributes
    ----------
    bound
        N -> the bound.
    compute
        N -> the computed worst case; NaN if the solver does not find it. A second argument is the
        smoothness of f, 1 in the claim: another one is a planted fault.
    share
        The worst case is at least this part of the bound for all N up to `max_steps`.
    quick_steps, max_steps
        Largest N of a quick and of a full verification: the programs take seconds, and minutes.
    """

    bound: Callable[[int], float]
    compute: Callable[..., float]
    share: float
    quick_steps: int = 4
    max_steps: int = 8

    def __call__(self, trial: Trial) -> Evidence:
        """Compute the worst cases, and hold the bound to them."""
        last = trial.choose_by_effort(self.quick_steps, self.max_steps)
        parts = {f"N={N}": self.decide(N) for N in range(1, last + 1)}
        claimed = {f"N={N}: worst case": self.bound(N) for N in range(1, last + 1)}
        return Evidence(combine_all(parts), claimed, last)

    def decide(self, N: int) -> Decision:
        """Decide one N.

        *violated*: the worst case exceeds the bound. *inconclusive*: there is no worst case.
        *within-10*, *attained*: it is at least the case's share of the bound.
        """
        worst, bound = self.compute(N), self.bound(N)
        measured = {"worst case": worst, "ratio": worst / bound}
        if math.isnan(worst):
            verdict, reason = Verdict.INCONCLUSIVE, "The solver finds no worst case."
        elif worst > bound * (1.0 + TOLERANCE):
            verdict, reason = Verdict.VIOLATED, "The worst case exceeds the bound."
        elif worst >= self.share * bound:
            verdict = max(
                decide_kept_bound(worst / bound),
                Verdict.WITHIN_10,
                key=lambda verdict: verdict.rank,
            )
            reason = f"The worst case is at least {self.share:g} of the bound."
        else:
            verdict, reason = Verdict.HOLDS, "The worst case is at most the bound."
        return Decision(verdict, reason, measured, None)


# --- what is computed -----------------------------------------------------------------------------


def _solve(
    method: Any,
    function_class: FunctionClass,
    over: str,
    quantity: str = "",
    has_set: bool = False,
    **options: Any,
) -> float:
    recording = record_method(method, function_class.n, None, RecordingOptions(**options))
    has_penalty = bool(options.get("has_prox")) and not has_set
    return WorstCaseProgram(recording, function_class, has_set, has_penalty).solve(quantity, over)


def _gaps(N: int, step: float, L: float, over: str) -> float:
    """Return the worst gap of Frank-Wolfe with a constant step, as NFWU with exact gradients."""
    method = NFWUSPIDERG(iterations=N, step=step, batch=1, period=1)
    return _solve(method, FunctionClass(L=L, delta=DELTA), over, "fw_gap", has_set=True)


def constant_step(N: int) -> float:
    """Return sqrt(2 h0/(C N)), the step that is best for N gaps, C = L D^2 = 1."""
    return math.sqrt(2.0 * DELTA / N)


def theorem_accuracy(N: int) -> float:
    """Return the epsilon for which N = L Delta/epsilon^2, L = 1 (shen2019 theorem 3.1)."""
    return math.sqrt(DELTA / N)


def frank_wolfe_gap(N: int, L: float = 1.0) -> float:
    """Return the worst least gap at x_0 .. x_{N-1} of Frank-Wolfe with a constant step."""
    return _gaps(N, constant_step(N), L, "least")


def nfwu_exact(N: int, L: float = 1.0) -> float:
    """Return the worst mean gap of NFWU with exact gradients, step eta/D = epsilon/(L D)."""
    return _gaps(N, theorem_accuracy(N), L, "mean")


def nfwu_inexact(N: int, L: float = 1.0) -> float:
    """Return the same with gradients that err by epsilon/2 at most, so that (9) holds."""
    epsilon = theorem_accuracy(N)
    method = NFWUSG(iterations=N, step=epsilon, batch=1)
    inner = FunctionClass(L=L, delta=DELTA)
    return _solve(method, inner, "mean", "fw_gap", has_set=True, error=epsilon / 2.0)


def frank_wolfe_open_loop(N: int, L: float = 1.0) -> float:
    """Return the worst f(x_N) - min f of Frank-Wolfe with step 2/(t+2), f convex."""
    method = FrankWolfe(step="open-loop", iterations=N)
    inner = FunctionClass(L=L, convex=True, delta=math.inf)
    return _solve(method, inner, "last", "suboptimality", has_set=True)


def gradient_descent(N: int, L: float = 1.0) -> float:
    """Return the worst least |grad f|^2 at x_0 .. x_{N-1} of gradient descent with step 1/L."""
    inner = FunctionClass(L=L, delta=DELTA)
    return _solve(ProxGD(iterations=N, step=1.0), inner, "least", "gradient_mapping_sq")


def _measure_mapping(ask: Any, states: list[State], lam: float) -> Iterator[Any]:
    """Yield the gradient mappings at x_0 .. x_{N-1}."""
    for x in (ask.start(), *(state.x for state in states[:-1])):
        yield (x - ask.prox(x, ask.gradient(x), lam)) / lam


def prox_gd(N: int, L: float = 1.0) -> float:
    """Return the worst least |G_{1/L}|^2 at x_0 .. x_{N-1} of proximal gradient descent."""
    measure = partial(_measure_mapping, lam=1.0)
    method, inner = ProxGD(iterations=N, step=1.0), FunctionClass(L=L, delta=DELTA)
    return _solve(method, inner, "least", has_prox=True, measure=measure)


class NearNCGS(NCGS):
    """NCGS whose condg returns any point within the gap."""

    @staticmethod
    def condg(ask: Any, l: Any, u: Any, lam: float, eta: float) -> Any:  # noqa: E741
        """Return a point of the set where the gap is at most eta."""
        return ask.near_prox(u, l, lam, eta)


def ncgs(N: int, L: float = 1.0) -> float:
    """Return the worst mean |G_lambda|^2 of NCGS, option I, lambda = 1/(2L), eta = 1/N.

    The option is inexact projected gradient.
    """
    # In units of Delta, which the solver needs: f/Delta, x/sqrt(Delta), eta/Delta.
    method = NearNCGS(iterations=N, smoothness=1.0, tolerance=1.0 / (N * DELTA_SLIDING))
    inner = FunctionClass(L=L, D=math.inf, delta=1.0)
    measure = partial(_measure_mapping, lam=0.5)
    return DELTA_SLIDING * _solve(
        method, inner, "mean", has_set=True, has_prox=True, measure=measure
    )


def spiderboost(N: int, L: float = 1.0) -> float:
    """Return the worst mean E|grad f|^2 of SpiderBoost, n = 2, S = 1, q = 2, step 1/(2L)."""
    method = SpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    return _solve(method, FunctionClass(n=2, L=L, delta=DELTA), "mean", "gradient_mapping_sq")


def prox_spiderboost(N: int, L: float = 1.0) -> float:
    """Return the worst mean E|G_eta|^2 of Prox-SpiderBoost with the same parameters."""
    method = ProxSpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    inner, measure = FunctionClass(n=2, L=L, delta=DELTA), partial(_measure_mapping, lam=0.5)
    return _solve(method, inner, "mean", has_prox=True, measure=measure)


def saga_step(n: int) -> float:
    """Return 1/(3 L n^{2/3}), the step of saga for b = 1, L = 1."""
    return 1.0 / (3.0 * math.cbrt(n * n))


def saga(N: int, L: float = 1.0, n: int = 2) -> float:
    """Return the worst mean E|grad f|^2 of SAGA, b = 1, step 1/(3 L n^{2/3})."""
    method = SmoothSAGA(iterations=N, step=saga_step(n), batch=1)
    return _solve(method, FunctionClass(n=n, L=L, delta=DELTA), "mean", "gradient_mapping_sq")


# --- estimators along a path of steps of length eta at most ---------------------------------------


@dataclass(frozen=True)
class EstimatedPath:
    """An estimator along a path of steps up to given lengths, which may follow the draws."""

    estimator: Estimator
    lengths: tuple[float, ...]
    follows_draws: bool = False

    requires = frozenset({"gradient", "difference", "table"})

    def run(self, ask: Any, x: Any, rng: Any) -> Iterator[State]:
        """Yield each point with its estimate."""
        estimate = self.estimator.start(ask, rng)
        g = estimate(x)
        for t, length in enumerate(self.lengths):
            x = x + ask.short_vector(length, t, *((x, g) if self.follows_draws else ()))
            g = estimate(x)
            yield State(x, x, g)


def _measure_error(ask: Any, states: list[State]) -> Iterator[Any]:
    """Yield the error of the last estimate."""
    yield states[-1].estimate - ask.gradient(states[-1].at)


def _error(path: EstimatedPath, n: int, L: float, **options: Any) -> float:
    inner = FunctionClass(n=n, L=L, delta=math.inf)
    return _solve(path, inner, "mean", measure=_measure_error, max_answers=200, **options)


def svrg_error(N: int, L: float = 1.0) -> float:
    """Return the worst E|g - grad f|^2 of SVRG after N steps, n = 3, S = 2."""
    return _error(EstimatedPath(SVRG(2, 2), (N * ETA,)), 3, L)


def spider_error(N: int, L: float = 1.0) -> float:
    """Return the worst E|g - grad f|^2 of SPIDER after N steps that may follow the draws, S = 1."""
    return _error(EstimatedPath(SPIDERG(1, N + 1), (ETA,) * N, follows_draws=True), 2, L)


def saga_error(N: int, L: float = 1.0) -> float:
    """Return the worst E|g - grad f|^2 of SAGA, N steps after its table was filled, n = 2, S = 1.

    The path is fixed in advance.
    """
    return _error(EstimatedPath(SAGA(1), (ETA,) * N), 2, L, streams=partial(_saga_streams, N))


def _saga_streams(N: int) -> Iterator[EnumerableGenerator]:
    """Yield the draws I, J, I, J, ...: the J between the ends, and the last I, change something."""
    for combination in product(range(2), repeat=N):
        script = np.zeros(2 * N + 2, dtype=np.int64)
        script[[*range(3, 2 * N, 2), 2 * N]] = combination
        yield ReplayGenerator(script, 2)


# --- bounds, L = 1 --------------------------------------------------------------------------------


def min_gap_bound(N: int) -> float:
    """Return sqrt(2 h0 C/N) (lacoste2016 (15), and (6) for 2 h0 = C)."""
    return math.sqrt(2.0 * DELTA / N)


def open_loop_bound(N: int) -> float:
    """Return 2 C/(N+2) (Jaggi 2013 theorem 1)."""
    return 2.0 / (N + 2.0)


def exact_mean_gap_bound(N: int) -> float:
    """Return 1.5 epsilon D, the sharp form of shen2019 theorem 3.1 without its error term."""
    return 1.5 * theorem_accuracy(N)


def inexact_mean_gap_bound(N: int) -> float:
    """Return 2 epsilon D, the sharp form of shen2019 theorem 3.1."""
    return 2.0 * theorem_accuracy(N)


def min_mapping_bound(N: int) -> float:
    """Return 2 L h0/N (Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping)."""
    return 2.0 * DELTA / N


def sliding_bound(N: int) -> float:
    """Return (16 L Delta + 28 L)/(3N) (qu2018 theorem 1, option I, the mean)."""
    return (16.0 * DELTA_SLIDING + 28.0) / (3.0 * N)


def spiderboost_bound(N: int) -> float:
    """Return 4 L Delta/N (wang2019 theorem 1)."""
    return 4.0 * DELTA / N


def prox_spiderboost_bound(N: int) -> float:
    """Return 20 L Delta/N (wang2019 theorem 2)."""
    return 20.0 * DELTA / N


def saga_bound(N: int) -> float:
    """Return 3 L n^(2/3) h0/N for n = 2 (Reddi, Sra, Poczos, Smola, CDC 2016).

    It does not hold for all N: gradient descent, which SAGA is where all f_i are equal, breaks it
    from N = 8 on if n = 1, and from N = 28 on if n = 2.
    """
    return float(3.0 * 2.0 ** (2 / 3) * DELTA / N)


def svrg_error_bound(N: int) -> float:
    """Return L^2 (N eta)^2/S (shen2019 section 3.1)."""
    return (N * ETA) ** 2 / 2.0


def spider_error_bound(N: int) -> float:
    """Return L^2 N eta^2/S (shen2019 section 3.2)."""
    return N * ETA**2


def mean_squared_table_age(N: int, n: int = 2, S: int = 1) -> float:
    """Return E a^2, where a is the age of an entry of SAGA's table, N steps after it was filled.

    Each step but the last replaces an entry with probability q = 1 - (1 - 1/n)^S.
    """
    retained = (1.0 - 1.0 / n) ** S
    ages = [(1.0 - retained) * retained ** (a - 1) * a**2 for a in range(1, N)]
    return sum(ages) + retained ** (N - 1) * N**2


def saga_error_bound(N: int) -> float:
    """Return L^2 eta^2 E a^2/S, a the age of an entry: a variance is at most a mean square."""
    return ETA**2 * mean_squared_table_age(N)


# --- the cases ------------------------------------------------------------------------------------


def _case(
    name: str,
    statement: str,
    source: str,
    check: WorstCase,
    takes: tuple[float, float] = (2.0, 3.0),
) -> Claim:
    return Claim(
        name=name,
        source=source,
        kind="computed",
        statement=statement,
        check=check,
        schedule="of its theorem, for each N",
        expected_seconds=takes,
    )


WORST_CASES: tuple[Claim, ...] = (
    _case(
        "frank-wolfe-gap",
        "Frank-Wolfe, step sqrt(2 h0/(C N)), f smooth: "
        "least gap at x_0 .. x_{N-1} <= sqrt(2 h0 C/N)",
        "lacoste2016 (15), and (6), the same for 2 h0 = C",
        WorstCase(min_gap_bound, frank_wolfe_gap, share=0.75),
    ),
    _case(
        "frank-wolfe-open-loop",
        "Frank-Wolfe, step 2/(t+2), f smooth and convex: f(x_N) - min f <= 2 C/(N+2)",
        "Jaggi 2013 theorem 1",
        WorstCase(open_loop_bound, frank_wolfe_open_loop, share=0.47),
    ),
    _case(
        "nfwu-exact",
        "NFWU, exact gradients, N = L Delta/epsilon^2: mean gap at x_0 .. x_{N-1} <= 1.5 epsilon D",
        "shen2019 theorem 3.1, sharp form without its error term",
        WorstCase(exact_mean_gap_bound, nfwu_exact, share=0.89),
    ),
    _case(
        "nfwu-inexact",
        "NFWU, gradients within epsilon/2, N = L Delta/epsilon^2: "
        "mean gap at x_0 .. x_{N-1} <= 2 epsilon D",
        "shen2019 theorem 3.1, sharp form",
        WorstCase(inexact_mean_gap_bound, nfwu_inexact, share=0.92),
        takes=(2.0, 5.0),
    ),
    _case(
        "gradient-descent",
        "gradient descent, step 1/L, f smooth: least |grad f|^2 at x_0 .. x_{N-1} <= 2 L h0/N",
        "Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping",
        WorstCase(min_mapping_bound, gradient_descent, share=0.66),
        takes=(2.0, 2.0),
    ),
    _case(
        "prox-gd",
        "proximal gradient, step 1/L, f smooth, h convex: least |G_{1/L}|^2 <= 2 L h0/N",
        "Ghadimi, Lan, Zhang 2016; lacoste2016, on the gradient mapping",
        WorstCase(min_mapping_bound, prox_gd, share=0.66),
    ),
    _case(
        "ncgs",
        "NCGS, option I, as projected gradient with inner gap 1/N, f smooth: "
        "mean |G|^2 <= (16 L Delta + 28 L)/(3N)",
        "qu2018 theorem 1, option I",
        WorstCase(sliding_bound, ncgs, share=0.48),
        takes=(2.0, 4.0),
    ),
    _case(
        "spiderboost",
        "SpiderBoost, n = 2 smooth components, S = 1, q = 2: mean E|grad f|^2 <= 4 L Delta/N",
        "wang2019 theorem 1",
        WorstCase(spiderboost_bound, spiderboost, share=0.49, max_steps=7),
        takes=(2.0, 20.0),
    ),
    _case(
        "prox-spiderboost",
        "Prox-SpiderBoost, n = 2 smooth components, h convex, S = 1, q = 2: "
        "mean E|G_eta|^2 <= 20 L Delta/N",
        "wang2019 theorem 2",
        WorstCase(prox_spiderboost_bound, prox_spiderboost, share=0.13, max_steps=5),
        takes=(4.0, 10.0),
    ),
    _case(
        "saga",
        "SAGA, n = 2 smooth components, b = 1: mean E|grad f|^2 <= 3 L n^(2/3) h0/N",
        "Reddi, Sra, Poczos, Smola, CDC 2016",
        WorstCase(saga_bound, saga, share=0.41, quick_steps=3, max_steps=4),
        takes=(3.0, 200.0),
    ),
    _case(
        "svrg-error",
        "SVRG, N steps of length eta from the snapshot, n = 3, S = 2: "
        "E|g - grad f|^2 <= L^2 (N eta)^2/S",
        "shen2019 section 3.1",
        WorstCase(svrg_error_bound, svrg_error, share=0.999),
        takes=(2.0, 2.0),
    ),
    _case(
        "spider-error",
        "SPIDER, N steps of length eta that follow the draws, n = 2, S = 1: "
        "E|g - grad f|^2 <= L^2 N eta^2/S",
        "shen2019 section 3.2",
        WorstCase(spider_error_bound, spider_error, share=0.999, max_steps=5),
        takes=(4.0, 30.0),
    ),
    _case(
        "saga-error",
        "SAGA, N steps of length eta on a fixed path, n = 2, S = 1: "
        "E|g - grad f|^2 <= L^2 eta^2 E a^2/S, a the age of an entry",
        "a variance is at most a mean square",
        WorstCase(saga_error_bound, saga_error, share=0.75),
    ),
)
"""Every case. Steps that depend on products of unknowns (line search, g/C) and Hessians (CASVRG,
CASPIDERG) cannot be expressed."""


def select_cases(names: Iterable[str] = ()) -> list[Claim]:
    """Return the named cases; all if none is named.

    Raises
    ------
    InputError
        If a name is unknown (the nearest is suggested).
    """
    claims = {case.name: case for case in WORST_CASES}
    check_names("worst case", names, claims)
    return [claims[name] for name in dict.fromkeys(names)] or list(WORST_CASES)
