"""Frank-Wolfe on robust matrix recovery: pfbench, copt, and numpy with scipy's svds."""

import copt
import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from timing import compare

import pfbench as pf

ITERATIONS = 100


def pieces(size, observed):
    problem = pf.problem(
        "robust-matrix-recovery", rows=size, columns=size, density=observed / size**2
    )
    pattern = problem.pattern
    return problem, pattern.row_numbers(), pattern.rows.indices.astype(np.int64), problem.targets


def value_and_slope(residual):
    weight = np.exp(-0.5 * residual**2)
    return np.mean(1.0 - weight), residual * weight / residual.size


def with_copt(size, i, j, y, radius):
    constraint = copt.constraint.TraceBall(radius, (size, size))

    def function(x):
        value, slope = value_and_slope(x.reshape(size, size)[i, j] - y)
        gradient = np.zeros((size, size))
        gradient[i, j] = slope
        return value, gradient.ravel()

    copt.minimize_frank_wolfe(
        function,
        np.zeros(size * size),
        constraint.lmo,
        jac=True,
        step="sublinear",
        max_iter=ITERATIONS,
        tol=0,
    )


def with_svds(size, i, j, y, radius):
    x = np.zeros(y.size)
    for t in range(ITERATIONS):
        _, slope = value_and_slope(x - y)
        u, _, v = scipy.sparse.linalg.svds(
            scipy.sparse.csr_array((slope, (i, j)), shape=(size, size)), k=1, rng=0
        )
        step = 2.0 / (t + 2.0)
        x = (1.0 - step) * x - step * radius * u[i, 0] * v[0, j]


def main():
    open_loop = pf.algorithm("frank-wolfe", step="open-loop", iterations=ITERATIONS)
    for size, observed, dense in (
        (200, 4_000, True),
        (1_000, 100_000, True),
        (5_000, 10**6, False),
    ):
        problem, i, j, y = pieces(size, observed)
        arguments = (size, i, j, y, problem.radius)
        functions = {
            "pfbench": lambda problem=problem: pf.solve(problem, open_loop).seconds,
            "numpy + svds, observed": lambda arguments=arguments: with_svds(*arguments),
        }
        if dense:
            functions["copt"] = lambda arguments=arguments: with_copt(*arguments)
        compare(f"{size} x {size}, {observed} observed, {ITERATIONS} iterations", functions, 3)


if __name__ == "__main__":
    main()
