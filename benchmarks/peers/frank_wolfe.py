"""Frank-Wolfe on robust matrix recovery: pfbench, copt, and numpy with scipy's svds.

All take the steps 2/(t+2); the objective that each reaches is shown, taken by us.
"""

import copt
import copt.constraint
import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from timing import OURS, compare, timed_from_outside

import pfbench as pf


def value_and_slope(residual):
    weight = np.exp(-0.5 * residual**2)
    return np.mean(1.0 - weight), residual * weight / residual.size


def pieces(size, observed):
    density = observed / size**2
    problem = pf.problem("robust-matrix-recovery", rows=size, columns=size, density=density)
    pattern = problem.pattern
    return problem, pattern.row_numbers(), pattern.rows.indices.astype(np.int64), problem.targets


def with_copt(size, i, j, y, radius, iterations):
    constraint = copt.constraint.TraceBall(radius, (size, size))

    def function(x):
        value, slope = value_and_slope(x.reshape(size, size)[i, j] - y)
        gradient = np.zeros((size, size))
        gradient[i, j] = slope
        return value, gradient.ravel()

    found = copt.minimize_frank_wolfe(
        function,
        np.zeros(size * size),
        constraint.lmo,
        jac=True,
        step="sublinear",
        max_iter=iterations,
        tol=0,
    )
    return found.x.reshape(size, size)[i, j]


def with_svds(size, i, j, y, radius, iterations):
    x = np.zeros(y.size)
    for t in range(iterations):
        _, slope = value_and_slope(x - y)
        matrix = scipy.sparse.csr_array((slope, (i, j)), shape=(size, size))
        # The accuracy of our default.
        u, _, v = scipy.sparse.linalg.svds(matrix, k=1, tol=1e-4, rng=0)
        step = 2.0 / (t + 2.0)
        x = (1.0 - step) * x - step * radius * u[i, 0] * v[0, j]
    return x


def comparisons(quick):
    sizes = ((200, 4_000, True), (1_000, 100_000, True), (5_000, 10**6, False))
    iterations = 30 if quick else 100
    open_loop = pf.algorithm("frank-wolfe", step="open-loop", iterations=iterations)
    for size, observed, dense in sizes[: 1 if quick else 3]:
        problem, *entries = pieces(size, observed)
        given = size, *entries, problem.radius, iterations
        peers = {"numpy + svds, observed entries": with_svds}
        if dense:
            peers["copt"] = with_copt
        run = pf.solve(problem, open_loop, every=iterations)
        reached = {OURS: run.final["objective"]}
        for name, peer in peers.items():
            reached[name] = value_and_slope(peer(*given) - entries[-1])[0]
        functions = {OURS: lambda p=problem: pf.solve(p, open_loop, every=iterations).seconds}
        for name, peer in peers.items():
            functions[name] = timed_from_outside(peer, *given)
        yield compare(
            f"Frank-Wolfe, {size} x {size}, {observed:,} entries, {iterations} iterations",
            "Matrix recovery with the bounded loss, steps 2/(t+2), and the objective after them: "
            "with such steps it goes up and down by a few per cent, so the last ones differ.",
            functions,
            {name: f"objective {value:.5f}" for name, value in reached.items()},
            3,
            [] if dense else ["copt: its dense gradient is too large"],
        )
