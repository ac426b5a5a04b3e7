"""Worst cases of built-in methods, for N steps with the parameters of their theorems, and bounds.

Every function takes the number of steps N and the smoothness L of f. The methods' parameters are
those for L = 1, so another L is a planted fault. The methods and estimators themselves run on
symbolic vectors. The minimum of f (or f + h) is constrained only at visited points, which may be
weaker than on the whole set. The computed value is then an upper bound of the worst case.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.algorithms.proximal import ProxGD, ProxSpiderBoost, SmoothSAGA, SpiderBoost
from pfbench.algorithms.sliding import NCGS
from pfbench.base.state import State
from pfbench.estimators.base import Estimator
from pfbench.estimators.epochs import SPIDERG, SVRG
from pfbench.estimators.gradient_tables import SAGA
from pfbench.verification.worst_case.custom import FunctionClass, WorstCaseProgram
from pfbench.verification.worst_case.recording import RecordingOptions, record_method

DELTA = 0.5
"""h0 = Delta, the value of f at the start above its minimum."""

DELTA_SLIDING = 10.0
"""Delta for conditional gradient sliding, large enough to matter in its bound."""

ETA = 1.0
"""Length of the steps of the paths on which estimators are tested."""


def _solve(
    method: Any,
    function_class: FunctionClass,
    statistic: str,
    quantity: str = "",
    has_set: bool = False,
    **options: Any,
) -> float:
    recording = record_method(method, function_class.n, None, RecordingOptions(**options))
    has_penalty = bool(options.get("has_prox")) and not has_set
    return WorstCaseProgram(recording, function_class, has_set, has_penalty).solve(
        quantity, statistic
    )


def _solve_worst_gap(N: int, step: float, L: float, statistic: str) -> float:
    """Return the worst case of the smallest or mean Frank-Wolfe gap of N steps of equal size.

    The statistic `statistic` selects the smallest or the mean gap.
    """
    method = NFWUSPIDERG(iterations=N, step=step, batch=1, period=1)
    return _solve(method, FunctionClass(L=L, delta=DELTA), statistic, "fw_gap", has_set=True)


def best_frank_wolfe_step(N: int) -> float:
    """Return the constant step size with the best bound on the Frank-Wolfe gaps of N steps.

    It is sqrt(2 h0/(C N)) if C = L D^2 = 1.
    """
    return math.sqrt(2.0 * DELTA / N)


def theorem_accuracy(N: int) -> float:
    """Return the accuracy epsilon for which theorem 3.1 of shen2019 prescribes N steps, for L = 1.

    It satisfies L Delta/epsilon^2 = N.
    """
    return math.sqrt(DELTA / N)


def frank_wolfe_gap(N: int, L: float = 1.0) -> float:
    """Return the worst case of the smallest gap in N Frank-Wolfe steps of constant size."""
    return _solve_worst_gap(N, best_frank_wolfe_step(N), L, "least")


def nfwu_exact(N: int, L: float = 1.0) -> float:
    """Return the worst mean gap of N steps of NFWU with exact gradients and the theorem's step."""
    return _solve_worst_gap(N, theorem_accuracy(N), L, "mean")


def nfwu_inexact(N: int, L: float = 1.0) -> float:
    """Return the worst mean gap of N NFWU steps with gradient errors of at most half the accuracy.

    Condition (9) of shen2019 bounds the errors.
    """
    epsilon = theorem_accuracy(N)
    method = NFWUSG(iterations=N, step=epsilon, batch=1)
    inner = FunctionClass(L=L, delta=DELTA)
    return _solve(method, inner, "mean", "fw_gap", has_set=True, error=epsilon / 2.0)


def frank_wolfe_open_loop(N: int, L: float = 1.0) -> float:
    """Return the worst f(x_N) - min f after N Frank-Wolfe steps of sizes 2/(t+2), for convex f."""
    method = FrankWolfe(step="open-loop", iterations=N)
    inner = FunctionClass(L=L, convex=True, delta=math.inf)
    return _solve(method, inner, "last", "suboptimality", has_set=True)


def gradient_descent(N: int, L: float = 1.0) -> float:
    """Return the worst case of the smallest squared gradient norm of N gradient steps."""
    inner = FunctionClass(L=L, delta=DELTA)
    return _solve(ProxGD(iterations=N, step=1.0), inner, "least", "gradient_mapping_sq")


def _gradient_mappings_before_last(ask: Any, states: list[State], lam: float) -> Iterator[Any]:
    """Yield the gradient mapping with step lam at each iterate but the last."""
    for x in (ask.start(), *(state.x for state in states[:-1])):
        yield (x - ask.prox(x, ask.gradient(x), lam)) / lam


def prox_gd(N: int, L: float = 1.0) -> float:
    """Return the worst case of the smallest squared gradient mapping norm of N proximal steps.

    It is that of min over t < N of |G_{1/L}(x_t)|^2 for proximal gradient descent.
    """
    measure = partial(_gradient_mappings_before_last, lam=1.0)
    method, inner = ProxGD(iterations=N, step=1.0), FunctionClass(L=L, delta=DELTA)
    return _solve(method, inner, "least", has_prox=True, measure=measure)


class InexactNCGS(NCGS):
    """NCGS whose inner loop `condg` may return any point with a Frank-Wolfe gap of at most eta."""

    @staticmethod
    def condg(ask: Any, l: Any, u: Any, lam: float, eta: float) -> Any:  # noqa: E741
        """Return a symbolic point of the set at which the Frank-Wolfe gap is at most eta."""
        return ask.approximate_prox(u, l, lam, eta)


def ncgs(N: int, L: float = 1.0) -> float:
    """Return the worst mean squared gradient mapping of N steps of NCGS with option I.

    The mapping is G_lambda. Option I is an inexact projected gradient method. The parameters are
    lambda = 1/(2L) and eta = 1/N.
    """
    # In units of Delta, which the solver needs: f/Delta, x/sqrt(Delta), eta/Delta.
    method = InexactNCGS(iterations=N, smoothness=1.0, tolerance=1.0 / (N * DELTA_SLIDING))
    inner = FunctionClass(L=L, D=math.inf, delta=1.0)
    measure = partial(_gradient_mappings_before_last, lam=0.5)
    return DELTA_SLIDING * _solve(
        method, inner, "mean", has_set=True, has_prox=True, measure=measure
    )


def spiderboost(N: int, L: float = 1.0) -> float:
    """Return the worst mean of E|grad f|^2 over N steps of SpiderBoost with step 1/(2L).

    There are n = 2 components, batches of S = 1, and epochs of q = 2 steps.
    """
    method = SpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    return _solve(method, FunctionClass(n=2, L=L, delta=DELTA), "mean", "gradient_mapping_sq")


def prox_spiderboost(N: int, L: float = 1.0) -> float:
    """Return the worst mean squared gradient mapping of N steps of Prox-SpiderBoost.

    The mapping is G_eta, with the step eta = 1/(2L). There are n = 2 components, batches of S = 1,
    and epochs of q = 2 steps.
    """
    method = ProxSpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    inner = FunctionClass(n=2, L=L, delta=DELTA)
    measure = partial(_gradient_mappings_before_last, lam=0.5)
    return _solve(method, inner, "mean", has_prox=True, measure=measure)


def saga_step(n: int) -> float:
    """Return 1/(3 L n^{2/3}), the step size of SAGA for batches of one component and L = 1."""
    return 1.0 / (3.0 * math.cbrt(n * n))


def saga(N: int, L: float = 1.0, n: int = 2) -> float:
    """Return the worst mean of E|grad f|^2 over N SAGA steps with batches of one component."""
    method = SmoothSAGA(iterations=N, step=saga_step(n), batch=1)
    return _solve(method, FunctionClass(n=n, L=L, delta=DELTA), "mean", "gradient_mapping_sq")


# --- estimators along a path of steps of length eta at most ---------------------------------------


@dataclass(frozen=True)
class EstimatedPath:
    """Method that moves along a path with steps of bounded length, and estimates gradients.

    The steps are unknown, and may depend on the draws if `follows_draws`.
    """

    estimator: Estimator
    lengths: tuple[float, ...]
    follows_draws: bool = False

    requires = frozenset({"gradient", "difference", "table"})

    def run(self, ask: Any, x: Any, rng: Any) -> Iterator[State]:
        """Yield each point of the path with the gradient estimate there."""
        estimate = self.estimator.start(ask, rng)
        g = estimate(x)
        for t, length in enumerate(self.lengths):
            x = x + ask.free_vector_within_bound(length, t, *((x, g) if self.follows_draws else ()))
            g = estimate(x)
            yield State(x, x, g)


def _error_vector_of_last_estimate(ask: Any, states: list[State]) -> Iterator[Any]:
    """Yield the error g - grad f(x) of the last gradient estimate g."""
    yield states[-1].estimate - ask.gradient(states[-1].at)


def _error(path: EstimatedPath, n: int, L: float, **options: Any) -> float:
    inner = FunctionClass(n=n, L=L, delta=math.inf)
    return _solve(
        path, inner, "mean", measure=_error_vector_of_last_estimate, max_answers=200, **options
    )


def svrg_error(N: int, L: float = 1.0) -> float:
    """Return the worst squared error of an SVRG estimate, N steps away from its snapshot.

    The distance from the snapshot is N eta. There are n = 3 components, and batches of S = 2.
    """
    return _error(EstimatedPath(SVRG(2, 2), (N * ETA,)), 3, L)


def spider_error(N: int, L: float = 1.0) -> float:
    """Return the worst squared error of a SPIDER estimate, N steps after its reference point.

    The error is E|g - grad f|^2, for batches of S = 1.

    The steps may depend on the draws.
    """
    return _error(EstimatedPath(SPIDERG(1, N + 1), (ETA,) * N, follows_draws=True), 2, L)


def saga_squared_error(N: int, L: float = 1.0) -> float:
    """Return the worst squared error of a SAGA estimate, N steps after its table is filled.

    The error is E|g - grad f|^2, for n = 2 components and batches of S = 1.

    The path does not depend on the draws.
    """
    return _error(EstimatedPath(SAGAOfRelevantDraws(1, N), (ETA,) * N), 2, L)


@dataclass(frozen=True)
class SAGAOfRelevantDraws(SAGA):
    """SAGA whose draws are 0 if they have no effect on the error of the estimate after N steps.

    SAGA draws I, J, I, J, ... The error depends on all J but the first and the last, and on the
    last I.
    """

    N: int = 1

    def start(self, ask: Any, rng: Any) -> Any:
        """Return a function that returns an estimate at each point; only relevant draws vary."""
        numbers = count()

        def integers(n: int, size: int) -> Any:
            number = next(numbers)
            is_relevant = number in range(3, 2 * self.N, 2) or number == 2 * self.N
            return rng.integers(n, size=size) if is_relevant else np.zeros(size, dtype=np.int64)

        relevant: Any = SimpleNamespace(integers=integers)
        return super().start(ask, relevant)


# --- bounds ---------------------------------------------------------------------------------------


def mean_squared_table_age(N: int, n: int = 2, S: int = 1) -> float:
    """Return the mean squared age of an entry of SAGA's table, N steps after the table was filled.

    Each step but the last replaces an entry with probability q = 1 - (1 - 1/n)^S.
    """
    retained = (1.0 - 1.0 / n) ** S
    ages = [(1.0 - retained) * retained ** (a - 1) * a**2 for a in range(1, N)]
    return sum(ages) + retained ** (N - 1) * N**2


_BOUNDS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "frank-wolfe-gap": lambda N: math.sqrt(2.0 * DELTA / N),
        "frank-wolfe-open-loop": lambda N: 2.0 / (N + 2.0),
        "nfwu-exact": lambda N: 1.5 * theorem_accuracy(N),
        "nfwu-inexact": lambda N: 2.0 * theorem_accuracy(N),
        "gradient-descent": lambda N: 2.0 * DELTA / N,
        "prox-gd": lambda N: 2.0 * DELTA / N,
        "ncgs": lambda N: (16.0 * DELTA_SLIDING + 28.0) / (3.0 * N),
        "spiderboost": lambda N: 4.0 * DELTA / N,
        "prox-spiderboost": lambda N: 20.0 * DELTA / N,
        # If all f_i are equal, SAGA is gradient descent. It violates the bound from N = 28 on, and
        # from N = 8 on if n = 1.
        "saga": lambda N: 3.0 * 2.0 ** (2 / 3) * DELTA / N,
        "svrg-error": lambda N: (N * ETA) ** 2 / 2.0,
        "spider-error": lambda N: N * ETA**2,
        "saga-error": lambda N: ETA**2 * mean_squared_table_age(N),
    }
)


def bound(case: str, N: int) -> float:
    """Return the published bound of a case in ``cases.toml`` for N steps and L = 1."""
    return _BOUNDS[case](N)
