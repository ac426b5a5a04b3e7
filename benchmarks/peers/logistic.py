"""One component gradient on sparse rows: pfbench's SPIDER difference, scipy slicing, SAGA."""

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from timing import compare

import pfbench as pf
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.sets import L1Ball

N, D, NONZERO, CALLS = 32_000, 123, 14, 200
"""The shape of a9a."""


def data():
    rng = np.random.default_rng(0)
    rows = [rng.choice(D, NONZERO, replace=False) for _ in range(N)]
    columns = np.concatenate(rows).astype(np.int32)
    pointers = np.arange(0, N * NONZERO + 1, NONZERO, dtype=np.int32)
    features = scipy.sparse.csr_array((np.ones(columns.size), columns, pointers), shape=(N, D))
    return features, np.sign(features @ rng.standard_normal(D) + 0.1)


def main():
    features, labels = data()
    problem = NonconvexLogistic(features, labels, L1Ball(D, 10.0))
    batch = int(N**0.5)
    rng = np.random.default_rng(1)
    samples = [rng.integers(N, size=batch) for _ in range(CALLS)]
    x, y = rng.standard_normal(D), rng.standard_normal(D)

    def compiled():
        for sample in samples:
            problem.difference(sample, x, y)

    def sliced():
        for sample in samples:
            rows, b = features[sample], labels[sample]
            slopes = [-b / (1.0 + np.exp(b * (rows @ point))) for point in (x, y)]
            rows.T @ (slopes[0] - slopes[1]) / batch

    def saga():
        LogisticRegression(solver="saga", tol=0.0, max_iter=2).fit(features, labels)

    compare(
        f"{2 * batch * CALLS} component gradients (SAGA: {2 * N} in two epochs), {pf.__version__}",
        {"pfbench": compiled, "scipy row slicing": sliced, "scikit-learn SAGA": saga},
    )


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", module="sklearn")
    main()
