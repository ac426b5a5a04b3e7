"""Checks by enumeration of all draws: equal laws of two methods, and unbiased estimators."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.sample import IndexSampling
from pfbench.testing.covariance import compute_tolerance
from pfbench.testing.failure_messages import fail, format_call, max_deviation
from pfbench.testing.steppers import stepper
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws

__tracebackhide__ = True  # of pytest

_ROUNDING = 1e-9
"""Relative distance up to which two numbers count as equal."""

_LEVEL = 1e-3
"""Probability that the sampling test rejects equal distributions."""

_RUNS = 80
"""Number of runs of each method in the sampling test."""

_PAIRED = 5
"""Number of runs with common seeds that are compared before any test."""


def same_law(
    a: Any, b: Any, *, index: int = 3, seed: int = 0, tolerance: float | None = None, **hyper: Any
) -> str:
    """Check that two methods have equal iterates or, if they are random, equally distributed ones.

    Parameters
    ----------
    a, b
        Two steppers, whose points are compared up to rounding with the same gradients; or two
        functions ``method(rng)`` that return the points x_1, x_2, ... and draw only from `rng`.
        If all draws can be enumerated, the distributions of (x_1, ..., x_index) are compared
        exactly. Else five runs with common seeds are compared, and if these differ 80 runs of each,
        by rank tests of five functionals at the joint level 1e-3.
    index
        Number of points of each function that are compared; at least 2.
    seed
        Seed of the runs if draws cannot be enumerated.
    tolerance
        Largest deviation of two steppers' points, as a multiple of the largest step. By default it
        follows from the type: 1e-9 in double precision.
    hyper
        Parameters of both steppers; passed on to functions.

    Returns
    -------
    str
        Text that says how the comparison was decided.

    Raises
    ------
    AssertionError
        If the points or the distributions differ.
    InputError
        If there are fewer points than `index`, or only one of the two is a stepper.
    """
    call = format_call(same_law, a, b, index=index, seed=seed, tolerance=tolerance, **hyper)
    if isinstance(a, stepper) or isinstance(b, stepper):
        if not (isinstance(a, stepper) and isinstance(b, stepper)):
            raise InputError("a and b must be two steppers, or two functions of a random stream.")
        default = max(map(compute_tolerance, (a, b)))
        _compare_points(a, b, hyper, default if tolerance is None else tolerance, call)
        limit = "rounding" if tolerance is None else f"{tolerance:g} of the largest step"
        return f"the points are equal up to {limit}"

    def outcome(method: Callable[..., Any], rng: Any) -> Floats:
        points = [np.array(x, dtype=np.float64).ravel() for x in method(rng, **hyper)]
        if len(points) < index:
            raise InputError(
                f"{method.__name__} returns {len(points)} points, fewer than index={index}."
            )
        return np.concatenate(points[:index])

    methods = [partial(outcome, method) for method in (a, b)]
    try:
        exact = [list(enumerate_draws(method)) for method in methods]
    except NotEnumerable as why:
        return _assert_samples_agree(methods, index, seed, str(why), call)
    distance, example = _total_variation(*exact)
    if distance > 1e-9:
        chances, x = example
        last = np.round(x[-(len(x) // index) :][:4], 6).tolist()
        lines = [
            f"the distributions of (x_1, ..., x_{index}) differ: total variation {distance:.6g}",
            f"x_{index} = {last} has the probabilities {chances[0]:.6g} and {chances[1]:.6g}",
            f"all {len(exact[0])} and {len(exact[1])} sequences of draws were enumerated",
        ]
        fail(lines, call)
    return f"the distributions are equal: {len(exact[0])} and {len(exact[1])} sequences of draws"


def _compare_points(a: stepper, b: stepper, hyper: Any, tolerance: float, call: str) -> None:
    # Many steps show what acts late, and few of them are compared where errors add up.
    for steps in (12, 60) if tolerance <= _ROUNDING else (12,):
        x0, grads = a.draw(steps)
        points, expected = a.follow(x0, grads, hyper), b.follow(x0, grads, hyper)
        distance, t, words = max_deviation(points, expected)
        if distance <= tolerance:
            continue
        first = next(
            k
            for k in range(1, len(points))
            if max_deviation(points[: k + 1], expected[: k + 1])[0] > tolerance
        )
        lines = [
            f"{a.label} and {b.label} differ from step {first} on, by {distance:.3g} of the largest "  # noqa: E501
            f"step at step {t}",
            words,
        ]
        fail(lines, call)


def _total_variation(
    a: Sequence[tuple[float, Floats]], b: Sequence[tuple[float, Floats]]
) -> tuple[float, tuple[tuple[float, float], Floats]]:
    """Return the total variation distance of two distributions, and where they differ most.

    Each distribution is a list of probabilities and outcomes. The result has both probabilities of
    this outcome. Neighbouring values of a coordinate count as equal if they differ only by
    rounding.
    """
    rows = np.array([x for _, x in (*a, *b)])
    names = np.zeros(rows.shape, dtype=np.int64)
    for k, column in enumerate(rows.T):
        size = np.abs(column[np.isfinite(column)]).max(initial=1e-300)
        column = np.nan_to_num(column, nan=4 * size, posinf=3 * size, neginf=-3 * size)
        order = np.argsort(column)
        names[order[1:], k] = np.cumsum(np.diff(column[order]) > _ROUNDING * size)
    _, first, outcome = np.unique(names, axis=0, return_index=True, return_inverse=True)
    chances = np.zeros((2, len(first)))
    side = np.arange(len(rows)) >= len(a)
    np.add.at(chances, (side.astype(int), outcome), [chance for chance, _ in (*a, *b)])
    difference = np.abs(chances[0] - chances[1])
    k = int(difference.argmax())
    return 0.5 * float(difference.sum()), ((chances[0, k], chances[1, k]), rows[first[k]])


def _assert_samples_agree(
    methods: Sequence[Any], index: int, seed: int, why: str, call: str
) -> str:
    """Compare runs with equal seeds, then independent samples; return the result as text.

    Raise AssertionError if the samples differ significantly.
    """
    seeds = np.random.SeedSequence(seed).spawn(2 * _RUNS)
    pairs = [[m(np.random.default_rng(s)) for m in methods] for s in seeds[:_PAIRED]]
    if all(np.allclose(x, y, rtol=_ROUNDING, atol=_ROUNDING * np.abs(x).max()) for x, y in pairs):
        return f"{_PAIRED} runs with common seeds are equal; not enumerated: {why}"
    samples = [
        np.array([_functionals(m(np.random.default_rng(s)), index) for s in seeds[side::2]])
        for side, m in enumerate(methods)
    ]
    from scipy.stats import mannwhitneyu

    # NaN is the largest value; all values equal, which SciPy answers by NaN, are no difference.
    first, second = (np.where(np.isnan(sample), np.inf, sample) for sample in samples)
    test = mannwhitneyu(first, second, method="asymptotic", axis=0)
    chances = np.nan_to_num(np.atleast_1d(test.pvalue), nan=1.0)
    worst = int(np.argmin(chances))
    if chances[worst] * len(chances) < _LEVEL:
        medians = [float(np.median(sample[:, worst])) for sample in samples]
        lines = [
            f"the distributions differ: p = {chances[worst] * len(chances):.2g} "
            f"(rank test, {_RUNS} runs of each, 5 functionals)",
            f"{_FUNCTIONALS[worst]}: medians {medians[0]:.6g} and {medians[1]:.6g}",
            f"draws were sampled: {why}",
        ]
        fail(lines, call)
    return f"not significantly different in {_RUNS} runs of each (p >= {min(chances):.2g})"


_FUNCTIONALS = (
    "norm of the last point",
    "norm of the middle point",
    "norm of the first point",
    "distance of the last point from the first",
    "sum of the entries of the last point",
)


def _functionals(flat: Floats, index: int) -> list[float]:
    x = flat.reshape(index, -1)
    norms = [float(np.linalg.norm(x[k])) for k in (-1, (index - 1) // 2, 0)]
    return [*norms, float(np.linalg.norm(x[-1] - x[0])), float(x[-1].sum())]


# --- unbiased estimators --------------------------------------------------------------------------

_POINTS = 3
"""Number of random paths of points on which an estimator is tested."""


class FiniteSum(IndexSampling):
    """Test problem with a finite sum: f is the weighted mean of random quadratics f_i.

    f_i(x) = (x - c_i)' A_i (x - c_i)/2. f = sum of w_i f_i / sum of w_i. Oracle calls are not
    counted.

    Parameters
    ----------
    n
        Number of components; 0: the number of weights, or 4.
    d
        Number of variables.
    weights
        The w_i, by default equal.
    seed
        Seed of the components.
    """

    def __init__(self, n: int = 0, d: int = 2, weights: Any = None, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        n = n or (4 if weights is None else len(weights))
        self.n, self.d, self._seed = n, d, seed
        self.weights: Floats = np.ones(n) if weights is None else np.array(weights, dtype=float)
        if self.weights.shape != (n,) or not self.weights.min() > 0.0:
            raise InputError(f"weights must be {n} positive numbers.")
        roots = rng.standard_normal((n, d, d))
        self._A, self._c = roots @ roots.transpose(0, 2, 1), rng.standard_normal((n, d))

    def __repr__(self) -> str:
        weights = "" if (self.weights == 1.0).all() else f", weights={self.weights.tolist()}"
        return f"FiniteSum(n={self.n}, d={self.d}{weights}, seed={self._seed})"

    def component(self, i: Any, x: Any) -> Floats:
        """Return the gradient of f_i at x, shape (d,), not multiplied by the weight of f_i."""
        return np.asarray(self._A[i] @ (np.asarray(x) - self._c[i]))

    def batch(self, sample: Any, x: Any) -> Floats:
        """Return the unweighted mean of grad f_i(x) over a sample, shape (d,)."""
        return np.asarray(np.mean([self.component(i, x) for i in np.atleast_1d(sample)], axis=0))

    def gradient(self, x: Any) -> Floats:
        """Return the gradient of f at x, shape (d,)."""
        each = np.array([self.component(i, x) for i in range(self.n)])
        return np.asarray(self.weights @ each / self.weights.sum())


def unbiased(
    estimator: Callable[..., Any], problem: Any = None, *, calls: int | None = None, seed: int = 0
) -> None:
    """Check that the mean of a gradient estimate, over all possible draws, equals the gradient.

    Every sequence of draws is enumerated, so keep n, the batches and `calls` small.

    Parameters
    ----------
    estimator
        ``estimator(ask, x, rng)`` returns an estimate of the gradient at x; or
        ``estimator(ask, rng)`` returns a function of x with its own state, such as a table. It may
        draw from `rng` only.
    problem
        Object with `n`, `gradient(x)` and the oracles that the estimator queries; by default a
        `FiniteSum`.
    calls
        Number of calls of an estimator with state, each at another point. The mean is tested at
        each. By default there are 3 calls, or 2 if the draws of 3 cannot be enumerated.
    seed
        Seed of the points.

    Raises
    ------
    AssertionError
        If a mean differs from the gradient by more than 1e-9 times the largest gradient.
    InputError
        If the draws cannot be enumerated.
    """
    ask: Any = FiniteSum() if problem is None else problem
    has_state = len(inspect.signature(estimator).parameters) == 2
    if has_state and calls is None:
        with suppress(InputError):
            return unbiased(estimator, ask, calls=3, seed=seed)
    rng, calls = np.random.default_rng(seed), calls or 2
    d = getattr(ask, "d", None) or np.shape(ask.start())
    paths = rng.standard_normal((_POINTS, calls if has_state else 1, *np.atleast_1d(d)))
    for path in paths:

        def run(stream: Any, path: Any = path) -> list[Floats]:
            estimate = estimator(ask, stream) if has_state else lambda x: estimator(ask, x, stream)
            return [np.array(estimate(x.copy()), dtype=np.float64) for x in path]

        try:
            sample = list(enumerate_draws(run))
        except NotEnumerable as why:
            raise InputError(
                f"the draws of {estimator.__name__} cannot be enumerated: {why}; fewer calls, "
                "smaller batches, or a problem with a smaller n have fewer draws."
            ) from why
        for t, x in enumerate(path):
            rows = [(chance, estimates[t]) for chance, estimates in sample]
            if lines := _describe_bias(rows, np.asarray(ask.gradient(x))):
                lines[0] = f"{estimator.__name__} is biased at call {t + 1}: {lines[0]}"
                fail(lines, format_call(unbiased, estimator, ask, calls=calls, seed=seed))


def _describe_bias(rows: Sequence[tuple[float, Floats]], target: Floats) -> list[str]:
    """Return lines that describe how the mean estimate differs from `target`; [] if they agree."""
    mean = np.asarray(sum(chance * g for chance, g in rows))
    size = max(float(np.abs(g).max()) for g in (target, *(g for _, g in rows)))
    bias = np.abs(mean - target)
    if bias.max() <= _ROUNDING * size < np.inf:
        return []
    k = int(bias.argmax())
    chance, g = max(rows, key=lambda row: row[0] * abs(row[1].flat[k] - target.flat[k]))
    return [
        f"mean {mean.flat[k]:.10g}, gradient {target.flat[k]:.10g} (entry {k})",
        f"over {len(rows)} sequences of draws",
        f"largest contribution: {g.flat[k]:.10g} with probability {chance:.6g}",
    ]
