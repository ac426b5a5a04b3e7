"""The catalogue's methods on random members of the classes, with the parameters of the cases.

Every function takes N and a random stream and returns what the case of the same name measures, so
that no worst case may be below it. L = 1; where the measure is a squared gradient, it and Delta are
scaled together: f(x) becomes c f(x/sqrt(c)).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from pfbench.algorithms import proximal
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.algorithms.sliding import NCGS
from pfbench.base.arrays import Floats
from pfbench.base.protocols import Algorithm
from pfbench.estimators import SAGA, SPIDERG, SVRG, Estimator
from pfbench.oracles import Ledger, Oracles
from pfbench.points import keep
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification.instruments.enumerated_random import ReplayGenerator
from pfbench.verification.instruments.indefinite import IndefiniteQuadratic
from pfbench.verification.worst_case import methods, random_members
from pfbench.verification.worst_case.methods import DELTA, DELTA_SLIDING, ETA, D


def list_visited_points(problem: Any, algorithm: Algorithm, rng: Any) -> list[Floats]:
    """Return the points x_0 .. x_N of one run."""
    x = problem.start_point.copy()
    ask = Oracles(problem, Ledger(), problem.set.diameter)
    return [x.copy(), *(keep(state.x) for state in algorithm.run(ask, x, rng))]


def iterate_draw_scripts(
    n: int, locations: Sequence[int], length: int
) -> Iterator[ReplayGenerator]:
    """Yield random streams of `length` indices below n, with every sequence at the `locations`.

    The other draws are 0: those are the ones that change nothing.
    """
    for combination in product(range(n), repeat=len(locations)):
        script = np.zeros(length, dtype=np.int64)
        script[list(locations)] = combination
        yield ReplayGenerator(script, n)


# --- Frank-Wolfe ----------------------------------------------------------------------------------


def _gaps(problem: IndefiniteQuadratic, points: Sequence[Floats]) -> list[float]:
    gradients = [problem.gradient(x) for x in points]
    return [float(g @ x) - problem.minimum(g)[0] for g, x in zip(gradients, points, strict=True)]


def _constant_step_gaps(N: int, step: float, rng: np.random.Generator) -> list[float]:
    problem = random_members.make_random_quadratic(rng, diameter=D, delta=DELTA)
    method = NFWUSPIDERG(iterations=N, step=step, batch=1, period=1)
    return _gaps(problem, list_visited_points(problem, method, rng)[:N])


def frank_wolfe_gap(N: int, rng: np.random.Generator) -> float:
    """Return the least gap at x_0 .. x_{N-1} of a constant step."""
    return min(_constant_step_gaps(N, methods.constant_step(N), rng))


def nfwu_exact(N: int, rng: np.random.Generator) -> float:
    """Return the mean gap of NFWU, n = 1."""
    return float(np.mean(_constant_step_gaps(N, methods.theorem_accuracy(N), rng)))


def nfwu_inexact(N: int, rng: np.random.Generator) -> float:
    """Return the mean gap of NFWU with SG, whose error is epsilon/2 at every draw."""
    epsilon = methods.theorem_accuracy(N)
    problem = random_members.make_random_quadratic(
        rng, diameter=D, delta=DELTA, noise=epsilon / 2.0
    )
    method = NFWUSG(iterations=N, step=epsilon, batch=1)
    return float(np.mean(_gaps(problem, list_visited_points(problem, method, rng)[:N])))


def frank_wolfe_open_loop(N: int, rng: np.random.Generator) -> float:
    """Return the larger f(x_N) - min f of a random convex quadratic and of Jaggi's."""
    method = FrankWolfe(step="open-loop", iterations=N)
    problems = (
        random_members.make_random_quadratic(rng, diameter=D, delta=DELTA, convex=True),
        random_members.make_half_square(4 * N),
    )
    return max(
        problem.value(list_visited_points(problem, method, rng)[N]) - problem.minimum_value
        for problem in problems
    )


# --- proximal gradient ----------------------------------------------------------------------------


def _min_mapping(problem: Any, N: int, rng: np.random.Generator) -> float:
    points = list_visited_points(problem, proximal.ProxGD(iterations=N, step=1.0), rng)
    return min(float(np.sum((x - y) ** 2)) for x, y in pairwise(points))


def gradient_descent(N: int, rng: np.random.Generator) -> float:
    """Return the larger least |grad f|^2 of random waves and of the worst function."""
    problems = random_members.make_random_waves(rng, 1), random_members.Zigzag(step=1.0, visited=N)
    return max(_min_mapping(p, N, rng) * DELTA / p.initial_suboptimality for p in problems)


def prox_gd(N: int, rng: np.random.Generator) -> float:
    """Return the larger least |G|^2 of a random quadratic on a box and of the worst function."""
    problem, zigzag = (
        random_members.make_random_quadratic(rng, diameter=None, delta=DELTA),
        random_members.Zigzag(step=1.0, visited=N),
    )
    return max(
        _min_mapping(problem, N, rng),
        _min_mapping(zigzag, N, rng) * DELTA / zigzag.initial_suboptimality,
    )


def ncgs(N: int, rng: np.random.Generator) -> float:
    """Return the mean |G_lambda|^2 at x_0 .. x_{N-1} of NCGS, option I."""
    problem = random_members.make_random_quadratic(rng, diameter=None, delta=DELTA_SLIDING)
    points = list_visited_points(problem, NCGS(iterations=N, smoothness=1.0), rng)[:N]
    return _mean_mapping(problem, points, 0.5)


def _mean_mapping(problem: Any, points: Sequence[Floats], lam: float) -> float:
    mapped = [(x - problem.prox(x, problem.gradient(x), lam)) / lam for x in points]
    return float(np.mean(np.sum(np.square(mapped), axis=1)))


# --- stochastic methods: the mean over all draws --------------------------------------------------


def _mean_mapping_over_draws(
    member: random_members.CosineSum,
    method: proximal.ProximalMethod,
    locations: Sequence[int],
    length: int,
) -> float:
    """Return the larger mean of a member of the class and of the worst function."""
    N, lam = method.iterations, method.step
    worst = random_members.Zigzag(step=lam, visited=N)
    expected = []
    for problem in (member, worst):
        mean_mappings = [
            _mean_mapping(problem, list_visited_points(problem, method, stream)[:N], lam)
            for stream in iterate_draw_scripts(2, locations, length)
        ]
        expected.append(float(np.mean(mean_mappings)) * DELTA / problem.initial_suboptimality)
    return max(expected)


def spiderboost(N: int, rng: np.random.Generator) -> float:
    """Return the larger mean E|grad f|^2 of random waves and of the worst function."""
    method = proximal.SpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    return _mean_mapping_over_draws(
        random_members.make_random_waves(rng, 2), method, range(N // 2), N // 2
    )


def prox_spiderboost(N: int, rng: np.random.Generator) -> float:
    """Return the same mean of E|G_eta|^2, of random waves on a box."""
    method = proximal.ProxSpiderBoost(iterations=N, step=0.5, batch=1, period=2)
    return _mean_mapping_over_draws(
        random_members.make_random_waves(rng, 2, boxed=True), method, range(N // 2), N // 2
    )


def saga(N: int, rng: np.random.Generator) -> float:
    """Return the larger mean E|grad f|^2 of random waves and of the worst function."""
    method = proximal.SmoothSAGA(iterations=N, step=methods.saga_step(2), batch=1)
    # The first table is exact, and what the last step but one replaces is seen by none measured.
    return _mean_mapping_over_draws(
        random_members.make_random_waves(rng, 2), method, range(2, 2 * N - 3), 2 * N
    )


# --- estimators along a path ----------------------------------------------------------------------


def svrg_error(N: int, rng: np.random.Generator) -> float:
    """Return E|g - grad f|^2 of SVRG, n = 3, S = 2, N steps from the snapshot."""
    return _error(SVRG(2, 2), 3, (range(2), 2), lambda path: [path[0], path[N]], N, rng)


def spider_error(N: int, rng: np.random.Generator) -> float:
    """Return E|g - grad f|^2 of SPIDER, n = 2, S = 1, N steps from the reference."""
    return _error(SPIDERG(1, N + 1), 2, (range(N), N), lambda path: path, N, rng)


def saga_error(N: int, rng: np.random.Generator) -> float:
    """Return E|g - grad f|^2 of SAGA, n = 2, S = 1, N steps after the table was filled."""
    # Draws are I, J, I, J, ...: what counts are the J between the ends, and the last I.
    draws = [*range(3, 2 * N, 2), 2 * N], 2 * N + 2
    return _error(SAGA(1), 2, draws, lambda path: path, N, rng)


def _error(
    estimator: Estimator,
    n: int,
    draws: tuple[Sequence[int], int],
    request: Callable[[list[Floats]], list[Floats]],
    N: int,
    rng: np.random.Generator,
) -> float:
    """Return the larger of a random path and function, and of a straight path and f_i = +-1/2."""
    d = 2
    signs = np.resize([1.0, -1.0], (n, 1)) * np.ones(d)
    turns = rng.standard_normal((N, d))
    turned = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    results = []
    for curvatures, directions in (
        (rng.uniform(-1.0, 1.0, (n, d)), turned),
        (signs, np.repeat(turned[:1], N, axis=0)),
    ):
        problem: Any = random_members.DiagonalQuadratic(
            set=WholeSpace(d), start_point=np.zeros(d), curvatures=curvatures
        )
        path = request([np.zeros(d), *(ETA * np.cumsum(directions, axis=0))])
        squares = []
        stream: Any
        for stream in iterate_draw_scripts(n, *draws):
            estimate = estimator.start(Oracles(problem, Ledger(), 1.0), stream)
            for x in path:
                g = estimate(x)
            squares.append(float(np.sum((g - problem.gradient(path[-1])) ** 2)))
        results.append(float(np.mean(squares)))
    return max(results)
