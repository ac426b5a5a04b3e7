"""Logistic regression with an l1 penalty, rows as sparse as those of a9a, to the same accuracy.

Each solver gets the fewest epochs (1, 2, 3, ...) after which the objective of its point, taken by
us, is within 1e-4 of the best one known; those are then timed.
"""

import warnings
from itertools import pairwise
from statistics import median
from time import perf_counter

import copt
import copt.loss
import copt.penalty
import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from timing import OURS, compare

import pfbench as pf
from pfbench.base.errors import DataError
from pfbench.problems.data.loading import load_classification
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.sets import WholeSpace
from pfbench.sets.penalties import L1Penalty

N, D, NONZERO = 32_000, 123, 14
"""The shape of a9a."""

WEIGHT, ACCURACY = 1e-3, 1e-4
EPOCHS = range(1, 257)


def data(rows=N):
    rng = np.random.default_rng(0)
    columns = np.concatenate([rng.choice(D, NONZERO, replace=False) for _ in range(rows)])
    pointers = np.arange(0, rows * NONZERO + 1, NONZERO, dtype=np.int32)
    ones = np.ones(columns.size)
    features = scipy.sparse.csr_array((ones, columns.astype(np.int32), pointers), shape=(rows, D))
    noise = rng.standard_normal(rows)
    return features, np.sign(features @ rng.standard_normal(D) + noise)


def of_ours(problem, name, **more):
    """Return a function from epochs to seconds and final point of a pfbench method."""

    def solve(epochs):
        given = {key: value(epochs) for key, value in more.items()}
        algorithm = pf.algorithm(name, output="last", **given)
        run = pf.solve(problem, algorithm, seed=0, every=10**9)
        return run.seconds, run.x

    return solve


def of_scikit_learn(features, labels):
    strength = 1.0 / (labels.size * WEIGHT)

    def solve(epochs):
        model = LogisticRegression(
            C=strength, l1_ratio=1.0, solver="saga", tol=0.0, max_iter=epochs, fit_intercept=False
        )
        started = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(features, labels)
        return perf_counter() - started, model.coef_[0]

    return solve


def of_copt(minimise, features, labels, step):
    """Return a function from epochs to seconds and final point of a method of copt.

    As copt compiles its loops in every call, the seconds follow from the median time of an epoch.
    """
    matrix, zero_one = scipy.sparse.csr_matrix(features), (labels + 1.0) / 2.0
    loss = copt.loss.LogLoss(matrix, zero_one)

    def solve(epochs):
        ends = [perf_counter()]
        found = minimise(
            loss.partial_deriv,
            matrix,
            zero_one,
            np.zeros(D),
            step,
            prox=copt.penalty.L1Norm(WEIGHT).prox_factory(D),
            max_iter=epochs,
            tol=0.0,
            callback=lambda _: ends.append(perf_counter()),
        )
        return epochs * median(b - a for a, b in pairwise(ends)), found.x

    return solve


def solvers(problem, features, labels, smooth):
    root = int(problem.n**0.5)
    per_epoch = problem.n // root
    batched = {
        "batch": lambda _: root,
        "iterations": lambda epochs: epochs * per_epoch,
        "step": lambda _: 1.0 / (2.0 * problem.constants(problem.start()).L_f),
    }
    cycle = {"period": lambda _: per_epoch}
    copted = features, labels, 1.0 / (3.0 * smooth)
    return {
        f"{OURS} prox-spiderboost": of_ours(problem, "prox-spiderboost", **batched, **cycle),
        f"{OURS} prox-saga": of_ours(problem, "prox-saga", **batched),
        f"{OURS} prox-svrg": of_ours(problem, "prox-svrg", **batched, **cycle),
        "scikit-learn SAGA": of_scikit_learn(features, labels),
        "copt SAGA": of_copt(copt.minimize_saga, *copted),
        "copt SVRG": of_copt(copt.minimize_svrg, *copted),
    }


def comparisons(quick):
    try:
        yield each(quick)
    except DataError as error:
        print(f"One component gradient of a9a was left out: {error}")
    features, labels = data(N // 8 if quick else N)
    penalty = L1Penalty(WEIGHT)
    problem = NonconvexLogistic(features, labels, WholeSpace(D), alpha=0.0, penalty=penalty)
    smooth = float(NONZERO) / 4.0
    found = solvers(problem, features, labels, smooth)
    best = objective(problem, of_scikit_learn(features, labels)(1000)[1])
    functions, reached, left_out = {}, {}, []
    for name, solve in found.items():
        for epochs in EPOCHS:
            seen = objective(problem, solve(epochs)[1]) - best
            if seen <= ACCURACY:
                functions[name] = lambda solve=solve, epochs=epochs: solve(epochs)[0]
                reached[name] = f"{epochs} epochs, objective + {max(seen, 0.0):.1e}"
                break
        else:
            left_out.append(f"{name}: {EPOCHS[-1]} epochs leave {seen:.1e}")
    yield compare(
        f"Logistic regression with an l1 penalty, {labels.size:,} x {D}, {NONZERO} nonzeros a row",
        f"Time to an objective within {ACCURACY:g} of the best known, {best:.6f}; all from 0.",
        functions,
        reached,
        3,
        left_out,
    )


def each(quick):
    """Compare the time for one component gradient on a9a, whole iterations included."""
    problem = pf.problem("nonconvex-logistic", source="a9a", alpha=0.0, penalty="l1", weight=WEIGHT)
    data = load_classification("a9a")
    root, epochs = int(problem.n**0.5), 2 if quick else 10
    batched = {"batch": root, "step": 0.1, "output": "last"}
    cycles = {"period": root, "iterations": epochs * root}

    def ours(name, **more):
        algorithm = pf.algorithm(name, **batched, **more)

        def call():
            run = pf.solve(problem, algorithm, seed=0, every=10**9)
            return run.seconds / run.counts.sfo

        return call

    peer = of_scikit_learn(data.features, data.labels)
    functions = {
        f"{OURS} prox-spiderboost": ours("prox-spiderboost", **cycles),
        f"{OURS} prox-svrg": ours("prox-svrg", **cycles),
        f"{OURS} prox-saga": ours("prox-saga", iterations=epochs * root),
        "scikit-learn SAGA": lambda: peer(epochs)[0] / (epochs * problem.n),
    }
    return compare(
        f"One component gradient of a9a, all included, {problem.n:,} x {problem.d}",
        f"The time of a run over its component gradients, with batches of {root}; scikit-learn "
        "takes one for each row in an epoch.",
        functions,
        {},
        5 if quick else 15,
    )


def objective(problem, x):
    return float(problem.value(x)) + problem.penalty.value(x)
