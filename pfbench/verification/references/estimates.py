"""Gradient estimators of the references: generators that are sent x_t and yield g_t.

`steps_along` runs a method that moves along estimates. Parameters have the names that pfbench's
built-in methods use.
"""

from collections.abc import Callable, Generator, Iterator
from itertools import count
from typing import Any

import numpy as np

from pfbench.base.state import State

EstimateGenerator = Generator[Any, Any, None]

Estimator = Callable[[Any, Any, Any], EstimateGenerator]
"""Function ``(ask, rng, parameters)`` that returns a generator of estimates."""


def steps_along(
    estimate: EstimateGenerator, x: Any, s: Any, move: Callable[[Any, Any, int], Any]
) -> Iterator[State]:
    """Run x_{t+1} = move(x_t, g_t, t), where g_t is the gradient estimate at x_t."""
    next(estimate)
    for t in range(s.iterations):
        g = estimate.send(x)
        point, x = x, move(x, g, t)
        yield State(x, point, g)


def full_gradient(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield the full gradient at each iterate x_t."""
    x = yield
    while True:
        x = yield ask.gradient(x)


def averages(
    ask: Any, rng: Any, s: Any, weights: Callable[[int], tuple[float, float]]
) -> EstimateGenerator:
    """Yield averages d_t = p_t d_{t-1} + q_t g_t of batch gradients g_t; (p_t, q_t) = weights(t).

    Here d_{-1} = 0, and g_t is the mean of the component gradients at x_t over the batch of step t.
    """
    d, x = 0.0, (yield)
    for t in count():
        old, new = weights(t)
        d = old * d + new * ask.batch(rng.integers(ask.n, size=s.batch), x)
        x = yield d


def sg(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield the mean of the component gradients at x_t over a new batch."""
    return averages(ask, rng, s, lambda t: (0.0, 1.0))


def heavy_ball(ask: Any, rng: Any, s: Any, alpha: Callable[[int], float]) -> EstimateGenerator:
    """Yield averages d_t = (1 - alpha(t)) d_{t-1} + alpha(t) g_t of batch gradients g_t.

    The first average is d_0 = g_0, where g_t is the batch gradient at x_t.
    """
    return averages(ask, rng, s, lambda t: (1.0 - alpha(t), alpha(t)) if t else (0.0, 1.0))


# --- corrected by differences of batch gradients --------------------------------------------------


def difference_estimates(
    ask: Any,
    rng: Any,
    s: Any,
    is_new: Callable[[int], bool],
    *,
    is_recursive: bool = False,
    is_batch_at_anchor: bool = False,
    has_curvature: bool = False,
    size: Callable[[int], int] | None = None,
) -> EstimateGenerator:
    """Yield variance-reduced estimates: an estimate at a reference point plus a batch difference.

    The estimate is g_t = G + batch mean of [grad f_i(x_t) - grad f_i(w)], where G estimates grad
    f(w). At a step with is_new(t), w = x_t, and g_t = G is the full gradient there, or the mean
    over a batch of size `snapshot` if set. With `is_recursive`, w is otherwise x_{t-1}, and G is
    g_{t-1}.

    With `is_batch_at_anchor`, a batch is drawn and queried at new w, too. With `has_curvature`, [H
    - H_S](u) (x_t - w) is added; H and H_S are the Hessians of f and of its batch mean, and u is
    the last new w. A batch has `batch` components, or size(t).
    """
    x = yield
    for t in count():
        renews = is_new(t)
        if renews:
            w, G = x, _full_or_large_batch_gradient(ask, rng, s, x)
            H = ask.hessian(x) if has_curvature else None
        g = G
        if is_batch_at_anchor or not renews:
            S = rng.integers(ask.n, size=size(t) if size else s.batch)
            bend = 0.0 if H is None else H.product(x, w) - H.batch(S, x, w)
            g = G + ask.difference(S, x, w) + bend
        if is_recursive:
            w, G = x, g
        x = yield g


def _full_or_large_batch_gradient(ask: Any, rng: Any, s: Any, x: Any) -> Any:
    """Return the full gradient at x, or the mean over a batch of `s.snapshot` components if set."""
    B = getattr(s, "snapshot", None)
    if B is None or ask.n == B:
        return ask.gradient(x)
    return ask.batch(rng.integers(ask.n, size=B), x)


def _period_rule(s: Any) -> Callable[[int], bool]:
    return lambda t: t % s.period == 0


def _coin_rule(rng: Any, s: Any) -> Callable[[int], bool]:
    return lambda t: t == 0 or rng.random() < s.refresh


def svrg(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SVRG estimates: batch gradients, corrected by gradients at the epoch's first point."""
    return difference_estimates(ask, rng, s, _period_rule(s))


def svrg_with_batch_at_snapshot(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SVRG estimates like `svrg`, but draw and query a batch at the snapshot as well."""
    return difference_estimates(ask, rng, s, _period_rule(s), is_batch_at_anchor=True)


def lsvrg(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield loopless SVRG estimates: with probability p, the snapshot moves to x_t at step t."""
    return difference_estimates(ask, rng, s, _coin_rule(rng, s))


def spider(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SPIDER estimates, which add a difference of batch gradients to the last estimate."""
    return difference_estimates(ask, rng, s, _period_rule(s), is_recursive=True)


def page(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield PAGE estimates: at first and with probability p a full gradient, else a SPIDER step."""
    return difference_estimates(ask, rng, s, _coin_rule(rng, s), is_recursive=True)


def doubling_spider(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SPIDER estimates in epochs of 1, 2, 4, ... steps; batch sizes equal epoch lengths."""

    def length(t: int) -> int:
        return 1 << ((t + 1).bit_length() - 1)

    return difference_estimates(
        ask, rng, s, lambda t: t + 1 == length(t), is_recursive=True, size=length
    )


def curvature_aided_svrg(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SVRG estimates with a curvature correction, from Hessians at the snapshot."""
    return difference_estimates(ask, rng, s, _period_rule(s), has_curvature=True)


def curvature_aided_spider(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SPIDER estimates with a curvature correction, from Hessians at the epoch's start."""
    return difference_estimates(ask, rng, s, _period_rule(s), is_recursive=True, has_curvature=True)


def spider_by_smoothness(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SPIDER estimates; batches are drawn in proportion to the components' smoothness.

    Component i has the probability q_i = L_i/(sum of L_j), and the weight 1/(n q_i).
    """
    L = ask.component_smoothness()
    q = L / L.sum()
    before = x = yield
    for t in count():
        if t % s.period == 0:
            g = ask.gradient(x)
        else:
            S = rng.choice(ask.n, size=s.batch, p=q)
            for k in range(s.batch):
                change = ask.difference(S[k : k + 1], x, before)
                g = g + change / (ask.n * q[S[k]] * s.batch)
        before, x = x, (yield g)


# --- with momentum --------------------------------------------------------------------------------


def mars(
    ask: Any, rng: Any, s: Any, alpha: Callable[[int], float] | None = None
) -> EstimateGenerator:
    """Yield MARS estimates: averages of batch gradients, corrected by scaled gradient differences.

    With the difference D = grad f_S(x_t) - grad f_S(x_{t-1}) of a batch S, the estimate is d_t =
    (1 - alpha_t) (d_{t-1} + gamma D) + alpha_t grad f_S(x_t). If a method has no gamma, it is 1.
    """
    gamma, x = getattr(s, "gamma", 1.0), (yield)
    first = getattr(s, "snapshot", None) or s.batch
    d = ask.batch(rng.integers(ask.n, size=first), x)
    for t in count(1):
        before, x = x, (yield d)
        S, weight = rng.integers(ask.n, size=s.batch), s.alpha if alpha is None else alpha(t)
        fresh = ask.batch(S, x)
        D = fresh - ask.batch(S, before)
        d = (1.0 - weight) * (d + gamma * D) + weight * fresh


def storm(
    ask: Any, rng: Any, s: Any, alpha: Callable[[int], float] | None = None
) -> EstimateGenerator:
    """Yield STORM estimates, which equal MARS estimates without scaling (gamma = 1).

    They are d_t = grad f_S(x_t) + (1 - alpha_t) (d_{t-1} - grad f_S(x_{t-1})).
    """
    return mars(ask, rng, s, alpha)


def transport(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield moving averages of batch gradients at points extrapolated along the last step.

    The average is d_t = (1 - alpha) d_{t-1} + alpha grad f_S(y_t) with y_t = x_t + ((1 -
    alpha)/alpha) (x_t - x_{t-1}).
    """
    alpha, x = s.alpha, (yield)
    d = ask.batch(rng.integers(ask.n, size=s.snapshot or s.batch), x)
    while True:
        before, x = x, (yield d)
        y = x + (1.0 - alpha) / alpha * (x - before)
        d = (1.0 - alpha) * d + alpha * ask.batch(rng.integers(ask.n, size=s.batch), y)


# --- with tables ----------------------------------------------------------------------------------


def saga(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SAGA estimates, which correct a batch gradient by a table of stored gradients.

    The estimate is g_t = mean over i in I of [grad f_i(x_t) - a_i] + mean of all a_i. I is a batch
    and a a table of gradients; after each step, a_j = grad f_j(x_t) for the j of a second batch J.
    """
    x = yield
    a = ask.table(x)
    while True:
        I = rng.integers(ask.n, size=s.batch)  # noqa: E741
        J = rng.integers(ask.n, size=s.batch)
        g = a.mean + a.difference(I, x)
        a.replace(J, x)
        x = yield g


def sag(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield SAG estimates: the mean of all entries of a gradient table.

    Before, the entries of a batch of components are set to their gradients at x_t.
    """
    x = yield
    a = ask.table(x)
    while True:
        a.replace(rng.integers(ask.n, size=s.batch), x)
        x = yield a.mean


def zerosarah(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield ZeroSARAH estimates, which combine recursive differences with a gradient table.

    The estimate is g_t = (1 - lam) g_{t-1} + lam a + mean of the d_i over a batch. Here a is the
    mean of all entries a_i of a gradient table. For i in the batch, d_i = grad f_i(x_t) - (1 - lam)
    grad f_i(x_{t-1}) - lam a_i, and after the step, a_i = grad f_i(x_t).
    """
    lam = s.table_weight
    x = yield
    a = ask.table(x)
    g = a.mean
    while True:
        before, x = x, (yield g)
        S, mean = rng.integers(ask.n, size=s.batch), a.mean
        old = a.difference(S, before)
        g = (1.0 - lam) * (g - old) + lam * mean + a.replace(S, x)


def zerosarah_from_zeros(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield ZeroSARAH estimates whose gradient table is 0 at first.

    Each component is queried separately.
    """
    lam = s.table_weight
    x = yield
    a = np.zeros((ask.n, *x.shape))
    S = rng.integers(ask.n, size=s.batch)
    new = _query_gradient_rows(ask, S, x)
    g = new.mean(axis=0)
    a[S] = new
    while True:
        before, x = x, (yield g)
        S, mean = rng.integers(ask.n, size=s.batch), a.mean(axis=0)
        old, new = _query_gradient_rows(ask, S, before), _query_gradient_rows(ask, S, x)
        g = (1.0 - lam) * (g - (old - a[S]).mean(axis=0)) + lam * mean + (new - a[S]).mean(axis=0)
        a[S] = new


def _query_gradient_rows(ask: Any, S: Any, x: Any) -> Any:
    """Return the gradients at x of the components in S, one in each row."""
    return np.array([ask.batch(S[k : k + 1], x) for k in range(len(S))])
