"""Check that the iterates of two methods have the same distribution."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.testing.covariance import compute_tolerance
from pfbench.testing.failure_messages import fail, format_call, max_deviation
from pfbench.testing.steppers import Stepper
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


def same_law(a: Any, b: Any, *, index: int = 3, seed: int = 0, **hyper: Any) -> str:
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
    call = format_call(same_law, a, b, index=index, seed=seed, **hyper)
    if isinstance(a, Stepper) or isinstance(b, Stepper):
        if not (isinstance(a, Stepper) and isinstance(b, Stepper)):
            raise InputError("a and b must be two steppers, or two functions of a random stream.")
        _compare_points(a, b, hyper, call)
        return "the points are equal up to rounding"

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
        return _compare_samples(methods, index, seed, str(why), call)
    distance, example = _total_variation(*exact)
    if distance > 1e-9:
        chances, x = example
        last = np.round(x[-(len(x) // index) :][:4], 6).tolist()
        lines = [
            f"the laws of (x_1, ..., x_{index}) differ: total variation {distance:.6g}",
            f"x_{index} = {last} has probability {chances[0]:.6g} and {chances[1]:.6g}",
            f"all {len(exact[0])} and {len(exact[1])} sequences of draws were enumerated",
        ]
        fail(lines, call)
    return f"the laws are equal: {len(exact[0])} and {len(exact[1])} sequences of draws"


def _compare_points(a: Stepper, b: Stepper, hyper: Any, call: str) -> None:
    x0, grads = a.draw()
    points, expected = a.follow(x0, grads, hyper), b.follow(x0, grads, hyper)
    distance, t, words = max_deviation(points, expected)
    if not distance <= max(map(compute_tolerance, (a, b))):
        first = next(
            t
            for t in range(1, len(points))
            if max_deviation(points[: t + 1], expected[: t + 1])[0]
            > max(map(compute_tolerance, (a, b)))
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
    """Return the total variation distance of two distributions, and the outcome that differs most.

    Each distribution is a list of probabilities and outcomes. The result has both probabilities of
    this outcome. Neighbouring values of a coordinate count as equal if they differ only by
    rounding.
    """
    rows = np.array([x for _, x in (*a, *b)])
    names = np.zeros(rows.shape, dtype=np.int64)
    for k, column in enumerate(rows.T):
        order = np.argsort(column)
        gap = _ROUNDING * max(float(np.abs(column).max()), 1e-300)
        names[order[1:], k] = np.cumsum(np.diff(column[order]) > gap)
    _, first, outcome = np.unique(names, axis=0, return_index=True, return_inverse=True)
    chances = np.zeros((2, len(first)))
    side = np.arange(len(rows)) >= len(a)
    np.add.at(chances, (side.astype(int), outcome), [chance for chance, _ in (*a, *b)])
    difference = np.abs(chances[0] - chances[1])
    k = int(difference.argmax())
    return 0.5 * float(difference.sum()), ((chances[0, k], chances[1, k]), rows[first[k]])


def _compare_samples(methods: Sequence[Any], index: int, seed: int, why: str, call: str) -> str:
    """Compare runs with equal seeds, then independent samples; return text on the decision.

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

    first, second = samples
    chances = mannwhitneyu(first, second, method="asymptotic", axis=0).pvalue
    worst = int(np.argmin(chances))
    if chances[worst] * len(chances) < _LEVEL:
        medians = [float(np.median(sample[:, worst])) for sample in samples]
        lines = [
            f"the laws differ: p = {chances[worst] * len(chances):.2g} (rank test, {_RUNS} runs of "
            f"each, 5 functionals)",
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
