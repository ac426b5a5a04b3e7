"""Gradient estimators of the references: generators that are sent x_t and yield g_t.

`estimate_function` turns a generator into the function ``x_t -> g_t``. Parameters have the names
that pfbench's built-in methods use.
"""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

EstimateGenerator = Generator[Any, Any, None]


def estimate_function(estimate: EstimateGenerator) -> Callable[[Any], Any]:
    """Return a function that sends x_t to a generator of estimates and returns its g_t."""
    next(estimate)
    return estimate.send


def full_gradient(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield the full gradients g_t = grad f(x_t)."""
    x = yield
    while True:
        x = yield ask.gradient(x)


def sg(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield the batch gradients g_t = mean over i in the batch S of grad f_i(x_t)."""
    x = yield
    while True:
        x = yield ask.batch(rng.integers(ask.n, size=parameters.batch), x)


def _full_or_large_batch_gradient(ask: Any, rng: Any, parameters: Any, x: Any) -> Any:
    """Return the full gradient at x, or the mean over a batch of size `snapshot` if set."""
    B = getattr(parameters, "snapshot", None)
    if B is None or ask.n == B:
        return ask.gradient(x)
    return ask.batch(rng.integers(ask.n, size=B), x)


def svrg(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SVRG estimates, which correct a batch gradient by gradients at a snapshot.

    The estimate is g_t = mean over i in S of [grad f_i(x_t) - grad f_i(w)] + grad f(w). S is a
    batch, and the snapshot w is the first point of an epoch.
    """
    x = yield
    while True:
        w, mean = x, _full_or_large_batch_gradient(ask, rng, parameters, x)
        x = yield mean
        for _ in range(1, parameters.period):
            x = yield mean + ask.difference(rng.integers(ask.n, size=parameters.batch), x, w)


def svrg_with_batch_at_snapshot(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SVRG estimates like `svrg`, but draw and query a batch at the snapshot as well."""
    x = yield
    while True:
        w, mean = x, _full_or_large_batch_gradient(ask, rng, parameters, x)
        for _ in range(parameters.period):
            x = yield mean + ask.difference(rng.integers(ask.n, size=parameters.batch), x, w)


def spider(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SPIDER estimates, which add a difference of batch gradients to the last estimate.

    g_t = g_{t-1} + mean over i in S of [grad f_i(x_t) - grad f_i(x_{t-1})].
    """
    x = yield
    while True:
        g = _full_or_large_batch_gradient(ask, rng, parameters, x)
        before, x = x, (yield g)
        for _ in range(1, parameters.period):
            g = g + ask.difference(rng.integers(ask.n, size=parameters.batch), x, before)
            before, x = x, (yield g)


def spider_by_smoothness(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SPIDER estimates whose batches are drawn in proportion to the smoothness L_i.

    Component i has the probability q_i = L_i/(sum of L_j), and the weight 1/(n q_i).
    """
    L = ask.component_smoothness()
    q = L / L.sum()
    x = yield
    while True:
        g = ask.gradient(x)
        before, x = x, (yield g)
        for _ in range(1, parameters.period):
            S = rng.choice(ask.n, size=parameters.batch, p=q)
            changes = (ask.difference(np.array([i]), x, before) / (ask.n * q[i]) for i in S)
            g = g + sum(changes) / parameters.batch
            before, x = x, (yield g)


def doubling_spider(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SPIDER estimates in epochs of 1, 2, 4, ... steps, with batches of that size."""
    length = 1
    x = yield
    while True:
        g = ask.gradient(x)
        before, x = x, (yield g)
        for _ in range(1, length):
            g = g + ask.difference(rng.integers(ask.n, size=length), x, before)
            before, x = x, (yield g)
        length = 2 * length


def casvrg(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SVRG estimates with a curvature correction, from Hessians at the snapshot w.

    g_t = grad f(w) + mean over i in S of [grad f_i(x_t) - grad f_i(w)] + [H - H_S](w) (x_t - w),
    where H and H_S are the Hessians of f and of its mean over S.
    """
    x = yield
    while True:
        w, mean, H = x, ask.gradient(x), ask.hessian(x)
        x = yield mean
        for _ in range(1, parameters.period):
            S = rng.integers(ask.n, size=parameters.batch)
            x = yield mean + ask.difference(S, x, w) + H.product(x, w) - H.batch(S, x, w)


def caspider(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SPIDER estimates plus a curvature correction from the Hessians of the epoch.

    The correction is [H - H_S](w) (x_t - x_{t-1}). H is the Hessian of f, H_S its mean over the
    batch S, and w the first point of the epoch.
    """
    x = yield
    while True:
        g, H = ask.gradient(x), ask.hessian(x)
        before, x = x, (yield g)
        for _ in range(1, parameters.period):
            S = rng.integers(ask.n, size=parameters.batch)
            linear = H.product(x, before) - H.batch(S, x, before)
            g = g + ask.difference(S, x, before) + linear
            before, x = x, (yield g)


def page(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield PAGE estimates: the full gradient with probability p and at t = 0, else SPIDER."""
    x = yield
    g = ask.gradient(x)
    while True:
        before, x = x, (yield g)
        if rng.random() < parameters.refresh:
            g = ask.gradient(x)
        else:
            g = g + ask.difference(rng.integers(ask.n, size=parameters.batch), x, before)


def lsvrg(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield loopless SVRG estimates: at each step the snapshot moves to x_t with probability p.

    The first snapshot is x_0.
    """
    x = yield
    w, mean = x, ask.gradient(x)
    x = yield mean
    while True:
        if rng.random() < parameters.refresh:
            w, mean = x, ask.gradient(x)
            x = yield mean
        else:
            x = yield mean + ask.difference(rng.integers(ask.n, size=parameters.batch), x, w)


def storm(
    ask: Any, rng: Any, parameters: Any, alpha: Callable[[int], float] | None = None
) -> EstimateGenerator:
    """Yield STORM estimates: batch gradients plus a damped correction by the last estimate.

    The estimate is d_t = grad f_S(x_t) + (1 - alpha_t) (d_{t-1} - grad f_S(x_{t-1})), where grad
    f_S is the mean gradient over the batch S of step t.
    """
    x = yield
    d = ask.batch(
        rng.integers(ask.n, size=getattr(parameters, "snapshot", None) or parameters.batch), x
    )
    t = 0
    while True:
        before, x, t = x, (yield d), t + 1
        S = rng.integers(ask.n, size=parameters.batch)
        weight = parameters.alpha if alpha is None else alpha(t)
        d = ask.batch(S, x) + (1.0 - weight) * (d - ask.batch(S, before))


def mars(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield MARS estimates: averages of batch gradients, corrected by scaled differences.

    With the difference D = grad f_S(x_t) - grad f_S(x_{t-1}) of a batch S, the estimate is d_t =
    (1 - alpha) (d_{t-1} + gamma D) + alpha grad f_S(x_t).
    """
    alpha, gamma = parameters.alpha, parameters.gamma
    x = yield
    d = ask.batch(rng.integers(ask.n, size=parameters.snapshot or parameters.batch), x)
    while True:
        before, x = x, (yield d)
        S = rng.integers(ask.n, size=parameters.batch)
        fresh = ask.batch(S, x)
        correction = fresh - ask.batch(S, before)
        d = (1.0 - alpha) * (d + gamma * correction) + alpha * fresh


def transport(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield moving averages of batch gradients at points extrapolated along the last step.

    The average is d_t = (1 - alpha) d_{t-1} + alpha grad f_S(y_t) with y_t = x_t + ((1 -
    alpha)/alpha) (x_t - x_{t-1}).
    """
    alpha = parameters.alpha
    x = yield
    d = ask.batch(rng.integers(ask.n, size=parameters.snapshot or parameters.batch), x)
    while True:
        before, x = x, (yield d)
        y = x + (1.0 - alpha) / alpha * (x - before)
        g = ask.batch(rng.integers(ask.n, size=parameters.batch), y)
        d = (1.0 - alpha) * d + alpha * g


def heavy_ball(
    ask: Any, rng: Any, parameters: Any, alpha: Callable[[int], float]
) -> EstimateGenerator:
    """Yield momentum estimates d_t = (1 - alpha_t) d_{t-1} + alpha_t grad f_S(x_t).

    grad f_S is the mean gradient over the batch S of step t.
    """
    x = yield
    d = ask.batch(rng.integers(ask.n, size=parameters.batch), x)
    t = 0
    while True:
        x, t = (yield d), t + 1
        g = ask.batch(rng.integers(ask.n, size=parameters.batch), x)
        d = (1.0 - alpha(t)) * d + alpha(t) * g


def saga(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SAGA estimates, which correct a batch gradient by a table of stored gradients.

    The estimate is g_t = mean over i in I of [grad f_i(x_t) - a_i] + mean of all a_i. I is a batch
    and a a table of gradients; after each step, a_j = grad f_j(x_t) for the j of a second batch J.
    """
    x = yield
    a = ask.table(x)
    while True:
        I = rng.integers(ask.n, size=parameters.batch)  # noqa: E741
        J = rng.integers(ask.n, size=parameters.batch)
        g = a.mean + a.difference(I, x)
        a.replace(J, x)
        x = yield g


def sag(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield SAG estimates: the mean of all entries a_i of a gradient table.

    Before, a_i = grad f_i(x_t) for the i of a batch.
    """
    x = yield
    a = ask.table(x)
    while True:
        a.replace(rng.integers(ask.n, size=parameters.batch), x)
        x = yield a.mean


def zerosarah(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield ZeroSARAH estimates, which combine recursive differences with a gradient table.

    The estimate is g_t = (1 - lam) g_{t-1} + lam a + mean of the d_i over a batch. Here a is the
    mean of all entries a_i of a gradient table. For i in the batch, d_i = grad f_i(x_t) - (1 - lam)
    grad f_i(x_{t-1}) - lam a_i, and after the step, a_i = grad f_i(x_t).
    """
    lam = parameters.table_weight
    x = yield
    a = ask.table(x)
    g = a.mean
    while True:
        before, x = x, (yield g)
        S, mean = rng.integers(ask.n, size=parameters.batch), a.mean
        old = a.difference(S, before)
        g = (1.0 - lam) * (g - old) + lam * mean + a.replace(S, x)


def zerosarah_from_zeros(ask: Any, rng: Any, parameters: Any) -> EstimateGenerator:
    """Yield ZeroSARAH estimates whose gradient table is 0 at first.

    Each component is queried separately.
    """
    lam = parameters.table_weight
    x = yield
    a = np.zeros((ask.n, *x.shape))
    S = np.asarray(rng.integers(ask.n, size=parameters.batch))
    new = np.array([ask.batch(np.array([i]), x) for i in S])
    g = new.mean(axis=0)
    a[S] = new
    while True:
        before, x = x, (yield g)
        S, mean = np.asarray(rng.integers(ask.n, size=parameters.batch)), a.mean(axis=0)
        old = np.array([ask.batch(np.array([i]), before) for i in S])
        new = np.array([ask.batch(np.array([i]), x) for i in S])
        g = (1.0 - lam) * (g - (old - a[S]).mean(axis=0)) + lam * mean + (new - a[S]).mean(axis=0)
        a[S] = new
