"""Check that a gradient estimator is unbiased, by enumeration of all its draws."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.sample import IndexSampling
from pfbench.testing.failure_messages import fail, format_call
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws

__tracebackhide__ = True  # of pytest

_ROUNDING = 1e-9

_POINTS = 3
"""Number of random paths of points on which an estimator is tested."""


class FiniteSum(IndexSampling):
    """Test problem with a finite sum: f is the weighted mean of random quadratics f_i.

    f_i(x) = (x - c_i)' A_i (x - c_i)/2. f = sum of w_i f_i / sum of w_i. Oracle calls are not
    counted.

    Parameters
    ----------
    n
        Number of components.
    d
        Number of variables.
    weights
        The w_i, by default equal.
    seed
        Seed of the components.
    """

    def __init__(self, n: int = 4, d: int = 2, weights: Any = None, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.d, self._seed = n, d, seed
        self.weights: Floats = np.ones(n) if weights is None else np.array(weights, dtype=float)
        if self.weights.shape != (n,) or not self.weights.min() > 0.0:
            raise InputError(f"weights must be {n} positive numbers.")
        roots = rng.standard_normal((n, d, d))
        self._A, self._c = roots @ roots.transpose(0, 2, 1), rng.standard_normal((n, d))

    def __repr__(self) -> str:
        equal = (self.weights == 1.0).all()
        weights = "" if equal else f", weights={self.weights.tolist()}"
        return f"FiniteSum(n={self.n}, d={self.d}{weights}, seed={self._seed})"

    def component(self, i: Any, x: Any) -> Floats:
        """Return the gradient of f_i at x, shape (d,), not multiplied by the weight of f_i."""
        return np.asarray(self._A[i] @ (np.asarray(x) - self._c[i]))

    def batch(self, sample: Any, x: Any) -> Floats:
        """Return the unweighted mean of grad f_i(x) over a sample, shape (d,)."""
        return np.asarray(np.mean([self.component(i, x) for i in np.atleast_1d(sample)], axis=0))

    def difference(self, sample: Any, x: Any, y: Any) -> Floats:
        """Return the unweighted mean of grad f_i(x) - grad f_i(y) over a sample, shape (d,)."""
        return self.batch(sample, x) - self.batch(sample, y)

    def gradient(self, x: Any) -> Floats:
        """Return the gradient of f at x, shape (d,)."""
        each = np.array([self.component(i, x) for i in range(self.n)])
        return np.asarray(self.weights @ each / self.weights.sum())


def unbiased(
    estimator: Callable[..., Any],
    problem: Any = None,
    *,
    calls: int = 2,
    given_past: bool = False,
    seed: int = 0,
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
        each.
    given_past
        Whether the mean is conditional on all earlier draws.
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
    rng = np.random.default_rng(seed)
    d = getattr(ask, "d", None) or np.shape(ask.start())
    paths = rng.standard_normal((_POINTS, calls if has_state else 1, *np.atleast_1d(d)))
    for path in paths:

        def run(stream: Any, path: Any = path) -> list[tuple[tuple[Any, ...], Floats]]:
            estimate = estimator(ask, stream) if has_state else None
            results = []
            for x in path:
                past = tuple(stream.choices) if given_past else ()
                g = estimate(x.copy()) if estimate else estimator(ask, x.copy(), stream)
                results.append((past, np.array(g, dtype=np.float64)))
            return results

        try:
            sample = list(enumerate_draws(run))
        except NotEnumerable as why:
            raise InputError(
                f"the draws of {estimator.__name__} cannot be enumerated: {why}."
            ) from why
        for t, x in enumerate(path):
            groups: dict[Any, list[tuple[float, Floats]]] = {}
            for chance, estimates in sample:
                past, g = estimates[t]
                groups.setdefault(past, []).append((chance, g))
            for past, rows in groups.items():
                lines = _describe_bias(rows, np.asarray(ask.gradient(x)))
                if lines:
                    lines[0] = f"{estimator.__name__} is biased at call {t + 1}: {lines[0]}"
                    lines[1] += f" given the draws {[item[0] for item in past]}" if past else ""
                    options = {"calls": calls, "given_past": given_past, "seed": seed}
                    fail(lines, format_call(unbiased, estimator, ask, **options))


def _describe_bias(rows: Sequence[tuple[float, Floats]], target: Floats) -> list[str]:
    """Return lines on how far the mean of estimates is from `target`; [] if it is rounding."""
    total = sum(chance for chance, _ in rows)
    mean = np.asarray(sum(chance * g for chance, g in rows) / total)
    size = max(float(np.abs(g).max()) for g in (target, *(g for _, g in rows)))
    bias = np.abs(mean - target)
    if bias.max() <= _ROUNDING * size:
        return []
    k = int(bias.argmax())
    chance, g = max(rows, key=lambda row: row[0] * abs(row[1].flat[k] - target.flat[k]))
    return [
        f"mean {mean.flat[k]:.10g}, gradient {target.flat[k]:.10g} (entry {k})",
        f"over {len(rows)} sequences of draws",
        f"largest contribution: {g.flat[k]:.10g} with probability {chance / total:.6g}",
    ]
