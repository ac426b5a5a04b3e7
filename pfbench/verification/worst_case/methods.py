"""Worst cases of methods of the catalogue, for N steps with the parameters of their theorems.

Every function takes N, the number of steps, and L, the smoothness of f; the methods are set for
L = 1, so that another L is a planted fault. The least value of f (or of f + h) is constrained at
the points visited alone, where that is weaker than on the whole set: what is computed is then at
least the worst case, never below it.

Where a method only adds and scales what it is answered, it is the catalogue's own that is run on
unknowns; the others are written here.
"""

import math
from itertools import product

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.algorithms.proximal import ProxGD, SmoothSAGA, SpiderBoost
from pfbench.verification.worst_case import estimation
from pfbench.verification.worst_case.custom import FunctionClass, compute_worst_case
from pfbench.verification.worst_case.estimation import Expression, PerformanceEstimation, mean

D = 1.0
"""Diameter of the sets of Frank-Wolfe methods."""

DELTA = 0.5
"""h0 = Delta, the height of the start over the least value."""

DELTA_SLIDING = 10.0
"""The same for conditional gradient sliding, whose bound hides it if it is small."""

ETA = 1.0
"""Longest step of the paths on which estimators are tested."""


# --- Frank-Wolfe ----------------------------------------------------------------------------------


def constant_step(N: int) -> float:
    """Return sqrt(2 h0/(C N)), the step that is best for N gaps, C = L D^2 = 1."""
    return math.sqrt(2.0 * DELTA / N)


def theorem_accuracy(N: int) -> float:
    """Return the epsilon for which N = L Delta/epsilon^2, L = 1 (shen2019 theorem 3.1)."""
    return math.sqrt(DELTA / N)


def _make_exact_nfwu(N: int, step: float) -> NFWUSPIDERG:
    """Return Frank-Wolfe with a constant step, as NFWU with exact gradients."""
    return NFWUSPIDERG(iterations=N, step=step, batch=1, period=1)


def frank_wolfe_gap(N: int, L: float = 1.0) -> float:
    """Return the worst least gap at x_0 .. x_{N-1} of Frank-Wolfe with a constant step."""
    inner = FunctionClass(n=1, L=L, D=D, delta=DELTA)
    return compute_worst_case(_make_exact_nfwu(N, constant_step(N)), inner, over="least").value


def nfwu_exact(N: int, L: float = 1.0) -> float:
    """Return the worst mean gap of NFWU with exact gradients, step eta/D = epsilon/(L D)."""
    inner = FunctionClass(n=1, L=L, D=D, delta=DELTA)
    return compute_worst_case(_make_exact_nfwu(N, theorem_accuracy(N)), inner, over="mean").value


def nfwu_inexact(N: int, L: float = 1.0) -> float:
    """Return the same with gradients that err by epsilon/2 at most, so that (9) holds."""
    worst, epsilon = PerformanceEstimation(), theorem_accuracy(N)
    f, C = worst.add_smooth_function(L), worst.add_set_indicator(D)
    x = worst.add_start(C)
    start, gaps = f(x), []
    for _ in range(N):
        g, e = f.gradient(x), worst.add_vector()
        gaps.append(g * (x - worst.lo(g, C)))
        worst.require(e**2 <= (epsilon / 2.0) ** 2)
        x = (1.0 - epsilon) * x + epsilon * worst.lo(g + e, C)
        worst.require(start - f(x) <= DELTA)
    return worst.solve(mean(gaps))


def frank_wolfe_open_loop(N: int, L: float = 1.0) -> float:
    """Return the worst f(x_N) - min f of Frank-Wolfe with step 2/(t+2), f convex."""
    method = FrankWolfe(step="open-loop", iterations=N)
    inner = FunctionClass(L=L, convex=True, D=D, delta=math.inf)
    return compute_worst_case(method, inner, measure="suboptimality", over="last").value


# --- proximal gradient ----------------------------------------------------------------------------


def gradient_descent(N: int, L: float = 1.0) -> float:
    """Return the worst least |grad f|^2 at x_0 .. x_{N-1} of gradient descent with step 1/L."""
    inner = FunctionClass(L=L, delta=DELTA)
    return compute_worst_case(ProxGD(iterations=N, step=1.0), inner, over="least").value


def prox_gd(N: int, L: float = 1.0) -> float:
    """Return the worst least |G_{1/L}|^2 at x_0 .. x_{N-1} of proximal gradient descent."""
    worst = PerformanceEstimation()
    x = worst.add_start()
    _, f, h = worst.add_composite(1, L, x)
    start, measures = f(x), []
    for _ in range(N):
        y, penalty = worst.prox(x - f.gradient(x), h, 1.0)
        measures.append((x - y) ** 2)
        worst.require(start - f(y) - penalty <= DELTA)
        x = y
    return worst.solve(*measures)


def ncgs(N: int, L: float = 1.0) -> float:
    """Return the worst mean |G_lambda|^2 of NCGS, option I, lambda = 1/(2L), eta = 1/N.

    condg may return any point whose inner gap is at most eta: the option is inexact projected
    gradient.
    """
    # In units of Delta, which the solver needs: f/Delta, x/sqrt(Delta), eta/Delta.
    worst, lam, eta = PerformanceEstimation(), 0.5, 1.0 / (N * DELTA_SLIDING)
    f, C = worst.add_smooth_function(L), worst.add_set_indicator()
    x = worst.add_start(C)
    start, points, returned, measures = f(x), [x], [], []
    for _ in range(N):
        g = f.gradient(x)
        exact, _ = worst.prox(x - lam * g, C, lam)
        measures.append(((x - exact) / lam) ** 2)
        inexact = worst.add_vector(C)
        points += [exact, inexact]
        returned.append((g + (inexact - x) / lam, inexact))
        worst.require(start - f(inexact) <= 1.0)
        x = inexact
    for slope, inexact in returned:
        worst.require(*(slope * (inexact - u) <= eta for u in points if u is not inexact))
    return DELTA_SLIDING * worst.solve(mean(measures))


# --- stochastic methods: the expectation over all draws of the component --------------------------


def spiderboost(N: int, L: float = 1.0) -> float:
    """Return the worst mean E|grad f|^2 of SpiderBoost, n = 2, S = 1, q = 2, step 1/(2L)."""
    method = SpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    return compute_worst_case(method, FunctionClass(n=2, L=L, delta=DELTA), over="mean").value


def prox_spiderboost(N: int, L: float = 1.0) -> float:
    """Return the worst mean E|G_eta|^2 of Prox-SpiderBoost with the same parameters."""
    worst, n, step = PerformanceEstimation(), 2, 0.5
    x0 = worst.add_start()
    components, f, h = worst.add_composite(n, L, x0)
    start, measure = f(x0), 0.0

    def move(x: estimation.Vector, v: estimation.Vector) -> estimation.Vector:
        y, penalty = worst.prox(x - step * v, h, step)
        worst.require(start - f(y) - penalty <= DELTA)
        return y

    branches = [(1.0, x0, x0, None)]  # probability, x_k, x_{k-1}, v_{k-1}
    for k in range(N):
        following = []
        for probability, x, before, v in branches:
            g = f.gradient(x)
            exact = move(x, g)
            measure = measure + (probability / N) * ((x - exact) / step) ** 2
            if k % 2 == 0:
                following.append((probability, exact, x, g))
                continue
            for f_i in components:
                u = f_i.gradient(x) - f_i.gradient(before) + v
                following.append((probability / n, move(x, u), x, u))
        branches = following
    return worst.solve(measure)


def saga_step(n: int) -> float:
    """Return 1/(3 L n^{2/3}), the step of saga for b = 1, L = 1."""
    return 1.0 / (3.0 * math.cbrt(n * n))


def saga(N: int, L: float = 1.0, n: int = 2) -> float:
    """Return the worst mean E|grad f|^2 of SAGA, b = 1, step 1/(3 L n^{2/3})."""
    method = SmoothSAGA(iterations=N, step=saga_step(n), batch=1)
    return compute_worst_case(method, FunctionClass(n=n, L=L, delta=DELTA), over="mean").value


# --- estimators along a path of steps of length eta at most ---------------------------------------


def svrg_error(N: int, L: float = 1.0) -> float:
    """Return the worst E|g - grad f|^2 of SVRG after N steps, n = 3, S = 2."""
    worst, n, S = PerformanceEstimation(), 3, 2
    snapshot = worst.add_start()
    components, f = worst.add_components(n, L, snapshot)
    x = snapshot
    for _ in range(N):
        x = x + _bound_step_size(worst)
    differences = [f_i.gradient(x) - f_i.gradient(snapshot) for f_i in components]
    batches = product(differences, repeat=S)
    truth = f.gradient(x) - f.gradient(snapshot)
    return worst.solve(mean((mean(batch) - truth) ** 2 for batch in batches))


def spider_error(N: int, L: float = 1.0) -> float:
    """Return the worst E|g - grad f|^2 of SPIDER after N steps that may follow the draws, S = 1."""
    worst, n = PerformanceEstimation(), 2
    before = worst.add_start()
    components, f = worst.add_components(n, L, before)
    branches = [(before + _bound_step_size(worst), before, f.gradient(before))]  # x_t, x_{t-1}, g
    for t in range(1, N + 1):
        following = []
        for x, before, g in branches:
            for f_i in components:
                new = f_i.gradient(x) - f_i.gradient(before) + g
                after = x + _bound_step_size(worst) if t < N else x
                following.append((after, x, new))
        branches = following
    return worst.solve(mean((g - f.gradient(x)) ** 2 for x, _, g in branches))


def saga_error(N: int, L: float = 1.0) -> float:
    """Return the worst E|g - grad f|^2 of SAGA, N steps after its table was filled, n = 2, S = 1.

    The path is fixed in advance.
    """
    worst, n = PerformanceEstimation(), 2
    path = [worst.add_start()]
    components, _ = worst.add_components(n, L, path[0])
    for _ in range(N):
        path.append(path[-1] + _bound_step_size(worst))
    x = path[-1]
    errors = []
    for replaced in product(range(n), repeat=N - 1):
        selected = [0] * n
        for t, j in enumerate(replaced, start=1):
            selected[j] = t
        differences = [
            f_i.gradient(x) - f_i.gradient(path[t])
            for f_i, t in zip(components, selected, strict=True)
        ]
        errors += [(u - mean(differences)) ** 2 for u in differences]
    return worst.solve(mean(errors))


def _bound_step_size(worst: PerformanceEstimation) -> Expression:
    u = worst.add_vector()
    worst.require(u**2 <= ETA**2)
    return u
